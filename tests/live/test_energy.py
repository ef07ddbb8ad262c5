# SPDX-License-Identifier: MIT
"""The job's share of energy, on this machine: RAPL is a file that grows by 50 W in a mount namespace
of its own, or the events of perf are a clock of the kernel; GPUs are those of the fake driver."""
import json
import os
import threading
import time

import pytest
from livelib import IS_ROOT, job_until, recorded
from test_gpus import Driver

WATTS, START = 50, 100_000_000_000
CPUS = os.cpu_count()
BURN = "import time\nend = time.monotonic() + 1.6\nwhile time.monotonic() < end: pass"


@pytest.fixture
def as_root(place):
    if not place.privileged:
        pytest.skip("mounting needs root")
    return place


class Meter(threading.Thread):
    """Writes the counter as the kernel has it, as often as a processor renews it."""

    def __init__(self, file):
        super().__init__()
        self.fd, self.over, self.began = os.open(file, os.O_WRONLY), False, time.monotonic()

    def run(self):
        while not self.over:
            used = int((time.monotonic() - self.began) * WATTS * 1e6)
            os.pwrite(self.fd, b"%d\n" % (START + used), 0)
            time.sleep(0.002)
        os.close(self.fd)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over = True
        self.join()


def zone(place, mode=0o444):
    folder = place.path("class") / "powercap/intel-rapl:0"
    folder.mkdir(parents=True)
    for name, text in (("name", "package-0"), ("max_energy_range_uj", 262_143_328_850),
                       ("energy_uj", START)):
        (folder / name).write_text(f"{text}\n")
        (folder / name).chmod(mode if name == "energy_uj" else 0o444)
    return folder / "energy_uj"


def events(place):
    """The PMU of RAPL, but with the kernel's clock of a CPU as the counter: a nanosecond of it is
    50 nJ."""
    folder = place.path("devices") / "power/events"
    folder.mkdir(parents=True)
    for name, text in (("type", 1), ("cpumask", 0), ("events/energy-pkg", "event=0x00"),
                       ("events/energy-pkg.scale", f"{WATTS}e-9"),
                       ("events/energy-pkg.unit", "Joules")):
        (folder.parent / name).write_text(f"{text}\n")


def busy_seconds():
    """All that ran on all CPUs."""
    fields = [int(n) for n in open("/proc/stat", encoding="ascii").readline().split()[1:]]
    return (sum(fields[:3]) + sum(fields[5:7])) / os.sysconf("SC_CLK_TCK")


def run(place, mounts, *options, job=("python3", "-c", BURN), user=()):
    script = "".join(f"mount --bind {place.path(a)} {b} && " for a, b in mounts.items())
    before, began = busy_seconds(), time.monotonic()
    status, _, err = place.call([
        "unshare", "-m", "sh", "-c", script + 'exec "$@"', "sh", *user, place.toll, "run", "--energy",
        "--gpus", "none", "--summary", "json", "--summary-to", place.path("summary"), *options, "--",
        *job])
    assert status == 0, err
    summary = json.loads(place.path("summary").read_text())
    return summary, (busy_seconds() - before) / (time.monotonic() - began)


def check_ends(summary, busy_cores):
    """The truth is worked out of the CPU time by wait4, and how busy /proc/stat found the machine
    from a little before the run until a little after it. Readings begin and end some milliseconds
    beside those of the job, and others use the machine at an uneven rate."""
    energy = summary["job_energy"]
    job = summary["target"]["combined"]["cpu_seconds"]["total"]
    low, high = WATTS * job / CPUS, WATTS * job / min(max(busy_cores, 0.01), CPUS)
    most = WATTS * summary["wall_seconds"]
    assert energy["joules_low"] == pytest.approx(low, rel=0.1)
    assert energy["joules_low"] <= energy["joules_high"] <= most * 1.1
    assert energy["joules_high"] == pytest.approx(min(high, most), rel=0.3)
    assert energy["quality"] == "sampled"


PACKAGES = {open(f"/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id",
                 encoding="ascii").read() for cpu in range(CPUS)
            if os.path.exists(f"/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id")}
one_package = pytest.mark.skipif(PACKAGES > {"0\n"}, reason="the machine has several packages")


