# SPDX-License-Identifier: MIT
"""CPU time of a tick by the way in which toll finds the processes that have run: one pass of a program
in the kernel over the command's own cgroup, the CPU clock of each, or /proc/PID/stat of each; and of
psutil, which reads all of them each time."""
import time

from measure import HERE, headline, line, median, ns, output_of, program, rounds, run_toll, sizes, tree

WARM, WINDOW = 1.5, 1
WAYS = {
    "kernel": ((), "always"),
    "clocks": ((), "never"),
    "proc": ((program("noclock"),), "never"),
}
TARGETS = {"clocks": ("the CPU clocks", 2), "proc": ("/proc", 4), "psutil": ("psutil", 100)}
PSUTIL_TICKS = 3


def psutil_tick_ns(n):
    with tree(n, "sleep") as (_, root):
        time.sleep(0.3)
        ticks, cpu, _ = output_of("/usr/bin/python3", str(HERE / "psutil_loop.py"), str(root), "0.1", "1",
                                  str(PSUTIL_TICKS)).split()
    return float(cpu) / int(ticks) * 1e9


def run():
    headline("Which processes have run, 100 samples a second, CPU time of one, sleeping tree")
    for n in sizes(100, 1000, 4000):
        found = {way: [] for way in WAYS}
        for _ in range(rounds(3 if n < 4000 else 2)):
            for way, (before, cgroup) in WAYS.items():
                seen = run_toll(n, "sleep", 10, WARM, WINDOW,
                                ["--memory", "rss", "--own-cgroup", cgroup], before)
                found[way].append(seen["tick_ns"])
            found.setdefault("psutil", []).append(psutil_tick_ns(n))
        for other, (name, least) in TARGETS.items():
            ratio = median([b / a for a, b in zip(found["kernel"], found[other])])
            line(f"one pass against {name}", n, ns(median(found["kernel"])), ns(median(found[other])),
                 f"{ratio:.1f} ×", f"≥ {least} ×", ratio >= least)
