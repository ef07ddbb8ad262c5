# SPDX-License-Identifier: MIT
"""The main things of the package, in whatever Python this is; needs nothing but Python."""

import asyncio
import ctypes
import os
import subprocess
import sys
import threading
import time

import toll


def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(1000))


def check_track():
    with toll.track(interval=0.01) as t:
        burn(0.1)
    assert t.summary.target.cpu_seconds.total >= 0.098, t.summary
    assert t.frames[-1].last and t.dropped == 0
    assert str(t.summary).startswith("toll: ")
    assert "<table" in t.summary._repr_html_()
    try:
        with toll.track() as t:
            raise KeyError
    except KeyError:
        pass
    assert t.summary.wall_seconds > 0


def check_decorator():
    @toll.tracked
    def work(n):
        return n + 1

    assert work(1) == 2
    assert work.last.summary.name.endswith("work")


def check_run():
    done = toll.run(["sh", "-c", "echo hello; exit 3"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (3, "hello\n")
    assert done.summary.end.code == 3
    try:
        toll.run(["sleep", "60"], timeout=0.1)
    except subprocess.TimeoutExpired as error:
        assert error.summary.end.timed_out
    else:
        raise AssertionError("no TimeoutExpired")


def check_snapshot():
    frame = toll.snapshot()
    assert abs(frame.cpu_seconds - time.process_time()) < 0.01
    assert frame["target_memory_rss_bytes"] == frame.rows[0].memory_rss_bytes > 1 << 20
    assert toll.snapshot(system=True).memory_total_bytes > 1 << 20
    assert toll.snapshot(os.getppid()).threads >= 1


def check_mistakes():
    for error, call in (
        (ValueError, lambda: toll.track(metrics="nonsense")),
        (ProcessLookupError, lambda: toll.snapshot(2**22 + 1)),
        (TypeError, toll.Frame),
    ):
        try:
            call()
        except error:
            continue
        raise AssertionError("%s was not raised" % error)


def check_gil():
    with toll.track(interval=0.01) as t:
        ctypes.PyDLL(None).usleep(300000)
    assert len(t.frames) >= 10, t.frames


def check_asyncio():
    async def main():
        async with toll.track(interval=0.01) as t:
            await asyncio.sleep(0.05)
        return t

    assert asyncio.run(main()).summary.wall_seconds >= 0.05


def check_threads_and_fork():
    with toll.track(interval=0.005) as t:
        reader = threading.Thread(target=lambda: list(t))
        reader.start()
        time.sleep(0.05)
    reader.join(10)
    assert not reader.is_alive()
    with toll.track() as t:
        child = os.fork()
        if child == 0:
            try:
                t.summary
            except RuntimeError:
                os._exit(0)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0


def check_interpreters():
    """Several interpreters in one process, from 3.12 on with a GIL of their own."""
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            interpreters = __import__(name)
            break
        except ImportError:
            pass
    else:
        return
    inner = """
import toll
assert toll.snapshot().cpu_seconds > 0
t = toll._toll.tracker(0, None, None, [], 0, 0, True, False, False, False, 10, False, False, None)
t.add_target(0, None, 0, None)
t.start()
t.finish()
assert t.next_frame(0).cpu_seconds >= 0
t.close()
"""
    for _ in range(3):
        one = interpreters.create()
        failed = interpreters.run_string(one, inner)
        assert failed is None, failed
        interpreters.destroy(one)
    assert toll.snapshot().cpu_seconds > 0


def check_compat():
    import asyncio

    from toll.compat import gpu_tracker, process_metrics, resource_tracker, spdl, sweep

    with gpu_tracker.Tracker(ram_unit="megabytes") as tracker:
        pass
    assert tracker.resource_usage.max_ram.main.total_rss > 1
    assert str(tracker).startswith("Max RAM:")
    assert resource_tracker.PidTracker(autostart=False).diff_stats()["pid"] == os.getpid()
    with resource_tracker.ResourceTracker(interval=0.05) as resources:
        pass
    assert resources.recommend_resources()["cpu"] == 1
    assert process_metrics.ProcessMetricsMonitor(sampling_interval=0.05).collect_once()
    assert sweep.ResourceSummary().to_dict()
    seen = []

    async def watch():
        async def callback(usage):
            seen.append(usage)

        task = asyncio.ensure_future(spdl.ProcessGroupStatsMonitor(callback, 0.05).run())
        while not seen:
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.wait([task])

    asyncio.run(watch())
    assert seen[0].pgid == os.getpgrp()


def check_leaks():
    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    def some():
        for _ in range(5000):
            toll.snapshot().to_dict()
        for _ in range(20):
            with toll.track() as t:
                pass
            t.summary

    some()
    before = resident()
    some()
    assert resident() - before < 1 << 20


def main():
    for name, check in sorted(globals().items()):
        if name.startswith("check_"):
            check()
    print("good: toll %s in Python %s" % (toll.__version__, sys.version.split()[0]))


if __name__ == "__main__":
    main()
