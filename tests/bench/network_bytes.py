# SPDX-License-Identifier: MIT
"""What --network adds: CPU time of a sample with and without it, in turn. A running process is
attached, whose sockets are asked for as without privileges; a command that root runs has packets
counted in its cgroup instead."""
import subprocess
import sys

from measure import HERE, headline, line, median, ns, rounds, sizes, watch_toll

INTERVAL_MS = 100
WARM, WINDOW = 1, 2
LIMIT_NS = 200e3


def run():
    headline("Network bytes, ten samples a second: CPU time of one sample")
    for n in sizes(10, 30, 100, 500):
        with subprocess.Popen([sys.executable, str(HERE / "jobs.py"), "connections", str(n)],
                              stdout=subprocess.PIPE) as job:
            pid = job.stdout.readline().decode().strip()
            words = ["attach", pid, "--memory", "rss"]
            without, with_it = [], []
            for _ in range(rounds(3)):
                without.append(watch_toll(words, INTERVAL_MS, WARM, WINDOW)["tick_ns"])
                with_it.append(watch_toll([*words, "--network"], INTERVAL_MS, WARM,
                                          WINDOW)["tick_ns"])
            job.terminate()
        base, toll = median(without), median(with_it)
        line("--network, N sockets", n, ns(toll), f"{ns(base)} without", f"{toll / base:.2f} ×",
             "≤ 200 µs", toll <= LIMIT_NS, f"{ns(toll - base)} more")
