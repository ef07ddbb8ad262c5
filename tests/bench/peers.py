# SPDX-License-Identifier: MIT
"""toll beside other monitors, with their own code: PEERS=DIR has what `pip install --target DIR` put
there (resource-tracker, spdl-io, stouputils with mlflow, con-duct), or the program prmon. What is
not in DIR is left out, with a line that says so."""
import os
import pathlib
import shutil
import subprocess
import time

from measure import (WORK, cpu_ns, headline, line, median, ns, program, rounds, run_toll, sizes,
                     tree)

DIR = pathlib.Path(os.environ["PEERS"]).resolve() if os.environ.get("PEERS") else None
PYTHON = ["/usr/bin/python3", "-c"]
WARM, WINDOW = 1.5, 3
TARGETS = {"sleep": 40, "work": 15, "prmon": 5}

# Each watches the process whose pid is its argument, ten times a second, until it is killed.
BY_PID = {
    "resource_tracker": """
import os, sys, resource_tracker as r
tracker = getattr(r, "ProcessTracker", None) or r.PidTracker
tracker(pid=int(sys.argv[1]), interval=0.1, children=True, autostart=True, output_file=os.devnull)
""",
    "stouputils": """
import sys, time, mlflow
from stouputils.mlflow.process_metrics_monitor import ProcessMetricsMonitor
mlflow.set_tracking_uri(f"file:{sys.argv[2]}/mlflow")
with mlflow.start_run():
    ProcessMetricsMonitor(pid=int(sys.argv[1]), sampling_interval=0.1,
                          samples_before_logging=10**6).start()
    time.sleep(60)
""",
}
# These watch what they have started, or their own process group.
BY_COMMAND = {
    "spdl": """
import asyncio, subprocess, sys
from spdl.pipeline import ProcessGroupStatsMonitor
async def callback(usage):
    pass
async def main():
    subprocess.Popen(sys.argv[1:])
    await ProcessGroupStatsMonitor(callback, interval=0.1).run()
if __name__ == "__main__":
    asyncio.run(main())
""",
}


def family(top):
    members = [top]
    for pid in members:
        try:
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/children") as children:
                    members += map(int, children.read().split())
        except OSError:
            pass
    return members


def used_ns(top):
    """Of a monitor with its helpers, those that have ended included; without the tree."""
    used = 0
    for pid in family(top):
        try:
            with open(f"/proc/{pid}/stat") as stat:
                name, rest = stat.read().split("(", 1)[1].rsplit(")", 1)
            if name != "tree":
                ticks = sum(map(int, rest.split()[13:15]))  # of children that were reaped
                used += cpu_ns(pid) + ticks * 10**9 // os.sysconf("SC_CLK_TCK")
        except OSError:
            pass
    return used


def watch(top, hertz):
    """CPU time of one sample, or None for a monitor that did not begin or has ended. One that does
    not keep up takes fewer samples than it was asked for, which is in its favour."""
    time.sleep(WARM)
    before = used_ns(top.pid)
    time.sleep(WINDOW)
    used = used_ns(top.pid) - before
    return used / (WINDOW * hertz) if top.poll() is None and used > 0 else None


def start(command, **more):
    env = dict(os.environ, PYTHONPATH=str(DIR), MLFLOW_ALLOW_FILE_STORE="true")
    return subprocess.Popen(command, env=env, cwd=WORK, stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)


def end(process):
    for pid in reversed(family(process.pid)):
        try:
            os.kill(pid, 9)
        except ProcessLookupError:
            pass
    process.wait()


def watch_command(command, hertz):
    process = start(command, start_new_session=True)
    try:
        return watch(process, hertz)
    finally:
        end(process)


def peer_ns(name, n, mode):
    """What the monitor uses for a sample of a tree."""
    command = [program("tree"), str(n), mode]
    if name in BY_COMMAND:
        return watch_command([*PYTHON, BY_COMMAND[name], *command], 10)
    if name == "duct":
        return watch_command([str(DIR / "bin" / "duct"), "--sample-interval", "0.1",
                              "--report-interval", "1", "-p", str(WORK / "duct_"), "--clobber",
                              "--", *command], 10)
    with tree(n, mode) as (_, root):
        if name == "prmon":
            return watch_command([find_prmon(), "--pid", str(root), "--interval", "1",
                                  "--filename", os.devnull, "--json-summary", os.devnull], 1)
        return watch_command([*PYTHON, BY_PID[name], str(root), str(WORK)], 10)


def find_prmon():
    return shutil.which("prmon", path=f"{DIR}:{DIR / 'bin'}")


def is_there(name):
    return find_prmon() if name == "prmon" else (
        (DIR / "bin" / "duct").exists() if name == "duct" else (DIR / name).is_dir())


def compare(name, n, mode):
    is_slow = name == "prmon"
    warm, window = (1.5, 4) if is_slow else (1.2, 2)
    toll, other = [], []
    for _ in range(rounds(1)):
        toll.append(run_toll(n, mode, 1000 if is_slow else 100, warm, window)["tick_ns"])
        other.append(peer_ns(name, n, mode))
    what = f"{mode}ing tree, {name}" + (", once a second" if is_slow else "")
    if None in other:
        line(what, n, ns(median(toll)), "did not run")
        return
    ratio, target = median(other) / median(toll), TARGETS["prmon" if is_slow else mode]
    line(what, n, ns(median(toll)), f"{ns(median(other))} {name}", f"{ratio:.1f} ×",
         f"≥ {target} ×", ratio >= target)


def run():
    headline("Beside other monitors, ten samples a second: CPU time of one sample")
    if not DIR:
        line("left out: PEERS=DIR names where they are installed", "", "", "")
        return
    for name in ("resource_tracker", "spdl", "stouputils", "duct", "prmon"):
        if not is_there(name):
            line(f"{name}: not in {DIR}", "", "", "")
            continue
        for mode in ("sleep", "work"):
            for n in sizes(10, 100):
                compare(name, n, mode)
