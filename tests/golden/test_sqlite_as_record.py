# SPDX-License-Identifier: MIT
"""toll export and toll list of SQLite files: what was written in another format, written again from
the tables; files that are cut short, damaged or somebody else's."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import time

import pytest

import recorded
from test_export import FORMATS, outputs, same, toll, with_characters, without_outputs

FIGURES = "cpu_seconds,memory_rss_bytes,system_cpu_cores"


@pytest.fixture(autouse=True)
def built_in():
    said = toll("export", "/nonexistent.jsonl", "-o", "/nonexistent/x.sqlite").stderr
    if b"without SQLite" in said or b"cannot load" in said:
        pytest.skip("there is no SQLite here")


def replayed(run, directory, *options):
    """A run replayed into every format, and again into SQLite."""
    fixture = recorded.fixture_of(run)
    for words in (outputs(directory / "live"), ["-o", directory / "live.sqlite"]):
        done = toll("replay", "-q", *options, *words, fixture)
        assert (done.returncode, done.stderr) == (0, b"")
    return directory / "live.sqlite"


def in_one_order(path):
    """Lines of a record; the processes of a sample are told in any order."""
    lines = [json.loads(line, object_pairs_hook=list) for line in path.read_text().splitlines()]
    return [[(key, sorted(value) if key == "processes" else value) for key, value in line
             if key != "outputs"] for line in lines]


@pytest.mark.parametrize("run", recorded.RUNS)
def test_every_format_again(run, tmp_path):
    file = replayed(run, tmp_path, *recorded.RUNS[run])
    before = file.read_bytes()
    done = toll("export", file, *outputs(tmp_path / "again"))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert file.read_bytes() == before
    differ = same(tmp_path, "live", "again", lambda text: with_characters(without_outputs(text)))
    if "--metrics" in recorded.RUNS[run]:
        differ = [suffix for suffix in differ if suffix != ".txt"]  # it has more than was recorded
    if ".jsonl" in differ:
        differ.remove(".jsonl")
        assert in_one_order(tmp_path / "again.jsonl") == in_one_order(tmp_path / "live.jsonl")
    assert differ == []


def loosen(file):
    """Without toll's views, and with tables that take values of any type."""
    change(file, *(f"DROP VIEW {name}" for name in names_of(file, "view")))
    change(file, "PRAGMA writable_schema = ON",
           "UPDATE sqlite_master SET sql = replace(sql, 'STRICT,', '') WHERE type = 'table'",
           "UPDATE sqlite_master SET sql = replace(sql, ', STRICT', '') WHERE type = 'table'",
           "UPDATE sqlite_master SET sql = replace(sql, 'STRICT', '') WHERE type = 'table'")


def names_of(file, kind):
    db = sqlite3.connect(file, isolation_level=None)
    names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = ?", [kind])]
    db.close()
    return names


def change(file, *statements):
    """As somebody else would."""
    db = sqlite3.connect(file, isolation_level=None)
    for sql in statements:
        db.execute(sql)
    db.close()


@pytest.mark.parametrize("run", ["machine-server", "attach-groups"])
def test_fewer_metrics(run, tmp_path):
    file = replayed(run, tmp_path)
    for name in FORMATS.values():
        words = ["-f", name, "-m", FIGURES]
        here, there = (toll("export", path, *words).stdout for path in (file, tmp_path / "live.jsonl"))
        assert without_outputs(here) == without_outputs(there)


def test_there_and_back(tmp_path):
    """A record into a SQLite file, and out of it. A record cannot hold its own final size."""
    replayed("marks", tmp_path)
    (tmp_path / "live.sqlite").unlink()
    assert toll("export", tmp_path / "live.jsonl", "-o", tmp_path / "live.sqlite").returncode == 0
    done = toll("export", tmp_path / "live.sqlite", *outputs(tmp_path / "again"))
    assert (done.returncode, done.stderr) == (0, b"")
    assert [suffix for suffix in same(tmp_path, "live", "again", without_outputs)
            if suffix != ".jsonl"] == []
    assert in_one_order(tmp_path / "again.jsonl") == in_one_order(tmp_path / "live.jsonl")


