# SPDX-License-Identifier: MIT
"""What being measured costs the job, on a machine that others use too: within one job toll is stopped
for half a second, then continued for half a second, and so on."""
import contextlib
import mmap
import os
import pathlib
import random
import signal
import statistics
import struct
import subprocess
import time

from measure import HERE, TOLL, WORK, headline, line, program, rounds

WINDOW = 0.5
STOPPED, RUNNING = signal.SIGSTOP, signal.SIGCONT


# ---- The work of a job ----------------------------------------------------------------------------

# What was done per second of the job's CPU time, and per second, is compared between neighbours.
TARGET_PERCENT = 1
SETTLE = 0.05
TRACKED = [TOLL, "run", "-q", "-i", "100ms", "--"]


def progress(shown):
    """Pieces of work, CPU time and wall time, of the same moment."""
    while True:
        one = struct.unpack_from("=QQQ", shown)
        if one == struct.unpack_from("=QQQ", shown):
            return one


def window(toll, shown, state):
    """Work per CPU second and per second, with toll in that state."""
    os.kill(toll, state)
    time.sleep(SETTLE)
    begin = progress(shown)
    time.sleep(WINDOW)
    end = progress(shown)
    work, cpu, wall = (b - a for a, b in zip(begin, end))
    return work / max(cpu, 1), work / max(wall, 1)


def start(command, path):
    """toll with the job below it, once the job works."""
    path.unlink(missing_ok=True)
    toll = subprocess.Popen([*TRACKED, *command, str(path)], stdin=subprocess.DEVNULL)
    end = time.monotonic() + 30
    while not (path.exists() and path.stat().st_size and path.read_bytes()[:8] != bytes(8)):
        if toll.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"{command} did not begin to work")
        time.sleep(0.05)
    return toll


def pairs(command, count):
    """Ratios stopped / running of neighbouring windows; which of the two comes first alternates, so
    that a drift of the machine does not count for one of them."""
    path = WORK / "steady"
    toll = start(command, path)
    by_cpu, by_wall = [], []
    try:
        with path.open("r+b") as file, mmap.mmap(file.fileno(), 4096) as shown:
            time.sleep(1)  # the beginning of a run is another matter
            for i in range(count):
                order = (STOPPED, RUNNING) if i % 2 else (RUNNING, STOPPED)
                rates = {state: window(toll.pid, shown, state) for state in order}
                for k, ratios in enumerate((by_cpu, by_wall)):
                    ratios.append(rates[STOPPED][k] / max(rates[RUNNING][k], 1e-30))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(toll.pid, RUNNING)
            toll.terminate()  # toll hands it on
        toll.wait()
    return by_cpu, by_wall


def interval(ratios):
    """The median, and its 95 % interval by bootstrap."""
    chance = random.Random(1)
    medians = sorted(statistics.median(chance.choices(ratios, k=len(ratios))) for _ in range(2000))
    return statistics.median(ratios), medians[49], medians[1950]


def percent(ratio):
    return f"{(ratio - 1) * 100:+.2f} %"


def measure_work(name, command):
    for what, ratios in zip(("per CPU second", "per second"), pairs(command, 2 * rounds(12))):
        middle, low, high = interval(ratios)
        limit = 1 + TARGET_PERCENT / 100
        met = None if what == "per second" else (
            True if high <= limit else False if low > limit else "noise")
        line(f"{name}, {what}", len(ratios), percent(middle), f"{percent(low)} to {percent(high)}",
             "", f"≤ {TARGET_PERCENT} %" if met is not None else "", met)


def slowdown():
    headline("Slowdown of the job at ten samples a second, with the 95 % interval")
    measure_work("compute", [program("steady"), "compute"])
    measure_work("faults and maps, 1 GB resident", [program("steady"), "faults"])
    measure_work("vfork and exec", [program("steady"), "spawn"])
    python = "/usr/bin/python3"
    script = [python, str(HERE / "jobs.py")]
    measure_work("SQLite", [*script, "sqlite"])
    if subprocess.run([python, "-c", "import numpy"], stderr=subprocess.DEVNULL,
                      check=False).returncode == 0:
        measure_work("NumPy", [*script, "numpy"])
    else:
        line("NumPy", "", "", "", note="needs the Debian package python3-numpy")


# ---- Pauses ---------------------------------------------------------------------------------------

# A job that maps memory all the time, which needs the lock that reading its memory takes, times its
# own steps (stalls.c).
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
            state = STOPPED if i % 2 else RUNNING
            os.kill(toll.pid, state)
            windows.append((time.monotonic_ns(), state))
            time.sleep(WINDOW)
        windows.append((time.monotonic_ns(), None))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(toll.pid, RUNNING)
            toll.terminate()
        toll.wait()
    lengths = {STOPPED: [], RUNNING: []}
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as shown:
        count = struct.unpack_from("=Q", shown, 8)[0]
        for i in range(count):
            at, length = struct.unpack_from("=QQ", shown, 16 + 16 * i)
            for (begin, state), (end, _) in zip(windows, windows[1:]):
                if begin <= at < end:
                    lengths[state].append(length / 1e3)
    path.unlink()
    return lengths[STOPPED], lengths[RUNNING], WINDOW * 10 * rounds(10)


def longest(lengths):
    return f"{len(lengths)}, ≤ {max(lengths, default=0):.0f} µs"


def pausing():
    headline("Pauses of a job that maps memory: those above 100 µs, at ten samples a second")
    for megabytes in (16, 1024):
        for name, options in (("with RSS", ["--memory", "rss"]), ("with PSS", [])):
            stopped, running, samples = pauses(options, megabytes)
            worst = max(running, default=0)
            line(f"{megabytes} MB resident, {name}", "", longest(running),
                 f"{longest(stopped)} stopped", "", f"≤ {LIMIT_US} µs",
                 worst <= max(LIMIT_US, max(stopped, default=0)), f"in {samples:.0f} samples")
