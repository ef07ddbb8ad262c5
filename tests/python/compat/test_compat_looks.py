# SPDX-License-Identifier: MIT
"""toll.compat.resource_tracker: its functions, and its small table."""

import json
import os
import statistics
import subprocess
import time

import hostlib
import pytest
import shapes
from shapes import PROCESS_COLUMNS, SYSTEM_COLUMNS, job
from toll.compat import resource_tracker
from toll.compat.resource_tracker import StatSpec, TinyDataFrame

psutil = hostlib.module("psutil")

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
        assert [*stats] == [name for name in PROCESS_COLUMNS["0.1"] if name != "cpu_usage"]
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


@pytest.fixture
def release():
    """use_release(), and afterwards as before."""
    yield resource_tracker.use_release
    resource_tracker.use_release(None)


def keys_of_a_look(columns):
    """Without rates; of disks and filesystems each one, instead of the sums."""
    if "pid" in columns:
        return [name for name in columns if name != "cpu_usage"]
    found = [name for name in columns if name != "cpu_usage" and not name.startswith("disk_")]
    place = found.index("net_recv_bytes")
    return found[:place] + ["disk_stats", "disk_spaces"] + found[place:]


WHOLE = {"pid", "children", "processes", "pss", "memory", "read_bytes", "write_bytes", "gpu_utilized"}
WHOLE |= {"disk_read_bytes", "disk_write_bytes", "net_recv_bytes", "net_sent_bytes"}


@pytest.mark.parametrize("name", ["0.1", "0.2", "0.3", "0.4", "0.5", "0.6"])
def test_keys_and_units_of_a_release(release, name):
    """Chosen for all calls, and for one; whole numbers are ints."""
    like = {"0.2": "0.4", "0.3": "0.4", "0.6": "0.5"}.get(name, name)
    for one in (resource_tracker.get_pid_stats, resource_tracker.get_process_stats):
        stats = one(os.getpid(), columns=name)
        assert [*stats] == keys_of_a_look(PROCESS_COLUMNS[like])
        assert {key for key in stats if isinstance(stats[key], int)} >= WHOLE & set(stats)
    system = resource_tracker.get_system_stats(columns=name)
    assert [*system] == keys_of_a_look(SYSTEM_COLUMNS[like])
    words = {"0.1": ["read_sectors", "write_sectors"]}.get(like, ["read_bytes", "write_bytes"])
    assert all([*disk] == words for disk in system["disk_stats"].values())
    release(name)
    assert [*resource_tracker.get_pid_stats(os.getpid())] == [*stats]
    assert [*resource_tracker.get_process_stats(os.getpid())] == [*stats]
    assert [*resource_tracker.get_system_stats()] == [*system]
    times = psutil.cpu_times()
    unit = TICKS if like == "0.1" else 1
    assert system["utime"] == pytest.approx((times.user + times.nice) * unit, abs=10 * unit)
    total = psutil.virtual_memory().total / (1024 if like != "0.5" else 1 << 20)
    suffix = "_mib" if like == "0.5" else ""
    parts = (system[f"memory_{part}{suffix}"] for part in ("free", "used", "buffers", "cached"))
    assert sum(parts) == pytest.approx(total, rel=0.001)


def test_without_a_release(release):
    """Each name has the columns of the release that it is known from."""
    assert "pss" in resource_tracker.get_pid_stats(os.getpid())
    assert "memory_mib" in resource_tracker.get_process_stats(os.getpid())
    assert "memory_active_anon" in resource_tracker.get_system_stats()
    for module in (resource_tracker.tracker_procfs, resource_tracker.tracker_psutil):
        assert "memory" in module.get_pid_stats(os.getpid())
        assert "memory_mib" in module.get_process_stats(os.getpid())
        assert "memory_used_mib" in module.get_system_stats()
        release("0.4")
        assert "memory" in module.get_process_stats(os.getpid())
        assert "memory_used" in module.get_system_stats()
        release(None)
    for wrong in ("0.7", "v1", "latest"):
        with pytest.raises(ValueError, match="expected 0.1, 0.2"):
            release(wrong)
    with pytest.raises(ValueError, match=r"columns: invalid value '9' \(expected a release, 0.1, .* or v1"):
        resource_tracker.get_system_stats(columns="9")


