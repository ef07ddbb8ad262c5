# SPDX-License-Identifier: MIT
"""toll sub-tracking: what code blocks used, from the files of gpu-tracker. The truth is Python's own
statistics, of the same rows."""
import csv
import json
import os
import pickle
import random
import sqlite3
import statistics

import pytest
from fuzz import corpus

FIGURES = ["main_ram", "combined_ram", "main_n_threads", "cpu_main_sum_utilization_percent"]
STATIC = {"ram_unit": "megabytes", "time_unit": "hours", "ram_system_capacity": 67.25414912000001,
          "system_core_count": 12}
BLOCK_COLUMNS = ["process_id", "code_block_name", "position", "timestamp"]
START = 1746129778.99568


def make_points(count=40):
    rng = random.Random(7)
    return [[rng.random() * 900, rng.random() * 1e3, rng.randrange(30), rng.random() * 400,
             START + i / 2 + rng.random() / 10] for i in range(count)]


def make_blocks():
    """Calls of two blocks in two processes, one that overlaps, one without an end."""
    rng = random.Random(8)
    rows = []
    for pid in (812, 99):
        for i in range(5):
            begin = START + 3.7 * i + rng.random()
            rows.append([pid, "load, \"it\"", 0, begin])
            rows.append([pid, "load, \"it\"", 1, begin + rng.random() * 2])
    rows += [[812, "train.py:12", 0, START + 2.0], [812, "train.py:12", 1, START + 2.0001],
             [812, "train.py:12", 0, START + 90]]
    return rows


def write_csv(path, *tables):
    with open(path, "w", newline="", encoding="utf-8") as file:
        for table in tables:
            csv.writer(file).writerows(table)
    return str(path)


def write_sqlite(path, **tables):
    with sqlite3.connect(path) as db:
        for name, (heading, *rows) in tables.items():
            db.execute(f"CREATE TABLE {name} ({', '.join(heading)})")
            marks = ", ".join("?" * len(heading))
            db.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
    db.close()
    os.chmod(path, 0o644)
    return str(path)


def points_file(directory, suffix, points):
    if suffix == "csv":
        return write_csv(directory / "points.csv", [STATIC.keys(), STATIC.values()],
                         [FIGURES + ["timestamp"], *points])
    return write_sqlite(directory / "points.sqlite",
                        static_data=[list(STATIC), list(STATIC.values())],
                        data=[FIGURES + ["timestamp"], *points])


def blocks_file(directory, suffix, rows, name="blocks"):
    if suffix == "csv":
        return write_csv(directory / f"{name}.csv", [BLOCK_COLUMNS, *rows])
    return write_sqlite(directory / f"{name}.sqlite", data=[BLOCK_COLUMNS, *rows])


def run(place, *words):
    status, out, err = place.call([place.toll, "sub-tracking", *words])
    return status, out.decode(), err.decode()


def spread(values):
    return {"min": min(values), "max": max(values), "mean": statistics.fmean(values),
            "std": statistics.pstdev(values)}


def calls_of(rows, name):
    starts, calls = {}, []
    for pid, block, position, time in rows:
        if block == name and position == 0:
            starts[pid] = time
        elif block == name:
            calls.append((starts.pop(pid), time))
    return calls


def expected(points, rows):
    def usage(chosen):
        return {f: spread([float(p[i]) for p in chosen]) for i, f in enumerate(FIGURES)}

    blocks = []
    for name in sorted({row[1] for row in rows}):
        calls = calls_of(rows, name)
        inside = [p for p in points if any(a <= p[-1] <= b for a, b in calls)]
        lengths = [b - a for a, b in calls]
        blocks.append({
            "name": name, "num_timepoints": len(inside), "num_calls": len(calls),
            "num_non_empty_calls": sum(any(a <= p[-1] <= b for p in points) for a, b in calls),
            "compute_time": spread(lengths) | {"total": sum(lengths)},
            "resource_usage": usage(inside) if inside else
            {f: dict.fromkeys(("min", "max", "mean", "std")) for f in FIGURES},
        })
    return {"overall": usage(points), "static_data": STATIC, "code_block_results": blocks}


def assert_same(got, truth):
    """The same keys in the same order, the same types, the same numbers."""
    assert type(got) is type(truth), (got, truth)
    if isinstance(truth, dict):
        assert list(got) == list(truth)
        for key, value in truth.items():
            assert_same(got[key], value)
    elif isinstance(truth, list):
        assert len(got) == len(truth)
        for one, other in zip(got, truth):
            assert_same(one, other)
    elif isinstance(truth, float):
        assert got == pytest.approx(truth, rel=1e-12, abs=1e-12)
    else:
        assert got == truth


