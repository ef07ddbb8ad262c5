# SPDX-License-Identifier: MIT
"""Help, its pager, names of commands and options, and what toll suggests after a mistake."""
import fcntl
import json
import os
import re
import struct
import subprocess
import termios

import pytest
from terminal import Terminal

COMMANDS = [
    "run", "attach", "system", "list", "compare", "recommend", "export", "doctor", "metrics", "outputs",
    "mark"
]
RARE = ["sub-tracking", "resend", "layouts", "help", "version", "completion", "replay"]
OLD = {"sinks": "outputs", "dialects": "layouts", "phases": "sub-tracking", "send": "resend"}


def help_of(place, *words):
    status, out, err = place.call([place.toll, *words])
    assert (status, err) == (0, b""), words
    return out.decode()


# ---- Pages ---------------------------------------------------------------------------------------


def test_the_overview_is_short(here):
    text = help_of(here, "--help")
    lines = text.splitlines()
    assert len(lines) <= 20 and max(map(len, lines)) <= 80
    assert text == help_of(here, "help") == help_of(here, "-h")
    listed = [line[10:].split()[0] for line in text.split("\n\n")[1].splitlines()]
    assert set(COMMANDS) <= set(listed) and not set(RARE) & set(listed)
    assert [word for word in ("Measure", "Results", "Set up", "Examples") if f"\n{word} " not in text] == []


def test_no_words_at_all(here):
    status, out, err = here.call([here.toll])
    assert (status, out) == (2, b"")
    assert err.decode() == help_of(here, "help")


def test_all_commands(here):
    text = help_of(here, "help", "--all")
    listed = [line[10:].split()[0] for line in text.split("\n\n")[1].splitlines()]
    assert set(COMMANDS + RARE) <= set(listed) and len(listed) == len(set(listed))
    assert max(map(len, text.splitlines())) <= 80
    assert not set(OLD) & set(listed)
    old = " ".join(text.partition("Old names: ")[2].split())
    for before, now in OLD.items():
        assert f"{before} (now {now})" in old
    assert "--dialect (now --layout)" in old


@pytest.mark.parametrize("command", COMMANDS + RARE)
def test_a_page(here, command):
    """Nothing is too wide, a default is named once, every option has its line."""
    text = help_of(here, "help", command)
    assert text.startswith(f"usage: toll {command}")
    assert text == help_of(here, command, "--help")
    assert text == help_of(here, command, "-h")
    assert max(map(len, text.splitlines())) <= 80
    assert re.search(r"^  -h, --help +show this help$", text, re.MULTILINE)
    for paragraph in re.split(r"\n(?= {2,6}-)", text):
        assert len(re.findall(r"default", paragraph.partition("\n\n")[0])) <= 1, paragraph
    assert "\x1f" not in text and " \n" not in text


def test_options_are_grouped(here):
    def headings(command):
        return re.findall(r"^([A-Z][a-z ]+)$", help_of(here, "help", command), re.MULTILINE)

    groups = ["Output", "What to measure", "The run", "Sampling", "Set up"]
    assert headings("run") == [*groups[:3], "Repeated runs", *groups[3:]]
    assert headings("attach") == ["What to attach to", *groups]
    assert headings("export") == ["Output", "What to include", "Set up"]
    assert headings("mark") == ["Options"]


def test_old_names(here):
    for before, now in OLD.items():
        assert help_of(here, before, "--help") == help_of(here, "help", now)
        assert help_of(here, "help", before) == help_of(here, "help", now)
    assert help_of(here, "sinks", "csv") == help_of(here, "outputs", "csv")
    assert help_of(here, "dialects", "spdl") == help_of(here, "layouts", "spdl")


@pytest.mark.parametrize("way", ["option", "variable", "old option", "old variable", "file", "old file"])
def test_the_layout_by_any_name(here, way):
    name = "dialect" if "old" in way else "layout"
    here.path("config").write_text(f"{name} = spdl\n")
    variable = {f"TOLL_{name.upper()}": "spdl"} if "variable" in way else {}
    words = [f"--{name}=spdl"] if "option" in way else ["--config", "config"] if "file" in way else []
    status, _, err = here.call([here.toll, "run", *words, "-o", "x.jsonl", "true"],
                               env={**os.environ, **variable})
    assert status == 0 and b"variable" not in err, err
    assert '"type"' not in here.path("x.jsonl").read_text()


