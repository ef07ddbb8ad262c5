# SPDX-License-Identifier: MIT
"""toll.compat.sweep: the log of a run, monitors of the hardware, their summary."""

import dataclasses
import json
import os
import re
import sys
import threading
import time
import types

import hostlib
import pytest
import shapes
from toll.compat.sweep import (
    HWMonitor,
    ResourceSummary,
    RunLog,
    build_resource_summary,
    probe_jax_peak_memory_mb,
)

psutil = hostlib.module("psutil")

GPU_FACTS = """\
gpus 2
utilization 50
memory_controller 20
memory_total 8589934592
memory_used 1073741824
power 250500
"""
STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$")
KEYS = ["peak_vram_mb", "gpu_util_mean_pct", "gpu_util_max_pct", "power_watts_mean"]
KEYS += ["power_watts_max", "cpu_usr_mean_pct", "cpu_idle_mean_pct"]
MORE = ["jax_peak_bytes_mb", "mem_util_mean_pct", "mem_util_max_pct"]


# ---- RunLog --------------------------------------------------------------------------------------


def test_the_log(tmp_path):
    log = RunLog()
    log.log_event("start", {"seed": 3, "where": tmp_path})
    log.log_phase("compile", 1.23456, cached=False)
    log.log_event("done")
    log.write(tmp_path / "run.jsonl")
    lines = (tmp_path / "run.jsonl").read_text().splitlines()
    first, second, third = map(json.loads, lines)
    assert all(STAMP.match(one["ts"]) for one in (first, second, third))
    assert list(first) == ["ts", "type", "event", "data"]
    assert (first["type"], first["event"], first["data"]) == (
        "event",
        "start",
        {"seed": 3, "where": str(tmp_path)},
    )
    assert list(second) == ["ts", "type", "name", "seconds", "cached"]
    assert (second["type"], second["name"], second["seconds"]) == ("phase", "compile", 1.235)
    assert list(third) == ["ts", "type", "event"]
    assert os.listdir(tmp_path) == ["run.jsonl"]


def test_a_log_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(FileNotFoundError) as told:
        RunLog().write(tmp_path / "no" / "run.jsonl")
    assert (told.value.filename, told.value.filename2) == (str(tmp_path / "no" / "run.jsonl"), None)
    assert str(told.value).endswith("/no/run.jsonl'")


def test_a_log_into_what_is_no_file(tmp_path):
    """It is written to, and stays what it is: /dev/null is needed for other things."""
    log = RunLog()
    log.log_event("start")
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    log.write(tmp_path / "pipe")
    assert json.loads(os.read(reader, 1000))["event"] == "start"
    os.close(reader)
    assert (tmp_path / "pipe").is_fifo()
    (tmp_path / "link").symlink_to(tmp_path / "run.jsonl")
    log.write(tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "run.jsonl").stat().st_size
    assert sorted(os.listdir(tmp_path)) == ["link", "pipe", "run.jsonl"]


def test_the_log_can_be_followed(tmp_path):
    path = tmp_path / "run.jsonl"
    with RunLog(path) as log:
        for number in range(3):
            log.log_event("tick", {"number": number})
            assert len(path.read_text().splitlines()) == number + 1
    log.close()
    with pytest.raises(FileNotFoundError):
        log.write(tmp_path / "nowhere" / "run.jsonl")