@one_package
def test_share_of_rapl(as_root):
    with Meter(zone(as_root)):
        summary, busy = run(as_root, {"class": "/sys/class"}, "--carbon", "300")
    check_ends(summary, busy)
    assert summary["job_energy"]["from"] == "RAPL"
    assert summary["job_energy"]["co2e_grams_low"] == pytest.approx(
        300 * summary["job_energy"]["kwh_low"])


@one_package
def test_share_of_perf_where_the_files_are_closed(as_root):
    """An ordinary user, who may not read energy_uj, but may use perf."""
    os.chmod(as_root.directory, 0o777)
    zone(as_root, mode=0o400)
    events(as_root)
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
    mounts = {"class": "/sys/class", "devices": "/sys/bus/event_source/devices"}
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as file:
        allowed = int(file.read()) <= 0
    if allowed:
        summary, busy = run(as_root, mounts, user=user)
        check_ends(summary, busy)
        assert summary["job_energy"]["from"] == "perf (power/energy-pkg)"
    else:  # the kernel refuses both
        summary, _ = run(as_root, mounts, user=user)
        assert summary["job_energy"]["joules_low"] is None
        assert any("only root can read the energy counters" in n for n in summary["notes"])
    # With the right to use it; the files of powercap are there but give nothing.
    as_root.path("class/powercap/intel-rapl:0/energy_uj").unlink()
    summary, busy = run(as_root, mounts)
    check_ends(summary, busy)
    assert summary["job_energy"]["from"] == "perf (power/energy-pkg)"


GPU = r"gpus 1\nutilization 60\npower 200000\n"
ON_IT = job_until(recorded('"gpus":1'))


def gpu_run(here, lines, script):
    driver = Driver(here, lines.replace("\\n", "\n"))
    summary = driver.record("; ".join([*script, "sleep 1"]), "--energy").summary
    return summary["job_energy"]


def told(energy, *processes):
    """A job that goes on to say another energy, with these lines about processes."""
    lines = GPU + f"energy {energy}\n" + "".join(f"0.{p}\n" for p in processes)
    escaped = lines.replace("\n", "\\n").replace("$$", "%s")
    return f"printf '{escaped}' {'$$ ' * lines.count('$$')}>$FAKE_NVML.job; mv $FAKE_NVML.job $FAKE_NVML"


def test_gpu_alone_is_the_jobs_as_a_whole(here):
    energy = gpu_run(here, GPU + r"energy 5000000\n", [
        told(5000000, "compute $$ 1000"), ON_IT, told(5040000, "compute $$ 1000")])
    assert (energy["gpu_joules_low"], energy["gpu_joules_high"]) == (40, 40)
    assert energy["quality"] == "lower bound"  # that of the processors is unknown here
    assert energy["from"] == "energy counters of GPUs"


def test_gpu_that_others_use_too(here):
    """The job has half of the 60 % that it is busy: low is its 30 %, high half of the energy."""
    lines = ["compute $$ 1000", f"compute {os.getpid()} 1000", "sample $$ 30 1000",
             f"sample {os.getpid()} 30 1000"]
    energy = gpu_run(here, GPU + r"energy 5000000\n", [
        told(5000000, *lines), job_until(recorded('"gpu_utilization_ratio":0.3')),
        told(5040000, *lines), job_until(recorded('"energy_joules":40'))])
    assert energy["gpu_joules_low"] == pytest.approx(12)
    assert energy["gpu_joules_high"] == pytest.approx(20)


def test_gpu_that_the_job_does_not_use(here):
    energy = gpu_run(here, GPU + r"energy 5000000\n", [
        f"printf '{GPU}energy 5040000\\n' >$FAKE_NVML.job; mv $FAKE_NVML.job $FAKE_NVML"])
    assert (energy["gpu_joules_low"], energy["gpu_joules_high"]) == (0, 0)


def test_gpu_without_a_counter_has_its_power_integrated(here):
    driver = Driver(here, "gpus 1\nutilization 60\npower 200000\nerror.energy 3\n")
    lines = r"gpus 1\nutilization 60\npower 200000\nerror.energy 3\n0.compute %s 1000\n"
    result = driver.record(f"printf '{lines}' $$ >$FAKE_NVML.job; mv $FAKE_NVML.job $FAKE_NVML; "
                           + ON_IT + "; sleep 1", "--energy")
    energy = result.summary["job_energy"]
    assert energy["from"] == "sampled power of GPUs"
    # From the first look to the last one; the job is on it a moment after the first.
    assert 100 < energy["gpu_joules_high"] <= 200 * result.summary["wall_seconds"] * 1.05
