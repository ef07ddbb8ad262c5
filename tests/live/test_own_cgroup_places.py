# SPDX-License-Identifier: MIT
"""A cgroup for the command where machines differ: version 2 alone or beside version 1, delegated to a
user or not, mounted read-only, in a cgroup namespace. Each place is made in a mount namespace; toll makes
its cgroup there or says why not, the figures are right for their quality, and nothing is left."""
import json
import os
import pathlib
import sys

import pytest
from hostlib import lacking
from livelib import IS_ROOT, until

pytestmark = [pytest.mark.skipif(not IS_ROOT, reason="needs root, to make cgroups and mounts"),
              pytest.mark.skipif(bool(lacking("unshare", "setpriv")), reason="needs unshare and setpriv")]

USER = 65534
SLICE = f"user.slice/user-{USER}.slice"

# Children that are not waited for, each with 0.1 s of CPU time, and what they were by their own clocks.
JOB = """
import json, os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
r, w = os.pipe()
for _ in range(3):
    if os.fork() == 0:
        while time.process_time() < 0.1:
            pass
        os.write(w, b"%.6f\\n" % time.process_time())
        os._exit(0)
os.close(w)
used = sum(float(line) for line in os.fdopen(r)) + time.process_time()
try:
    os.wait()  # until the last has ended
except ChildProcessError:
    pass
print(json.dumps({"toll": os.getppid(), "cpu": used, "cgroups": open("/proc/self/cgroup").read()}))
"""

UMOUNT = "for m in $(grep -E ' {kinds} ' /proc/mounts | cut -d' ' -f2); do umount -l $m || exit 99; done"
PURE_V2 = f"{UMOUNT.format(kinds='cgroup2?')}; umount -l /sys/fs/cgroup 2>/dev/null; mount -t cgroup2 none /sys/fs/cgroup"
V1_ONLY = UMOUNT.format(kinds="cgroup2")
READ_ONLY = "for m in $(grep -E ' cgroup2? ' /proc/mounts | cut -d' ' -f2); do mount -o remount,ro,bind $m || exit 99; done"


def mounts(kind):
    lines = [line.split() for line in pathlib.Path("/proc/mounts").read_text().splitlines()]
    return [(pathlib.Path(at), options.split(",")) for _, at, found, options, *_ in lines if found == kind]


def inside(place, *commands, cgroups=(), namespaces="-m"):
    """What the place runs from now on is in these cgroups, and where root has run the commands."""
    join = " && ".join([*(f"echo $$ >{directory}/cgroup.procs" for directory in cgroups), 'exec "$@"'])
    prepare = " && ".join([*commands, 'exec "$@"'])
    place.prefix = ["sh", "-c", join, "sh", "unshare", namespaces, "--", "sh", "-c", prepare, "sh", *place.prefix]
    status, _, err = place.call(["true"])
    if status:
        pytest.skip(f"cannot be made here: {err.decode().strip() or status}")


class Tree:
    """Cgroups that are removed at the end, with whatever was left in them."""

    def __init__(self, mount):
        self.mount, self.made = mount, []

    def make(self, path, owned_from=None):
        """A directory at a path below the mount; from one of its parts on, it is the user's."""
        at, is_owned = self.mount, False
        for part in pathlib.PurePath(path).parts:
            at = at / part
            if not at.exists():
                at.mkdir()
                self.made.append(at)
            is_owned |= part == owned_from
            for owned in [at, *at.iterdir()] if is_owned else []:
                if owned == at or owned.name in ("cgroup.procs", "cgroup.subtree_control", "tasks"):
                    os.chown(owned, USER, USER)
        return at

    def left(self):
        return [str(d) for top in self.made for d in top.glob("toll-*")]

    def remove(self):
        for d in [pathlib.Path(left) for left in self.left()] + self.made[::-1]:
            until(lambda d=d: not (d / "cgroup.procs").read_text(), "an empty cgroup")
            d.rmdir()


@pytest.fixture
def v2():
    at = mounts("cgroup2")
    if not at or "ro" in at[0][1]:
        pytest.skip("needs cgroups of version 2 that can be written")
    tree = Tree(at[0][0])
    yield tree
    tree.remove()


@pytest.fixture
def cpuacct():
    at = [m for m, options in mounts("cgroup") if "cpuacct" in options and "ro" not in options]
    if not at:
        pytest.skip("needs cgroups of version 1 that can be written")
    tree = Tree(at[0])
    yield tree
    tree.remove()


def run(place, *options, before=()):
    result = place.run([*before, sys.executable, "-c", JOB], ["-i", "100ms", *options])
    result.job = json.loads(result.out) if result.status == 0 else None
    return result


def check_exact(result):
    assert result.status == 0, result.err
    assert result.quality("cpu_seconds") == "exact"
    # The clocks were read before the ends.
    assert result.job["cpu"] <= result.total("cpu_seconds") <= result.job["cpu"] * 1.05 + 0.1
    assert f"/toll-{result.job['toll']}" in result.job["cgroups"]
    check_nothing_left(result)


