# SPDX-License-Identifier: MIT
"""toll.compat.resource_tracker: its users' programs, with another import."""

import csv
import io
import json
import os
import signal
import statistics
import subprocess
import sys
import time

import psutil
import pytest
import shapes
import toll
from toll.compat import resource_tracker
from toll.compat.resource_tracker import (
    PidTracker,
    ProcessTracker,
    ResourceTracker,
    StatSpec,
    SystemTracker,
    TinyDataFrame,
)
from work import burn

PROCESS_HEADING = (
    '"timestamp","pid","children","utime","stime","cpu_usage","pss","read_bytes","write_bytes",'
    '"gpu_usage","gpu_vram","gpu_utilized"\r\n'
)
SYSTEM_HEADING = (
    '"timestamp","processes","utime","stime","cpu_usage","memory_free","memory_used",'
    '"memory_buffers","memory_cached","memory_active_anon","memory_inactive_anon",'
    '"disk_read_bytes","disk_write_bytes","disk_space_total_gb","disk_space_used_gb",'
    '"disk_space_free_gb","net_recv_bytes","net_sent_bytes","gpu_usage","gpu_vram",'
    '"gpu_utilized"\r\n'
)
TICKS = os.sysconf("SC_CLK_TCK")
# So much CPU time, and at least so much time.
BUSY = (
    "import time\nend = time.monotonic() + {0}\n"
    "while time.process_time() < {0} or time.monotonic() < end: pass"
)


def job(script, *args, **kwargs):
    return subprocess.Popen([sys.executable, "-c", script, *args], **kwargs)


@pytest.fixture(scope="module")
def of_a_busy_job(tmp_path_factory):
    """The rows of a job that is busy for some intervals, and what it used as wait4 says."""
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    process = job(BUSY.format(0.8))
    # Nobody reaps it before the tracker has seen its end.
    tracker = PidTracker(pid=process.pid, interval=0.2, output_file=str(path))
    _, _, used = os.wait4(process.pid, 0)
    process.returncode = 0
    return tracker, path.read_bytes().decode(), used


def rows_of(text):
    reader = csv.DictReader(io.StringIO(text, newline=""), quoting=csv.QUOTE_NONNUMERIC)
    return list(reader)


def test_rows_of_a_process(of_a_busy_job):
    tracker, text, used = of_a_busy_job
    assert tracker.status == "exited"
    assert text.startswith(PROCESS_HEADING)
    rows = rows_of(text)
    assert len(rows) >= 4
    assert tracker.cycle == len(rows)
    assert {row["pid"] for row in rows} == {tracker.pid}
    times = [row["timestamp"] for row in rows]
    assert times == sorted(times)
    # The command began before the tracker looked: it is the rest that is counted.
    ticks = sum(row["utime"] + row["stime"] for row in rows)
    assert 0.5 * TICKS < ticks <= (used.ru_utime + used.ru_stime) * TICKS + 1
    busy = [row["cpu_usage"] for row in rows[:-1]]
    assert 0 < max(busy) < 1.1


def test_integers_are_bare_and_text_is_quoted(of_a_busy_job):
    _, text, _ = of_a_busy_job
    for line in text.splitlines()[1:]:
        cells = line.split(",")
        assert [cell for cell in cells[1:5] if cell.strip('"') and not cell.isdigit()] == []
        assert "." in cells[0]


@pytest.mark.parametrize("tracker", [PidTracker, ProcessTracker, ResourceTracker])
def test_a_process_that_is_not_there(tracker):
    process = job("")
    process.wait()
    for start in (True, False):
        if start or tracker is not ResourceTracker:
            with pytest.raises(ProcessLookupError, match=f"no process {process.pid}"):
                tracker(pid=process.pid, interval=0.1, autostart=start)


def test_a_process_that_ends_before_it_is_tracked(tmp_path):
    process = job("input()", stdin=subprocess.PIPE)
    tracker = PidTracker(pid=process.pid, interval=0.1, autostart=False)
    process.communicate(b"\n")
    path = tmp_path / "rows.csv"
    tracker.start_tracking(output_file=str(path))
    assert tracker.status == "exited"
    assert path.read_bytes() == b""
    assert set(tracker.diff_stats().values()) == {None}


def test_children_count_or_not(tmp_path):
    script = (
        "import subprocess, sys\n"
        f"subprocess.run([sys.executable, '-c', {BUSY.format(0.4)!r}])\n"
    )
    used = {}
    for children in (True, False):
        path = tmp_path / f"{children}.csv"
        process = job(script)
        PidTracker(pid=process.pid, interval=0.1, children=children, output_file=str(path))
        process.wait()
        used[children] = sum(row["utime"] + row["stime"] for row in rows_of(path.read_text()))
    assert used[True] > 0.25 * TICKS
    assert used[False] < used[True] / 2


