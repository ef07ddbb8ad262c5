# SPDX-License-Identifier: MIT
"""Options: who wins, and what a mistake is answered with."""
import json
import os

import pytest
from livelib import records

MISTAKES = {
    "interval": (["-i", "0"], ["-i", "fast"], ["-i", "0.5ms"], ["-i", "2d"], ["-i", "-1s"],
                 ["-i", ""], ["-i", "1s "], ["-i", "1ss"], ["--interval", "1e3s"]),
    "output": (["-o", "-"], ["-o", ""], ["-o", "x.unknown"], ["-o", "csv"]),
    "metrics": (["-m", "no_such_metric"], ["-m", ""]),
    "summary": (["--summary", "xml"], ["--summary", ""], ["--summary", "TEXT"]),
    "summary-to": (["--summary-to", ""], ["--summary-to", "77"]),
    "label": (["--label", "novalue"], ["--label", "=x"], ["--label", ""]),
    "memory": (["--memory", "uss"],),
    "budget": (["--budget", "0"], ["--budget", "101"], ["--budget", "-1"], ["--budget", "much"],
               ["--budget", "nan"]),
    "processes": (["--processes", "some"],),
    "wait": (["--wait", "forever"],),
    "config": (["--config", "no-such-file"],),
}
# What the answer must name besides the option: the values that would do.
ACCEPTED = {
    "interval": "auto", "output": "", "metrics": "", "summary": "json", "summary-to": "",
    "label": "KEY=VALUE", "memory": "pss", "budget": "100", "processes": "none", "wait": "all",
    "config": "no-such-file",
}
CASES = [(name, words) for name, cases in MISTAKES.items() for words in cases]


@pytest.mark.parametrize("name,words", CASES, ids=lambda v: " ".join(v) if isinstance(v, list) else v)
def test_bad_value(here, name, words):
    """One sentence, 125, nothing started, nothing left behind."""
    status, out, err = here.call([here.toll, "run", "-o", "made.csv", *words, "--", "touch", "ran"])
    assert (status, out) == (125, b""), err
    text = err.decode()
    assert text.startswith("toll: ") and text.count("\n") == 1
    assert ACCEPTED[name] in text
    assert sorted(os.listdir(here.directory)) == []


@pytest.mark.parametrize("words", [["--no-such-option"], ["-Z"], ["--interval"], ["-i"], ["-o"],
                                   ["--interval=", "--", "true"], ["--quiet=perhaps", "--", "true"],
                                   [], ["--"], ["-q"]], ids=" ".join)
def test_bad_command_line(here, words):
    status, out, err = here.call([here.toll, "run", *words])
    assert (status, out) == (125, b""), err
    assert err.startswith(b"toll: ") and err.count(b"\n") == 1


def test_no_arguments_and_no_subcommand(here):
    for words in ([], ["nonsense"], ["-x"]):
        status, out, err = here.call([here.toll, *words])
        assert (status, out) == (125, b"")
        assert err.count(b"\n") == 1


def interval_of(place, words, environment=None, config=None):
    """What a run was told, as its record says."""
    if config is not None:
        place.path("config").write_text(config)
        words = ["--config", "config", *words]
    status, _, err = place.call([place.toll, "run", "-q", "-o", "x.jsonl", *words, "--", "true"],
                                env={**os.environ, **(environment or {})})
    assert status == 0, err
    return records(place.path("x.jsonl"), "run")[0]


def test_command_line_wins_over_environment_over_file(here):
    file, variable, option = "interval = 1s\n", {"TOLL_INTERVAL": "2s"}, ["-i", "3s"]
    assert interval_of(here, [])["interval_seconds"] is None
    assert interval_of(here, [], None, file)["interval_seconds"] == 1
    assert interval_of(here, [], variable, file)["interval_seconds"] == 2
    assert interval_of(here, option, variable, file)["interval_seconds"] == 3
    assert interval_of(here, [], variable)["interval_seconds"] == 2
    assert interval_of(here, ["-i", "auto"], variable, file)["interval_seconds"] is None


