# SPDX-License-Identifier: MIT
"""toll is killed (SIGKILL) at random moments, again and again: what it has written is whole, and no
more than the last moments are missing."""
import concurrent.futures
import csv
import json
import random
import shutil
import sqlite3
import statistics
import time

import pytest
from livelib import SANITIZED

KILLS = 40 if SANITIZED else 200
AT_ONCE = 8
FLUSH = 0.05  # seconds
LONGEST = 0.6


def whole_lines(path):
    """A write may be cut at a page when the process is killed: then the last line has no end."""
    lines = path.read_text().split("\n")
    lines.pop()
    return lines


def check_jsonl(path):
    lines = [json.loads(line) for line in whole_lines(path)]
    if lines:
        assert lines[0]["type"] == "run"
    return [line for line in lines if line["type"] == "sample"]


def check_csv(path):
    rows = list(csv.reader(whole_lines(path)))
    assert len({len(row) for row in rows}) <= 1
    return rows[1:]


def check_sqlite(path):
    """Whole, and without a gap: (tick, elapsed)."""
    db = sqlite3.connect(path, timeout=20)
    try:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        if not db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
            return []
        assert db.execute("SELECT count(*) FROM runs").fetchone()[0] <= 1
        rows = db.execute("SELECT tick, elapsed_ns FROM samples ORDER BY tick").fetchall()
        assert [tick for tick, _ in rows] == list(range(len(rows)))
        # A sample is there with all that belongs to it.
        assert db.execute("SELECT count(*) FROM target_samples").fetchone()[0] == 3 * len(rows)
        assert db.execute("SELECT count(*) FROM self_samples").fetchone()[0] == len(rows)
        return rows
    finally:
        db.close()


def wait_for_a_sample(folder):
    """On a busy machine it takes a while until anything is written."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        if (folder / "x.csv").exists() and (folder / "x.csv").stat().st_size:
            return
        time.sleep(0.005)


def kill_one(here, number):
    """Every fourth while it starts, the others while it samples. How long it had run then, and what
    of that is missing; None when there was nothing yet."""
    moment = random.Random(number).uniform(0, LONGEST)
    folder = here.path(str(number))
    folder.mkdir()
    with here.popen([here.toll, "run", "-q", "-i", "2ms", "--processes", "all", "-o", "x.jsonl",
                     "-o", "x.csv", "-o", f"x.sqlite,every={FLUSH}s", "-o",
                     f"../all.sqlite,every={FLUSH}s", "--", "sleep", "2"],
                    cwd=folder) as p:
        if number % 4:
            wait_for_a_sample(folder)
        time.sleep(moment)
        p.kill()
    if not (folder / "x.jsonl").exists():
        return None
    samples = check_jsonl(folder / "x.jsonl")
    assert abs(len(check_csv(folder / "x.csv")) - len(samples)) <= 1 if samples else True
    rows = check_sqlite(folder / "x.sqlite") if (folder / "x.sqlite").exists() else []
    assert len(rows) <= len(samples) + 1
    for (_, elapsed_ns), sample in zip(rows, samples):
        assert abs(elapsed_ns / 1e9 - sample["elapsed_seconds"]) < 1e-9
    if number % 20 == 0:  # it can be written to again
        assert here.call([here.toll, "run", "-q", "-o", "x.sqlite", "true"], cwd=folder)[0] == 0
    shutil.rmtree(folder)
    end = samples[-1]["elapsed_seconds"] if samples else 0
    return end, end - (rows[-1][1] / 1e9 if rows else 0)


def test_killed(here):
    status, _, err = here.call([here.toll, "run", "-q", "-o", "all.sqlite", "true"])
    if b"without SQLite" in err or b"cannot load" in err:
        pytest.skip("there is no SQLite here")
    assert status == 0
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        done = [one for one in pool.map(lambda i: kill_one(here, i), range(KILLS)) if one]
    # Many run at once on few CPUs: one may have waited long for its turn, most have not.
    missing = [missing for ran, missing in done if ran > 4 * FLUSH]
    assert len(missing) > KILLS / 4
    assert statistics.median(missing) < 3 * FLUSH
    db = sqlite3.connect(here.path("all.sqlite"), timeout=20)
    assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert db.execute("SELECT count(*) FROM runs").fetchone()[0] > len(missing) / 2
    assert db.execute("SELECT count(*) FROM samples s WHERE NOT EXISTS (SELECT 1 FROM "
                      "target_samples t WHERE t.run = s.run AND t.tick = s.tick)").fetchone() == (0,)
    db.close()
