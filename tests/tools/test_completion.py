# SPDX-License-Identifier: MIT
"""Completions, driven as a person would: a line, the tab key, and what the shell then runs."""

import json
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import time

import pytest

TOLL = os.environ["TOLL"]
FILES = pathlib.Path(os.environ["TOLL_BUILD"]) / "completions"
TABLE = json.loads(subprocess.check_output([TOLL, "metrics", "--json"]))
METRICS = sorted({metric["name"] for metric in TABLE})
DEADLINE = 30  # seconds; a shell that begins takes a tenth of one


def needs(shell):
    return pytest.mark.skipif(not shutil.which(shell), reason=f"no {shell}")


@pytest.fixture
def place(tmp_path):
    """A directory with a file to name, and programs that write down what they are called with."""
    (tmp_path / "bin").mkdir()
    for name in ("toll", "uniquejob"):
        program = tmp_path / "bin" / name
        program.write_text(
            f"#!/bin/sh\ncd '{tmp_path}'\nprintf '[%s]' \"$@\" >new\nmv new called\n"
        )
        program.chmod(0o755)
    (tmp_path / "notes file.txt").touch()
    return tmp_path


def surroundings(place):
    return {"PATH": f"{place}/bin:{os.environ['PATH']}", "HOME": str(place)}


class Terminal:
    """An interactive shell. What it prints matters only until the prompt is there."""

    def __init__(self, place, command, setup):
        self.place = place
        pid, self.fd = pty.fork()
        if pid == 0:
            os.chdir(place)
            os.environ.update(TERM="dumb", LC_ALL="C.UTF-8", **surroundings(place))
            os.execvp(command[0], command)
        self.pid = pid
        self.send(setup + "\nPS1='READ''Y> '\n")
        self.wait(lambda text: "READY> " in text)

    def send(self, text):
        os.write(self.fd, text.encode())

    def wait(self, condition):
        text, end = "", time.monotonic() + DEADLINE
        while not condition(text):
            assert time.monotonic() < end, text
            if select.select([self.fd], [], [], 0.02)[0]:
                text += os.read(self.fd, 4096).decode(errors="replace")

    def tab(self, line, after=""):
        """The arguments of the command after `line`, a tab, what is `after` it, and return."""
        called = self.place / "called"
        called.unlink(missing_ok=True)
        self.send(f"{line}\t{after}\n")
        self.wait(lambda text: called.exists())
        return re.findall(r"\[(.*?)\]", called.read_text())

    def close(self):
        os.close(self.fd)  # it gets SIGHUP
        os.waitpid(self.pid, 0)


@pytest.fixture
def bash(place):
    shell = Terminal(place, ["bash", "--norc", "--noprofile", "-i"], f". '{FILES}/toll'")
    yield shell
    shell.close()


@pytest.fixture
def zsh(place):
    setup = (
        f"fpath=('{FILES}' $fpath); autoload -U compinit; compinit -u -d '{place}/dump'; "
        "_uniquejob() { compadd -- checkout commit }; compdef _uniquejob uniquejob"
    )
    shell = Terminal(place, ["zsh", "-f", "-i"], setup)
    yield shell
    shell.close()


# ---- Every shell ---------------------------------------------------------------------------------

LINES = [
    ("toll r", ["run"]),
    ("toll help ru", ["help", "run"]),
    ("toll help me", ["help", "metrics"]),
    ("toll metrics --j", ["metrics", "--json"]),
    ("toll run --summary-", ["run", "--summary-to"]),
    ("toll run --summary j", ["run", "--summary", "json"]),
    ("toll run --summary=j", ["run", "--summary=json"]),
    ("toll run --wait=a", ["run", "--wait=all"]),
    ("toll run --label a=b --memory=p", ["run", "--label", "a=b", "--memory=pss"]),
    ("toll run -m cpu_u", ["run", "-m", "cpu_user_seconds"]),
    ("toll run -m cpu_cores,cpu_u", ["run", "-m", "cpu_cores,cpu_user_seconds"]),
    ("toll run --metrics=cpu_cores,cpu_u", ["run", "--metrics=cpu_cores,cpu_user_seconds"]),
    ("toll run -mcpu_u", ["run", "-mcpu_user_seconds"]),
    ("toll run -qm cpu_u", ["run", "-qm", "cpu_user_seconds"]),
    ("toll run -o notes", ["run", "-o", "notes file.txt"]),
    ("toll run --output=notes", ["run", "--output=notes file.txt"]),
    ("toll run uniquej", ["run", "uniquejob"]),
    ("toll run -- uniquej", ["run", "--", "uniquejob"]),
    ("toll run -q -i 1s uniquej", ["run", "-q", "-i", "1s", "uniquejob"]),
    ("toll run --label=a=b -- uniquej", ["run", "--label=a=b", "--", "uniquejob"]),
    ("toll run -- cat notes", ["run", "--", "cat", "notes file.txt"]),
    ("toll run cat --quie", ["run", "cat", "--quie"]),  # no longer an option of toll
]
OF_THE_COMMAND = [
    ("toll run uniquejob che", ["run", "uniquejob", "checkout"]),
    ("toll run -- uniquejob che", ["run", "--", "uniquejob", "checkout"]),
    ("toll run -i 1s -- uniquejob che", ["run", "-i", "1s", "--", "uniquejob", "checkout"]),
]


