# SPDX-License-Identifier: MIT
"""What GPUs add to a sample: CPU time of the thread that samples with 8 GPUs of the fake library and
64 processes on them, and without, in turn; and that of the thread that reads them."""
import os
import subprocess
import time

from measure import BUILD, HERE, TOLL, WORK, headline, line, median, ns, rounds

INTERVAL_MS = 100
WARM, WINDOW = 1, 2
GPUS, PROCESSES = 8, 64
MOST_NS = 100_000

FIGURES = """\
gpus 8
utilization 63
memory_total 42949672960
memory_used 1073741824
power 250500
energy 123456789
temperature 71
"""


def busy_ns(task):
    return int(open(f"{task}/schedstat").read().split()[0])


def watch_threads(pid):
    """CPU time a sample, of the first thread and of the others."""
    tasks = [f"/proc/{pid}/task/{t}" for t in os.listdir(f"/proc/{pid}/task")]
    sampler = f"/proc/{pid}/task/{pid}"
    before = {t: busy_ns(t) for t in tasks}
    time.sleep(WINDOW)
    grown = {t: busy_ns(t) - before[t] for t in tasks}
    samples = WINDOW * 1000 / INTERVAL_MS
    return grown.pop(sampler) / samples, sum(grown.values()) / samples


def measure_with(options):
    facts = WORK / "nvml"
    facts.write_text(FIGURES)
    env = os.environ | {"FAKE_NVML": str(facts),
                        "LD_LIBRARY_PATH": str(BUILD / "tests/fakes/nvml")}
    command = [TOLL, "run", "-q", "-i", f"{INTERVAL_MS}ms", "--memory", "rss", *options, "--",
               "/usr/bin/python3", str(HERE / "gpu_processes.py"), str(PROCESSES), str(GPUS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=env) as toll:
        pid = int(toll.stdout.readline())
        try:
            time.sleep(WARM)
            return watch_threads(toll.pid)
        finally:
            os.kill(pid, 15)
            toll.wait()


def run():
    headline("GPUs, ten samples a second: CPU time of one sample")
    without, with_them, reading = [], [], []
    for _ in range(rounds(3)):
        without.append(measure_with(["--gpus", "none"])[0])
        sampler, reader = measure_with(["--gpus", "all"])
        with_them.append(sampler)
        reading.append(reader)
    base, toll = median(without), median(with_them)
    line(f"{GPUS} GPUs, {PROCESSES} processes", PROCESSES, ns(toll), f"{ns(base)} without",
         f"{toll / base:.2f} ×", "< 100 µs more", toll - base < MOST_NS,
         note=f"{ns(toll - base)} more; {ns(median(reading))} in the thread that reads, with the fake")
