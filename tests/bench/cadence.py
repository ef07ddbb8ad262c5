# SPDX-License-Identifier: MIT
"""Ten samples a second of a tree: CPU time of toll against that of psutil and pidstat."""
import resource
import shutil
import subprocess
import time

from measure import (HERE, TOLL, cpu_ns, headline, line, median, ns, output_of, rounds, run_toll,
                     sizes, tree)

INTERVAL_MS = 100
WARM, WINDOW = 1.2, 2
PIDSTAT_TICKS = 2
TARGETS = {"sleep": 40, "work": 15}
BUDGET_PERCENT = 1


def psutil_tick_ns(n, mode):
    with tree(n, mode) as (_, root):
        time.sleep(0.3)
        ticks, cpu, _ = output_of("/usr/bin/python3", str(HERE / "psutil_loop.py"), str(root),
                                  str(INTERVAL_MS / 1000), "3",
                                  str(round(WINDOW * 1000 / INTERVAL_MS))).split()
    return float(cpu) / int(ticks) * 1e9


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


def compare(n, mode):
    name = f"{mode}ing tree"
    same, usual, psutil = [], [], []
    warm = WARM + n / 500  # many processes are read for the first time
    for _ in range(rounds(1)):
        same.append(run_toll(n, mode, INTERVAL_MS, warm, WINDOW, ["--memory", "rss"])["tick_ns"])
        psutil.append(psutil_tick_ns(n, mode))
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


def run():
    headline("Cost at ten samples a second: CPU time of one sample")
    for mode in ("sleep", "work"):
        for n in sizes(10, 100, 1000, 5000):
            if mode == "sleep" or n <= 1000:  # 5000 that work need five cores
                compare(n, mode)
    for mode in ("sleep", "work"):
        for n in sizes(10, 100, 1000, 5000):
            if mode == "sleep" or n <= 1000:
                share = share_of_core(n, mode)
                line(f"{mode}ing tree, all defaults", n, f"{share:.2f} %", "of a core", "",
                     f"≤ {BUDGET_PERCENT} %", share <= BUDGET_PERCENT)
