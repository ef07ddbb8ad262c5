# SPDX-License-Identifier: MIT
"""What the benchmarks have in common: programs, trees of processes, clocks, the table."""
import contextlib
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(os.environ.get("TOLL_BUILD", "build")).resolve()
TOLL = os.environ.get("TOLL", str(BUILD / "toll"))
HERE = pathlib.Path(__file__).resolve().parent
WORK = pathlib.Path(tempfile.mkdtemp(prefix="toll-bench-"))

# N restricts the sizes of trees; ROUNDS multiplies what is repeated.
ROUNDS = float(os.environ.get("BENCH_ROUNDS") or 1)
CHOSEN_N = [int(n) for n in os.environ.get("BENCH_N", "").replace(",", " ").split()]


def sizes(*usual):
    return CHOSEN_N or list(usual)


def rounds(usual):
    return max(1, round(usual * ROUNDS))


def program(name):
    return str(BUILD / "tests" / "bench" / name)


# ---- The table ------------------------------------------------------------------------------------

COLUMNS = (("what", 49), ("N", 5), ("toll", 11), ("compared with", 24), ("ratio", 9), ("target", 9))
missed = []
undecided = []


def headline(title):
    print(f"\n{title}", flush=True)
    print("  ".join(name.ljust(width) for name, width in COLUMNS) + "  met", flush=True)


def line(what, n, toll, other, ratio="", target="", met=None, note=""):
    """One line; met is None where there is no target, "noise" where the machine was too restless
    to tell."""
    cells = (what, n, toll, other, ratio, target)
    text = "  ".join(str(c).ljust(width) for c, (_, width) in zip(cells, COLUMNS))
    word = {None: "", True: "yes", False: "NO", "noise": "noise"}[met]
    print(f"{text}  {word:5}  {note}".rstrip(), flush=True)
    if met in (False, "noise"):
        (undecided if met else missed).append(f"{what} {n}".strip())


def ns(value):
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value:.3g} ns"


def median(values):
    return statistics.median(values)


def quartiles(values):
    if len(values) < 2:
        return values[0], values[0]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high


# ---- Processes ------------------------------------------------------------------------------------

def cpu_ns(pid):
    """CPU time that a process has used until now, to the nanosecond."""
    return time.clock_gettime_ns((~pid << 3) | 2)


def status_of(pid):
    return dict(row.split(":", 1) for row in open(f"/proc/{pid}/status"))


@contextlib.contextmanager
def tree(n, mode, prefix=(), env=None, session=False):
    """A tree of n processes, perhaps below a command that starts it: (Popen, pid of the first)."""
    with subprocess.Popen([*prefix, program("tree"), str(n), mode], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, env=env,
                          start_new_session=session) as process:
        root = int(process.stdout.readline())
        try:
            yield process, root
        finally:
            os.kill(root, 15)
            process.wait()


def watch(pid, warm, window):
    """CPU time per tick of a toll in the steady state, from outside, by its CPU clock.

    What its start and its end cost is not in it. toll sleeps once before each tick, so the ticks
    of the window are its voluntary context switches."""
    time.sleep(warm)
    before, cpu_before = status_of(pid), cpu_ns(pid)
    time.sleep(window)
    cpu_after, after = cpu_ns(pid), status_of(pid)
    ticks = int(after["voluntary_ctxt_switches"]) - int(before["voluntary_ctxt_switches"])
    return {
        "tick_ns": (cpu_after - cpu_before) / ticks,
        "ticks": ticks,
        "share": (cpu_after - cpu_before) / (window * 1e9),
        "memory": int(after["VmHWM"].split()[0]) * 1024,
    }


def run_toll(n, mode, interval_ms, warm, window, options=(), before=()):
    """toll run of a tree; before: a command that executes toll."""
    summary = WORK / "summary.json"
    prefix = [*before, TOLL, "run", "-i", f"{interval_ms}ms", "--summary", "json", "--summary-to",
              str(summary), *options, "--"]
    with tree(n, mode, prefix) as (toll, _):
        seen = watch(toll.pid, warm, window)
    record = json.loads(summary.read_text())
    return seen | {"seen": record["target"]["combined"]["processes"]["max"]}


def watch_toll(words, interval_ms, warm, window):
    """toll attach or toll system, ended by us."""
    summary = WORK / "summary.json"
    command = [TOLL, *words, "-i", f"{interval_ms}ms", "-q", "-o", str(summary)]
    with subprocess.Popen(command) as toll:
        try:
            seen = watch(toll.pid, warm, window)
        finally:
            toll.send_signal(signal.SIGINT)
            toll.wait()
    target = json.loads(summary.read_text()).get("target")
    return seen | {"seen": target["combined"]["processes"]["max"] if target else None}


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def machine():
    model = next((r.split(":")[1].strip() for r in open("/proc/cpuinfo") if "model name" in r), "?")
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE") / 2**30
    return (f"{time.strftime('%Y-%m-%d')}, Linux {os.uname().release}, "
            f"{os.cpu_count()} × {model}, {memory:.0f} GiB; load {os.getloadavg()[0]:.2f}; "
            f"toll: {TOLL}; python {sys.version.split()[0]}")
