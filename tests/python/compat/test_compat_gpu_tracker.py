# SPDX-License-Identifier: MIT
"""toll.compat.gpu_tracker: Tracker as its users know it."""

import copy
import dataclasses
import json
import logging
import multiprocessing as mp
import os
import pickle
import re
import subprocess
import sys
import time

import hostlib
import pytest
import shapes
import toll
from example_module import example_function
from toll.compat import gpu_tracker as gput

psutil = hostlib.module("psutil")

RSS = {"total_rss": "float", "private_rss": "float", "shared_rss": "float"}
PERCENT = {
    "max_sum_percent": "float",
    "max_hardware_percent": "float",
    "mean_sum_percent": "float",
    "mean_hardware_percent": "float",
}
# What the tool's JSON looks like, the values replaced by their kinds.
TEMPLATE = {
    "max_ram": {
        "unit": "str",
        "system_capacity": "float",
        "system": "float",
        "main": RSS,
        "descendants": RSS,
        "combined": RSS,
    },
    "max_gpu_ram": {
        "unit": "str",
        "system_capacity": "float",
        "system": "float",
        "main": "float",
        "descendants": "float",
        "combined": "float",
    },
    "cpu_utilization": {
        "system_core_count": "int",
        "n_expected_cores": "int",
        "system": PERCENT,
        "main": PERCENT,
        "descendants": PERCENT,
        "combined": PERCENT,
        "main_n_threads": "int",
        "descendants_n_threads": "int",
        "combined_n_threads": "int",
    },
    "gpu_utilization": {"system_gpu_count": "int", "n_expected_gpus": "int", "gpu_percentages": PERCENT},
    "compute_time": {"unit": "str", "time": "float"},
}
WORDS = {"ram": "RAM", "gpu": "GPU", "gpus": "GPUs", "cpu": "CPU", "rss": "RSS", "n": "number of"}


def label(key):
    """As the text has it: max_gpu_ram is "Max GPU RAM", main_n_threads "Main number of threads"."""
    words = " ".join(WORDS.get(word, word) for word in key.split("_"))
    return words[0].upper() + words[1:]


def as_text(document, depth=0):
    """The text of a document, worked out anew."""
    lines = []
    for key, value in document.items():
        head = "   " * depth + label(key) + ":"
        if isinstance(value, dict):
            lines += [head, *as_text(value, depth + 1)]
        else:
            shown = float(f"{value:.3f}") if isinstance(value, float) else value
            lines.append(f"{head} {shown}")
    return lines


@pytest.fixture(scope="module")
def tracker():
    with gput.Tracker(
        ram_unit="megabytes", gpu_ram_unit="megabytes", time_unit="seconds", sleep_time=0.1
    ) as tracker:
        example_function()
    return tracker


def test_json(tracker):
    document = tracker.to_json()
    assert shapes.same_order(shapes.kind(document), TEMPLATE)
    assert document == json.loads(json.dumps(document))
    assert document["max_ram"]["unit"] == "megabytes"
    assert document["max_ram"]["main"]["total_rss"] > 30
    assert document["compute_time"]["time"] >= 0.25
    total = psutil.virtual_memory().total / 1e6
    assert document["max_ram"]["system_capacity"] == pytest.approx(total)
    assert document["cpu_utilization"]["system_core_count"] == psutil.cpu_count()


def test_text(tracker):
    assert str(tracker).splitlines() == as_text(tracker.to_json())
    assert not str(tracker).endswith("\n")


