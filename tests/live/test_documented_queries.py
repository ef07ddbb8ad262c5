# SPDX-License-Identifier: MIT
"""Every question in PromQL and SQL that the documents show is asked, of two runs whose figures are
known, and has the answer that follows from them."""
import json
import pathlib
import re
import shutil
import sqlite3
import subprocess
import time

import pytest
from hostlib import needs

import sinklib
from test_metrics_servers import daemon, has_http, query, wait_for  # noqa: F401

TOP = pathlib.Path(__file__).parents[2]
SECONDS = 120  # of each run, a sample in each of them
PEAK = {"blue": 60, "red": 30}  # seconds after the start
# Of each team: CPU seconds and bytes written in a second, memory, its peak, exit code.
TEAMS = {"blue": (0.5, 1000, 100_000_000, 300_000_000, 3), "red": (0.25, 10, 50_000_000, 80_000_000, 0)}


# ---- What the documents ask ----------------------------------------------------------------------


def documents():
    return [TOP / "README.md", *sorted((TOP / "docs").glob("*.md")), *sorted((TOP / "man").glob("*"))]


def plain(text):
    return " ".join(text.split())


def statements(text):
    """Of SQL, without comments."""
    text = re.sub(r"--[^\n]*", "", text)
    return [plain(one) for one in text.split(";") if one.strip()]


def documented():
    """Both languages: in blocks, in commands that call sqlite3, and between words."""
    promql, sql = set(), set()
    for path in documents():
        text = path.read_text(encoding="utf-8")
        blocks = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
        for language, block in blocks:
            if language == "promql":
                promql |= {plain(line) for line in block.splitlines() if line.split("#")[0].strip()}
            elif language == "sql":
                sql |= set(statements(block))
            else:
                assert "SELECT " not in re.sub(r"sqlite3 [^']*'[^']*'", "", block), path
        for one in re.findall(r"sqlite3 [^'\n]*'([^']*)'", text):
            sql |= set(statements(one))
        words = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
        for span in re.findall(r"`([^`]+)`", words):
            if re.search(r"\btoll_\w+(_total)?\s*[{[]|\w\(toll_\w+\[", span):
                promql.add(plain(span))
            elif re.search(r"\b(SELECT|DELETE|PRAGMA) ", span):
                sql.add(plain(span))
    return promql, sql


# ---- Known runs ----------------------------------------------------------------------------------


def stamp(unix):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(unix)) + ".000Z"


def sample(tick, start, team):
    cpu, written, memory, peak, _ = TEAMS[team]
    elapsed = tick + 1
    is_last = elapsed == SECONDS
    figures = {"wall_seconds": elapsed, "cpu_seconds": cpu * elapsed, "cpu_cores": cpu,
               "memory_rss_bytes": None if is_last else peak if elapsed == PEAK[team] else memory,
               "storage_written_bytes": written * elapsed}
    return {"type": "sample", "tick": tick, "time": stamp(start + elapsed),
            "unix_seconds": start + elapsed, "elapsed_seconds": elapsed, "interval_seconds": 1,
            **({"last": True} if is_last else {}),
            "target": {"combined": figures, "main": {}, "descendants": {}}, "self": {}}