@pytest.mark.parametrize("suffix", ["csv", "sqlite"])
def test_analysis_is_what_statistics_says(here, suffix):
    points, rows = make_points(), make_blocks()
    files = points_file(here.directory, suffix, points), blocks_file(here.directory, suffix, rows)
    status, out, err = run(here, "analyze", *files, "-f", "json")
    assert (status, err) == (0, "")
    assert_same(json.loads(out), expected(points, rows))
    assert out == json.dumps(json.loads(out), indent=1) + "\n"


@pytest.mark.parametrize("earlier", [[], [[1, 2, 3, 3.6, START + 1]]])
def test_use_before_a_block_is_not_its_own(here, earlier):
    """At the mark that begins it a row tells what was used before; memory is of that moment."""
    points = earlier + [[5, 6, 7, 4.4, START + 1.7004], [9, 8, 7, 45.8, START + 2.3]]
    blocks = [[7, "burn", 0, START + 1.7], [7, "burn", 1, START + 2.31]]
    files = points_file(here.directory, "csv", points), blocks_file(here.directory, "csv", blocks)
    status, out, err = run(here, "analyze", *files, "-f", "json")
    assert (status, err) == (0, "")
    [block] = json.loads(out)["code_block_results"]
    assert (block["num_timepoints"], block["num_non_empty_calls"]) == (2, 1)
    assert block["resource_usage"]["main_ram"] == {"min": 5, "max": 9, "mean": 7, "std": 2}
    use = block["resource_usage"]["cpu_main_sum_utilization_percent"]
    assert use == {"min": 45.8, "max": 45.8, "mean": 45.8, "std": 0}


def test_pickle_is_read_by_python_and_by_us(here):
    files = points_file(here.directory, "csv", make_points()), blocks_file(here.directory, "csv", make_blocks())
    for form in ("json", "pickle"):
        status, out, err = run(here, "analyze", *files, "-f", form, "-o", f"result.{form}")
        assert (status, out, err) == (0, "", "")
    with open(here.path("result.pickle"), "rb") as file:
        assert_same(pickle.load(file), json.loads(here.path("result.json").read_text()))
    both = [run(here, "compare", f"A=result.{form}", "B=result.json", "-f", "json")[1]
            for form in ("json", "pickle")]
    assert both[0] == both[1]


def test_text_says_what_json_says(here):
    files = points_file(here.directory, "csv", make_points()), blocks_file(here.directory, "csv", make_blocks())
    truth = json.loads(run(here, "analyze", *files, "-f", "json")[1])
    lines = run(here, "analyze", *files)[1].split("\n")
    assert lines[0] == "Overall:" and lines[1].split() == ["min", "max", "mean", "std"]
    for line, (name, of) in zip(lines[2:], truth["overall"].items()):
        words = line.split()
        assert line.startswith(f"\t{name} ") and words[0] == name
        assert words[1:] == [repr(float(f"{value:.8f}")) for value in of.values()]
    at = lines.index("Code Block Results:")
    block = truth["code_block_results"][0]
    assert lines[at + 1:at + 6] == [
        f"\tName:                {block['name']}", f"\tNum Timepoints:      {block['num_timepoints']}",
        f"\tNum Calls:           {block['num_calls']}",
        f"\tNum Non Empty Calls: {block['num_non_empty_calls']}", "\tCompute Time:"]
    assert len({len(line) for line in lines[1:2 + len(FIGURES)]}) == 1  # the columns are aligned


@pytest.mark.parametrize("suffix", ["csv", "sqlite"])
def test_combination_is_all_rows(here, suffix):
    rows = make_blocks()
    parts = [row for row in rows if row[0] == 99], [row for row in rows if row[0] != 99]
    folder = here.path("parts")
    folder.mkdir(mode=0o755)
    files = [blocks_file(folder, suffix, part, str(i)) for i, part in enumerate(parts)]
    for name, given in (("a", files), ("b", [str(folder)])):
        assert run(here, "combine", "-o", f"{name}.{suffix}", *given) == (0, "", "")
        path = here.path(f"{name}.{suffix}")
        if suffix == "csv":
            with open(path, encoding="utf-8", newline="") as file:
                got = list(csv.reader(file))
            assert got == [BLOCK_COLUMNS, *([str(c) for c in row] for row in parts[0] + parts[1])]
        else:
            with sqlite3.connect(path) as db:
                assert [list(row) for row in db.execute("SELECT * FROM data")] == parts[0] + parts[1]
            db.close()
    points = points_file(here.directory, suffix, make_points())
    whole = blocks_file(here.directory, suffix, rows)
    assert run(here, "analyze", points, f"a.{suffix}") == run(here, "analyze", points, whole)
    assert len(list(here.directory.iterdir())) == 5  # and nothing beside