def test_one_row_at_a_time():
    tracker = PidTracker(autostart=False)
    assert (tracker.status, tracker.cycle, tracker.pid) == ("running", 0, os.getpid())
    burn(0.3)
    row = tracker.diff_stats()
    assert tracker.cycle == 1
    assert 0.25 * TICKS <= row["utime"] + row["stime"] <= 0.5 * TICKS
    assert 0 < row["cpu_usage"] < 1.2
    memory = psutil.Process().memory_full_info()
    assert memory.uss * 0.9 < row["pss"] * 1024 < memory.rss * 1.1
    assert tracker() is None
    assert tracker.diff_stats()["utime"] <= 0.05 * TICKS
    assert ",".join(f'"{name}"' for name in row) + "\r\n" == PROCESS_HEADING


def test_the_machine_one_row_at_a_time():
    tracker = SystemTracker(autostart=False)
    before = psutil.cpu_times()
    burn(0.2)
    row = tracker.diff_stats()
    after = psutil.cpu_times()
    assert ",".join(f'"{name}"' for name in row) + "\r\n" == SYSTEM_HEADING
    busy = (after.user + after.nice - before.user - before.nice) * TICKS
    assert row["utime"] == pytest.approx(busy, abs=0.15 * TICKS)
    memory = psutil.virtual_memory()
    assert row["memory_free"] * 1024 == pytest.approx(memory.free, rel=0.2)
    assert row["memory_buffers"] * 1024 == pytest.approx(memory.buffers, rel=0.2, abs=1 << 20)
    assert row["disk_space_total_gb"] >= row["disk_space_free_gb"]


def test_the_machine_until_it_is_interrupted(python):
    """To standard output, and Ctrl-C is heard."""
    said = python(
        """
import os, signal, threading
from toll.compat.resource_tracker import SystemTracker
threading.Timer(0.7, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    SystemTracker(interval=0.2)
except KeyboardInterrupt:
    pass
"""
    )
    assert said.startswith(SYSTEM_HEADING.replace("\r\n", "\n"))
    assert len(said.splitlines()) >= 3


def test_standard_output_may_be_replaced(capsys):
    process = job(BUSY.format(0.3))
    tracker = PidTracker(pid=process.pid, interval=0.1, autostart=False)
    tracker.start_tracking(print_header=False)
    process.wait()
    said = capsys.readouterr().out
    assert "timestamp" not in said
    assert said.count("\r\n") >= 2


def test_later_columns(tmp_path):
    path = tmp_path / "rows.csv"
    process = job(BUSY.format(0.3))
    ProcessTracker(pid=process.pid, interval=0.1, output_file=str(path))
    process.wait()
    rows = rows_of(path.read_text())
    assert {"memory_mib", "gpu_vram_mib", "disk_read_bytes"} <= set(rows[0])
    assert 0.1 < sum(row["utime"] + row["stime"] for row in rows) < 1


def test_a_file_that_cannot_be_made():
    with pytest.raises(FileNotFoundError, match="/nowhere/rows.csv"):
        PidTracker(interval=0.1, output_file="/nowhere/rows.csv")


def test_a_bad_interval():
    with pytest.raises(ValueError, match="interval"):
        ResourceTracker(interval=0)


# ---- ResourceTracker -----------------------------------------------------------------------------


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


def test_the_specs_name_columns_that_there_are(tracked):
    columns = tracked.get_combined_metrics().columns
    assert {spec.column for spec in resource_tracker.ResourceTracker.stats.__defaults__[0]} <= set(columns)


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
    gone = job("")
    gone.wait()
    with pytest.raises(ProcessLookupError):
        ResourceTracker(pid=gone.pid)


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


def test_values_agree_with_the_native_ones():
    """A process that holds steady: the same figures, in other units."""
    process = job("import time; b = bytearray(50 << 20); time.sleep(30)")
    try:
        time.sleep(0.3)
        row = PidTracker(pid=process.pid, autostart=False).diff_stats()
        native = toll.snapshot(process.pid, children=True, memory="pss")
        theirs = psutil.Process(process.pid).memory_full_info()
        # Other programs that share pages come and go: PSS is not quite still.
        assert row["pss"] * 1024 == pytest.approx(native.memory_pss_bytes, rel=0.1)
        assert row["pss"] * 1024 == pytest.approx(theirs.pss, rel=0.1)
        assert row["children"] == 0
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


# ---- Looks ---------------------------------------------------------------------------------------


