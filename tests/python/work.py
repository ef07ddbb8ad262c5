# SPDX-License-Identifier: MIT
"""Work whose cost is known from elsewhere, and waiting for what is bound to happen."""

import os
import time


def burn(seconds):
    """Use that much CPU time of this thread."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(1000))


def until(condition):
    """Wait for something; the time it takes is not judged."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.002)


def looked():
    """Wait until the fake of NVIDIA's library was asked for some frames more; for each it is asked for
    the memory once or twice."""

    def count():
        path = os.environ["FAKE_NVML_ASKED"]
        if not os.path.exists(path):
            return 0
        with open(path, encoding="ascii") as file:
            return file.read().count("\n0.memory_total")

    before = count()
    until(lambda: count() >= before + 5)


def frames(tracker, count):
    """Wait until there are so many, and return the newest."""
    until(lambda: tracker.frame is not None and tracker.frame.number >= count - 1)
    return tracker.frame


def another_frame(tracker):
    """Wait for a look that begins after now: the next one may be under way."""
    return frames(tracker, (tracker.frame.number if tracker.frame else 0) + 3)