def test_version(here):
    assert help_of(here, "version") == help_of(here, "--version") == help_of(here, "-V")
    assert re.fullmatch(r"toll \d+\.\d+\.\d+\n", help_of(here, "version"))


# ---- Names ---------------------------------------------------------------------------------------


def test_a_command_without_run(here):
    status, out, err = here.call([here.toll, "--", "sh", "-c", "echo out; exit 7"])
    assert (status, out) == (7, b"out\n") and b"exit 7" in err
    status, _, err = here.call([here.toll, "--"])
    assert status == 125 and b"run: no command" in err


@pytest.mark.parametrize("words, sentence", [
    (["atach", "12"], "unknown command 'atach' (did you mean 'attach'?); see 'toll help'"),
    (["layuots"], "unknown command 'layuots' (did you mean 'layouts'?); see 'toll help'"),
    (["no-such-program-anywhere"], "unknown command 'no-such-program-anywhere'; see 'toll help'"),
    (["sh", "-c", "echo  it's $x"],
     "unknown command 'sh'; did you mean: toll run -- sh -c 'echo  it'\\''s $x'"),
    (["./script", ""], "unknown command './script'; did you mean: toll run -- ./script ''"),
    (["./nothing"], "unknown command './nothing'; see 'toll help'"),
    (["-o", "x.csv", "true"], "unknown option '-o'; did you mean: toll run -o x.csv true"),
    (["--quiet", "true"], "unknown option '--quiet'; did you mean: toll run --quiet true"),
    (["--label", "x=1", "run", "--", "true"],
     "unknown option '--label'; did you mean: toll run --label x=1 -- true"),
    (["--label=x=1", "-qo", "run", "run", "run"],
     "unknown option '--label=x=1'; did you mean: toll run --label=x=1 -qo run run"),
    (["-n", "5", "list", "runs"], "unknown option '-n'; did you mean: toll list -n 5 runs"),
    (["-q", "--", "run"], "unknown option '-q'; did you mean: toll run -q -- run"),
    (["--verison"], "unknown option '--verison' (did you mean '--version'?); see 'toll help'"),
    (["help", "rnu"], "help: unknown command 'rnu' (did you mean 'run'?); see 'toll help --all'"),
    (["help", "run", "x"], "help: unexpected argument 'x' (expected toll help [--all] [COMMAND])"),
    (["version", "x"], "version: unexpected argument 'x' (expected no arguments)"),
    (["run", "--sumary", "none"], "run: unknown option '--sumary' (did you mean '--summary'?)"),
    (["run", "--sum", "none"], "run: unknown option '--sum' (did you mean '--summary'?)"),
    (["run", "--ouptut=x.csv", "true"], "run: unknown option '--ouptut' (did you mean '--output'?)"),
    (["mark", "--verbos"], "mark: unknown option '--verbos' (did you mean '--verbose'?)"),
    (["run", "--nothing-like-it"],
     "run: unknown option '--nothing-like-it' ('toll help run' lists the options)"),
    (["run", "-f", "jsnol"], "; did you mean 'jsonl'?)"),
    (["run", "--layout", "gpu-traker"], "; did you mean 'gpu-tracker'?)"),
    (["run", "-m", "cpu_secnds", "true"], "unknown metric 'cpu_secnds' (did you mean 'cpu_seconds'?)"),
    (["run", "-m", "taget_cpu_seconds", "true"],
     "unknown metric 'taget_cpu_seconds' (did you mean 'target_cpu_seconds'?)"),
    (["run", "-m", "memroy_rss", "true"],
     "unknown metric 'memroy_rss' (did you mean 'memory_rss_bytes'?)"),
    (["metrics", "memroy"], "no metric matches 'memroy' (did you mean 'memory'?)"),
    (["run", "-m", "memry", "true"], "unknown metric 'memry' (did you mean 'memory_*'?)"),
    (["run", "-m", "cpu", "true"], "unknown metric 'cpu' (did you mean 'cpu_*'?)"),
    (["run", "-m", "sytem", "true"], "unknown metric 'sytem' (did you mean 'system_*'?)"),
    (["run", "-m", "thread", "true"], "unknown metric 'thread' (did you mean 'threads'?)"),
    (["run", "-m", "nothing_*", "true"], "unknown metric 'nothing_*' ('toll metrics' lists all"),
    (["run", "-o", "jsnol:x", "true"], "'jsnol:x' from its name (did you mean 'jsonl:'?)"),
    (["run", "-o", "x.jsnol", "true"], "'x.jsnol' from its name (did you mean '.jsonl'?)"),
    (["run", "-o", "prometeus:http://me:hunter2@h/", "true"],
     "'prometeus:http://…' from its name (did you mean 'prometheus:'?)"),
    (["run", "-o", "x", "true"], "'x' from its name (expected .csv, .jsonl, .json, .txt, .sqlite, .html or a prefix such as csv:; 'toll outputs' lists all)"),
    (["run", "-o", "foo:bar", "true"], "'foo:bar' from its name (expected .csv, "),
    (["run", "-o", "@sdpl:x.jsonl", "true"], "unknown layout 'sdpl' (did you mean 'spdl'?)"),
    (["doctor", "gpu"], "doctor: unknown check 'gpu' (did you mean 'gpus'?)"),
    (["run", "--config", "config", "true"],
     "config:1: unknown option 'intervall' (did you mean 'interval'?)"),
    (["outputs", "prometeus"],
     "unknown output type 'prometeus' (did you mean 'prometheus'?); see 'toll outputs'"),
    (["layouts", "sdpl"], "unknown layout 'sdpl' (did you mean 'spdl'?); see 'toll layouts'"),
    (["layouts", "sdpl", "--json"], "unknown layout 'sdpl' (did you mean 'spdl'?); see 'toll layouts'"),
    (["completion", "csh"], "completion: unknown shell 'csh' (expected bash, zsh or fish)"),
    (["completion"], "completion: missing argument (expected toll completion bash | zsh | fish [PROGRAM])"),
], ids=lambda v: " ".join(v)[:30] if isinstance(v, list) else "")
def test_mistakes(here, words, sentence):
    here.path("config").write_text("intervall = 1s\n")
    here.path("script").write_text("#!/bin/sh\n")
    here.path("script").chmod(0o755)
    status, out, err = here.call([here.toll, *words])
    assert (status, out) == (125, b"")
    assert err.count(b"\n") == 1 and sentence in err.decode(), err


