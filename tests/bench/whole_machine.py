# SPDX-License-Identifier: MIT
"""The machine once a second: CPU time of `toll system` against that of psutil."""
from measure import HERE, headline, line, median, ns, output_of, rounds, watch_toll

INTERVAL_MS = 1000
WARM, TICKS = 1.5, 10
TARGET_SHARE, TARGET_RATIO = 0.2, 10


def psutil_tick_ns():
    ticks, cpu = output_of("/usr/bin/python3", str(HERE / "psutil_system.py"),
                           str(INTERVAL_MS / 1000), "2", str(TICKS)).split()
    return float(cpu) / int(ticks) * 1e9


def run():
    headline("The whole machine once a second: CPU time of one sample")
    toll, psutil = [], []
    for _ in range(rounds(2)):
        toll.append(watch_toll(["system"], INTERVAL_MS, WARM, TICKS * INTERVAL_MS / 1000))
        psutil.append(psutil_tick_ns())
    share = median([t["share"] for t in toll]) * 100
    tick, other = median([t["tick_ns"] for t in toll]), median(psutil)
    line("toll system, share of one core", "", f"{share:.3f} %", "", "",
         f"< {TARGET_SHARE} %", share < TARGET_SHARE,
         f"{toll[0]['memory'] / 1e6:.2f} MB of memory")
    line("toll system", "", ns(tick), f"{ns(other)} psutil", f"{other / tick:.1f} ×",
         f"≥ {TARGET_RATIO} ×", other / tick >= TARGET_RATIO)