@pytest.mark.parametrize("statistic", ["min", "max", "mean", "std", None])
def test_comparison_is_the_smallest_first(here, statistic):
    sessions = []
    for name, scale in (("slow", 3), ("fast", 1), ("middle", 2)):
        points = [[*(figure * scale for figure in p[:-1]), p[-1]] for p in make_points()]
        folder = here.path(name)
        folder.mkdir(mode=0o755)
        files = points_file(folder, "csv", points), blocks_file(folder, "csv", make_blocks())
        (folder / "r.json").write_text(run(here, "analyze", *files, "-f", "json")[1])
        sessions.append(f"{name}={folder}/r.json")
    words = ["--stat", statistic] if statistic else []
    status, out, err = run(here, "compare", *sessions, "-f", "json", *words)
    assert (status, err) == (0, "")
    got = json.loads(out)
    assert list(got) == ["overall_resource_usage", "code_block_resource_usage", "code_block_compute_time"]
    results = {s.split("=")[0]: json.loads(open(s.split("=")[1], encoding="utf-8").read())
               for s in sessions}
    key = statistic or "mean"
    for figure in FIGURES:
        values = {name: r["overall"][figure][key] for name, r in results.items()}
        assert got["overall_resource_usage"][figure] == values
        order = list(got["overall_resource_usage"][figure].values())
        assert order == sorted(order)
    times = got["code_block_compute_time"]
    assert list(times) == ["load, \"it\"", "train.py:12"]
    assert list(times["train.py:12"]) == ["slow", "fast", "middle"]  # all alike: as they were given


def session_of(place, name, *blocks):
    """The results of a run with these blocks, one call of each."""
    rows = [[7, block, position, START + position] for block in blocks for position in (0, 1)]
    files = points_file(place.directory, "csv", make_points()), blocks_file(place.directory, "csv", rows)
    assert run(place, "analyze", *files, "-f", "pickle", "-o", f"{name}.pkl") == (0, "", "")
    return f"{name}={name}.pkl"


def test_blocks_match_as_in_gpu_tracker(here):
    """The first by name is what the others are matched with. Lines are sorted by their numbers, and
    the names that a block has in several sessions by their letters."""
    b = session_of(here, "B", "Y", "tmp.py:37", "X", "tmp.py:7")
    a = session_of(here, "A", "tmp.py:38", "tmp.py:9", "X", "Y")
    status, out, err = run(here, "compare", b, a, "-f", "json")
    assert status == 0
    said = ('Code block name "tmp.py:{}" of tracking session "A" matched with code block name "tmp.py:{}" of '
            'tracking session "B" but they differ by line number. If these code blocks were not meant to match, '
            "their comparison will not be valid and their names must be disambiguated.")
    assert err == "".join(f"toll: {said.format(*lines)}\n" for lines in ((9, 7), (38, 37)))
    got = json.loads(out)
    names = ["X", "Y", "tmp.py:7 -> tmp.py:9", "tmp.py:37 -> tmp.py:38"]
    assert list(got["code_block_compute_time"]) == names
    assert all(list(blocks) == names for blocks in got["code_block_resource_usage"].values())
    # A line is a line among names that are none, however many digits it has.
    one = session_of(here, "one", "a:9", "a:60", "a:7x", "a:100")
    status, out, err = run(here, "compare", one, "-f", "json")
    assert (status, err) == (0, "")
    assert list(json.loads(out)["code_block_compute_time"]) == ["a:9", "a:60", "a:100", "a:7x"]


@pytest.mark.parametrize("blocks, says", [
    (["X", "Y", "Z", "tmp.py:9", "tmp.py:38"],
     "All sub-tracking results must have the same number of code blocks. The first has 4 code blocks but "
     'tracking session "C" has 5 code blocks.'),
    (["X", "Y", "tmp.py:9", "tmp.py:abc"],
     'Code block name "tmp.py:38" of tracking session "A" does not match code block name "tmp.py:abc" of '
     'tracking session "C"'),
    (["X", "Y", "temp.py:123", "tmp.py:38"],
     'Code block name "tmp.py:9" of tracking session "A" does not match code block name "temp.py:123" of '
     'tracking session "C"'),
])
def test_blocks_that_do_not_match(here, blocks, says):
    c, a = session_of(here, "C", *blocks), session_of(here, "A", "X", "Y", "tmp.py:9", "tmp.py:38")
    assert run(here, "compare", c, a) == (125, "", f"toll: sub-tracking: {says}\n")


