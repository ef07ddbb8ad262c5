# SPDX-License-Identifier: MIT
"""toll attach on groups, sessions, users, cgroups and by name: who belongs, and what adds up."""
import contextlib
import os
import pathlib
import signal
import time

import pytest
from attachlib import attach, cpu_of, leader, running, say, used
from livelib import TICK, children_of, cpu_cgroup, needs_root, records, started, until

# Works in steps of 10 ms, with a child for each and a file that it writes to.
WORKER = """
i=0
while [ $i -lt %d ]; do
  i=$((i + 1)); {burn} 10; head -c 10000 /dev/zero > out.$$
done
echo done; read x
"""


def worker(place, steps):
    script = (WORKER % steps).replace("{burn}", place.helper("burn"))
    return running(place, "setsid", "sh", "-c", "read x\n" + script)


def never_falls(toll, metric):
    """In any series of the samples."""
    last = {}
    for row in toll.rows():
        series = [("together", row["target"]["combined"])]
        series += [(t["name"], t["combined"]) for t in row.get("targets", [])]
        for name, figures in series:
            if figures[metric] is not None:
                assert figures[metric] >= last.get(name, 0), (row["tick"], name)
                last[name] = figures[metric]
    return last


def test_two_groups_and_their_union(place):
    """Disjoint groups add up exactly, and no total falls when members leave."""
    with worker(place, 30) as one, worker(place, 30) as two:
        toll = attach(place, "-i", "10ms", "--group", f"one={leader(one)}", "--group", f"two={leader(two)}")
        say(one)
        say(two)
        for p in (one, two):
            assert p.stdout.readline() == b"done\n"
        toll.end()
        for p in (one, two):
            say(p)
    for metric in ("cpu_seconds", "io_written_bytes", "io_read_bytes", "faults_minor"):
        assert toll.total(metric, "one") + toll.total(metric, "two") == pytest.approx(
            toll.total(metric), abs=1e-9), metric
        never_falls(toll, metric)
    # 30 children of 10 ms each, and the start of 60 programs beside it.
    for name in ("one", "two"):
        assert toll.total("cpu_seconds", name) >= 0.3 - 2 * TICK
        assert toll.total("io_written_bytes", name) >= 300_000


def test_a_target_within_another_counts_once(place):
    with running(place, "sh", "-c", f"{place.helper('burn')} 60000 & wait") as p:
        inner = until(lambda: children_of(p.pid), "the child")[0]
        for order in ((p.pid, inner), (inner, p.pid)):
            toll = attach(place, "-i", "20ms", *order)
            start = cpu_of(inner)
            used(inner, start + 0.2)
            toll.end()
            outer = toll.total("cpu_seconds", f"process-{p.pid}")
            assert toll.total("cpu_seconds") == pytest.approx(outer, abs=1e-9)
            assert toll.total("cpu_seconds", f"process-{inner}") <= outer
            assert toll.summary["target"]["combined"]["processes"]["max"] == 2


def test_a_shell_with_job_control(place):
    """Its jobs have groups of their own: the group of the shell has nothing of theirs, although
    the shell waits for them."""
    burn = place.helper("burn")
    script = f"read x; set -m; {burn} 300 & wait; {burn} 300 & wait; echo done; read x"
    with running(place, "setsid", "bash", "-c", script) as p:
        toll = attach(place, "-i", "10ms", "--group", leader(p))
        say(p)
        assert p.stdout.readline() == b"done\n"
        toll.end()
        say(p)
    # What each of the two did between its last sample and its end is not told apart: that is at most
    # the time between two samples, which a busy machine makes longer.
    longest = max(row["interval_seconds"] for row in toll.rows())
    assert toll.total("cpu_seconds") <= max(0.15, 2 * longest + 4 * TICK)


def test_a_session_has_its_jobs(place):
    burn = place.helper("burn")
    script = f"read x; set -m; {burn} 200 & wait; {burn} 200 & wait; echo done; read x"
    with running(place, "setsid", "bash", "-c", script) as p:
        toll = attach(place, "-i", "10ms", "--session", leader(p))
        say(p)
        assert p.stdout.readline() == b"done\n"
        toll.end()
        say(p)
    assert 0.4 - 4 * TICK <= toll.total("cpu_seconds") <= 0.4 + 6 * TICK


def test_a_group_ends_with_its_last(place):
    """The leader goes first; somebody who was never sampled is left."""
    script = "read x; sleep 600 & echo $! > pid; exit 0"
    with running(place, "setsid", "sh", "-c", script) as p:
        toll = attach(place, "-i", "1h", "--group", leader(p))
        say(p)
        p.wait()
        time.sleep(0.1)
        assert toll.process.poll() is None, "one is left"
        os.kill(started(place.path("pid")), signal.SIGKILL)
        toll.wait()
    assert toll.status == 0


# ---- toll is never its own target ----------------------------------------------------------------------

def test_toll_does_not_count_itself(place):
    # The mark is in the command lines of toll and of the shell that starts it, too.
    mark = f"mark-{os.getpid()}-{time.monotonic_ns()}"
    with running(place, "sh", "-c", f": {mark}; read x; :"), running(
            place, "setsid", "sh", "-c",
            f"cd {place.directory}; {place.toll} attach -i 20ms --for 400ms --processes all -o x.jsonl "
            f"-q --group $$ --session $$ --match {mark}; echo done; read x") as p:
        assert p.stdout.readline() == b"done\n"
        rows = records(place.path("x.jsonl"), "sample")
        say(p)
    seen = {q["pid"] for row in rows for q in row.get("processes", []) if q["name"] == "toll"}
    assert not seen
    assert any(q["pid"] == p.pid for row in rows for q in row.get("processes", []))