def test_data_classes(tracker):
    usage, document = tracker.resource_usage, tracker.to_json()
    assert usage.max_ram.main.total_rss == document["max_ram"]["main"]["total_rss"]
    assert usage.compute_time.unit == "seconds"
    assert repr(usage.max_ram).startswith("MaxRAM(unit='megabytes', system_capacity=")
    assert ", main=RSSValues(total_rss=" in repr(usage.max_ram)
    assert re.match(r"MaxGPURAM\(unit='megabytes', system_capacity=\S+, system=", repr(usage.max_gpu_ram))
    assert re.match(r"ComputeTime\(unit='seconds', time=\S+\)$", repr(usage.compute_time))
    assert type(usage.cpu_utilization.main) is type(usage.gpu_utilization.gpu_percentages)
    for name in ("ResourceUsage", "CPUUtilization", "GPUUtilization", "ProcessingUnitPercentages"):
        assert getattr(gput, name).__module__ == "toll.compat.gpu_tracker.tracker"
    assert pickle.loads(pickle.dumps(usage)) == usage
    assert copy.deepcopy(usage) == usage


def test_start_and_stop():
    tracker = gput.Tracker(n_expected_cores=1, sleep_time=0.1)
    assert tracker.state is gput.Tracker.State.NEW and tracker.resource_usage is None
    assert repr(tracker) == "State: NEW"
    tracker.start()
    assert repr(tracker) == "State: STARTED"
    example_function(0.1)
    tracker.stop()
    assert repr(tracker) == "State: STOPPED"
    usage = tracker.resource_usage
    assert (usage.max_ram.unit, usage.compute_time.unit) == ("gigabytes", "hours")
    cpu = usage.cpu_utilization
    assert cpu.n_expected_cores == 1
    assert cpu.main.max_hardware_percent == cpu.main.max_sum_percent
    cores = psutil.cpu_count()
    assert cpu.system.max_hardware_percent == pytest.approx(cpu.system.max_sum_percent / cores)


def test_states():
    tracker = gput.Tracker()
    with pytest.raises(RuntimeError, match="Cannot stop tracking when tracking has not started yet"):
        tracker.stop()
    with pytest.raises(RuntimeError, match="not started"):
        tracker.to_json()
    tracker.start()
    with pytest.raises(RuntimeError, match="Cannot start tracking when tracking has already started"):
        tracker.start()
    assert tracker.to_json()["compute_time"]["time"] >= 0  # so far
    tracker.stop()
    with pytest.raises(RuntimeError, match="Cannot stop tracking when tracking has already stopped"):
        tracker.stop()
    with pytest.raises(RuntimeError, match="Cannot start tracking when tracking has already stopped"):
        tracker.start()


def test_code_that_fails(capsys):
    try:
        with gput.Tracker() as tracker:
            example_function(0.05)
            raise RuntimeError("AN ERROR")
    except RuntimeError as error:
        print(f"it failed: {error}")
    finally:
        print(tracker.resource_usage.max_gpu_ram.main)
    assert capsys.readouterr().out.startswith("it failed: AN ERROR\n")
    assert tracker.state is gput.Tracker.State.STOPPED


def test_a_child():
    context = mp.get_context(method="spawn")
    child = context.Process(target=example_function, args=(0.5,))
    with gput.Tracker(n_expected_cores=2, sleep_time=0.1, ram_unit="megabytes") as tracker:
        child.start()
        example_function(0.1)
        child.join()
    child.close()
    usage = tracker.resource_usage
    assert usage.max_ram.descendants.total_rss > 30
    assert usage.max_ram.combined.total_rss >= usage.max_ram.main.total_rss
    assert usage.cpu_utilization.descendants.mean_sum_percent > 0
    assert usage.cpu_utilization.descendants_n_threads >= 1


RAM_UNITS = {"bytes": 1, "kilobytes": 1e3, "megabytes": 1e6, "gigabytes": 1e9, "terabytes": 1e12}
TIME_UNITS = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400}


