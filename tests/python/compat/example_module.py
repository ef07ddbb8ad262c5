# SPDX-License-Identifier: MIT
"""Work for the examples: some memory and some CPU time."""

import time


def example_function(seconds=0.25, megabytes=30):
    block = bytearray(megabytes * 1_000_000)
    block[::4096] = b"x" * len(block[::4096])
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(1000))
    return len(block)
