# SPDX-License-Identifier: MIT
"""Other tools' columns: tables, rows of frames, outputs, reports."""

import csv
import json
import os
import time

import pytest
import toll
from work import burn


def test_tables():
    found = {one.name: one for one in toll.layouts()}
    assert {"resource-tracker", "spdl", "process-metrics"} <= set(found)
    one = found["process-metrics"]
    assert one.formats == ["jsonl", "mlflow"]
    assert one.interval == 10
    assert [option.name for option in one.options][:2] == ["prefix", "samples"]
    column = next(c for c in one.columns if c.name == "memory_rss_megabytes")
    assert (column.format, column.take, column.type) == ("jsonl", "value", "float")
    assert column.factor == 1 / 1048576
    assert all(c.name and c.terms for one in found.values() for c in one.columns)


def test_rows_of_frames():
    with toll.track(interval=0.02, memory="pss") as t:
        burn(0.1)
    translator = toll.Translator("resource-tracker", pid=4711)
    assert translator.columns == []
    rows = list(translator.translate(t.frames))
    assert translator.columns[:3] == ["timestamp", "pid", "children"]
    assert len(rows) == len(t.frames)
    assert {row["pid"] for row in rows} == {4711}
    assert rows[0]["timestamp"] == pytest.approx(t.frames[0].time, abs=1e-5)
    ticks = sum(row["utime"] + row["stime"] for row in rows)
    cpu = t.summary.target.cpu_user_seconds.total + t.summary.target.cpu_system_seconds.total
    assert ticks == pytest.approx(100 * cpu, abs=2)


def test_rows_of_snapshots():
    translator = toll.Translator("resource-tracker,columns=v2", pid=os.getpid(), since=1)
    start = time.monotonic()
    translator.set_fact(elapsed=0)
    (first,) = translator.rows(toll.snapshot())
    assert first["utime"] is None and first["cpu_usage"] is None
    burn(0.05)
    translator.set_fact(elapsed=time.monotonic() - start)
    (second,) = translator.rows(toll.snapshot())
    assert second["utime"] + second["stime"] >= 0.049
    assert 0 < second["cpu_usage"] < 1.3


def test_the_machine():
    (row,) = toll.Translator("resource-tracker").rows(toll.snapshot(system=True))
    assert list(row)[:2] == ["timestamp", "processes"]
    assert row["memory_free"] > 0


def test_samples_that_make_one_row():
    with toll.track(interval=0.01, system=True) as t:
        time.sleep(0.1)
    rows = list(toll.Translator("process-metrics,samples=3,prefix=p/").translate(t.frames))
    assert len(rows) == -(-len(t.frames) // 3)
    assert "p/memory_rss_megabytes" in rows[0]


def test_mistakes():
    with pytest.raises(ValueError, match="resource-tracker"):
        toll.Translator("no-such-tool")
    with pytest.raises(ValueError, match="columns"):
        toll.Translator("resource-tracker,columns=v9")
    with pytest.raises(ValueError, match="fact"):
        toll.Translator("spdl", colour=3)
    with pytest.raises(TypeError):
        toll.Translator("spdl").rows(3)
    with pytest.raises(ValueError, match="no columns"):
        toll.Translator("spdl").rows(toll.snapshot(system=True))
    with pytest.raises(ValueError, match="no-such-tool"):
        toll.track(outputs=[("csv", "/dev/null", "no-such-tool")])
    with pytest.raises(ValueError, match="format, path, layout"):
        toll.track(outputs=[("csv", "a", "b", "c")])


def test_an_output(tmp_path):
    path = tmp_path / "rows.csv"
    with toll.track(interval=0.02, outputs=[(None, path, "resource-tracker,columns=v2")]) as t:
        burn(0.05)
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, quoting=csv.QUOTE_NONNUMERIC))
    assert t.frame.number <= len(rows) <= t.frame.number + 1  # a sample at once is no row
    assert rows[0]["pid"] == os.getpid()


def test_reports():
    with toll.track() as t:
        assert "target" in json.loads(t.report("json"))
        with pytest.raises(ValueError, match="spdl"):
            t.report("json", "spdl")
    assert json.loads(t.report("json")) == t.summary.to_dict()
    assert t.report() == t.report("text")
    with pytest.raises(RuntimeError, match="reports="):
        t.report("json", "spdl")


def test_frames_until_the_end():
    import subprocess

    process = subprocess.Popen(["sleep", "0.2"])
    t = toll.track(process.pid, interval=0.05).start()
    frames = list(t.until_end())
    process.wait()
    t.stop()
    assert len(frames) >= 2 and t.wait(0)


def test_old_names_keep_working():
    assert toll.dialects is toll.layouts and toll.Dialect is toll.Layout
    translator = toll.Translator("resource-tracker")
    translator.tell(pid=1)
    assert repr(translator) == "<Translator resource-tracker>"
    with toll.track(interval=0.01) as t:
        text = t.report("json", dialect="gpu-tracker")
        assert set(json.loads(text)) == set(json.loads(t.report("json", "gpu-tracker")))
