# SPDX-License-Identifier: MIT
"""toll attach on processes: what is counted, from when on, and that nobody is disturbed."""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import time

import pytest
from attachlib import ROUNDING, attach, cpu_of, running, say, used
from livelib import (IS_ROOT, TICK, children_of, cpu_cgroup, exists, in_cgroup, job_until, needs_root,
                     not_sanitized, recorded, state_of, until)


def parent_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def signals_of(pid):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    # Not SigQ: it counts the pending signals of all processes of the user.
    kinds = ("SigPnd", "SigBlk", "SigIgn", "SigCgt", "ShdPnd", "TracerPid")
    return [line for line in lines if line.startswith(kinds)]


# ---- A tree that changes all the time ---------------------------------------------------------------

@needs_root
@pytest.mark.parametrize("how", ["wait", "grand"])
def test_thousands_of_short_children(here, how):
    """Each lives for 1 ms; whoever waits for it inherits all of it."""
    with cpu_cgroup() as (procs, seconds):
        job = in_cgroup(procs, [here.helper("churn"), how, 2000, 1])
        with running(here, *job) as p:
            until(lambda: pathlib.Path(f"/proc/{p.pid}/comm").read_text() == "churn\n", "its start")
            toll = attach(here, "-i", "20ms", p.pid)
            before = seconds()
            say(p)
            assert p.stdout.readline() == b"done\n"
            truth = seconds() - before
            toll.end()
    # A tick of user and one of system time at both ends, and what it did while toll was ended.
    assert truth - 2 * ROUNDING <= toll.total("cpu_seconds") <= truth + 2 * ROUNDING
    assert toll.figure("cpu_seconds")["quality"] == "sampled"


@needs_root
def test_children_nobody_waits_for(here):
    """What no sample saw is gone with them: never above the truth, and called a lower bound."""
    with cpu_cgroup() as (procs, seconds):
        job = in_cgroup(procs, [here.helper("churn"), "ignore", 300, 5])
        with running(here, *job) as p:
            until(lambda: pathlib.Path(f"/proc/{p.pid}/comm").read_text() == "churn\n", "its start")
            toll = attach(here, "-i", "10ms", p.pid)
            before = seconds()
            say(p)
            assert p.stdout.readline() == b"done\n"
            truth = seconds() - before
            toll.end()
    assert 0 < toll.total("cpu_seconds") <= truth + ROUNDING
    assert toll.figure("cpu_seconds")["quality"] == "lower bound"


PARENTS = 30
FEW_CHILDREN = "for i in 1 2 3 4 5 6; do /bin/true; done"


@needs_root
def test_many_parents_that_had_children_before(here):
    """What each had inherited at the attach is told in ticks: the rounding must not add up."""
    for fifo in ("go", "end"):
        os.mkfifo(here.path(fifo))
    parent = f"{FEW_CHILDREN}; echo; read x < go; {FEW_CHILDREN}; exit 0"
    root = (f"n=0; while [ $n -lt {PARENTS} ]; do n=$((n+1)); sh -c '{parent}' & done; wait; "
            "echo done; read x < end; exit 0")
    with cpu_cgroup() as (procs, seconds):
        with running(here, *in_cgroup(procs, ["sh", "-c", root])) as p:
            for _ in range(PARENTS):
                assert p.stdout.readline() == b"\n"
            until(lambda: all(state_of(pid) == "S" for pid in children_of(p.pid)), "all asleep")
            before = seconds()
            toll = attach(here, "-i", "50ms", p.pid)
            here.path("go").write_text("")
            assert p.stdout.readline() == b"done\n"
            until(lambda: state_of(p.pid) == "S", "the shell asleep")
            toll.end()
            truth = seconds() - before
            here.path("end").write_text("")
    # Nothing of it lies outside of the two readings of the truth: it is an upper bound.
    assert 0 < toll.total("cpu_seconds") <= truth
    for part in ("cpu_user_seconds", "cpu_system_seconds"):
        assert toll.total(part) <= truth