def test_several_runs(tmp_path):
    """The numbers of runs are those of the file, also when one was removed."""
    (tmp_path / "b").mkdir()
    replayed("marks", tmp_path / "b")
    file = tmp_path / "all.sqlite"
    for _ in range(2):
        assert toll("replay", "-q", "-o", file, recorded.fixture_of("marks")).returncode == 0
    assert toll("replay", "-q", "-o", file, recorded.fixture_of("pid-reuse")).returncode == 0
    one = (tmp_path / "b/live.csv").read_bytes()
    assert toll("export", file, "--run", "2").stdout == one
    assert toll("export", file).stdout.startswith(one + one)
    change(file, "PRAGMA foreign_keys = ON", "DELETE FROM runs WHERE run = 1")
    assert toll("export", file, "--run", "2").stdout == one
    listed = json.loads(toll("list", "--json", file).stdout)
    assert [one["run"] for one in listed] == [2, 3]
    assert [one["samples"] for one in listed][0] == one.count(b"\n") - 1
    done = toll("export", file, "--run", "1")
    assert done.returncode == 125 and b"no run 1" in done.stderr and b"has 2" in done.stderr


def test_cut_short(tmp_path):
    file = replayed("marks", tmp_path)
    change(file, "UPDATE runs SET wall_ns = NULL, status = NULL, code = NULL, summary = NULL",
           "DELETE FROM summary")
    done = toll("export", file, "-o", tmp_path / "cut.json", "-o", tmp_path / "cut.jsonl")
    assert done.returncode == 0 and b"no end of the run" in done.stderr
    summary = json.loads((tmp_path / "cut.json").read_bytes())
    assert summary["end"]["status"] == "unknown"
    assert any("no end of the run" in note for note in summary["notes"])
    lines = [json.loads(line) for line in (tmp_path / "cut.jsonl").read_text().splitlines()]
    last = [line for line in lines if line["type"] == "sample"][-1]
    assert "last" not in last
    figure = summary["target"]["combined"]["cpu_seconds"]
    assert (figure["total"], figure["quality"]) == (last["target"]["combined"]["cpu_seconds"], "lower bound")
    assert summary["wall_seconds"] == last["elapsed_seconds"]
    whole = json.loads((tmp_path / "live.json").read_bytes())
    for ours, theirs in zip(summary["phases"], whole["phases"], strict=True):
        assert ours["figures"] | theirs["figures"] == ours["figures"]  # others are unknown
        assert (ours | {"figures": 0}) == (theirs | {"figures": 0})
    assert json.loads(toll("list", "--json", file).stdout)[0]["cut_short"] is True
    # … and one that follows it is read.
    assert toll("replay", "-q", "-o", file, recorded.fixture_of("marks")).returncode == 0
    assert [one["cut_short"] for one in json.loads(toll("list", "--json", file).stdout)] == [True, False]


def test_of_an_older_and_a_newer_toll(tmp_path):
    """Columns and tables of one version come and go."""
    file = replayed("marks", tmp_path)
    csv = (tmp_path / "live.csv").read_bytes()
    change(file, *(f"DROP VIEW {name}" for (name,) in sqlite3.connect(file).execute(
        "SELECT name FROM sqlite_schema WHERE type = 'view'").fetchall()),
        "ALTER TABLE target_samples DROP COLUMN ended", "DROP TABLE gpu_samples",
        "ALTER TABLE samples DROP COLUMN for_mark", "ALTER TABLE samples DROP COLUMN gpu_count")
    done = toll("export", file)
    assert (done.stdout, done.stderr) == (csv, b"")
    change(file, "ALTER TABLE self_samples ADD COLUMN dreams_ns INTEGER",
           "UPDATE self_samples SET dreams_ns = 1")
    done = toll("export", file)
    assert done.stdout == csv and b"'dreams_ns', which is unknown" in done.stderr
    # What is missing is made by whoever writes next.
    assert toll("replay", "-q", "-o", file, recorded.fixture_of("marks")).returncode == 0
    assert toll("export", file).stdout == csv + csv


