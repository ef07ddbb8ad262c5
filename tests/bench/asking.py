# SPDX-License-Identifier: MIT
"""CPU time of a tick by the way in which toll finds the processes that have run: one pass of a program
in the kernel over the command's own cgroup, the CPU clock of each, or /proc/PID/stat of each."""
from measure import headline, line, median, ns, program, rounds, run_toll, sizes

WARM, WINDOW = 1.5, 1
WAYS = {
    "kernel": ((), "always"),
    "clocks": ((), "never"),
    "proc": ((program("noclock"),), "never"),
}


def run():
    headline("Which processes have run, 100 samples a second, CPU time of one, sleeping tree")
    for n in sizes(100, 1000, 4000):
        found = {way: [] for way in WAYS}
        for _ in range(rounds(3 if n < 4000 else 2)):
            for way, (before, cgroup) in WAYS.items():
                seen = run_toll(n, "sleep", 10, WARM, WINDOW,
                                ["--memory", "rss", "--own-cgroup", cgroup], before)
                found[way].append(seen["tick_ns"])
        for other, least in (("clocks", 2), ("proc", 4)):
            ratio = median([b / a for a, b in zip(found["kernel"], found[other])])
            line(f"one pass against {'the CPU clocks' if other == 'clocks' else '/proc'}", n,
                 ns(median(found["kernel"])), ns(median(found[other])), f"{ratio:.1f} ×", f"≥ {least} ×",
                 ratio >= least)
