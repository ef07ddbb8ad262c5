# SPDX-License-Identifier: MIT
"""How long a sample makes the job wait: a job that maps memory all the time, which needs the lock
that reading its memory takes, times its own steps (stalls.c). toll is stopped and continued in turn,
every half second."""
import contextlib
import mmap
import os
import pathlib
import signal
import struct
import subprocess
import time

from measure import TOLL, WORK, headline, line, program, rounds

WINDOW = 0.5
LIMIT_US = 100
# Other load can take the CPU from toll while it holds a lock, which says nothing of toll. A file on
# a disk would make the job wait when it is written back.
FIRST = ["nice", "-n", "-20"] if os.geteuid() == 0 else []
PLACE = pathlib.Path("/dev/shm" if os.path.isdir("/dev/shm") else WORK)


def pauses(options, megabytes):
    """Lengths in µs of the pauses in windows with toll stopped, and with toll running."""
    path = PLACE / f"toll-stalls-{os.getpid()}"
    path.unlink(missing_ok=True)
    command = [*FIRST, TOLL, "run", "-q", "-i", "100ms", *options, "--", program("stalls"),
               str(path), str(megabytes)]
    toll = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    windows = []
    try:
        time.sleep(3)
        for i in range(2 * rounds(10)):
            state = signal.SIGSTOP if i % 2 else signal.SIGCONT
            os.kill(toll.pid, state)
            windows.append((time.monotonic_ns(), state))
            time.sleep(WINDOW)
        windows.append((time.monotonic_ns(), None))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(toll.pid, signal.SIGCONT)
            toll.terminate()
        toll.wait()
    lengths = {signal.SIGSTOP: [], signal.SIGCONT: []}
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as shown:
        count = struct.unpack_from("=Q", shown, 8)[0]
        for i in range(count):
            at, length = struct.unpack_from("=QQ", shown, 16 + 16 * i)
            for (begin, state), (end, _) in zip(windows, windows[1:]):
                if begin <= at < end:
                    lengths[state].append(length / 1e3)
    path.unlink()
    return lengths[signal.SIGSTOP], lengths[signal.SIGCONT], WINDOW * 10 * rounds(10)


def longest(lengths):
    return f"{len(lengths)}, ≤ {max(lengths, default=0):.0f} µs"


def run():
    headline("Pauses of a job that maps memory: those above 100 µs, at ten samples a second")
    for megabytes in (16, 1024):
        for name, options in (("with RSS", ["--memory", "rss"]), ("with PSS", [])):
            stopped, running, samples = pauses(options, megabytes)
            worst = max(running, default=0)
            line(f"{megabytes} MB resident, {name}", "", longest(running),
                 f"{longest(stopped)} stopped", "", f"≤ {LIMIT_US} µs",
                 worst <= max(LIMIT_US, max(stopped, default=0)), f"in {samples:.0f} samples")