MANY = 40
# Each has a part of a tick when toll attaches, and computes as often as it is told to.
CROWD = f"""
import os, sys, time
def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        for i in range(200): pass
        os.stat("/")
go = os.pipe()
for n in range({MANY}):
    if os.fork() == 0:
        os.close(go[1])
        work(0.004 + 0.0005 * n)
        os.write(1, b"ready\\n")
        os.read(go[0], 1)
        for _ in range(10): work(0.003); time.sleep(0.02)
        os.write(1, b"done\\n")
        time.sleep(600)
sys.stdin.readline()
os.write(go[1], b"x" * {MANY})
sys.stdin.readline()
"""


def ticks_of(pids):
    """User and system time as the kernel tells them."""
    fields = [pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split() for pid in pids]
    return [sum(int(of[at]) for of in fields) * TICK for at in (11, 12)]


def test_user_and_system_time_of_many(here):
    """The kernel cuts each to ticks, before as after: the rounding must not take most of it away."""
    with running(here, "python3", "-c", CROWD) as p:
        for _ in range(MANY):
            assert p.stdout.readline() == b"ready\n"
        pids = [p.pid, *children_of(p.pid)]
        until(lambda: all(state_of(pid) == "S" for pid in pids), "all asleep")
        before = ticks_of(pids)
        toll = attach(here, "-i", "50ms", p.pid)
        say(p)
        for _ in range(MANY):
            assert p.stdout.readline() == b"done\n"
        until(lambda: all(state_of(pid) == "S" for pid in pids), "all asleep again")
        toll.end()
        truth = [after - earlier for after, earlier in zip(ticks_of(pids), before)]
    cpu, user, system = (toll.total(name) for name in
                         ("cpu_seconds", "cpu_user_seconds", "cpu_system_seconds"))
    assert user + system == pytest.approx(cpu, abs=1e-6)
    # Nothing ran while either was read, so toll has read the same ticks. It divides the CPU time,
    # which is exact, in their proportion.
    assert user == pytest.approx(cpu * truth[0] / sum(truth), abs=TICK)
    assert toll.figure("cpu_user_seconds")["quality"] == "sampled"


# ---- From when on ----------------------------------------------------------------------------------

@pytest.mark.parametrize("since_start", [False, True])
def test_what_was_before(place, since_start):
    """Half a second before, then asleep: nothing since; with --since-start all of it."""
    with running(place, place.helper("burn"), 500, 0, 600_000) as p:
        used(p.pid, 0.5)
        until(lambda: state_of(p.pid) == "S", "sleep")
        toll = attach(place, "-i", "20ms", *["--since-start"] * since_start, p.pid)
        until(lambda: len(toll.rows()) >= 3, "samples")
        toll.end()
        truth = cpu_of(p.pid)
    assert toll.summary["since_start"] is since_start
    largest = toll.summary["largest_processes"][0]
    if since_start:
        assert toll.total("cpu_seconds") == pytest.approx(truth, abs=0.002)
        assert largest["cpu_time_seconds"] == pytest.approx(truth, abs=0.002)
    else:
        assert toll.total("cpu_seconds") < 0.002
        assert largest["cpu_time_seconds"] < 0.002 and not largest["complete"]


def test_no_share_of_another_time(place):
    """CPU time since the start of the process, beside the cores since the attach, would be no answer."""
    with running(place, place.helper("burn"), 500, 0, 600_000) as p:
        used(p.pid, 0.5)
        lines = {}
        for option in ([], ["--since-start"]):
            status, _, err = place.call([place.toll, "attach", *option, "--for", "50ms", p.pid])
            assert status == 0
            (lines[bool(option)],) = [line for line in err.decode().splitlines() if line.startswith("  CPU  ")]
    assert "core" in lines[False] and "core" not in lines[True]


def test_what_came_since(place):
    """It goes on working: only the growth counts."""
    with running(place, place.helper("burn"), 60_000) as p:
        used(p.pid, 0.3)
        before = cpu_of(p.pid)
        toll = attach(place, "-i", "50ms", p.pid)
        attached = cpu_of(p.pid)
        used(p.pid, attached + 0.3)
        late = cpu_of(p.pid)
        toll.end()
        after = cpu_of(p.pid)
    # Between the two clocks on either side of the attach and of the end.
    assert late - attached <= toll.total("cpu_seconds") + 0.05
    assert toll.total("cpu_seconds") <= after - before
    # What it had used before is rounded up to whole ticks, of user and of system time.
    largest = toll.summary["largest_processes"][0]["cpu_time_seconds"]
    assert late - attached <= largest + 0.05 + ROUNDING and largest <= after - before


