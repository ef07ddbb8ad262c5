# SPDX-License-Identifier: MIT
"""What being measured costs the job, on a machine that others use too: within one job toll is
stopped for half a second, then continued for half a second, and so on. The work that was done per
second of the job's CPU time, and per second, is compared between neighbours."""
import contextlib
import mmap
import os
import random
import signal
import statistics
import struct
import subprocess
import time

from measure import HERE, TOLL, WORK, headline, line, program, rounds

TARGET_PERCENT = 1
WINDOW, SETTLE = 0.5, 0.05
TRACKED = [TOLL, "run", "-q", "-i", "100ms", "--"]
STOPPED, RUNNING = signal.SIGSTOP, signal.SIGCONT


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


def measure(name, command):
    for what, ratios in zip(("per CPU second", "per second"), pairs(command, 2 * rounds(12))):
        middle, low, high = interval(ratios)
        limit = 1 + TARGET_PERCENT / 100
        met = None if what == "per second" else (
            True if high <= limit else False if low > limit else "noise")
        line(f"{name}, {what}", len(ratios), percent(middle), f"{percent(low)} to {percent(high)}",
             "", f"≤ {TARGET_PERCENT} %" if met is not None else "", met)


def run():
    headline("Slowdown of the job at ten samples a second, with the 95 % interval")
    measure("compute", [program("steady"), "compute"])
    measure("faults and maps, 1 GB resident", [program("steady"), "faults"])
    measure("vfork and exec", [program("steady"), "spawn"])
    python = "/usr/bin/python3"
    script = [python, str(HERE / "jobs.py")]
    measure("SQLite", [*script, "sqlite"])
    if subprocess.run([python, "-c", "import numpy"], stderr=subprocess.DEVNULL,
                      check=False).returncode == 0:
        measure("NumPy", [*script, "numpy"])
    else:
        line("NumPy", "", "", "", note="needs the Debian package python3-numpy")
