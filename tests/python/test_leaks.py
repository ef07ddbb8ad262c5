# SPDX-License-Identifier: MIT
"""Memory, descriptors and threads stay what they were."""

import gc
import os

import pytest
import toll
from conftest import SANITIZED

LOOKS = 20_000 if SANITIZED else 1_000_000
BLOCKS = 100 if SANITIZED else 2_000
# Whatever leaks 16 bytes each time shows.
ROOM = 4 << 20


def resident():
    gc.collect()
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def threads():
    return len(os.listdir("/proc/self/task"))


def grown(function, count):
    """By how much memory, descriptors and threads grow, after some calls to warm up."""
    for _ in range(count // 10):
        function()
    before = resident(), descriptors(), threads()
    for _ in range(count):
        function()
    after = resident(), descriptors(), threads()
    return [b - a for a, b in zip(before, after)]


def check(growth):
    if not SANITIZED:  # which keeps freed memory for a while
        assert growth[0] < ROOM
    assert growth[1:] == [0, 0]


def test_a_million_snapshots():
    def look():
        frame = toll.snapshot()
        return frame.cpu_seconds, frame.memory_rss_bytes

    check(grown(look, LOOKS))


def test_everything_of_a_frame():
    def look():
        frame = toll.snapshot()
        return frame.to_dict(), [dict(row) for row in frame.rows], frame["target_threads"]

    check(grown(look, LOOKS // 50))


def test_blocks():
    def block():
        with toll.track(interval=0.001, labels={"a": "b"}) as t:
            t.event("e", key="value")
        return t.summary.target, list(t), t.frame.rows

    check(grown(block, BLOCKS))


def test_blocks_that_raise():
    def block():
        with pytest.raises(KeyError), toll.track():
            raise KeyError
        with pytest.raises(ValueError):
            toll.track(metrics="nonsense")
        with pytest.raises(FileNotFoundError):
            toll.track(outputs="/nowhere/x.csv")

    check(grown(block, BLOCKS // 10))


def test_looks_at_others():
    check(grown(lambda: toll.snapshot(os.getppid()), BLOCKS))
    check(grown(lambda: toll.snapshot(system=True), BLOCKS // 10))


def test_trackers_that_nobody_stopped():
    check(grown(lambda: toll.track().start(), BLOCKS // 10))