def test_a_variable_that_is_misspelt(here):
    status, _, err = here.call([here.toll, "run", "true"], env={**os.environ, "TOLL_INTERVALL": "1s"})
    assert status == 0
    assert b"TOLL_INTERVALL: unknown variable, ignored (did you mean 'TOLL_INTERVAL'?)" in err


def test_nothing_harmful_is_repeated(here):
    status, _, err = here.call([here.toll, "sh", "\x1b[31m", "--password=hunter2"])
    assert status == 125 and b"\x1b" not in err and b"hunter2" not in err
    status, _, err = here.call([here.toll, "sh", *["word" * 20] * 200])
    assert status == 125 and len(err) < 1200


# ---- The pager -----------------------------------------------------------------------------------


def on_terminal(here, words, lines, **environment):
    """The command on a terminal with that many lines of 80 columns, which it knows from its start."""
    size = f"stty rows {lines} columns 80; exec \"$@\""
    return Terminal(["sh", "-c", size, "sh", here.toll, *words],
                    {"TERM": "vt100", "LC_ALL": "C.UTF-8", **environment}, here.directory)


def shown(text):
    return text.replace("\r\n", "\n")


def test_long_text_goes_through_the_pager(here):
    with on_terminal(here, ["help", "run"], 24, PAGER="sed 's/^/> /'") as t:
        assert shown(t.rest()) == re.sub(r"(?m)^(?=.|\n)", "> ", help_of(here, "help", "run"))
        assert t.status == 0


@pytest.mark.parametrize("words, lines", [(["help"], 24), (["help", "run"], 500), (["help", "run"], 0)])
def test_short_text_does_not(here, words, lines):
    """Nor where the terminal does not know its size."""
    with on_terminal(here, words, lines, PAGER="sed 's/^/> /'") as t:
        assert shown(t.rest()) == help_of(here, *words)


@pytest.mark.parametrize("pager", ["", "cat", "no-such-pager-anywhere", "false", "kill -9 $$", "/"])
def test_a_pager_that_is_broken_or_none(here, pager):
    with on_terminal(here, ["help", "run"], 24, PAGER=pager) as t:
        assert shown(t.rest()).endswith(help_of(here, "help", "run"))
        assert t.status == 0


def test_a_pager_that_quits_early(here):
    with on_terminal(here, ["metrics"], 24, PAGER="head -n 1") as t:
        assert shown(t.rest()) == help_of(here, "metrics").partition("\n")[0] + "\n"
        assert t.status == 0


