# SPDX-License-Identifier: MIT
"""Time series of a busy job: whole lines, counters that never fall, parts that make a whole."""
import csv
import json
import os
import random
import signal
import subprocess
import time

import pytest
from livelib import PAGE, TICK, children_of, records, until

# Forks all the time, on both cores, with I/O; about a second.
BUSY = ("work() { i=0; while [ $i -lt 150 ]; do /bin/true; dd if=/dev/zero of=out$1 bs=4k count=4 "
        "status=none; i=$((i+1)); done; }; work 1 & work 2 & wait; $HELPER 100")


@pytest.fixture(scope="module")
def series(lasting_place):
    """One run, at 10 ms, in both forms."""
    place = lasting_place
    script = BUSY.replace("$HELPER", place.helper("burn"))
    result = place.run(["sh", "-c", script],
                       ["-i", "10ms", "-o", "x.jsonl", "-o", "x.csv", "--processes", "all"])
    assert result.status == 0, result.err
    return result, place.path("x.jsonl"), place.path("x.csv")


def numbers(row):
    return {name: float(value) for name, value in row.items() if value not in ("", None)
            and name != "time"}


def counters(toll):
    rows = json.loads(subprocess.run([toll, "metrics", "--json"], capture_output=True,
                                     check=True).stdout)
    rows = rows["metrics"] if isinstance(rows, dict) else rows
    return {r["name"] for r in rows if r["kind"] == "counter" and r["entity"] == "process"}


def test_counters_never_fall(series, programs):
    _, jsonl, comma = series
    names = counters(programs[0])
    assert "cpu_seconds" in names and "io_written_bytes" in names
    samples = records(jsonl, "sample")
    assert len(samples) >= 20
    for part in ("combined", "main", "descendants"):
        for name in names:
            values = [s["target"][part].get(name) for s in samples]
            values = [v for v in values if v is not None]
            assert values == sorted(values), (part, name)
    with comma.open() as f:
        rows = [numbers(row) for row in csv.DictReader(f)]
    assert len(rows) == len(samples)
    for name in names:
        values = [row[f"target_{name}"] for row in rows if f"target_{name}" in row]
        assert values == sorted(values), name


def test_csv_and_jsonl_tell_the_same(series):
    _, jsonl, comma = series
    with comma.open() as f:
        rows = list(csv.DictReader(f))
    for sample, row in zip(records(jsonl, "sample"), rows):
        for part, prefix in (("combined", "target"), ("main", "main"),
                             ("descendants", "descendants")):
            for name, value in sample["target"][part].items():
                if isinstance(value, (dict, str)):
                    continue
                told = row[f"{prefix}_{name}"]
                assert (told == "") if value is None else float(told) == value, name


def test_time_is_monotonic(series):
    """elapsed grows, and interval is the step from the sample before."""
    samples = records(series[1], "sample")
    before = 0
    for s in samples:
        assert s["elapsed_seconds"] > before
        assert s["interval_seconds"] == pytest.approx(s["elapsed_seconds"] - before, abs=2e-9)
        assert s["target"]["combined"]["wall_seconds"] == pytest.approx(s["elapsed_seconds"], abs=2e-9)
        before = s["elapsed_seconds"]
    assert [s["tick"] for s in samples] == list(range(len(samples)))


def test_parts_make_the_whole(series):
    """main + descendants = combined for everything that adds up, in every sample."""
    result, jsonl, _ = series
    before = None
    for s in records(jsonl, "sample"):
        parts = s["target"]
        for name in ("cpu_seconds", "io_written_bytes", "faults_minor", "memory_rss_bytes",
                     "processes", "threads"):
            main, descendants, combined = (parts[p].get(name) for p in ("main", "descendants", "combined"))
            if None in (main, descendants, combined):
                continue
            # A counter of a part never falls: when what was read last of a process was more than
            # what the kernel counts at its end, the part is held where it was. For CPU that is a
            # tick of 10 ms at most.
            held = before and descendants == before["descendants"].get(name) and main + descendants > combined
            slack = 2 * TICK if name == "cpu_seconds" else 0
            assert held or main + descendants == pytest.approx(combined, abs=slack), (name, s["tick"])
        before = parts
    for name in ("cpu_seconds", "io_written_bytes", "io_read_calls", "faults_minor"):
        assert result.total(name, "main") + result.total(name, "descendants") == pytest.approx(
            result.total(name), abs=2 * TICK if name == "cpu_seconds" else 0), name


