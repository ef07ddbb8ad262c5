# SPDX-License-Identifier: MIT
"""The table of docs/accuracy.md: jobs that are hard to account for, by each source, against the truth.

    tests/bench/accuracy.py [--update docs/accuracy.md] [WORKLOAD…]

CPU time: a cgroup (version 1, cpuacct) that only the job is in. What a process has used between fork and
exec, half a millisecond of the code of toll, may count or not. Processes, bytes and memory: the job is
written so that they are known. Each cell has the worst of three runs. Fails if a figure that claims to
be exact is not. Needs root."""
import argparse
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

from measure import TOLL, WORK, program

ROUNDS = 3
MARK = "<!-- table: tests/bench/accuracy.py"
MIB = 1 << 20
CPU_WITHIN, MEMORY_WITHIN = 0.001, 4 * MIB
CPU_LEAST = 0.0002  # seconds that are no share of a job: reading the truth, rounding to microseconds
# Beside the bytes of a file the kernel counts what the file system writes for it.
STORAGE_WITHIN = 64 << 10
PEAK, DIRECT = 500 * MIB, 200 * MIB
FILES, SOURCES_OF_BUILD = 24, "int f%d(int x) { int s = 0; for (int i = 0; i < x; i++) s += i * %d; return s; }\n"


def sources_of_build():
    for i in range(FILES):
        (WORK / f"f{i}.c").write_text("#include <stdio.h>\n#include <stdlib.h>\n" + SOURCES_OF_BUILD % (i, i))
    objects = " ".join(f"f{i}.o" for i in range(FILES))
    (WORK / "Makefile").write_text(f"all.a: {objects}\n\tar rc $@ $^\n%.o: %.c\n\tcc -O2 -c -o $@ $<\n"
                                   f"clean:\n\trm -f *.o all.a\n")


def workload(name, *more):
    return [program("workloads"), name, *more]


# Name, command, and what is known: processes, memory of the largest, bytes written to storage.
WORKLOADS = {
    "fork storm": ([program("storm"), "exec", "1500"], {"processes": 1501}),
    "vfork storm": ([program("storm"), "vfork", "5000"], {"processes": 5001}),
    "build, make -j2": (["sh", "-c", f"cd {WORK} && make -s clean && make -s -j2"], {}),
    "ignored SIGCHLD": (workload("ignored"), {"processes": 61}),
    "daemon": (workload("daemon"), {"processes": 3}),
    "500 MB for 30 ms": (workload("spike"), {"processes": 2, "memory": PEAK}),
    "threads that end": (workload("threads"), {"processes": 1}),
    "200 MB with O_DIRECT": (workload("direct", str(WORK / "direct")),
                             {"processes": 1, "storage": DIRECT}),
    "nested subreapers": (workload("subreapers"), {"processes": 9}),
    "pid namespace": (workload("namespace"), {"processes": 4}),
}

# Name of the column, options; None: attached from the start.
SOURCES = {
    "attached": None,
    "wait4": ["--own-cgroup", "never"],
    "own cgroup": ["--own-cgroup", "always"],
    "--watch-exits": ["--own-cgroup", "never", "--watch-exits"],
    "--exact": ["--exact"],
}
FIGURES = {
    "CPU time": ("cpu", "cpu_seconds", "total"),
    "processes": ("processes", "processes_started", "total"),
    "largest process": ("memory", "memory_peak_bytes", "max"),
    "written to storage": ("storage", "storage_written_bytes", "total"),
}


@contextlib.contextmanager
def truth_cgroup():
    """A cgroup that counts CPU time and that toll knows nothing of: a directory."""
    for line in open("/proc/self/mountinfo"):
        left, right = line.split(" - ")
        kind, _, options = right.split(" ", 2)
        if kind == "cgroup" and "cpuacct" in options.strip().split(","):
            break
    else:
        sys.exit("accuracy: needs cpuacct of version 1 beside a hierarchy of version 2")
    directory = pathlib.Path(left.split()[4]) / f"truth-{os.getpid()}"
    directory.mkdir()
    try:
        yield directory
    finally:
        while (directory / "cgroup.procs").read_text():
            time.sleep(0.01)
        directory.rmdir()


def cpu_of(directory):
    """Once nothing is left in it: the last switch of a process comes after it was reaped."""
    for _ in range(200):
        if not (directory / "tasks").read_text():
            break
        time.sleep(0.01)
    time.sleep(0.02)
    return int((directory / "cpuacct.usage").read_text()) / 1e9


