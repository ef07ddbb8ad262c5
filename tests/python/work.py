# SPDX-License-Identifier: MIT
"""Work whose cost is known from elsewhere, and waiting for what is bound to happen."""

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


def frames(tracker, count):
    """Wait until there are so many, and return the newest."""
    until(lambda: tracker.frame is not None and tracker.frame.number >= count - 1)
    return tracker.frame


def another_frame(tracker):
    """Wait for a look that begins after now: the next one may be under way."""
    return frames(tracker, (tracker.frame.number if tracker.frame else 0) + 3)
