# SPDX-License-Identifier: MIT
"""toll.compat.gpu_tracker: Tracker as its users know it."""

import copy
import json
import logging
import multiprocessing as mp
import os
import pickle
import re
import subprocess
import sys

import psutil
import pytest
import shapes
import toll
from example_module import example_function
from toll.compat import gpu_tracker as gput

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
        assert getattr(gput, name).__module__ == "toll.compat.gpu_tracker"
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
    with pytest.raises(ProcessLookupError):
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
        ({"sleep_time": 0}, "interval is 0"),
        ({"gpu_uuids": set()}, "gpu_uuids is an empty set"),
        ({"gpu_brand": "voodoo"}, '"voodoo" is not a valid GPU brand'),
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


def test_a_record_for_the_worst_case(tmp_path):
    path = tmp_path / "usage"
    with gput.Tracker(resource_usage_file=str(path), sleep_time=0.1):
        assert path.exists()
    assert not path.exists()


def test_a_tracking_file_that_somebody_makes_meanwhile(tmp_path, caplog):
    """It is left alone; the rows are not lost, and the program goes on."""
    path = tmp_path / "points.sqlite"
    with gput.Tracker(tracking_file=str(path), disable_logs=True):
        path.write_text("mine")
    (beside,) = tmp_path.glob("points.sqlite.*.csv")
    assert path.read_text() == "mine" and beside.read_text().startswith("ram_unit,")
    assert "made by somebody else" in caplog.text and str(beside) in caplog.text


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
