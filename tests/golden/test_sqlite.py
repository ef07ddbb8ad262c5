# SPDX-License-Identifier: MIT
"""Every recorded run as a SQLite file, against its record: to the digit, in both directions."""

import sqlite3
import subprocess

import pytest

import recorded
import sqlite_record

if subprocess.run([recorded.TOLL, "replay", "-q", "-o", "/nonexistent/x.sqlite",
                   recorded.FIXTURES / "marks"], capture_output=True,
                  check=False).stderr.find(b"without SQLite") >= 0:
    pytest.skip("built without SQLite", allow_module_level=True)


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    """All runs in one file, one after the other."""
    directory = tmp_path_factory.mktemp("sqlite")
    for number, (run, options) in enumerate(recorded.RUNS.items(), 1):
        done = recorded.replay(recorded.fixture_of(run), *options, "-q", "-o",
                               directory / "all.sqlite", "-o", directory / f"{number}.jsonl")
        assert (done.returncode, done.stderr) == (0, b""), run
    return directory


@pytest.mark.parametrize("number, run", enumerate(recorded.RUNS, 1))
def test_is_the_record(number, run, written):
    sqlite_record.compare(written / f"{number}.jsonl", written / "all.sqlite", number)


def test_no_file_is_left_beside_it(written):
    assert sorted(path.name for path in written.glob("all*")) == ["all.sqlite"]


def test_it_says_what_it_is(written):
    db = sqlite3.connect(written / "all.sqlite")
    assert db.execute("PRAGMA application_id").fetchone()[0] == int.from_bytes(b"toll", "big")
    assert db.execute("PRAGMA user_version").fetchone()[0] == 1
    tables = db.execute("SELECT name, wr, strict FROM pragma_table_list WHERE type = 'table' AND "
                        "name NOT LIKE 'sqlite_%'").fetchall()
    assert all(strict for _, _, strict in tables)
    assert [name for name, without_rowid, _ in tables if not without_rowid] == ["runs"]
    assert db.execute("PRAGMA foreign_key_check").fetchall() == []


def test_views_can_be_read(written):
    """Every view, by the shell too: it is the second reader."""
    db = sqlite3.connect(written / "all.sqlite")
    views = [name for name, in db.execute("SELECT name FROM sqlite_schema WHERE type = 'view'")]
    assert {"timeline", "run_list", "process_list", "phase_list", "figures", "target_timeline",
            "system_timeline", "disk_timeline"} <= set(views)
    for view in views:
        rows = db.execute(f"SELECT * FROM {view}").fetchall()
        done = subprocess.run(["sqlite3", "-batch", "-newline", "\x01", "-nullvalue", "\x02",
                               written / "all.sqlite", f"SELECT * FROM {view}"],
                              capture_output=True, text=True, check=False)
        if done.returncode == 0:
            assert done.stdout.count("\x01") == len(rows), view


def test_timeline_has_the_columns_of_csv(written, tmp_path):
    done = recorded.replay(recorded.FIXTURES / "this-machine", "-q", "-o", tmp_path / "x.csv")
    assert done.returncode == 0
    header, first = (tmp_path / "x.csv").read_text().splitlines()[:2]
    number = list(recorded.RUNS).index("this-machine") + 1
    db = sqlite_record.connect(written / "all.sqlite")
    row = db.execute("SELECT * FROM timeline WHERE run = ? ORDER BY elapsed_seconds LIMIT 1",
                     (number,)).fetchone()
    for column, text in zip(header.split(","), first.split(",")):
        if column == "time":
            assert row[column] == text
        elif text == "":
            assert row[column] is None
        else:
            assert abs(row[column] - float(text)) <= 5e-7


def test_a_run_can_be_removed(written, tmp_path):
    copy = tmp_path / "copy.sqlite"
    copy.write_bytes((written / "all.sqlite").read_bytes())
    db = sqlite3.connect(copy)
    db.execute("PRAGMA foreign_keys = ON")
    db.execute("DELETE FROM runs WHERE run = 3")
    db.commit()
    for (table,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
        assert db.execute(f"SELECT count(*) FROM {table} WHERE run = 3").fetchone() == (0,)
    assert db.execute("SELECT count(*) FROM runs").fetchone() == (len(recorded.RUNS) - 1,)
