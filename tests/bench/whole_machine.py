# SPDX-License-Identifier: MIT
"""The machine once a second: CPU time of `toll system` against that of psutil."""
import json

from measure import HERE, headline, line, median, ns, output_of, rounds, watch_toll, TOLL

INTERVAL_MS = 1000
WARM, TICKS = 1.5, 10
TARGET_SHARE, TARGET_RATIO = 0.2, 10


def psutil_tick_ns(what):
    ticks, cpu, _ = output_of("/usr/bin/python3", str(HERE / "psutil_loop.py"), what,
                              str(INTERVAL_MS / 1000), "2", str(TICKS)).split()
    return float(cpu) / int(ticks) * 1e9


def same_values(*without):
    """What psutil_loop.py asks for: everything but pressure."""
    metrics = json.loads(output_of(TOLL, "metrics", "--json"))
    of_machine = [m for m in metrics if m["entity"] not in ("process", "cgroup", "self")]
    return ",".join(f"{m['entity']}_{m['name']}" for m in of_machine
                    if not any(word in m["name"] for word in ("pressure", *without)))


def compare(what, toll, psutil, has_target=True):
    tick, other = median([t["tick_ns"] for t in toll]), median(psutil)
    target = (f"≥ {TARGET_RATIO} ×", other / tick >= TARGET_RATIO) if has_target else ()
    line(what, "", ns(tick), f"{ns(other)} psutil", f"{other / tick:.1f} ×", *target)


def run():
    headline("The whole machine once a second: CPU time of one sample")
    window = TICKS * INTERVAL_MS / 1000
    everything, same, fewer, psutil, psutil_fewer = [], [], [], [], []
    for _ in range(rounds(2)):
        everything.append(watch_toll(["system"], INTERVAL_MS, WARM, window))
        same.append(watch_toll(["system", "-m", same_values()], INTERVAL_MS, WARM, window))
        fewer.append(watch_toll(["system", "-m", same_values("threads")], INTERVAL_MS, WARM,
                                window))
        psutil.append(psutil_tick_ns("system+threads"))
        psutil_fewer.append(psutil_tick_ns("system"))
    share = median([t["share"] for t in everything]) * 100
    line("toll system, share of one core", "", f"{share:.3f} %", "", "",
         f"< {TARGET_SHARE} %", share < TARGET_SHARE,
         f"{everything[0]['memory'] / 1e6:.2f} MB of memory")
    compare("toll system, same values", same, psutil)
    compare("… everything", everything, psutil)
    compare("… without the number of threads", fewer, psutil_fewer, has_target=False)
