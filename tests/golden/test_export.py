# SPDX-License-Identifier: MIT
"""toll export: what was written with a record, written again from it, byte for byte; and records
that are cut short or damaged."""

import json
import os
import re
import subprocess

import pytest

import recorded

FORMATS = {".csv": "csv", ".jsonl": "jsonl", ".json": "json", ".txt": "text", ".lines": "lines"}
FIGURES = "cpu_seconds,memory_rss_bytes,system_cpu_cores"


def toll(*words, stdin=None, user=None, cwd=None):
    as_user = {"user": user, "group": user, "extra_groups": []} if user is not None else {}
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LC_ALL": "C.UTF-8", "TZ": "UTC"}
    env |= {key: os.environ[key] for key in ("ASAN_OPTIONS", "UBSAN_OPTIONS") if key in os.environ}
    done = subprocess.run(
        [recorded.toll_for(user), *words],
        input=stdin,
        stdin=None if stdin is not None else subprocess.DEVNULL,
        env=env,
        cwd=cwd,
        capture_output=True,
        timeout=60,
        check=False,
        **as_user,
    )
    assert done.returncode in (0, 125), done
    return done


def outputs(stem):
    return [word for suffix in FORMATS for word in ("-o", f"{FORMATS[suffix]}:{stem}{suffix}")]


def record_of(run, directory, *options):
    """A run replayed into every format; the path of its record."""
    stem = directory / "live"
    done = toll("replay", "-q", *options, *outputs(stem), recorded.fixture_of(run))
    assert (done.returncode, done.stderr) == (0, b"")
    return stem.with_suffix(".jsonl")


def without_outputs(text):
    """What became of the outputs is left out of a summary, in whatever format."""
    text = re.sub(rb'"outputs": ?\[.*?\],\s*"notes"', b'"notes"', text, flags=re.DOTALL)
    return re.sub(rb"(?m)^  Saved .*\n(?: {13}.*\n)*", b"", text)


def without_sizes(text):
    """A record has its size before its own summary, a summary that is written later the final one."""
    return re.sub(rb'"bytes": ?\d+', b'"bytes": 0', text)


def with_characters(text):
    """A byte that is not UTF-8 was written as an escape, and is the character itself once read."""
    return re.sub(rb"\\u00([89a-f][0-9a-f])", lambda code: chr(int(code[1], 16)).encode(), text)


def same(directory, first, second, as_is=lambda text: text):
    """Which files differ, though they should not."""
    return [
        suffix
        for suffix in FORMATS
        if as_is((directory / first).with_suffix(suffix).read_bytes())
        != as_is((directory / second).with_suffix(suffix).read_bytes())
    ]


@pytest.mark.parametrize("run", recorded.RUNS)
def test_every_format_again(run, tmp_path):
    record = record_of(run, tmp_path, *recorded.RUNS[run])
    done = toll("export", record, *outputs(tmp_path / "again"))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    differ = same(tmp_path, "live", "again", lambda text: without_sizes(with_characters(text)))
    if "--metrics" in recorded.RUNS[run]:
        differ = [suffix for suffix in differ if suffix != ".txt"]  # it has more than was recorded
    assert differ == []
    # … and from what was exported.
    assert toll("export", tmp_path / "again.jsonl", *outputs(tmp_path / "third")).returncode == 0
    assert same(tmp_path, "again", "third") == []


@pytest.mark.parametrize("options", [[], ["-v"]])
def test_text_on_stdout(options, tmp_path):
    record = record_of("marks", tmp_path, *options)
    done = toll("export", *options, "-f", "text", record)
    assert done.stdout == (tmp_path / "live.txt").read_bytes()


def test_stdin_and_stdout(tmp_path):
    record = record_of("this-machine", tmp_path)
    csv = (tmp_path / "live.csv").read_bytes()
    assert toll("export", record).stdout == csv
    assert toll("export", "-", stdin=record.read_bytes()).stdout == csv
    summary = toll("export", "-", "-o", "-", "-f", "json", stdin=record.read_bytes()).stdout
    assert without_sizes(summary) == without_sizes((tmp_path / "live.json").read_bytes())


