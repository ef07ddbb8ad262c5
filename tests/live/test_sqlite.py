# SPDX-License-Identifier: MIT
"""SQLite files of live runs: the same as the record, shared, read while written, and failing well.
Python's own module reads them."""
import concurrent.futures
import json
import os
import pathlib
import re
import signal
import sqlite3
import subprocess
import sys
import time

import pytest
from livelib import (IS_ROOT, job_until, needs_root, not_sanitized, noted, records, small_disk,
                     until)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "golden"))
import sqlite_record  # noqa: E402

MARKS = """$TOLL mark phase begin load kind=quick
head -c 100000 /dev/zero >data
$TOLL mark event saved path='a b'
$TOLL mark gauge loss 0.1
$TOLL mark phase end load
sleep 0.05 & sh -c 'exit 3'; wait"""


@pytest.fixture(autouse=True)
def built_in(here):
    status, _, err = here.call([here.toll, "run", "-q", "-o", "/nonexistent/x.sqlite", "true"])
    if b"without SQLite" in err or b"cannot load" in err:
        pytest.skip("there is no SQLite here")


def one(path, question, *values):
    """The first value of the first row."""
    db = sqlite3.connect(path, timeout=20)
    try:
        return db.execute(question, values).fetchone()[0]
    finally:
        db.close()


def beside(path):
    """What lies beside the file and belongs to it."""
    return sorted(p.name for p in path.parent.glob(path.name + "?*"))


def sentences(err):
    return [line for line in err.decode().splitlines() if line.startswith("toll: ")]


@pytest.mark.parametrize("options", [[], ["--system", "--network", "--processes", "all"],
                                     ["-m", "cpu_*,memory_rss_bytes", "--no-children"]],
                         ids=["plain", "all", "some"])
def test_is_the_record(place, options):
    environment = {**os.environ, "TOLL": place.toll}
    status, _, err = place.call([place.toll, "run", "-q", "-i", "5ms", *options, "-o", "x.jsonl",
                                 "-o", "x.sqlite,every=20ms", "-o", "x.csv", "--", "sh", "-c",
                                 MARKS], env=environment)
    assert (status, err) == (0, b"")
    assert beside(place.path("x.sqlite")) == []
    sqlite_record.compare(place.path("x.jsonl"), place.path("x.sqlite"))
    # … and is read again as such.
    assert place.call([place.toll, "export", "x.sqlite", "-o", "y.csv", "-o", "y.jsonl"])[0] == 0
    assert place.path("y.csv").read_bytes() == place.path("x.csv").read_bytes()
    sqlite_record.compare(place.path("y.jsonl"), place.path("x.sqlite"))


def test_several_targets(here):
    with here.popen(["sleep", "60"]) as a, here.popen([here.helper("burn"), "200", "0", "0"]) as b:
        try:
            status, _, err = here.call(
                [here.toll, "attach", "-q", "-i", "10ms", "--for", "100ms", "--processes", "all",
                 "-o", "x.jsonl", "-o", "x.sqlite", f"first={a.pid}", str(b.pid)])
        finally:
            a.kill()
    assert (status, err) == (0, b"")
    sqlite_record.compare(here.path("x.jsonl"), here.path("x.sqlite"))


def test_many_write_at_once(place):
    """The file is made by whoever comes first."""
    def run(code):
        return place.call([place.toll, "run", "-q", "-i", "5ms", "-o", f"{code}.jsonl", "-o",
                           "all.sqlite,every=10ms", "--name", str(code), "--", "sh", "-c",
                           f"sleep 0.2; exit {code}"])

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        for code, (status, _, err) in enumerate(pool.map(run, range(6))):
            assert (status, err) == (code, b"")
    path = place.path("all.sqlite")
    assert beside(path) == []
    db = sqlite3.connect(path)
    runs = db.execute("SELECT run, name, code FROM runs").fetchall()
    db.close()
    assert sorted((name, code) for _, name, code in runs) == [(str(i), i) for i in range(6)]
    for run, name, _ in runs:
        sqlite_record.compare(place.path(f"{name}.jsonl"), path, run)