REFUSED = {
    "somebody else's": (["PRAGMA application_id = 1"], b"of another program"),
    "a newer one": (["PRAGMA user_version = 2"], b"by a newer toll"),
    "no run": (["DELETE FROM runs"], b"no record in it (expected at least one run)"),
    "no table": (["DROP TABLE events"], b"no such table"),
    "no JSON": (["UPDATE runs SET facts = 'x'"], b"': run 1: "),
    "no summary": (["UPDATE runs SET summary = '{\"wall_seconds\":-1}'"], b"': run 1: "),
    "below zero": (["UPDATE target_samples SET cpu_ns = -1"], b"0 or more"),
    "of a process below zero": (["UPDATE processes SET cpu_ns = -1"], b"0 or more"),
    "a figure that is a text": (["UPDATE target_samples SET cpu_ns = 'abc'"], b"expected a number"),
    "a figure that is bytes": (["UPDATE target_samples SET cpu_ns = x'00'"], b"expected a number"),
    "a figure that is infinite": (["UPDATE target_samples SET cpu_cores = 9e999"], b"expected a number"),
    "half a byte": (["UPDATE target_samples SET memory_rss_bytes = 0.5"], b"expected a number"),
    "a time that is a text": (["UPDATE samples SET elapsed_ns = 'soon'"], b"expected a number"),
    "a time below zero": (["UPDATE samples SET elapsed_ns = -1"], b"expected a number"),
    "a time of a mark": (["UPDATE events SET elapsed_ns = 'soon'"], b"': run 1: "),
    "a pid that is a text": (["UPDATE events SET pid = 'x'"], b"': run 1: "),
    "a name that is bytes": (["UPDATE events SET name = x'ff00'"], b"': run 1: "),
    "a gauge that is a text": (["UPDATE gauges SET value = 'x'"], b"': run 1: "),
    "a key twice": (["UPDATE runs SET facts = '{\"name\":\"a\",' || substr(facts, 2)"],
                    b"a duplicate key"),
    "no attributes": (["UPDATE events SET attributes = '}'"], b"': run 1: "),
}


