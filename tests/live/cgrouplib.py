# SPDX-License-Identifier: MIT
"""Cgroups of a test's own: made below the one the tests are in, removed whatever happens."""
import os
import pathlib
import signal
import subprocess
import time

import pytest
from livelib import IS_ROOT, exists, state_of, until

CONTROLLERS = ("memory", "cpu", "cpuacct", "cpuset", "pids")
PERIOD_US = 100000

FILES = {
    1: {"memory": ("memory", "memory.limit_in_bytes"), "tasks": ("pids", "pids.max"),
        "cpus": ("cpuset", "cpuset.cpus"), "usage": ("cpuacct", "cpuacct.usage")},
    2: {"memory": ("memory", "memory.max"), "tasks": ("pids", "pids.max"),
        "cpus": ("cpuset", "cpuset.cpus")},
}


class Group:
    """One cgroup; with version 1, one directory in each hierarchy."""

    def __init__(self, version, directories):
        self.version, self.directories = version, directories
        self.below = []

    def file(self, what):
        controller, name = FILES[self.version][what]
        return self.directories[controller] / name

    def path(self, controller):
        """As the kernel calls it."""
        mounts = {c: mount for c, mount, _ in places(self.version)}
        return "/" + str(self.directories[controller].relative_to(mounts[controller]))

    def set(self, what, value):
        self.file(what).write_text(str(value))

    def set_quota(self, cores):
        quota = int(cores * PERIOD_US)
        if self.version == 2:
            (self.directories["cpu"] / "cpu.max").write_text(f"{quota} {PERIOD_US}")
            return
        (self.directories["cpu"] / "cpu.cfs_period_us").write_text(str(PERIOD_US))
        (self.directories["cpu"] / "cpu.cfs_quota_us").write_text(str(quota))

    def come_first(self):
        """Its tasks get what they may have, whatever else runs."""
        name, weight = {1: ("cpu.shares", 262144), 2: ("cpu.weight", 10000)}[self.version]
        (self.directories["cpu"] / name).write_text(str(weight))

    def child(self, name):
        directories = {c: d / name for c, d in self.directories.items()}
        self.below.append(make(self.version, directories))
        return self.below[-1]

    def join(self, command):
        """The command, being in the cgroup before it begins."""
        files = " ".join(str(d / "cgroup.procs") for d in sorted(set(self.directories.values())))
        return ["sh", "-c", f'for f in {files}; do echo $$ > $f || exit 99; done; exec "$@"', "sh",
                *map(str, command)]

    def pids(self):
        found = set()
        for d in self.directories.values():
            if (d / "cgroup.procs").exists():
                found.update(int(p) for p in (d / "cgroup.procs").read_text().split())
        return found

    def empty(self):
        for group in self.below:
            group.empty()
        for pid in self.pids():
            if exists(pid):
                os.kill(pid, signal.SIGKILL)
        until(lambda: not self.pids(), "an empty cgroup")

    def remove(self):
        self.empty()
        for group in self.below:
            group.remove()
        for d in set(self.directories.values()):
            until(lambda: not d.exists() or try_to_remove(d), f"the end of {d}")

    # What the kernel says, in toll's units.

    def flat(self, controller, name):
        lines = (self.directories[controller] / name).read_text().splitlines()
        return {key: int(value) for key, value in (line.split() for line in lines)}

    def throttling(self):
        """Periods, throttled ones, seconds."""
        stat = self.flat("cpu", "cpu.stat")
        seconds = (stat["throttled_time"] / 1e9 if self.version == 1
                   else stat["throttled_usec"] / 1e6)
        return stat["nr_periods"], stat["nr_throttled"], seconds

    def cpu_seconds(self):
        if self.version == 1:
            return int(self.file("usage").read_text()) / 1e9
        return self.flat("cpu", "cpu.stat")["usage_usec"] / 1e6

    def cache_bytes(self):
        stat = self.flat("memory", "memory.stat")
        return stat["total_cache" if self.version == 1 else "file"]

    def used_memory(self):
        name = "memory.usage_in_bytes" if self.version == 1 else "memory.current"
        return int((self.directories["memory"] / name).read_text())

    def task_refusals(self):
        return self.flat("pids", "pids.events")["max"]


def try_to_remove(directory):
    try:
        directory.rmdir()
    except OSError:
        return False
    return True


def own_paths():
    """Controller to the path the tests are in; version 2 under ''."""
    lines = pathlib.Path("/proc/self/cgroup").read_text().splitlines()
    paths = {}
    for line in lines:
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            paths[controller] = path
    return paths


def places(version):
    """(controller, mount, own directory) of every controller that is there."""
    own = own_paths()
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        left, right = line.split(" - ")
        kind, _, options = right.split(" ", 2)
        mount = pathlib.Path(left.split()[4])
        if kind == "cgroup" and version == 1:
            for c in set(options.split(",")) & set(CONTROLLERS):
                yield c, mount, mount / own[c].lstrip("/")
        elif kind == "cgroup2" and version == 2:
            given = (mount / "cgroup.controllers").read_text().split()
            for c in CONTROLLERS:
                if c in given or (c == "cpuacct" and "cpu" in given):
                    yield c, mount, mount


def make(version, directories):
    group = Group(version, directories)
    for d in sorted(set(directories.values())):
        d.mkdir()
    if version == 1:  # a cpuset begins without anything
        cpuset = directories["cpuset"]
        for name in ("cpuset.mems", "cpuset.cpus"):
            (cpuset / name).write_text((cpuset.parent / name).read_text())
    else:
        top = directories["memory"]
        (top.parent / "cgroup.subtree_control").write_text("+memory +cpu +cpuset +pids")
    return group


@pytest.fixture(params=[1, 2], ids=["v1", "v2"])
def group(request):
    """A fresh cgroup of each version whose controllers are there."""
    if not IS_ROOT:
        pytest.skip("needs root")
    version = request.param
    found = {c: own for c, _, own in places(version)}
    if set(found) != set(CONTROLLERS):
        pytest.skip(f"the controllers of cgroup version {version} are not there")
    name = f"toll-live-{os.getpid()}-{time.monotonic_ns()}"
    made = make(version, {c: d / name for c, d in found.items()})
    yield made
    made.remove()


def wait_in(group, place, command, **kw):
    """Started in the cgroup, and asleep, for a line on stdin before the command begins."""
    ready = place.path(f"ready-{time.monotonic_ns()}")
    script = 'echo > "$0"; read go; exec "$@"'
    p = place.popen(group.join(["sh", "-c", script, ready, *command]), stdin=subprocess.PIPE, **kw)
    until(lambda: ready.exists() or p.poll() is not None, "the job")
    until(lambda: p.poll() is not None or state_of(p.pid) == "S", "the job asleep")
    return p


def go(process):
    process.stdin.write(b"go\n")
    process.stdin.close()
