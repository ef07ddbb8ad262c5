# SPDX-License-Identifier: MIT
"""Samples are taken while somebody holds the GIL."""

import ctypes
import threading
import time

import toll

INTERVAL = 0.01
HELD = 1.0


def hold_the_gil(seconds):
    """A long call that does not release the GIL: PyDLL keeps it."""
    ctypes.PyDLL(None).usleep(int(seconds * 1e6))


def test_holding_the_gil_stops_other_threads():
    """The measure of this file: a thread of Python's would not have sampled."""
    stamps = []
    stop = threading.Event()

    def sample():
        while not stop.is_set():
            stamps.append(time.monotonic())
            time.sleep(INTERVAL)

    sampler = threading.Thread(target=sample)
    sampler.start()
    time.sleep(5 * INTERVAL)
    hold_the_gil(HELD / 2)
    stop.set()
    sampler.join()
    assert max(b - a for a, b in zip(stamps, stamps[1:])) > 0.8 * HELD / 2


def test_samples_are_taken_while_the_gil_is_held():
    with toll.track(interval=INTERVAL) as t:
        begin = time.time()
        hold_the_gil(HELD)
        end = time.time()
    taken = [frame for frame in t.frames if begin <= frame.time <= end]
    missed = t.frame.missed
    # With the GIL in its way there would be none at all. Each deadline between the first and the
    # last of them gave a frame, or is counted as missed because the machine was busy.
    assert taken
    span = taken[-1].elapsed_seconds - taken[0].elapsed_seconds
    assert len(taken) + missed >= span / INTERVAL - 2
    assert t.summary["self_ticks_missed"].total == missed


def test_others_run_while_python_waits():
    """Waiting for frames does not hold the GIL either."""
    with toll.track(interval=60) as t:
        assert next(iter(t)).number == 0  # the next one is far away
        begun = threading.Event()
        answers = []

        def wait():
            begun.set()
            answers.append(t._native.next_frame(40000))

        waiting = threading.Thread(target=wait)
        waiting.start()
        begun.wait()
        for _ in range(20):
            time.sleep(0.001)
        # Holding the GIL it would have let nobody run before its time was over.
        assert answers == []
    waiting.join(30)
    assert not waiting.is_alive()
