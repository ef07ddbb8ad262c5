# SPDX-License-Identifier: MIT
"""Who belongs to the job, however strangely it was started, and what is said when somebody is lost."""
import contextlib
import json
import os
import pathlib
import shutil

import pytest
from livelib import (IS_ROOT, TICK, cpu_cgroup, exists, in_cgroup, job_until, needs_root,
                     not_sanitized, records, started)

NAME = "a b) R 1"


def rows_of(path):
    """Every process that had a row in some sample: pid -> its last row."""
    rows = {}
    for sample in records(path, "sample"):
        for row in sample.get("processes", []):
            rows[row["pid"]] = row
    return rows


# ---- Daemons ---------------------------------------------------------------------------------------

def test_daemon_is_told_with_wait_main(place):
    """toll ends with the command, says who still runs and what he had used, and lets him be."""
    pidfile = place.path("pid")
    script = (f"{place.helper('daemonize')} pid {place.helper('burn')} 200 0 60000; "
              f"{place.helper('burn')} 400")
    result = place.run(["sh", "-c", script], ["--wait", "main", "-i", "10ms"])
    daemon = started(pidfile)
    try:
        assert result.status == 0
        assert exists(daemon), "the daemon outlives toll"
        left = result.summary["still_running"]
        assert [p["pid"] for p in left] == [daemon]
        assert left[0]["name"] == "burn"
        # He and the command's own load may share a core: something between nothing and all.
        assert 0 < left[0]["cpu_seconds"] <= 0.2 + 2 * TICK
        assert result.total("cpu_seconds") >= 0.4 + left[0]["cpu_seconds"] - 2 * TICK
    finally:
        place.call(["kill", "-9", str(daemon)])


def test_daemon_is_waited_for_with_wait_all(place):
    """The total has all of the daemon, from whoever reaps it: toll."""
    script = f"{place.helper('daemonize')} pid {place.helper('burn')} 300 0 200; exit 3"
    result = place.run(["sh", "-c", script], ["--wait", "all", "-i", "1s"])
    assert result.status == 3, "the status is the command's, not the daemon's"
    assert not exists(started(place.path("pid")))
    assert result.summary["still_running"] == []
    # 300 ms of known work; the start of four programs adds a few milliseconds.
    assert 0.3 <= result.total("cpu_seconds") <= 0.3 + 3 * TICK
    assert result.quality("cpu_seconds") == "exact if reaped"


def test_daemon_that_ends_in_time_counts(place):
    """Orphans come home to toll also without --wait all."""
    # The pipe ends with the daemon; then there is time to reap him.
    script = f"{place.helper('daemonize')} pid {place.helper('burn')} 200 3>&1 | cat; sleep 0.3"
    result = place.run(["sh", "-c", script], ["-i", "1s"])
    assert 0.2 <= result.total("cpu_seconds") <= 0.2 + 3 * TICK
    assert result.summary["still_running_count"] == 0


# ---- Threads ---------------------------------------------------------------------------------------

def test_child_of_a_worker_thread(place):
    """/proc/PID/task/PID/children does not list it; another thread's file does."""
    burn = place.helper("burn")
    result = place.run([place.helper("threads"), "fork", burn, "200", "0", "300"],
                       ["-i", "10ms", "-o", "x.jsonl", "--processes", "all"])
    names = {row["name"] for row in rows_of(place.path("x.jsonl")).values()}
    assert names == {"threads", "burn"}
    assert result.largest("processes") == 2
    assert 0.2 <= result.total("cpu_seconds", "descendants") <= 0.2 + 3 * TICK


def test_leader_that_has_ended(place):
    """The main thread is gone and looks like a zombie; the process is not and has a child."""
    burn = place.helper("burn")
    result = place.run([place.helper("threads"), "leader", burn, "200", "0", "400"],
                       ["-i", "10ms", "-o", "x.jsonl", "--processes", "all"])
    assert result.status == 7
    assert 0.2 <= result.total("cpu_seconds") <= 0.2 + 3 * TICK
    samples = records(place.path("x.jsonl"), "sample")
    with_child = [s for s in samples if any(p["name"] == "burn" for p in s.get("processes", []))]
    # 600 ms at 10 ms are 60 samples; a busy machine may lose many of them.
    assert len(with_child) >= 10