@pytest.mark.parametrize("run", ["machine-server", "attach-groups", "marks"])
def test_fewer_metrics_are_as_if_measured_so(run, tmp_path):
    """-m of an export leaves what -m of the run would have left."""
    no_pss = ["--memory", "rss"]  # so that no note is about what is left out
    whole = record_of(run, tmp_path, *no_pss)
    (tmp_path / "few").mkdir()
    record_of(run, tmp_path / "few", *no_pss, "-m", FIGURES)
    done = toll("export", "-m", FIGURES, whole, *outputs(tmp_path / "few/again"))
    assert done.returncode == 0
    differ = same(tmp_path / "few", "live", "again", without_outputs)
    assert [suffix for suffix in differ if suffix != ".txt"] == []
    # Fewer of those that were recorded.
    done = toll("export", "-m", "target_*", tmp_path / "few/live.jsonl", "-f", "csv")
    heading = done.stdout.splitlines()[0].decode().split(",") if done.stdout else []
    assert all(name.startswith(("target_", "target.")) for name in heading[3:])


def test_several_runs(tmp_path):
    (tmp_path / "b").mkdir()
    a, b = record_of("marks", tmp_path), record_of("attach-groups", tmp_path / "b")
    both = tmp_path / "both.jsonl"
    both.write_bytes(a.read_bytes() + b.read_bytes())
    for suffix, name in FORMATS.items():
        texts = [without_sizes(path.with_suffix(suffix).read_bytes()) for path in (a, b)]
        assert without_sizes(toll("export", both, "-f", name).stdout) == b"".join(texts)
        for number in (1, 2):
            done = toll("export", both, "--run", str(number), "-f", name)
            assert without_sizes(done.stdout) == texts[number - 1]
    done = toll("export", both, "--run", "3", "-o", tmp_path / "x.csv")
    assert done.returncode == 125 and b"no run 3" in done.stderr and b"has 2" in done.stderr
    assert not (tmp_path / "x.csv").exists()
    listed = json.loads(toll("list", "--json", both).stdout)
    assert sorted((one["run"], one["samples"]) for one in listed) == [
        (1, a.read_bytes().count(b'"type":"sample"')),
        (2, b.read_bytes().count(b'"type":"sample"')),
    ]


def with_id(path, run_id):
    """The record with another id of its run."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        if "id" in line:
            line["id"] = run_id
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize("ids, short", [
    (["01a1e69a-08ae-7ef4-94f2-15cadb8591b5", "01a1e69a-08ae-7ef4-94f2-15cad1234567"],
     ["db8591b5", "d1234567"]),
    (["01a1e69a-08ae-7ef4-94f2-15cadb8591b5", "01a1e69a-08ae-7ef4-94f2-15cbdb8591b5"],
     ["adb8591b5", "bdb8591b5"]),
    (["01a1e69a-08ae-7ef4-94f2-15ca12345678", "01a1e69a-08ae-7ef4-95f2-15ca12345678"],
     ["4f2-15ca12345678", "5f2-15ca12345678"]),
])
def test_runs_by_their_short_id(tmp_path, ids, short):
    """As the list shows it: as long as it has to be, and taken where a run is asked for."""
    both = tmp_path / "both.jsonl"
    for directory in (tmp_path / "a", tmp_path / "b"):
        directory.mkdir()
    records = [with_id(record_of(name, directory, "-m", "cpu_seconds"), run_id)
               for name, directory, run_id in zip(("marks", "counter-race"),
                                                  (tmp_path / "a", tmp_path / "b"), ids)]
    both.write_bytes(b"".join(path.read_bytes() for path in records))
    heading, *lines = toll("list", "--sort", "time", both).stdout.decode().splitlines()
    assert heading.split() == ["RUN", "ID", "TIME", "NAME", "DURATION", "EXIT", "CPU", "MEMORY"]
    lines.sort()
    shown = [line[heading.index("ID"):].split()[0] for line in lines]
    assert shown == short
    for number, word in enumerate(short, 1):
        wanted = toll("export", both, "--run", str(number)).stdout
        assert wanted and toll("export", both, "--run", word).stdout == wanted
        assert toll("export", both, "--run", ids[number - 1].upper()).stdout == wanted
    assert toll("export", both, "--run", short[0], "-o", tmp_path / "x.json").returncode == 0
    done = toll("export", both, "--run", "ffffffff")
    assert done.returncode == 125 and b"no run in the record has an ID that ends in 'ffffffff'" in done.stderr
    same = ids[0][-8:] if ids[0][-8:] == ids[1][-8:] else None
    if same:
        done = toll("export", both, "--run", same)
        assert done.returncode == 125 and b"2 runs have an ID that ends in" in done.stderr
    done = toll("export", "-", "--run", short[0], stdin=both.read_bytes())
    assert done.returncode == 125 and b"expected the number of a run" in done.stderr
    for bad in ("0", "x", "1234567x", "-1"):
        assert toll("export", both, f"--run={bad}").returncode == 125


def test_a_file_that_holds_one_run(tmp_path):
    """Two JSON documents in a file are none; nor does a second run stand behind an # EOF."""
    both = tmp_path / "both.jsonl"
    both.write_bytes(2 * record_of("marks", tmp_path, "-m", "cpu_seconds").read_bytes())
    for name in ("x.json", "x.om"):
        done = toll("export", both, "-o", tmp_path / name)
        assert done.returncode == 125 and b"--run 1" in done.stderr, done.stderr
    assert not (tmp_path / "x.json").exists()
    assert toll("export", both, "--run", "2", "-o", tmp_path / "x.json").returncode == 0
    assert json.loads((tmp_path / "x.json").read_bytes())


