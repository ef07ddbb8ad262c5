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
from hostlib import needs

TOLL = os.environ["TOLL"]
FILES = pathlib.Path(os.environ["TOLL_BUILD"]) / "completions"
TABLE = json.loads(subprocess.check_output([TOLL, "metrics", "--json"]))
METRICS = sorted({metric["name"] for metric in TABLE} | {"basic"})
DEADLINE = 120  # seconds; a shell that begins takes a tenth of one


def make_programs(place, *names):
    """They write down what they are called with; what the shells ask for is answered by toll."""
    for folder in ("bin", "real"):
        (place / folder).mkdir()
    for name in names:
        (place / "real" / name).symlink_to(TOLL)
        program = place / "bin" / name
        program.write_text(
            f"#!/bin/sh\n[ \"$1\" != __complete ] || exec '{place}/real/{name}' \"$@\"\n"
            f"cd '{place}'\nprintf '[%s]' \"$@\" >new\nmv new called\n"
        )
        program.chmod(0o755)


@pytest.fixture
def place(tmp_path):
    """A directory with a file to name, and programs that write down what they are called with."""
    make_programs(tmp_path, "toll", "uniquejob")
    (tmp_path / "notes file.txt").touch()
    (tmp_path / "groups.txt").touch()
    (tmp_path / "groups here").mkdir()
    return tmp_path


def surroundings(place):
    return {"PATH": f"{place}/bin:{os.environ['PATH']}", "HOME": str(place),
            "XDG_CONFIG_HOME": f"{place}/config"}


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
    ("toll ru", ["run"]),
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
    ("toll run --timeo", ["run", "--timeout"]),
    ("toll run -f cs", ["run", "-f", "csv"]),
    ("toll att", ["attach"]),
    ("toll attach --no-", ["attach", "--no-children"]),
    ("toll attach --since", ["attach", "--since-start"]),
    ("toll attach 12 web=34 --since", ["attach", "12", "web=34", "--since-start"]),
    ("toll attach 12 -qf cs", ["attach", "12", "-qf", "csv"]),
    ("toll attach --user nobod", ["attach", "--user", "nobody"]),
    ("toll attach --cgroup=grou", ["attach", "--cgroup=groups here"]),
    ("toll attach --cgroup grou", ["attach", "--cgroup", "groups here"]),
    ("toll system --layout resou", ["system", "--layout", "resource-tracker"]),
    ("toll sys", ["system"]),
    ("toll system --form", ["system", "--format"]),
    ("toll system --summary json --sin", ["system", "--summary", "json", "--since-start"]),
]
# Words that are offered nothing: no longer an option of toll, or not one of this subcommand.
NOTHING = [
    ("toll run cat --quie", ["run", "cat", "--quie"]),
    ("toll run --since", ["run", "--since"]),
    ("toll run --user=nobod", ["run", "--user=nobod"]),
    ("toll attach --timeo", ["attach", "--timeo"]),
    ("toll attach -- --since", ["attach", "--", "--since"]),
    ("toll system --no-ch", ["system", "--no-ch"]),
    ("toll system notes", ["system", "notes"]),
]
OF_THE_COMMAND = [
    ("toll run uniquejob che", ["run", "uniquejob", "checkout"]),
    ("toll run -- uniquejob che", ["run", "--", "uniquejob", "checkout"]),
    ("toll run -i 1s -- uniquejob che", ["run", "-i", "1s", "--", "uniquejob", "checkout"]),
]


def tabs(shell, lines):
    """A shell may leave the slash behind a directory or take it away again."""
    return [(line, [word.rstrip("/") for word in shell.tab(line)]) for line, _ in lines]


@needs("bash")
def test_bash(bash):
    assert tabs(bash, LINES + NOTHING) == LINES + NOTHING


@needs("zsh")
def test_zsh(zsh):
    lines = LINES + NOTHING + OF_THE_COMMAND
    assert tabs(zsh, lines) == lines


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
    offers = [offer.rstrip("/") for offer in fish_offers(place, line)]
    assert offers == [words[-1]]


@needs("fish")
@pytest.mark.parametrize("line, words", NOTHING)
def test_fish_offers_no_option_of_another(line, words, place):
    assert not [offer for offer in fish_offers(place, line) if offer.startswith(words[-1])]


# ---- Processes -----------------------------------------------------------------------------------


@pytest.fixture
def job(place):
    """A process with a name of its own."""
    shutil.copy(shutil.which("sleep"), place / "bin" / "quiet:job")
    with subprocess.Popen([place / "bin" / "quiet:job", "1000"]) as process:
        end = time.monotonic() + DEADLINE
        comm = pathlib.Path(f"/proc/{process.pid}/comm")
        while comm.read_text() != "quiet:job\n":
            assert time.monotonic() < end
            time.sleep(0.01)
        yield process.pid
        process.kill()