def write_record(here, team, start):
    """A record of toll itself, with other samples, processes and times in it."""
    cpu, _, memory, peak, code = TEAMS[team]
    script = f"{here.toll} mark phase begin load; {here.toll} mark phase end load; exit {code}"
    path = here.path(f"{team}.jsonl")
    r = here.run(["sh", "-c", script], ["--name", "train", "--label", f"team={team}", "-o", path])
    assert r.status == code
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    by_type = {line["type"]: line for line in lines}
    run, phase, process, summary = (by_type[name] for name in ("run", "phase", "process", "summary"))
    for line in (run, summary):
        line["start"] = stamp(start)
    run["unix_seconds"] = start
    summary["wall_seconds"] = SECONDS
    summary["target"]["combined"]["cpu_seconds"].update(total=cpu * SECONDS, quality="exact")
    # The kernel's mark of the largest process is lower than the peak of all together.
    for metric, most in (("memory_rss_bytes", peak), ("memory_peak_bytes", memory)):
        summary["target"]["combined"][metric] = {
            "mean": memory, "min": memory, "max": most, "max_at_seconds": PEAK[team], "last": memory,
            "quality": "sampled", "from": "samples"}
    summary["largest_processes"] = [{
        "pid": 1011, "start_ticks": process["start_ticks"], "name": "worker11",
        "command": "worker 11 --quiet", "cpu_time_seconds": cpu * 11, "peak_rss_bytes": memory,
        "complete": True}]
    phase.update(elapsed_seconds=20, begin_seconds=10, end_seconds=20, seconds=10)
    phase["figures"]["cpu_seconds"] = {"total": 10 * cpu, "quality": "exact"}
    processes = [{**process, "elapsed_seconds": SECONDS, "pid": 1000 + i, "name": f"worker{i}",
                  "cpu_seconds": cpu * i} for i in range(12)]
    samples = [sample(tick, start, team) for tick in range(SECONDS)]
    path.write_text("".join(json.dumps(line) + "\n" for line in [
        run, *samples[:-1], phase, *processes, samples[-1], summary]))
    return path, run["host"]


@pytest.fixture
def known(here):
    """Two runs of one name on one machine at the same time: their records, the start, the host."""
    start = int(time.time()) - 900
    (blue, host), (red, _) = (write_record(here, team, start) for team in TEAMS)
    return [blue, red], start, host


def export(here, record, destination):
    status, out, err = here.call([here.toll, "export", record, "-o", destination])
    assert status == 0, err


# ---- PromQL --------------------------------------------------------------------------------------