def test_not_into_itself(tmp_path):
    record = record_of("marks", tmp_path, "-m", "cpu_seconds")
    before = record.read_bytes()
    assert toll("export", record, "-o", tmp_path / "x.sqlite").returncode == 0
    for place in (record, tmp_path / "x.sqlite", f"{tmp_path}/x.sqlite,every=2s"):
        path = str(place).partition(",")[0]
        done = toll("export", path, "-o", place)
        assert done.returncode == 125 and b"is the record being read" in done.stderr
    assert record.read_bytes() == before


def test_list_what_can_be_read(tmp_path):
    """One bad file is told, and the others are listed."""
    record = record_of("marks", tmp_path, "-m", "cpu_seconds")
    bad = tmp_path / "bad.jsonl"
    bad.write_text("{}\n")
    files = (bad, record, tmp_path / "none.jsonl", record)
    done = toll("list", *files)
    assert done.returncode == 125
    assert done.stdout.count(b"live.jsonl\n") == 2 and b"bad" not in done.stdout
    assert b"bad.jsonl" in done.stderr and b"none.jsonl" in done.stderr
    done = toll("list", "--json", *files)
    assert done.returncode == 125 and len(json.loads(done.stdout)) == 2
    half = tmp_path / "half.jsonl"
    half.write_bytes(record.read_bytes() + b"{}\n")
    done = toll("list", half)
    assert done.returncode == 125 and len(done.stdout.splitlines()) == 2


def test_list_tells_what_was_attached_to(tmp_path):
    record = record_of("attach-groups", tmp_path)
    (run,) = json.loads(toll("list", "--json", record).stdout)
    (line,) = [json.loads(x) for x in record.read_text().splitlines() if '"type":"run"' in x]
    assert run["attached_to"] == [target["what"] for target in line["attached_to"]]
    assert run["attached_to"][0] in toll("list", record).stdout.decode()


def small(tmp_path):
    """A record of a few kilobytes with a line of each type."""
    return record_of("marks", tmp_path, "-m", "cpu_seconds").read_bytes()