def test_read_while_it_is_written(place):
    path = place.path("x.sqlite")
    with place.popen([place.toll, "run", "-q", "-i", "5ms", "-o", "x.sqlite,every=10ms", "--",
                      "sleep", "60"]) as p:
        try:
            until(path.exists, "a file")
            until(lambda: one(path, "SELECT count(*) FROM sqlite_schema") and
                  one(path, "SELECT count(*) FROM samples") >= 3, "samples")
            db = sqlite3.connect(path)  # one reader that stays, and holds on to what it saw
            db.execute("BEGIN")
            seen = db.execute("SELECT count(*) FROM timeline").fetchone()
            until(lambda: one(path, "SELECT count(*) FROM samples") >= seen[0] + 3, "more samples")
            assert db.execute("SELECT count(*) FROM timeline").fetchone() == seen
            assert db.execute("SELECT status, wall_ns FROM runs").fetchall() == [(None, None)]
            status, out, err = place.call([place.toll, "export", "x.sqlite"])
            assert status == 0 and out.count(b"\n") > seen[0] and b"still being measured" in err
            db.close()
        finally:
            p.terminate()
            p.wait()
    assert one(path, "SELECT signal FROM runs") == 15
    assert beside(path) == []


@needs_root
def test_another_user_sees_that_it_runs(here, nobody):
    """Who may not look at what the writer has open."""
    path = here.path("x.sqlite")
    here.directory.chmod(0o755)
    with here.popen([here.toll, "run", "-q", "-o", path, "--", "sleep", "60"]) as p:
        try:
            until(lambda: here.call([here.toll, "list", path])[0] == 0, "a run")
            status, out, err = nobody.call([nobody.toll, "list", "--json", path])
            assert status == 0, err
            assert json.loads(out)[0]["status"] == "running"
        finally:
            p.kill()
            p.wait()
    status, out, _ = nobody.call([nobody.toll, "list", "--json", path])
    assert status == 0 and json.loads(out)[0]["status"] == "unknown"


def test_a_finished_file_can_be_read_anywhere(nobody):
    path = nobody.path("x.sqlite")
    assert nobody.call([nobody.toll, "run", "-q", "-o", path, "true"])[0] == 0
    path.chmod(0o444)
    nobody.directory.chmod(0o555)
    script = ("import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute("
              "'SELECT count(*) > 0 FROM timeline').fetchone())")
    status, out, err = nobody.call(["/usr/bin/python3", "-c", script, path])
    nobody.directory.chmod(0o755)
    assert (status, out) == (0, b"(1,)\n"), err


def test_somebody_else_writes(here):
    """A lock that is held for longer than toll waits: nothing is lost, and the job does not care."""
    path = here.path("x.sqlite")
    assert here.call([here.toll, "run", "-q", "-o", path, "true"])[0] == 0
    begin = time.monotonic()
    with here.popen([here.toll, "run", "-q", "-i", "10ms", "-o", "x.sqlite,every=10ms", "-o",
                     "x.jsonl", "--", here.helper("burn"), "0", "0", "1500", "7"],
                    stderr=subprocess.PIPE) as p:
        until(lambda: one(path, "SELECT count(*) FROM samples WHERE run = 2") >= 3, "samples")
        db = sqlite3.connect(path, isolation_level=None, timeout=20)
        db.execute("BEGIN IMMEDIATE")
        until(lambda: time.monotonic() - begin > 1.2, "a while")
        db.execute("ROLLBACK")
        db.close()
        _, err = p.communicate(timeout=60)
    assert p.returncode == 7
    assert len(sentences(err)) <= 1  # at the most that it is locked, once
    lines = records(here.path("x.jsonl"), "sample")
    assert one(path, "SELECT count(*) FROM samples WHERE run = 2") == len(lines)


