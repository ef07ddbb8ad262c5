# SPDX-License-Identifier: MIT
"""Recorded runs in every layout: byte for byte, in the shape that the other tool's users know, and
with figures worked out here from our own outputs of the same run."""

import base64
import csv
import gzip
import io
import itertools
import json
import pathlib
import re

import pytest

import packed
import recorded
from test_export import toll

EXPECTED = pathlib.Path(__file__).parent / "expected/layouts.txt"

# run, layout, suffix
WRITTEN = {
    "this-machine.rt-v1.csv": ("this-machine", "resource-tracker"),
    "this-machine.rt-v2.csv": ("this-machine", "resource-tracker,columns=v2"),
    "this-machine.rt-0.4.csv": ("this-machine", "resource-tracker,columns=0.4"),
    "machine-server.rt-0.4.csv": ("machine-server", "resource-tracker,columns=0.4"),
    "limits-cgroup2.rt-combined-0.4.csv": ("limits-cgroup2", "resource-tracker,columns=combined-0.4"),
    "machine-vm.rt-v1.csv": ("machine-vm", "resource-tracker"),
    "machine-server.rt-v2.csv": ("machine-server", "resource-tracker,columns=v2"),
    "limits-cgroup2.rt-combined.csv": ("limits-cgroup2", "resource-tracker,columns=combined"),
    "limits-cgroup2.rt-host-proc.csv": ("limits-cgroup2", "resource-tracker,columns=host-proc"),
    "attach-groups.spdl.jsonl": ("attach-groups", "spdl"),
    "this-machine.pm.jsonl": ("this-machine", "process-metrics,max_memory_megabytes=512"),
    "this-machine.gt.json": ("this-machine", "gpu-tracker,n_expected_cores=4"),
    "this-machine.gt.txt": ("this-machine", "gpu-tracker,ram_unit=megabytes,time_unit=seconds"),
    "limits-cgroup2.gt.json": ("limits-cgroup2", "gpu-tracker,ram_unit=bytes,time_unit=seconds"),
    # A process of another user can be read in part alone, for two of five samples.
    "cgroup2-only.rt-v1.csv": ("cgroup2-only", "resource-tracker"),
    "cgroup2-only.spdl.jsonl": ("cgroup2-only", "spdl"),
    "cgroup2-only.pm.jsonl": ("cgroup2-only", "process-metrics,samples=2,max_memory_megabytes=512"),
    "cgroup2-only.points.csv": ("cgroup2-only", "gpu-tracker,ram_unit=bytes,time_unit=seconds"),
    "cgroup2-only.gt.json": ("cgroup2-only", "gpu-tracker,ram_unit=bytes,time_unit=seconds"),
    "marks.run_log.jsonl": ("marks", "sweep"),
    "machine-vm.cpu_metrics.csv": ("machine-vm", "sweep"),
    "this-machine.nextflow.txt": ("this-machine", "nextflow"),
    "cgroup2-only.nextflow.txt": ("cgroup2-only", "nextflow"),
    "this-machine.snakemake.csv": ("this-machine", "snakemake"),
    "cgroup2-only.snakemake.csv": ("cgroup2-only", "snakemake,columns=extended,rule_name=map,params=a,,b"),
    "this-machine.snakemake.jsonl": ("this-machine", "snakemake"),
    "this-machine.prmon.txt": ("this-machine", "prmon"),
    "limits-cgroup2.prmon.txt": ("limits-cgroup2", "prmon"),
    "this-machine.prmon.json": ("this-machine", "prmon"),
    "this-machine.time.txt": ("this-machine", "gnu-time"),
    "this-machine.conversions.txt": ("this-machine", "gnu-time,format=" + ",,".join(
        "%" + letter for letter in "CDEFIKMOPRSUWXcekprstwxQ%")),
    "this-machine.benchmark.json": ("this-machine", "github-action-benchmark"),
    "this-machine.gitlab.txt": ("this-machine", "gitlab"),
}

PROCESS_V1 = ("timestamp pid children utime stime cpu_usage pss read_bytes write_bytes gpu_usage "
              "gpu_vram gpu_utilized").split()
