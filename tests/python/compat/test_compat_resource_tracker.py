# SPDX-License-Identifier: MIT
"""toll.compat.resource_tracker: its users' programs, with another import."""

import csv
import io
import json
import os
import subprocess
import time

import hostlib
import pytest
import toll
from shapes import PROCESS_COLUMNS, PROCESS_HEADING, SYSTEM_COLUMNS, SYSTEM_HEADING, job
from toll.compat.resource_tracker import (
    PidTracker,
    ProcessTracker,
    ResourceTracker,
    SystemTracker,
    get_pid_stats,
    get_process_stats,
    get_system_stats,
    use_release,
)
from work import burn

psutil = hostlib.module("psutil")

TICKS = os.sysconf("SC_CLK_TCK")
# So much CPU time, and at least so much time.
BUSY = (
    "import time\nend = time.monotonic() + {0}\n"
    "while time.process_time() < {0} or time.monotonic() < end: pass"
)


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


@pytest.mark.parametrize(
    "kind, options, memory",
    [(PidTracker, {}, "pss"), (PidTracker, {"columns": "0.4"}, "memory"), (ProcessTracker, {}, "memory_mib")],
)
def test_a_process_that_ends_between_two_looks(kind, options, memory):
    """Programs that look by themselves stop when there is no memory any more."""
    process = job("input()", stdin=subprocess.PIPE)
    tracker = kind(pid=process.pid, autostart=False, **options)
    assert tracker.diff_stats()[memory] > 0
    process.communicate(b"\n")
    row = tracker.diff_stats()
    assert (row["pid"], row[memory], tracker.status) == (process.pid, 0, "exited")
    assert row["timestamp"] == pytest.approx(time.time(), abs=60)
    assert {row[name] for name in row if name not in ("pid", "timestamp")} == {0}
    assert tracker.stats[memory] == 0


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