def test_mean_is_total_over_time(series):
    result, jsonl, _ = series
    cores = result.figure("cpu_cores")
    wall = result.total("wall_seconds")
    # Rounded to nanoseconds and to nine decimals: the product is exact to a microsecond.
    assert cores["mean"] * wall == pytest.approx(result.total("cpu_seconds"), abs=1e-6)
    assert cores["min"] <= cores["mean"] <= cores["max"] * (1 + 1e-9)
    # The steps add up to the same total: cores × interval over all samples but the last, which has
    # what came to light at the end. When the kernel tells more in one moment than there are CPUs,
    # the next samples have the rest.
    samples = records(jsonl, "sample")
    area = sum(s["target"]["combined"]["cpu_cores"] * s["interval_seconds"] for s in samples[:-1])
    known = samples[-2]["target"]["combined"]["cpu_seconds"]
    # cpu_cores has six decimals: half a millionth of a core a sample, over the whole run.
    assert area <= known + 1e-6 * wall + 1e-6
    assert area >= known - os.cpu_count() * 10 * TICK


def test_last_sample_is_the_total(series):
    result, jsonl, _ = series
    last = records(jsonl, "sample")[-1]["target"]["combined"]
    for name in ("cpu_seconds", "io_written_bytes", "faults_minor", "switches_voluntary"):
        assert last[name] == pytest.approx(result.total(name), abs=1e-9), name


def test_peak_is_no_less_than_the_mean(place):
    """A run just over two windows of 100 ms: the rest of it must not be left out of the peak."""
    result = place.run([place.helper("burn"), "20", "0", "180"], ["-i", "10ms"])
    again = place.run(["sh", "-c", f"sleep 0.21; {place.helper('burn')} 30"], ["-i", "10ms"])
    for r in (result, again):
        cores = r.figure("cpu_cores")
        assert cores["min"] <= cores["mean"] <= cores["max"] * (1 + 1e-9)


def test_no_more_cores_than_there_are(place):
    """Times of ended children come to light in ticks, and the rest at the end, when the job slept."""
    script = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do true; $0 -c :; done; sleep 0.2"
    place.run(["sh", "-c", script, "sh"], ["-o", place.path("x.jsonl")])
    samples = records(place.path("x.jsonl"), "sample")
    for sample in samples:
        for part in sample["target"].values():
            assert part["cpu_cores"] is None or part["cpu_cores"] <= os.cpu_count()
    last = samples[-1]
    known = last["target"]["combined"]["cpu_cores"] is not None
    assert known == (last["interval_seconds"] >= 0.25)


def test_one_record_for_every_process_that_ended(series):
    """Those that were seen: each under its own identity, once."""
    ended = records(series[1], "process")
    keys = [(r["pid"], r["start_ticks"]) for r in ended]
    assert len(keys) == len(set(keys))
    assert len(ended) == series[0].total("processes_started")


def whole_lines(path):
    """The lines of a file whose writer was killed. In the middle of a write the kernel looks for a
    fatal signal between two pages: the last line may be cut there, and nowhere else."""
    text = path.read_bytes()
    whole, _, rest = text.rpartition(b"\n")
    assert not rest or len(text) % PAGE == 0, "the last line is cut"
    return whole.decode().splitlines()


def test_killed_toll_leaves_a_valid_prefix(here):
    """SIGKILL at twenty moments: every line that is there is whole."""
    moments = random.Random(20)
    for i in range(20):
        with here.popen([here.toll, "run", "-q", "-i", "1ms", "--processes", "all",
                         "-o", f"x{i}.jsonl", "-o", f"x{i}.csv", "--", "sleep", "60"]) as p:
            until(lambda: here.path(f"x{i}.csv").exists() and
                  here.path(f"x{i}.csv").stat().st_size, "a first line")
            time.sleep(moments.uniform(0, 0.1))
            sleeping = int(until(lambda: child(p.pid), "a command"))
            p.send_signal(signal.SIGKILL)
        here.call(["kill", str(sleeping)])
        kinds = [json.loads(line)["type"] for line in whole_lines(here.path(f"x{i}.jsonl"))]
        assert kinds[0] == "run"
        assert set(kinds[1:]) <= {"sample"}
        lines = list(csv.reader(whole_lines(here.path(f"x{i}.csv"))))
        assert {len(line) for line in lines} == {len(lines[0])}


def child(pid):
    return (children_of(pid) or [0])[0]