SYSTEM_V1 = ("timestamp processes utime stime cpu_usage memory_free memory_used memory_buffers "
             "memory_cached memory_active_anon memory_inactive_anon disk_read_bytes "
             "disk_write_bytes disk_space_total_gb disk_space_used_gb disk_space_free_gb "
             "net_recv_bytes net_sent_bytes gpu_usage gpu_vram gpu_utilized").split()
PROCESS_V2 = ("timestamp pid children utime stime cpu_usage memory_mib disk_read_bytes "
              "disk_write_bytes gpu_usage gpu_vram_mib gpu_utilized").split()
SYSTEM_V2 = ("timestamp processes utime stime cpu_usage memory_free_mib memory_used_mib "
             "memory_buffers_mib memory_cached_mib memory_active_mib memory_inactive_mib "
             "disk_read_bytes disk_write_bytes disk_space_total_gb disk_space_used_gb "
             "disk_space_free_gb net_recv_bytes net_sent_bytes gpu_usage gpu_vram_mib "
             "gpu_utilized").split()
PROCESS_04 = ("timestamp pid children utime stime cpu_usage memory read_bytes write_bytes gpu_usage "
              "gpu_vram gpu_utilized").split()
SYSTEM_04 = ("timestamp processes utime stime cpu_usage memory_free memory_used memory_buffers "
             "memory_cached memory_active memory_inactive disk_read_bytes disk_write_bytes "
             "disk_space_total_gb disk_space_used_gb disk_space_free_gb net_recv_bytes net_sent_bytes "
             "gpu_usage gpu_vram gpu_utilized").split()
SPDL = ("pid pgid cpu_percent rss_bytes pss_bytes private_bytes disk_read_bytes "
        "disk_write_bytes num_procs net_rx_bytes net_tx_bytes").split()
PROCESS_METRICS = ("cpu_usage_percentage memory_rss_megabytes memory_vms_megabytes "
                   "memory_uss_megabytes memory_usage_percentage num_threads num_fds "
                   "io_read_megabytes io_write_megabytes").split()


def write(run, layout, file, *more):
    # The name of a layout's own file stays as it is.
    with recorded.readable(run, file.parent) as (source, place, user):
        file = place / file.name
        done = recorded.replay(source, "--layout", layout, "-o", file, *more, "--summary", "none",
                               user=user)
        assert done.returncode == 0, done.stderr.decode()
        return file.read_bytes().decode()


def place(tmp_path, name):
    directory = tmp_path / name.split(".")[0]
    directory.mkdir(exist_ok=True)
    return directory / name.partition(".")[2]


def rows(text):
    """As Python's csv reads what Python's csv wrote: numbers are bare, text is in quotes."""
    assert text.endswith("\r\n") and text.count("\n") == text.count("\r\n")
    found = list(csv.reader(io.StringIO(text, newline=""), quoting=csv.QUOTE_NONNUMERIC))
    return found[0], [dict(zip(found[0], row)) for row in found[1:]]


def native(run, tmp_path, *options):
    """Our own rows of the same run, numbers or None."""
    file = tmp_path / "native.csv"
    done = recorded.replay(recorded.FIXTURES / run, "-o", file, *options, "--summary", "none")
    assert done.returncode == 0, done.stderr.decode()
    return [
        {key: float(value) if value and key != "time" else None for key, value in row.items()}
        for row in csv.DictReader(file.open())
    ]


@pytest.mark.parametrize("name", WRITTEN)
def test_as_expected(name, tmp_path, request):
    found = write(*WRITTEN[name], place(tmp_path, name))
    if request.config.getoption("--update"):
        parts = packed.read(EXPECTED) if EXPECTED.exists() else {}
        packed.write(EXPECTED, parts | {name: found.encode()})
    assert found == packed.read(EXPECTED)[name].decode()


def test_nothing_else_is_expected():
    assert packed.read(EXPECTED).keys() == set(WRITTEN)


# ---- resource-tracker ----------------------------------------------------------------------------


def growth(found, column):
    """What a counter grew by in each row, from 0 on; where it is unknown, the next has it."""
    before = 0
    for row in found:
        now = row[column]
        yield None if now is None else now - before
        before = before if now is None else now


