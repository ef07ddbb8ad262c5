# SPDX-License-Identifier: MIT
"""CPU time of a tick of toll against the system calls alone (floor.c), and its memory."""
import time

from measure import headline, line, median, ns, output_of, program, rounds, run_toll, sizes, tree

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
    floor, toll = [], []
    for _ in range(rounds(3 if n < 1000 else 2)):
        floor.append(floor_tick_ns(n, mode, interval_ms))
        run = run_toll(n, mode, interval_ms, WARM, WINDOW, ["--memory", "rss"])
        toll.append(run["tick_ns"])
        if run["seen"] < n:
            line(f"{name}: saw only {run['seen']}", n, "", "", met=False)
    if mode == "sleep":
        memory[n] = run["memory"]
    ratio = median([t / f for t, f in zip(toll, floor)])
    target = TARGET if n >= 10 else TARGET_OF_ONE
    line(name, n, ns(median(toll)), f"{ns(median(floor))} floor", f"{ratio:.2f} ×",
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


def run():
    headline("A tick against the floor: CPU time, the system calls alone, without parsing")
    memory = {}
    for mode, usual in SIZES.items():
        for n in sizes(*usual):
            if mode == "sleep" or n <= 1000:
                compare(n, mode, memory)
    tell_memory(memory)