PEAK = """
import sys, time
m = bytearray(100 << 20)
for i in range(0, len(m), 4096): m[i] = 1
del m, i
print("small", flush=True)
sys.stdin.readline()
"""


def test_a_peak_from_before_is_not_of_now(place):
    with running(place, "/usr/bin/python3", "-c", PEAK) as p:
        assert p.stdout.readline() == b"small\n"
        toll = attach(place, "-i", "20ms", p.pid)
        until(lambda: len(toll.rows()) >= 3, "samples")
        toll.end()
        again = attach(place, "-i", "20ms", "--since-start", p.pid)
        again.end()
    assert toll.figure("memory_peak_bytes")["last"] < 60 << 20
    assert again.figure("memory_peak_bytes")["last"] >= 100 << 20


# ---- The end ---------------------------------------------------------------------------------------

@pytest.mark.parametrize("status", [0, 7])
def test_the_end_is_noticed_at_once(place, status):
    """The next sample would come in an hour."""
    with running(place, "sh", "-c", f"read x; exit {status}") as p:
        toll = attach(place, "-i", "1h", p.pid)
        say(p)
        p.wait()
        toll.wait()
    assert toll.status == 0
    end = toll.summary["end"]
    # The kernel tells it since 6.15, once the process was reaped; before nobody can know.
    assert (end["status"], end["code"]) in (("exited", status), ("unknown", None))


def test_a_killed_target(place):
    with running(place, "sleep", 600) as p:
        toll = attach(place, "-i", "1h", p.pid)
        p.kill()
        p.wait()
        toll.wait()
    end = toll.summary["end"]
    assert (end["status"], end["signal"]) in (("signaled", 9), ("unknown", None))


def test_how_the_target_ended_not_its_last_descendant(place):
    script = "exec 3<&0; (read x <&3; sleep 0.5; exit 7) & echo ready; read x; exit 3"
    with running(place, "sh", "-c", script) as p:
        assert p.stdout.readline() == b"ready\n"  # before that there is no descendant to be seen
        toll = attach(place, "-i", "1h", "--wait", "all", p.pid)
        say(p)  # one line for each
        say(p)
        p.wait()
        toll.wait()
    end = toll.summary["end"]
    assert (end["status"], end["code"]) in (("exited", 3), ("unknown", None))
    assert toll.total("wall_seconds") > 0.45, "the descendant was waited for"


def test_the_end_of_many_is_noticed_at_once(place):
    """All end in the same moment, so that whoever is watched next has already ended."""
    script = "for i in $(seq 50); do sleep 600 & done; echo ready; wait"
    with running(place, "setsid", "sh", "-c", script) as p:
        assert p.stdout.readline() == b"ready\n"
        toll = attach(place, "-i", "1h", "--group", p.pid)
        os.killpg(p.pid, signal.SIGKILL)
        p.wait()
        toll.wait()
    assert toll.status == 0


