# SPDX-License-Identifier: MIT
"""toll list: which runs are listed, in which order, and how the table looks at any width."""

import json
import os
import pathlib
import subprocess
import time
import unicodedata

import pytest

import recorded

HOUR = 3600
NOW = 1_790_000_000  # of the newest run


def toll(*words, columns=None, locale="C.UTF-8", cwd=None, timeout=60):
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LC_ALL": locale, "TZ": "UTC"}
    env |= {key: os.environ[key] for key in ("ASAN_OPTIONS", "UBSAN_OPTIONS") if key in os.environ}
    if columns:
        env["COLUMNS"] = str(columns)
    done = subprocess.run([recorded.TOLL, *words], stdin=subprocess.DEVNULL, env=env, cwd=cwd,
                          capture_output=True, timeout=timeout, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def stamp(unix):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(unix)) + ".000Z"


@pytest.fixture(scope="module")
def pattern(tmp_path_factory):
    """The lines of a small record that toll itself wrote."""
    where = tmp_path_factory.mktemp("pattern")
    done = recorded.replay(recorded.fixture_of("marks"), "-q", "-o", where / "live.jsonl")
    assert done.returncode in (0, 3, 7), done.stderr
    return [json.loads(line) for line in (where / "live.jsonl").read_text().splitlines()]


