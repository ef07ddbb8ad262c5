# SPDX-License-Identifier: MIT
"""toll.compat.resource_tracker: ResourceTracker."""

import html.parser
import json
import os
import statistics
import time

import pytest
import shapes
from shapes import job
from toll.compat._server import allocation
from toll.compat._statistics import DEFAULT_SPECS
from toll.compat.resource_tracker import ResourceTracker, StatSpec, TinyDataFrame, use_release
from toll.compat.resource_tracker.sentinel_api import RunStatus
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
    column = "proc_memory_all_used_mib_gauge"
    with ResourceTracker(interval=0.1, columns="host-proc") as tracker:
        burn(0.2)
        until = time.monotonic() + 60  # a busy machine reads PSS later
        while not any(tracker.get_combined_metrics()[column]) and time.monotonic() < until:
            burn(0.1)
    table = tracker.get_combined_metrics()
    host = [name for name in table.columns if name.startswith("host_")]
    proc = [name for name in table.columns if name.startswith("proc_")]
    assert table.columns == ["timestamp", *sorted(host), *sorted(proc)]
    assert (len(host), len(proc)) == (20, 10)
    assert {"proc_memory_all_used_mib_gauge", "host_net_all_recv_bytes_delta"} <= set(table.columns)
    whole = tracker.get_combined_metrics(bytes=True)[column]
    assert whole == [mib and pytest.approx(mib * (1 << 20)) for mib in table[column]] and any(whole)
    assert "Process PID" not in tracker.get_combined_metrics(human_names=True).columns
    stats = tracker.stats()
    assert stats[column]["max"] > 5
    assert stats["proc_cpu_all_usage_core_gauge"]["mean"] > 0
    assert tracker.recommend_resources() == tracker.recommend_resources([stats])
    assert tracker.process_metrics.columns == shapes.PROCESS_COLUMNS["0.5"]


def test_the_names_of_0_4():
    """kB, and statistics, allocation and the recommendation in the same units."""
    with ResourceTracker(interval=0.1, columns="0.4") as tracker:
        block = bytearray(b"x") * (300 << 20)
        burn(0.2)
        del block
    assert tracker.process_metrics.columns == shapes.PROCESS_COLUMNS["0.4"]
    assert tracker.system_metrics.columns == shapes.SYSTEM_COLUMNS["0.4"]
    assert tracker.pid_tracker.to_dict() == tracker.process_metrics.to_dict()
    assert tracker.system_tracker.to_dict() == tracker.system_metrics.to_dict()
    table = tracker.get_combined_metrics()
    assert table.columns == [
        "timestamp",
        *(f"system_{name}" for name in shapes.SYSTEM_COLUMNS["0.4"][1:]),
        *(f"process_{name}" for name in shapes.PROCESS_COLUMNS["0.4"][1:]),
    ]
    stats = tracker.stats()
    assert 300 << 10 < stats["process_memory"]["max"] < 500 << 10
    assert 360 < 1.2 * stats["process_memory"]["max"] / 1024
    assert tracker.recommend_resources()["memory"] == 512
    in_bytes = tracker.get_combined_metrics(bytes=True)["process_memory"]
    assert in_bytes == pytest.approx([1024 * value for value in table["process_memory"]])
    names = tracker.get_combined_metrics(human_names=True).columns
    assert {"Process memory usage", "Process disk read", "System used memory", "Process PID"} <= set(names)
    assert {"memory_mb", "gpu_memory_mb", "allocation"} <= set(tracker.server_info)
    again = ResourceTracker.loads(tracker.dumps())
    assert again.stats() == stats
    assert again.recommend_resources() == tracker.recommend_resources()
    with pytest.raises(ValueError, match="release 0.1 has no ResourceTracker"):
        ResourceTracker(columns="v1")


def test_whole_numbers(tracked):
    whole = {"pid", "children", "processes", "disk_read_bytes", "disk_write_bytes"}
    whole |= {"net_recv_bytes", "net_sent_bytes", "gpu_utilized"}
    for table in (tracked.process_metrics, tracked.system_metrics):
        for name in whole & set(table.columns):
            assert {type(value) for value in table[name]} == {int}, name
    assert '"pid": ' + str(os.getpid()) in tracked.dumps()


def test_a_release_for_all():
    try:
        use_release("0.5")
        tracker = ResourceTracker(interval=0.1)
        assert not tracker.running and not tracker.autostart
        tracker.start()
        with pytest.raises(RuntimeError):
            tracker.start()
        tracker.stop()
        with pytest.raises(RuntimeError):
            tracker.start()
        use_release("0.4")
        tracker = ResourceTracker(interval=0.1)
        assert tracker.running and tracker.autostart
        tracker.stop()
        assert "memory" in tracker.process_metrics.columns
        use_release("0.6")
        with ResourceTracker(interval=0.1) as tracker:
            burn(0.02)
        assert "proc_cpu_all_usage_core_gauge" in tracker.stats()
        use_release("0.1")
        with pytest.raises(ValueError, match="release 0.1 has no ResourceTracker"):
            ResourceTracker()
    finally:
        use_release(None)


