# SPDX-License-Identifier: MIT
"""toll.compat.resource_tracker: its functions, and its small table."""

import json
import os
import statistics
import subprocess
import time

import psutil
import pytest
from shapes import PROCESS_HEADING, job
from toll.compat import resource_tracker
from toll.compat.resource_tracker import StatSpec, TinyDataFrame

TICKS = os.sysconf("SC_CLK_TCK")

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
        found = resource_tracker.get_pid_proc_io(process.pid)
        assert (found["read_bytes"], found["write_bytes"]) == (io.read_bytes, io.write_bytes)
        assert (found["rchar"], found["syscw"]) == (io.read_chars, io.write_count)
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
    assert resource_tracker.get_pid_proc_times(process.pid) == {"utime": 0, "stime": 0}


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



def test_cpu_time_of_a_process_and_of_its_children_that_have_ended():
    """Of a process with a name that is made to mislead."""
    script = (
        "import subprocess, sys\n"
        "open('/proc/self/comm', 'w').write('a b) R 1')\n"
        "busy = 'import time\\nwhile time.process_time() < 0.3: pass'\n"
        "subprocess.run([sys.executable, '-c', busy])\n"
        "print(flush=True); input()"
    )
    process = job(script, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        process.stdout.readline()
        times = psutil.Process(process.pid).cpu_times()
        alone = resource_tracker.get_pid_proc_times(process.pid, children=False)
        both = resource_tracker.get_pid_proc_times(process.pid)
        assert alone["utime"] == pytest.approx(times.user * TICKS, abs=2)
        assert alone["stime"] == pytest.approx(times.system * TICKS, abs=2)
        reaped = both["utime"] + both["stime"] - alone["utime"] - alone["stime"]
        assert reaped == pytest.approx((times.children_user + times.children_system) * TICKS, abs=3)
        assert reaped >= 0.25 * TICKS
    finally:
        process.communicate(b"\n")


def test_gpus_at_a_look(python, tmp_path):
    """With the fake of NVIDIA's library."""
    facts = tmp_path / "facts"
    facts.write_text("gpus 2\nutilization 50\nmemory_total 2147483648\nmemory_used 1073741824\n")
    said = python(
        f"""
import json, os, time
with open({str(facts)!r}, "a") as file:
    file.write(f"1.compute {{os.getpid()}} 268435456\\n")
from toll.compat.resource_tracker import PidTracker, SystemTracker, get_pid_stats, get_system_stats
seen = [get_pid_stats(os.getpid()), PidTracker(autostart=False).diff_stats()]
seen += [get_system_stats(), SystemTracker(autostart=False).diff_stats()]
print(json.dumps([[row[f"gpu_{{name}}"] for name in ("usage", "vram", "utilized")] for row in seen]))
""",
        FAKE_NVML=str(facts),
        LD_LIBRARY_PATH=os.path.join(os.environ["TOLL_BUILD"], "tests/fakes/nvml"),
    )
    *of_process, first, second = json.loads(said)
    # How busy a process keeps a GPU takes two looks of the driver's own.
    assert [row[1:] for row in of_process] == [[256.0, 1]] * 2
    assert (first, second) == ([1.0, 2048.0, 2], [1.0, 2048.0, 2])


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
