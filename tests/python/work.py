# SPDX-License-Identifier: MIT
"""Work whose cost is known from elsewhere."""

import time


def burn(seconds):
    """Use that much CPU time of this thread."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(1000))
