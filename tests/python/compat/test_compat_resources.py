# SPDX-License-Identifier: MIT
"""toll.compat.resource_tracker: ResourceTracker."""

import json
import os
import statistics
import time

import pytest
import shapes
from shapes import job
from toll.compat._server import allocation
from toll.compat._statistics import DEFAULT_SPECS
from toll.compat.resource_tracker import ResourceTracker, StatSpec, TinyDataFrame
from work import burn


@pytest.fixture(scope="module")
def tracked():
    tracker = ResourceTracker(interval=0.1)
    block = bytearray(40 << 20)
    block[::4096] = b"x" * len(block[::4096])
    burn(0.6)
    tracker.stop()
    return tracker


def test_tables(tracked):
    process, system = tracked.process_metrics, tracked.system_metrics
    assert process.columns[:3] == ["timestamp", "pid", "children"]
    assert system.columns[:3] == ["timestamp", "processes", "utime"]
    assert len(process) == len(system) == tracked.n_samples >= 5
    assert process[0]["pid"] == os.getpid()
    assert 0.5 < sum(process["utime"]) + sum(process["stime"]) < 0.9
    both = tracked.get_combined_metrics()
    assert both["process_utime"] == process["utime"]
    assert both["system_memory_free_mib"] == system["memory_free_mib"]
    other = tracked.get_combined_metrics(system_prefix="S ", process_prefix="P ")
    assert {"timestamp", "S processes", "P pid"} <= set(other.columns)
    assert len(tracked.get_combined_metrics(offset=2)) == tracked.n_samples - 2


def test_tables_for_people(tracked):
    names = tracked.get_combined_metrics(human_names=True).columns
    assert {"Timestamp", "System CPU usage", "Process memory usage", "System disk space total"} <= set(
        names
    )
    mixed = tracked.get_combined_metrics(human_names=True, process_prefix="My ")
    assert {"My memory usage", "System used memory"} <= set(mixed.columns)
    plain, whole = tracked.get_combined_metrics(), tracked.get_combined_metrics(bytes=True)
    for name, factor in (("process_memory_mib", 1 << 20), ("system_disk_space_total_gb", 1e9)):
        assert whole[name][-1] == pytest.approx(plain[name][-1] * factor)
    for name in ("process_cpu_usage", "process_disk_read_bytes", "system_processes"):
        assert whole[name] == plain[name]


def test_the_newest_names():
    """They tell their units; statistics and the recommendation go by them."""
    with ResourceTracker(interval=0.1, columns="host-proc") as tracker:
        burn(0.2)
    table = tracker.get_combined_metrics()
    assert table.columns[:2] == ["timestamp", "host_cpu_all_stime_s_delta"] or "process_pid" in table.columns
    assert {"proc_memory_all_used_mib_gauge", "host_net_all_recv_bytes_delta"} <= set(table.columns)
    stats = tracker.stats()
    assert stats["proc_memory_all_used_mib_gauge"]["max"] > 5
    assert stats["proc_cpu_all_usage_core_gauge"]["mean"] > 0
    assert tracker.recommend_resources() == tracker.recommend_resources([stats])
    assert tracker.process_metrics.columns[:3] == ["timestamp", "pid", "children"]
    with pytest.raises(ValueError, match="'combined' or 'host-proc'"):
        ResourceTracker(columns="v1")


def test_the_specs_name_columns_that_there_are(tracked):
    columns = tracked.get_combined_metrics().columns
    assert {spec.column for spec in DEFAULT_SPECS} <= set(columns)


def test_statistics(tracked):
    stats = tracked.stats()
    wall = tracked.stop_time - tracked.start_time
    # stop() takes its time, too.
    assert stats["timestamp"]["duration"] == pytest.approx(wall, rel=0.1, abs=0.1)
    used = sum(tracked.process_metrics["utime"]) + sum(tracked.process_metrics["stime"])
    # A mean is the total over the time, whatever lengths the rows have.
    assert stats["process_cpu_usage"]["mean"] == pytest.approx(used / wall, rel=0.15)
    assert max(tracked.process_metrics["cpu_usage"]) < 1.1
    assert stats["process_memory_mib"]["max"] > 40
    for column in ("cpu_usage", "memory_mib"):
        shown = max(tracked.process_metrics[column])
        assert stats[f"process_{column}"]["max"] == round(shown, 2)
    assert stats["process_gpu_vram_mib"]["max"] in (0, None) or stats["process_gpu_vram_mib"]["max"] > 0
    only = tracked.stats([StatSpec("system_processes", max)])
    assert list(only) == ["system_processes"] and list(only["system_processes"]) == ["max"]