def test_a_look_at_a_process():
    script = "import time; b = bytearray(50 << 20); c = sum(range(3_000_000)); print(flush=True)"
    process = job(f"{script}; time.sleep(60)", stdout=subprocess.PIPE)
    try:
        process.stdout.readline()
        theirs = psutil.Process(process.pid)
        memory, times = theirs.memory_full_info(), theirs.cpu_times()
        stats = resource_tracker.get_pid_stats(process.pid)
        names = PROCESS_HEADING.strip().replace('"', "").split(",")
        assert [*stats] == [name for name in names if name != "cpu_usage"]
        assert (stats["pid"], stats["children"]) == (process.pid, 0)
        assert stats["timestamp"] == pytest.approx(time.time(), abs=10)
        assert stats["utime"] == pytest.approx(times.user * TICKS, abs=2)
        assert stats["stime"] == pytest.approx(times.system * TICKS, abs=2)
        assert resource_tracker.get_pid_rss(process.pid) * 1024 == pytest.approx(memory.rss, rel=0.01)
        pss = resource_tracker.get_pid_pss_rollup(process.pid)
        assert pss * 1024 == pytest.approx(memory.pss, rel=0.1)
        assert stats["pss"] == pytest.approx(pss, rel=0.1)
        io = theirs.io_counters()
        assert resource_tracker.get_pid_proc_io(process.pid) == {
            "read_bytes": io.read_bytes,
            "write_bytes": io.write_bytes,
        }
        assert process.pid in resource_tracker.get_pid_children(os.getpid())
        assert resource_tracker.get_pid_stats(os.getpid(), children=False)["children"] is None
    finally:
        process.kill()
        process.communicate()


def test_a_look_at_a_process_that_is_not_there():
    process = job("")
    process.wait()
    stats = resource_tracker.get_pid_stats(process.pid)
    assert (stats.pop("pid"), stats.pop("timestamp") > 0) == (process.pid, True)
    assert set(stats.values()) == {0}
    assert resource_tracker.get_pid_children(process.pid) == set()
    assert resource_tracker.get_pid_rss(process.pid) == 0
    assert resource_tracker.get_pid_pss_rollup(process.pid) == 0
    assert resource_tracker.get_pid_proc_io(process.pid) == {"read_bytes": 0, "write_bytes": 0}


def test_a_look_at_the_machine():
    stats = resource_tracker.get_system_stats()
    times = psutil.cpu_times()
    assert stats["utime"] == pytest.approx((times.user + times.nice) * TICKS, abs=5 * TICKS)
    disks = psutil.disk_io_counters(perdisk=True)
    for name, disk in stats["disk_stats"].items():
        assert not resource_tracker.is_partition(name)
        assert disk["read_sectors"] * 512 <= disks[name].read_bytes + (64 << 20)
    for space in stats["disk_spaces"].values():
        assert space["total"] == space["used"] + space["free"]
    assert not any(name.startswith(("/proc", "/sys", "/dev")) for name in stats["disk_spaces"])


# ---- The small table -----------------------------------------------------------------------------


def test_a_small_table(tmp_path):
    table = TinyDataFrame({"a": [1, 2, 3], "b": ["x", "y", "z"]})
    assert (len(table), table.columns, table["a"], table[1]) == (
        3,
        ["a", "b"],
        [1, 2, 3],
        {"a": 2, "b": "y"},
    )
    assert table[1:][["b"]].to_dict() == [{"b": "y"}, {"b": "z"}]
    assert (len(table.head(2)), table.tail(1)[0]) == (2, {"a": 3, "b": "z"})
    assert table.to_csv() == '"a","b"\r\n1,"x"\r\n2,"y"\r\n3,"z"\r\n'
    table.to_csv(str(tmp_path / "t.csv"))
    assert TinyDataFrame(csv_file_path=str(tmp_path / "t.csv"))["a"] == [1.0, 2.0, 3.0]
    assert table.rename({"a": "c"}).columns == ["c", "b"]
    table["d"] = [None, 4, 6]
    assert table.stats([StatSpec("d", statistics.mean, round=1), StatSpec("d", len, "n")]) == {
        "d": {"mean": 5, "n": 2}
    }
    assert str(table).splitlines()[1:3] == ["c | b | d   ", "--+---+-----"]
    assert repr(table).startswith("TinyDataFrame with 3 rows and 3 columns. First row as a dict: {")
    for wrong, error in (((0.5,), TypeError), (("nothing",), KeyError)):
        with pytest.raises(error):
            table[wrong[0]]
    with pytest.raises(ValueError):
        table["e"] = [1]
    with pytest.raises(ValueError):
        TinyDataFrame()