def test_what_is_refused(tmp_path):
    whole = replayed("marks", tmp_path)
    out = tmp_path / "out.csv"
    out.write_text("as before")
    for kind, (statements, sentence) in REFUSED.items():
        file = tmp_path / "bad.sqlite"
        shutil.copy(whole, file)
        loosen(file)
        change(file, *statements)
        for command in (["export", file, "-o", out], ["list", file]):
            done = toll(*command)
            assert (done.returncode, done.stdout) == (125, b""), (kind, done)
            assert sentence in done.stderr and done.stderr.count(b"\n") == 1, (kind, done)
    assert out.read_text() == "as before"
    done = toll("export", whole, "-o", whole)
    assert done.returncode == 125 and b"is the record being read" in done.stderr


ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
HOSTILE = {
    "an endless view of runs": [
        "ALTER TABLE runs RENAME TO were",
        f"CREATE VIEW runs AS {ENDLESS} SELECT were.* FROM were, c WHERE c.x < 0"],
    "an endless view of samples": [
        "ALTER TABLE samples RENAME TO were",
        f"CREATE VIEW samples AS {ENDLESS} SELECT were.* FROM c, were"],
    "a view of figures": [
        "ALTER TABLE target_samples RENAME TO were",
        "CREATE VIEW target_samples AS SELECT * FROM were"],
    "a view that is called a table": [
        "ALTER TABLE notes RENAME TO were",
        f"CREATE VIEW notes AS {ENDLESS} SELECT were.* FROM were, c WHERE c.x < 0",
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_master SET type = 'table' WHERE name = 'notes'"],
    "a virtual table": [
        "DROP TABLE gauges", "CREATE VIRTUAL TABLE gauges USING fts5(run, seq, elapsed_ns, name, pid, value)"],
    "a column that is computed": [
        "ALTER TABLE notes ADD COLUMN x AS (hex(zeroblob(100000000)))"],
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_programs_in_a_file_are_not_run(kind, tmp_path):
    """Nothing hangs, neither where it is read nor where a run is added to it."""
    file = replayed("marks", tmp_path)
    loosen(file)
    change(file, *HOSTILE[kind])
    before = file.read_bytes()
    for command in (["export", file], ["list", file],
                    ["replay", "-q", "-o", file, recorded.fixture_of("marks")]):
        done = toll(*command)
        assert (done.returncode, done.stdout) == (125, b""), done
        assert b"is not a plain table" in done.stderr or b"malformed" in done.stderr, done
        assert done.stderr.count(b"\n") == 1
    assert file.read_bytes() == before


def test_cut_and_empty_files_are_named(tmp_path):
    file = replayed("marks", tmp_path)
    cut, empty = tmp_path / "cut.sqlite", tmp_path / "empty.sqlite"
    cut.write_bytes(file.read_bytes()[:6000])
    empty.write_bytes(b"")
    for command, context in (("export", "export: "), ("list", "list: ")):
        done = toll(command, cut)
        assert (done.returncode, done.stdout) == (125, b"")
        assert done.stderr.startswith(f"toll: {context}cannot read '{cut}': ".encode())
        done = toll(command, empty)
        assert done.stderr.decode() == (f"toll: {context}cannot read '{empty}': no record in it "
                                        "(expected at least one run)\n")


def test_triggers_are_not_run(tmp_path):
    file = replayed("marks", tmp_path)
    change(file, "CREATE TRIGGER bad AFTER INSERT ON runs BEGIN DELETE FROM samples; END")
    assert toll("replay", "-q", "-o", file, recorded.fixture_of("marks")).returncode == 0
    assert toll("export", file).stdout == 2 * (tmp_path / "live.csv").read_bytes()


def test_reading_is_bounded(tmp_path):
    """Tables without the keys that toll gives them: each sample would search all of them."""
    file = replayed("marks", tmp_path)
    rows = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 4000)"
    loosen(file)
    change(
        file,
        "CREATE TABLE slow AS SELECT * FROM target_samples", "DROP TABLE target_samples",
        "CREATE TABLE fake AS SELECT * FROM samples", "DROP TABLE samples",
        "ALTER TABLE slow RENAME TO target_samples", "ALTER TABLE fake RENAME TO samples",
        f"INSERT INTO samples(run, tick, seq, time_ns, elapsed_ns, interval_ns) {rows}"
        " SELECT 1, 1000 + x, 1000 + x, x, x * 1000000000, 1 FROM c",
        f"INSERT INTO target_samples(run, tick, entity) {rows} SELECT 1, 1000 + x, 1 + (x % 3)"
        " FROM c",
        "DELETE FROM target_samples WHERE tick < 1000", "DELETE FROM samples WHERE tick < 1000",
        f"INSERT INTO target_samples(run, tick, entity) {rows} SELECT 1, 1000 + x, 1 + y FROM c,"
        " (SELECT 0 AS y UNION SELECT 1 UNION SELECT 2) WHERE y <> x % 3")
    done = toll("list", file)
    assert (done.returncode, done.stdout) == (125, b"")
    assert b"too long for a file of this size" in done.stderr


def test_a_pipe_beside_a_file(tmp_path):
    """SQLite would open it, and wait for somebody to write to it."""
    file = replayed("marks", tmp_path)
    for suffix in ("-journal", "-wal"):
        os.mkfifo(f"{file}{suffix}")
        done = toll("list", file)
        assert done.returncode == 125 and b"not a regular file" in done.stderr
        os.unlink(f"{file}{suffix}")
    assert toll("list", file).returncode == 0


def test_interrupted_while_it_waits(tmp_path):
    """Another program holds the file: toll waits for a while, and ends when it is asked to."""
    file = replayed("marks", tmp_path)
    db = sqlite3.connect(file, isolation_level=None)
    db.execute("PRAGMA journal_mode = DELETE")
    db.execute("BEGIN EXCLUSIVE")
    job = subprocess.Popen([recorded.TOLL, "list", file], stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    wchan = f"/proc/{job.pid}/fd"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not any(
            os.path.realpath(f"{wchan}/{name}") == str(file) for name in os.listdir(wchan)):
        time.sleep(0.01)
    job.send_signal(signal.SIGINT)
    assert job.wait(60) == -signal.SIGINT
    db.close()


def test_damaged_anywhere(tmp_path):
    """A sentence or the truth, and never a crash."""
    whole = replayed("marks", tmp_path, "-m", "cpu_seconds").read_bytes()
    csv = (tmp_path / "live.csv").read_bytes()
    file = tmp_path / "bad.sqlite"
    step = len(whole) // 20
    for at in range(0, len(whole), step):
        file.write_bytes(whole[:at])
        done = toll("export", file)
        assert done.stderr.count(b"\n") == 1 if done.returncode else done.stdout == csv, at
        file.write_bytes(whole[:at] + os.urandom(64) + whole[at + 64:])
        done = toll("export", file)
        assert done.returncode in (0, 125), at


def test_any_name_and_place(tmp_path):
    """What it is shows in the file, which may lie where nothing can be written."""
    file = replayed("marks", tmp_path)
    csv = (tmp_path / "live.csv").read_bytes()
    user = recorded.NOBODY if os.geteuid() == 0 else None
    with recorded.shared_place() as place:
        shutil.copy(file, place / "runs.db")
        (place / "text.sqlite").write_bytes((tmp_path / "live.jsonl").read_bytes())
        place.chmod(0o555)
        for name in ("runs.db", "text.sqlite"):
            done = toll("export", place / name, user=user)
            assert (done.stdout, done.stderr) == (csv, b""), name
        assert sorted(os.listdir(place)) == ["runs.db", "text.sqlite"]
        place.chmod(0o755)