class Locked:
    """A run that ends while another program holds the lock of its file."""

    def __init__(self, here, options=""):
        self.here, self.path = here, here.path("x.sqlite")
        assert here.call([here.toll, "run", "-q", "-o", "x.sqlite", "true"])[0] == 0
        self.db = sqlite3.connect(self.path, isolation_level=None, timeout=20)
        self.db.execute("BEGIN EXCLUSIVE")
        self.run = here.popen([here.toll, "run", "-q", "-o", "x.sqlite" + options, "--", "sh", "-c",
                               "touch ended; exit 7"], stderr=subprocess.PIPE)
        until(here.path("ended").exists, "the end of the command")

    def release(self):
        self.db.execute("ROLLBACK")
        self.db.close()

    def end(self):
        _, err = self.run.communicate(timeout=60)
        return self.run.returncode, err.decode()


def test_a_lock_at_the_end_is_waited_for(here):
    """For longer than a server that does not answer: the file will be free again."""
    locked = Locked(here)
    time.sleep(7)
    locked.release()
    assert locked.end() == (7, "")
    assert one(locked.path, "SELECT count(*) FROM runs WHERE code = 7") == 1


@pytest.mark.parametrize("how", ["grace", "signal"])
def test_a_lock_that_stays(here, how):
    """The wait has an end, and the message is that the run is missing."""
    locked = Locked(here, ",grace=100ms" if how == "grace" else "")
    if how == "signal":
        time.sleep(0.5)
        locked.run.send_signal(signal.SIGTERM)
    status, err = locked.end()
    locked.release()
    assert status == 7
    assert re.fullmatch("toll: x.sqlite: the run was not saved, ([0-9]+) of \\1 samples lost: database is "
                        "locked\n", err)
    assert one(locked.path, "SELECT count(*) FROM runs") == 1


def test_a_hundred_runs_at_once(here):
    """They start together: the file is made, and then written, by all of them at the same moment."""
    runs = [here.popen([here.toll, "run", "-q", "--label", f"i={i}", "-o", "x.sqlite", "--", "sh", "-c",
                        f"exit {i}"], stderr=subprocess.PIPE) for i in range(100)]
    ends = [(run.communicate(timeout=200)[1], run.returncode) for run in runs]
    assert ends == [(b"", i) for i in range(100)]
    assert one(here.path("x.sqlite"), "SELECT group_concat(code) FROM (SELECT code FROM runs ORDER BY code)"
               ) == ",".join(map(str, range(100)))


# ---- Files that are not ours ---------------------------------------------------------------------


def foreign(path, kind):
    if kind == "text":
        path.write_text("no database\n" * 100)
    elif kind == "short":
        path.write_bytes(b"SQLite format 3\0")
    else:
        db = sqlite3.connect(path)
        db.execute(f"PRAGMA journal_mode = {kind}")
        db.execute("CREATE TABLE theirs (a)")
        db.execute("INSERT INTO theirs VALUES (1)")
        db.commit()
        db.close()


@pytest.mark.parametrize("kind", ["text", "short", "wal", "delete"])
def test_foreign_file(place, kind):
    path = place.path("x.sqlite")
    foreign(path, kind)
    path.chmod(0o666)
    before = path.read_bytes()
    status, out, err = place.call([place.toll, "run", "-o", path, "--", "touch", "ran"])
    assert (status, out) == (125, b"")
    assert err.count(b"\n") == 1 and b"x.sqlite" in err and b"left unchanged" in err
    assert path.read_bytes() == before and beside(path) == []
    assert not place.path("ran").exists()


def test_file_of_a_newer_toll(here):
    path = here.path("x.sqlite")
    assert here.call([here.toll, "run", "-q", "-o", path, "true"])[0] == 0
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    db.close()
    before = path.read_bytes()
    status, _, err = here.call([here.toll, "run", "-o", path, "--", "touch", "ran"])
    assert status == 125 and b"newer toll" in err and b"99" in err
    assert path.read_bytes() == before and not here.path("ran").exists()