def test_io_of_children_counts_once(tmp_path):
    """A child writes, and its parent, which the kernel then credits with it, lives on."""
    writes = "import os; f = open('data', 'wb'); f.write(b'x' * (8 << 20)); f.flush(); os.fsync(f.fileno())"
    script = (
        "import subprocess, sys, time\n"
        "input()\n"
        f"subprocess.run([sys.executable, '-c', {writes!r}])\n"
        "time.sleep(0.3)\n"
        "print(open('/proc/self/io').read())\n"
    )
    path = tmp_path / "rows.csv"
    process = job(script, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    tracker = PidTracker(pid=process.pid, interval=0.1, autostart=False)
    process.stdin.write("\n")
    process.stdin.flush()
    tracker.start_tracking(str(path))
    kernel = dict(line.split(": ") for line in process.communicate()[0].split("\n") if line)
    written = sum(row["write_bytes"] for row in rows_of(path.read_text()))
    # The interpreter may have written something before, and after the child.
    assert written == pytest.approx(int(kernel["write_bytes"]), abs=1 << 20)


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
    # In all, not since the last look.
    assert list(tracker.stats) == list(get_pid_stats(os.getpid()))
    spent = os.times()  # with what children had used that were waited for, as in that tool
    assert tracker.stats["utime"] == pytest.approx((spent.user + spent.children_user) * TICKS, rel=0.5)
    assert tracker.diff_stats()["utime"] <= 0.05 * TICKS
    assert ",".join(f'"{name}"' for name in row) + "\r\n" == PROCESS_HEADING


def test_the_machine_one_row_at_a_time():
    def busy():
        times = psutil.cpu_times()
        return (times.user + times.nice) * TICKS

    before = busy()
    tracker = SystemTracker(autostart=False)
    begun = busy()
    burn(0.2)
    ending = busy()
    row = tracker.diff_stats()
    after = busy()
    assert ",".join(f'"{name}"' for name in row) + "\r\n" == SYSTEM_HEADING
    # Others count too. Between its looks is more than between ours, and less; each is in ticks.
    assert ending - begun - 2 <= row["utime"] <= after - before + 2
    memory = psutil.virtual_memory()
    assert row["memory_free"] * 1024 == pytest.approx(memory.free, rel=0.2)
    assert row["memory_buffers"] * 1024 == pytest.approx(memory.buffers, rel=0.2, abs=1 << 20)
    assert row["disk_space_total_gb"] >= row["disk_space_free_gb"]
    assert list(tracker.stats) == list(get_system_stats())
    assert set(tracker.sector_sizes.values()) <= {512}
    assert tracker.sector_sizes.keys() == tracker.stats["disk_stats"].keys()


def test_the_machine_until_it_is_interrupted(python):
    """To standard output, and Ctrl-C is heard."""
    said = python(
        """
import os, signal, threading
from toll.compat.resource_tracker import SystemTracker
threading.Timer(1.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    SystemTracker(interval=0.2)
except KeyboardInterrupt:
    pass
"""
    )
    assert said.startswith(SYSTEM_HEADING.replace("\r\n", "\n"))
    assert len(said.splitlines()) >= 3
    first, *_ = csv.DictReader(io.StringIO(said))  # what is read seldom is known from the start on
    assert int(first["processes"]) > 0
    assert float(first["disk_space_total_gb"]) > 0


def test_modules_of_that_tool(python):
    said = python(
        """
import importlib
from toll.compat.resource_tracker.tracker import PidTracker
from toll.compat.resource_tracker.tiny_data_frame import StatSpec, TinyDataFrame
from toll.compat.resource_tracker.tracker_procfs import get_process_children, get_process_stats
from toll.compat.resource_tracker.tracker_psutil import get_pid_stats, get_system_stats
from toll.compat.resource_tracker.server_info import get_server_info, get_total_memory_mb
from toll.compat.resource_tracker.cloud_info import get_cloud_info
from toll.compat.resource_tracker.report import Report, round_memory
from toll.compat.resource_tracker.helpers import aggregate_stats
from toll.compat.resource_tracker.sentinel_api import RunStatus
from toll.compat import resource_tracker
print(PidTracker is resource_tracker.PidTracker, resource_tracker.tracker.PidTracker is PidTracker)
print([round_memory(size) for size in (12, 987, 1024, 1025, 2049)], RunStatus.finished.value)
for name in ("tiny_bars", "keeper", "streaming", "dummy_workloads"):
    try:
        importlib.import_module("toll.compat.resource_tracker." + name)
    except ModuleNotFoundError:
        print(name)
"""
    )
    assert said.splitlines() == [
        "True True",
        "[128, 1024, 1024, 2048, 3072] finished",
        *("tiny_bars", "keeper", "streaming", "dummy_workloads"),
    ]


def test_what_was_used_at_the_very_start_is_in_the_first_row(tmp_path, monkeypatch):
    """It is no row of its own, but nothing of it is lost."""
    frames = []
    original = toll.Translator.rows

    def keep(self, frame):
        rows = original(self, frame)
        frames.append((frame.number, [dict(row) for row in rows]))
        return rows

    process = job(BUSY.format(0.5))
    follower = PidTracker(process.pid, 0.2, autostart=False)
    monkeypatch.setattr(toll.Translator, "rows", keep)
    follower.start_tracking(str(tmp_path / "rows.csv"))
    process.wait()
    with open(tmp_path / "rows.csv", newline="", encoding="utf-8") as file:
        written = list(csv.DictReader(file))
    told = [row for _, rows in frames for row in rows]
    assert [number for number, _ in frames][:2] == [0, 1]
    assert len(written) == len(told) - 1
    assert int(written[0]["utime"]) == told[0]["utime"] + told[1]["utime"]


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


@pytest.mark.parametrize("release", ["0.1", "0.4", "0.5"])
def test_columns_of_a_release(release, tmp_path):
    """Of every tracker, said to each or once for all."""
    path = tmp_path / "rows.csv"
    for kind in (PidTracker, ProcessTracker):
        process = job(BUSY.format(0.2))
        kind(pid=process.pid, interval=0.1, output_file=str(path), columns=release)
        process.wait()
        rows = list(csv.reader(io.StringIO(path.read_bytes().decode(), newline="")))
        assert rows[0] == PROCESS_COLUMNS[release]
        assert all(cell.isdigit() for row in rows[1:] for cell in row[1:3])
    use_release(release)
    try:
        assert list(PidTracker(autostart=False).diff_stats()) == PROCESS_COLUMNS[release]
        assert list(ProcessTracker(autostart=False).diff_stats()) == PROCESS_COLUMNS[release]
        machine = SystemTracker(autostart=False)
        assert list(machine.diff_stats()) == SYSTEM_COLUMNS[release]
        assert list(machine.stats) == list(get_system_stats())
        assert list(get_process_stats(os.getpid())) == list(PidTracker(autostart=False).stats)
    finally:
        use_release(None)
    assert list(SystemTracker(autostart=False, columns=release).diff_stats()) == SYSTEM_COLUMNS[release]


def test_arguments_in_both_orders(monkeypatch):
    """Up to 0.3 an interval comes first, from 0.4 on the time to start at."""
    seen = []
    monkeypatch.setattr(PidTracker, "start_tracking", lambda self, file=None: seen.append(file))
    monkeypatch.setattr(SystemTracker, "start_tracking", lambda self, file=None: seen.append(file))

    def facts(tracker):
        found = [tracker.interval, getattr(tracker, "children", None), tracker.start_time == past, [*seen]]
        seen.clear()
        return found

    me, past = os.getpid(), time.time() - 5
    assert facts(PidTracker(me, 0.2, False, True, "x")) == [0.2, False, False, ["x"]]
    assert facts(PidTracker(me, 0.2, True, False, "x")) == [0.2, True, False, []]
    assert facts(PidTracker(me, 0.2, False, output_file="x")) == [0.2, False, False, ["x"]]
    assert facts(PidTracker(me, 0.2, False, autostart=False)) == [0.2, False, False, []]
    assert facts(PidTracker(me, 0.2)) == [0.2, True, False, [None]]
    assert facts(PidTracker(me, 3, children=False)) == [3, False, False, [None]]
    for kind in (PidTracker, ProcessTracker):
        assert facts(kind(me, past, 0.2, False, True, "x")) == [0.2, False, True, ["x"]]
        assert facts(kind(me, past)) == [1, True, True, [None]]
        assert facts(kind(me, past, interval=0.5, autostart=False)) == [0.5, True, True, []]
        assert facts(kind(me, interval=2, children=False, output_file="x")) == [2, False, False, ["x"]]
    assert facts(SystemTracker(0.2, True, "x")) == [0.2, None, False, ["x"]]
    assert facts(SystemTracker(2, False)) == [2, None, False, []]
    assert facts(SystemTracker(0.2, autostart=False)) == [0.2, None, False, []]
    assert facts(SystemTracker(past, 0.2, True, "x")) == [0.2, None, True, ["x"]]
    assert facts(SystemTracker(past, 0.2, False)) == [0.2, None, True, []]
    assert facts(SystemTracker(past)) == [1, None, True, [None]]
    assert facts(SystemTracker(0, 0.2)) == [0.2, None, False, [None]]
    assert facts(SystemTracker(interval=3, output_file="x")) == [3, None, False, ["x"]]


def test_a_start_later_than_the_construction(tmp_path):
    process = job(BUSY.format(0.2), stdin=subprocess.PIPE)
    begin = time.time() + 0.4
    tracker = ProcessTracker(process.pid, begin, 0.1, True, True, str(tmp_path / "rows.csv"))
    process.communicate()
    assert tracker.start_time == begin
    # The process may have ended before that: then there is no row.
    assert all(row["timestamp"] >= begin for row in rows_of((tmp_path / "rows.csv").read_text()))


CHILD_TRACKS = """
import json, multiprocessing, os, time
from toll.compat.resource_tracker import PidTracker

def memory():
    with open("/proc/self/smaps_rollup") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Pss:"))

def children():
    with open(f"/proc/self/task/{{os.getpid()}}/children") as file:
        return set(map(int, file.read().split()))

def rows():
    with open({path!r}) as file:
        return file.read().count("\\n")

if __name__ == "__main__":
    block = bytearray(b"x") * (64 << 20)
    before = memory()
    context = multiprocessing.get_context({method!r})
    options = dict(pid=os.getpid(), interval=0.1, output_file={path!r})
    open({path!r}, "w").close()
    tracker = context.Process(target=PidTracker, kwargs=options, daemon=True)
    tracker.start()
    end = time.monotonic() + 60
    while rows() < 1 and time.monotonic() < end:
        time.sleep(0.01)
    while rows() < 5 and time.monotonic() < end:
        time.sleep(0.05)
    others = len(children() - {{tracker.pid}})
    tracker.terminate()
    tracker.join()
    print(json.dumps([before, others, time.process_time()]))
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_tracker_that_multiprocessing_starts_is_not_counted(method, tmp_path, python):
    """Neither as a child nor with its CPU time. Memory that a forked one shares with the program is
    the program's, though PSS gives each of them one half."""
    path, program = tmp_path / "rows.csv", tmp_path / "program.py"
    program.write_text(CHILD_TRACKS.format(method=method, path=str(path)))
    said = python(f"import runpy; runpy.run_path({str(program)!r}, run_name='__main__')")
    before, others, used = json.loads(said)
    rows = rows_of(path.read_text())
    assert len(rows) >= 4
    assert [row["children"] for row in rows] == [others] * len(rows)
    assert sum(row["utime"] + row["stime"] for row in rows) <= used * TICKS + 2
    if method == "fork":  # of the other there is one more child, multiprocessing's own
        assert others == 0
        for row in rows:
            assert before * 0.95 < row["pss"] < before * 1.15


def test_a_file_that_cannot_be_made():
    with pytest.raises(FileNotFoundError, match="/nowhere/rows.csv"):
        PidTracker(interval=0.1, output_file="/nowhere/rows.csv")


def test_a_bad_interval():
    with pytest.raises(ValueError, match="interval"):
        ResourceTracker(interval=0)


def test_values_agree_with_the_native_ones():
    """A process that holds steady: the same figures, in other units."""
    script = "import time; b = bytearray(50 << 20); print(flush=True); time.sleep(60)"
    process = job(script, stdout=subprocess.PIPE)
    try:
        process.stdout.readline()  # now it holds steady
        row = PidTracker(pid=process.pid, autostart=False).diff_stats()
        native = toll.snapshot(process.pid, children=True, memory="pss")
        theirs = psutil.Process(process.pid).memory_full_info()
        # Other programs that share pages come and go: PSS is not quite still.
        assert row["pss"] * 1024 == pytest.approx(native.memory_pss_bytes, rel=0.1)
        assert row["pss"] * 1024 == pytest.approx(theirs.pss, rel=0.1)
        assert row["children"] == 0
    finally:
        process.kill()
        process.communicate()