def test_less_when_none_is_chosen(here):
    fake = here.path("bin")
    fake.mkdir()
    (fake / "less").write_text('#!/bin/sh\necho "less $*"\ncat >/dev/null\n')
    (fake / "less").chmod(0o755)
    path = f"{fake}:{os.environ['PATH']}"
    with on_terminal(here, ["help", "run"], 24, PATH=path) as t:
        assert shown(t.rest()) == "less -FRX\n"
    with on_terminal(here, ["help", "run"], 24, PATH=path, TERM="dumb") as t:
        assert shown(t.rest()) == help_of(here, "help", "run")


def test_ctrl_c_is_for_the_pager(here):
    """toll stays for as long as its pager does: a shell would read from the same terminal."""
    pager = "trap 'echo caught' INT; echo ready; until read line </dev/tty; do :; done; echo \"got $line\"; cat >/dev/null"
    with on_terminal(here, ["help", "run"], 24, PAGER=pager) as t:
        t.expect("ready")
        t.type("\x03")
        t.expect("caught")
        assert t.status is None
        t.type("word\n")
        assert "got word" in t.rest()
        assert t.status == 0


def test_no_pager_in_a_pipe(here):
    status, out, err = here.call([here.toll, "help", "run"], env={**os.environ, "PAGER": "echo pager"})
    assert (status, err) == (0, b"") and b"pager" not in out.replace(b"$PAGER", b"")


def test_for_programs_there_is_no_pager(here):
    with on_terminal(here, ["outputs", "--json"], 24, PAGER="sed 's/^/> /'") as t:
        assert shown(t.rest()) == help_of(here, "outputs", "--json")


# ---- Narrow terminals, locales, words --------------------------------------------------------------

PAGES = [["help"], ["help", "--all"], ["help", "run"], ["help", "attach"], ["help", "doctor"], ["metrics"],
         ["outputs"], ["layouts"], ["doctor"], ["doctor", "-v"]]


def shown_on(width, command, **environment):
    """What a program prints on a terminal of that width."""
    own, other = os.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    variables = {"PATH": os.environ["PATH"], "PAGER": "cat", "TERM": "xterm", "NO_COLOR": "1", **environment}
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=other, stderr=other, env=variables) as p:
        os.close(other)
        text = b""
        try:
            while chunk := os.read(own, 65536):
                text += chunk
        except OSError:  # EIO: the program has ended
            pass
        assert p.wait() == 0
    os.close(own)
    return text.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("words", PAGES, ids=" ".join)
def test_lines_fit_the_terminal(here, words):
    """Also in ASCII; only single words, such as the name of a variable or a path, may be too wide."""
    for width in (40, 60, 80):
        for locale in ("C", "C.UTF-8"):
            text = shown_on(width, [here.toll, *words], LC_ALL=locale)
            wide = [line for line in text.splitlines() if len(line) > width]
            assert [line for line in wide if len(line.split()) > 3 and "toll " not in line] == []
            assert width < 60 or wide == [] or words[0] == "doctor"
            assert text.isascii() or locale != "C"


def test_errors_in_the_locale(here):
    for locale, word in (("C", "COMMAND..."), ("C.UTF-8", "COMMAND…")):
        done = subprocess.run([here.toll, "run"], env={"LC_ALL": locale}, capture_output=True, check=False)
        assert done.returncode == 125 and word in done.stderr.decode()


def test_metrics_by_words(here):
    def names(*words):
        return [(m["entity"], m["name"]) for m in json.loads(help_of(here, "metrics", "--json", *words))]
    every = names()
    assert names("memory") == [m for m in every if "memory" in m[1]]
    assert {m for m in every if m[0] == "disk"} <= set(names("disk"))
    assert names("system_cpu*") == [m for m in every if m[0] == "system" and m[1].startswith("cpu")]
    assert names("rss", "threads") == [m for m in every if "rss" in m[1] or "threads" in m[1]]
    text = help_of(here, "metrics", "rss")
    assert re.findall(r"^\S+$", text, re.MULTILINE) == ["process", "self"]
    status, out, err = here.call([here.toll, "metrics", "memory", "nothing_like_it"])
    assert (status, out) == (125, b"")
    assert err == b"toll: metrics: no metric matches 'nothing_like_it'; see 'toll metrics'\n"
