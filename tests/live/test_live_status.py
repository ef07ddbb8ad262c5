# SPDX-License-Identifier: MIT
"""--live on real terminals: panes of tmux, in three sizes.

What the screen and the scrollback hold is the same as without toll; the status is in the title, or in
a line of its own when the output goes to files; afterwards, and after kill -9, the terminal is as it
was.
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import hostlib
import pytest
from livelib import GUARD, children_of, exists

SIZES = [(60, 15), (80, 24), (120, 40)]
STATUS = re.compile(r"^(\d+):(\d\d)  \S+ cores  memory \S+.*$", re.M)
TITLE = "as it was"

pytestmark = hostlib.needs("tmux", "less")

# Waits for the files that `Pane.step` makes, without printing anything.
JOB = r"""
step() { while [ ! -e "$1" ]; do sleep 0.02; done; }
printf 'no newline, \033[31mhalf a line in red'
step first
printf ' and the rest\033[0m\n'
yes 'fast output, and some of it is wider than the terminal is: 0123456789 0123456789 0123456789' | head -20000
printf '\303\244\303\266\303\274 \342\224\200\n'
step second
printf '\033[2J\033[H\033[5;9Hcleared\033[2;14rmargins\n'
step third
printf '\033[r\033[?1049h\033[Hanother screen'
step fourth
seq 300 >numbers
less numbers
printf '\033[?1049l\0337\033[3;3Hhere\0338\nthe end'
step fifth
"""
STEPS = ("first", "second", "third", "fourth", "key Space", "key q", "fifth")
DRAWN_BEFORE = ("first", "third", "fourth", "key Space")  # a status has to come in these places


class Pane:
    """A shell on a terminal of its own."""

    def __init__(self, directory, size):
        directory.mkdir()
        self.directory = directory
        self.tmux = ["tmux", "-u", "-S", str(directory / "socket"), "-f", "/dev/null"]
        variables = {"TOLL": os.environ["TOLL"], "HISTFILE": "", "LESS": "", "LC_ALL": "C.UTF-8"}
        words = [word for key, value in variables.items() for word in ("-e", f"{key}={value}")]
        self.call("set-option", "-g", "history-limit", "300", ";", "new-session", "-d", "-c", str(directory),
                  "-x", str(size[0]), "-y", str(size[1]), *words,
                  "exec env 'PS1=PROMPT> ' bash --norc --noprofile -i")
        self.shell = int(self.ask("pane_pid"))
        self.wait(lambda: "PROMPT>" in self.text(), "the prompt")
        self.call("select-pane", "-T", TITLE)

    def call(self, *words):
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TERM": "xterm-256color",
                       "HOME": "/nonexistent"}
        return subprocess.run([*self.tmux, *words], env=environment, capture_output=True, timeout=GUARD,
                              check=True).stdout.decode()

    def wait(self, done, what):
        end = time.monotonic() + GUARD
        while time.monotonic() < end:
            value = done()
            if value:
                return value
            time.sleep(0.05)
        raise AssertionError(f"never happened: {what}; the title is {self.ask('pane_title')!r}, and the "
                             f"terminal has {self.text()!r}")

    def ask(self, what):
        return self.call("display-message", "-p", f"#{{{what}}}").rstrip("\n")

    def text(self):
        return self.call("capture-pane", "-p", "-e", "-S", "-")

    def type(self, line):
        self.call("send-keys", "-l", line)
        self.call("send-keys", "Enter")

    def status(self):
        return STATUS.search(self.ask("pane_title"))

    def wait_for_status(self):
        return self.wait(self.status, "a status in the title")

    def step(self, name):
        """The next step of the job: its file is made, or a key pressed."""
        if name.startswith("key "):
            self.call("send-keys", name.removeprefix("key "))
        else:
            (self.directory / name).touch()

    def toll(self):
        """The pid of toll, which the shell has started."""
        return self.wait(lambda: [c for c in children_of(self.shell) if is_toll(c)], "toll")[0]

    def state(self):
        """Everything that could be left changed."""
        names = ("cursor_x", "cursor_y", "cursor_flag", "alternate_on", "scroll_region_upper",
                 "scroll_region_lower", "insert_flag", "wrap_flag", "origin_flag", "keypad_flag",
                 "pane_title", "history_size")
        return [(name, self.ask(name)) for name in names] + [self.text()]

    def close(self):
        self.call("kill-server")


def is_toll(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip() == "toll"
    except OSError:
        return False


@pytest.fixture
def panes():
    made, directory = [], hostlib.shared_directory("toll-live-")

    def make(size=(80, 24)):
        made.append(Pane(directory / f"pane{len(made)}", size))
        return made[-1]
    yield make
    for pane in made:
        pane.close()
    shutil.rmtree(directory, ignore_errors=True)


def test_the_screen_is_that_of_the_job(panes):
    """At each step of a job that uses the terminal in many ways, in each size."""
    pairs = [(panes(size), panes(size)) for size in SIZES]
    for plain, live in pairs:
        for pane, before in ((plain, ""), (live, "$TOLL run --live -q -- ")):
            (pane.directory / "job").write_text(JOB)
            (pane.directory / "go").write_text(f"clear; {before}sh ./job")
            pane.type(". ./go")
    for step in STEPS:
        titles = [live.ask("pane_title") for _, live in pairs]
        for (plain, live), title in zip(pairs, titles):
            if step in DRAWN_BEFORE:
                live.wait(lambda: live.status() and live.ask("pane_title") != title, "another status")  # noqa: B023
            live.wait(lambda: live.text() == plain.text(), f"the same text before '{step}'")  # noqa: B023
            for pane in (plain, live):
                pane.step(step)
    for plain, live in pairs:
        for pane in (plain, live):
            pane.wait(lambda: "PROMPT>" in pane.text(), "the prompt")  # noqa: B023
        live.wait(lambda: live.ask("pane_title") == TITLE, "the title of before")  # noqa: B023
        live.wait(lambda: live.state() == plain.state(), "the state of a terminal without toll")  # noqa: B023


def test_a_line_when_the_output_goes_to_files(panes):
    all_panes = [panes(size) for size in SIZES]
    for pane in all_panes:
        pane.type("clear; $TOLL run --live -- sh -c 'while [ ! -e first ]; do sleep 0.02; done' >out 2>&1")
    for pane, size in zip(all_panes, SIZES):
        line = pane.wait(lambda: STATUS.search(pane.text()), "a line with the status")[0]  # noqa: B023
        assert len(line) < size[0]
        assert (size[0] < 70) == ("process" not in line)  # whole figures are left out
        assert pane.ask("pane_title") == TITLE
        pane.step("first")
        pane.wait(lambda: "PROMPT>" in pane.text(), "the prompt")  # noqa: B023
        assert pane.text().strip() == "PROMPT>"
        assert "exit 0" in (pane.directory / "out").read_text()


def test_the_line_follows_the_width_and_gives_way(panes):
    """Something else writes to the terminal: its text stays, and the title is used from then on."""
    pane = panes((120, 40))
    pane.type("clear; $TOLL run --live -q -- sh -c 'while [ ! -e first ]; do sleep 0.02; done;"
              " printf other >/dev/tty; while [ ! -e second ]; do sleep 0.02; done' >out 2>&1")
    pane.wait(lambda: "process" in pane.text(), "the whole line")
    pane.call("resize-window", "-x", "40", "-y", "10")
    pane.wait(lambda: re.search(r"^\S+  \S+ cores  memory \S+(  read \S+)?$", pane.text().split("\n")[1]),
              "a shorter line")
    pane.step("first")
    pane.wait_for_status()
    assert "other" in pane.text().replace("\n", "")
    pane.step("second")
    pane.wait(lambda: "PROMPT>" in pane.text(), "the prompt")
    assert pane.ask("pane_title") == TITLE
    assert "other" in pane.text().replace("\n", "")


def test_attach_and_system_have_the_terminal(panes):
    """Samples go to a file: the status is a line, which Ctrl-C removes."""
    attach, machine = panes(), panes()
    attach.type("clear; $TOLL attach --live -q -o samples.csv $$")
    machine.type("clear; $TOLL system --live -q -o samples.csv")
    for pane in (attach, machine):
        pane.wait(lambda: STATUS.search(pane.text()), "a line with the status")  # noqa: B023
        pane.call("send-keys", "C-c")
        pane.wait(lambda: "PROMPT>" in pane.text(), "the prompt")  # noqa: B023
        assert pane.text().split() == ["PROMPT>"]
        assert pane.ask("pane_title") == TITLE


@pytest.mark.parametrize("where", ["title", "line"])
def test_kill_leaves_a_usable_terminal(panes, where):
    pane = panes()
    pane.type("stty -a >before; clear")
    output = "" if where == "title" else " >out 2>&1"
    pane.type(f"$TOLL run --live -- sh -c 'echo $$ >pid; exec sleep 1000'{output}")
    if where == "title":
        pane.wait_for_status()
    else:
        pane.wait(lambda: STATUS.search(pane.text()), "a line with the status")
    helpers = children_of(pane.toll())
    os.kill(pane.toll(), signal.SIGKILL)
    pane.wait(lambda: "Killed" in pane.text(), "the end of toll")
    pane.wait(lambda: pane.ask("pane_title") == TITLE, "the title of before")
    os.kill(int((pane.directory / "pid").read_text()), signal.SIGKILL)
    for helper in helpers:
        pane.wait(lambda: not exists(helper), "the end of the helper")  # noqa: B023
    pane.type("stty -a >after; echo it works")
    pane.wait(lambda: re.search("^it works$", pane.text(), re.M), "an echo")
    assert (pane.directory / "after").read_text() == (pane.directory / "before").read_text()
    assert pane.ask("cursor_flag") == "1" and pane.ask("alternate_on") == "0"
    assert (pane.ask("scroll_region_upper"), pane.ask("scroll_region_lower")) == ("0", "23")


def test_a_job_that_is_stopped_has_no_status(panes):
    pane = panes()
    pane.type("$TOLL run --live -q -- sh -c 'while [ ! -e first ]; do sleep 0.02; done'")
    pane.wait_for_status()
    pane.call("send-keys", "C-z")
    pane.wait(lambda: "Stopped" in pane.text(), "the shell")
    pane.wait(lambda: pane.ask("pane_title") == TITLE, "the title of before")
    pane.type("fg")
    pane.wait_for_status()
    pane.step("first")
    pane.wait(lambda: pane.text().rstrip().endswith("PROMPT>"), "the prompt")
    pane.wait(lambda: pane.ask("pane_title") == TITLE, "the title of before")


def test_a_job_in_the_background_has_no_status(panes):
    """It runs for longer than another one that has a status."""
    pane = panes()
    pane.type("$TOLL run --live -q -- sh -c 'while [ ! -e first ]; do sleep 0.02; done' &")
    background = pane.toll()
    other = panes()
    other.type("$TOLL run --live -q -- sh -c 'while [ ! -e first ]; do sleep 0.02; done'")
    other.wait_for_status()
    assert pane.ask("pane_title") == TITLE
    for each in (pane, other):
        each.step("first")
    pane.wait(lambda: not exists(background), "its end")
    assert pane.ask("pane_title") == TITLE


def test_a_terminal_without_a_title(panes):
    pane = panes()
    pane.type("TERM=linux $TOLL run --live -q -- true; TERM=linux $TOLL run --live -- true 2>&1 | head -1")
    pane.wait(lambda: "exit 0" in pane.text(), "the summary")
    assert "no status" not in pane.text()  # -q; stderr is not a terminal
    pane.type("clear; TERM=linux $TOLL run --live --summary none -- echo done")
    pane.wait(lambda: "\ndone" in pane.text(), "the command")
    assert "toll: --live: no status is shown: the title of this terminal" in pane.text()


@pytest.mark.parametrize("options", [[], ["-q"], ["--json"], ["--summary", "none"]], ids=" ".join)
def test_without_a_terminal_nothing_changes(options):
    def run(*live):
        command = [os.environ["TOLL"], "run", *live, *options, "--", "sh", "-c", "echo out; echo error >&2; exit 7"]
        return subprocess.run(command, capture_output=True, start_new_session=True, timeout=GUARD,
                              env={**os.environ, "TERM": "xterm"}, stdin=subprocess.DEVNULL, check=False)
    done, plain = run("--live"), run()
    assert (done.returncode, done.stdout) == (7, b"out\n") == (plain.returncode, plain.stdout)
    if options in (["-q"], ["--summary", "none"]):
        assert done.stderr == plain.stderr == b"error\n"
    assert done.stderr.startswith(b"error\n") and b"--live" not in done.stderr


def test_files_of_the_job_are_not_kept_open(panes):
    """A pipe ends with the job, although a process of toll lives until the end of toll."""
    pane = panes()
    pane.type("clear; $TOLL run --live -q --wait all -- sh -c 'echo a; (exec >&- 2>&-; while [ ! -e first ];"
              " do sleep 0.02; done) &' 2>/dev/null | { cat; $TOLL version; }")
    pane.wait_for_status()
    pane.step("first")
    pane.wait(lambda: "toll 0" in pane.text(), "the end of the pipe")