class Page(html.parser.HTMLParser):
    """Tags that are open, what was seen, and whether anything comes from elsewhere."""

    ALONE = {"meta", "br", "line"}

    def __init__(self, text):
        super().__init__()
        self.open, self.lines, self.links = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        self.links += [named[key] for key in ("src", "href") if key in named]
        if tag == "polyline":
            self.lines.append(named["points"])
        if tag not in self.ALONE and tag != "polyline":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in self.ALONE and tag != "polyline":
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_report(tmp_path):
    """A page that needs nothing else, with the figures of the tables as lines."""
    tracker = ResourceTracker(interval=0.05)
    burn(0.2)
    tracker.wait_for_samples(4, timeout=60)
    assert "Pending" in tracker.report()
    tracker.stop()
    text = tracker.report(integration="a & b", integration_version="1.0")
    for word in ("Process CPU usage", "System CPU usage", "Process memory usage", "Finished", "a &amp; b 1.0"):
        assert word in text
    page = Page(text)
    assert (page.open, page.links) == ([], [])
    assert "http" not in text and "<script" not in text
    assert len(page.lines) >= 6
    # The highest point of the first line is the largest value of its chart.
    table = tracker.get_combined_metrics()
    process, system = (
        max(value for value in table[f"{part}_cpu_usage"] if value is not None)
        for part in ("process", "system")
    )
    heights = [float(place.split(",")[1]) for place in page.lines[0].split()]
    assert len(heights) == tracker.n_samples
    assert min(heights) == pytest.approx(180 - process / max(process, system) * 160, abs=0.1)
    assert "Failed" in tracker.report(status_failed=True)
    assert tracker.report().save(str(tmp_path / "report.html")) == (tmp_path / "report.html").read_text()
    # One that was loaded has one, too.
    assert "Process CPU usage" in ResourceTracker.loads(tracker.dumps()).report()
    with_others = tracker.report(historical_stats=[tracker.stats()] * 2)
    assert "with 2 earlier runs" in with_others
    none = ResourceTracker(autostart=False)
    with pytest.raises(RuntimeError):
        none.report()


def test_what_is_not_known_is_a_gap_in_the_report():
    now = time.time()
    rows = [
        {"timestamp": now + number, "pid": 1, "memory_mib": None if number == 3 else 10.0 * number}
        for number in range(1, 6)
    ]
    facts = {"pid": 1, "children": True, "interval": 1, "method": None, "track_processes": True}
    facts.update(track_system=False, start_time=now, stop_time=now + 5)
    facts.update(discover_server=False, discover_cloud=False)
    kept = {"metadata": facts, "server_info": None, "cloud_info": None, "system_metrics": []}
    tracker = ResourceTracker.from_snapshot({**kept, "process_metrics": rows})
    lines = Page(tracker.report()).lines
    assert [len(line.split()) for line in lines] == [2, 2]
    assert "?" in tracker.report()  # of the CPU nothing is known


@pytest.mark.parametrize("way", ["argument", "variable"])
def test_nothing_is_streamed_to_sentinel(way, monkeypatch, caplog):
    """The arguments are taken; there is a warning, and the rest goes on."""
    options = {"upload_interval": 9999, "streaming_metadata": {"project_name": "p"}}
    monkeypatch.delenv("SENTINEL_API_TOKEN", raising=False)
    with ResourceTracker(interval=0.1, **options) as tracker:
        burn(0.02)
    assert tracker.sentinel_result is None and "Sentinel" not in caplog.text
    if way == "variable":
        monkeypatch.setenv("SENTINEL_API_TOKEN", "secret-token")
    else:
        options["sentinel_token"] = "secret-token"
    tracker = ResourceTracker(interval=0.1, autostart=True, **options)
    burn(0.02)
    tracker.stop(exit_code=1, run_status="failed")
    assert "Nothing is sent to Sentinel" in caplog.text
    assert "secret-token" not in caplog.text + tracker.dumps() + tracker.report()
    assert tracker.sentinel_result is None and len(tracker.process_metrics) > 0


def test_outputs_stream(tmp_path):
    path = tmp_path / "run.jsonl"
    with ResourceTracker(interval=0.1, outputs=str(path), streaming_metadata={"team": "blue"}) as tracker:
        tracker.wait_for_samples(2, timeout=60)
        assert path.read_text().count('"type":"sample"') >= 2
    run = json.loads(path.read_text().splitlines()[0])
    assert run["labels"] == {"team": "blue"}


@pytest.mark.parametrize(
    "given, word",
    [
        ({}, "Finished"),
        ({"exit_code": 0, "run_status": "finished"}, "Finished"),
        ({"exit_code": 3}, "Failed"),
        ({"exit_code": 1, "run_status": RunStatus.failed}, "Failed"),
    ],
)
def test_how_it_ended(given, word):
    tracker = ResourceTracker(interval=0.1)
    tracker.stop(**given)
    assert word in tracker.report()


def test_a_block_that_raises():
    with pytest.raises(KeyError), ResourceTracker(interval=0.1) as tracker:
        raise KeyError
    assert "Failed" in tracker.report()
    assert not tracker.running


def test_the_specs_name_columns_that_there_are(tracked):
    columns = tracked.get_combined_metrics().columns
    assert {spec.column for spec in DEFAULT_SPECS} <= set(columns)


def test_statistics(tracked):
    stats = tracked.stats()
    wall = tracked.stop_time - tracked.start_time
    # The first and the last row are inside of start() and stop(), which wait for a CPU on a busy machine.
    duration = stats["timestamp"]["duration"]
    assert wall / 2 < duration < wall + 0.1
    used = sum(tracked.process_metrics["utime"]) + sum(tracked.process_metrics["stime"])
    # A mean is the total over the time, whatever lengths the rows have.
    assert stats["process_cpu_usage"]["mean"] == pytest.approx(used / duration, rel=0.2)
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
    with pytest.raises(RuntimeError, match="already started"):
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
    with pytest.raises(RuntimeError, match="already started"):
        tracker.start()
    tracker.wait_for_samples(2, timeout=60)
    assert tracker.n_samples >= 2
    tracker.cleanup()
    tracker.cleanup()
    assert not tracker.running
    with pytest.raises(RuntimeError, match="no more will come"):
        tracker.wait_for_samples(10_000)
    asked = ResourceTracker(autostart=True, interval=0.1)
    with pytest.raises(RuntimeError, match="already started"):
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
