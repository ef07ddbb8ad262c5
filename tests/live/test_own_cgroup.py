# SPDX-License-Identifier: MIT
"""A command in a cgroup that toll makes for it: what it counts, its limits, what the command sees of
it, and that nothing is left."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest
from hostlib import lacking
from livelib import needs_root, not_sanitized, until

MIB = 1 << 20

# Children that are not waited for, each with 0.1 s of CPU time; the sum by their own clocks.
DISCARDED = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
r, w = os.pipe()
for _ in range(4):
    if os.fork() == 0:
        while time.process_time() < 0.1:
            pass
        os.write(w, b"%.6f\\n" % time.process_time())
        os._exit(0)
os.close(w)
print(sum(float(line) for line in os.fdopen(r)) + time.process_time())
"""

VIEW = """
import os, resource, signal
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print([status[k].strip() for k in ("TracerPid", "SigBlk", "SigIgn", "SigCgt", "Seccomp", "Cpus_allowed")])
print([resource.getrlimit(n) for n in range(16)], os.getpgid(0), os.getsid(0), os.nice(0), os.getcwd())
print(sorted(os.listdir("/proc/self/fd")))
"""


@pytest.fixture
def whole(here):
    """toll with a cgroup for the command in every hierarchy, or a skip that has the reason."""
    status, _, err = here.call([here.toll, "run", "-q", "--own-cgroup", "always", "--", "true"])
    if status == 125:
        pytest.skip(err.decode().strip())
    assert status == 0, err
    return here


@pytest.fixture
def limited(whole):
    """Skips where the kernel has the cgroup, but not the controller of a limit."""
    def run(command, options):
        result = whole.run(command, options)
        if result.status == 125 and b"controller" in result.err:
            pytest.skip(result.err.decode().strip())
        return result
    return run


def cgroups_of_command(out):
    """Directories on the machine, from the /proc/self/cgroup that a command has printed."""
    paths = {line.split(":", 2)[2] for line in out.decode().splitlines() if "/toll-" in line}
    mounts = [line.split()[1] for line in pathlib.Path("/proc/mounts").read_text().splitlines()
              if line.split()[2] in ("cgroup", "cgroup2")]
    return {pathlib.Path(m + path) for m in mounts for path in paths}


def test_default_makes_none(here):
    result = here.run(["cat", "/proc/self/cgroup"])
    assert result.out == pathlib.Path("/proc/self/cgroup").read_bytes()


def test_children_that_are_not_waited_for(whole):
    result = whole.run([sys.executable, "-c", DISCARDED], ["--own-cgroup", "always", "-i", "100ms"])
    assert result.status == 0, result.err
    truth = float(result.out)
    assert result.quality("cpu_seconds") == "exact"
    # The clocks were read before the ends, and the cgroup has the start of the interpreter's exit.
    assert truth <= result.total("cpu_seconds") <= truth * 1.05 + 0.1
    assert result.total("cpu_seconds") == pytest.approx(
        result.total("cpu_user_seconds") + result.total("cpu_system_seconds"), abs=1e-6)


def test_the_command_sees_what_it_sees_without(whole):
    views = [whole.run([sys.executable, "-c", VIEW], ["--own-cgroup", when]).out
             for when in ("always", "never")]
    assert views[0] == views[1] and views[0].startswith(b"['0', ")


def test_it_is_removed(whole):
    """With what the command has made below it."""
    script = ("cat /proc/self/cgroup; d=$(sed -n 's/^0:://p' /proc/self/cgroup); "
              "for m in /sys/fs/cgroup /sys/fs/cgroup/unified; do "
              "  [ -e $m$d/cgroup.procs ] && mkdir $m$d/below; done; true")
    result = whole.run(["sh", "-c", script], ["--own-cgroup", "always"])
    assert result.status == 0, result.err
    directories = cgroups_of_command(result.out)
    assert directories and not any(d.exists() for d in directories)
    assert not any(" was not removed: " in note for note in result.notes)


def test_one_with_a_process_stays_until_it_is_empty(whole):
    script = "cat /proc/self/cgroup; setsid sleep 1000 >/dev/null 2>&1 & echo $! >pid"
    result = whole.run(["sh", "-c", script], ["--own-cgroup", "always"])
    pid = int(whole.path("pid").read_text())
    try:
        left = [d for d in cgroups_of_command(result.out) if d.exists()]
        assert left
        assert any(" was not removed: process " in note for note in result.notes), result.notes
        whole.run(["true"], ["--own-cgroup", "always"])
        assert all(d.exists() for d in left)
    finally:
        os.kill(pid, signal.SIGKILL)
    until(lambda: not pathlib.Path(f"/proc/{pid}").exists(), "its end")
    whole.run(["true"], ["--own-cgroup", "always"])
    assert not any(d.exists() for d in left)


