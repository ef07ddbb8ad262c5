# SPDX-License-Identifier: MIT
"""What can be counted instead of timed: instructions and allocations of a tick."""
import json
import os
import re
import subprocess
import time

from measure import TOLL, WORK, headline, line, program, sizes, tree

OUTPUTS = ["-o", str(WORK / "out.csv"), "-o", str(WORK / "out.jsonl")]


def instructions(n, seconds, options):
    """In user mode, by callgrind: (instructions, ticks) of a whole run."""
    summary = WORK / "callgrind.json"
    prefix = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={WORK / 'callgrind.out'}",
              "--trace-children=no", TOLL, "run", "-i", "10ms", "--memory", "rss", "--summary",
              "json", "--summary-to", str(summary), *options, "--"]
    with tree(n, "sleep", prefix):
        time.sleep(seconds)
    text = (WORK / "callgrind.out").read_text()
    total = int(re.search(r"^(?:summary|totals): (\d+)", text, re.M).group(1))
    return total, json.loads(summary.read_text())["self"]["ticks"]["total"]


def count_instructions(n, name, options):
    (few, few_ticks), (many, many_ticks) = (instructions(n, s, options) for s in (1.2, 3.2))
    per_tick = (many - few) / (many_ticks - few_ticks)
    line(f"instructions of a tick, {name}", n, f"{per_tick:.0f}", "",
         note=f"{per_tick / n:.0f} a process" if n > 1 else "")


def allocations(path):
    return int.from_bytes(path.read_bytes(), "little")


def count_allocations(n, mode):
    path = WORK / "allocations"
    path.unlink(missing_ok=True)
    env = dict(os.environ, LD_PRELOAD=program("liballocations.so"), ALLOCATIONS=str(path))
    prefix = [TOLL, "run", "-q", "-i", "10ms", *OUTPUTS, "--"]
    with tree(n, mode, prefix, env):
        time.sleep(2.2)
        before = allocations(path)
        time.sleep(2.2)
        after = allocations(path)
    line(f"allocations of 220 ticks, CSV and JSONL, {mode}ing", n, after - before, "", "", "0",
         after == before and before > 0, f"{before} before")


def run():
    headline("Counted")
    if subprocess.run(["valgrind", "--version"], capture_output=True).returncode == 0:
        for n in sizes(1, 100):
            count_instructions(n, "no output", [])
            count_instructions(n, "CSV and JSONL", OUTPUTS)
    for n in sizes(100):
        count_allocations(n, "sleep")
        count_allocations(n, "work")
