# SPDX-License-Identifier: MIT
"""The Python package against psutil, in turn: its import, a snapshot of this process, and what a tracked
block costs. The values read are the same; a lap of one is beside a lap of the other."""
import os
import resource
import subprocess
import sys
import tempfile
import time

from measure import BUILD, headline, line, median, ns, quartiles, rounds

LAPS = 60
LOOKS = 300
SNAPSHOT_TARGET = 20
BLOCK_TARGET_NS = 1e6
IMPORT_LAPS = 30
IMPORT_TARGET = 1.2


def by_psutil(process):
    with process.oneshot():
        times = process.cpu_times()
        memory = process.memory_info()
        switches = process.num_ctx_switches()
        io = process.io_counters()
        return (times.user, times.system, memory.rss, memory.vms, memory.shared,
                process.num_threads(), switches.voluntary, switches.involuntary, io.read_chars,
                io.write_chars, io.read_count, io.write_count, process.num_fds())


def by_toll(snapshot):
    look = snapshot()
    return (look.cpu_user_seconds, look.cpu_system_seconds, look.memory_rss_bytes,
            look.memory_virtual_bytes, look.memory_shared_bytes, look.threads,
            look.switches_voluntary, look.switches_involuntary, look.io_read_bytes,
            look.io_written_bytes, look.io_read_calls, look.io_write_calls, look.open_files)


def lap_ns(function, argument, count, clock=time.perf_counter_ns):
    begin = clock()
    for _ in range(count):
        function(argument)
    return (clock() - begin) / count


def decide(values, is_met):
    """By the median; noise where the quartiles do not agree with it."""
    verdict = is_met(median(values))
    return verdict if {is_met(one) for one in quartiles(values)} == {verdict} else "noise"


def in_turn(first, second, laps):
    """Laps of both, one after the other, after one to warm up."""
    first(), second()
    pairs = [(first(), second()) for _ in range(laps)]
    return [a for a, _ in pairs], [b for _, b in pairs]


def looks(toll, psutil):
    process = psutil.Process()
    clock = time.thread_time_ns  # neither waits for anything
    mine, theirs = in_turn(lambda: lap_ns(by_toll, toll.snapshot, LOOKS * 5, clock),
                           lambda: lap_ns(by_psutil, process, LOOKS, clock), rounds(LAPS))
    ratios = [b / a for a, b in zip(mine, theirs)]
    ratio = median(ratios)
    low, high = quartiles(ratios)
    line("toll.snapshot() of self, 13 values", 1, ns(median(mine)),
         f"{ns(median(theirs))} psutil oneshot", f"{ratio:.1f} ×", f"≥ {SNAPSHOT_TARGET} ×",
         decide(ratios, lambda one: one >= SNAPSHOT_TARGET), f"quartiles of the ratio {low:.1f} and {high:.1f}; best laps "
         f"{ns(min(mine))} and {ns(min(theirs))}")
    bare = [lap_ns(lambda snapshot: snapshot(), toll.snapshot, LOOKS * 5, clock)
            for _ in range(20)]
    line("  … without asking for a value", 1, ns(median(bare)), "")


def blocks(toll, psutil):
    process = psutil.Process()

    def tracked(_):
        with toll.track():
            pass

    def twice(_):
        by_psutil(process), by_psutil(process)

    mine, theirs = in_turn(lambda: lap_ns(tracked, None, 5), lambda: lap_ns(twice, None, 20),
                           rounds(LAPS))
    line("with toll.track(): pass", 1, ns(median(mine)), f"{ns(median(theirs))} two psutil looks",
         f"{median(mine) / median(theirs):.1f} ×", f"< {ns(BLOCK_TARGET_NS)}",
         decide(mine, lambda one: one < BLOCK_TARGET_NS),
         f"wall time; quartiles {' and '.join(map(ns, quartiles(mine)))}, least {ns(min(mine))}")
    cpu = [lap_ns(tracked, None, 5, time.process_time_ns) for _ in range(rounds(LAPS))]
    line("  … CPU time of both threads", 1, ns(median(cpu)), "")


def cpu_of_python_ns(code, variables):
    """User and system time of an interpreter that does this."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], env=variables, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ((after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)) * 1e9


def imports():
    """What an import adds to an empty program; both with compiled files, as they are installed."""
    codes = {"nothing": "pass", "toll": "import toll", "psutil": "import psutil",
             "track": "import toll; toll.track"}
    with tempfile.TemporaryDirectory() as cache:
        variables = {**os.environ, "PYTHONPATH": str(BUILD / "python"), "PYTHONPYCACHEPREFIX": cache}
        variables.pop("PYTHONDONTWRITEBYTECODE", None)
        for code in codes.values():
            cpu_of_python_ns(code, variables)
        laps = [{name: cpu_of_python_ns(code, variables) for name, code in codes.items()}
                for _ in range(rounds(IMPORT_LAPS))]
    added = {name: [lap[name] - lap["nothing"] for lap in laps] for name in codes}
    ratios = [a / b for a, b in zip(added["toll"], added["psutil"]) if b > 0]
    low, high = quartiles(ratios)
    line("import toll, CPU time", 1, ns(median(added["toll"])),
         f"{ns(median(added['psutil']))} import psutil", f"{median(ratios):.2f} ×",
         f"≤ {IMPORT_TARGET} ×", decide(ratios, lambda one: one <= IMPORT_TARGET),
         f"beyond an empty program; quartiles of the ratio {low:.2f} and {high:.2f}")
    line("  … and the first use of toll.track", 1, ns(median(added["track"])), "")


def run():
    headline("The Python package, against psutil")
    sys.path.insert(0, str(BUILD / "python"))
    try:
        import psutil
        import toll
    except ImportError as error:
        print(f"left out: {error}")
        return
    imports()
    looks(toll, psutil)
    blocks(toll, psutil)
