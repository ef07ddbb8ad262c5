# SPDX-License-Identifier: MIT
"""toll compare: what it prints for records with known figures, in each form; conditions; mistakes."""

import json
import os
import pathlib
import re
import subprocess

import hostlib
import pytest
import recorded
from test_list import write  # records with known figures

SCHEMA = pathlib.Path(__file__).parents[2] / "docs/schema/compare.schema.json"
MIB = 2**20


def toll(*words, cwd=None, locale="C.UTF-8"):
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LC_ALL": locale, "TZ": "UTC"}
    env |= {key: os.environ[key] for key in ("ASAN_OPTIONS", "UBSAN_OPTIONS") if key in os.environ}
    done = subprocess.run([recorded.TOLL, *words], stdin=subprocess.DEVNULL, env=env, cwd=cwd,
                          capture_output=True, timeout=60, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.fixture(scope="module")
def pattern(tmp_path_factory):
    """The lines of a small record that toll itself wrote."""
    where = tmp_path_factory.mktemp("pattern")
    done = recorded.replay(recorded.fixture_of("marks"), "-q", "-o", where / "live.jsonl")
    assert done.returncode in (0, 3, 7), done.stderr
    return [json.loads(line) for line in (where / "live.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def runs(tmp_path_factory, pattern):
    """Five runs each: new takes 12 % longer; both use the same memory."""
    where = tmp_path_factory.mktemp("runs")
    for i, off in enumerate((-2, -1, 0, 1, 2)):
        for number, branch, share in ((10, "main", 1), (20, "new", 1.12)):
            write(where / f"{branch}.jsonl", pattern, hours=i, name="build", labels={"branch": branch},
                  wall=share * (60 + 0.1 * off), cpu=30 + 0.05 * off,
                  memory=1000 * MIB + off * MIB, number=number + i, add=i > 0)
    write(where / "one.jsonl", pattern, hours=1, wall=66, cpu=30, memory=1000 * MIB, number=30)
    write(where / "bound.jsonl", pattern, hours=1, cpu=10, quality="lower bound", number=31)
    write(where / "failed.jsonl", pattern, hours=1, end=("exited", 3), number=32)
    write(where / "failed.jsonl", pattern, hours=2, number=33, add=True)
    write(where / "failed.jsonl", pattern, hours=3, end=("signaled", 9), number=34, add=True)
    return where


def test_text(runs):
    status, out, err = toll("compare", "main.jsonl", "new.jsonl", cwd=runs)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert re.fullmatch(r"new.jsonl is 12 % slower, uses the same CPU time and the same memory(; .*)?",
                        lines[0])
    assert max(map(len, lines)) <= 80
    assert re.search(r"^Different\n  Time +1m 00s ± 0.3 % +1m 07s ± 0.3 % +\+7.20 s +\+12.0 %\n"
                     r" +interval \+\d\.\d+ s to \+\d\.\d+ s \(\+\d+\.\d % to \+\d+\.\d %\)$", out, re.M)
    assert re.search(r"^No difference shown\n(?:  .*\n)*  CPU time ", out, re.M)
    assert "They can be trusted from 5 runs in\neach group." in out
    assert "unknown" not in lines[0]


def test_one_run_each(runs):
    out = toll("compare", "main.jsonl:3", "one.jsonl", cwd=runs)[1]
    assert out.startswith("one.jsonl: one run each: a difference cannot be tested; time +10.0 %, CPU")
    assert "Different" not in out and "interval +" not in out


def test_one_run_against_several(runs):
    out = toll("compare", "main.jsonl", "one.jsonl", cwd=runs)[1]
    assert out.startswith("one.jsonl is 10 % slower")
    assert "with 1 they are rough" in out


def test_groups(runs):
    expected = toll("compare", "main.jsonl", "new.jsonl", "--json", cwd=runs)[1]
    figures = json.loads(expected)["comparisons"][0]["figures"]
    ident = json.loads(expected)["groups"][1]["runs"][0]["id"]
    for words in (["branch=main", "branch=new"], ["name=build,branch=main", "name=b*,branch=new"],
                  ["--baseline", "branch=main", "branch=new"],
                  ["--in", "new.jsonl", "main.jsonl", "name=build"],
                  ["main.jsonl:name=build", "./:branch=new"]):
        status, out, err = toll("compare", "--json", *words, cwd=runs)
        assert status == 0, err
        assert json.loads(out)["comparisons"][0]["figures"] == figures, words
    status, out, _ = toll("compare", "--json", "main.jsonl", f"new.jsonl:{ident[-8:].upper()}", cwd=runs)
    assert [run["id"] for run in json.loads(out)["groups"][1]["runs"]] == [ident]


def test_lower_bound(runs):
    status, out, _ = toll("compare", "--json", "main.jsonl", "bound.jsonl", cwd=runs)
    figures = {f["figure"]: f for f in json.loads(out)["comparisons"][0]["figures"] if not f["phase"]}
    assert figures["cpu_seconds"]["result"] == "lower bound"
    text = toll("compare", "main.jsonl", "bound.jsonl", cwd=runs)[1]
    assert "CPU time cannot be compared (lower bounds)" in " ".join(text.split("\n\n")[0].split())
    assert ">= 10.0 s" in toll("compare", "main.jsonl", "bound.jsonl", cwd=runs, locale="C")[1]


def test_a_record_that_was_cut_short(runs, pattern, tmp_path):
    half, whole = tmp_path / "half.jsonl", tmp_path / "whole.jsonl"
    write(half, pattern, hours=1, cut=True, number=40)
    status, out, err = toll("compare", "main.jsonl", half, "--fail-if", "time > +5%", cwd=runs)
    assert status == 0 and re.search(r"^Not compared: lower bounds\n(?:  .*\n)*  Time .*≥ ", out, re.M)
    assert "is unknown, since a lower bound may be too low" in err
    # A whole copy counts instead, in front of it or behind it.
    write(whole, pattern, hours=1, number=40)
    (tmp_path / "a.jsonl").write_bytes(half.read_bytes())
    status, out, err = toll("compare", "--json", runs / "main.jsonl", tmp_path)
    assert (status, err) == (0, "")
    assert [run["record"] for run in json.loads(out)["groups"][1]["runs"]] == [str(whole)]
    status, out, err = toll("compare", "-f", "html", runs / "main.jsonl", tmp_path)
    assert status == 0 and out.count('class="l curve c1"') == 2
    status, out, err = toll("report", tmp_path)
    assert (status, err) == (0, "") and "the record ends before" not in out
    assert "1 run" in toll("recommend", tmp_path)[1]
    # Only what is shown is noted, and by its file.
    write(tmp_path / "old.jsonl", pattern, hours=9, cut=True, number=41)
    assert toll("report", tmp_path)[2] == ""
    err = toll("report", "-a", tmp_path)[2]
    assert err.count("\n") == 1 and f"{tmp_path}/old.jsonl: the record ends before the run did" in err


def test_small_counts(pattern, tmp_path):
    """Means of counts have decimals; what reads as 0 has no sign, and is no base of percents."""
    for group, counts in (("a", (1, 0, 0)), ("b", (0, 0, 0))):
        for i, count in enumerate(counts):
            lines = json.loads(json.dumps(pattern))
            lines[-1]["target"]["combined"]["faults_major"].update(total=count)
            write(tmp_path / f"{group}.jsonl", lines, hours=i, number=ord(group) * 16 + i, add=True)
    out = toll("compare", "a.jsonl", "b.jsonl", cwd=tmp_path)[1]
    assert re.search(r"^  Major page faults +0\.33 ± 173 % +0 +-0\.33 +-100 %$", out, re.M), out
    out = toll("compare", "b.jsonl", "a.jsonl", cwd=tmp_path)[1]
    assert re.search(r"^  Major page faults +0 +0\.33 ± 173 % +\+0\.33 *$", out, re.M), out
    assert "-0" not in out


def test_empty_directory(runs, tmp_path):
    for words in (["report", tmp_path], ["compare", runs / "main.jsonl", tmp_path]):
        status, out, err = toll(*words)
        assert (status, out) == (125, "")
        assert f"no records in '{tmp_path}' (expected *.jsonl, *.sqlite or *.db)\n" in err


def test_failed_runs_are_named(runs):
    out = " ".join(toll("compare", "main.jsonl", "failed.jsonl", cwd=runs)[1].split())
    assert "failed.jsonl: failed.jsonl, run 1 failed (exit 3); left out" in out
    assert "run 3 failed (signal 9); left out" in out
    groups = json.loads(toll("compare", "--json", "main.jsonl", "failed.jsonl", cwd=runs)[1])["groups"]
    assert [run["used"] for run in groups[1]["runs"]] == [False, True, False]
    out = toll("compare", "main.jsonl", "failed.jsonl:1", cwd=runs)[1]
    assert "failed (exit 3); compared anyway" in " ".join(out.split())


def test_same_runs_twice(runs):
    out = toll("compare", "main.jsonl", "branch=main", cwd=runs)[1]
    assert out.startswith("branch=main: no difference shown in time, CPU time and memory\n")
    assert "5 runs are both in main.jsonl and in branch=main" in " ".join(out.split())


def test_json_follows_the_schema(runs):
    jsonschema = hostlib.module("jsonschema")
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    for words in (["main.jsonl", "new.jsonl", "one.jsonl", "bound.jsonl"], ["failed.jsonl", "one.jsonl"]):
        status, out, err = toll("compare", "--json", "--fail-if", "time > +50%", *words, cwd=runs)
        assert status == 0, err
        jsonschema.Draft202012Validator(schema).validate(json.loads(out))


def test_files(runs, tmp_path):
    status, out, err = toll("compare", "main.jsonl", "new.jsonl", "-o", tmp_path / "c.md", "-o",
                            tmp_path / "c.html", "-o", tmp_path / "c.json", "-o", tmp_path / "c.txt",
                            cwd=runs)
    assert (status, out, err) == (0, "", "")
    assert (tmp_path / "c.txt").read_text() == toll("compare", "main.jsonl", "new.jsonl", cwd=runs)[1]
    assert (tmp_path / "c.json").read_text() == toll("compare", "--json", "main.jsonl", "new.jsonl",
                                                     cwd=runs)[1]
    markdown = (tmp_path / "c.md").read_text()
    assert markdown.startswith("**new.jsonl is 12 % slower") and "|---|---:|" in markdown
    page = (tmp_path / "c.html").read_text()
    assert "<svg" in page and "<script" not in page and "http" not in page.replace("http-equiv", "")
    assert page.count('class="l curve c0"') == page.count('class="l curve c1"') > 0
    status, _, err = toll("compare", "main.jsonl", "new.jsonl", "-o", tmp_path / "c.pdf", cwd=runs)
    assert status == 125 and "expected .md, .html, .json or .txt" in err


@pytest.mark.parametrize("words", [
    ["main.jsonl", "new.jsonl"], ["main.jsonl:1", "new.jsonl:2"], ["branch=main", "branch=new"],
    [".", "branch=new"], ["--in", "new.jsonl", "name=build", "branch=new"],
])
def test_records_are_not_overwritten(runs, words):
    before = (runs / "new.jsonl").read_bytes()
    status, out, err = toll("compare", *words, "--format", "json", "-o", "./new.jsonl", cwd=runs)
    assert (status, out) == (125, "")
    assert err == ("toll: compare: cannot write to './new.jsonl': it is a record being read (choose "
                   "another file)\n")
    assert (runs / "new.jsonl").read_bytes() == before


def test_names_are_escaped(runs, tmp_path):
    bad = "<script>alert(1)<\x1b[31m|*x*.jsonl"
    (tmp_path / bad).write_bytes((runs / "new.jsonl").read_bytes())
    shown = {form: toll("compare", runs / "main.jsonl", tmp_path / bad, "-f", form)[1]
             for form in ("text", "markdown", "html")}
    assert all("\x1b" not in text for text in shown.values())
    assert "<script" not in shown["html"] and "&lt;script&gt;" in shown["html"]
    assert "\\<script\\>" in shown["markdown"] and "\\|\\*x\\*" in shown["markdown"]


@pytest.mark.parametrize("condition, status, sentence", [
    ("time > 1m", 1, "failed: new.jsonl: time was 1m 07s (mean of 5 runs), above the limit of 1m 00s"),
    ("time > +5%", 1, "+12 % from the baseline of 1m 00s (mean of 5 runs), above the limit of +5 %"),
    ("time > +15%", 0, ""),
    ("memory_peak > 2G", 0, ""),
    ("energy > 1J", 1, "energy cannot be checked: it is unknown in this run"),
])
def test_conditions(runs, condition, status, sentence):
    done = toll("compare", "main.jsonl", "new.jsonl", "--fail-if", condition, cwd=runs)
    assert done[0] == status and sentence in done[2] and bool(done[2]) == bool(sentence)


def test_condition_on_a_lower_bound(runs):
    for limit, status, sentence in (("5s", 1, "at least 10.0 s, above the limit"),
                                    ("20s", 0, "toll: not proven: bound.jsonl: cpu was at least 10.0 s")):
        done = toll("compare", "main.jsonl", "bound.jsonl", "--fail-if", f"cpu > {limit}", cwd=runs)
        assert done[0] == status and sentence in done[2]


@pytest.mark.parametrize("words, sentence", [
    (["main.jsonl"], "compare: only one group of runs given"),
    (["main.jsonl", "none.jsonl"], "compare: cannot read 'none.jsonl': no such record or directory (expected a record"),
    (["main.jsonl", "branch=old"], "compare: no run matches 'branch=old' in '.'"),
    (["main.jsonl", "new.jsonl:9"], "compare: no run matches 'new.jsonl:9' in 'new.jsonl'"),
    (["main.jsonl", "new.jsonl:x"], "compare: invalid run 'x' in 'new.jsonl:x'"),
    (["main.jsonl", "name=a,,b=c"], "compare: invalid group 'name=a,,b=c'"),
    (["main.jsonl", "new.jsonl", "--fail-if", "memory_pek > 2G"],
     "--fail-if: condition 'memory_pek > 2G': unknown figure 'memory_pek' (did you mean 'memory_peak'?)"),
])
def test_mistakes(runs, words, sentence):
    status, out, err = toll("compare", *words, cwd=runs)
    assert (status, out) == (125, "") and err.startswith(f"toll: {sentence}") and err.count("\n") == 1