# ---- Names -----------------------------------------------------------------------------------------

def test_a_name_with_everything_in_it(place):
    strange = place.path(NAME)
    shutil.copy(place.helper("burn"), strange)
    strange.chmod(0o755)
    result = place.run(["sh", "-c", f"'{strange}' 200; :"],
                       ["-i", "10ms", "-o", "x.jsonl", "--processes", "all"])
    rows = [r for r in rows_of(place.path("x.jsonl")).values() if r["name"] == NAME]
    assert len(rows) == 1
    assert rows[0]["cpu_seconds"] > 0
    assert 0.2 <= result.total("cpu_seconds", "descendants") <= 0.2 + 3 * TICK


@not_sanitized
def test_toll_inside_toll(place):
    """The inner one is part of the outer one's job, with what it measures."""
    burn = place.helper("burn")
    inner = [place.toll, "run", "--summary", "json", "--summary-to", "inner.json", "--", burn,
             "200", "0", "0", "6"]
    outer = place.run(inner)
    assert outer.status == 6
    told = json.loads(place.path("inner.json").read_text())
    inside = told["target"]["combined"]["cpu_seconds"]["total"]
    assert 0.2 <= inside <= 0.2 + 3 * TICK
    own = told["self"]["cpu_seconds"]["total"]
    # The inner toll's start and end are outside of what it calls measuring.
    assert inside + own <= outer.total("cpu_seconds") <= inside + own + 3 * TICK


# ---- Somebody else's processes ---------------------------------------------------------------------

@contextlib.contextmanager
def made_setuid(nobody):
    if not IS_ROOT:
        pytest.skip("only root can make a program setuid")
    program = nobody.path("other-setuid")
    shutil.copy(nobody.helper("other"), program)
    program.chmod(0o4755)
    if nobody.call([program, "probe", "0", "0", "0"])[0] != 0:
        pytest.skip("the temporary directory is mounted nosuid")
    yield program
    program.unlink()


@pytest.fixture
def setuid_program(nobody):
    with made_setuid(nobody) as program:
        yield program


def test_io_of_a_setuid_child(nobody, setuid_program):
    """/proc/PID/io is closed to an ordinary user while it lives; reaped, all of it counts."""
    count = 5_000_000
    command = ["sh", "-c", f"{setuid_program} out {count} 500 0; :"]
    result = nobody.run(command, ["-i", "10ms", "-o", "x.jsonl"])
    assert result.status == 0
    assert result.total("io_written_bytes") == count
    assert result.quality("io_written_bytes") == "exact if reaped"
    assert 0.05 <= result.total("cpu_seconds") <= 0.05 + 3 * TICK


@pytest.mark.parametrize("before", ["", "sleep 0.2;"], ids=["never readable", "readable before"])
def test_io_of_a_setuid_process_that_stays(nobody, setuid_program, before):
    """Not reaped at the end: the figure is a lower bound, and a note says why. It makes no
    difference that the process could be read as long as it was the user's own."""
    script = (f"{nobody.helper('daemonize')} pid sh -c '{before} exec {setuid_program} out 5000000 "
              f"60000 0'; {job_until('[ $(stat -c %s out 2>/dev/null || echo 0) = 5000000 ]')}")
    result = nobody.run(["sh", "-c", script], ["-i", "10ms"])
    pid = started(nobody.path("pid"))
    try:
        assert result.quality("io_written_bytes") == "lower bound"
        assert any("another user" in note for note in result.notes)
        assert [p["pid"] for p in result.summary["still_running"]] == [pid]
    finally:
        os.kill(pid, 9)


@contextlib.contextmanager
def hiding(place, how):
    """Processes of other users are not shown to this one, nor is what it may not look into."""
    before = place.prefix
    mount = f'mount -t proc -o hidepid={how} proc /proc && exec "$@"'
    place.prefix = ["unshare", "--mount", "--propagation", "private", "sh", "-c", mount, "sh",
                    *before]
    if place.call(["true"])[0]:
        pytest.skip(f"proc cannot be mounted with hidepid={how}")
    yield
    place.prefix = before