def write(path, pattern, *, hours, name="train", labels=None, wall=60.0, cpu=30.0, memory=2**30,
          end=("exited", 0), cut=False, quality="exact", number=0, add=False):
    """One run with known figures. memory or cpu None: unknown."""
    run, *rest, summary = json.loads(json.dumps(pattern))
    for line in (run, summary):
        line.update(start=stamp(NOW - hours * HOUR), name=name, labels=labels or {},
                    id=f"01a1ec5b-ade4-7e9b-b144-{number:012x}")
    run["unix_seconds"] = NOW - hours * HOUR
    summary["wall_seconds"] = wall
    summary["end"].update(status=end[0], code=end[1] if end[0] == "exited" else None,
                          signal=end[1] if end[0] == "signaled" else None)
    figures = summary["target"]["combined"]
    figures["cpu_seconds"].update(total=cpu, quality=quality)
    if cpu is None:
        figures["cpu_seconds"] = {"quality": "unknown", "from": ""}
    # The kernel's mark of the largest process is lower than what was sampled of all together.
    for metric, most in (("memory_rss_bytes", memory), ("memory_peak_bytes", 1000)):
        figures[metric] = ({"quality": "unknown", "from": ""} if memory is None else
                           {"mean": most, "min": most, "max": most, "max_at_seconds": 1,
                            "last": most, "quality": "sampled", "from": "samples"})
    lines = [run, *rest] + ([] if cut else [summary])
    with open(path, "a" if add else "w", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


@pytest.fixture(scope="module")
def runs(tmp_path_factory, pattern):
    """A directory with records of different ages, names, labels, ends and figures, and with files
    that are none."""
    where = tmp_path_factory.mktemp("runs")
    write(where / "a.jsonl", pattern, hours=30 * 24, labels={"team": "blue", "seed": "1"}, wall=3700,
          cpu=7200, memory=3 * 2**30, number=1)
    write(where / "b.jsonl", pattern, hours=5 * 24, labels={"team": "blue"}, wall=0.5, cpu=0.25,
          memory=None, end=("signaled", 9), number=2)
    write(where / "b.jsonl", pattern, hours=4 * 24, name="evaluate", labels={"team": "red"},
          end=("exited", 3), cpu=None, memory=5 * 2**20, number=3, add=True)
    write(where / "c.jsonl", pattern, hours=1, name="a-name-that-is-far-too-long-for-a-column",
          labels={"team": "green", "host": "a long value with blanks in it"}, quality="lower bound",
          end=("unknown", None), number=4)
    write(where / "d.jsonl", pattern, hours=0, cut=True, number=5)
    (where / "notes.txt").write_text("no record\n")
    (where / "data.jsonl").write_text('{"text": "of another program"}\n')
    (where / "empty.sqlite").write_bytes(b"")
    (where / "below.jsonl").mkdir()
    os.mkfifo(where / "pipe.jsonl")
    return where


def listed(*words, **kwargs):
    status, out, err = toll("list", "--json", *words, **kwargs)
    return [int(one["id"][-2:], 16) for one in json.loads(out)] if status == 0 else (status, err)


def width(line):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


# ---- Which runs ----------------------------------------------------------------------------------


def test_a_run_in_two_files_is_listed_once(pattern, tmp_path):
    write(tmp_path / "a.jsonl", pattern, hours=1, cut=True, number=7)
    write(tmp_path / "b.jsonl", pattern, hours=1, number=7)
    write(tmp_path / "c.jsonl", pattern, hours=1, number=7)
    write(tmp_path / "c.jsonl", pattern, hours=2, number=8, add=True)
    assert listed(tmp_path) == [7, 8]
    (one, _) = json.loads(toll("list", "--json", tmp_path)[1])
    assert (one["record"], one["cut_short"]) == (f"{tmp_path}/b.jsonl", False), "the whole one"
    assert listed(tmp_path / "c.jsonl", tmp_path / "a.jsonl") == [7, 8]
    write(tmp_path / "d.jsonl", pattern, hours=1, number=9)
    write(tmp_path / "d.jsonl", pattern, hours=1, number=9, add=True)
    assert listed(tmp_path / "d.jsonl") == [9, 9], "within a record each has its number"
    for name in ("e", "f"):  # old records have no ids
        write(tmp_path / f"{name}.jsonl", pattern, hours=1)
        lines = [json.loads(line) for line in (tmp_path / f"{name}.jsonl").read_text().splitlines()]
        for line in lines:
            line.pop("id", None)
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert len(json.loads(toll("list", "--json", tmp_path / "e.jsonl", tmp_path / "f.jsonl")[1])) == 2


@pytest.mark.parametrize("words, numbers", [
    ([], [5, 4, 3, 2, 1]),
    (["--label", "team"], [4, 3, 2, 1]),
    (["--label", "team=blue"], [2, 1]),
    (["--label", "team=blue", "--label", "seed"], [1]),
    (["--label", "team=blu"], []),
    (["--label", "tea"], []),
    (["--name", "train"], [5, 2, 1]),
    (["--name", "*val*"], [3]),
    (["--limit", "2"], [5, 4]),
    (["-n", "99"], [5, 4, 3, 2, 1]),
    (["--label", "team", "-n", "1"], [4]),
])
def test_which_runs(runs, words, numbers):
    assert listed(*words, runs) == numbers


def test_since(runs):
    date = stamp(NOW - 4 * 24 * HOUR)
    assert listed("--since", date[:10], runs) == [5, 4, 3]
    assert listed("--since", date[:16], runs) == [5, 4, 3]
    assert listed("--since", date[:19] + "Z", runs) == [5, 4, 3]
    assert listed("--since", stamp(NOW - 4 * 24 * HOUR + 60)[:16], runs) == [5, 4]
    days = int((time.time() - NOW) / 86400) + 31
    assert listed("--since", f"{days}d", runs) == [5, 4, 3, 2, 1]
    for bad in ("", "x", "0", "-1d", "2026-13-01", "2026-04-31", "2026-11-15T25:00", "11-15",
                "2026-11-15x", "99999999-01-01"):
        status, out, err = toll("list", f"--since={bad}", runs)
        assert (status, out) == (125, "") and "--since" in err and len(err.splitlines()) == 1, bad


@pytest.mark.parametrize("key, numbers", [
    ("time", [1, 2, 3, 4, 5]),
    ("-time", [5, 4, 3, 2, 1]),
    ("duration", [2, 5, 3, 4, 1]),
    ("-duration", [1, 3, 4, 5, 2]),
    ("exit", [1, 3, 2, 4, 5]),
    ("-exit", [2, 3, 1, 4, 5]),
])
def test_sort(runs, key, numbers):
    assert listed("--sort", key, runs) == numbers
    other = key[1:] if key.startswith("-") else "-" + key
    assert listed("--sort", other, "-r", runs) == numbers


def test_unknown_figures_are_last_in_either_direction(runs):
    known = listed("--sort", "memory", "--label", "team", runs)
    assert known == [3, 4, 1, 2]
    assert listed("--sort", "-memory", "--label", "team", runs) == [1, 4, 3, 2]
    assert listed("--sort", "memory", "-r", "--label", "team", runs) == [1, 4, 3, 2]
    assert listed("--sort", "-cpu", "-r", "--label", "team", runs) == [2, 4, 1, 3]
    status, out, err = toll("list", "--sort", "size", runs)
    assert (status, out) == (125, "") and "'size'" in err and "memory" in err
    for bad in ("0", "-1", "x", ""):
        assert toll("list", f"--limit={bad}", runs)[0] == 125


def test_json(runs):
    status, out, _ = toll("list", "--json", "--label", "team", "--sort", "time", runs)
    a, b, second, c = json.loads(out)
    assert status == 0 and list(a) == [
        "record", "run", "id", "start", "wall_seconds", "samples", "record_bytes",
        "record_bytes_per_hour", "status", "code", "signal", "oom_killed", "timed_out", "cut_short", "cpu_seconds", "cpu_quality", "memory_peak_bytes",
        "memory_quality", "name", "command", "attached_to", "labels", "job_id", "array_index", "rank",
        "local_rank", "world_size", "launch", "host", "toll"]
    assert (a["record"], a["run"], a["wall_seconds"]) == (f"{runs}/a.jsonl", 1, 3700)
    assert (a["cpu_seconds"], a["cpu_quality"]) == (7200, "exact")
    assert (a["memory_peak_bytes"], a["memory_quality"]) == (3 * 2**30, "sampled")
    size = pathlib.Path(a["record"]).stat().st_size
    assert (a["record_bytes"], a["record_bytes_per_hour"]) == (size, round(size * 3600 / 3700))
    assert b["record_bytes"] == second["record_bytes"] and b["record_bytes_per_hour"] is None
    assert a["labels"] == ["team=blue", "seed=1"] and a["start"] == stamp(NOW - 30 * 24 * HOUR)
    assert (b["status"], b["signal"], b["memory_peak_bytes"]) == ("signaled", 9, None)
    assert (second["run"], second["code"], second["cpu_seconds"]) == (2, 3, None)
    assert (c["status"], c["cpu_quality"]) == ("unknown", "lower bound")


# ---- The table -----------------------------------------------------------------------------------


def test_table(runs):
    """What a pipe gets is not shortened, but for very long names."""
    status, out, err = toll("list", "--label", "team", runs)
    assert status == 0
    times = [stamp(NOW - hours * HOUR)[:19].replace("T", " ") for hours in (1, 96, 120, 720)]
    name, labels = "a-name-that-is-far-too-long-for-a-column", "team=green host=a long value with blanks in it"
    rows = [
        ("ID", "TIME", "NAME", "LABELS", "DURATION", "EXIT", "CPU", "MEMORY", "RECORD"),
        ("00000004", times[0], name, labels, "1m 00s", "unknown", "≥30.0 s", "1.00 GiB", "c.jsonl"),
        ("00000003", times[1], "evaluate", "team=red", "1m 00s", "exit 3", "?", "5.00 MiB", "b.jsonl:2"),
        ("00000002", times[2], "train", "team=blue", "500 ms", "SIGKILL", "250 ms", "?", "b.jsonl:1"),
        ("00000001", times[3], "train", "team=blue seed=1", "1h 02m", "exit 0", "2h 00m", "3.00 GiB",
         "a.jsonl"),
    ]
    line = f"{{:8}}  {{:19}}  {{:{len(name)}}}  {{:{len(labels)}}}  {{:>8}}  {{:7}}  {{:>7}}  {{:>8}}  {{}}"
    assert out.splitlines() == [line.format(*row) for row in rows]
    assert [line.split(":")[:2] for line in err.splitlines()] == [["toll", " list"]] * 2
    assert "data.jsonl" in err and "empty.sqlite" in err and "pipe" not in err


@pytest.mark.parametrize("columns", [60, 80, 100, 120, 200])
@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_every_width(runs, columns, locale):
    status, out, _ = toll("list", runs, columns=columns, locale=locale)
    heading, *lines = out.splitlines()
    assert status == 0 and len(lines) == 5
    assert all(width(line) <= columns for line in out.splitlines()), out
    assert locale == "C.UTF-8" or out.isascii()
    for name in ("TIME", "NAME", "DURATION", "EXIT", "CPU", "MEMORY"):
        assert name in heading or (columns == 60 and name == "CPU")
    assert "RECORD" in heading and "c.jsonl" in out and "b.jsonl:2" in out
    if columns >= 80:
        assert "LABELS" in heading and "RECORD" in heading and "team" in out
        assert (">=30.0 s" if locale == "C" else "≥30.0 s") in out
        assert "c.jsonl" in out and "b.jsonl:2" in out, "records are not shortened for names"
    if columns == 200:
        assert "00000004" in out and "a long value with blanks in it" in out


def test_narrow(tmp_path, pattern):
    """Columns are left out before records cannot be told apart, but not what is sorted by."""
    for i, record in enumerate(("small-model.jsonl", "large-model.jsonl")):
        write(tmp_path / record, pattern, hours=i, name="python3 train.py --epochs 3",
              labels={"model": "small"}, number=i)
    by_time = toll("list", tmp_path, columns=60)[1]
    assert "LABELS" not in by_time and "CPU" not in by_time and "MEMORY" in by_time
    assert "ll-model.jsonl" in by_time and "ge-model.jsonl" in by_time
    usual = toll("list", tmp_path, columns=90)[1]
    assert "LABELS" in usual and "python3 trai" in usual, "times are shortened before names"
    by_cpu = toll("list", "--sort", "cpu", tmp_path, columns=60)[1]
    assert "CPU" in by_cpu and "l-model.jsonl" in by_cpu
    for columns in range(20, 200):
        lines = toll("list", tmp_path, columns=columns)[1].splitlines()
        assert len(lines) == 3 and all(width(line) <= columns for line in lines), columns
        assert columns < 40 or lines[0].endswith("RECORD"), columns


def test_long_name_in_a_pipe(tmp_path, pattern):
    write(tmp_path / "a.jsonl", pattern, hours=1, name="x" * 100)
    assert "  " + "x" * 59 + "…  " in toll("list", tmp_path)[1]
    assert "  " + "x" * 58 + "..  " in toll("list", tmp_path, locale="C")[1]
    assert "x" * 100 in toll("list", tmp_path, columns=300)[1]
    assert json.loads(toll("list", "--json", tmp_path)[1])[0]["name"] == "x" * 100


def test_records_in_a_directory_below(tmp_path, pattern):
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("")
    assert "expected *.jsonl" in toll("list", cwd=tmp_path)[2]
    for name in ("runs", "old runs", ".hidden"):
        (tmp_path / name).mkdir()
        write(tmp_path / name / "a.jsonl", pattern, hours=1)
    status, out, err = toll("list", cwd=tmp_path)
    assert (status, out) == (0, "")
    assert err == "toll: list: no records in '.'; a directory below it has some: toll list 'old runs'\n"
    (tmp_path / "old runs" / "a.jsonl").unlink()
    assert toll("list", tmp_path)[2].endswith(f": toll list {tmp_path}/runs\n")
    assert toll("list", f"{tmp_path}/")[2].endswith(f": toll list {tmp_path}/runs\n")


def test_a_directory_with_a_damaged_record(tmp_path, pattern):
    text = "".join(json.dumps(line) + "\n" for line in pattern)
    (tmp_path / "a.jsonl").write_text(text)
    (tmp_path / "b.jsonl").write_text("of another program\n")
    assert toll("list", tmp_path)[0] == 0
    (tmp_path / "b.jsonl").write_text(text.replace(pattern[0]["id"], "0" * 32) + "damaged\n" + text)
    status, out, err = toll("list", "--json", tmp_path)
    assert status == 1 and json.loads(out) and err.count("\n") == 1 and "b.jsonl" in err
    assert toll("list", tmp_path, "/nonexistent.jsonl")[0] == 125
    assert toll("list", "/nonexistent.jsonl", tmp_path)[0] == 125
    (tmp_path / "b.jsonl").unlink()
    assert toll("list", tmp_path)[0] == 0


def test_one_record(runs):
    """Its name is known, and each of its runs has a number."""
    heading, first, second = toll("list", runs / "b.jsonl")[1].splitlines()
    assert "RECORD" not in heading and heading.startswith("RUN")
    assert first.split()[0] == "2" and second.split()[0] == "1"
    assert "LABELS" not in toll("list", runs / "d.jsonl")[1], "nothing to show"


def test_nothing_to_list(tmp_path, runs):
    status, out, err = toll("list", tmp_path)
    assert (status, out) == (0, "") and "no records in" in err and ".jsonl" in err
    assert toll("list", cwd=tmp_path)[0] == 0, "of the current directory"
    assert json.loads(toll("list", "--json", tmp_path)[1]) == []
    status, out, err = toll("list", "--name", "nothing", runs / "b.jsonl")
    assert (status, out) == (0, "") and "none of 2 runs in 1 record matches" in err
    status, out, err = toll("list", tmp_path / "missing")
    assert (status, out) == (125, "") and "missing" in err
    (tmp_path / "closed").mkdir(mode=0)
    if os.geteuid():
        assert toll("list", tmp_path / "closed")[0] == 125


def test_the_current_directory(runs):
    status, out, _ = toll("list", "--sort", "time", cwd=runs)
    assert status == 0 and [line.split()[-1] for line in out.splitlines()[1:]] == [
        "a.jsonl", "b.jsonl:1", "b.jsonl:2", "c.jsonl", "d.jsonl"]