def test_process_rows(tmp_path):
    heading, found = rows(write("this-machine", "resource-tracker", tmp_path / "x.csv"))
    assert heading == PROCESS_V1
    ours = native("this-machine", tmp_path)
    assert ours[0]["elapsed_seconds"] < 0.1  # at once: it comes with the next row
    ours = ours[1:]
    assert len(found) == len(ours) > 5
    ticks = [0, 0]
    lines = zip(found, ours, growth(ours, "target_cpu_seconds"),
                growth(ours, "target_storage_read_bytes"), strict=True)
    elapsed, earlier, children, pss = 0, (0, 0), None, None
    for theirs, our, cpu, read in lines:
        if our["target_processes"]:
            children, pss = our["descendants_processes"], our["target_memory_pss_bytes"] or pss
        # Of processes that have ended: as they were when they were last looked at.
        assert (theirs["children"], theirs["pss"]) == (children, pss / 1024)
        ticks[0] += theirs["utime"]
        ticks[1] += theirs["stime"]
        assert ticks[0] == int(our["target_cpu_user_seconds"] * 100 + 1e-6)
        assert ticks[1] == int(our["target_cpu_system_seconds"] * 100 + 1e-6)
        seconds = our["elapsed_seconds"] - elapsed
        if our is ours[-1] and seconds < 0.1:  # too short alone: with the row before
            cpu, seconds = cpu + earlier[0], seconds + earlier[1]
        assert theirs["cpu_usage"] == pytest.approx(cpu / seconds, abs=6e-5)
        elapsed, earlier = our["elapsed_seconds"], (cpu, seconds)
        assert theirs["read_bytes"] == ("" if read is None else read)
        assert theirs["gpu_usage"] == theirs["gpu_vram"] == theirs["gpu_utilized"] == 0


def test_machine_rows(tmp_path):
    heading, found = rows(write("machine-server", "resource-tracker", tmp_path / "x.csv"))
    assert heading == SYSTEM_V1
    ours = native("machine-server", tmp_path, "-m", "system_*,mount_*")
    # Not memory, not the overlay, which is / once more, nor what does not answer.
    mounts = [f"mount.{name}.size_bytes" for name in ("/", "/boot", "/srv/with blank")]
    others = {key for key in ours[0] if re.fullmatch(r"mount\..*\.size_bytes", key)} - set(mounts)
    assert len(others) == 3
    lines = zip(found, ours, growth(ours, "system_disk_read_bytes"),
                growth(ours, "system_network_sent_bytes"), strict=True)
    for theirs, our, read, sent in lines:
        free, buffers, cached = (our[f"system_memory_{k}_bytes"] / 1024
                                 for k in ("free", "buffers", "cached"))
        assert (theirs["memory_free"], theirs["memory_buffers"], theirs["memory_cached"]) == (
            free, buffers, cached)
        assert theirs["memory_used"] == our["system_memory_total_bytes"] / 1024 - free - buffers - cached
        assert (theirs["disk_read_bytes"], theirs["net_sent_bytes"]) == (read, sent)
        size = sum(ours[0][mount] for mount in mounts)  # read every ten seconds
        left = sum(ours[0][mount.replace("size", "available")] for mount in mounts)
        assert theirs["disk_space_total_gb"] == round(size / 2**30, 2)
        assert theirs["disk_space_used_gb"] == round((size - left) / 2**30, 2)
        assert theirs["disk_space_free_gb"] == round(left / 2**30, 2)


def test_later_columns(tmp_path):
    process = write("this-machine", "resource-tracker,columns=v2", tmp_path / "x.csv")
    assert rows(process)[0] == PROCESS_V2
    first = write("this-machine", "resource-tracker", tmp_path / "y.csv")
    for old, new in zip(rows(first)[1], rows(process)[1], strict=True):
        assert new["timestamp"] == round(old["timestamp"], 3)
        assert new["cpu_usage"] == old["cpu_usage"]
        assert new["memory_mib"] == ("" if old["pss"] == "" else round(old["pss"] / 1024, 4))
    both = write("limits-cgroup2", "resource-tracker,columns=combined", tmp_path / "z.csv")
    assert rows(both)[0] == ["timestamp", *(f"system_{name}" for name in SYSTEM_V2[1:]),
                             *(f"process_{name}" for name in PROCESS_V2[1:])]


