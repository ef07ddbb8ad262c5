# SPDX-License-Identifier: MIT
"""Layouts through the real command: shapes, figures beside our own of the same samples, another
tool's reading of the same process, GPUs to the digit, and mistakes."""
import csv
import io
import json
import os
import re
import sqlite3
import subprocess
import sys

import hostlib
import pytest
from livelib import records, until
from test_gpus import FIGURES, LOOKED, Driver

psutil = hostlib.module("psutil")

# Holds 40 MB, tells that it does, then waits until its input ends.
STEADY = "data = bytearray(b'x' * 40_000_000); print('up', flush=True); input()"


@pytest.fixture
def steady(place):
    process = place.popen([sys.executable, "-c", STEADY], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"up\n"
    yield process
    process.communicate(b"\n", timeout=60)


def rows(text):
    assert text.endswith("\r\n")
    found = list(csv.reader(io.StringIO(text, newline=""), quoting=csv.QUOTE_NONNUMERIC))
    return [dict(zip(found[0], row)) for row in found[1:]]


def test_beside_our_own(place):
    """Rows of the layout and our own record of the same samples."""
    result = place.run(["sh", "-c", "i=0; while [ $i -lt 60000 ]; do i=$((i + 1)); done; "
                        "head -c 3000000 /dev/zero >file"],
                       ["-i", "50ms", "--layout", "resource-tracker", "-o", "a.csv", "-o", "b.jsonl"])
    assert result.status == 0
    theirs = rows(place.path("a.csv").read_bytes().decode())
    ours = [sample["target"]["combined"] for sample in records(place.path("b.jsonl"), "sample")]
    assert len(ours) - len(theirs) in (0, 1)  # the first sample, when it comes at once, is no row
    for ticks, metric in (("utime", "cpu_user_seconds"), ("stime", "cpu_system_seconds")):
        assert sum(row[ticks] for row in theirs) == int(ours[-1][metric] * 100 + 1e-6)
    assert sum(row["write_bytes"] for row in theirs) == result.total("storage_written_bytes")
    assert {row["pid"] for row in theirs} == {records(place.path("b.jsonl"), "run")[0]["pid"]}
    times = [row["timestamp"] for row in theirs]
    assert times == sorted(times)


def test_one_output_alone(place):
    """Several layouts and our own in one run, live and from the record."""
    place.run(["sleep", "0.3"], ["-i", "100ms", "-o", "@resource-tracker:a.csv", "-o", "a.jsonl",
                                 "-o", "json@gpu-tracker,ram_unit=bytes:b", "-o", "c.csv"])
    assert list(rows(place.path("a.csv").read_bytes().decode())[0])[:3] == ["timestamp", "pid", "children"]
    assert json.loads(place.path("b").read_text())["max_ram"]["unit"] == "bytes"
    assert place.path("c.csv").read_text().startswith("time,")
    status, _, err = place.call([place.toll, "export", "a.jsonl", "-o", "@resource-tracker:d.csv",
                                 "-o", "csv@resource-tracker,columns=v2:e"])
    assert status == 0, err
    assert place.path("d.csv").read_bytes() == place.path("a.csv").read_bytes()
    assert "memory_mib" in rows(place.path("e").read_bytes().decode())[0]
    status, out, err = place.call([place.toll, "system", "-i", "100ms", "--for", "250ms", "-q",
                                   "-o", "@resource-tracker:-"])
    assert (status, out.startswith(b'"timestamp","processes"')) == (0, True), err


def test_one_output_alone_by_mistake(place):
    for output, says in (("@nothing:a.csv", b"unknown layout 'nothing'"),
                         ("@spdl:a.csv", b"layout spdl: unsupported format 'csv' (expected jsonl)")):
        status, _, err = place.call([place.toll, "run", "-o", output, "--", "true"])
        assert (status, says in err) == (125, True), err
    assert not place.path("a.csv").exists()


@pytest.mark.parametrize("words", [["layouts"], ["outputs"], ["help", "layouts"]] + [
    ["layouts", name] for name in ("resource-tracker", "gpu-tracker", "spdl", "process-metrics",
                                    "sweep", "mlflow-system")])
def test_lists_fit_a_terminal(place, words):
    status, out, err = place.call([place.toll, *words])
    assert status == 0, err
    assert max(map(len, out.decode().splitlines())) <= 80
    assert b"(null)" not in out
    assert not re.search(rb"\w \+ \w+ \* ", out)


def test_gpu_tracker_help_fits_a_terminal(place):
    link = place.path("gpu-tracker")
    link.symlink_to(place.toll)
    status, out, err = place.call([link, "-h"])
    assert status == 0, err
    assert max(map(len, out.decode().splitlines())) <= 80


def test_most_memory_of_a_short_run(place):
    """What one process had at most is there, however seldom its page tables were read."""
    result = place.run([sys.executable, "-c", "bytearray(120_000_000)"],
                       ["--layout", "gpu-tracker,ram_unit=bytes", "-o", "r.json"])
    assert result.status == 0
    ram = json.loads(place.path("r.json").read_text())["max_ram"]
    assert ram["combined"]["total_rss"] >= 120_000_000


def test_a_directory_that_is_there(place):
    place.path("monitors").mkdir()
    place.path("monitors").chmod(0o777)
    status, _, err = place.call([place.toll, "run", "-q", "-o", "monitors", "--layout", "sweep",
                                 "--gpus", "none", "--", "true"])
    assert status == 0, err
    assert place.path("monitors/summary.json").exists()


def test_another_tool_agrees(place, steady):
    status, out, err = place.call([place.toll, "attach", steady.pid, "--layout",
                                   "resource-tracker", "-i", "100ms", "--for", "450ms", "-q"])
    assert status == 0, err
    found = rows(out.decode())
    memory = psutil.Process(steady.pid).memory_full_info()
    pss = found[-1]["pss"]
    assert pss * 1024 == pytest.approx(memory.pss, rel=0.02)
    assert [row["children"] for row in found] == [0] * len(found)
    status, out, err = place.call([place.toll, "attach", steady.pid, "--layout",
                                   "process-metrics", "-i", "100ms", "--for", "450ms", "-q"])
    assert status == 0, err
    last = json.loads(out.decode().splitlines()[-1])
    assert last["process/memory_rss_megabytes"] * 2**20 == pytest.approx(memory.rss, rel=0.02)
    assert last["process/memory_uss_megabytes"] * 2**20 == pytest.approx(memory.uss, rel=0.02)
    assert last["process/memory_vms_megabytes"] * 2**20 == pytest.approx(memory.vms, rel=0.02)
    assert last["process/num_threads"] == 1.0
    total = psutil.virtual_memory().total
    assert last["process/memory_usage_percentage"] == pytest.approx(memory.rss / total * 100, rel=0.02)


# Works when it is told to, and holds still before and after.
WORKER = """
import os, time
data = bytearray(b'x' * 40_000_000)
print('up', flush=True)
input()
end = time.process_time() + 0.3
while time.process_time() < end:
    sum(range(1000))
fd = os.open('file', os.O_WRONLY | os.O_CREAT)
os.write(fd, bytes(3 << 20))
print('done', flush=True)
input()
"""


def test_psutil_agrees_with_every_layout(here):
    """CPU, memory and I/O of one process, by its own look at it before and after."""
    place = here
    worker = place.popen([sys.executable, "-c", WORKER], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE)
    assert worker.stdout.readline() == b"up\n"
    files = {place.path(name): layout for name, layout in (
        ("v1.csv", "resource-tracker"), ("v2.csv", "resource-tracker,columns=v2"),
        ("points.csv", "gpu-tracker,ram_unit=bytes"), ("group.jsonl", "spdl,columns=all"),
        ("lines.jsonl", "process-metrics,prefix="))}
    trackers = [place.popen([place.toll, "attach", worker.pid, "-q", "-i", "100ms", "--gpus", "none",
                             "--layout", layout, "-o", file]) for file, layout in files.items()]

    def count_rows():
        return {file: file.read_bytes().count(b"\n") if file.exists() else 0 for file in files}

    def two_rows_more(than):
        return all(count >= than[file] + 2 for file, count in count_rows().items())

    process = psutil.Process(worker.pid)
    until(lambda: two_rows_more(dict.fromkeys(files, 3)), "rows")  # headings are no rows
    before, before_io = process.cpu_times(), process.io_counters()
    worker.stdin.write(b"\n")
    worker.stdin.flush()
    assert worker.stdout.readline() == b"done\n"
    after, after_io, memory = process.cpu_times(), process.io_counters(), process.memory_full_info()
    counts = count_rows()
    until(lambda: two_rows_more(counts), "rows behind the work")
    still = {file.name: file.read_bytes().decode() for file in files}
    worker.communicate(b"\n", timeout=60)
    assert [tracker.wait(60) for tracker in trackers] == [0] * len(trackers)
    cpu = after.user + after.system - before.user - before.system
    written = after_io.write_bytes - before_io.write_bytes

    def used(lines, time, percent):
        """What rates come to, over the time since the line before."""
        return sum((b[time] - a[time]) * b[percent] / 100 for a, b in zip(lines, lines[1:]))

    def read(text):
        text = {name: lines[:lines.rindex("\n") + 1] for name, lines in text.items()}
        points = csv.DictReader(text["points.csv"].splitlines()[2:])
        return (rows(text["v1.csv"]), rows(text["v2.csv"]),
                [{key: float(value) for key, value in point.items() if value} for point in points],
                *([json.loads(line) for line in text[name].splitlines()]
                  for name in ("group.jsonl", "lines.jsonl")))

    v1, v2, points, group, lines = read({file.name: file.read_bytes().decode() for file in files})
    near = pytest.approx(cpu, abs=0.06)  # seconds: its ticks at both ends, and its exit
    assert sum(row["utime"] + row["stime"] for row in v1) / 100 == near
    assert sum(row["utime"] + row["stime"] for row in v2) == near
    assert used(points, "timestamp", "cpu_combined_sum_utilization_percent") == near
    assert used(group, "timestamp", "cpu_percent") == near
    assert used(lines, "timestamp", "cpu_usage_percentage") == near
    assert sum(row["write_bytes"] for row in v1) == written
    assert sum(row["disk_write_bytes"] for row in v2) == written
    assert group[-1]["disk_write_bytes"] == lines[-1]["io_write_megabytes"] * 2**20 == written
    # Memory as it was before it ended, which takes some time.
    v1, v2, points, group, lines = (found[-1] for found in read(still))
    rss, pss, uss = (pytest.approx(value, rel=0.1) for value in (memory.rss, memory.pss, memory.uss))
    assert (v1["pss"] * 1024, v2["memory_mib"] * 2**20) == (pss, pss)
    assert (points["combined_ram"], lines["memory_rss_megabytes"] * 2**20) == (rss, rss)
    assert (group["rss_bytes"], group["pss_bytes"], group["private_bytes"]) == (rss, pss, uss)
    assert lines["memory_uss_megabytes"] * 2**20 == uss


# The use of the machine's CPUs, which are counted in hundredths of a second.
OF_TICKS = {"system_cpu_usage", "host_cpu_all_usage_core_gauge"}


def unknown_cells(place, command, columns):
    """The names of the cells without a number in rows of a run, and how long that was."""
    result = place.run(command, ["-i", "100ms", "-o", "a.csv", "-o", "b.jsonl", "--layout",
                                 f"resource-tracker,columns={columns}"])
    assert result.status == 0
    found = rows(place.path("a.csv").read_bytes().decode())
    unknown = {name: cell for row in found for name, cell in row.items()
               if not isinstance(cell, float)}
    assert set(unknown.values()) <= {""}, unknown
    seconds = records(place.path("b.jsonl"), "sample")[-1]["elapsed_seconds"]
    return found, set(unknown), seconds


@pytest.mark.parametrize("columns", ["v1", "v2", "combined", "host-proc"])
def test_the_last_row_is_whole(place, columns):
    """Scripts read numbers in every row, also in the one that has the end."""
    found, unknown, _ = unknown_cells(place, ["sleep", "0.3"], columns)
    assert found and not unknown, (unknown, found)


@pytest.mark.parametrize("columns", ["v1", "v2", "combined", "host-proc"])
def test_the_only_row_is_short(place, columns):
    """Of milliseconds the use of the machine's CPUs is not known, and nothing else is unknown."""
    found, unknown, seconds = unknown_cells(place, ["true"], columns)
    assert unknown <= OF_TICKS, (unknown, found)
    if found and seconds < 0.02:  # nothing may have been seen of it
        assert unknown == OF_TICKS & set(found[0])


def test_groups_that_end(place):
    """One line has the end of a group, and none comes behind it."""
    first, second = (place.popen(["sh", "-c", "read word"], start_new_session=True,
                                 stdin=subprocess.PIPE) for _ in range(2))
    tracker = place.popen([place.toll, "attach", "--group", first.pid, "--group", second.pid,
                           "--layout", "spdl", "-i", "50ms", "-q"], stdout=subprocess.PIPE)
    lines = []
    while len(lines) < 4:
        lines.append(json.loads(tracker.stdout.readline()))
    first.communicate(b"\n", timeout=60)
    while not any(line["num_procs"] == 0 for line in lines[-2:]):
        lines.append(json.loads(tracker.stdout.readline()))
    for _ in range(4):
        lines.append(json.loads(tracker.stdout.readline()))
    second.communicate(b"\n", timeout=60)
    lines += map(json.loads, tracker.communicate(timeout=60)[0].splitlines())
    for group in (first.pid, second.pid):
        mine = [line["num_procs"] for line in lines if line["pgid"] == group]
        assert set(mine[:-2]) == {1} and mine[-1] == 0  # what the kernel tells late has a line too


def test_a_run_log_has_numbers(place):
    toll = place.toll
    script = (f"{toll} mark event start lr=1e-05 epoch=3 name=x id=007 hash=12e4567; "
              f"{toll} mark phase begin load shard=-2; {toll} mark phase end load")
    result = place.run(["sh", "-c", script], ["-o", "run_log.jsonl", "-o", "hw_metrics.csv",
                                              "--gpus", "none", "--layout", "sweep"])
    assert result.status == 0, result.err
    event, phase = map(json.loads, place.path("run_log.jsonl").read_text().splitlines())
    assert event["data"] == {"lr": 1e-05, "epoch": 3, "name": "x", "id": "007", "hash": "12e4567"}
    assert list(phase) == ["ts", "type", "name", "seconds", "shard"] and phase["shard"] == -2
    assert not place.path("hw_metrics.csv").exists()  # of no GPUs there is no file


def test_a_group(place):
    child = place.popen(["sleep", "60"], start_new_session=True)
    try:
        until(lambda: os.getpgid(child.pid) == child.pid, "a group")
        status, out, err = place.call([place.toll, "attach", "--group", child.pid, "--layout",
                                       "spdl,columns=all", "-i", "100ms", "--for", "250ms", "-q"])
    finally:
        child.kill()
        child.wait()
    assert status == 0, err
    lines = [json.loads(line) for line in out.decode().splitlines()]
    assert {line["pgid"] for line in lines} == {child.pid}
    assert {line["num_procs"] for line in lines} == {1}
    assert lines[0]["cpu_percent"] is None and lines[1]["cpu_percent"] is not None
    assert all(line["net_rx_bytes"] >= 0 for line in lines)
    assert sum(line["net_rx_bytes_delta"] for line in lines) == lines[-1]["net_rx_bytes"]


def test_the_machine(place):
    status, out, err = place.call([place.toll, "system", "--layout", "resource-tracker", "-i",
                                   "100ms", "--for", "250ms", "-q"])
    assert status == 0, err
    *_, whole, last = rows(out.decode())  # the last may be too short for a rate
    total = psutil.virtual_memory().total / 1024
    parts = (last[f"memory_{name}"] for name in ("free", "used", "buffers", "cached"))
    assert sum(parts) == pytest.approx(total, abs=1)
    assert 0 <= whole["cpu_usage"] <= os.cpu_count() * 1.5


def test_result_of_a_run(place):
    """On the terminal where the summary stands; each page of one process counts once, as RSS."""
    result = place.call([place.toll, "run", "--layout", "gpu-tracker,ram_unit=bytes", "--",
                         sys.executable, "-c", STEADY.replace("input()", "")])
    status, out, err = result
    assert (status, out) == (0, b"up\n")
    text = err.decode()
    assert text.startswith("Max RAM:\n   Unit: bytes\n   System capacity: ")
    assert text.endswith("\n")
    found = float(re.search(r"Combined:\n +Total RSS: ([\d.]+)", text)[1])
    assert 40e6 < found < 100e6


def test_gpus(place):
    driver = Driver(place, "gpus 2\n" + FIGURES)
    result = driver.run("--gpus", "all", "--layout", "gpu-tracker,gpu_ram_unit=megabytes",
                        "-o", "x.json")
    assert result.status == 0
    found = json.loads(place.path("x.json").read_text())
    assert found["max_gpu_ram"]["system_capacity"] == 2 * 40960.0
    assert found["max_gpu_ram"]["system"] == 2 * 1024.0
    assert found["gpu_utilization"]["system_gpu_count"] == 2
    assert found["gpu_utilization"]["gpu_percentages"]["max_sum_percent"] == 126.0
    assert found["gpu_utilization"]["gpu_percentages"]["max_hardware_percent"] == 63.0
    result = driver.run("--gpus", "0", "--layout", "gpu-tracker", "-o", "y.json")
    found = json.loads(place.path("y.json").read_text())["gpu_utilization"]
    assert (found["system_gpu_count"], found["n_expected_gpus"]) == (2, 1)


def test_sweep_of_gpus(place):
    driver = Driver(place, "gpus 2\n" + FIGURES)
    result = driver.run("--gpus", "all", "-i", "100ms", "--layout", "sweep", "-o", "all/")
    assert result.status == 0, result.err
    directory = place.path("all")
    assert {path.name for path in directory.iterdir()} == {
        "cpu_metrics.csv", "hw_metrics.csv", "hw_dmon.csv", "summary.json"}  # no marks, no log
    for line in (directory / "hw_metrics.csv").read_text().splitlines():
        assert re.fullmatch(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{3}, 63, 21, 1024, 40960, 250\.50, 71, "
                            r"1410, 1215", line)
    heading, units, *lines = (directory / "hw_dmon.csv").read_text().splitlines()
    assert heading.split() == ["#", "gpu", "sm", "mem", "fb"] and units.startswith("# ")
    assert {tuple(line.split()) for line in lines} == {("0", "63", "21", "1024"),
                                                       ("1", "63", "21", "1024")}
    summary = json.loads((directory / "summary.json").read_text())
    assert {key: summary[key] for key in summary if "cpu" not in key} == {
        "peak_vram_mb": 1024.0, "gpu_util_mean_pct": 63.0, "gpu_util_max_pct": 63.0,
        "power_watts_mean": 250.5, "power_watts_max": 250.5, "mem_util_mean_pct": 21.0,
        "mem_util_max_pct": 21.0}
    assert summary["cpu_usr_mean_pct"] >= 0 and summary["cpu_idle_mean_pct"] >= 0
    assert summary["cpu_usr_mean_pct"] + summary["cpu_idle_mean_pct"] <= 100.1


@pytest.mark.parametrize("options, sentence", [
    (["--layout", "parrot"], "--layout: invalid value 'parrot' (expected one of resource-tracker"),
    (["--layout", "resource-tracker"],
     "no output has a type that resource-tracker can write (expected csv;"),
    (["--layout", "resource-tracker", "-o", "x.jsonl"], "(expected csv; add -o FILE"),
    (["--layout", "gpu-tracker,ram_unit=bytes", "-q", "-o", "x.sqlite"],
     "(expected csv json text; add -o FILE with such a suffix); 'gpu-tracker --tf=FILE.sqlite'"),
    (["--layout", "spdl,x=1", "-o", "x.jsonl"], "layout spdl: unknown option 'x=1'"),
    (["--layout", "gpu-tracker,ram_unit=pounds"],
     "layout: invalid ram_unit 'pounds' (expected bytes, kilobytes, megabytes, gigabytes or terabytes)"),
    (["--layout", "gpu-tracker,n_expected_cores=none"], "expected a number above 0"),
    (["--layout", "spdl", "-o", "x/"], "'x/' is a directory, but layout spdl writes a single file"),
    (["--layout", "sweep", "-o", "no/such/place/"], "cannot create directory 'no/such/place/'"),
])
def test_mistakes(place, options, sentence):
    status, out, err = place.call([place.toll, "run", *options, "--", "touch", "was-run"])
    assert (status, out) == (125, b"")
    assert sentence in err.decode() and err.count(b"\n") == 1
    assert list(place.directory.iterdir()) == []


@pytest.mark.parametrize("options", [["--layout", "resource-tracker", "-o", "rows.csv"], ["-f", "csv", "-o", "rows"]])
def test_a_file_of_another_suffix_keeps_its_runs(place, options):
    """.db and .prom tell formats, too: neither a layout nor --format is for them."""
    for more in ([], options):
        result = place.run(["true"], [*more, "-o", "runs.db", "-o", "newest.prom"])
        assert result.status == 0, result.err
    base = sqlite3.connect(place.path("runs.db"))
    assert base.execute("SELECT count(*) FROM runs").fetchone() == (2,)
    base.close()
    assert place.path("newest.prom").read_text().startswith("# TYPE toll_")


def test_not_for_the_machine(place):
    status, _, err = place.call([place.toll, "system", "--layout", "spdl", "-o", "x.jsonl"])
    assert status == 125
    assert b"layout spdl is for processes, not the whole machine" in err


def test_list(place):
    status, out, _ = place.call([place.toll, "layouts", "--json"])
    assert status == 0
    found = {layout["name"]: layout for layout in json.loads(out)}
    assert list(found) == ["resource-tracker", "gpu-tracker", "spdl", "process-metrics", "sweep",
                           "mlflow-system", "nextflow", "snakemake", "prmon", "gnu-time",
                           "github-action-benchmark", "gitlab", "codecarbon"]
    assert [c["name"] for c in found["spdl"]["columns"] if c["columns"] == "spdl"] == [
        "pid", "pgid", "cpu_percent", "rss_bytes", "pss_bytes", "private_bytes", "disk_read_bytes",
        "disk_write_bytes", "num_procs", "net_rx_bytes", "net_tx_bytes"]
    status, out, _ = place.call([place.toll, "layouts", "gpu-tracker"])
    assert status == 0 and b"ram_unit=bytes|kilobytes" in out
    status, _, err = place.call([place.toll, "layouts", "parrot"])
    assert (status, err) == (125, b"toll: unknown layout 'parrot'; see 'toll layouts'\n")


# ---- From the record of the same run -------------------------------------------------------------

# What is written while the run goes, and the record beside it; of JSON lines there is but one sort.
TWICE = {
    "v1.csv": ("resource-tracker", "r.jsonl"),
    "v2.csv": ("resource-tracker,columns=v2", "r.jsonl"),
    "both.csv": ("resource-tracker,columns=combined", "r.sqlite"),
    "points.csv": ("gpu-tracker,ram_unit=bytes", "r.jsonl"),
    "result.json": ("gpu-tracker,time_unit=seconds", "r.jsonl"),
    "result.txt": ("gpu-tracker,n_expected_cores=3", "r.sqlite"),
    "spdl.jsonl": ("spdl", "r.sqlite"),
    "lines.jsonl": ("process-metrics,samples=2", "r.sqlite"),
    "all/": ("sweep", "r.sqlite"),
}


@pytest.mark.parametrize("name", TWICE)
def test_the_record_tells_the_same(here, name):
    place, (layout, record) = here, TWICE[name]
    driver = Driver(place, "gpus 2\n" + FIGURES)
    script = (f"{place.toll} mark phase begin load step=1; sleep 0.15 & "
              "i=0; while [ $i -lt 40000 ]; do i=$((i + 1)); done; "
              f"head -c 2000000 /dev/zero >file; wait; {place.toll} mark phase end load; "
              f"{place.toll} mark event done; {LOOKED}")
    result = driver.run("-i", "50ms", "--gpus", "all", "--system", "--layout", layout, "-o", name,
                        "-o", record, job=["sh", "-c", script])
    assert result.status == 0, result.err
    place.path("again").mkdir()
    place.path("again").chmod(0o777)
    status, _, err = place.call([place.toll, "export", record, "--layout", layout, "-o",
                                 f"again/{name}"])
    assert (status, err) == (0, b"")
    written, again = (
        {path.name: path.read_bytes() for path in (top.iterdir() if top.is_dir() else [top])}
        for top in (place.path(name), place.path(f"again/{name}")))
    assert again == written and all(written.values())


def test_pss_is_read_for_every_row(place):
    """200 MB are freed: the next row that sees less RSS has less PSS, too."""
    script = ("import mmap, os, time\n"
              "block = mmap.mmap(-1, 200 << 20)\n"
              "block.write(b'x' * (200 << 20))\n"
              "def rows():\n"
              "    return open('a.csv').read().count('\\n')\n"
              "def wait(count):\n"
              "    end = time.monotonic() + 60\n"
              "    while rows() < count and time.monotonic() < end:\n"
              "        time.sleep(0.02)\n"
              "wait(rows() + 4)\n"
              "block.close()\n"
              "wait(rows() + 4)\n")
    result = place.run([sys.executable, "-c", script],
                       ["-i", "200ms", "-o", "@resource-tracker:a.csv", "-o", "b.jsonl"])
    assert result.status == 0
    theirs = rows(place.path("a.csv").read_bytes().decode())
    ours = [s["target"]["combined"] for s in records(place.path("b.jsonl"), "sample")]
    ours = ours[len(ours) - len(theirs):]
    assert max(row["pss"] for row in theirs) >= 200 << 10
    freed = [(row["pss"] * 1024, sample["memory_rss_bytes"]) for row, sample in zip(theirs, ours)
             if sample.get("memory_rss_bytes")]
    for pss, rss in freed:
        # RSS is read some milliseconds before, in which memory may have come, not gone: that is
        # awaited in between. The kernel counts RSS roughly, by some pages on each CPU.
        assert pss <= rss + (16 << 20) or rss >= 100 << 20, (pss, rss)
    assert freed[-1][0] < 100 << 20