def test_statistics_are_of_all_rows():
    """Of a last row that is a moment long, too."""
    now, interval = time.time(), 0.1
    rows = [{"timestamp": now + interval, "memory_mib": 10.0}]
    rows.append({"timestamp": now + interval + 0.001, "memory_mib": 90.0})
    facts = {"pid": 1, "children": True, "interval": interval, "method": None}
    facts.update(discover_server=False, discover_cloud=False, track_processes=True)
    facts.update(track_system=False, start_time=now, stop_time=now + interval)
    kept = {"metadata": facts, "server_info": None, "cloud_info": None, "system_metrics": []}
    tracker = ResourceTracker.from_snapshot({**kept, "process_metrics": rows})
    specs = [StatSpec("process_memory_mib", agg) for agg in (statistics.mean, min, max)]
    found = tracker.stats(specs)["process_memory_mib"]
    assert (found["min"], found["max"]) == (10, 90)
    assert 10 < found["mean"] < 12


def test_recommendation(tracked):
    found = tracked.recommend_resources()
    assert list(found) == ["cpu", "memory", "gpu", "vram"]
    assert found["cpu"] == 1
    assert found["memory"] in (128, 256, 512)
    larger = tracked.stats()
    larger["process_cpu_usage"]["mean"] = 7.0
    larger["process_memory_mib"]["max"] = 5000.0
    again = tracked.recommend_resources(historical_stats=[larger])
    assert again["cpu"] == 4
    assert again["memory"] == 6144


def test_kept_and_loaded(tracked, tmp_path):
    path = tmp_path / "kept.json.gz"
    tracked.dump(str(path))
    loaded = ResourceTracker.load(str(path))
    assert loaded.stats() == tracked.stats()
    assert loaded.process_metrics.to_dict() == tracked.process_metrics.to_dict()
    assert json.loads(tracked.dumps())["metadata"]["pid"] == os.getpid()
    loaded.stop()  # was stopped then: nothing to do
    assert tracked.report().save(str(tmp_path / "report.html")).startswith("<")
    assert tracked.server_info["vcpus"] == os.cpu_count()
    assert tracked.server_info["allocation"] in ("dedicated", "shared")
    assert set(tracked.cloud_info) == {"vendor", "instance_type", "region", "discovery_time"}


def test_only_one_of_both():
    with ResourceTracker(interval=0.1, track_system=False) as tracker:
        burn(0.05)
    assert len(tracker.system_metrics) == 0 < len(tracker.process_metrics)
    with ResourceTracker(interval=0.1, track_processes=False) as tracker:
        burn(0.05)
    assert len(tracker.process_metrics) == 0 < len(tracker.system_metrics)


def test_life():
    tracker = ResourceTracker(autostart=False, interval=0.1)
    with pytest.raises(RuntimeError, match="not started"):
        tracker.stop()
    with pytest.raises(RuntimeError, match="No metrics"):
        tracker.stats()
    tracker.start()
    with pytest.raises(RuntimeError, match="started before"):
        tracker.start()
    tracker.stop()
    tracker.stop()
    assert tracker.n_samples >= 1
    with pytest.raises(NotImplementedError, match="a service on the network.*'cpu': 1"):
        tracker.recommend_server()
    gone = job("")
    gone.wait()
    with pytest.raises(ProcessLookupError):
        ResourceTracker(pid=gone.pid)


def test_started_by_itself_and_by_the_program():
    """Earlier releases begin when they are made, later ones when they are told to."""
    tracker = ResourceTracker(interval=0.1)
    assert tracker.running
    tracker.start()
    with pytest.raises(RuntimeError, match="started before"):
        tracker.start()
    tracker.wait_for_samples(2, timeout=60)
    assert tracker.n_samples >= 2
    tracker.cleanup()
    tracker.cleanup()
    assert not tracker.running
    with pytest.raises(RuntimeError, match="no more will come"):
        tracker.wait_for_samples(10_000)
    asked = ResourceTracker(autostart=True, interval=0.1)
    with pytest.raises(RuntimeError, match="started before"):
        asked.start()
    asked.stop()
    with ResourceTracker(interval=60) as slow:
        with pytest.raises(RuntimeError, match="0 of 1 samples after 0.05 s"):
            slow.wait_for_samples(timeout=0.05)


def test_whether_others_use_the_machine():
    def tables(own, whole):
        names = ("cpu_usage", "memory_mib", "gpu_usage", "gpu_vram_mib")
        system = dict(zip(("cpu_usage", "memory_used_mib", *names[2:]), whole))
        return TinyDataFrame([dict(zip(names, own))]), TinyDataFrame([system])

    quiet = (1.0, 1000.0, 0, 0)
    assert allocation(*tables(quiet, (1.2, 1400.0, 0, 0))) == "dedicated"
    assert allocation(*tables(quiet, (1.3, 1400.0, 0, 0))) == "shared"
    assert allocation(*tables(quiet, (1.2, 1600.0, 0, 0))) == "shared"
    assert allocation(*tables((1.0, None, None, None), (1.0, 9e9, 1, 9e9))) == "dedicated"
    assert allocation(TinyDataFrame([]), TinyDataFrame([])) is None


def test_nothing_is_left_behind():
    def once():
        tracker = ResourceTracker(interval=0.05)
        tracker.stop()

    assert shapes.left_behind(once) == [0, 0]


def test_a_forked_child_leaves_it_alone():
    with ResourceTracker(interval=0.05) as tracker:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                tracker.__exit__()
                code = 0
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
    assert tracker.n_samples >= 1