@pytest.mark.parametrize("files", ["--nofile=32", "--nofile=1024"], ids=["no files kept", "kept"])
@pytest.mark.parametrize("before", ["", "sleep 0.2;"], ids=["never shown", "shown before"])
@pytest.mark.parametrize("how", ["1", "2", "ptraceable"])
def test_hidden_process(nobody, setuid_program, how, before, files):
    """A process of the job that /proc hides: what is missing makes lower bounds, and its CPU time
    is that of the time it was used in. A file that toll opened before it was hidden may be read
    on, so with few descriptors none is kept."""
    script = f"sh -c '{before} exec {setuid_program} out 5000000 700 0'; :"
    with hiding(nobody, how):
        nobody.prefix = ["prlimit", files, *nobody.prefix]
        result = nobody.run(["sh", "-c", script], ["-i", "10ms", "-o", "x.jsonl"])
    assert result.status == 0
    assert result.quality("cpu_seconds") == "exact if reaped"
    assert result.total("io_written_bytes") >= 5000000
    assert result.quality("io_written_bytes") == "exact if reaped"
    samples = records(nobody.path("x.jsonl"), "sample")
    assert result.figure("cpu_cores")["max"] <= 1.5
    for metric in ("memory_pss_bytes", "memory_uss_bytes"):
        assert result.quality(metric) in ("lower bound", "unknown"), metric
    if not any("hidden" in note for note in result.notes):
        assert files == "--nofile=1024"
        return
    for metric in ("memory_rss_bytes", "threads", "processes", "memory_virtual_bytes"):
        assert result.quality(metric) in ("lower bound", "unknown"), metric
        assert result.quality(metric, "descendants") in ("lower bound", "unknown"), metric
    hidden = [s["target"]["combined"] for s in samples]
    hidden = [s for s in hidden if "threads" in s.get("lower_bound", {})]
    assert {s[m] for s in hidden for m in ("memory_rss_bytes", "cpu_seconds", "threads")} == {None}
    bounds = [s["lower_bound"] for s in hidden]
    assert max(b["cpu_seconds"] for b in bounds) >= 0.05
    assert max(b["processes"] for b in bounds) == 2
    assert min(b["memory_rss_bytes"] for b in bounds) > 0


@pytest.mark.parametrize("how", ["1", "2"])
def test_hidden_process_that_stays(nobody, setuid_program, how):
    script = (f"{nobody.helper('daemonize')} pid {setuid_program} out 5000000 60000 0; "
              f"{job_until('[ $(stat -c %s out 2>/dev/null || echo 0) = 5000000 ]')}; sleep 0.2")
    with hiding(nobody, how):
        result = nobody.run(["sh", "-c", script], ["-i", "10ms"])
    pid = started(nobody.path("pid"))
    try:
        assert result.quality("io_written_bytes") == "lower bound"
        left, = result.summary["still_running"]
        assert left["pid"] == pid
        if left["memory_rss_bytes"] is not None:  # it was seen before it became another user's
            assert left["memory_rss_bytes"] > 0
        else:
            assert result.quality("memory_rss_bytes") == "lower bound"
            assert result.quality("faults_minor") == "lower bound"
    finally:
        os.kill(pid, 9)


# ---- Children that nobody waits for ----------------------------------------------------------------

@pytest.mark.parametrize("how", ["ignore", "nocldwait"])
def test_children_nobody_waits_for(place, how):
    """The kernel drops their CPU time: what samples saw counts, and it is called a lower bound."""
    result = place.run([place.helper("nowait"), how, "truth", "10", "100"], ["-i", "10ms"])
    truth = float(place.path("truth").read_text())
    measured = result.total("cpu_seconds")
    # At most the truth, which lacks the helper's file and the exits. A child counted twice is 100 ms.
    assert measured <= truth + 0.05
    # Each child of 100 ms is read every 10 ms, so at most about 20 ms of each are not seen when
    # the machine is busy; a third is a failure of sampling altogether.
    assert measured >= truth * 2 / 3
    assert result.quality("cpu_seconds") == "lower bound"
    assert result.quality("cpu_seconds", "descendants") == "lower bound"
    assert result.notes


