# SPDX-License-Identifier: MIT
"""toll.compat.spdl: a group's usage, delivered to a callback."""

import asyncio
import dataclasses
import os
import pickle
import signal
import subprocess
import sys
import time

import hostlib
import pytest
import shapes
from toll.compat.spdl import (
    ExtendedProcessGroupResourceUsage,
    ProcessGroupResourceUsage,
    ProcessGroupStatsMonitor,
)
from work import burn

psutil = hostlib.module("psutil")

# As the class is documented: name, and whether it may be None.
FIELDS = ["pid", "pgid", "cpu_percent", "rss_bytes", "pss_bytes", "private_bytes"]
FIELDS += ["disk_read_bytes", "disk_write_bytes", "num_procs", "net_rx_bytes", "net_tx_bytes"]

HOLDER = "import time; b = bytearray(30 << 20); print(flush=True); time.sleep(60)"
BUSY = "import time; print(flush=True)\nwhile time.process_time() < {}: pass"


@pytest.fixture
def group():
    """Start processes in a group of their own; its number."""
    started = []

    def start(script, count=1):
        first = 0
        for _ in range(count):
            child = subprocess.Popen(
                [sys.executable, "-c", script],
                stdout=subprocess.PIPE,
                preexec_fn=lambda: os.setpgid(0, first),
            )
            started.append(child)
            child.stdout.readline()
            first = first or child.pid
        return first

    yield start
    for child in started:
        child.kill()
        child.wait()
        child.stdout.close()


def collect(count, interval=0.1, callback=None, **options):
    """The first so many records."""
    seen = []

    async def take(usage):
        seen.append(usage)
        if callback is not None:
            await callback(usage)

    async def main():
        task = asyncio.create_task(ProcessGroupStatsMonitor(take, interval, **options).run())
        while len(seen) < count and not task.done():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(asyncio.wait_for(main(), 30))
    return seen


def test_the_record():
    names = [field.name for field in dataclasses.fields(ProcessGroupResourceUsage)]
    assert names == FIELDS
    more = [field.name for field in dataclasses.fields(ExtendedProcessGroupResourceUsage)]
    assert more == [*FIELDS, "timestamp", "net_rx_bytes_delta", "net_tx_bytes_delta"]
    usage = ProcessGroupResourceUsage(pid=1, pgid=2)
    assert {getattr(usage, name) for name in names[2:]} == {None}
    assert ProcessGroupResourceUsage(1, 2, 50.0) == ProcessGroupResourceUsage(1, 2, cpu_percent=50.0)
    assert repr(usage).startswith("ProcessGroupResourceUsage(pid=1, pgid=2, cpu_percent=None,")
    assert pickle.loads(pickle.dumps(usage)) == usage
    with pytest.raises(TypeError):
        ProcessGroupResourceUsage()


def test_own_group():
    first, second, *_ = collect(3, callback=lambda usage: asyncio.to_thread(burn, 0.05))
    assert (first.pid, first.pgid) == (os.getpid(), os.getpgrp())
    assert first.cpu_percent is None
    assert second.cpu_percent > 0
    assert shapes.kind(dataclasses.asdict(second))["cpu_percent"] == "float"
    for name in FIELDS[3:]:
        assert isinstance(getattr(second, name), int), name
    assert second.rss_bytes >= second.pss_bytes >= second.private_bytes > 0


def test_several_processes(group):
    number = group(HOLDER, count=3)
    usage = collect(2, pgid=number)[-1]
    members = [p for p in psutil.process_iter() if os.getpgid(p.pid) == number]
    full = [member.memory_full_info() for member in members]
    assert (usage.pgid, usage.num_procs) == (number, 3)
    assert usage.rss_bytes == pytest.approx(sum(m.rss for m in full), rel=0.01)
    # Other programs that share pages come and go.
    assert usage.pss_bytes == pytest.approx(sum(m.pss for m in full), rel=0.1)
    assert usage.private_bytes == pytest.approx(sum(m.uss for m in full), rel=0.1)


def test_totals_are_of_the_run():
    """Not since the boot; what came since the record before adds up to them."""
    assert type(collect(1)[0]) is ProcessGroupResourceUsage
    seen = collect(3, extended=True)
    assert all(type(usage) is ExtendedProcessGroupResourceUsage for usage in seen)
    for way in ("net_rx_bytes", "net_tx_bytes"):
        totals = [getattr(usage, way) for usage in seen]
        assert totals[0] < 1 << 20
        come = [getattr(usage, way + "_delta") for usage in seen]
        assert [sum(come[: i + 1]) for i in range(len(come))] == totals
    assert seen[0].disk_write_bytes is None or seen[0].disk_write_bytes < 1 << 20


def test_several_groups(group):
    numbers = [group(HOLDER), group(HOLDER, count=2)]
    seen = collect(4, pgid=numbers)
    assert [usage.pgid for usage in seen[:4]] == numbers * 2
    assert [usage.num_procs for usage in seen[:4]] == [1, 2, 1, 2]


def test_cpu_is_of_one_core(group):
    number = group(BUSY.format(20), count=2)
    seen = collect(5, pgid=number)
    assert all(0 <= usage.cpu_percent < 100 * (os.cpu_count() + 0.5) for usage in seen[1:])
    before = sum(sum(p.cpu_times()[:2]) for p in psutil.process_iter() if os.getpgid(p.pid) == number)
    assert before > 0


def test_a_group_that_ends(group):
    """Totals do not fall, and run() returns."""
    number = group(BUSY.format(0.3), count=2)
    seen = []

    async def take(usage):
        seen.append(usage)

    started = time.monotonic()
    asyncio.run(asyncio.wait_for(ProcessGroupStatsMonitor(take, 0.1, pgid=number).run(), 30))
    assert time.monotonic() - started < 30
    assert all(usage.cpu_percent is None or usage.cpu_percent >= 0 for usage in seen)
    written = [usage.disk_write_bytes for usage in seen if usage.disk_write_bytes is not None]
    assert written == sorted(written)


def test_a_slow_callback_delays_no_sample(group):
    number = group(HOLDER)
    seen = collect(4, callback=lambda usage: asyncio.sleep(0.6), pgid=number, extended=True)
    steps = [b.timestamp - a.timestamp for a, b in zip(seen[1:], seen[2:])]
    assert min(steps) < 0.5


def test_a_callback_that_raises_is_told(group, caplog):
    async def fail(usage):
        raise KeyError("no such thing")

    assert len(collect(3, callback=fail, pgid=group(HOLDER))) >= 3
    assert "callback of ProcessGroupStatsMonitor failed" in caplog.text


def test_no_such_group():
    async def never(usage):
        raise AssertionError

    child = subprocess.Popen(["true"], start_new_session=True)
    child.wait()
    with pytest.raises(ProcessLookupError):
        asyncio.run(ProcessGroupStatsMonitor(never, pgid=child.pid).run())
    with pytest.raises(ValueError, match="interval"):
        asyncio.run(ProcessGroupStatsMonitor(never, interval=0).run())


def test_nothing_is_left_behind(group):
    number = group(HOLDER)
    assert shapes.left_behind(lambda: collect(1, pgid=number)) == [0, 0]
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