@needs("bash")
def test_bash(bash):
    assert [(line, bash.tab(line)) for line, _ in LINES] == LINES


@needs("zsh")
def test_zsh(zsh):
    lines = LINES + OF_THE_COMMAND
    assert [(line, zsh.tab(line)) for line, _ in lines] == lines


QUOTED = "toll run -m 'cpu_c*,cpu_u"


@needs("bash")
def test_bash_inside_quotes(bash):
    assert bash.tab(QUOTED) == ["run", "-m", "cpu_c*,cpu_user_seconds"]  # it closes them


@needs("zsh")
def test_zsh_inside_quotes(zsh):
    assert zsh.tab(QUOTED, after="'") == ["run", "-m", "cpu_c*,cpu_user_seconds"]


@needs("fish")
def test_fish_inside_quotes(place):
    assert list(fish_offers(place, QUOTED)) == ["cpu_c*,cpu_user_seconds"]


def fish_offers(place, line):
    script = (
        f"source '{FILES}/toll.fish'; complete -c uniquejob -f -a 'checkout commit'; "
        "complete -C $argv[1]"
    )
    done = subprocess.run(
        ["fish", "--no-config", "-c", script, line],
        cwd=place,
        env={**os.environ, **surroundings(place)},
        capture_output=True,
        text=True,
        check=True,
        timeout=DEADLINE,
    )
    assert done.stderr == ""
    return dict((row + "\t").split("\t")[:2] for row in done.stdout.splitlines())


@needs("fish")
@pytest.mark.parametrize("line, words", LINES + OF_THE_COMMAND)
def test_fish(line, words, place):
    if line.endswith("--quie"):
        assert "--quiet" not in fish_offers(place, line)
    else:
        assert list(fish_offers(place, line)) == [words[-1]]


# ---- bash alone ----------------------------------------------------------------------------------


def bash_offers(line, setup="", breaks="="):
    """What the function offers for a line, which is cut as readline does."""
    words = [word for word in re.split(f" +|([{breaks}])", line) if word]
    words += [""] if line.endswith(" ") else []
    script = f"""
        compopt() {{ :; }}
        . '{FILES}/toll'
        {setup}
        COMP_LINE=$1 COMP_POINT=${{#1}}
        shift
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _toll
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(
        ["bash", "-c", script, "bash", line, *words], capture_output=True, text=True, check=True
    )
    return sorted(filter(None, done.stdout.splitlines()))


@needs("bash")
def test_bash_offers_every_metric_once():
    assert bash_offers("toll run -m ") == METRICS
    assert bash_offers("toll run --metrics=") == METRICS
    assert bash_offers("toll run -m threads,cpu_sy") == ["threads,cpu_system_seconds"]


@needs("bash")
def test_bash_offers_subcommands_and_their_words():
    assert bash_offers("toll ") == ["--help", "--version", "help", "metrics", "run"]
    assert bash_offers("toll help ") == ["help", "metrics", "run"]
    assert bash_offers("toll metrics --") == ["--json", "--markdown"]
    assert bash_offers("toll metrics --json ") == []
    assert bash_offers("toll run --summary=") == ["json", "none", "text"]
    assert bash_offers("toll run --summary=j") == ["json"]
    assert bash_offers("toll run --name ") == []


@needs("bash")
def test_bash_without_equals_among_the_word_breaks():
    setup = "COMP_WORDBREAKS=${COMP_WORDBREAKS//=}"
    assert bash_offers("toll run --summary=j", setup, breaks=" ") == ["--summary=json"]
    assert bash_offers("toll run --metrics=threads,cpu_co", setup, breaks=" ") == [
        "--metrics=threads,cpu_cores"
    ]


@needs("bash")
@pytest.mark.parametrize(
    "line, offset",
    [
        ("toll run git che", 2),
        ("toll run -- git che", 3),
        ("toll run --wait=all -- git che", 6),
        ("toll run -i 1s gi", 4),
    ],
)
def test_bash_leaves_the_command_to_its_own_completion(line, offset):
    setup = '_command_offset() { COMPREPLY=("$1"); }'  # of the package bash-completion
    assert bash_offers(line, setup) == [str(offset)]


# ---- fish alone ----------------------------------------------------------------------------------


@needs("fish")
def test_fish_offers_every_metric_once(place):
    assert sorted(fish_offers(place, "toll run -m ")) == METRICS
    assert fish_offers(place, "toll run -m cpu_cor") == {"cpu_cores": "cores in use"}


@needs("fish")
def test_fish_offers_nothing_else(place):
    assert sorted(fish_offers(place, "toll help ")) == ["help", "metrics", "run"]
    assert sorted(fish_offers(place, "toll metrics --")) == ["--json", "--markdown"]
    assert fish_offers(place, "toll metrics --json ") == {}
    assert fish_offers(place, "toll run --name ") == {}


@needs("fish")
def test_fish_shows_no_sentence_beside_a_choice(place):
    assert fish_offers(place, "toll run --summary ") == {"text": "", "json": "", "none": ""}
    assert fish_offers(place, "toll run --summar")["--summary"]