@pytest.mark.parametrize("options", [[], ["-m", "cpu_seconds"]], ids=["all", "cpu only"])
@pytest.mark.parametrize("how", ["ignore", "nocldwait"])
def test_children_nobody_waits_for_are_not_invented(place, how, options):
    """No sample is taken while they live: they are looked at all the same, and never counted twice."""
    result = place.run([place.helper("nowait"), how, "truth", "3", "50"], ["-i", "10s", *options])
    truth = float(place.path("truth").read_text())
    # What the helper itself cannot know is its file and the exits. A child counted twice is 50 ms.
    assert result.total("cpu_seconds") <= truth + 0.025
    assert result.quality("cpu_seconds") == "lower bound"
    assert any("does not wait" in note for note in result.notes)


def test_sigchld_ignored_by_a_script(place):
    """The usual way it happens: whoever starts the job ignores it, and so does everybody below."""
    burn = place.helper("burn")
    starter = "$SIG{CHLD} = 'IGNORE'; system(@ARGV)"
    result = place.run(["perl", "-e", starter, burn, "200", "0", "100"], ["-i", "10ms"])
    assert result.status == 0
    assert result.quality("cpu_seconds") == "lower bound"


# ---- A pid that is used again ----------------------------------------------------------------------

@needs_root
def test_reused_pid(here):
    """Two processes, one pid: both count, each under its own start."""
    script = here.path("job")
    script.write_text(
        f"{here.helper('burn')} 150 & first=$!; wait $first\n"
        # The shell's own fork takes the next number.
        "echo $((first - 1)) > /proc/sys/kernel/ns_last_pid\n"
        f"{here.helper('burn')} 250 & second=$!; wait $second\n"
        "echo $first $second > pids\n")
    status, _, err = here.call(
        ["unshare", "-pf", "--mount-proc", "--", here.toll, "run", "-i", "10ms", "-o", "x.jsonl",
         "-o", "x.json", "--", "sh", "job"])
    if not here.path("pids").exists():
        pytest.skip(f"no pid namespace here: {err.decode()}")
    assert status == 0, err
    first, second = here.path("pids").read_text().split()
    if first != second:
        pytest.skip("the pid was not used again")
    combined = json.loads(here.path("x.json").read_text())["target"]["combined"]
    assert 0.4 <= combined["cpu_seconds"]["total"] <= 0.4 + 3 * TICK
    ended = [r for r in records(here.path("x.jsonl"), "process") if r["pid"] == int(first)]
    assert len({r["start_ticks"] for r in ended}) == 2


# ---- Large trees -----------------------------------------------------------------------------------

def test_5000_processes_with_64_descriptors(place):
    """More processes than descriptors could be kept for: everybody is seen and counted."""
    branches, leaves = 50, 100
    tree = [place.helper("tree"), str(branches), str(leaves), "4000"]
    if place.privileged:
        with cpu_cgroup() as (procs, seconds):
            result = place.run(in_cgroup(procs, tree), ["-i", "200ms"])
            truth = seconds()
    else:
        result = place.run([place.helper("truth"), "truth.json", *tree], ["-i", "200ms"])
        told = json.loads(place.path("truth.json").read_text())
        truth = told["child"]["cpu"] + told["self"]["cpu"]
    assert result.status == 0
    # On a busy machine it may take a second and more until toll has its turn, and it says so.
    skipped = "samples were skipped"
    assert all(skipped in note for note in result.notes)
    assert all(skipped in line for line in result.err.decode().splitlines())
    # All of them stand still together, long enough for several looks unless those were skipped; the
    # wrapper is one more.
    everybody = 1 + branches + branches * leaves + (not place.privileged)
    if any(skipped in note for note in result.notes):
        assert result.quality("processes") == "lower bound"
        assert result.largest("processes") <= everybody
        assert result.total("processes_started") <= everybody
    else:
        assert result.largest("processes") == everybody
        assert result.total("processes_started") == everybody
    assert result.total("cpu_seconds") == pytest.approx(truth, rel=0.01, abs=2 * TICK)


@pytest.fixture(autouse=True)
def few_descriptors(request, monkeypatch):
    """`ulimit -n 64`, hard too, for toll and the job of the test that asks for it by its name."""
    if "64_descriptors" not in request.node.name:
        return
    place = request.getfixturevalue("place")
    monkeypatch.setattr(place, "prefix", [*place.prefix, "prlimit", "--nofile=64:64", "--"])
