# SPDX-License-Identifier: MIT
"""The benchmarks of toll: a table of ratios, each within one run of this program.

    BENCH_N=100           only trees of that size (several with commas)
    BENCH_ONLY=floor      only these parts: cadence, peers, attach, system, network, gpu, floor,
                          asking, slowdown, pauses, exits, start, count, sqlite, export, report, compare,
                          ranks, python
    BENCH_ROUNDS=3        that many times as many repetitions
    PEERS=DIR             compare with other monitors too, which are installed there
"""
import os
import shutil
import sys

import against_floor
import asking
import attaching
import cadence
import comparing
import counting
import exporting
import gpu_reading
import measure
import network_bytes
import pauses
import peers
import python_package
import ranks
import reporting
import slowdown
import sqlite_files
import starting
import watching_exits
import whole_machine

PARTS = {
    "cadence": cadence.run,
    "peers": peers.run,
    "attach": attaching.run,
    "system": whole_machine.run,
    "network": network_bytes.run,
    "gpu": gpu_reading.run,
    "floor": against_floor.run,
    "asking": asking.run,
    "slowdown": slowdown.run,
    "pauses": pauses.run,
    "exits": watching_exits.run,
    "start": starting.run,
    "count": counting.run,
    "sqlite": sqlite_files.run,
    "export": exporting.run,
    "report": reporting.run,
    "compare": comparing.run,
    "ranks": ranks.run,
    "python": python_package.run,
}


def main():
    chosen = os.environ.get("BENCH_ONLY", "").replace(",", " ").split() or list(PARTS)
    unknown = [name for name in chosen if name not in PARTS]
    if unknown:
        sys.exit(f"bench: no part is called {', '.join(unknown)}; there are {', '.join(PARTS)}")
    print(measure.machine(), flush=True)
    try:
        for name in chosen:
            PARTS[name]()
    finally:
        shutil.rmtree(measure.WORK, ignore_errors=True)
    print()
    for word, lines in (("missed", measure.missed), ("undecided", measure.undecided)):
        if lines:
            print(f"{word}: " + "; ".join(lines))
    if not measure.missed and not measure.undecided:
        print("every target is met")


if __name__ == "__main__":
    main()