def test_lists_are_replaced_not_mixed(here):
    file = "[run]\n# comment\nlabel = from=file\nlabel = more=file\n"
    labels = lambda *a: interval_of(here, *a)["labels"]  # noqa: E731
    assert labels([], None, file) == {"from": "file", "more": "file"}
    assert labels([], {"TOLL_LABEL": "from=environment"}, file) == {"from": "environment"}
    assert labels(["--label", "a=b", "--label", "c=d=e"], {"TOLL_LABEL": "x=y"}, file) == {
        "a": "b", "c": "d=e"}


def test_config_named_by_the_environment(here):
    here.path("c").write_text("name = from the file\n")
    run = interval_of(here, [], {"TOLL_CONFIG": str(here.path("c"))})
    assert run["name"] == "from the file"


@pytest.mark.parametrize("text", ["nonsense\n", "no-such = 1\n", "[other]\n", "interval = fast\n",
                                  "config = other\n", "help = yes\n"])
def test_bad_config(here, text):
    """The sentence tells the file and the line."""
    here.path("c").write_text("# first line\n" + text)
    status, out, err = here.call([here.toll, "run", "--config", "c", "--", "touch", "ran"])
    assert (status, out) == (125, b"")
    assert b"c" in err and b"2" in err and err.count(b"\n") == 1
    assert not here.path("ran").exists()


@pytest.mark.parametrize("variable,value", [("TOLL_INTERVAL", "fast"), ("TOLL_WAIT", "forever"),
                                            ("TOLL_QUIET", "perhaps"), ("TOLL_LABEL", "novalue")])
def test_bad_variable(here, variable, value):
    status, out, err = here.call([here.toll, "run", "--", "touch", "ran"],
                                 env={**os.environ, variable: value})
    assert (status, out) == (125, b"")
    assert variable.encode() in err and err.count(b"\n") == 1
    assert not here.path("ran").exists()


def test_switches_in_variables(here):
    for value in ("yes", "no"):
        _, _, err = here.call([here.toll, "run", "--", "true"],
                              env={**os.environ, "TOLL_QUIET": value})
        assert (err == b"") == (value == "yes")


def test_options_end_with_the_command(here):
    """What follows the command is its own, dashes or not."""
    for words in (["echo", "-i", "x", "--help"], ["--", "echo", "-i", "x", "--help"],
                  ["-q", "echo", "-i", "x", "--help"]):
        assert here.call([here.toll, "run", *words])[1] == b"-i x --help\n"


def test_joined_forms(here):
    for words in (["-i250ms"], ["-i=250ms"], ["--interval=250ms"], ["--interval", "250ms"],
                  ["-qi", "250ms"], ["-qi250ms"]):
        assert interval_of(here, words)["interval_seconds"] == 0.25, words


def test_metrics_are_chosen(here):
    run = here.run(["true"], ["-m", "cpu_*,memory_rss*", "-o", "x.csv", "-o", "x.jsonl"])
    names = set(run.summary["target"]["combined"])
    assert {"cpu_seconds", "memory_rss_bytes"} <= names
    assert not any(n.startswith(("io_", "faults_")) for n in names)
    header = here.path("x.csv").read_text().splitlines()[0].split(",")
    assert "target_cpu_seconds" in header
    assert not any("io_" in column for column in header)
    sample = records(here.path("x.jsonl"), "sample")[0]
    assert "io_read_bytes" not in sample["target"]["combined"]


def test_help_and_version(here):
    for words in (["--help"], ["run", "--help"], ["help", "run"], ["--version"], ["metrics"]):
        status, out, err = here.call([here.toll, *words])
        assert (status, err) == (0, b"") and out, words


def test_help_does_not_run_the_command(here):
    assert here.call([here.toll, "run", "--help", "--", "touch", "ran"])[0] == 0
    assert not here.path("ran").exists()


def test_name_and_summary_kinds(here):
    result = here.run(["true"], ["--name", 'a "name"'])
    assert result.summary["name"] == 'a "name"'
    _, _, err = here.call([here.toll, "run", "--summary", "json", "--", "true"])
    assert json.loads(err)["command"] == ["true"]
    assert here.call([here.toll, "run", "--summary", "none", "--", "true"])[2] == b""
