# SPDX-License-Identifier: MIT
"""CPU time of a sample of toll against that of psutil: ten a second of a tree that toll starts (and that
of pidstat), ten a second of what runs already (`toll attach`), one a second of the machine
(`toll system`)."""
import contextlib
import json
import resource
import shutil
import subprocess
import time

from measure import (HERE, TOLL, cpu_ns, headline, line, median, ns, output_of, rounds, run_toll, sizes,
                     tree, watch_toll)

INTERVAL_MS = 100
WARM, WINDOW = 1.2, 2
TARGETS = {"sleep": 40, "work": 15}


def psutil_tick_ns(what, interval_ms=INTERVAL_MS, skip=3, ticks=round(WINDOW * 1000 / INTERVAL_MS)):
    ticks, cpu, _ = output_of("/usr/bin/python3", str(HERE / "psutil_loop.py"), str(what),
                              str(interval_ms / 1000), str(skip), str(ticks)).split()
    return float(cpu) / int(ticks) * 1e9


# ---- A tree that toll starts ----------------------------------------------------------------------

PIDSTAT_TICKS = 2
BUDGET_PERCENT = 1


def psutil_of_tree_ns(n, mode):
    with tree(n, mode) as (_, root):
        time.sleep(0.3)
        return psutil_tick_ns(root)


def share_of_core(n, mode, settle=10, window=10):
    """With everything as it is by default, in per cent, once the tree is known."""
    with tree(n, mode, [TOLL, "run", "-q", "--"]) as (toll, _):
        time.sleep(settle)
        before = cpu_ns(toll.pid)
        time.sleep(window)
        return 100 * (cpu_ns(toll.pid) - before) / (window * 1e9)


def family(root):
    members = [root]
    for pid in members:
        members += map(int, open(f"/proc/{pid}/task/{pid}/children").read().split())
    return members


def pidstat_tick_ns(n, mode):
    """It samples once a second at most. It reads once more than it prints."""
    with tree(n, mode) as (_, root):
        pids = ",".join(map(str, family(root)))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(["pidstat", "-u", "-r", "-d", "-w", "-v", "-p", pids, "1",
                        str(PIDSTAT_TICKS)], stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used / (PIDSTAT_TICKS + 1) * 1e9


def compare_tree(n, mode):
    name = f"{mode}ing tree"
    same, usual, psutil = [], [], []
    warm = WARM + n / 500  # many processes are read for the first time
    for _ in range(rounds(1)):
        same.append(run_toll(n, mode, INTERVAL_MS, warm, WINDOW, ["--memory", "rss"])["tick_ns"])
        psutil.append(psutil_of_tree_ns(n, mode))
        usual.append(run_toll(n, mode, INTERVAL_MS, warm, WINDOW)["tick_ns"])
    toll, other = median(same), median(psutil)
    target = TARGETS[mode]
    line(f"{name}, same values", n, ns(toll), f"{ns(other)} psutil", f"{other / toll:.1f} ×",
         f"≥ {target} ×", other / toll >= target)
    line(f"{name}, with PSS (the default)", n, ns(median(usual)), f"{ns(other)} psutil",
         f"{other / median(usual):.1f} ×")
    if mode == "sleep" and shutil.which("pidstat"):
        other = pidstat_tick_ns(n, mode)
        line(f"{name}, same values", n, ns(toll), f"{ns(other)} pidstat at 1 Hz",
             f"{other / toll:.1f} ×")


def cadence():
    headline("Cost at ten samples a second: CPU time of one sample")
    for mode in ("sleep", "work"):
        for n in sizes(10, 100, 1000, 5000):
            if mode == "sleep" or n <= 1000:  # 5000 that work need five cores
                compare_tree(n, mode)
    for mode in ("sleep", "work"):
        for n in sizes(10, 100, 1000, 5000):
            if mode == "sleep" or n <= 1000:
                share = share_of_core(n, mode)
                line(f"{mode}ing tree, all defaults", n, f"{share:.2f} %", "of a core", "",
                     f"≤ {BUDGET_PERCENT} %", share <= BUDGET_PERCENT)


# ---- What runs already ----------------------------------------------------------------------------

GROUPS, GROUP_SIZE = 10, 10


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
            psutil.append(psutil_tick_ns(root))
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


def attach():
    headline("Attached, at ten samples a second: CPU time of one sample")
    for mode in ("sleep", "work"):
        for n in sizes(10, 100, 1000):
            one_tree(n, mode)
    several_groups()
    bystanders(2000)


# ---- The machine ----------------------------------------------------------------------------------

MACHINE_INTERVAL_MS = 1000
MACHINE_WARM, MACHINE_TICKS = 1.5, 10
TARGET_SHARE, TARGET_RATIO = 0.2, 10


def watch_machine(*options):
    return watch_toll(["system", *options], MACHINE_INTERVAL_MS, MACHINE_WARM,
                      MACHINE_TICKS * MACHINE_INTERVAL_MS / 1000)


def same_values(*without):
    """What psutil_loop.py asks for: everything but pressure."""
    metrics = json.loads(output_of(TOLL, "metrics", "--json"))
    of_machine = [m for m in metrics if m["entity"] not in ("process", "cgroup", "self")]
    return ",".join(f"{m['entity']}_{m['name']}" for m in of_machine
                    if not any(word in m["name"] for word in ("pressure", *without)))


def compare_machine(what, toll, psutil, has_target=True):
    tick, other = median([t["tick_ns"] for t in toll]), median(psutil)
    target = (f"≥ {TARGET_RATIO} ×", other / tick >= TARGET_RATIO) if has_target else ()
    line(what, "", ns(tick), f"{ns(other)} psutil", f"{other / tick:.1f} ×", *target)


def machine():
    headline("The whole machine once a second: CPU time of one sample")
    everything, same, fewer, psutil, psutil_fewer = [], [], [], [], []
    for _ in range(rounds(2)):
        everything.append(watch_machine())
        same.append(watch_machine("-m", same_values()))
        fewer.append(watch_machine("-m", same_values("threads")))
        psutil.append(psutil_tick_ns("system+threads", MACHINE_INTERVAL_MS, 2, MACHINE_TICKS))
        psutil_fewer.append(psutil_tick_ns("system", MACHINE_INTERVAL_MS, 2, MACHINE_TICKS))
    share = median([t["share"] for t in everything]) * 100
    line("toll system, share of one core", "", f"{share:.3f} %", "", "",
         f"< {TARGET_SHARE} %", share < TARGET_SHARE,
         f"{everything[0]['memory'] / 1e6:.2f} MB of memory")
    compare_machine("toll system, same values", same, psutil)
    compare_machine("… everything", everything, psutil)
    compare_machine("… without the number of threads", fewer, psutil_fewer, has_target=False)