def test_one_ends_and_the_others_go_on(place):
    with running(place, "sleep", 600) as short, running(place, "sleep", 600) as long:
        toll = attach(place, "-i", "50ms", short.pid, long.pid)
        short.kill()
        short.wait()
        count = len(toll.rows())
        until(lambda: len(toll.rows()) > count + 3, "samples of the other")
        assert toll.process.poll() is None
        long.kill()
        long.wait()
        toll.wait()
    assert {t["name"] for t in toll.summary["targets"]} == {
        f"process-{short.pid}", f"process-{long.pid}"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_toll_is_ended_and_the_target_is_not(place, number):
    with running(place, place.helper("burn"), 60_000) as p:
        used(p.pid, 0.05)
        parent, signals = parent_of(p.pid), signals_of(p.pid)
        toll = attach(place, "-i", "20ms", p.pid)
        toll.end(number)
        assert toll.summary["target"]["combined"]["cpu_seconds"]["total"] is not None
        assert exists(p.pid) and state_of(p.pid) in "RS"
        assert parent_of(p.pid) == parent
        assert signals_of(p.pid) == signals
        before = cpu_of(p.pid)
        used(p.pid, before + 0.01)


# ---- Whom one cannot attach to -----------------------------------------------------------------------

def refused(place, *words):
    status, out, err = place.call([place.toll, "attach", "-q", "--for", "1s", *map(str, words)])
    assert status == 125, err
    assert out == b""
    assert len(err.decode().splitlines()) == 1
    return err.decode()


def test_nobody_there(place):
    with running(place, "true") as p:
        p.wait()
        assert f"no process {p.pid}" in refused(place, p.pid)
        assert "no process in group" in refused(place, "--group", p.pid)
        assert "no process in session" in refused(place, "--session", p.pid)
    assert "matches" in refused(place, "--match", "^no such command line$")
    assert "user" in refused(place, "--user", "nobody-of-that-name")


def test_a_zombie(place):
    """Nothing of it will ever change: better said at once."""
    with running(place, "sh", "-c", "true & exec sleep 600") as p:
        child = until(lambda: [c for c in children_of(p.pid) if state_of(c) == "Z"], "a zombie")[0]
        assert "has already ended" in refused(place, child)


def test_a_thread(place):
    with running(place, place.helper("burn"), 60_000, 2) as p:
        tasks = pathlib.Path(f"/proc/{p.pid}/task")
        other = until(lambda: [t for t in os.listdir(tasks) if int(t) != p.pid], "threads")[0]
        assert "is a thread" in refused(place, other)


def test_toll_itself_is_no_target(place):
    status, _, err = place.call(["sh", "-c", f"exec {place.toll} attach -q --for 1s $$"])
    assert status == 125
    assert b"toll itself" in err


def test_a_kernel_thread(place):
    """It has no memory of its own to tell about, and some CPU time."""
    if not pathlib.Path("/proc/2/comm").exists() or "kthreadd" not in pathlib.Path(
            "/proc/2/comm").read_text():
        pytest.skip("kernel threads cannot be seen here")
    toll = attach(place, "-i", "20ms", "--no-children", 2)
    until(lambda: len(toll.rows()) >= 2, "samples")
    toll.end()
    assert toll.status == 0
    assert toll.figure("memory_rss_bytes")["max"] == 0


@needs_root
def test_somebody_elses_process(nobody, here):
    """Its I/O is unknown, never zero."""
    with running(here, "sh", "-c", "while :; do echo x > /dev/null; done") as p:
        toll = attach(nobody, "-i", "20ms", p.pid)
        until(lambda: toll.rows() and toll.rows()[-1]["target"]["combined"]["cpu_seconds"], "CPU time")
        toll.end()
    assert toll.figure("io_written_bytes")["quality"] == "unknown"
    assert toll.figure("io_written_bytes").get("total") is None
    assert toll.total("cpu_seconds") > 0


@needs_root
def test_lines_of_somebody_elses_process(nobody, here):
    """What may not be read is ? and never 0, with the reason, once, when the lines begin."""
    with running(here, "sleep", 600) as p:
        status, out, err = nobody.call([nobody.toll, "attach", "--network", "-i", "20ms", "--for", "200ms",
                                        "--summary", "none", str(p.pid)])
    assert status == 0
    heading, *lines = [line.split() for line in out.decode().splitlines()[1:]]
    assert heading[-2:] == ["in/s", "out/s"] and lines
    for line in lines:
        assert line[-2:] == ["?", "?"] and line[-6:-4] == ["?", "?"], line
    text = err.decode()
    assert text.count("cannot read I/O, PSS, USS and open files of a process of another user") == 1
    assert text.count("cannot read the sockets of a process of another user") == 1


def states_of_children(pid):
    """Of those that are there: one may end, and be waited for, after it was listed."""
    states = []
    for child in children_of(pid):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            states.append(state_of(child))
    return states


@needs_root
def test_memory_of_others_is_unknown_also_beside_a_zombie(nobody, here):
    """A process that has ended has no memory, which says nothing of those that are not shown."""
    script = "import subprocess, time; p = subprocess.Popen(['true']); time.sleep(600)"
    with running(here, "python3", "-c", script) as p:
        until(lambda: states_of_children(p.pid) == ["Z"], "a zombie")
        toll = attach(nobody, "-i", "50ms", p.pid)
        until(lambda: len(toll.rows()) >= 3, "samples")
        toll.end()
    for name in ("memory_pss_bytes", "memory_uss_bytes"):
        assert toll.figure(name)["quality"] == "unknown", name


@needs_root
def test_what_a_zombie_had_written_before(nobody):
    """An ordinary user cannot read the I/O of a zombie: its parent inherits it after the attach."""
    script = """if True:
        import os, sys
        out = os.open("/dev/null", os.O_WRONLY)
        child = os.fork()
        if not child:
            os.write(out, bytes(5_000_000))
            os._exit(0)
        sys.stdin.readline()
        os.wait()
        print("reaped", flush=True)
        sys.stdin.readline()
        os.write(out, bytes(1000))
        print("written", flush=True)
        sys.stdin.readline()"""
    with running(nobody, "/usr/bin/python3", "-c", script) as p:
        until(lambda: states_of_children(p.pid) == ["Z"], "a zombie")
        toll = attach(nobody, "-i", "20ms", p.pid)
        for word in (b"reaped\n", b"written\n"):
            seen = len(toll.rows())
            say(p)
            assert p.stdout.readline() == word
            until(lambda n=seen: len(toll.rows()) >= n + 5, "samples")
        toll.end()
    # The two lines are written too.
    assert 1000 <= toll.total("io_written_bytes") <= 1000 + len("reaped\nwritten\n")
    assert toll.figure("io_written_bytes")["quality"] == "lower bound"


@needs_root
def test_hidden_processes(nobody, here):
    """With hidepid=2 others do not exist for an ordinary user; his own do."""
    with running(here, "sleep", 600) as other, running(nobody, "sleep", 600) as own:
        script = ("mount -t proc -o hidepid=2 proc /proc || exit 77; "
                  f"exec setpriv --reuid=65534 --regid=65534 --clear-groups {nobody.toll} attach "
                  "-q --for 200ms -i 50ms ")
        one = here.call(["unshare", "-m", "sh", "-c", script + str(other.pid)])
        if one[0] == 77:
            pytest.skip("no proc can be mounted here")
        assert one[0] == 125 and b"hidden from this user" in one[2]
        two = here.call(["unshare", "-m", "sh", "-c", script + str(own.pid)])
        assert two[0] == 0, two[2]
        # Both share a user with nobody else here: only his own are found.
        three = here.call(["unshare", "-m", "sh", "-c", script + "--user 65534"])
        assert three[0] == 0, three[2]


@needs_root
def test_a_process_in_another_pid_namespace(here):
    with running(here, "unshare", "-pf", "sh", "-c", "while :; do :; done") as p:
        inner = until(lambda: children_of(p.pid), "the inner process")[0]
        toll = attach(here, "-i", "20ms", p.pid)
        start = cpu_of(inner)
        used(inner, start + 0.2)
        toll.end()
        os.kill(inner, signal.SIGKILL)
    assert toll.total("cpu_seconds", part="descendants") >= 0.2 - 2 * 0.02


@needs_root
def test_a_pid_that_is_used_again(here):
    """The target ends and its number goes to somebody else: that one does not count."""
    pids = here.path("pids")
    script = (
        "sleep 600 & first=$!\n"
        f"{here.toll} attach -i 50ms -q -o x.json -o run.jsonl $first & toll=$!\n"
        + job_until(recorded('"type":"sample"', 3)) + "\nkill -9 $first; wait $first\n"
        "echo $((first - 1)) > /proc/sys/kernel/ns_last_pid\n"
        f"{here.helper('burn')} 300 & second=$!\n"
        "wait $second $toll; echo $first $second > pids\n")
    here.call(["unshare", "-pf", "--mount-proc", "--", "sh", "-c", script])
    if not pids.exists() or len(set(pids.read_text().split())) != 1:
        pytest.skip("no pid is used again here")
    told = json.loads(here.path("x.json").read_text())
    assert told["target"]["combined"]["cpu_seconds"]["total"] < 0.1
    assert told["target"]["combined"]["processes_started"]["total"] == 1


# ---- Many ------------------------------------------------------------------------------------------

def test_63_targets(place):
    script = "for i in $(seq 64); do sleep 600 & done; echo ready; wait"
    with running(place, "sh", "-c", script) as p:
        assert p.stdout.readline() == b"ready\n"
        pids = children_of(p.pid)
        toll = attach(place, "-i", "50ms", *pids[:63])
        until(lambda: len(toll.rows()) >= 2, "samples")
        toll.end()
        assert len(toll.summary["targets"]) == 63
        assert toll.summary["target"]["combined"]["processes"]["max"] == 63
        assert "63" in refused(place, *pids)
        for pid in pids:
            os.kill(pid, signal.SIGKILL)


def test_no_children(place):
    burn = place.helper("burn")
    with running(place, "sh", "-c", f"{burn} 300 & wait; read x") as p:
        toll = attach(place, "-i", "20ms", "--no-children", p.pid)
        until(lambda: not children_of(p.pid), "the child's end")
        toll.end()
        say(p)
    assert toll.total("cpu_seconds") < 0.05
    assert toll.summary["children"] is False


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")
def test_the_peak_of_cores_is_not_bound_by_tolls_own(place):
    """toll has one CPU, the target is not bound to it. On a busy machine it may have no more than
    one either; a peak below the mean is wrong anywhere."""
    burn = place.helper("burn")
    first = min(os.sched_getaffinity(0))
    with running(place, "sh", "-c", f"{burn} 60000 & {burn} 60000 & wait") as p:
        until(lambda: len(children_of(p.pid)) == 2, "both")
        toll = attach(place, "-i", "50ms", p.pid,
                      preexec_fn=lambda: os.sched_setaffinity(0, {first}))
        until(lambda: len(toll.rows()) >= 10, "samples")
        toll.end()
    cores = toll.figure("cpu_cores")
    assert cores["max"] >= cores["mean"]


def test_io_since_the_attach(place):
    """Bytes written before do not count, those since do, to the byte."""
    script = "head -c 5000000 /dev/zero > a; echo one; read x; head -c 3000000 /dev/zero > b; echo two; read x"
    with running(place, "sh", "-c", script) as p:
        assert p.stdout.readline() == b"one\n"
        toll = attach(place, "-i", "20ms", p.pid)
        say(p)
        assert p.stdout.readline() == b"two\n"
        toll.end()
        say(p)
    assert 3_000_000 <= toll.total("io_written_bytes") <= 3_000_000 + 100


def test_io_of_threads_that_nobody_saw(place):
    """They end between two looks. There is no descendant that could have written their bytes."""
    script = """
import sys, threading
def write():
    with open("a", "wb", 0) as file:
        file.write(bytes(40000))
for line in sys.stdin:
    thread = threading.Thread(target=write)
    thread.start()
    thread.join()
    print("written", flush=True)
"""
    with running(place, "/usr/bin/python3", "-S", "-c", script) as p:
        say(p)
        assert p.stdout.readline() == b"written\n"
        toll = attach(place, "-i", "1s", p.pid)
        time.sleep(1)  # what is young is looked at more often
        for _ in range(5):
            say(p)
            assert p.stdout.readline() == b"written\n"
            time.sleep(0.3)
        toll.end()
    assert toll.total("io_written_bytes", part="main") >= 5 * 40000
    assert toll.total("io_written_bytes", part="descendants") == 0


def test_children_that_end_while_it_begins_are_no_loss(place):
    """Many parents that wait for all of their children, one after the other: whenever toll begins,
    nothing is said to be lost."""
    loops = 12
    script = (f"for i in $(seq {loops}); do (while :; do {place.helper('burn')} 3; done) & done; wait")
    with running(place, "sh", "-c", script) as p:
        until(lambda: len(children_of(p.pid)) == loops, "all of them")
        for _ in range(8):
            toll = attach(place, "-i", "20ms", "--for", "100ms", p.pid)
            toll.wait()
            assert not [n for n in toll.summary["notes"] if "wait for" in n], toll.summary["notes"]