@pytest.mark.parametrize("rows, says", [
    ([[11, "X", 0, 9.5], [11, "X", 1, 9.75], [12, "X", 0, 9.875], [12, "X", 1, 13.5], [11, "X", 1, 13.625]],
     "(13.625, 9.875) with differing process IDs: 11 and 12."),
    ([[11, "X", 0, 13.75], [11, "X", 0, 13.5], [11, "X", 1, 9.75]],
     "(9.75, 13.5) of process ID 11 with a start time greater than the stop time."),
])
def test_invalid_pairs_are_errors(here, rows, says):
    files = points_file(here.directory, "csv", make_points()), blocks_file(here.directory, "csv", rows)
    assert run(here, "analyze", *files) == (
        125, "", f"toll: sub-tracking: Sub-tracking file is invalid. Detected timestamp pair {says}\n")


PICKLES = corpus.read("pickle")


def statistics_of(values):
    return spread([float(value) for value in values])


@pytest.mark.parametrize("name", ["pandas4", "pandas5"])
def test_pickles_of_gpu_tracker_are_read(here, name):
    """As that tool writes them with the protocols 4 and 5: its data classes with tables of pandas.
    The points are 1.5, 2.5 and 4, with 1, 2 and 3 threads."""
    path = str(here.path("results.pkl"))
    here.path("results.pkl").write_bytes(PICKLES[name])
    status, out, err = run(here, "analyze", path, "-f", "json")
    assert (status, err) == (0, "")
    usage = {"main_ram": statistics_of([1.5, 2.5, 4]), "main_n_threads": statistics_of([1, 2, 3])}
    blocks = [{"name": block, "num_timepoints": 2, "num_calls": 1, "num_non_empty_calls": 1,
               "compute_time": statistics_of([1 + i, 2]) | {"total": 3.0}, "resource_usage": usage}
              for i, block in enumerate(["tmp.py:9", "tmp.py:38", "X"])]
    assert_same(json.loads(out), {
        "overall": usage,
        "static_data": {"ram_unit": "gigabytes", "ram_system_capacity": 64.5, "system_core_count": 12},
        "code_block_results": blocks})
    assert run(here, "analyze", path)[1].startswith("Overall:\n")
    status, out, err = run(here, "compare", f"A={path}", f"B={path}", "--stat", "max", "-f", "json")
    assert (status, err) == (0, "")
    assert json.loads(out)["code_block_compute_time"]["X"] == {"A": 3.0, "B": 3.0}


def test_whole_numbers_stay_whole(here):
    """A table of objects has some; the text has them as pandas prints them."""
    here.path("a.pkl").write_bytes(PICKLES["pandas_objects"])
    status, out, err = run(here, "compare", "A=a.pkl", "B=a.pkl", "--stat", "max", "-f", "json")
    assert (status, err) == (0, "")
    assert '"main_n_threads": {\n   "A": 3,\n   "B": 3\n' in out
    out = run(here, "compare", "A=a.pkl", "B=a.pkl", "--stat", "max")[1]
    assert "\tMain N Threads:\n\t\t  A  B\n\t\t  3  3\n" in out
    assert run(here, "compare", "A=a.pkl", "--stat", "mean", "-f", "json")[1].count("2.0") == 1


def test_pickles_are_not_run(here):
    class Hostile:
        def __reduce__(self):
            return os.system, (f"touch {here.path('ran')}",)

    for name, what in (("a.pkl", Hostile()), ("b.pkl", {"overall": Hostile()})):
        here.path(name).write_bytes(pickle.dumps(what))
        for words in (["analyze", name], ["compare", f"A={name}"]):
            status, out, err = run(here, *words)
            assert (status, out) == (125, "")
            assert err == f"toll: sub-tracking: {name}: unsupported object posix.system in the pickle\n"
    assert not here.path("ran").exists()