def check_without(result):
    """The children are not waited for: a lower bound, and the command sees its cgroup of before."""
    assert result.status == 0, result.err
    assert result.quality("cpu_seconds") != "exact"
    assert result.total("cpu_seconds") <= result.job["cpu"] * 1.05 + 0.1
    assert "/toll-" not in result.job["cgroups"]
    assert any(note.startswith(("--exact: ends of processes are not recorded: needs root, or CAP_BPF",
                                "--exact: ends of processes are not recorded: the command has no separate "
                                "cgroup of version 2")) for note in result.notes), result.notes
    check_nothing_left(result)


def check_nothing_left(result):
    assert not any(" was not removed" in note for note in result.notes), result.notes
    tops = [m for kind in ("cgroup", "cgroup2") for m, _ in mounts(kind)]
    found = [name for top in tops for _, below, _ in os.walk(top) for name in below]
    assert f"toll-{result.job['toll']}" not in found


def check_refused(place, why):
    status, out, err = place.call([place.toll, "run", "--own-cgroup", "always", "--", "echo", "ran"])
    assert status == 125 and out == b"", err
    assert why in err and b"toll doctor own-cgroup" in err


@pytest.mark.parametrize("mounted", ["alone", "beside version 1"])
@pytest.mark.parametrize("path, owned_from", [
    (f"delegated-{os.getpid()}/leaf", f"delegated-{os.getpid()}"),
    (f"{SLICE}/user@{USER}.service/app.slice/run-u{os.getpid()}.scope", f"user@{USER}.service")])
def test_delegated_subtree(nobody, v2, mounted, path, owned_from):
    """As a service manager of a user has it, for an ordinary user without any privilege."""
    leaf = v2.make(path, owned_from)
    inside(nobody, *([PURE_V2] if mounted == "alone" else []), cgroups=[leaf])
    result = run(nobody, "--own-cgroup", "always")
    check_exact(result)
    assert f"0::/{path}/toll-{result.job['toll']}\n" in result.job["cgroups"]
    assert not v2.left()
    # The cgroup is used where the kernel refuses the records.
    result = run(nobody, "--exact")
    check_exact(result)
    assert any("CAP_BPF and CAP_PERFMON" in note for note in result.notes), result.notes
    assert not v2.left()


def test_scope_of_a_login(nobody, v2):
    """The scope of a session belongs to root, also in the slice of the user."""
    scope = v2.make(f"{SLICE}/session-{os.getpid()}.scope")
    inside(nobody, PURE_V2, cgroups=[scope])
    check_refused(nobody, b"the cgroup is not delegated to this user")
    check_without(run(nobody, "--exact"))
    assert not v2.left()


def test_leaf_of_another_user(nobody, v2):
    """A directory that may be written, whose processes may not be moved: it is not delegated."""
    leaf = v2.make(f"half-{os.getpid()}")
    os.chown(leaf, USER, USER)
    inside(nobody, PURE_V2, cgroups=[leaf])
    check_without(run(nobody, "--exact"))
    assert not v2.left()


def test_version_1_alone(here, cpuacct):
    inside(here, V1_ONLY)
    result = run(here, "--own-cgroup", "always")
    check_exact(result)
    assert not cpuacct.left()


def test_version_1_not_delegated(nobody, cpuacct):
    inside(nobody, V1_ONLY)
    check_refused(nobody, b"the cgroup is not delegated to this user")
    check_without(run(nobody, "--exact"))


def test_version_1_delegated(nobody, cpuacct):
    """One hierarchy is enough, and it is that of CPU time."""
    name = f"delegated-{os.getpid()}"
    inside(nobody, V1_ONLY, cgroups=[cpuacct.make(name, name)])
    check_exact(run(nobody, "--own-cgroup", "always"))
    assert not cpuacct.left()


@pytest.mark.parametrize("namespaces", ["-m", "-mC"])
def test_read_only(here, namespaces):
    """As in a container, with and without a cgroup namespace."""
    inside(here, READ_ONLY, namespaces=namespaces)
    check_refused(here, b"cgroups are mounted read-only")
    check_without(run(here, "--exact"))


def test_cgroup_namespace(here, v2):
    """Its root is a cgroup below that of the machine."""
    inside(here, PURE_V2, cgroups=[v2.make(f"container-{os.getpid()}")], namespaces="-mC")
    result = run(here, "--own-cgroup", "always")
    check_exact(result)
    assert f"0::/toll-{result.job['toll']}\n" in result.job["cgroups"]
    assert not v2.left()


@pytest.mark.skipif(bool(lacking("chrt")), reason="needs chrt")
def test_refused_after_its_birth(here, v2, cpuacct):
    """Version 1 refuses a realtime process in a cgroup without a share of it, after the command was born
    in that of version 2 and moved to others: it runs where it would have without toll."""
    elsewhere = here.path("cgroup2")
    elsewhere.mkdir()
    inside(here, V1_ONLY, f"mount -t cgroup2 none {elsewhere}")
    here.prefix += ["chrt", "-f", "1"]
    result = run(here, "--exact")
    lines = [line.split(":") for line in result.job["cgroups"].splitlines()] if result.job else []
    if any("cpu" in controllers.split(",") and "/toll-" in path for _, controllers, path in lines):
        pytest.skip("this kernel accepts a realtime process")
    check_without(result)
    # Where it was asked for, the command is not started.
    status, out, err = here.call([here.toll, "run", "--own-cgroup", "always", "--", "echo", "ran"])
    assert (status, out) == (125, b"") and b"cannot move the command to its own cgroup" in err
    assert not v2.left() and not cpuacct.left()
