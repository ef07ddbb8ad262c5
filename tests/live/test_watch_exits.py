# SPDX-License-Identifier: MIT
"""--watch-exits: every process that starts and ends, by the kernel's records: those of perf_event_open, and
where that is refused the process events of netlink."""
import errno
import subprocess

import pytest
from livelib import needs_root

DISCARDS = """
use POSIX;
my $nowait = POSIX::SigAction->new(sub {}, POSIX::SigSet->new, SA_NOCLDWAIT);
sigaction(SIGCHLD, $nowait);
for (1 .. 50) { if (!fork) { exec "true" } select undef, undef, undef, 0.004 }
select undef, undef, undef, 0.3;
"""

# A daemon, threads that end, and a thread that takes over its process.
FAMILY = """
import os, sys, threading, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(0.1)
    os._exit(0)
os.wait()
for _ in range(30):
    t = threading.Thread(target=int)
    t.start()
    t.join()
threading.Thread(target=lambda: os.execvp("sh", ["sh", "-c", "true & (:) & wait"])).start()
time.sleep(10)
"""


def no_perf(place):
    return [place.helper("deny"), "perf_event_open", str(errno.EACCES)]


@pytest.fixture(params=["perf", "events"])
def watch(place, request):
    """A sandbox may refuse it: then there is the note, and nothing else to test."""
    before = no_perf(place) if request.param == "events" else []
    if before and place.call([*before, "true"])[0] == 77:
        pytest.skip("no filter of system calls can be set up here")

    def run(command, *options):
        return place.run(command, ["--watch-exits", *options], before=before)
    result = run(["true"])
    assert result.status == 0, result.err
    if any("--watch-exits" in note for note in result.notes):
        pytest.skip(result.notes[0])
    run.source = request.param
    return run


def started(result):
    figure = result.figure("processes_started")
    return figure["total"], figure["quality"], figure.get("from")


def test_every_process_is_counted(watch):
    """Most of them live and die between two looks; the test knows how many it starts."""
    loop = "i=0; while [ $i -lt 300 ]; do i=$((i+1)); (:); env true; done"
    result = watch(["sh", "-c", loop], "-i", "1s")
    assert started(result) == (601, "exact", "task records")
    assert result.quality("cpu_seconds") == "exact if reaped"
    assert not result.notes


def test_spawned_by_vfork(watch):
    code = "import os\nfor i in range(100): os.waitpid(os.posix_spawnp('true', ['true'], {}), 0)"
    result = watch(["/usr/bin/python3", "-c", code], "-i", "1s")
    assert started(result) == (101, "exact", "task records")
    assert result.quality("cpu_seconds") == "exact if reaped"


def test_daemons_and_threads(watch):
    result = watch(["/usr/bin/python3", "-c", FAMILY], "--wait", "all")
    assert started(result) == (5, "exact", "task records")
    assert not result.notes


def test_discarded_children_that_no_look_saw(watch):
    """SA_NOCLDWAIT, and children of some milliseconds."""
    result = watch(["perl", "-e", DISCARDS], "-i", "1s")
    assert started(result) == (51, "exact", "task records")
    assert result.quality("cpu_seconds") == "lower bound"
    assert any("does not wait" in note for note in result.notes)


def test_another_group(watch):
    """perf_event_open stops at a setgid program: what it starts would be missing."""
    if subprocess.run(["chage", "--help"], capture_output=True, check=False).returncode:
        pytest.skip("no chage here (package passwd)")
    result = watch(["sh", "-c", "chage --help >/dev/null; true"])
    assert result.quality("processes_started") == ("exact" if watch.source == "events" else "lower bound")


def test_the_job_sees_nothing_of_it(place, watch):
    assert place.run(["ls", "/proc/self/fd"]).out == watch(["ls", "/proc/self/fd"]).out


@needs_root
@pytest.mark.parametrize("space", [["-n"], ["-p", "-f", "--mount-proc"]], ids=["network", "pid"])
def test_no_events_in_a_namespace(here, space):
    """Where the kernel does not answer, events of others may come all the same."""
    before = ["unshare", *space, "--", *no_perf(here)]
    if here.call([*before, "true"])[0]:
        pytest.skip("no such namespace here")
    result = here.run(["sh", "-c", "env true; env true"], ["--watch-exits"], before=before)
    assert result.quality("processes_started") == "lower bound"
    assert any(note.startswith("--watch-exits: ") for note in result.notes)


@needs_root
def test_a_helper_of_toll_is_no_process_of_the_job(here):
    """A filesystem that may hang is read by a process that toll starts during the run."""
    mount = ("exec 3<>/dev/fuse && mkdir -p fuse && "
             "mount -i -t fuse -o fd=3,rootmode=40000,user_id=0,group_id=0 none fuse && exec \"$@\"")
    before = ["unshare", "-m", "sh", "-c", mount, "sh", *no_perf(here)]
    if here.call([*before, "true"])[0]:
        pytest.skip("no FUSE or no filter of system calls can be set up here")
    result = here.run(["sh", "-c", "sleep 1; env true"], ["--system", "--watch-exits"], before=before)
    if any(note.startswith("--watch-exits: ") for note in result.notes):
        pytest.skip(result.notes[0])
    assert started(result) == (3, "exact", "task records")


def test_dropped_events(place, watch):
    """The command stops toll, so that there is no room for what the kernel has to say."""
    if watch.source == "perf":
        pytest.skip("the records of perf_event_open are smaller by far, and have room for each CPU")
    flood = """
import os, signal, sys, time
os.kill(os.getppid(), signal.SIGSTOP)
for i in range(int(sys.argv[1])):
    try:
        os.posix_spawn("/nowhere", ["nowhere"], {})
    except FileNotFoundError:
        pass
os.kill(os.getppid(), signal.SIGCONT)
time.sleep(0.1)
"""
    result = watch(["/usr/bin/python3", "-c", flood, "7000"])
    total, quality, _ = started(result)
    assert total < 7001 and quality == "lower bound"