@pytest.mark.parametrize("ram_unit", RAM_UNITS)
@pytest.mark.parametrize("time_unit", TIME_UNITS)
def test_units(ram_unit, time_unit):
    gpu_unit = list(RAM_UNITS)[len(time_unit) % 5]
    with gput.Tracker(ram_unit=ram_unit, time_unit=time_unit, gpu_ram_unit=gpu_unit) as tracker:
        pass
    usage = tracker.resource_usage
    assert (usage.max_ram.unit, usage.max_gpu_ram.unit, usage.compute_time.unit) == (
        ram_unit,
        gpu_unit,
        time_unit,
    )
    total = psutil.virtual_memory().total / RAM_UNITS[ram_unit]
    assert usage.max_ram.system_capacity == pytest.approx(total)
    wall = tracker._track.summary.wall_seconds
    assert usage.compute_time.time == pytest.approx(wall / TIME_UNITS[time_unit], rel=1e-3)


def test_another_process():
    holder = "import time; b = bytearray(30 << 20); print(flush=True); time.sleep(60)"
    child = subprocess.Popen([sys.executable, "-c", holder], stdout=subprocess.PIPE)
    try:
        child.stdout.readline()
        with gput.Tracker(process_id=child.pid, sleep_time=0.1, ram_unit="bytes") as tracker:
            native = toll.snapshot(child.pid, memory="pss")
        memory = psutil.Process(child.pid).memory_full_info()
        main = tracker.resource_usage.max_ram.main
        assert main.total_rss == pytest.approx(native.memory_rss_bytes, rel=0.01)
        assert main.total_rss == pytest.approx(memory.rss, rel=0.01)
        assert main.private_rss == pytest.approx(memory.uss, rel=0.1)
        assert main.private_rss + main.shared_rss == pytest.approx(main.total_rss, rel=0.1)
        assert tracker.resource_usage.cpu_utilization.main_n_threads == 1
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


def test_no_such_process():
    gone = subprocess.Popen(["true"])
    gone.wait()
    said = f"The target process of ID {gone.pid} ended before tracking could begin."
    with pytest.raises(ProcessLookupError, match=said):
        gput.Tracker(process_id=gone.pid).start()


@pytest.mark.parametrize(
    "options, said",
    [
        (
            {"ram_unit": "MB"},
            '"MB" is not a valid RAM unit. Valid values are bytes, gigabytes, kilobytes, megabytes, terabytes$',
        ),
        ({"gpu_ram_unit": ""}, '"" is not a valid GPU RAM unit. Valid values are bytes, gigabytes'),
        (
            {"time_unit": "fortnights"},
            '"fortnights" is not a valid time unit. Valid values are days, hours, minutes, seconds$',
        ),
        ({"n_expected_cores": 0}, "n_expected_cores"),
        ({"sleep_time": 0.0}, "Sleep time of 0.0 is invalid. Must be at least 0.001 seconds.$"),
        (
            {"gpu_brand": "voodoo"},
            '"voodoo" is not a valid GPU brand. Supported values are "nvidia" and "amd".$',
        ),
        ({"tracking_file": "points.txt"}, 'Invalid file name: "points.txt"'),
    ],
)
def test_mistakes(options, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=said):
        gput.Tracker(**options)
    assert os.listdir(tmp_path) == []


def test_an_existing_file(tmp_path):
    path = tmp_path / "points.csv"
    path.write_text("mine\n")
    with pytest.raises(FileExistsError, match="already exists. Set overwrite to True"):
        gput.Tracker(tracking_file=str(path))
    assert path.read_text() == "mine\n"


def test_defaults_of_the_data_classes():
    """As in that tool: what was not told is 0, and each has its own parts."""
    assert gput.RSSValues() == gput.RSSValues(total_rss=0.0, private_rss=0.0, shared_rss=0.0)
    ram = gput.MaxRAM("gigabytes", 64.0)
    assert (ram.system, ram.main, ram.descendants, ram.combined) == (0.0, *[gput.RSSValues()] * 3)
    assert ram.main is not ram.descendants
    assert gput.MaxGPURAM("gigabytes", 2.0) == gput.MaxGPURAM("gigabytes", 2.0, 0.0, 0.0, 0.0, 0.0)
    assert set(vars(gput.ProcessingUnitPercentages()).values()) == {0.0}
    cpu = gput.CPUUtilization(system_core_count=4, n_expected_cores=2)
    assert cpu.combined == gput.ProcessingUnitPercentages() and cpu.combined_n_threads == 0
    gpu = gput.GPUUtilization(1, 1)
    assert gpu.gpu_percentages == gput.ProcessingUnitPercentages()
    assert gput.ComputeTime("hours").time == 0.0
    for wrong in (gput.MaxRAM, gput.CPUUtilization, gput.ComputeTime, gput.ResourceUsage):
        with pytest.raises(TypeError):
            wrong()


