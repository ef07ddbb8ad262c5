# SPDX-License-Identifier: MIT
"""What one sample of a tree costs toll: against the system calls alone (floor.c), by the way in which it
finds the processes that have run, and counted instead of timed."""
import json
import os
import re
import subprocess
import time

from measure import (HERE, TOLL, WORK, headline, line, median, ns, output_of, program, rounds, run_toll,
                     sizes, tree)


# ---- Against the system calls, and the memory of toll ---------------------------------------------

TARGET, TARGET_OF_ONE = 1.3, 1.5  # what does not depend on the processes weighs more on one
# Whole seconds, because some files are read once in each.
WARM, WINDOW = 1.2, 1
# Working, 4000 would need four cores.
SIZES = {"sleep": (1, 10, 100, 1000, 4000), "work": (1, 10, 100, 1000)}
MEMORY_LIMIT = 3e6


def interval_for(n, mode):
    """A hundred a second. 1000 that work leave no room for that on two cores: a tick that is late
    finds more of them changed and is later still."""
    return 100 if mode == "work" and n >= 1000 else 10


def floor_tick_ns(n, mode, interval_ms):
    with tree(n, mode) as (_, root):
        time.sleep(0.2)
        skip, ticks = (round(s * 1000 / interval_ms) for s in (0.3, WINDOW))
        return float(output_of(program("floor"), str(root), str(interval_ms), str(skip),
                               str(ticks)))


def compare(n, mode, memory):
    """In pairs: what disturbs the machine disturbs both."""
    interval_ms = interval_for(n, mode)
    name = f"{mode}ing tree, {1000 // interval_ms} Hz"
    alone, toll = [], []
    for _ in range(rounds(3 if n < 1000 else 2)):
        alone.append(floor_tick_ns(n, mode, interval_ms))
        run = run_toll(n, mode, interval_ms, WARM, WINDOW, ["--memory", "rss"])
        toll.append(run["tick_ns"])
        if run["seen"] < n:
            line(f"{name}: saw only {run['seen']}", n, "", "", met=False)
    if mode == "sleep":
        memory[n] = run["memory"]
    ratio = median([t / f for t, f in zip(toll, alone)])
    target = TARGET if n >= 10 else TARGET_OF_ONE
    line(name, n, ns(median(toll)), f"{ns(median(alone))} floor", f"{ratio:.2f} ×",
         f"≤ {target} ×", ratio <= target, f"{ns(median(toll) / n)} a process")


def tell_memory(memory):
    headline("Memory of toll")
    smallest = min(memory)
    for n, used in sorted(memory.items()):
        if n == 10:
            line("high-water mark", n, f"{used / 1e6:.2f} MB", "", "", "< 3 MB",
                 used < MEMORY_LIMIT)
        elif n > smallest:
            more = (used - memory[smallest]) / (n - smallest)
            line("high-water mark", n, f"{used / 1e6:.2f} MB", "",
                 note=f"{more:.0f} bytes for each further process")


def floor():
    headline("A tick against the floor: CPU time, the system calls alone, without parsing")
    memory = {}
    for mode, usual in SIZES.items():
        for n in sizes(*usual):
            if mode == "sleep" or n <= 1000:
                compare(n, mode, memory)
    tell_memory(memory)


# ---- Which processes have run ---------------------------------------------------------------------

# One pass of a program in the kernel over the command's own cgroup, the CPU clock of each, or
# /proc/PID/stat of each; and psutil, which reads all of them each time.
ASKING_WARM = 1.5
WAYS = {
    "kernel": ((), "always"),
    "clocks": ((), "never"),
    "proc": ((program("noclock"),), "never"),
}
LEAST = {"clocks": ("the CPU clocks", 2), "proc": ("/proc", 4), "psutil": ("psutil", 100)}
PSUTIL_TICKS = 3


def psutil_tick_ns(n):
    with tree(n, "sleep") as (_, root):
        time.sleep(0.3)
        ticks, cpu, _ = output_of("/usr/bin/python3", str(HERE / "psutil_loop.py"), str(root), "0.1", "1",
                                  str(PSUTIL_TICKS)).split()
    return float(cpu) / int(ticks) * 1e9


def asking():
    headline("Which processes have run, 100 samples a second, CPU time of one, sleeping tree")
    for n in sizes(100, 1000, 4000):
        found = {way: [] for way in WAYS}
        for _ in range(rounds(3 if n < 4000 else 2)):
            for way, (before, cgroup) in WAYS.items():
                seen = run_toll(n, "sleep", 10, ASKING_WARM, WINDOW,
                                ["--memory", "rss", "--own-cgroup", cgroup], before)
                found[way].append(seen["tick_ns"])
            found.setdefault("psutil", []).append(psutil_tick_ns(n))
        for other, (name, least) in LEAST.items():
            ratio = median([b / a for a, b in zip(found["kernel"], found[other])])
            line(f"one pass against {name}", n, ns(median(found["kernel"])), ns(median(found[other])),
                 f"{ratio:.1f} ×", f"≥ {least} ×", ratio >= least)


# ---- Instructions and allocations -----------------------------------------------------------------

OUTPUTS = ["-o", str(WORK / "out.csv"), "-o", str(WORK / "out.jsonl")]


def instructions(n, seconds, options):
    """In user mode, by callgrind: (instructions, ticks) of a whole run."""
    summary = WORK / "callgrind.json"
    prefix = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={WORK / 'callgrind.out'}",
              "--trace-children=no", TOLL, "run", "-i", "10ms", "--memory", "rss", "--summary",
              "json", "--summary-to", str(summary), *options, "--"]
    with tree(n, "sleep", prefix):
        time.sleep(seconds)
    text = (WORK / "callgrind.out").read_text()
    total = int(re.search(r"^(?:summary|totals): (\d+)", text, re.M).group(1))
    return total, json.loads(summary.read_text())["self"]["ticks"]["total"]


def count_instructions(n, name, options):
    (few, few_ticks), (many, many_ticks) = (instructions(n, s, options) for s in (1.2, 3.2))
    per_tick = (many - few) / (many_ticks - few_ticks)
    line(f"instructions of a tick, {name}", n, f"{per_tick:.0f}", "",
         note=f"{per_tick / n:.0f} a process" if n > 1 else "")


def allocations(path):
    return int.from_bytes(path.read_bytes(), "little")


def count_allocations(n, mode):
    path = WORK / "allocations"
    path.unlink(missing_ok=True)
    env = dict(os.environ, LD_PRELOAD=program("liballocations.so"), ALLOCATIONS=str(path))
    prefix = [TOLL, "run", "-q", "-i", "10ms", *OUTPUTS, "--"]
    with tree(n, mode, prefix, env):
        time.sleep(2.2)
        before = allocations(path)
        time.sleep(2.2)
        after = allocations(path)
    line(f"allocations of 220 ticks, CSV and JSONL, {mode}ing", n, after - before, "", "", "0",
         after == before and before > 0, f"{before} before")


def counting():
    headline("Counted")
    if subprocess.run(["valgrind", "--version"], capture_output=True).returncode == 0:
        for n in sizes(1, 100):
            count_instructions(n, "no output", [])
            count_instructions(n, "CSV and JSONL", OUTPUTS)
    for n in sizes(100):
        count_allocations(n, "sleep")
        count_allocations(n, "work")