@needs("bash")
def test_bash_offers_processes(job):
    assert str(job) in bash_offers("toll attach ")
    assert str(job) in bash_offers("toll attach -q 1 ")
    assert str(job) in bash_offers(f"toll attach {str(job)[:-1]}")
    assert str(job) in bash_offers(f"toll attach web={str(job)[:-1]}")
    setup = "COMP_WORDBREAKS=${COMP_WORDBREAKS//=}"
    assert f"web={job}" in bash_offers(f"toll attach web={str(job)[:-1]}", setup, breaks=" ")
    assert bash_offers("toll system ") == []


@needs("fish")
def test_fish_offers_processes_with_their_names(job, place):
    assert fish_offers(place, "toll attach ")[str(job)].startswith("quiet:job")
    assert f"web={job}" in fish_offers(place, f"toll attach web={str(job)[:-1]}")
    assert fish_offers(place, "toll system ") == {}


@needs("zsh")
def test_zsh_offers_processes_with_their_names(job):
    script = f"""
        compdef() {{ :; }}; _describe() {{ print -rl -- $offers; }}
        . '{FILES}/_toll'
        words=('{TOLL}' attach '') CURRENT=3 PREFIX=
        _toll
    """
    # Other processes of the machine may have any bytes for a name.
    done = subprocess.run(["zsh", "-f", "-c", script], capture_output=True, text=True,
                          errors="replace", check=True)
    assert f"{job}:quiet:job" in done.stdout.splitlines()
    assert done.stderr == ""


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
    path = f"{os.path.dirname(TOLL)}:{os.environ['PATH']}"
    done = subprocess.run(["bash", "-c", script, "bash", line, *words], capture_output=True,
                          text=True, check=True, env={**os.environ, "PATH": path})
    return sorted(filter(None, done.stdout.splitlines()))


@needs("bash")
def test_bash_offers_every_metric_once():
    assert bash_offers("toll run -m ") == METRICS
    assert bash_offers("toll run --metrics=") == METRICS
    assert bash_offers("toll run -m threads,cpu_sy") == ["threads,cpu_system_seconds"]


@needs("bash")
def test_bash_offers_subcommands_and_their_words():
    subcommands = [
        "attach", "compare", "doctor", "export", "list", "mark", "metrics", "outputs", "recommend",
        "report", "run", "system"
    ]
    assert bash_offers("toll re") == ["recommend", "report"]
    assert bash_offers("toll repl") == ["replay"]  # a rare one where no other fits
    assert bash_offers("toll la") == ["layouts"]
    assert bash_offers("toll help s") == ["system"]
    assert bash_offers("toll help su") == ["sub-tracking"]
    assert bash_offers("toll sub-tracking ") == ["analyze", "combine", "compare"]
    assert bash_offers("toll completion ") == ["bash", "fish", "zsh"]
    assert bash_offers("toll doctor --strict en") == ["ends", "energy"]
    assert bash_offers("toll doctor gpus en") == ["ends", "energy"]
    assert bash_offers("toll ") == ["--help", "--version", *subcommands]
    assert bash_offers("toll help ") == subcommands
    assert bash_offers("toll metrics --") == ["--help", "--json", "--markdown"]
    assert bash_offers("toll metrics --json ") == []
    assert bash_offers("toll outputs prom") == ["prometheus"]
    assert bash_offers("toll mark ") == ["event", "gauge", "phase"]
    assert bash_offers("toll mark phase ") == ["begin", "end"]
    assert bash_offers("toll mark event ") == []
    assert bash_offers("toll run --summary=") == ["json", "none", "text"]
    assert bash_offers("toll run --summary=j") == ["json"]
    assert bash_offers("toll run --name ") == []


@pytest.mark.parametrize("subcommand", ["run", "attach", "system"])
def test_every_option_of_the_subcommand_and_no_other(subcommand, place):
    text = subprocess.check_output([TOLL, "help", subcommand], text=True)
    options = sorted(re.findall(r"^ {2,6}(?:-., )?(--[a-z-]+)", text, re.MULTILINE))
    assert "--help" in options
    if shutil.which("bash"):
        assert bash_offers(f"toll {subcommand} --") == options
    if shutil.which("fish"):
        assert sorted(fish_offers(place, f"toll {subcommand} --")) == options


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
    subcommands = [
        "attach", "compare", "doctor", "export", "list", "mark", "metrics", "outputs", "recommend",
        "report", "run", "system"
    ]
    assert sorted(fish_offers(place, "toll help ")) == subcommands
    assert sorted(fish_offers(place, "toll metrics --")) == ["--help", "--json", "--markdown"]
    assert fish_offers(place, "toll metrics --json ") == {}
    assert fish_offers(place, "toll run --name ") == {}
    assert sorted(fish_offers(place, "toll mark p")) == ["phase"]
    assert sorted(fish_offers(place, "toll mark phase ")) == ["begin", "end"]
    assert fish_offers(place, "toll mark event ") == {}


@needs("fish")
def test_fish_shows_no_sentence_beside_a_choice(place):
    assert fish_offers(place, "toll run --summary ") == {"text": "", "json": "", "none": ""}
    assert fish_offers(place, "toll run --summar")["--summary"]