def test_a_look_sees_what_is_allocated():
    stats = resource_tracker.tracker_procfs.get_process_stats
    before = stats(os.getpid())["memory_mib"]
    block = bytearray(b"x") * (50 << 20)
    assert stats(os.getpid())["memory_mib"] >= before + 40
    del block


def test_a_look_agrees_with_psutil():
    """Field by field, as that tool compares its two ways to look."""
    ours = resource_tracker.tracker_procfs.get_system_stats()
    memory, net = psutil.virtual_memory(), psutil.net_io_counters(pernic=True)
    times = psutil.cpu_times()
    kernel = times.system + times.irq + times.softirq
    for field, theirs, tolerance in (
        ("processes", len(psutil.pids()), 20),
        ("utime", times.user + times.nice, 10),
        ("stime", kernel, 10),
        ("memory_free_mib", memory.free >> 20, 200),
        ("memory_buffers_mib", memory.buffers >> 20, 50),
        ("memory_cached_mib", memory.cached >> 20, 200),
        ("memory_active_mib", memory.active >> 20, 200),
        ("memory_inactive_mib", memory.inactive >> 20, 200),
        ("net_recv_bytes", sum(net[name].bytes_recv for name in net if name != "lo"), 64 << 20),
        ("net_sent_bytes", sum(net[name].bytes_sent for name in net if name != "lo"), 64 << 20),
    ):
        assert ours[field] == pytest.approx(theirs, abs=tolerance), field


def test_the_server(release):
    info = resource_tracker.get_server_info()
    names = ["os", "vcpus", "memory_mib", "gpu_count", "gpu_names", "gpu_name", "gpu_memory_mib"]
    assert [*info] == names
    assert (info["os"], info["vcpus"]) == ("Linux", os.cpu_count())
    assert info["memory_mib"] == pytest.approx(psutil.virtual_memory().total / (1 << 20), abs=0.01)
    assert resource_tracker.server_info.get_total_memory_mib() == info["memory_mib"]
    if not info["gpu_count"]:
        assert (info["gpu_names"], info["gpu_name"], info["gpu_memory_mib"]) == ([], "", 0)
    release("0.4")
    assert [*resource_tracker.get_server_info()] == [name.replace("_mib", "_mb") for name in names]


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
from toll.compat.resource_tracker import (
    PidTracker, SystemTracker, get_pid_stats, get_server_info, get_system_stats)
seen = [get_pid_stats(os.getpid()), PidTracker(autostart=False).diff_stats()]
seen += [get_system_stats(), SystemTracker(autostart=False).diff_stats()]
print(json.dumps(get_server_info()))
print(json.dumps([[row[f"gpu_{{name}}"] for name in ("usage", "vram", "utilized")] for row in seen]))
""",
        FAKE_NVML=str(facts),
        LD_LIBRARY_PATH=os.path.join(os.environ["TOLL_BUILD"], "tests/fakes/nvml"),
    )
    server, looks = map(json.loads, said.splitlines())
    assert (server["gpu_count"], server["gpu_memory_mib"]) == (2, 4096)
    assert (server["gpu_names"], server["gpu_name"]) == (["Fake GPU 0", "Fake GPU 1"], "Fake GPU 0")
    *of_process, first, second = looks
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
    again = TinyDataFrame(csv_file_path=str(tmp_path / "t.csv"))
    assert again.to_dict() == table.to_dict() == list(table) == list(again)
    assert shapes.kind(again[0]) == {"a": "int", "b": "str"}
    (tmp_path / "t.csv").write_text('"i","f","s","u"\n-7,1.5e3,"a b",""\n0,.5,nan,\n')
    assert TinyDataFrame(csv_file_path=str(tmp_path / "t.csv"), retries=1).to_dict() == [
        {"i": -7, "f": 1500.0, "s": "a b", "u": None},
        {"i": 0, "f": 0.5, "s": "nan", "u": None},
    ]
    (tmp_path / "t.csv").write_text('"i"\n1,2\n')
    with pytest.raises(ValueError, match="more cells than the heading"):
        TinyDataFrame(csv_file_path=str(tmp_path / "t.csv"))
    assert list(TinyDataFrame([])) == []
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
