# SPDX-License-Identifier: MIT
"""toll export to SQLite: the same as was written live, however small the queue is."""

import json

import pytest

import recorded
import sqlite_record
from test_export import toll


@pytest.mark.parametrize("run", ["marks", "machine-server", "attach-groups"])
def test_is_the_record(run, tmp_path):
    record = tmp_path / "a.jsonl"
    assert toll("replay", "-q", "-o", record, recorded.fixture_of(run)).returncode == 0
    done = toll("export", record, "-o", tmp_path / "b.sqlite")
    assert (done.returncode, done.stderr) == (0, b"")
    sqlite_record.compare(record, tmp_path / "b.sqlite")


def test_nothing_is_dropped_for_want_of_room(tmp_path):
    """Far more than the queue takes, as fast as it can be read."""
    record = tmp_path / "a.jsonl"
    assert toll("replay", "-q", "-o", record, recorded.fixture_of("marks")).returncode == 0
    lines = record.read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith('{"type":"sample"'))
    sample = json.loads(lines[first])
    many = [json.dumps({**sample, "tick": tick, "elapsed_seconds": tick / 100})
            for tick in range(4000)]
    record.write_text("\n".join([lines[0], *many]) + "\n")
    done = toll("export", "-q", record, "-o", f"{tmp_path}/b.sqlite,queue=64KiB")
    assert (done.returncode, done.stderr) == (0, b"")
    db = sqlite_record.connect(tmp_path / "b.sqlite")
    assert [row["tick"] for row in db.execute("SELECT tick FROM samples ORDER BY tick")] == list(range(4000))
    db.close()