def test_toll_of_the_same_user(nobody):
    with running(nobody, "sleep", 600) as p:
        toll = attach(nobody, "-i", "20ms", "--processes", "all", "--user", nobody.uid)
        pid = toll.process.pid
        until(lambda: len(toll.rows()) >= 3, "samples")
        toll.end()
    pids = {q["pid"] for row in toll.rows() for q in row.get("processes", [])}
    assert p.pid in pids
    assert pid not in pids


# ---- By name ----------------------------------------------------------------------------------------

def test_match_finds_those_that_come_later(place):
    mark = f"mark-{os.getpid()}-{time.monotonic_ns()}"
    sleeper = ["sh", "-c", f": {mark}; read x; {place.helper('burn')} 200; echo done; read x"]
    with running(place, *sleeper) as one:
        until(lambda: mark in pathlib.Path(f"/proc/{one.pid}/cmdline").read_text(), "its start")
        toll = attach(place, "-i", "20ms", "--match", mark)
        with running(place, *sleeper) as two:
            until(lambda: any(r["target"]["combined"]["processes"] == 2 for r in toll.rows()),
                  "the second")
            say(two)
            assert two.stdout.readline() == b"done\n"
            toll.end()
            say(two)
        say(one)
    # The second is counted with its child from its birth on.
    assert 0.2 - 2 * TICK <= toll.total("cpu_seconds") <= 0.2 + 4 * TICK


def test_match_finds_what_a_process_executes_later(place):
    """It was there before, did not match, and slept."""
    mark = f"mark-{os.getpid()}-{time.monotonic_ns()}"
    with running(place, "sh", "-c", f": {mark}; read x") as one, running(
            place, "sh", "-c", "read x; . ./next") as two:
        until(lambda: mark in pathlib.Path(f"/proc/{one.pid}/cmdline").read_text(), "its start")
        place.path("next").write_text(f"exec sh -c ': {mark}; read x'\n")
        toll = attach(place, "-i", "20ms", "--match", mark)
        until(lambda: len(toll.rows()) > 60, "a second in which it is known as a bystander")
        assert all(r["target"]["combined"]["processes"] == 1 for r in toll.rows())
        say(two)
        until(lambda: toll.rows()[-1]["target"]["combined"]["processes"] == 2, "the second")
        toll.end()


def test_match_without_children(place):
    mark = f"mark-{os.getpid()}-{time.monotonic_ns()}"
    # The child executes something else before toll looks: until then it matches as its parent does.
    script = f": {mark}; sh -c 'read x; {place.helper('burn')} 200; echo done; read x'; :"
    with running(place, "sh", "-c", script) as p:
        until(lambda: mark in pathlib.Path(f"/proc/{p.pid}/cmdline").read_text(), "its start")
        child = until(lambda: children_of(p.pid), "the child")[0]
        until(lambda: mark not in pathlib.Path(f"/proc/{child}/cmdline").read_text(), "its command")
        toll = attach(place, "-i", "20ms", "--no-children", "--match", mark)
        say(p)
        assert p.stdout.readline() == b"done\n"
        toll.end()
        say(p)
    assert toll.total("cpu_seconds") <= 0.05


def test_a_member_that_matches_another_target(place):
    """It is a child of one target and matches the other, by what it executes later."""
    mark = f"mark-{os.getpid()}-{time.monotonic_ns()}"
    with running(place, "sh", "-c", f"sh -c ': {mark}; read x; :'") as p:
        inner = until(lambda: children_of(p.pid), "the child")[0]
        # Until it has become the inner shell it has the command line of the outer one.
        until(lambda: pathlib.Path(f"/proc/{inner}/cmdline").read_text().startswith(
            f"sh\0-c\0: {mark}"), "its start")
        toll = attach(place, "-i", "20ms", p.pid, "--match", f"^sh -c : {mark}")
        until(lambda: len(toll.rows()) >= 2, "samples")
        toll.end()
        say(p)
    by_name = {t["name"]: t for t in toll.summary["targets"]}
    assert by_name[f"process-{p.pid}"]["combined"]["processes"]["max"] == 2
    assert [t["combined"]["processes"]["max"] for n, t in by_name.items() if "match" in n] == [1]


# ---- Cgroups ----------------------------------------------------------------------------------------

@needs_root
def test_a_cgroup_and_who_joins_it(here):
    with cpu_cgroup() as (procs, seconds), contextlib.ExitStack() as stack:
        one = stack.enter_context(running(here, "sleep", 600))
        two = stack.enter_context(running(here, here.helper("burn"), 60_000))
        procs.write_text(str(one.pid))
        toll = attach(here, "-i", "20ms", "--cgroup", procs.parent)
        used(two.pid, 0.3)
        procs.write_text(str(two.pid))
        until(lambda: any(r["target"]["combined"]["processes"] == 2 for r in toll.rows()), "two")
        used(two.pid, cpu_of(two.pid) + 0.2)
        toll.end()
        truth = seconds()
        for p in (one, two):
            p.kill()
            p.wait()
    # What it did before it joined is not the cgroup's; samples are 20 ms apart.
    assert toll.total("cpu_seconds") <= truth + TICK
    assert toll.total("cpu_seconds") >= 0.1


@needs_root
def test_another_user(here, nobody):
    with running(nobody, nobody.helper("burn"), 60_000) as p:
        until(lambda: pathlib.Path(f"/proc/{p.pid}/comm").read_text() == "burn\n",
              "the command as that user")
        toll = attach(here, "-i", "20ms", "--user", "65534")
        start = cpu_of(p.pid)
        used(p.pid, start + 0.2)
        toll.end()
    assert toll.total("cpu_seconds") >= 0.2 - 2 * 0.02
