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

import against_psutil
import comparing
import gpu_reading
import long_records
import measure
import network_bytes
import one_sample
import peers
import python_package
import ranks
import slowdown
import starting

PARTS = {
    "cadence": against_psutil.cadence,
    "peers": peers.run,
    "attach": against_psutil.attach,
    "system": against_psutil.machine,
    "network": network_bytes.run,
    "gpu": gpu_reading.run,
    "floor": one_sample.floor,
    "asking": one_sample.asking,
    "slowdown": slowdown.slowdown,
    "pauses": slowdown.pausing,
    "exits": starting.watching_exits,
    "start": starting.starting,
    "count": one_sample.counting,
    "sqlite": long_records.sqlite,
    "export": long_records.exporting,
    "report": long_records.reporting,
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
