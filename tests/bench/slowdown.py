# SPDX-License-Identifier: MIT
"""What being measured costs the job: bare, tracked, bare, tracked…, in pairs."""
import json
import os
import subprocess
import time

from measure import TOLL, WORK, headline, line, program, quartiles, rounds

TARGET_PERCENT = 1
FILES = 60
SUMMARY = WORK / "slowdown.json"
TRACKED = [TOLL, "run", "-i", "100ms", "--summary", "json", "--summary-to", str(SUMMARY), "--"]


def write_project():
    project = WORK / "project"
    project.mkdir(exist_ok=True)
    for i in range(FILES):
        body = "".join(f"int f{i}_{k}(int x) {{ return x * {k} + {i}; }}\n" for k in range(10))
        (project / f"file{i}.c").write_text("#include <stdio.h>\n#include <stdlib.h>\n" + body)
    (project / "Makefile").write_text(
        "OBJECTS = $(patsubst %.c,%.o,$(wildcard *.c))\nall: $(OBJECTS)\n"
        "%.o: %.c\n\t@cc -c -o $@ $<\n")
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


def percent(ratio):
    return f"{(ratio - 1) * 100:+.2f} %"


def undisturbed(values):
    """The lower quartile: what else runs on the machine can only make a run longer."""
    return quartiles(values)[0]


def compare(name, command, usual_rounds):
    """Bare, tracked, bare, tracked…; the bare runs, every other one against the rest, tell what
    the machine does by itself. When these differ by more than the target, nothing is decided."""
    timed(command)
    bare, tracked = [timed(command)], []
    for _ in range(rounds(usual_rounds)):
        tracked.append(timed_tracked(command))
        bare.append(timed(command))
    for i, what in enumerate(("wall time", "its CPU time")):
        base = undisturbed([b[i] for b in bare])
        ratio = undisturbed([t[i] for t in tracked]) / base
        noise = undisturbed([b[i] for b in bare[::2]]) / undisturbed([b[i] for b in bare[1::2]])
        low, high = quartiles([t[i] / ((bare[k][i] + bare[k + 1][i]) / 2)
                               for k, t in enumerate(tracked)])
        target = ()
        if i == 0:
            restless = abs(noise - 1) * 100 > TARGET_PERCENT
            met = "noise" if restless else (ratio - 1) * 100 <= TARGET_PERCENT
            target = (f"≤ {TARGET_PERCENT} %", met)
        line(f"{name}, {what}", "", f"{base:.2f} s bare", f"{percent(noise)} bare, bare",
             percent(ratio), *target,
             note=f"half of the {len(tracked)} pairs: {percent(low)} to {percent(high)}")


def run():
    headline("Slowdown of the job at ten samples a second")
    loop = "i=0; while [ $i -lt 3000 ]; do /bin/true; i=$((i+1)); done"
    compare("3000 × true from a shell", ["/bin/sh", "-c", loop], 7)
    compare("make -j2 of 60 files", ["make", "-B", "-s", "-j2", "-C", str(write_project())], 12)
    compare("faults and maps, 1 GB resident", [program("faults"), "150"], 14)