@pytest.mark.parametrize("suffix", ["jsonl", "sqlite"])
def test_a_record_has_both_in_it(here, suffix):
    script = "; ".join(f"{here.toll} mark phase begin {name}; sleep 0.12; {here.toll} mark phase end {name}"
                       for name in ("load", "train"))
    result = here.run(["sh", "-c", script], ["-i", "50ms", "-o", f"r.{suffix}", "-o", "points.csv", "-o",
                                             "r.sub-tracking.csv", "--layout", "gpu-tracker"])
    assert result.status == 0, result.err
    status, out, err = run(here, "analyze", f"r.{suffix}", "-f", "json")
    assert (status, err) == (0, "")
    assert [block["name"] for block in json.loads(out)["code_block_results"]] == ["load", "train"]
    assert run(here, "analyze", "points.csv", "r.sub-tracking.csv", "-f", "json") == (0, out, "")
    # Other blocks may be meant; and it is a session to compare.
    here.path("b.csv").write_text("process_id,code_block_name,position,timestamp\n")
    status, other, err = run(here, "analyze", f"r.{suffix}", "b.csv", "-f", "json")
    assert (status, err) == (0, "") and json.loads(other)["code_block_results"] == []
    here.path("A.json").write_text(out)
    status, out, err = run(here, "compare", "A=A.json", f"B=r.{suffix}")
    assert (status, err) == (0, "") and "A" in out and "B" in out


@pytest.mark.parametrize("words, says", [
    (["analyze", "two.jsonl"], "'two.jsonl' has 2 runs (expected one; extract it with: toll export --run N two.jsonl -o FILE.jsonl)"),
    (["analyze", "nowhere.jsonl"], "cannot read 'nowhere.jsonl'"),
    ([], "missing arguments (expected 'analyze POINTS [BLOCKS]'"),
    (["dance"], "sub-tracking: unknown command 'dance'"),
    (["analyze"], "sub-tracking: missing argument"),
    (["analyze", "points.txt"], 'Invalid file name: "points.txt". Valid file extensions are ".csv" and ".sqlite".'),
    (["analyze", "nowhere.csv"], "nowhere.csv: No such file or directory"),
    (["analyze", "nowhere.sqlite"], "nowhere.sqlite: No such file or directory"),
    (["analyze", "text.sqlite"], "text.sqlite: file is not a database"),
    (["analyze", "empty.csv"], "empty.csv: header row missing"),
    (["analyze", "good.csv", "good.csv"], "good.csv: no column 'process_id'"),
    (["analyze", "good.csv", "-f", "xml"], """-f: invalid value 'xml' (expected text, json or pickle)"""),
    (["analyze", "good.csv", "-o", "no/such/file"], "cannot write to 'no/such/file': No such file or directory"),
    (["analyze", "a", "b", "c"], "unexpected argument 'c'"),
    (["analyze", "good.csv", "--stat", "max"], "--stat is an option of compare only"),
    (["combine", "good.csv"], "sub-tracking combine: missing -o FILE"),
    (["combine", "-o", "good.csv", "good.csv"], "Cannot create sub-tracking file good.csv. File already exists."),
    (["combine", "-o", "new.csv", "other.sqlite"], 'File other.sqlite does not end with the same extension as new.csv. Must end in ".csv".'),
    (["combine", "-o", "new.csv", "hollow"], "hollow: no files in this directory"),
    (["compare", "good.csv"], "invalid tracking session 'good.csv' (expected NAME=FILE)"),
    (["compare", "A=good.csv", "--stat", "median"], "--stat: invalid value 'median' (expected min, max, mean or std)"),
    (["compare", "A=results.pkl"], "results.pkl: unsupported object statistics.NormalDist in the pickle"),
    (["--never"], "sub-tracking: unknown option '--never'"),
])
def test_bad_input_is_a_sentence(here, words, says):
    here.path("good.csv").write_text("a,timestamp\n1,2\n")
    here.path("empty.csv").write_text("")
    here.path("text.sqlite").write_text("this is no database\n" * 100)
    here.path("results.pkl").write_bytes(pickle.dumps(statistics.NormalDist()))
    here.path("hollow").mkdir(mode=0o755)
    if "two.jsonl" in words:
        assert here.call([here.toll, "run", "-q", "-o", "one.jsonl", "--", "true"])[0] == 0
        here.path("two.jsonl").write_bytes(2 * here.path("one.jsonl").read_bytes())
    before = sorted(here.directory.iterdir())
    status, out, err = run(here, *words)
    assert (status, out) == (125, "")
    assert err.startswith("toll: ") and err.count("\n") == 1
    assert says in err
    assert sorted(here.directory.iterdir()) == before
