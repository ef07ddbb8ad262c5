# SPDX-License-Identifier: MIT
"""A tracker in the background writes a SQLite file, which the same program reads with its own SQLite.
Both are in one process, with descriptors of their own: neither may disturb the other."""

import os
import sqlite3
import time

import pytest
import toll


def track(path, **options):
    try:
        return toll.track(interval=0.005, outputs=[f"{path},every=20ms"], **options)
    except (toll.Error, OSError) as error:
        if "without SQLite" in str(error) or "cannot load" in str(error):
            pytest.skip("there is no SQLite here")
        raise


def until(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def samples(db):
    return db.execute("SELECT count(*) FROM samples").fetchone()[0]


def test_read_by_the_program_itself(tmp_path):
    path = tmp_path / "x.sqlite"
    with track(path) as t:
        db = sqlite3.connect(path)
        until(lambda: samples(db) > 3)
        seen = samples(db)
        with t.phase("load"):
            until(lambda: samples(db) > seen + 3)
        other = sqlite3.connect(path)  # come and gone while it is written
        assert samples(other) > seen
        other.close()
    assert db.execute("SELECT name FROM phases").fetchall() == [("load",)]
    assert db.execute("SELECT count(*) FROM timeline").fetchone()[0] == samples(db)
    assert db.execute("SELECT wall_ns > 0 FROM runs").fetchall() == [(1,)]
    assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    db.close()
    assert os.listdir(tmp_path) == ["x.sqlite"]


def test_two_trackers_and_one_file(tmp_path):
    path = tmp_path / "x.sqlite"
    with track(path, name="a") as a, track(path, name="b") as b:
        db = sqlite3.connect(path)
        until(lambda: db.execute("SELECT count(DISTINCT run) FROM samples").fetchone()[0] == 2)
    assert sorted(db.execute("SELECT name, wall_ns > 0 FROM runs").fetchall()) == [
        ("a", 1), ("b", 1)]
    for t in (a, b):
        assert t.summary is not None
    assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    db.close()


def test_program_that_goes_elsewhere(tmp_path, python):
    """It changes its directory and closes everything it has."""
    python(f"""
import os, time, toll
os.chdir({str(tmp_path)!r})
with toll.track(interval=0.005, outputs=["x.sqlite,every=20ms"]) as t:
    os.chdir("/")
    os.closerange(3, 1000)
    mine = open({str(tmp_path / 'mine')!r}, "w+")
    time.sleep(0.3)
mine.write("untouched")
mine.close()
""")
    assert (tmp_path / "mine").read_text() == "untouched"
    db = sqlite3.connect(tmp_path / "x.sqlite")
    assert samples(db) > 3
    assert db.execute("SELECT wall_ns > 0 FROM runs").fetchall() == [(1,)]
    db.close()
    assert sorted(os.listdir(tmp_path)) == ["mine", "x.sqlite"]