def run_launched(command, options, directory, summary):
    before = WORK / "before"
    subprocess.run([TOLL, "run", "-q", "--wait=all", *options, "-o", summary, "--", program("join"),
                    directory / "cgroup.procs", before, *command], check=True, stdin=subprocess.DEVNULL)
    begun, moved = (int(word) / 1e9 for word in before.read_text().split())
    return moved - begun, moved


def run_attached(command, directory, summary):
    samples = WORK / "attached.jsonl"
    samples.unlink(missing_ok=True)
    with subprocess.Popen([program("join"), directory / "cgroup.procs", "-", *command]) as job:
        os.waitid(os.P_PID, job.pid, os.WSTOPPED | os.WNOWAIT)
        with subprocess.Popen([TOLL, "attach", "-q", "-i", "10ms", "-o", samples, "-o", summary,
                               str(job.pid)]) as toll:
            while not samples.exists() or '"sample"' not in samples.read_text():
                time.sleep(0.01)
            job.send_signal(signal.SIGCONT)
            toll.wait()
    return 0, 0


def measure(command, options):
    """The truth in CPU time, from and to, and what toll has."""
    summary = WORK / "summary.json"
    with truth_cgroup() as directory:
        if options is None:
            before = run_attached(command, directory, summary)
        else:
            before = run_launched(command, options, directory, summary)
        used = cpu_of(directory)
        cpu = used + before[0], used + before[1]
    return cpu, json.loads(summary.read_text())["target"]["combined"]


def error_of(key, figure, way, truth):
    """As a share of the truth, and whether it is within what "exact" promises."""
    if figure["quality"] == "unknown" or way not in figure:
        return None, True
    least, most = truth
    off = min(0, figure[way] - least) or max(0, figure[way] - most)
    within = {"cpu": max(CPU_WITHIN * least, CPU_LEAST), "memory": MEMORY_WITHIN,
              "storage": STORAGE_WITHIN}.get(key, 0)
    return off / least, abs(off) <= within


QUALITY = {"exact": "exact", "exact if reaped": "counted", "lower bound": "≥", "sampled": "~"}


def cell(errors, qualities):
    if None in errors:
        return "?"
    worst = max(errors, key=abs)
    words = " ".join(dict.fromkeys(QUALITY[q] for q in qualities))
    percent = "0" if worst == 0 else f"{worst * 100:+.1g} %" if abs(worst) < 0.0005 else f"{worst * 100:+.1f} %"
    return f"{percent}, {words}".replace("-", "−")


def rows_of(name, command, known, wrong):
    """A row for each figure that is known."""
    found = {figure: {} for figure in FIGURES if FIGURES[figure][0] == "cpu" or FIGURES[figure][0] in known}
    for source, options in SOURCES.items():
        runs = [measure(command, options) for _ in range(ROUNDS)]
        for title in found:
            key, metric, way = FIGURES[title]
            errors, qualities = [], []
            for cpu, combined in runs:
                truth = cpu if key == "cpu" else (known[key], known[key])
                figure = combined[metric]
                error, is_right = error_of(key, figure, way, truth)
                errors.append(error)
                qualities.append(figure["quality"])
                if figure["quality"] == "exact" and not is_right:
                    wrong.append(f"{name}, {title}, {source}: {figure}, truth {truth}")
                if figure["quality"] == "lower bound" and error and error > 0.01:
                    wrong.append(f"{name}, {title}, {source}: {figure} is above the truth {truth}")
            found[title][source] = cell(errors, qualities)
    for title, cells in found.items():
        yield f"| {name} | {title} | " + " | ".join(cells[s] for s in SOURCES) + " |"
        name = ""


def table(chosen, wrong):
    yield "| job | figure | " + " | ".join(SOURCES) + " |"
    yield "|---|---|" + "---|" * len(SOURCES)
    for name in chosen:
        for row in rows_of(name, *WORKLOADS[name], wrong):
            print(row, file=sys.stderr, flush=True)
            yield row


def update(path, lines):
    text = path.read_text()
    start = text.index(MARK)
    begin = text.index("-->\n", start) + len("-->\n")
    end = text.index("<!-- end -->", begin)
    path.write_text(text[:begin] + "\n" + "\n".join(lines) + "\n\n" + text[end:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--update", type=pathlib.Path)
    parser.add_argument("workload", nargs="*")
    asked = parser.parse_args()
    sources_of_build()
    wrong = []
    lines = list(table(asked.workload or list(WORKLOADS), wrong))
    if asked.update:
        update(asked.update, lines)
    else:
        print("\n".join(lines))
    for line in wrong:
        print("wrong: " + line)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