def test_newest_names(tmp_path):
    """Those of the combined row, but for the pid, by other names."""
    heading, found = rows(write("limits-cgroup2", "resource-tracker,columns=host-proc",
                                tmp_path / "x.csv"))
    host = [name for name in heading if name.startswith("host_")]
    proc = [name for name in heading if name.startswith("proc_")]
    assert heading == ["timestamp", *sorted(host), *sorted(proc)]
    assert (len(host), len(proc)) == (len(SYSTEM_V2) - 1, len(PROCESS_V2) - 2)
    both = rows(write("limits-cgroup2", "resource-tracker,columns=combined", tmp_path / "y.csv"))[1]
    for ours, old in zip(found, both, strict=True):
        assert ours["proc_cpu_all_usage_core_gauge"] == old["process_cpu_usage"]
        assert ours["host_memory_all_used_mib_gauge"] == old["system_memory_used_mib"]
        assert ours["host_net_all_recv_bytes_delta"] == old["system_net_recv_bytes"]


def test_columns_of_0_4(tmp_path):
    """The figures of 0.5 in its units: seconds, whole kB, GiB."""
    layout = "resource-tracker,columns="
    process = rows(write("this-machine", layout + "0.4", tmp_path / "x.csv"))
    assert process[0] == PROCESS_04
    v1, v2 = (rows(write("this-machine", layout + name, tmp_path / f"{name}.csv"))[1]
              for name in ("v1", "v2"))
    for old, ours, new in zip(v1, process[1], v2, strict=True):
        same = [name for name in ours if name in new]
        assert {name: ours[name] for name in same} == {name: new[name] for name in same}
        assert ours["memory"] == old["pss"]
        for name in ("read_bytes", "write_bytes"):
            assert ours[name] == old[name] == new[f"disk_{name}"]
    machine = rows(write("machine-server", layout + "0.4", tmp_path / "y.csv"))
    assert machine[0] == SYSTEM_04
    newer = rows(write("machine-server", layout + "v2", tmp_path / "z.csv"))[1]
    for ours, new in zip(machine[1], newer, strict=True):
        assert ours["memory_active"] == new["memory_active_mib"] == ""  # not in the recording
        for name in ("free", "used", "buffers", "cached"):
            assert ours[f"memory_{name}"] == pytest.approx(new[f"memory_{name}_mib"] * 1024, abs=0.06)
            assert ours[f"memory_{name}"] == int(ours[f"memory_{name}"])
        for name in ("total", "used", "free"):
            wanted = new[f"disk_space_{name}_gb"] * 1e9 / 2**30
            assert ours[f"disk_space_{name}_gb"] == pytest.approx(wanted, abs=0.011)
        for name in ("utime", "stime", "cpu_usage", "disk_read_bytes", "net_sent_bytes"):
            assert ours[name] == new[name]
    both = write("limits-cgroup2", layout + "combined-0.4", tmp_path / "both.csv")
    assert rows(both)[0] == ["timestamp", *(f"system_{name}" for name in SYSTEM_04[1:]),
                             *(f"process_{name}" for name in PROCESS_04[1:])]


# ---- spdl and process-metrics --------------------------------------------------------------------


def test_groups(tmp_path):
    lines = [json.loads(line) for line in
             write("attach-groups", "spdl", tmp_path / "x.jsonl").splitlines()]
    groups = {line["pgid"] for line in lines}
    assert len(groups) > 1
    for group in groups:
        mine = [line for line in lines if line["pgid"] == group]
        assert len(mine) * len(groups) == len(lines)
        assert all(list(line) == SPDL for line in mine)
        assert mine[0]["cpu_percent"] is None
        assert all(isinstance(line["cpu_percent"], float) for line in mine[1:])
        assert all(line["cpu_percent"] >= 0 for line in mine[1:])
        for key in ("disk_read_bytes", "disk_write_bytes"):
            totals = [line[key] for line in mine if line[key] is not None]
            assert totals == sorted(totals)


