# SPDX-License-Identifier: MIT
"""What GPUs add to a sample: CPU time with 8 GPUs and 64 processes on them, and without, in turn; of
the thread that samples and of the one that reads, by a library that takes no time itself
(tests/fakes/nvml_flat.c). And what it takes to look through many processes for cards (fdinfo)."""
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
                        "LD_LIBRARY_PATH": str(BUILD / "tests/fakes/nvml-flat")}
    command = [TOLL, "run", "-q", "-i", f"{INTERVAL_MS}ms", "--memory", "rss", *options, "--",
               "/usr/bin/python3", str(HERE / "jobs.py"), "gpu", str(PROCESSES), str(GPUS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=env) as toll:
        pid = int(toll.stdout.readline())
        try:
            time.sleep(WARM)
            return watch_threads(toll.pid)
        finally:
            os.kill(pid, 15)
            toll.wait()


CARD = "DRIVER=i915\nPCI_ID=8086:56A0\nPCI_SLOT_NAME=0000:03:00.0\n"
MOST_OF_A_CORE = 0.04  # a fiftieth, see gpu_reader.c; one look more or less in what is watched


def reader_share(processes):
    """Of a core, that the thread that reads uses where that many have to be asked."""
    top = WORK / "class"
    (top / "drm/card0/device").mkdir(parents=True, exist_ok=True)
    (top / "drm/card0/device/uevent").write_text(CARD)
    facts = WORK / "nvml"
    facts.write_text("")
    command = [TOLL, "run", "-q", "-i", f"{INTERVAL_MS}ms", "--memory", "rss", "--gpus", "all", "--",
               "/usr/bin/python3", str(HERE / "jobs.py"), "gpu", str(processes), "1"]
    with subprocess.Popen(["unshare", "-m", "sh", "-c", 'mount --bind "$0" /sys/class && exec "$@"',
                           str(top), *command], stdout=subprocess.PIPE,
                          env=os.environ | {"FAKE_NVML": str(facts)}) as toll:
        pid = int(toll.stdout.readline())
        try:
            time.sleep(WARM)
            return watch_threads(toll.pid)[1] / (INTERVAL_MS * 1e6)
        finally:
            os.kill(pid, 15)
            toll.wait()


def look_through_processes():
    if os.geteuid() != 0:
        return  # files are put in the place of /sys/class
    for processes in (10, 1000):
        share = reader_share(processes)
        line("fdinfo of all processes", processes, f"{share * 100:.2f} %", "one core", "", "about 2 %",
             share < MOST_OF_A_CORE)


def run():
    headline("GPUs, ten samples a second: CPU time of one sample")
    without, with_them, reading = [], [], []
    for _ in range(rounds(3)):
        without.append(measure_with(["--gpus", "none"])[0])
        sampler, reader = measure_with(["--gpus", "all"])
        with_them.append(sampler)
        reading.append(reader)
    base, toll = median(without), median(with_them)
    reader = median(reading)
    more = toll + reader - base
    line(f"{GPUS} GPUs, {PROCESSES} processes", PROCESSES, ns(toll + reader), f"{ns(base)} without",
         f"{(toll + reader) / base:.2f} ×", "< 100 µs more", more < MOST_NS,
         note=f"{ns(more)} more: {ns(toll - base)} where samples are taken, {ns(reader)} where GPUs "
              "are read")
    look_through_processes()