@needs("prometheus")
def test_every_question_in_promql(here, has_http, known, tmp_path):  # noqa: F811
    records, start, host = known
    running, over = start + 100, start + SECONDS + 600
    job = {"run": "train"}
    # The question: when it is asked, and what comes of it, by the labels that tell series apart.
    answers = {
        'sum without (id) (rate(toll_target_cpu_seconds_total{run="train",scope="combined"}[1m]))':
            (running, [({"team": "blue"}, 0.5), ({"team": "red"}, 0.25)]),
        'sum by (run) (rate(toll_target_cpu_seconds_total{scope="combined"}[1m]))':
            (running, [(job, 0.75)]),
        'toll_target_memory_rss_bytes{run="train",scope="combined"}':
            (running, [({"team": "blue"}, 100e6), ({"team": "red"}, 50e6)]),
        'max_over_time(toll_target_memory_rss_bytes{run="train",scope="combined"}[1d])':
            (over, [({"team": "blue"}, 300e6), ({"team": "red"}, 80e6)]),
        'last_over_time(toll_target_cpu_seconds_total{run="train",scope="combined"}[1d])':
            (over, [({"team": "blue"}, 60), ({"team": "red"}, 30)]),
        'sum by (instance) (last_over_time(toll_target_storage_written_bytes_total{scope="combined"}[1d]))':
            (over, [({"instance": host}, 120 * 1010)]),
        "last_over_time(toll_run_exit_code[1d])":
            (over, [({"team": "blue"}, 3), ({"team": "red"}, 0)]),
        "time() - toll_run_end_time_seconds":
            (start + SECONDS + 60, [({"team": "blue"}, 60), ({"team": "red"}, 60)]),
        "toll_run_exit_code != 0":
            (start + SECONDS + 60, [({"team": "blue"}, 3)]),
    }
    asked, _ = documented()
    assert asked == set(answers), "a question of the documents without an answer here, or the reverse"
    (tmp_path / "prometheus.yml").write_text("{}\n")
    port = sinklib.free_port()
    url = f"http://127.0.0.1:{port}"
    with daemon(["prometheus", f"--config.file={tmp_path}/prometheus.yml",
                 f"--storage.tsdb.path={tmp_path}/data", "--web.enable-remote-write-receiver",
                 f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"], url + "/-/ready"):
        for record in records:
            export(here, record, sinklib.patient(f"prometheus:{url}/api/v1/write"))
        wait_for(lambda: len(query(url, "last_over_time(toll_run_exit_code[1d])", over * 1000)) == 2)
        for text, (moment, expected) in answers.items():
            found = query(url, text, moment * 1000)
            assert len(found) == len(expected), (text, found)
            for labels, value in expected:
                (got,) = [v for there, v in found if labels.items() <= there.items()]
                assert got == pytest.approx(value, rel=1e-9), text
        # Nothing goes on: a question about now finds none of it.
        now = 'toll_target_memory_rss_bytes{run="train",scope="combined"}'
        assert query(url, now, over * 1000) == []


# ---- SQL -----------------------------------------------------------------------------------------


def test_every_question_in_sql(here, known):
    records, start, _ = known
    path = here.path("runs.sqlite")
    for record in (*records, records[0]):
        export(here, record, path)
    cores = [(i, 0.5, 100_000_000) for i in range(1, 5)]
    # The question, and what comes of it; the third run is the first one once more.
    answers = {
        "SELECT run, name, duration_seconds, exit, cpu_seconds, memory_peak_bytes FROM run_list":
            [(run, "train", SECONDS, f"exit {TEAMS[team][4]}", TEAMS[team][0] * SECONDS, TEAMS[team][3])
             for run, team in ((1, "blue"), (2, "red"), (3, "blue"))],
        "SELECT elapsed_seconds, target_cpu_cores, target_memory_rss_bytes FROM timeline "
        "WHERE run = 1 ORDER BY elapsed_seconds LIMIT 4": cores,
        "SELECT run, name, memory_peak_bytes FROM run_list WHERE labels ->> 'team' = 'blue' "
        "ORDER BY memory_peak_bytes DESC LIMIT 5":
            [(1, "train", 300_000_000), (3, "train", 300_000_000)],
        "SELECT run, max(target_memory_rss_bytes), elapsed_seconds FROM timeline "
        "WHERE target_memory_rss_bytes IS NOT NULL GROUP BY run":
            [(1, 300_000_000, 60), (2, 80_000_000, 30), (3, 300_000_000, 60)],
        "SELECT labels ->> 'team' AS team, count(*), sum(cpu_seconds) FROM run_list GROUP BY team":
            [("blue", 2, 120), ("red", 1, 30)],
        "SELECT p.name, count(*), avg(p.seconds), avg(p.cpu_seconds) FROM phase_list p "
        "JOIN runs r USING (run) WHERE r.name = 'train' GROUP BY p.name":
            [("load", 3, 10, pytest.approx((5 + 2.5 + 5) / 3))],
        "SELECT name, pid, command, cpu_seconds FROM process_list WHERE run = 1 "
        "ORDER BY cpu_seconds DESC LIMIT 10":
            [(f"worker{i}", 1000 + i, "worker 11 --quiet" if i == 11 else None, 0.5 * i)
             for i in range(11, 1, -1)],
        "SELECT run, total, quality FROM figures "
        "WHERE kind = 'target' AND part = 'combined' AND name = '' AND metric = 'cpu_seconds'":
            [(1, 60, "exact"), (2, 30, "exact"), (3, 60, "exact")],
        "SELECT labels ->> 'team' AS team, count(*) AS runs, sum(cpu_seconds) AS cpu_seconds FROM run_list "
        "GROUP BY team ORDER BY sum(cpu_seconds) DESC LIMIT 5":
            [("blue", 2, 120), ("red", 1, 30)],
        "PRAGMA application_id": [(1953459308,)],
        "PRAGMA user_version": [(1,)],
        "PRAGMA foreign_keys = ON; DELETE FROM runs WHERE run = 3; VACUUM": None,
    }
    _, asked = documented()
    assert asked == set(answers), "a question of the documents without an answer here, or the reverse"
    base = sqlite3.connect(path)
    for text, expected in answers.items():
        if expected is not None:
            assert base.execute(text).fetchall() == expected, text
    tables = [name for name, in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    before = {name: base.execute(f"SELECT count(*) FROM {name} WHERE run < 3").fetchone()
              for name in tables}
    base.close()
    (remove,) = [text for text, expected in answers.items() if expected is None]
    base = sqlite3.connect(path, isolation_level=None)
    base.executescript(remove)
    for name in tables:
        assert base.execute(f"SELECT count(*) FROM {name} WHERE run = 3").fetchone() == (0,), name
        assert base.execute(f"SELECT count(*) FROM {name}").fetchone() == before[name], name
    base.close()
    if shutil.which("sqlite3"):  # which the document calls
        shown = subprocess.run(["sqlite3", path, list(answers)[0]], capture_output=True, text=True)
        assert shown.stdout.splitlines()[0] == f"1|train|{SECONDS:.1f}|exit 3|60.0|300000000"


def test_figures_of_several_targets(here):
    """The whole is one row; each target has a row of its own under its name."""
    sleepers = [here.popen(["sleep", "60"]) for _ in range(2)]
    try:
        path = here.path("two.sqlite")
        status, _, err = here.call([here.toll, "attach", "-q", "--for", "200ms", "-i", "50ms", "-o", path,
                                    *(f"{name}={p.pid}" for name, p in zip("ab", sleepers))])
        assert status == 0, err
    finally:
        for p in sleepers:
            p.kill()
            p.wait()
    base = sqlite3.connect(path)
    (query_text,) = [text for text in documented()[1] if "FROM figures" in text]
    assert len(base.execute(query_text).fetchall()) == 1
    names = "SELECT name FROM figures WHERE kind = 'target' AND part = 'combined' AND metric = 'cpu_seconds'"
    assert sorted(base.execute(names).fetchall()) == [("",), ("a",), ("b",)]
    (row,) = base.execute("SELECT exit, cpu_seconds, memory_peak_bytes FROM run_list").fetchall()
    assert row[0] == "left running" and row[1] is not None and row[2] > 0
    base.close()


def test_run_list_has_what_toll_list_has(here):
    """For runs of any kind: one that ended, failed, was killed, was too short, and one that has no end;
    and a file of an older toll gets the new columns when it is written to."""
    path = here.path("runs.sqlite")
    base = None
    for script in ("sleep 0.2", "exit 3", "kill -9 $$", "seq 100000 | sort -R > /dev/null"):
        here.call([here.toll, "run", "-q", "--label", "team=blue", "-o", path, "--", "sh", "-c", script])
        if base is None:  # as an older version left it
            base = sqlite3.connect(path)
            base.executescript("DROP VIEW run_list; DROP VIEW process_list;"
                               "CREATE VIEW run_list AS SELECT run, name FROM runs;")
            base.close()
    base = sqlite3.connect(path)
    base.execute("UPDATE runs SET wall_ns = NULL, status = NULL, code = NULL, summary = NULL WHERE run = 1")
    base.execute("DELETE FROM summary WHERE run = 1")
    base.commit()
    status, out, err = here.call([here.toll, "list", "--json", "--sort", "time", path])
    assert status == 0, err
    runs = json.loads(out)
    rows = base.execute("SELECT run, start, name, labels, duration_seconds, cpu_seconds, cpu_quality, "
                        "memory_peak_bytes, memory_quality, exit, id FROM run_list").fetchall()
    assert len(rows) == len(runs) == 4
    for row, run in zip(rows, runs):
        assert row[:3] == (run["run"], run["start"], run["name"])
        assert [f"{k}={v}" for k, v in json.loads(row[3]).items()] == run["labels"]
        assert row[4:6] == pytest.approx((run["wall_seconds"], run["cpu_seconds"]))
        assert row[6:9] == (run["cpu_quality"], run["memory_peak_bytes"], run["memory_quality"])
        assert row[10] == run["id"]
    assert [row[9] for row in rows] == ["running?", "exit 3", "SIGKILL", "exit 0"]
    processes = base.execute("SELECT name, command, start_seconds, left_seconds, exit FROM process_list "
                             "WHERE run = 4").fetchall()
    assert "exit 0" in [row[4] for row in processes if row[0] == "sh"]
    assert all(row[2] <= row[3] for row in processes if row[2] is not None)
    base.close()
