# SPDX-License-Identifier: MIT
"""The machine's counters as a test reads them itself, and toll measuring between two readings.

Others on the machine count too. So the truth is a bound: toll takes its first figures between the
readings `before` and `begun`, its last ones between `ending` and `after`."""
import contextlib
import json
import os
import pathlib
import signal
import subprocess

from livelib import GUARD, until

HZ = os.sysconf("SC_CLK_TCK")
SECTOR = 512  # of /proc/diskstats, whatever the device has
MODES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest",
         "guest_nice")


def cpu_line(words):
    """toll's names to seconds; guests are in user and nice already."""
    ticks = dict(zip(MODES, map(int, words)))
    ticks["user"] -= ticks["guest"]
    ticks["nice"] -= ticks["guest_nice"]
    ticks["guest"] += ticks.pop("guest_nice")
    return {f"cpu_{mode}_seconds": value / HZ for mode, value in ticks.items()}


def read_stat(found):
    for line in pathlib.Path("/proc/stat").read_text().splitlines():
        key, *words = line.split()
        if key == "cpu":
            found.update({("system", m): v for m, v in cpu_line(words).items()})
        elif key.startswith("cpu"):
            found.update({("cores", key[3:], m): v for m, v in cpu_line(words).items()})
    single = {"ctxt": "context_switches", "processes": "forks", "intr": "interrupts"}
    for line in pathlib.Path("/proc/stat").read_text().splitlines():
        key, *words = line.split()
        if key in single:
            found["system", single[key]] = int(words[0])


def read_disks(found):
    for line in pathlib.Path("/proc/diskstats").read_text().splitlines():
        _, _, name, reads, _, sectors_read, _, writes, _, sectors_written, *_ = line.split()
        found["disks", name, "reads"] = int(reads)
        found["disks", name, "read_bytes"] = int(sectors_read) * SECTOR
        found["disks", name, "writes"] = int(writes)
        found["disks", name, "written_bytes"] = int(sectors_written) * SECTOR


def read_interfaces(found):
    for line in pathlib.Path("/proc/net/dev").read_text().splitlines()[2:]:
        name, figures = line.split(":")
        words = [int(w) for w in figures.split()]
        found["netifs", name.strip(), "received_bytes"] = words[0]
        found["netifs", name.strip(), "packets_received"] = words[1]
        found["netifs", name.strip(), "sent_bytes"] = words[8]
        found["netifs", name.strip(), "packets_sent"] = words[9]


def read_pressure(found):
    for what in ("cpu", "memory", "io"):
        path = pathlib.Path("/proc/pressure") / what
        if not path.exists():
            continue
        for line in path.read_text().splitlines():
            kind, *words = line.split()
            if what == "cpu" and kind == "full":
                continue  # the kernel does not define it for the machine
            found["system", f"{what}_pressure_{kind}_seconds"] = int(words[-1].split("=")[1]) / 1e6


def read_counters():
    found = {}
    for read in (read_stat, read_disks, read_interfaces, read_pressure):
        read(found)
    return found


def meminfo():
    lines = pathlib.Path("/proc/meminfo").read_text().splitlines()
    return {line.split(":")[0]: int(line.split()[1]) * 1024 for line in lines}


def figure(summary, key):
    """Of ("system", metric) or ("disks", name, metric)."""
    if len(key) == 2:
        return summary["system"].get(key[1])
    things = [t for t in summary.get(key[0], []) if t["name"] == key[1]]
    assert len(things) <= 1, (key, "told twice")
    return things[0].get(key[2]) if things else None


class Between:
    """What must hold of toll's totals."""

    def __init__(self, place, path):
        self.place, self.path = place, path
        self.before = self.begun = self.ending = self.after = None

    @property
    def summary(self):
        return json.loads(self.path.read_text())

    def bounds(self, key, since_start):
        if since_start:
            return self.ending[key], self.after[key]
        return self.ending[key] - self.begun[key], self.after[key] - self.before[key]

    def check(self, since_start=False):
        """Every counter that the test knows; returns those toll has."""
        summary, checked = self.summary, {}
        for key in self.before:
            if not all(key in r for r in (self.begun, self.ending, self.after)):
                continue  # came or went
            found = figure(summary, key)
            if found is None or "total" not in found:
                continue
            low, high = self.bounds(key, since_start)
            # Seconds come as decimals: half a microsecond for rounding.
            assert low - 1e-6 <= found["total"] <= high + 1e-6, (key, low, found["total"], high)
            assert found["quality"] == "exact"
            checked[key] = found["total"]
        return checked


@contextlib.contextmanager
def measured(place, arguments=("system",), command=()):
    """toll around what the block does; ended by Ctrl-C, or with its command."""
    path, series = place.path("machine.json"), place.path("machine.jsonl")
    result = Between(place, path)
    result.before = read_counters()
    with place.popen([place.toll, *arguments, "-q", "-o", path, "-o", series, "-i", "100ms",
                      *command], stdout=subprocess.DEVNULL) as p:
        try:
            until(lambda: p.poll() is not None or
                  (series.exists() and '"type":"sample"' in series.read_text()), "a sample")
            result.begun = read_counters()
            yield result
            result.ending = read_counters()
            p.send_signal(signal.SIGINT)
            assert p.wait(timeout=GUARD) in (0, 130, 128 + signal.SIGINT)
        finally:
            p.kill()
    result.after = read_counters()
