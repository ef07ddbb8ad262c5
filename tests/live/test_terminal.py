# SPDX-License-Identifier: MIT
"""A shell on a terminal: Ctrl-C, Ctrl-Z, fg and bg behave as without toll."""
import os
import time

import hostlib
import pytest
from livelib import children_of, exists, state_of, until
from terminal import Terminal

PROMPT = r"PROMPT> "


@pytest.fixture
def bash(here):
    """An interactive shell with job control; `t` is toll run."""
    environment = {"PS1": "PROMPT> ", "TERM": "dumb", "TOLL": here.toll, "HISTFILE": "",
                   "HELPERS": os.path.dirname(here.helper("raw"))}
    with Terminal(["bash", "--norc", "--noprofile", "-i"], environment, here.directory) as t:
        t.expect(PROMPT)
        yield t


def name_of(pid):
    with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
        return file.read().strip()


def children_named(pid, name):
    return [c for c in children_of(pid) if name_of(c) == name]


def running(bash, command):
    """Start it, and wait until toll's command is there: (toll, command)."""
    bash.type(command + "\n")
    toll = until(lambda: children_named(bash.pid, "toll"), "toll")[0]
    return toll, until(lambda: children_of(toll), "the command")[0]


def test_ctrl_c_ends_the_command(bash):
    running(bash, "$TOLL run -q -- sleep 60")
    bash.type("\x03")
    bash.expect(PROMPT)
    bash.type("echo status $?\n")
    assert bash.expect(r"status (\d+)\r")[1] == "130"


def test_ctrl_c_ends_a_loop(bash):
    """A shell leaves its loop only when what it waited for has died of the signal."""
    running(bash, "for i in 1 2 3; do $TOLL run -q -- sleep 60; echo went on; done")
    bash.type("\x03")
    bash.expect(PROMPT)
    assert "went on" not in bash.quiet(0.3).replace("echo went on", "")


def test_ctrl_c_comes_once(bash):
    """The terminal signals the whole group: the command has it already when toll gets it."""
    running(bash, "$TOLL run -q -- $HELPERS/catch")
    bash.expect(r"ready \d+")
    bash.type("\x03")
    bash.expect("got 02")
    assert "got" not in bash.quiet(0.3)
    bash.type("\x04")
    bash.expect(PROMPT)


def test_ctrl_backslash_comes_once(bash):
    running(bash, "$TOLL run -q -- $HELPERS/catch")
    bash.expect(r"ready \d+")
    bash.type("\x1c")
    bash.expect("got 03")
    assert "got" not in bash.quiet(0.3)
    bash.type("\x04")
    bash.expect(PROMPT)


def test_ctrl_z_and_fg(bash):
    """Both stop, the shell has the terminal again; fg continues both, the status is passed on."""
    toll, command = running(bash, "$TOLL run -q -- sh -c 'read x; exit 9'")
    bash.type("\x1a")
    bash.expect("Stopped")
    bash.expect(PROMPT)
    assert state_of(toll) == state_of(command) == "T"
    bash.type("fg\n")
    until(lambda: state_of(toll) in "SR" and state_of(command) in "SR", "both again")
    bash.type("\n")
    bash.expect(PROMPT)
    bash.type("echo status $?\n")
    assert bash.expect(r"status (\d+)\r")[1] == "9"


def test_ctrl_z_and_bg(bash, here):
    os.mkfifo(here.path("go"))
    # The shell starts no program: one that is stopped before its exec would hold it up (vfork).
    toll, shell = running(bash, "$TOLL run -q -- sh -c 'read x <go; echo done in the background'")
    until(lambda: children_named(toll, "sh"), "the shell itself")
    bash.type("\x1a")
    bash.expect("Stopped")
    assert state_of(toll) == state_of(shell) == "T"
    bash.type("bg\n")
    until(lambda: state_of(toll) in "SR" and state_of(shell) in "SR", "both again")
    here.path("go").write_text("\n")
    bash.expect("done in the background")
    until(lambda: not exists(toll), "the end of toll")


def test_stopped_twice(bash):
    """Each time again."""
    toll, command = running(bash, "$TOLL run -q -- $HELPERS/burn 3000 0 0 6")
    for _ in range(3):
        bash.type("\x1a")
        bash.expect("Stopped")
        bash.expect(PROMPT)
        assert state_of(toll) == state_of(command) == "T"
        bash.type("fg\n")
        until(lambda: state_of(toll) in "SR" and state_of(command) in "SR", "both again")
    bash.type("\x03")
    bash.expect(PROMPT)


def test_ctrl_z_at_once(bash):
    """Also between the fork and the exec of the command, where it is stopped before it has begun."""
    for _ in range(20):
        bash.type("$TOLL run -q -- sleep 60\n")
        toll = until(lambda: children_named(bash.pid, "toll"), "toll")[0]
        until(lambda: children_of(toll), "a child")
        bash.type("\x1a")
        bash.expect("Stopped")
        bash.expect(PROMPT)
        bash.type("kill -9 %%; fg\n")
        bash.expect("sleep 60\r\n")
        bash.expect(PROMPT)
        until(lambda: not children_of(bash.pid), "the end of toll")