def test_averages(tmp_path):
    ours = native("this-machine", tmp_path)
    text = write("this-machine", "process-metrics,samples=4,prefix=p/,max_memory_megabytes=1024,"
                 "max_cpu_count=2", tmp_path / "x.jsonl")
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line["step"] for line in lines] == list(range((len(ours) + 3) // 4))
    start = cpu = 0
    for number, line in enumerate(lines):
        assert list(line) == ["timestamp", "step", *(f"p/{name}" for name in PROCESS_METRICS)]
        part = ours[4 * number : 4 * number + 4]
        known = [row for row in part if row["target_memory_rss_bytes"] is not None]
        weight = sum(row["interval_seconds"] for row in known)
        if known:
            rss = sum(r["target_memory_rss_bytes"] * r["interval_seconds"] for r in known) / weight
            assert line["p/memory_rss_megabytes"] == pytest.approx(rss / 2**20, rel=1e-9)
            assert line["p/memory_usage_percentage"] == pytest.approx(rss / 2**30 * 100, rel=1e-9)
        used = part[-1]["target_cpu_seconds"] - cpu
        lasted = part[-1]["elapsed_seconds"] - start
        assert line["p/cpu_usage_percentage"] == pytest.approx(used / lasted * 100 / 2, rel=1e-6)
        start, cpu = part[-1]["elapsed_seconds"], part[-1]["target_cpu_seconds"]
        read = part[-1]["target_storage_read_bytes"]
        assert line["p/io_read_megabytes"] == (None if read is None else read / 2**20)


# ---- gpu-tracker ---------------------------------------------------------------------------------

PERCENTAGES = {f"{what}_{kind}_percent": float for what in ("max", "mean")
               for kind in ("sum", "hardware")}
RSS = {"total_rss": float, "private_rss": float, "shared_rss": float}
SHAPE = {
    "max_ram": {"unit": str, "system_capacity": float, "system": float, "main": RSS,
                "descendants": RSS, "combined": RSS},
    "max_gpu_ram": {"unit": str, "system_capacity": float, "system": float, "main": float,
                    "descendants": float, "combined": float},
    "cpu_utilization": {"system_core_count": int, "n_expected_cores": int, "system": PERCENTAGES,
                        "main": PERCENTAGES, "descendants": PERCENTAGES, "combined": PERCENTAGES,
                        "main_n_threads": int, "descendants_n_threads": int,
                        "combined_n_threads": int},
    "gpu_utilization": {"system_gpu_count": int, "n_expected_gpus": int,
                        "gpu_percentages": PERCENTAGES},
    "compute_time": {"unit": str, "time": float},
}
RAM = {"bytes": 1, "kilobytes": 1e-3, "megabytes": 1e-6, "gigabytes": 1e-9, "terabytes": 1e-12}
TIME = {"seconds": 1, "minutes": 1 / 60, "hours": 1 / 3600, "days": 1 / 86400}


@pytest.fixture(scope="module")
def summary(tmp_path_factory):
    """Our own of a run."""
    kept = {}

    def get(run):
        if run not in kept:
            file = tmp_path_factory.mktemp("native") / "run.json"
            done = recorded.replay(recorded.FIXTURES / run, "-o", file, "--summary", "none")
            assert done.returncode == 0, done.stderr.decode()
            kept[run] = json.loads(file.read_text())
        return kept[run]

    return get


def is_shaped(value, shape):
    """The same keys in the same order, and kinds; what the record does not have is null."""
    if isinstance(shape, dict):
        return list(value) == list(shape) and all(is_shaped(value[k], shape[k]) for k in shape)
    return value is None or type(value) is shape


@pytest.mark.parametrize("ram, gpu, time", itertools.product(RAM, RAM, TIME))
def test_units(ram, gpu, time, tmp_path, summary):
    """Every combination, against our own summary of the same run."""
    options = f"gpu-tracker,ram_unit={ram},gpu_ram_unit={gpu},time_unit={time},n_expected_cores=4"
    text = write("this-machine", options, tmp_path / "x.json")
    found, ours = json.loads(text), summary("this-machine")
    assert json.dumps(found, indent=1) + "\n" == text  # as Python writes it
    assert is_shaped(found, SHAPE)
    assert (found["max_ram"]["unit"], found["max_gpu_ram"]["unit"],
            found["compute_time"]["unit"]) == (ram, gpu, time)
    for part in ("main", "descendants", "combined"):
        figures = ours["target"][part]
        rss = found["max_ram"][part]
        assert rss["total_rss"] == figures["memory_distinct_bytes"]["max"] * RAM[ram]
        assert rss["private_rss"] == figures["memory_uss_bytes"]["max"] * RAM[ram]
        assert rss["shared_rss"] == figures["memory_distinct_shared_bytes"]["max"] * RAM[ram]
        assert found["cpu_utilization"][f"{part}_n_threads"] == figures["threads"]["max"]
        cpu = found["cpu_utilization"][part]
        most, mean = figures["cpu_cores"]["max"] * 100, figures["cpu_seconds"]["rate_mean"] * 100
        assert cpu["max_sum_percent"] == pytest.approx(most, rel=1e-4, abs=1e-4)
        assert cpu["max_hardware_percent"] == cpu["max_sum_percent"] / 4
        assert cpu["mean_sum_percent"] == pytest.approx(mean, rel=1e-4, abs=1e-4)
        assert cpu["mean_hardware_percent"] == cpu["mean_sum_percent"] / 4
    assert found["cpu_utilization"]["n_expected_cores"] == 4
    assert found["compute_time"]["time"] == pytest.approx(ours["wall_seconds"] * TIME[time])
    assert found["gpu_utilization"] == {
        "system_gpu_count": 0, "n_expected_gpus": 0,
        "gpu_percentages": dict.fromkeys(PERCENTAGES, 0.0)}


def test_with_the_machine(tmp_path, summary):
    """Without n_expected_cores it is all CPUs; a kernel without smaps_rollup still has RSS."""
    found = json.loads(write("limits-cgroup2", "gpu-tracker", tmp_path / "x.json"))
    ours = summary("limits-cgroup2")
    machine = ours["system"]
    assert found["max_ram"]["system_capacity"] == machine["memory_total_bytes"]["last"] * 1e-9
    assert found["max_ram"]["system"] == machine["memory_used_bytes"]["max"] * 1e-9
    cpus = machine["cpus_online"]["last"]
    assert found["cpu_utilization"]["system_core_count"] == cpus
    assert found["cpu_utilization"]["n_expected_cores"] == cpus
    cpu = found["cpu_utilization"]["combined"]
    assert cpu["max_hardware_percent"] == cpu["max_sum_percent"] / cpus
    rss = found["max_ram"]["combined"]
    assert rss["total_rss"] == ours["target"]["combined"]["memory_rss_bytes"]["max"] * 1e-9
    assert rss["private_rss"] is rss["shared_rss"] is None


LABELS = """Max RAM:|   Unit: gigabytes|   System capacity: N|   System: N|   Main:
      Total RSS: N|      Private RSS: N|      Shared RSS: N|   Descendants:
      Total RSS: N|      Private RSS: N|      Shared RSS: N|   Combined:
      Total RSS: N|      Private RSS: N|      Shared RSS: N|Max GPU RAM:|   Unit: gigabytes
   System capacity: N|   System: N|   Main: N|   Descendants: N|   Combined: N|CPU utilization:
   System core count: I|   Number of expected cores: I|   System:|P|   Main:|P|   Descendants:|P
   Combined:|P|   Main number of threads: I|   Descendants number of threads: I
   Combined number of threads: I|GPU utilization:|   System GPU count: I
   Number of expected GPUs: I|   GPU percentages:|P|Compute time:|   Unit: hours|   Time: N"""
PERCENT_LINES = [f"      {what} {kind} percent: N" for what in ("Max", "Mean")
                 for kind in ("sum", "hardware")]


def test_text(tmp_path):
    text = write("limits-cgroup2", "gpu-tracker", tmp_path / "x.txt")
    wanted = []
    for line in re.split(r"[|\n]", LABELS):
        wanted += PERCENT_LINES if line == "P" else [line]
    lines = text.splitlines()
    shapes = [re.sub(r": \d+$", ": I", re.sub(r": (\d+\.\d{1,3}|unknown)$", ": N", line)) for line in lines]
    assert shapes == wanted
    document = json.loads(write("limits-cgroup2", "gpu-tracker", tmp_path / "x.json"))
    capacity = document["max_ram"]["system_capacity"]
    assert lines[2] == f"   System capacity: {float(f'{capacity:.3f}')}"


# ---- sweep ---------------------------------------------------------------------------------------


def test_directory(tmp_path):
    done = recorded.replay(recorded.FIXTURES / "marks", "--layout", "sweep", "-o",
                           f"{tmp_path}/all/", "--summary", "none")
    assert done.returncode == 0, done.stderr.decode()
    names = {path.name for path in (tmp_path / "all").iterdir()}
    assert names <= {"cpu_metrics.csv", "run_log.jsonl", "summary.json"}  # there is no GPU
    assert {"run_log.jsonl", "summary.json"} <= names
    lines = [json.loads(line) for line in (tmp_path / "all/run_log.jsonl").read_text().splitlines()]
    assert {"phase", "event"} <= {line["type"] for line in lines}
    for line in lines:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", line["ts"])
        if line["type"] == "phase":
            assert list(line)[:4] == ["ts", "type", "name", "seconds"]
            assert line["seconds"] == round(line["seconds"], 3)
        elif line["type"] == "event":
            assert list(line)[:3] == ["ts", "type", "event"]
    summary = json.loads((tmp_path / "all/summary.json").read_text())
    assert list(summary)[:7] == [
        "peak_vram_mb", "gpu_util_mean_pct", "gpu_util_max_pct", "power_watts_mean",
        "power_watts_max", "cpu_usr_mean_pct", "cpu_idle_mean_pct"]
    assert summary["peak_vram_mb"] == 0.0 and "mem_util_mean_pct" not in summary


def test_cpu_of_the_machine(tmp_path):
    text = write("machine-vm", "sweep", tmp_path / "cpu_metrics.csv")
    found = list(csv.DictReader(io.StringIO(text)))
    assert list(found[0]) == ["timestamp", "usr_pct", "idle_pct"]
    ours = native("machine-vm", tmp_path, "-m", "system_*")
    assert len(found) == len(ours) - 1  # the first sample comes at once
    kinds = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
    before = dict.fromkeys(kinds, 0)
    for row, our in zip(found, ours[1:]):
        now = {kind: our[f"system_cpu_{kind}_seconds"] for kind in kinds}
        used = {kind: now[kind] - before[kind] for kind in kinds}
        total, before = sum(used.values()), now
        assert float(row["usr_pct"]) == round((used["user"] + used["nice"]) / total * 100, 1)
        assert float(row["idle_pct"]) == round(used["idle"] / total * 100, 1)
        assert re.fullmatch(r"\d+\.\d", row["usr_pct"])


# ---- A process that could not be read ------------------------------------------------------------

HIDDEN = "cgroup2-only"  # samples 1 and 2 have a setuid child, which has a line of its own later
EVERY = [name for name in WRITTEN if name.startswith(HIDDEN)]


def hidden(layout, file, tmp_path):
    return write(HIDDEN, layout, tmp_path / file)


def test_a_part_is_not_the_whole(tmp_path):
    """Page tables and I/O of one process are denied: a sum without it is unknown, as each tool
    writes unknown. What stat tells of it is known."""
    lines = [json.loads(line) for line in hidden("spdl", "x.jsonl", tmp_path).splitlines()]
    for key in ("pss_bytes", "private_bytes", "disk_read_bytes", "disk_write_bytes"):
        assert [line[key] is None for line in lines[:4]] == [False, True, True, False], key
    assert None not in [line["rss_bytes"] for line in lines[:4]]
    _, found = rows(hidden("resource-tracker", "x.csv", tmp_path))
    assert [row["pss"] == "" for row in found[:4]] == [False, True, True, False]
    assert [row["read_bytes"] for row in found] == [4194304, "", "", 4194304, 0]
    for columns, names in (("v2", ("memory_mib", "disk_read_bytes", "disk_write_bytes")),
                           ("combined", ("process_memory_mib", "process_disk_read_bytes")),
                           ("host-proc", ("proc_memory_all_used_mib_gauge",
                                          "proc_disk_all_read_bytes_delta"))):
        _, found = rows(hidden(f"resource-tracker,columns={columns}", "x.csv", tmp_path))
        for name in names:
            assert [row[name] == "" for row in found[:4]] == [False, True, True, False], name
    for samples, known in ((1, [True, False, False, True]), (2, [False, False])):
        text = hidden(f"process-metrics,samples={samples}", "x.jsonl", tmp_path)
        lines = [json.loads(line) for line in text.splitlines()]
        for key in ("memory_uss_megabytes", "num_fds"):
            assert [f"process/{key}" in line and line[f"process/{key}"] is not None
                    for line in lines[:len(known)]] == known, key
        assert lines[0]["process/memory_rss_megabytes"] > 0


def test_the_most_of_a_part_is_not_the_most(tmp_path):
    """In a summary: what was unknown at any time has no largest value. RSS stands for the total, as
    where page tables cannot be read at all."""
    ram = json.loads(hidden("gpu-tracker,ram_unit=bytes", "x.json", tmp_path))["max_ram"]
    rss = [row["target_memory_rss_bytes"] for row in native_hidden(tmp_path)]
    assert ram["combined"] == {"total_rss": max(rss[:-1]), "private_rss": None, "shared_rss": None}
    assert ram["descendants"]["private_rss"] is None
    assert ram["main"] == {"total_rss": 2097152, "private_rss": 1572864, "shared_rss": 524288}


def native_hidden(tmp_path):
    with recorded.readable(HIDDEN, tmp_path) as (source, place, user):
        file = place / "native.csv"
        done = recorded.replay(source, "-o", file, "--summary", "none", user=user)
        assert done.returncode == 0, done.stderr.decode()
        return [{key: float(value) if value and key != "time" else None
                 for key, value in row.items()} for row in csv.DictReader(file.open())]


@pytest.mark.parametrize("record", ["r.jsonl", "r.sqlite"])
@pytest.mark.parametrize("name", EVERY)
def test_exported_alike(name, record, tmp_path):
    """From a record the same bytes as were written while the run was measured."""
    _, layout = WRITTEN[name]
    with recorded.readable(HIDDEN, tmp_path) as (source, place, user):
        record = place / record
        done = recorded.replay(source, "-o", record, "--summary", "none", user=user)
        assert done.returncode == 0, done.stderr.decode()
        again = tmp_path / name.partition(".")[2]
        assert toll("export", record, "--layout", layout, "-o", again).returncode == 0
    assert again.read_bytes() == packed.read(EXPECTED)[name]


def test_an_old_record_says_what_it_said(tmp_path):
    """Before samples had lower bounds, a sum that lacked a process was there as any other."""
    record = tmp_path / "old.jsonl"
    with recorded.readable(HIDDEN, tmp_path) as (source, place, user):
        done = recorded.replay(source, "-o", place / "new.jsonl", "--summary", "none", user=user)
        assert done.returncode == 0, done.stderr.decode()
        lines = [json.loads(line) for line in (place / "new.jsonl").read_text().splitlines()]
    bounds = []
    for line in lines:
        for part in line.get("target", {}).values():
            bounds.append(part.pop("lower_bound", {}))
            part.update(bounds[-1])
            for figure in part.values():
                if isinstance(figure, dict):
                    figure.pop("partial", None)
    assert sum(map(bool, bounds)) == 4  # of two samples, all together and the descendants
    record.write_text("".join(json.dumps(line) + "\n" for line in lines))
    again = tmp_path / "again.jsonl"
    done = toll("export", record, "--layout", "spdl", "-o", again)
    assert (done.returncode, done.stderr) == (0, b"")
    found = [json.loads(line) for line in again.read_text().splitlines()]
    assert [line["pss_bytes"] for line in found[:4]] == [28715008] * 4


def test_jobstats_has_what_may_be_used(tmp_path):
    """The quota of the cgroup, as its limit of memory: jobstats divides by both."""
    run = recorded.fixture_of("limits-cgroup2")
    assert recorded.replay(run, "-q", "-o", f"jobstats:{tmp_path}/js").returncode == 0
    [node] = json.loads(gzip.decompress(base64.b64decode((tmp_path / "js").read_text()[4:])))["nodes"].values()
    assert (node["cpus"], node["total_memory"]) == (1.5, 128 << 20)
