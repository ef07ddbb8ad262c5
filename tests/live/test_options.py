# SPDX-License-Identifier: MIT
"""Options: who wins, and what a mistake is answered with."""
import json
import os
import re

import pytest
from livelib import needs_root, records

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


# Options of which any text is a value: names, patterns, files that are made or are not there.
ANY_TEXT = {"name", "label", "match", "summary-to", "config", "in", "baseline", "prepare", "since-start",
            "output", "carbon"}
NONSENSE = ("", "nonsense", "-1", "1e999", ",", "nosuch/dir/x.csv")
COMMANDS = ("run", "attach", "system", "report", "compare", "recommend", "list", "export", "doctor",
            "metrics", "outputs", "mark", "layouts", "sub-tracking", "resend", "completion")
TAILS = {"run": ["--", "touch", "ran"], "attach": ["--for", "10ms", str(os.getpid())],
         "system": ["--for", "10ms"], "compare": ["a.jsonl", "b.jsonl"], "export": ["a.jsonl"]}


@pytest.mark.parametrize("command", COMMANDS)
def test_nonsense_for_every_option(here, command):
    """Each option that the help lists, with values that cannot be right: one line that names the
    option or the value and what is expected, 125, and nothing is started."""
    text = here.call([here.toll, "help", command])[1].decode()
    found = re.findall(r"^ {2,6}(?:-\w, )?(?:    )?--([\w-]+)(?: (\S.*?))?(?:  |$)", text, re.MULTILINE)
    assert "help" in [name for name, _ in found]
    for name, value in found:
        for bad in NONSENSE if value else ("nonsense",):
            status, out, err = here.call([here.toll, command, f"--{name}={bad}", *TAILS.get(command, [])])
            shown = err.decode()
            if name in ANY_TEXT and (bad or name == "name") and status == 0:
                here.path("ran").unlink(missing_ok=True)
                continue
            assert status == 125, (name, bad, shown)
            shown = re.sub("^sh: .*\n", "", shown)  # of --prepare
            assert shown.startswith("toll: ") and shown.count("\n") == 1, (name, bad, shown)
            assert out == b"" and not here.path("ran").exists()
            if name not in ANY_TEXT | {"root"} and "no GPU found" not in shown:
                assert bad in shown and name.rstrip("s") in shown.lower().replace("_", "-"), shown
                assert "(expected " in shown or "lists" in shown or "no " in shown, shown


@pytest.mark.parametrize("words", [["--no-such-option"], ["-Z"], ["--interval"], ["-i"], ["-o"],
                                   ["--interval=", "--", "true"], ["--quiet=perhaps", "--", "true"],
                                   [], ["--"], ["-q"]], ids=" ".join)
def test_bad_command_line(here, words):
    status, out, err = here.call([here.toll, "run", *words])
    assert (status, out) == (125, b""), err
    assert err.startswith(b"toll: ") and err.count(b"\n") == 1


def test_no_arguments_and_no_subcommand(here):
    for words in (["nonsense"], ["-x"]):
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


def test_json_and_csv(here):
    """Of a command the summary, of what toll watches the samples."""
    status, out, err = here.call([here.toll, "run", "--json", "--", "echo", "x"])
    assert (status, out) == (0, b"x\n") and json.loads(err)["command"] == ["echo", "x"]
    status, out, err = here.call([here.toll, "run", "--json", "--summary-to", "s", "--", "true"])
    assert (status, out, err) == (0, b"", b"") and json.loads(here.path("s").read_text())
    line = ["system", "-q", "-i", "10ms", "--for", "50ms"]
    for option, same in (("--json", "jsonl"), ("--csv", "csv")):
        status, out, err = here.call([here.toll, *line, option, "-m", "load_1m"])
        assert (status, err) == (0, b"")
        _, other, _ = here.call([here.toll, *line, "-o", "-", "-f", same, "-m", "load_1m"])
        assert out.splitlines()[0][:20] == other.splitlines()[0][:20]
    status, out, _ = here.call([here.toll, *line, "--csv", "-o", "x.jsonl"])
    assert status == 0 and out.startswith(b"time,") and records(here.path("x.jsonl"), "sample")


def test_summary_on_stdout(here):
    status, out, err = here.call([here.toll, "run", "--json", "--summary-to", "-", "--", "echo", "x"])
    assert (status, err) == (0, b"")
    first, rest = out.split(b"\n", 1)
    assert first == b"x" and json.loads(rest)["command"] == ["echo", "x"]
    _, out, err = here.call([here.toll, "system", "-i", "10ms", "--for", "50ms", "--summary-to", "-"])
    assert err == b"" and b"measured for" in out
    assert not here.path("-").exists()


def test_pids_by_option(here):
    me = os.getpid()
    status, out, err = here.call([here.toll, "attach", "-q", "--for", "10ms", "-o", "x.json",
                                  "-p", f"one={me},two={me}", "--pid", f"three={me}", f"four={me}"])
    assert (status, out, err) == (0, b"", b"")
    text = here.path("x.json").read_text()
    assert all(f'"{name}"' in text for name in ("one", "two", "three", "four"))