def test_cut_anywhere(tmp_path):
    """What stands before the cut is exported, nothing else."""
    text = small(tmp_path)
    first, last = text.index(b"\n"), len(text) - 1
    rows = toll("export", "-", stdin=text).stdout.splitlines()
    step = max(1, len(text) // 400)
    for at in [*range(0, len(text), step), first - 1, first, first + 1, last - 1, last]:
        done = toll("export", "-", stdin=text[:at])
        if at < first:
            assert done.returncode == 125 and b"at least one whole line" in done.stderr, at
            continue
        samples = text[:at].count(b'"type":"sample"')
        got = done.stdout.splitlines()
        assert done.returncode == 0, at
        assert got == rows[: len(got)] and len(got) in (samples, samples + 1, 0), at
        assert (b"before the run did" in done.stderr) == (at < last), at


def test_summary_of_a_cut_record(tmp_path):
    text = small(tmp_path)
    lines = text.splitlines(keepends=True)
    record = tmp_path / "cut.jsonl"
    record.write_bytes(b"".join(lines[:-1]) + lines[-1][:40])
    done = toll("export", record, "-o", tmp_path / "cut.json")
    assert done.returncode == 0 and b"before the run did" in done.stderr
    summary, whole = (json.loads(path.read_bytes()) for path in (tmp_path / "cut.json", tmp_path / "live.json"))
    assert summary["end"]["status"] == "unknown"
    samples = [json.loads(line) for line in lines if line.startswith(b'{"type":"sample"')]
    figure = summary["target"]["combined"]["cpu_seconds"]
    assert figure["total"] == samples[-1]["target"]["combined"]["cpu_seconds"]
    assert (figure["quality"], figure["from"]) == ("lower bound", "samples")
    assert summary["wall_seconds"] == samples[-1]["elapsed_seconds"]
    for key in ("rate_mean", "rate_max"):
        assert figure[key] == whole["target"]["combined"]["cpu_seconds"][key]
    assert summary["phases"] == whole["phases"] and summary["gauges"] == whole["gauges"]
    assert any("before the run did" in note for note in summary["notes"])
    assert b"cut off" in toll("list", record).stdout


def qualities(summary):
    """Of every figure that a summary knows, except what measuring cost: where it is, and its quality."""
    machine = [(key, value) for key, value in summary.items() if key in ("system", "cgroups", "disks")]
    for where, tables in [*summary["target"].items(), *machine]:
        for table in tables if isinstance(tables, list) else [tables]:
            for name, figure in table.items():
                if isinstance(figure, dict) and figure.get("quality", "unknown") != "unknown":
                    yield where, name, figure["quality"]


CAPACITIES = re.compile(r"cpus_online|swap_total_bytes|memory_(huge_)?total_bytes|size_bytes|.*_limit(_.*)?")


@pytest.mark.parametrize("run", ["this-machine", "limits-cgroup2", "attach-tree"])
def test_a_cut_record_knows_no_end_and_has_lower_bounds(run, tmp_path):
    lines = record_of(run, tmp_path).read_bytes().splitlines(keepends=True)
    samples = [at for at, line in enumerate(lines) if line.startswith(b'{"type":"sample"')]
    middle = samples[len(samples) // 2]
    cut, again = tmp_path / "cut.jsonl", tmp_path / "again.jsonl"
    cut.write_bytes(b"".join(lines[: middle + 1]) + lines[middle + 1][:40])
    (tmp_path / "live.json").unlink()
    done = toll("export", cut, *outputs(tmp_path / "first"), "-o", again, "-o", tmp_path / "cut.sqlite")
    assert done.returncode == 0, done
    summary = json.loads((tmp_path / "first.json").read_bytes())
    assert summary["end"]["status"] == "unknown" and summary["end"]["cut_short"] is True
    for where, name, quality in qualities(summary):
        if not CAPACITIES.fullmatch(name):
            assert quality == "lower bound", (where, name)
    text = (tmp_path / "first.txt").read_text()
    elapsed = json.loads(lines[middle])["elapsed_seconds"]
    head = re.search(r" record ends after ([0-9.]+) (s|ms)$", text, re.MULTILINE)
    assert head and abs(float(head[1]) * (1e-3 if head[2] == "ms" else 1) - elapsed) <= 0.01 * elapsed, text
    assert "exit" not in text.split("\n")[0]
    # It says the same when it is read again, from lines and from tables.
    for record in (again, tmp_path / "cut.sqlite"):
        assert toll("export", record, *outputs(tmp_path / "second")).returncode == 0
        differing = same(tmp_path, "first", "second", without_outputs)
        assert [suffix for suffix in differing if suffix != ".jsonl"] == []  # order of processes
        assert b"cut off" in toll("list", record).stdout
        assert json.loads(toll("list", "--json", record).stdout)[0]["cut_short"] is True


DAMAGE = {
    "not JSON": b"garbage\n",
    "half a line": b'{"type":"sample","tick":\n',
    "a NUL": b'{"type":"sample\0"}\n',
    "not UTF-8": b'{"type":"event","name":"\xff"}\n',
    "no type": b'{"tick":1}\n',
    "no object": b"[1]\n",
    "a number too large": b'{"type":"sample","tick":1e99}\n',
    "a negative time": b'{"type":"sample","elapsed_seconds":-1}\n',
    "a date that is none": b'{"type":"sample","time":"2026-13-01T00:00:00.000Z"}\n',
    "a string for a number": b'{"type":"sample","target":{"combined":{"cpu_seconds":"1"}}}\n',
    "too deep": b'{"type":"event","x":' + b"[" * 100 + b"]" * 100 + b"}\n",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_in_the_middle(damage, tmp_path):
    lines = small(tmp_path).splitlines(keepends=True)
    lines.insert(3, DAMAGE[damage])
    record, out = tmp_path / "bad.jsonl", tmp_path / "out.csv"
    record.write_bytes(b"".join(lines))
    out.write_text("as before")
    done = toll("export", record, "-o", out, "-o", tmp_path / "new.json")
    assert done.returncode == 125
    assert b"': line 4: " in done.stderr and done.stderr.count(b"\n") == 1
    assert out.read_text() == "as before"
    assert sorted(os.listdir(tmp_path)) == sorted(
        ["bad.jsonl", "out.csv", *(f"live{suffix}" for suffix in FORMATS)]
    )


def damaged(lines, which, change):
    """The lines with the last one of that type changed; change returns an object, or its text."""
    at = max(i for i, line in enumerate(lines) if json.loads(line)["type"] == which)
    new = change(json.loads(lines[at]))
    return [*lines[:at], new if isinstance(new, str) else json.dumps(new), *lines[at + 1 :]]


def twice(key):
    """The member once more, as the last one."""
    return lambda line: json.dumps(line)[:-1] + "," + json.dumps({key: line[key]})[1:]


def without(*path):
    def change(line):
        inner = line
        for key in path[:-1]:
            inner = inner[key]
        del inner[path[-1]]
        return line
    return change


def replaced(value, *path):
    def change(line):
        inner = line
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value(inner[path[-1]]) if callable(value) else value
        return line
    return change


STRUCTURAL_DAMAGE = {
    "no targets": ("attach-groups", "sample", without("targets"), "no figures of the targets"),
    "a target less": ("attach-groups", "sample", replaced(lambda t: t[1:], "targets"), ""),
    "a target more": ("attach-groups", "sample", replaced(lambda t: t + t[:1], "targets"), ""),
    "targets in another order": (
        "attach-groups", "sample", replaced(lambda t: t[::-1], "targets"), "an unexpected target"),
    "a target without its whole": (
        "attach-groups", "sample", without("targets", 0, "combined"), "part"),
    "no target": ("marks", "sample", without("target"), "other parts"),
    "another part": ("marks", "sample", without("target", "main"), "other parts"),
    "the targets of the summary": (
        "attach-groups", "summary", replaced(lambda t: t[1:], "targets"), ""),
    "the machine twice": ("machine-server", "sample", twice("system"), ""),
    "the machine of the summary twice": ("machine-server", "summary", twice("system"), ""),
    "the disks twice": ("machine-server", "sample", twice("disks"), ""),
    "a disk twice": ("machine-server", "sample", replaced(lambda d: d + d[:1], "disks"), "duplicate device"),
    "a disk of the summary twice": (
        "machine-server", "summary", replaced(lambda d: d + d[:1], "disks"), "duplicate device"),
    "a text for a figure": (
        "machine-server", "sample", replaced(lambda d: [{**d[0], "read_bytes": "1"}], "disks"), ""),
    "a duplicate key": ("marks", "run", twice("name"), ""),
    "the schema twice": ("marks", "run", twice("schema"), ""),
    "a phase's name twice": ("marks", "phase", twice("name"), ""),
    "a tick again": ("marks", "sample", replaced(0, "tick"), "a tick that"),
    "time runs back": ("marks", "sample", replaced(0, "elapsed_seconds"), "a time earlier"),
    "a label without a key": ("marks", "run", replaced({"": "x"}, "labels"), "label"),
    "a label with two keys": ("marks", "run", replaced({"a=b": "x"}, "labels"), "label"),
}


@pytest.mark.parametrize("damage", STRUCTURAL_DAMAGE)
def test_structural_damage(damage, tmp_path):
    """A line that is JSON, and cannot be of this run, is an error: no sink sees it."""
    run, which, change, reason = STRUCTURAL_DAMAGE[damage]
    lines = record_of(run, tmp_path).read_text().splitlines()
    bad = tmp_path / "bad.jsonl"
    bad.write_text("\n".join(damaged(lines, which, change)) + "\n")
    for suffix, kind in [*FORMATS.items(), (".sqlite", "sqlite")]:
        done = toll("export", bad, "-o", f"{kind}:{tmp_path}/out{suffix}")
        assert done.returncode == 125, (suffix, done)
        assert b"cannot read '" in done.stderr and reason.encode() in done.stderr, done.stderr
        assert not (tmp_path / f"out{suffix}").exists() or suffix == ".sqlite"


def test_a_name_twice_is_written_once(tmp_path):
    """What toll writes never has a key twice: the last label and the last attribute hold."""
    record = record_of("marks", tmp_path, "--label", "a=1", "--label", "b=2", "--label", "a=3")
    first = json.loads(record.read_text().splitlines()[0],
                       object_pairs_hook=lambda pairs: [*pairs])
    assert dict(first)["labels"] == [("b", "2"), ("a", "3")]
    assert toll("export", record).returncode == 0


NO_RECORDS = {
    "empty": (b"", b"no record in it"),
    "binary": (bytes(range(256)) * 100, b"not a record"),
    "zeros": (bytes(100000) + b"\n", b"not a record"),
    "text": (b"hello\nworld\n", b"not a record"),
    "CSV": (b"time,elapsed_seconds\n1,2\n", b"not a record"),
    "a summary": (b'{"schema": "toll.summary/1"}\n', b"not a record"),
    "a later schema": (b'{"type":"run","schema":"toll.record/9"}\n', b"toll.record/9"),
}


@pytest.mark.parametrize("kind", NO_RECORDS)
def test_what_is_no_record(kind, tmp_path):
    text, sentence = NO_RECORDS[kind]
    path = tmp_path / "x.jsonl"
    path.write_bytes(text)
    for command in (["export"], ["list"]):
        done = toll(*command, path)
        assert (done.returncode, done.stdout) == (125, b"")
        assert sentence in done.stderr, done.stderr


def test_what_cannot_be_read(tmp_path):
    for path, sentence in ((tmp_path, b"Is a directory"), (tmp_path / "none", b"No such file")):
        done = toll("export", path)
        assert done.returncode == 125 and sentence in done.stderr
    record = record_of("marks", tmp_path)
    record.chmod(0)
    done = toll("export", record, user=recorded.NOBODY if os.geteuid() == 0 else None)
    assert done.returncode == 125 and b"Permission denied" in done.stderr


def test_a_huge_line(tmp_path):
    path = tmp_path / "huge.jsonl"
    with open(path, "wb") as file:
        file.write(b'{"type":"run","schema":"toll.record/1"}\n')
        file.truncate(300 << 20)
    done = toll("export", path)
    assert done.returncode == 125 and b": line 2: " in done.stderr and b"256 MiB" in done.stderr


def test_full_disk(tmp_path):
    record = record_of("marks", tmp_path)
    done = toll("export", record, "-o", "csv:/dev/full")
    assert done.returncode == 125 and b"'/dev/full': No space left" in done.stderr


def test_mistakes(tmp_path):
    record = record_of("marks", tmp_path)
    for words, sentence in (
        ([], b"export: missing argument (expected toll export [options] RECORD)"),
        ([record, record], b"export: unexpected argument"),
        ([record, "-o", "x.unknown"], b"cannot determine the output type"),
        ([record, "-f", "nonsense"], b"-f: invalid value 'nonsense'"),
        ([record, "-m", "nonsense"], b"unknown metric 'nonsense'"),
        ([record, "--run", "0"], b"--run: invalid value '0'"),
        ([record, "--interval", "1s"], b"not an option of toll export"),
        ([record, "-o", "-", "-o", "-"], b"given twice"),
        ([record, "-o", "/nonexistent/x.csv"], b"No such file or directory"),
    ):
        done = toll("export", *words, cwd=tmp_path)
        assert done.returncode == 125 and sentence in done.stderr, (words, done.stderr)


def test_what_a_later_version_has_is_left_out(tmp_path):
    lines = small(tmp_path).decode().splitlines()
    csv = toll("export", tmp_path / "live.jsonl").stdout
    lines.insert(2, '{"type":"dream","x":[1,2]}')
    lines = [line.replace('"combined":{', '"combined":{"cpu_dreams":7,') for line in lines]
    done = toll("export", "-", stdin="\n".join(lines).encode() + b"\n")
    assert (done.returncode, done.stdout) == (0, csv)
    assert b"unknown to toll" in done.stderr


def test_keys_in_any_order(tmp_path):
    """A record that another program has written again."""
    lines = [json.loads(line) for line in record_of("machine-server", tmp_path).read_text().splitlines()]
    shuffled = "".join(json.dumps(line, sort_keys=True, indent=None) + "\n" for line in lines)
    for suffix, name in FORMATS.items():
        if suffix == ".jsonl":
            continue
        got = without_sizes(toll("export", "-", "-f", name, stdin=shuffled.encode()).stdout)
        expected = without_sizes((tmp_path / "live").with_suffix(suffix).read_bytes())
        if suffix == ".json":
            got, expected = json.loads(got), json.loads(expected)
        assert got == expected, name