def test_file_of_an_older_toll(here):
    """Columns and a table that were not known then."""
    path = here.path("x.sqlite")
    assert here.call([here.toll, "run", "-q", "-o", path, "true"])[0] == 0
    db = sqlite3.connect(path)
    for (view,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'view'").fetchall():
        db.execute(f"DROP VIEW {view}")
    for table in ("target_samples", "process_samples", "processes"):
        db.execute(f"ALTER TABLE {table} DROP COLUMN memory_rss_bytes")
    db.execute("DROP TABLE gpu_samples")
    db.commit()
    db.close()
    assert here.call([here.toll, "run", "-q", "-o", path, "-o", "x.jsonl", "sleep", "0.1"])[0] == 0
    sqlite_record.compare(here.path("x.jsonl"), path, 2)
    assert one(path, "SELECT count(target_memory_rss_bytes) FROM timeline WHERE run = 1") == 0
    assert one(path, "SELECT count(target_memory_rss_bytes) FROM timeline WHERE run = 2") > 0


def test_empty_file_is_taken(here):
    here.path("x.sqlite").touch()
    assert here.call([here.toll, "run", "-q", "-o", "x.sqlite", "true"])[0] == 0
    assert one(here.path("x.sqlite"), "SELECT count(*) FROM runs") == 1


@pytest.mark.parametrize("place_name", ["nowhere/x.sqlite", "directory.sqlite"])
def test_no_place(place, place_name):
    place.path("directory.sqlite").mkdir()
    status, _, err = place.call([place.toll, "run", "-o", place_name, "--", "touch", "ran"])
    assert status == 125 and err.count(b"\n") == 1 and place_name.encode() in err
    assert not place.path("ran").exists()


@pytest.mark.parametrize("what", ["file", "directory"])
def test_read_only(nobody, what):
    if not IS_ROOT and os.geteuid() == 0:
        pytest.skip("this user may write anywhere")
    directory = nobody.path("locked")
    directory.mkdir()
    directory.chmod(0o777)
    path = directory / "x.sqlite"
    assert nobody.call([nobody.toll, "run", "-q", "-o", path, "true"])[0] == 0
    (path if what == "file" else directory).chmod(0o444 if what == "file" else 0o555)
    status, _, err = nobody.call([nobody.toll, "run", "-o", path, "--", "touch", "ran"])
    directory.chmod(0o777)
    assert status == 125 and err.count(b"\n") == 1 and b"Permission denied" in err
    assert not nobody.path("ran").exists()


def test_command_that_does_not_start(place):
    """A new file goes again; one with runs in it stays."""
    path = place.path("x.sqlite")
    assert place.call([place.toll, "run", "-o", path, "/no/such/command"])[0] == 127
    assert not path.exists() and beside(path) == []
    assert place.call([place.toll, "run", "-q", "-o", path, "true"])[0] == 0
    assert place.call([place.toll, "run", "-o", path, "/no/such/command"])[0] == 127
    assert one(path, "SELECT count(*) FROM runs") == 1


def test_a_damaged_file_takes_no_run(here):
    """Rows that nobody could read again are not said to be written."""
    path = here.path("x.sqlite")
    assert here.call([here.toll, "run", "-q", "-o", path, "--", "true"])[0] == 0
    text = bytearray(path.read_bytes())
    text[5000:8000] = bytes(i * 37 % 251 for i in range(3000))
    path.write_bytes(text)
    status, _, err = here.call([here.toll, "run", "-q", "-o", path, "--", "touch", here.path("ran")])
    assert status == 125 and b"damaged" in err and not here.path("ran").exists()
    assert path.read_bytes() == text


def test_a_run_is_there_from_its_start(here):
    """Before the time is over in which samples gather."""
    path = here.path("x.sqlite")
    with here.popen([here.toll, "run", "-q", "-o", f"{path},every=100s", "--", "sleep", "60"],
                    start_new_session=True) as p:
        try:
            until(lambda: here.call([here.toll, "list", path])[0] == 0, "a run in the file")
        finally:
            os.killpg(p.pid, signal.SIGKILL)


def test_same_file_twice(here):
    status, _, err = here.call([here.toll, "run", "-o", "x.sqlite", "-o", "./x.sqlite", "true"])
    assert status == 125 and b"x.sqlite" in err


# ---- While it runs -------------------------------------------------------------------------------


@needs_root
def test_disk_that_fills_up(here):
    with small_disk(here, "600k") as small:
        begin = time.monotonic()
        status, _, err = here.call(
            [here.toll, "run", "-i", "1ms", "--processes", "all", "-o",
             f"{small}/x.sqlite,every=20ms", "-o", "good.jsonl", "--", "sh", "-c",
             job_until(noted("disk is full", path="good.jsonl")) + "; sleep 0.1; exit 7"])
        took = time.monotonic() - begin
        assert status == 7
        assert len([line for line in sentences(err) if "the job continues" in line]) == 1
        assert b"disk is full" in err
        summary, = records(here.path("good.jsonl"), "summary")
        assert took < summary["wall_seconds"] + 4, "it does not wait for a disk that stays full"
        output, *_ = summary["outputs"]
        assert not output["complete"] and output["dropped"] > 0
        db = sqlite3.connect(small / "x.sqlite")
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        ticks = [tick for tick, in db.execute("SELECT tick FROM samples ORDER BY tick")]
        assert ticks and len(ticks) == output["delivered"]
        assert db.execute("SELECT count(*) FROM target_samples").fetchone()[0] == 3 * len(ticks)
        db.close()


@needs_root
def test_room_again(here):
    """What a full disk left in the log is no reason to refuse the file."""
    with small_disk(here, "340k") as small:
        again = [here.toll, "run", "-q", "-o", f"{small}/x.sqlite", "--", "true"]
        here.call([here.toll, "run", "-q", "-i", "1ms", "--processes", "all", "-o",
                   f"{small}/x.sqlite,every=20ms", "-o", "good.jsonl", "--", "sh", "-c",
                   job_until(noted("disk is full", path="good.jsonl"))])
        data = (small / "x.sqlite").read_bytes()
        assert int.from_bytes(data[28:32], "big") * 4096 > len(data), "the rest is in the log"
        subprocess.run(["mount", "-o", "remount,size=8m", small], check=True)
        assert here.call(again) == (0, b"", b"")
        assert one(small / "x.sqlite", "SELECT count(*) FROM runs WHERE status = 'exited'") == 1
        assert one(small / "x.sqlite", "PRAGMA integrity_check") == "ok"


@needs_root
def test_no_room_at_all(here):
    with small_disk(here, "64k") as small:
        status, _, err = here.call([here.toll, "run", "-q", "-o", f"{small}/x.sqlite", "--", "true"])
        assert status == 125
        assert b"x.sqlite': disk full, its tables do not fit" in err
        assert list(small.iterdir()) == []


def test_file_that_vanishes(place):
    status, _, err = place.call(
        [place.toll, "run", "-i", "5ms", "-o", "x.sqlite,every=20ms", "-o", "good.jsonl", "--",
         "sh", "-c", job_until("[ -s x.sqlite-wal ]") +
         "; rm -f x.sqlite x.sqlite-wal x.sqlite-shm; " +
         job_until(noted("removed or replaced", path="good.jsonl")) + "; exit 7"])
    assert status == 7
    assert len([line for line in sentences(err) if "the job continues" in line]) == 1
    assert b"removed or replaced" in err
    assert records(place.path("good.jsonl"), "summary")
    assert not place.path("x.sqlite").exists()


@not_sanitized
def test_writing_is_not_the_job_s(place):
    """What the thread reads and writes does not count as the job's."""
    result = place.run([place.helper("burn"), "0", "0", "500"],
                       ["-i", "2ms", "--processes", "all", "-o", "x.sqlite,every=5ms"])
    assert result.status == 0
    assert result.total("io_written_bytes") == 0
    assert result.total("storage_written_bytes") == 0
    assert result.summary["outputs"][0]["delivered"] > 10
