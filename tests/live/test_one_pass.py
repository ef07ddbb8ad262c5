# SPDX-License-Identifier: MIT
"""Frequent samples of many processes: those that have run are found by a program in the kernel, in one
pass over the command's own cgroup, against what the processes themselves know."""
import json
import subprocess

import pytest
from hostlib import needs
from livelib import GUARD, bpf_links, needs_root, records, until

# Processes that sleep, and some that work in turns, in the cgroup and in one below it; later more of
# them. Each says what it has used before it waits for the end.
JOB = """
import os, sys, time
sleepers, workers = 90, 8
def own_directory():
    path = next((l.split("::")[1].strip() for l in open("/proc/self/cgroup") if l.startswith("0::")), "")
    for line in open("/proc/self/mounts"):
        if line.split()[2] == "cgroup2" and os.access(line.split()[1] + path, os.W_OK):
            return line.split()[1] + path
below = (own_directory() or "/nowhere") + "/below"
try:
    os.mkdir(below)
except OSError:
    below = None
hold, release = os.pipe()
def work(turns, is_below):
    os.close(release)
    if is_below and below:
        open(below + "/cgroup.procs", "w").write("0")
    for turn in range(turns):
        end = time.process_time() + 0.015
        while time.process_time() < end:
            pass
        time.sleep(0.06)
    os.write(1, f"{os.getpid()} {time.process_time()}\\n".encode())
    os.read(hold, 1)
    os._exit(0)
def start(count, turns):
    for i in range(count):
        if os.fork() == 0:
            work(turns, i % 2)
start(sleepers, 0)
start(workers, 10)
time.sleep(0.8)
start(4, 3)
for line in iter(sys.stdin.readline, ""):
    pass
os.close(release)
while True:
    try:
        os.wait()
    except ChildProcessError:
        break
if below:
    os.rmdir(below)
"""
PROCESSES = 1 + 90 + 8 + 4
ENDS = PROCESSES - 1  # that say what they have used


def last_rows(samples):
    found = {}
    for line in records(samples, "sample"):
        for row in line.get("processes", []):
            found[row["pid"]] = row["cpu_seconds"]
    return found


def measure(here, before=(), options=("--own-cgroup", "always")):
    """What each process has used by its own account, the samples, the summary, whether the pass was
    in use."""
    samples, summary = here.path("s.jsonl"), here.path("s.json")
    command = [*before, here.toll, "run", "-i", "20ms", "--processes", "all", *options, "-o", samples,
               "--summary", "json", "--summary-to", summary, "--", "/usr/bin/python3", "-c", JOB]
    with here.popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as toll:
        truth = {}
        for _ in range(ENDS):
            pid, seconds = toll.stdout.readline().split()
            truth[int(pid)] = float(seconds)
        is_used = bpf_links(toll.pid, "iter")

        def all_seen():
            rows = last_rows_so_far(samples)
            return all(rows.get(pid, 0) >= seconds for pid, seconds in truth.items())
        until(all_seen, "samples with all of it")
        toll.stdin.close()
        toll.stdin = None
        assert toll.wait(timeout=GUARD) == 0
    return truth, last_rows(samples), json.loads(summary.read_text()), is_used


def last_rows_so_far(samples):
    text = samples.read_text()
    found = {}
    for line in text[:text.rfind("\n") + 1].splitlines()[-3:]:
        for row in json.loads(line).get("processes", []):
            found[row["pid"]] = row["cpu_seconds"]
    return found


def check(truth, rows, summary):
    for pid, seconds in truth.items():
        # The write and the wait after it are in the row alone.
        assert seconds <= rows[pid] < seconds + 0.01, pid
    combined = summary["target"]["combined"]
    assert combined["processes_started"]["total"] == PROCESSES
    assert combined["processes"]["max"] == PROCESSES
    assert combined["cpu_seconds"]["total"] >= sum(truth.values())


def needs_own_cgroup(here):
    """Skips the test where a command gets none of version 2."""
    code = "import sys; sys.exit('0::' not in open('/proc/self/cgroup').read())"
    status, _, err = here.call([here.toll, "run", "-q", "--own-cgroup", "always", "--",
                                "/usr/bin/python3", "-c", code])
    if status:
        pytest.skip(err.decode().strip() or "no cgroup of version 2 here")


@needs_root
def test_those_that_run_are_found(here):
    needs_own_cgroup(here)
    probed = json.loads(here.call([here.toll, "doctor", "--json", "one-pass"])[1])["checks"][0]
    if probed["state"] != "ok":
        pytest.skip(probed["detail"])
    truth, rows, summary, is_used = measure(here)
    assert is_used
    check(truth, rows, summary)


@needs_root
@needs("setpriv")
@pytest.mark.parametrize("lacking", ["bpf", "perfmon"])
def test_without_a_capability(here, lacking):
    """Each process is asked, and the figures are the same."""
    needs_own_cgroup(here)
    caps = f"-sys_admin,-{lacking}"
    truth, rows, summary, is_used = measure(
        here, ["setpriv", f"--bounding-set={caps}", f"--inh-caps={caps}"])
    assert not is_used
    check(truth, rows, summary)