def test_submodules(tmp_path):
    """Where that tool has its names, and its command."""
    from toll.compat.gpu_tracker import __main__ as command
    from toll.compat.gpu_tracker import sub_tracker
    from toll.compat.gpu_tracker import tracker as module

    assert module.Tracker is gput.Tracker and gput.tracker is module
    assert module.RSSValues is gput.RSSValues
    for name in ("SubTracker", "sub_track", "SubTrackingAnalyzer", "TrackingComparison"):
        assert getattr(sub_tracker, name) is getattr(gput, name)
    assert callable(command.main)
    done = subprocess.run(
        [sys.executable, "-m", "toll.compat.gpu_tracker", "-e", "sh -c 'exit 3'", "-o", "r.txt"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 3
    assert done.stdout == "Resource tracking complete. Process completed with status code: 3\n"
    assert [path.name for path in tmp_path.iterdir()] == ["r.txt"]


def test_a_record_for_the_worst_case(tmp_path, monkeypatch):
    """A pickle of what was found so far, until the end; in the directory of the beginning."""
    monkeypatch.chdir(tmp_path)
    with gput.Tracker(resource_usage_file="usage", sleep_time=0.1, ram_unit="bytes") as tracker:
        os.chdir("/")
        for _ in range(1000):  # it is there before the first sample is
            with open(tmp_path / "usage", "rb") as file:
                found = pickle.load(file)
            if found.max_ram.system_capacity:
                break
            time.sleep(0.01)
        assert type(found) is gput.ResourceUsage and found.max_ram.unit == "bytes"
        assert found.max_ram.system_capacity == tracker.resource_usage.max_ram.system_capacity
    assert list(tmp_path.iterdir()) == []


def test_what_a_crash_leaves(tmp_path):
    """By default, too: the program is killed, and its file is read."""
    program = """
import os, signal
from toll.compat import gpu_tracker as gput
tracker = gput.Tracker(time_unit="seconds")
tracker.start()
print(tracker._resource_usage_file, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == -9, done.stderr
    (left,) = tmp_path.iterdir()
    assert left.name == done.stdout.strip()
    assert re.fullmatch(r"\.gpu-tracker_[0-9a-f-]{36}\.pkl", left.name)
    with open(left, "rb") as file:
        found = pickle.load(file)
    assert found == gput.read_pickle(left) and found.compute_time.unit == "seconds"
    assert shapes.same_order(shapes.kind(dataclasses.asdict(found)).keys(), TEMPLATE.keys())


def test_pickles_of_the_tool_are_read(tmp_path):
    """As it writes them of its own classes, in old releases with another spelling; no such module is
    needed, and nothing is run."""
    text = "cgpu_tracker.tracker\n{}\n)\x81}}("
    rss = text.format("RSSValues") + "X\t\0\0\0total_rssG?\xf8" + "\0" * 6
    rss += "X\x0b\0\0\0private_rssK\1X\n\0\0\0shared_rssK\0ub"
    ram = text.format("MaxRAM") + "X\4\0\0\0unitX\5\0\0\0bytesX\x0f\0\0\0system_capacityK\7"
    ram += "X\x0b\0\0\0descendents" + rss + "ub"
    rest = "".join(
        f"X{chr(len(key))}\0\0\0{key}" + text.format(name) + "".join(
            f"X{chr(len(field))}\0\0\0{field}K\1" for field in fields.split()
        ) + "ub"
        for key, name, fields in (
            ("max_gpu_ram", "MaxGPURAM", "unit system_capacity"),
            ("cpu_utilization", "CPUUtilization", "system_core_count n_expected_cores"),
            ("gpu_utilization", "GPUUtilization", "system_gpu_count n_expected_gpus"),
            ("compute_time", "ComputeTime", "unit time"),
        )
    )
    whole = "\x80\x04" + text.format("ResourceUsage") + "X\7\0\0\0max_ram" + ram + rest + "ub."
    path = tmp_path / "old.pkl"
    path.write_bytes(whole.encode("latin-1"))
    found = gput.read_pickle(path)
    assert found.max_ram.descendants == gput.RSSValues(1.5, 1, 0)
    assert found.max_ram.main == gput.RSSValues()  # was not told
    assert found.compute_time.time == 1
    path.write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(ValueError, match="not a file with results"):
        gput.read_pickle(path)
    path.write_bytes(pickle.dumps(os.getcwd))
    with pytest.raises(pickle.UnpicklingError, match="unsupported object posix.getcwd"):
        gput.read_pickle(path)
    path.write_bytes(b"\x80\x04.")
    with pytest.raises(ValueError, match="damaged"):
        gput.read_pickle(path)


def test_where_no_backup_can_be(tmp_path, monkeypatch):
    """Measuring goes on: nothing is said of a file that nobody asked for."""
    monkeypatch.setattr(os, "access", lambda *_: False)
    with gput.Tracker(sleep_time=0.1) as tracker:
        pass
    assert tracker._resource_usage_file is None and tracker.to_json()


def test_uuids_without_gpus(caplog):
    """A warning, as in that tool, whatever they are."""
    for uuids in ({"GPU-none"}, set()):
        caplog.clear()
        with gput.Tracker(gpu_uuids=uuids) as tracker:
            pass
        assert [record.levelname for record in caplog.records] == ["WARNING"]
        assert "no GPU was found" in caplog.text
        use = tracker.resource_usage.gpu_utilization
        assert (use.system_gpu_count, use.n_expected_gpus) == (0, 0)
        assert use.gpu_percentages == gput.ProcessingUnitPercentages()
    caplog.clear()
    gput.Tracker(gpu_uuids={"GPU-none"}, disable_logs=True)
    assert not caplog.records


def test_a_tracking_file_that_somebody_makes_meanwhile(tmp_path, caplog):
    """It is left alone; the rows are not lost, and the program goes on."""
    path = tmp_path / "points.sqlite"
    with gput.Tracker(tracking_file=str(path), disable_logs=True):
        path.write_text("mine")
    (beside,) = tmp_path.glob("points.sqlite.*.csv")
    assert path.read_text() == "mine" and beside.read_text().startswith("ram_unit,")
    assert "created by another process" in caplog.text and str(beside) in caplog.text


def test_notes_are_logged_or_not(caplog, monkeypatch):
    caplog.set_level(logging.WARNING)
    for quiet in (False, True):
        with gput.Tracker(disable_logs=quiet) as tracker:
            monkeypatch.setattr(
                type(tracker._track.summary), "notes", property(lambda s: ["not all is well"])
            )
        assert ("not all is well" in caplog.text) is not quiet
        caplog.clear()


def test_nothing_is_left_behind():
    kept = []

    def once():
        with gput.Tracker(sleep_time=0.1) as tracker:
            pass
        kept.append(tracker)  # the results stay

    assert shapes.left_behind(once) == [0, 0]
    assert kept[0].to_json()


def test_a_forked_child_leaves_it_alone():
    with gput.Tracker(sleep_time=0.1) as tracker:
        child = os.fork()
        if child == 0:
            tracker.__exit__()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    assert tracker.resource_usage.compute_time.time > 0