# Another toll, which removes what a killed one left, comes between opening a cgroup and locking it.
SWEEPER = """
#include <limits.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
int flock(int fd, int operation)
{
    static int calls;
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    path[n > 0 ? n : 0] = 0;
    if (calls++ < 2)
        rmdir(path);
    return (int)syscall(SYS_flock, fd, operation);
}
"""


@not_sanitized
def test_not_taken_for_a_stale_one(whole):
    if lacking("cc"):
        pytest.skip("no compiler here")
    source, library = whole.path("sweeper.c"), whole.path("sweeper.so")
    source.write_text(SWEEPER)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    for option in (["--own-cgroup", "always"], ["--exact"]):
        result = whole.run(["true"], option, before=["env", f"LD_PRELOAD={library}"])
        assert result.status == 0, result.err
        assert result.total("cpu_seconds") > 0 and result.quality("cpu_seconds") == "exact", result.notes


def test_memory_limit(limited):
    result = limited([sys.executable, "-c", "b = bytearray(256 << 20)"], ["--memory-max", "64M"])
    assert result.status == 128 + signal.SIGKILL, result.err
    assert result.summary["end"]["oom_killed"] is True
    limit = result.summary["limits"]["memory_bytes"]
    assert limit["value"] == 64 * MIB and limit["reached"] == "OOM killer"


def test_kill_that_the_command_has_outlived(limited, here):
    """A child was the victim, and something else ends the command. Without the kernel's log, as for most
    ordinary users, there is only the counter of the cgroup, which is read about once a second."""
    hide = ["unshare", "-m", "--", "sh", "-c", 'mount --bind /dev/null /dev/kmsg && exec "$@"', "sh"]
    status, _, err = here.call([*hide, "true"])
    if status:
        pytest.skip(err.decode().strip())
    limited(["true"], ["--memory-max", "64M"])
    eat = "b = bytearray(256 << 20)"
    for last, is_victim in (("time.sleep(1.5); os.kill(os.getpid(), 9)", False), (eat, True)):
        script = f"import os, subprocess, sys, time; subprocess.run([sys.executable, '-c', {eat!r}]); {last}"
        path = here.path("killed.json")
        status, _, err = here.call([*hide, here.toll, "run", "-q", "-i", "50ms", "--memory-max", "64M", "-o", path,
                                    "--", sys.executable, "-c", script])
        assert status == 128 + signal.SIGKILL, err
        summary = json.loads(path.read_text())
        assert summary["end"]["oom_killed"] is is_victim
        assert any("the OOM killer killed" in note for note in summary["notes"])


def test_memory_limit_that_is_enough(limited):
    result = limited(["true"], ["--memory-max", "64M"])
    assert result.status == 0, result.err
    assert result.summary["end"]["oom_killed"] is False
    assert result.summary["limits"]["memory_bytes"]["value"] == 64 * MIB


def test_limit_on_tasks(limited):
    script = """
import os, time
parent = os.getpid()
for _ in range(9):
    if os.fork() == 0:
        while os.getppid() == parent:
            time.sleep(0.01)
        os._exit(0)
"""
    result = limited([sys.executable, "-c", script], ["--pids-max", "4"])
    assert result.status == 1, result.err
    assert b"BlockingIOError" in result.err
    assert result.summary["limits"]["tasks"]["value"] == 4
    assert result.summary["limits"]["tasks"]["reached"]


def test_limit_on_cores(limited):
    script = "import time\nend = time.monotonic() + 1\nwhile time.monotonic() < end: pass"
    began = time.monotonic()
    result = limited([sys.executable, "-c", script], ["--cpu-max", "0.2"])
    assert result.status == 0, result.err
    # One period more than its share: a quota that was begun may be used.
    assert result.total("cpu_seconds") <= 0.2 * (time.monotonic() - began) + 0.1
    assert result.summary["limits"]["cpus"]["value"] == pytest.approx(0.2)


def test_an_ordinary_user_is_refused(nobody):
    status, out, err = nobody.call([nobody.toll, "run", "--memory-max", "1G", "--", "echo", "ran"])
    if status == 0:
        pytest.skip("this user may make cgroups")
    assert status == 125 and out == b"" and b"toll doctor own-cgroup" in err, err


@needs_root
@pytest.mark.parametrize("option", [["--memory-max", "0"], ["--memory-max", "x"], ["--cpu-max", "0"],
                                    ["--cpu-max", "-1"], ["--pids-max", "0"], ["--pids-max", "1.5"]])
def test_mistakes(here, option):
    status, out, err = here.call([here.toll, "run", *option, "--", "echo", "ran"])
    assert status == 125 and out == b"" and option[0].encode() in err