def test_the_log_from_threads(tmp_path):
    with RunLog(tmp_path / "run.jsonl") as log:
        threads = [
            threading.Thread(target=lambda: [log.log_event("e", {"x": "y" * 99}) for _ in range(50)])
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    lines = (tmp_path / "run.jsonl").read_text().splitlines()
    assert len(lines) == 200 and all(json.loads(line)["event"] == "e" for line in lines)


# ---- HWMonitor -----------------------------------------------------------------------------------


def test_the_monitor(tmp_path):
    monitor = HWMonitor()
    before = psutil.cpu_times()
    monitor.start(tmp_path / "new" / "place", interval_sec=0.1)
    time.sleep(0.5)
    gpu, cpu, dmon = monitor.stop()
    after = psutil.cpu_times()
    assert cpu == tmp_path / "new" / "place" / "cpu_metrics.csv"
    lines = cpu.read_text().splitlines()
    assert lines[0] == "timestamp,usr_pct,idle_pct"
    for line in lines[1:]:
        stamp, user, idle = line.split(",")
        assert STAMP.match(stamp)
        assert re.match(r"\d+\.\d$", user) and re.match(r"\d+\.\d$", idle)
        assert float(user) >= 0 and float(idle) >= 0 and float(user) + float(idle) <= 100.1
    summary = build_resource_summary(gpu, cpu, dmon)
    total = sum(after[:8]) - sum(before[:8])
    user = 100 * (after.user + after.nice - before.user - before.nice) / total
    assert summary.cpu_usr_mean_pct == pytest.approx(user, abs=25)
    if gpu is None:  # a monitor that is not there is left out
        assert os.listdir(cpu.parent) == ["cpu_metrics.csv"]
        assert dmon is None and summary.peak_vram_mb == 0.0


def test_life(tmp_path):
    monitor = HWMonitor()
    assert monitor.stop() == (None, None, None)
    monitor.start(tmp_path)
    with pytest.raises(RuntimeError, match="already running"):
        monitor.start(tmp_path)
    monitor.stop()
    assert monitor.stop() == (None, None, None)
    with pytest.raises(ValueError, match="interval"):
        HWMonitor().start(tmp_path, interval_sec=0)

    def once():
        with HWMonitor() as one:
            one.start(tmp_path, 0.1)

    assert shapes.left_behind(once) == [0, 0]


def test_gpus(python, tmp_path):
    """With the fake of NVML: all figures are known."""
    fakes = os.path.join(os.environ["TOLL_BUILD"], "tests/fakes/nvml")
    facts = tmp_path / "facts"
    facts.write_text(GPU_FACTS)
    said = python(
        f"""
import json
from work import looked
from toll.compat.sweep import HWMonitor, build_resource_summary
monitor = HWMonitor()
monitor.start({str(tmp_path / "out")!r}, 0.1)
looked()
paths = monitor.stop()
print(json.dumps([str(p) for p in paths]))
print(json.dumps(build_resource_summary(*paths).to_dict()))
""",
        FAKE_NVML=str(facts),
        FAKE_NVML_ASKED=f"{facts}.asked",
        LD_LIBRARY_PATH=fakes,
    )
    paths, summary = map(json.loads, said.splitlines())
    line = open(paths[0], encoding="utf-8").readline()
    assert re.match(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{3}, 50, ", line)
    assert summary["gpu_util_max_pct"] == 50.0
    assert summary["peak_vram_mb"] == 1024.0
    dmon = open(paths[2], encoding="utf-8").read().splitlines()
    assert dmon[0].split()[:4] == ["#", "gpu", "sm", "mem"]
    assert summary["mem_util_max_pct"] == float(dmon[2].split()[2])


# ---- ResourceSummary -----------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path):
    """As nvidia-smi and the monitor write them."""
    gpu, cpu, dmon = (tmp_path / name for name in ("gpu.csv", "cpu.csv", "dmon.csv"))
    gpu.write_text(
        "2026/11/16 07:00:00.000, 10, 5, 1000, 8000, 50.50, 40, 1000, 2000\n"
        "2026/11/16 07:00:02.000, 30, 15, 3000, 8000, [N/A], 41, 1000, 2000\n"
        "broken\n"
        "2026/11/16 07:00:04.000, 80, 25, 2000, 8000, 99.50, 42, 1000, 2000\n"
    )
    dmon.write_text("# gpu sm mem fb\n# Idx % % MB\n0 10 4 1000\n0 30 - 3000\n0 80 8 2000\n")
    cpu.write_text("timestamp,usr_pct,idle_pct\nx,10.0,80.0\nx,30.0,60.0\n")
    return gpu, cpu, dmon


def test_the_summary(files):
    summary = build_resource_summary(*files)
    assert summary.to_dict() == {
        "peak_vram_mb": 3000.0,
        "gpu_util_mean_pct": 40.0,
        "gpu_util_max_pct": 80.0,
        "power_watts_mean": 75.0,
        "power_watts_max": 99.5,
        "cpu_usr_mean_pct": 20.0,
        "cpu_idle_mean_pct": 70.0,
        "mem_util_mean_pct": 6.0,
        "mem_util_max_pct": 8.0,
    }
    # What was measured is there, however little it is.
    little = ResourceSummary(1.0, 0.0, mem_util_mean_pct=0.04, mem_util_max_pct=0.5).to_dict()
    assert (little["peak_vram_mb"], little["mem_util_mean_pct"], little["mem_util_max_pct"]) == (1, 0, 0.5)
    summary.jax_peak_bytes_mb = 12.345
    assert summary.to_dict()["jax_peak_bytes_mb"] == 12.3
    assert shapes.kind(summary.to_dict()) == dict.fromkeys(summary.to_dict(), "float")


def test_each_figure_comes_of_its_own_file(files):
    """The file of memory controllers has utilisation and memory, too, of other moments."""
    gpu, cpu, dmon = files
    dmon.write_text("# gpu sm mem fb\n# Idx % % MB\n0 99 4 1\n0 99 8 1\n")
    summary = build_resource_summary(gpu, cpu, dmon)
    assert (summary.peak_vram_mb, summary.gpu_util_mean_pct, summary.gpu_util_max_pct) == (3000, 40, 80)
    assert (summary.mem_util_mean_pct, summary.mem_util_max_pct) == (6.0, 8.0)


@pytest.mark.parametrize("text", [
    # -s mu of newer drivers: memory first, more columns; the heading comes again and again.
    "# gpu     fb   bar1   ccpm     sm    mem    enc    dec    jpg    ofa\n"
    "# Idx     MB     MB     MB      %      %      %      %      %      %\n"
    "    0   1000      2      0     10      4      0      0      0      0\n"
    "    0   3000      2      0     30      -      0      0      0      0\n"
    "# gpu     fb   bar1   ccpm     sm    mem    enc    dec    jpg    ofa\n"
    "# Idx     MB     MB     MB      %      %      %      %      %      %\n"
    "    0   2000      2      0     80      8      0      0      0      0\n",
    # -o DT: the time in front.
    "#Date       Time      gpu     sm    mem     fb\n"
    "#YYYYMMDD   HH:MM:SS  Idx      %      %     MB\n"
    " 20261116   07:00:00    0     10      4   1000\n"
    " 20261116   07:00:02    0     80      8   2000\n",
    # Columns that move in the middle of a file: another driver, appended.
    "# gpu sm mem fb\n# Idx % % MB\n0 10 4 1000\n"
    "# gpu fb sm mem\n# Idx MB % %\n0 1000 10 8\n",
    # No heading: as this has always been read.
    "0 10 4 1000\n0 80 8 2000\n",
])
def test_columns_of_dmon_are_found_by_their_heading(files, text):
    gpu, cpu, dmon = files
    dmon.write_text(text)
    summary = build_resource_summary(gpu, cpu, dmon)
    assert (summary.mem_util_mean_pct, summary.mem_util_max_pct) == (6.0, 8.0)


def test_a_dmon_without_memory_controllers(files):
    """-s m has no such column: nothing else is taken for it."""
    gpu, cpu, dmon = files
    dmon.write_text("# gpu fb bar1 ccpm\n# Idx MB MB MB\n0 1000 2 0\n0 3000 2 0\n")
    assert build_resource_summary(None, cpu, dmon).mem_util_max_pct == 0.0
    assert build_resource_summary(gpu, cpu, dmon).mem_util_max_pct == 25.0  # of the other file


def test_no_files(tmp_path):
    summary = build_resource_summary(None, tmp_path / "nothing.csv")
    assert list(summary.to_dict()) == KEYS
    assert set(summary.to_dict().values()) == {0.0}
    assert summary == ResourceSummary()
    fields = {field.name for field in dataclasses.fields(ResourceSummary)}
    assert fields == {*KEYS, *MORE}
    assert ResourceSummary(peak_vram_mb=1.0).peak_vram_mb == 1.0


def test_jax(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    assert probe_jax_peak_memory_mb() == 0.0
    gpu = types.SimpleNamespace(
        platform="gpu", memory_stats=lambda: {"peak_bytes_in_use": 3 * 1048576}
    )
    cpu = types.SimpleNamespace(platform="cpu", memory_stats=lambda: None)
    fake = types.SimpleNamespace(local_devices=lambda: [cpu, gpu])
    monkeypatch.setitem(sys.modules, "jax", fake)
    assert probe_jax_peak_memory_mb() == 3.0
    fake.local_devices = lambda: [cpu]
    assert probe_jax_peak_memory_mb() == 0.0
