# SPDX-License-Identifier: MIT
"""What --network adds: CPU time of a sample with and without it, in turn."""
import os
import subprocess

from measure import HERE, TOLL, headline, line, median, ns, rounds, sizes, watch

INTERVAL_MS = 100
WARM, WINDOW = 1, 2


def tick_ns(n, options):
    command = [TOLL, "run", "-q", "-i", f"{INTERVAL_MS}ms", "--memory", "rss", *options, "--",
               "/usr/bin/python3", str(HERE / "connections.py"), str(n)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as toll:
        pid = int(toll.stdout.readline())
        try:
            return watch(toll.pid, WARM, WINDOW)["tick_ns"]
        finally:
            os.kill(pid, 15)
            toll.wait()


def run():
    headline("Network bytes, ten samples a second: CPU time of one sample")
    for n in sizes(10, 500):
        without, with_it = [], []
        for _ in range(rounds(2)):
            without.append(tick_ns(n, []))
            with_it.append(tick_ns(n, ["--network"]))
        base, toll = median(without), median(with_it)
        line("--network, N sockets", n, ns(toll), f"{ns(base)} without", f"{toll / base:.2f} ×",
             note=f"{ns(toll - base)} more")
