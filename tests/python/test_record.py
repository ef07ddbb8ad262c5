# SPDX-License-Identifier: MIT
"""read_record: what a tracker has written comes back."""

import json
import os
import time

import pytest
import toll


def measured(tmp_path, suffix, runs=1):
    path = tmp_path / f"runs{suffix}"
    for number in range(runs):
        try:
            with toll.track(interval=0.005, outputs=[path], name=f"run {number}") as t:
                t.event("here", number=number)
                time.sleep(0.02)
        except OSError as error:
            if "without SQLite" in str(error) or "cannot load" in str(error):
                pytest.skip("there is no SQLite here")
            raise
    return path, t


def last_line(path):
    return list(toll.read_record(path))[-1]


def test_a_jsonl_file(tmp_path):
    path, _ = measured(tmp_path, ".jsonl")
    lines = list(toll.read_record(path))
    assert lines == [json.loads(line) for line in path.read_text().splitlines()]
    assert lines == list(toll.read_record(str(path), run=1))


def test_a_sqlite_file(tmp_path):
    path, t = measured(tmp_path, ".db", runs=2)
    lines = list(toll.read_record(path))
    assert [line["name"] for line in lines if line["type"] == "run"] == ["run 0", "run 1"]
    second = list(toll.read_record(path, run=2))
    assert (second[0]["type"], second[-1]["type"]) == ("run", "summary")
    assert second == lines[-len(second):]
    (event,) = [line for line in second if line.get("name") == "here"]
    assert event["attributes"] == {"number": "1"}
    last = [line for line in second if line["type"] == "sample"][-1]
    assert last["target"]["combined"]["cpu_seconds"] == t.summary.target.cpu_seconds.total


def test_while_it_is_written(tmp_path):
    """By this very process, whose sampler has descriptors of its own."""
    path, _ = measured(tmp_path, ".db")
    with toll.track(interval=0.005, outputs=[f"{path},every=10ms"]):
        end = time.monotonic() + 60
        while not any("still being measured" in note for note in last_line(path)["notes"]):
            assert time.monotonic() < end, last_line(path)
            time.sleep(0.01)
    assert last_line(path)["notes"] == []


def test_mistakes(tmp_path):
    with pytest.raises(FileNotFoundError):
        toll.read_record(tmp_path / "none.jsonl")
    (tmp_path / "text.jsonl").write_text("hello\n")
    with pytest.raises(Exception, match="not a record"):
        toll.read_record(tmp_path / "text.jsonl")
    path, _ = measured(tmp_path, ".jsonl")
    with pytest.raises(FileNotFoundError, match="no run 7"):
        toll.read_record(path, run=7)
    with pytest.raises(ValueError, match="expected 1 or more"):
        toll.read_record(path, run=0)
    with pytest.raises(TypeError, match="expected a number"):
        toll.read_record(path, run="1")


def test_nothing_is_left_open(tmp_path):
    path, _ = measured(tmp_path, ".jsonl")
    before = os.listdir("/proc/self/fd")
    for _ in range(3):
        list(toll.read_record(path))
        next(toll.read_record(path))
        with pytest.raises(FileNotFoundError):
            toll.read_record(path, run=9)
    assert os.listdir("/proc/self/fd") == before
