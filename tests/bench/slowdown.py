# SPDX-License-Identifier: MIT
"""What being measured costs the job: bare, tracked, bare, tracked…, in pairs."""
import json
import os
import subprocess
import time

from measure import TOLL, WORK, headline, line, median, program, quartiles, rounds

TARGET_PERCENT = 1
FILES = 60
SUMMARY = WORK / "slowdown.json"
TRACKED = [TOLL, "run", "-i", "100ms", "--summary", "json", "--summary-to", str(SUMMARY), "--"]


def write_project():
    project = WORK / "project"
    project.mkdir(exist_ok=True)
    for i in range(FILES):
        body = "".join(f"int f{i}_{k}(int x) {{ return x * {k} + {i}; }}\n" for k in range(40))
        (project / f"file{i}.c").write_text("#include <stdio.h>\n#include <stdlib.h>\n" + body)
    (project / "Makefile").write_text(
        "OBJECTS = $(patsubst %.c,%.o,$(wildcard *.c))\nall: $(OBJECTS)\n"
        "%.o: %.c\n\t@cc -O1 -c -o $@ $<\n")
    return project


def timed(command):
    """Wall time and CPU time of the command and all it started."""
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command} ended with {process.returncode}")
    return wall, usage.ru_utime + usage.ru_stime


def timed_tracked(command):
    """Of the CPU time, only the job's."""
    wall, cpu = timed(TRACKED + command)
    own = json.loads(SUMMARY.read_text())["self"]["cpu_seconds"]["total"]
    return wall, cpu - own


def percent(value):
    return f"{(value - 1) * 100:+.2f} %"


def spread(values):
    low, high = quartiles(values)
    return f"half of the pairs between {percent(low)} and {percent(high)}"


def compare(name, command, usual_rounds):
    """Each tracked run against the mean of the bare ones around it; the bare ones against each
    other tell what the machine does by itself."""
    timed(command)
    before = timed(command)
    pairs, noise = [], []
    for _ in range(rounds(usual_rounds)):
        tracked = timed_tracked(command)
        after = timed(command)
        pairs.append([t / ((b + a) / 2) for t, b, a in zip(tracked, before, after)])
        noise.append([a / b for b, a in zip(before, after)])
        before = after
    wall, cpu = ([p[i] for p in pairs] for i in (0, 1))
    slowdown = (median(wall) - 1) * 100
    line(f"{name}, wall time", "", f"{before[0]:.2f} s bare", f"{len(pairs)} pairs",
         percent(median(wall)), f"≤ {TARGET_PERCENT} %", slowdown <= TARGET_PERCENT, spread(wall))
    line(f"{name}, CPU time of the job", "", f"{before[1]:.2f} s bare", "", percent(median(cpu)),
         note=spread(cpu))
    line(f"{name}, bare against bare", "", "", "", percent(median(n[0] for n in noise)),
         note=spread([n[0] for n in noise]))


def run():
    headline("Slowdown of the job at ten samples a second")
    loop = "i=0; while [ $i -lt 3000 ]; do /bin/true; i=$((i+1)); done"
    compare("3000 × true from a shell", ["/bin/sh", "-c", loop], 8)
    compare("make -j2 of 60 files", ["make", "-B", "-s", "-j2", "-C", str(write_project())], 10)
    compare("faults and maps, 1 GB resident", [program("faults"), "400"], 12)
