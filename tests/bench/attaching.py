# SPDX-License-Identifier: MIT
"""Ten samples a second of what runs already: CPU time of `toll attach` against that of psutil."""
import contextlib
import time

from measure import (HERE, headline, line, median, ns, output_of, rounds, sizes, tree, watch_toll)

INTERVAL_MS = 100
WARM, WINDOW = 1.2, 2
TARGETS = {"sleep": 40, "work": 15}
GROUPS, GROUP_SIZE = 10, 10


def psutil_tick_ns(whom):
    ticks, cpu, _ = output_of("/usr/bin/python3", str(HERE / "psutil_loop.py"), whom,
                              str(INTERVAL_MS / 1000), "3",
                              str(round(WINDOW * 1000 / INTERVAL_MS))).split()
    return float(cpu) / int(ticks) * 1e9


def toll_tick_ns(words, expected):
    seen = watch_toll(["attach", "--memory", "rss", *words], INTERVAL_MS, WARM, WINDOW)
    if seen["seen"] != expected:
        raise RuntimeError(f"{seen['seen']} of {expected} processes were seen")
    return seen["tick_ns"]


def one_tree(n, mode):
    toll, psutil = [], []
    with tree(n, mode) as (_, root):
        time.sleep(0.3)
        for _ in range(rounds(1)):
            toll.append(toll_tick_ns([str(root)], n))
            psutil.append(psutil_tick_ns(str(root)))
    tick, other = median(toll), median(psutil)
    target = TARGETS[mode]
    line(f"attached to a {mode}ing tree", n, ns(tick), f"{ns(other)} psutil", f"{other / tick:.1f} ×",
         f"≥ {target} ×", other / tick >= target)


def several_groups():
    """The same processes as one series for each group, as one for each tree, and by psutil."""
    n = GROUPS * GROUP_SIZE
    groups, trees, psutil = [], [], []
    with contextlib.ExitStack() as stack:
        roots = [stack.enter_context(tree(GROUP_SIZE, "sleep", session=True))[1]
                 for _ in range(GROUPS)]
        time.sleep(0.3)
        for _ in range(rounds(1)):
            groups.append(toll_tick_ns([f"--group={root}" for root in roots], n))
            trees.append(toll_tick_ns([str(root) for root in roots], n))
            psutil.append(psutil_tick_ns("groups:" + ",".join(map(str, roots))))
    tick, other = median(groups), median(psutil)
    line(f"{GROUPS} groups of {GROUP_SIZE}, sleeping", n, ns(tick), f"{ns(other)} psutil",
         f"{other / tick:.1f} ×")
    line(f"{GROUPS} trees of {GROUP_SIZE}, sleeping", n, ns(median(trees)), f"{ns(other)} psutil",
         f"{other / median(trees):.1f} ×")


def bystanders(n):
    """Processes that a rule does not fit: they slept for a while, as most of a machine does."""
    shares = []
    for others in (1, n):
        with tree(others, "sleep"), tree(1, "sleep", session=True) as (_, root):
            seen = watch_toll(["attach", "--memory", "rss", f"--session={root}"], INTERVAL_MS,
                              WARM + 8, 2 * WINDOW)
            shares.append(seen["tick_ns"] * (1000 / INTERVAL_MS) / 1e9)
    added = shares[1] - shares[0]
    line("a session beside bystanders, added", n, f"{100 * added:.2f} %", "of a core", "",
         "≤ 0.3 %", added <= 0.003)


def run():
    headline("Attached, at ten samples a second: CPU time of one sample")
    for mode in ("sleep", "work"):
        for n in sizes(10, 100, 1000):
            one_tree(n, mode)
    several_groups()
    bystanders(2000)