def test_units_of_sizes(here):
    """One run, three ways to read it."""
    assert here.call([here.toll, "run", "-q", "-o", "x.jsonl", "--", "true"])[0] == 0
    limit = records(here.path("x.jsonl"), "summary")[0]["self"]["memory_rss_bytes"]["max"]
    shown = {}
    for option in ("--bytes", "--si", "--color=never"):
        _, out, err = here.call([here.toll, "export", "-v", "-f", "text", option, "x.jsonl"])
        shown[option] = out.decode()
        assert err == b""
    assert limit and not re.search(r"\d [kKMG]i?B", shown["--bytes"]) and re.search(r"\d{6,} B", shown["--bytes"])
    assert re.search(r"\d [kM]B", shown["--si"]) and not re.search(r"[KMG]iB", shown["--si"])
    assert re.search(r"\d [KM]iB", shown["--color=never"])
    _, out, _ = here.call([here.toll, "system", "-q", "-i", "10ms", "--for", "50ms", "--bytes", "-m",
                           "memory_available_bytes"])
    assert re.match(r"\d+$", out.decode().splitlines()[2].split()[1])


def test_plain_bytes_fit_eighty_columns(here):
    """Whatever has to be left out for them; the parts of the target, then the mean."""
    assert here.call([here.toll, "run", "-q", "--system", "-o", "x.jsonl", "--", "sh", "-c",
                      "sleep 0.2; :"])[0] == 0
    _, out, _ = here.call([here.toll, "export", "-v", "-f", "text", "--bytes", "x.jsonl"])
    lines = [line for line in out.decode().splitlines() if "cgroup of " not in line]
    assert [line for line in lines if len(line) > 80] == []
    assert any(re.match(r"resident memory \(RSS\) +\d+ B +\d+ B (sampled|at least)$", line) for line in lines)


# ---- What does not stop anything ----------------------------------------------------------------

def warnings(here, words=(), **environment):
    status, out, err = here.call([here.toll, "run", "--summary", "none", *words, "--", "true"],
                                 env={**os.environ, **environment})
    assert (status, out) == (0, b""), err
    return err.decode()


def test_a_variable_that_is_misspelt(here):
    text = warnings(here, TOLL_INTERVALL="1s")
    assert text.startswith("toll: TOLL_INTERVALL: unknown variable, ignored") and text.count("\n") == 1
    assert "--user" in warnings(here, TOLL_USER="root")
    assert warnings(here, TOLL_TIMEOUT="100s", TOLL_FOR="5s") == ""  # --for is of other subcommands
    assert warnings(here, TOLL_QUIET="yes", TOLL_NONSENSE="1") == ""


def test_a_toll_inside_warns_no_more(here):
    _, _, err = here.call([here.toll, "run", "--summary", "none", "--", here.toll, "run", "--summary",
                           "none", "--", "true"], env={**os.environ, "TOLL_NONSENSE": "1"})
    assert err.count(b"TOLL_NONSENSE") == 1


def test_config_of_the_user(here):
    folder = here.path("home/toll")
    folder.mkdir(parents=True)
    config = folder / "config"
    config.write_text("[run]\ninterval = 4s\nlabel = from=user\n")
    home = {"XDG_CONFIG_HOME": str(here.path("home"))}
    assert interval_of(here, [], home)["interval_seconds"] == 4
    assert interval_of(here, [], {**home, "TOLL_INTERVAL": "2s"})["interval_seconds"] == 2
    run = interval_of(here, [], home, "label = from=file\n")
    assert (run["interval_seconds"], run["labels"]) == (4, {"from": "file"})
    config.chmod(0o666)
    assert "other users can write to it" in warnings(here, **home)
    config.chmod(0o600)
    config.write_text("\nintervall = 4s\n")
    status, _, err = here.call([here.toll, "run", "--", "true"], env={**os.environ, **home})
    assert status == 125 and f"{config}:2: unknown option 'intervall'".encode() in err


@needs_root
def test_config_of_another_user(here):
    folder = here.path("home/toll")
    folder.mkdir(parents=True)
    (folder / "config").write_text("interval = fast\n")
    os.chown(folder / "config", 65534, 65534)
    assert "owned by another user" in warnings(here, XDG_CONFIG_HOME=str(here.path("home")))


def test_name_and_summary_kinds(here):
    result = here.run(["true"], ["--name", 'a "name"'])
    assert result.summary["name"] == 'a "name"'
    _, _, err = here.call([here.toll, "run", "--summary", "json", "--", "true"])
    assert json.loads(err)["command"] == ["true"]
    assert here.call([here.toll, "run", "--summary", "none", "--", "true"])[2] == b""


def test_an_asked_for_summary_is_printed_whatever_the_default(here):
    environment = {**os.environ, "TOLL_QUIET": "1"}
    for words in (["--json"], ["--summary", "json"]):
        status, _, err = here.call([here.toll, "run", *words, "--", "true"], env=environment)
        assert status == 0 and json.loads(err)["schema"], err
    assert here.call([here.toll, "run", "--", "true"], env=environment) == (0, b"", b"")
