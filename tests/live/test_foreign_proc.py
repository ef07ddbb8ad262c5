# SPDX-License-Identifier: MIT
"""Where /proc is not that of toll's pid namespace, or is not there at all: no other process's figures
are taken for the job's, what wait4 tells is known, and the exit status is the job's."""
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

from livelib import GUARD, needs_root

TOLL = os.environ["TOLL"]
# Works for so long, and prints what it has used.
BURN = ("import resource, sys, time\n"
        "memory = b'x' * (48 << 20)\n"
        "while time.process_time() < 0.3: pass\n"
        "used = resource.getrusage(resource.RUSAGE_SELF)\n"
        "print(used.ru_utime + used.ru_stime, used.ru_maxrss, flush=True)\n"
        "sys.exit(7)\n")

FOREIGN = ["unshare", "--pid", "--fork", "sh", "-c", '"$@"; status=$?; exit $status', "sh"]
ABSENT = ["unshare", "--mount", "--pid", "--fork", "sh", "-c",
          'umount -l /proc && "$@"; status=$?; exit $status', "sh"]
HIDDEN = ["unshare", "--mount", "--pid", "--fork", "sh", "-c",
          'mount -t proc -o hidepid=2 proc /proc && "$@"; status=$?; exit $status', "sh"]

pytestmark = needs_root


def can(prefix):
    return subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0


def run(prefix, tmp_path, command, options=()):
    if not can(prefix):
        pytest.skip("no such namespace can be made here")
    done = subprocess.run(
        [*prefix, TOLL, "run", "--summary", "json", "--summary-to", tmp_path / "summary.json",
         "-o", tmp_path / "run.jsonl", "-i", "20ms", *options, "--", *command],
        cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=GUARD,
        check=False)
    summary = json.loads((tmp_path / "summary.json").read_text())
    return done, summary


@pytest.mark.parametrize("prefix, why", [
    (FOREIGN, "/proc belongs to another pid namespace"),
    (ABSENT, "/proc is not mounted"),
])
def test_only_wait4(prefix, why, tmp_path):
    done, summary = run(prefix, tmp_path, [sys.executable, "-c", BURN])
    assert done.returncode == 7, done.stderr
    assert summary["end"]["status"] == "exited" and summary["end"]["code"] == 7
    notes = [note for note in summary["notes"] if why in note]
    assert len(notes) == 1 and why in done.stderr
    cpu, peak_kib = map(float, done.stdout.split())
    combined = summary["target"]["combined"]
    # The rest of Python's end is not in what it printed.
    assert cpu <= combined["cpu_seconds"]["total"] <= cpu + 0.2
    assert combined["cpu_seconds"]["quality"] == "exact if reaped"
    assert combined["memory_peak_bytes"]["max"] >= peak_kib * 1024
    # A sum over processes that nobody could look at is not 0.
    known = {name for name, figure in combined.items() if figure["quality"] != "unknown"}
    assert known - {"wall_seconds", "cpu_seconds", "cpu_user_seconds", "cpu_system_seconds",
                     "cpu_cores", "faults_minor", "faults_major", "switches_voluntary",
                     "switches_involuntary", "memory_peak_bytes", "memory_rss_bytes",
                     "io_read_bytes", "io_written_bytes", "io_read_calls", "io_write_calls",
                     "storage_read_bytes", "storage_written_bytes", "storage_cancelled_bytes"} == set()
    assert combined["memory_rss_bytes"]["quality"] in ("lower bound", "unknown")
    for part in ("main", "descendants"):
        for name, figure in summary["target"][part].items():
            assert figure["quality"] == "unknown" or name == "wall_seconds", (part, name, figure)
    shown = subprocess.run([*prefix, TOLL, "run", "--verbose", "true"], capture_output=True, text=True,
                           check=True, timeout=GUARD).stderr
    assert re.search(r"^  Memory     unknown$", shown, re.MULTILINE) and "0 B at peak" not in shown, shown
    samples = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text().splitlines()]
    assert not [line for line in samples if line["type"] in ("process", "process_end")]


@pytest.mark.parametrize("prefix", [FOREIGN, ABSENT, HIDDEN])
def test_exit_status_and_children(prefix, tmp_path):
    script = f"{sys.executable} -c 'import time\nwhile time.process_time() < 0.2: pass' & wait; exit 9"
    done, summary = run(prefix, tmp_path, ["sh", "-c", script])
    assert done.returncode == 9, done.stderr
    assert summary["target"]["combined"]["cpu_seconds"]["total"] >= 0.2


@pytest.mark.parametrize("prefix", [FOREIGN, ABSENT])
def test_signals_and_timeout(prefix, tmp_path):
    done, summary = run(prefix, tmp_path, ["sh", "-c", "kill -KILL $$"])
    assert done.returncode == 128 + 9, done.stderr
    done, summary = run(prefix, tmp_path, ["sleep", "1000"], ["--timeout", "50ms"])
    assert done.returncode == 128 + 15, done.stderr
    assert summary["end"]["timed_out"]


@pytest.mark.parametrize("prefix, why", [
    (FOREIGN, "/proc belongs to another pid namespace"),
    (ABSENT, "/proc is not mounted"),
])
def test_attach_is_refused(prefix, why):
    if not can(prefix):
        pytest.skip("no such namespace can be made here")
    done = subprocess.run([*prefix, TOLL, "attach", "--for", "1s", "1"], capture_output=True,
                          text=True, timeout=GUARD, check=False)
    assert done.returncode == 125 and why in done.stderr, done.stderr


def test_the_machine_is_the_machine(tmp_path):
    """Files that are not of processes are the same in every namespace."""
    if not can(FOREIGN):
        pytest.skip("no such namespace can be made here")
    subprocess.run([*FOREIGN, TOLL, "system", "--for", "200ms", "-i", "50ms", "-o",
                    tmp_path / "run.json"], check=True, capture_output=True, timeout=GUARD)
    system = json.loads((tmp_path / "run.json").read_text())["system"]
    total = int(pathlib.Path("/proc/meminfo").read_text().split()[1]) * 1024
    assert system["memory_total_bytes"]["last"] == total


def test_doctor_names_it(tmp_path):
    """The reason and the way out; no figure of a process is promised."""
    if not can(FOREIGN):
        pytest.skip("no such namespace can be made here")
    done = subprocess.run([*FOREIGN, TOLL, "doctor", "--json"], cwd=tmp_path, capture_output=True,
                          text=True, timeout=GUARD, check=False)
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert checks["cpu"]["state"] == "partly" and "wait4 only" in checks["cpu"]["detail"]
    for name in ("memory", "pss", "io", "waits", "children"):
        assert checks[name]["state"] == "missing", checks[name]
        assert "belongs to another pid namespace" in checks[name]["detail"]
        assert "mount -t proc proc /proc" in checks[name]["remedy"]


@pytest.mark.parametrize("output", ["run.prom", "run.om", "run.json", "run.csv", "run.sqlite"])
def test_files_are_written(output, tmp_path):
    """An unnamed file can be given its name only through /proc."""
    done, _ = run(ABSENT, tmp_path, ["true"], ["-o", tmp_path / output])
    assert done.returncode == 0, done.stderr
    assert (tmp_path / output).stat().st_size
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted({"run.jsonl", "summary.json", output})