def test_editor_in_raw_mode(bash):
    """Keys reach it one by one; it restores the terminal, stops its group, and comes back."""
    toll, command = running(bash, "$TOLL run -q -- $HELPERS/raw")
    bash.expect("raw")
    bash.type("a")
    bash.expect("<a>")
    bash.type("\x1a")
    bash.expect("Stopped")
    bash.expect(PROMPT)
    assert state_of(toll) == state_of(command) == "T"
    bash.type("fg\n")
    bash.expect("back")
    bash.type("b")
    bash.expect("<b>")
    bash.type("q")
    bash.expect(PROMPT)
    bash.type("echo status $?\n")
    assert bash.expect(r"status (\d+)\r")[1] == "5"


def test_background_job_that_wants_the_terminal(bash):
    """Reading from the background stops it (SIGTTIN), and toll with it; fg lets it read."""
    bash.type("$TOLL run -q -- cat &\n")
    bash.expect(PROMPT)
    toll = until(lambda: children_named(bash.pid, "toll"), "toll")[0]
    until(lambda: state_of(toll) == "T", "a stopped toll")
    bash.type("fg\n")
    bash.expect("cat")
    bash.type("hello\n")
    bash.expect("hello\r\nhello")
    bash.type("\x04")
    bash.expect(PROMPT)


def test_hangup_reaches_the_command(here):
    """The terminal goes away: the command gets SIGHUP and toll ends with it."""
    environment = {"TERM": "dumb"}
    with Terminal([here.toll, "run", "-q", "-o", "x.json", "--", "sleep", "60"], environment,
                  here.directory) as t:
        command = until(lambda: children_of(t.pid), "a command")[0]
        os.close(t.fd)
        t.status = os.waitstatus_to_exitcode(os.waitpid(t.pid, 0)[1])
    assert t.status == 128 + 1
    assert not os.path.exists(f"/proc/{command}")


def test_command_without_a_controlling_terminal(here):
    status, out, _ = here.call(["setsid", "--wait", here.toll, "run", "-q", "--", "sh", "-c",
                                "(exec 3</dev/tty) 2>/dev/null && echo has || echo none"])
    assert (status, out) == (0, b"none\n")


@hostlib.needs("tmux")
def test_window_size_reaches_the_command(here):
    """A full-screen program under toll in tmux sees the size change."""
    tmux = ["tmux", "-S", str(here.path("socket")), "-f", "/dev/null"]
    status, _, err = here.call([*tmux, "new-session", "-d", "-x", "80", "-y", "24",
                                f"{here.toll} run -q -- bash -c 'trap \"stty size >> sizes\" WINCH; "
                                "echo > ready; while :; do sleep 0.05; done'"])
    assert status == 0, err
    try:
        until(here.path("ready").exists, "the command")
        here.call([*tmux, "resize-window", "-x", "100", "-y", "30"])
        until(lambda: here.path("sizes").exists() and "30 100" in here.path("sizes").read_text(),
              "the new size")
        time.sleep(0.3)
        assert here.path("sizes").read_text().count("30 100") == 1
    finally:
        here.call([*tmux, "kill-server"])


# ---- What runs already ---------------------------------------------------------------------------


def test_ctrl_c_ends_attach_with_a_summary(bash):
    """On a line of its own, behind the ^C of the terminal; the target does not notice."""
    bash.type("sleep 1000 & echo pid $!\n")
    pid = int(bash.expect(r"pid (\d+)\r")[1])
    until(lambda: name_of(pid) == "sleep", "the target, until then a copy of the shell")
    bash.type(f"TERM=xterm $TOLL attach -i 20ms {pid}\n")
    bash.expect(r"\x1b\[2m +CPU [^\n]*\r\n +time +cores")  # the heading is dim
    bash.expect(r"\d\d:\d\d:\d\d +\S+")
    bash.type("\x03")
    bash.expect(rf"\^C\r\n\x1b\[1mtoll: process {pid} \(sleep\)")
    bash.expect("still running, measured for")
    bash.expect(PROMPT)
    bash.type("echo status $?\n")
    assert bash.expect(r"status (\d+)\r")[1] == "0"
    assert state_of(pid) in "SR"
    bash.type(f"kill {pid}\n")
    until(lambda: not exists(pid), "the end of the target")


@pytest.mark.parametrize("what, heading", [
    ("system", "available"),
    ("attach --system a-rather-long-name-of-a-target=$$ me=$$", "cores"),
])
def test_lines_fit_the_terminal(bash, what, heading):
    """However much there is to show; and the heading comes back before it has left the screen."""
    bash.type("stty cols 80 rows 24\n")
    bash.expect(PROMPT)
    bash.type(f"$TOLL {what} -q -i 10ms\n")
    bash.expect("time ")
    screen = bash.expect(rf"{heading}[\s\S]*?\r\n[\s\S]*?{heading}")[0]
    bash.type("\x03")
    bash.expect(PROMPT)
    lines = [line.rstrip("\r") for line in screen.split("\n")]
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
