# SPDX-License-Identifier: MIT
"""The job is sacred: it finds what it would find without toll, and its end is passed on."""
import os
import re
import signal
import subprocess
import sys
import time

import hostlib
import pytest
from livelib import GUARD, signal_number
from terminal import Terminal

QUIET = ["--summary", "none"]


# ---- How it ends -----------------------------------------------------------------------------------

@pytest.mark.parametrize("code", [0, 1, 2, 77, 124, 125, 126, 127, 128, 255])
def test_exit_code(here, code):
    assert here.call([here.toll, "run", "--", "sh", "-c", f"exit {code}"])[0] == code


@pytest.mark.parametrize("name", ["SIGHUP", "SIGINT", "SIGQUIT", "SIGILL", "SIGABRT", "SIGKILL",
                                  "SIGSEGV", "SIGPIPE", "SIGALRM", "SIGTERM", "SIGUSR1",
                                  "SIGXCPU", "SIGRTMIN"])
def test_ended_by_a_signal(here, name):
    number = signal_number(name)
    result = here.run(["sh", "-c", f"ulimit -c 0; kill -{number} $$"])
    assert result.status == 128 + number
    assert result.summary["end"]["status"] != "exited"
    assert result.summary["end"]["signal"] is not None


def test_not_found(here):
    # A directory of PATH that is closed to the user would make it "Permission denied", as with env.
    status, out, err = here.call([here.toll, "run", "-o", "x.csv", "--", "no-such-program-anywhere"],
                                 env={"PATH": "/usr/bin:/bin"})
    assert status == 127
    assert out == b""
    assert err.count(b"\n") == 1 and b"no-such-program-anywhere" in err
    assert not here.path("x.csv").exists()


@pytest.mark.parametrize("what", ["plain", "directory", "below"])
def test_not_executable(place, what):
    place.path("file").write_text("hello\n")
    command = {"plain": "./file", "directory": "./", "below": "./file/x"}[what]
    status, _, err = place.call([place.toll, "run", "-o", "x.jsonl", "--", command])
    # A file taken for a directory is a path that does not exist, to a shell too.
    assert status == (127 if what == "below" else 126)
    assert err.count(b"\n") == 1
    assert not place.path("x.jsonl").exists()


@pytest.mark.parametrize("content", [b"echo from a script; exit 9\n", b"\x7fELF garbage\n",
                                     b"#!/no/such/interpreter\n", b""])
def test_strange_format_ends_as_with_env(here, content):
    """Without a first line that names an interpreter, execvp gives it to sh; so does env."""
    here.path("strange").write_bytes(content)
    here.path("strange").chmod(0o755)
    bare = here.call(["env", "./strange"])
    under = here.call([here.toll, "run", "-q", "--", "./strange"])
    assert under[0] == bare[0]
    assert under[1] == bare[1]


def test_a_record_of_before_survives_a_command_that_cannot_run(here):
    here.path("x.jsonl").write_text("precious\n")
    here.call([here.toll, "run", "-o", "x.jsonl", "--", "no-such-program-anywhere"])
    assert here.path("x.jsonl").read_text() == "precious\n"


# ---- What it finds ---------------------------------------------------------------------------------

def state(place, before, file, script=""):
    """What the helper `state` finds, run bare or behind `toll run`, from the same parent."""
    with place.path("in").open("w+") as stdin, place.path("out").open("a") as out:
        status, _, _ = place.call(
            ["sh", "-c", f'{script} exec "$@"', "sh", *before, place.helper("state"), file],
            stdin=stdin, stdout=out, stderr=out)
    assert status == 0
    return place.path(file).read_text()


SITUATIONS = {
    "plain": "",
    "umask": "umask 027;",
    "limits": "ulimit -n 200; ulimit -c 0; ulimit -s 4096;",
    "soft": "ulimit -S -n 100;",
    "descriptors": "exec 5</dev/null 7>&1 9</etc/passwd;",
    "directory": "cd /usr;",
    "environment": "export TERM=strange EMPTY= TOLL_QUIET=yes;",
    "no stdin": "exec <&-;",
    "no stdout": "exec >&-;",
    "no stderr": "exec 2>&-;",
    "nothing open": "exec <&- >&- 2>&-;",
    "ignored": "trap '' HUP INT PIPE USR1 CHLD;",
    "nice": "renice -n 5 $$ >/dev/null;",
}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_inherits_everything(place, situation):
    """Signals, group, session, terminal, umask, limits, directory, descriptors, environment."""
    script = SITUATIONS[situation]
    bare = state(place, [], str(place.path("bare")), script)
    under = state(place, [place.toll, "run", *QUIET, "-o", str(place.path("x.jsonl")), "--"],
                  str(place.path("under")), script)
    # Each run of the shell that starts it has the same group: the tests'. SigQ counts others too.
    added = re.findall(r"^env TOLL_SOCKET=.*\n", under, re.M)
    assert len(added) == 1 and under.replace(added[0], "") == bare
    silent = state(place, [place.toll, "run", *QUIET, "--no-marks", "--"],
                   str(place.path("silent")), script)
    assert silent == bare


@pytest.mark.parametrize("ignored", [True, False])
def test_inherits_signal_mask_and_sigchld(place, ignored):
    """What a shell cannot set: blocked signals, and SIGCHLD ignored."""
    def prepare():
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2, signal.SIGRTMIN, signal.SIGTERM})
        signal.signal(signal.SIGCHLD, signal.SIG_IGN if ignored else signal.SIG_DFL)
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    found = []
    for before in ([], [place.toll, "run", *QUIET, "--no-marks", "--"]):
        status, _, _ = place.call([*before, place.helper("state"), "found"], preexec_fn=prepare,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert status == 0
        found.append(place.path("found").read_text())
    assert found[0] == found[1]


@hostlib.needs("ps")
def test_new_session_stays_one(place):
    """Behind setsid, toll and the command are in the session and group that setsid made."""
    status, _, err = place.call(["setsid", "--wait", place.toll, "run", "-q", "--", "sh", "-c",
                                 "ps -o pid=,sess=,pgid=,tty= -p $$,$PPID > ids"])
    assert status == 0, err
    rows = [line.split() for line in place.path("ids").read_text().splitlines()]
    assert len(rows) == 2
    assert rows[0][1:] == rows[1][1:]
    assert rows[0][0] == rows[0][1] == rows[0][2], "toll is the leader"


def test_streams_pass_bytes_unchanged(place):
    data = os.urandom(3_000_000)
    status, out, err = place.call([place.toll, "run", "--", "cat"], input=data)
    assert (status, out) == (0, data)
    assert b"\x1b" not in err, "no colours outside of a terminal"
    status, out, err = place.call([place.toll, "run", "-q", "--", "sh", "-c", "cat >&2"], input=data)
    assert (status, out, err) == (0, b"", data)


def test_never_writes_to_stdout(place):
    """Not the summary, not a note, not an error."""
    for arguments in (["run", "--", "true"], ["run", "-v", "--", "true"], ["run", "--", "nope"],
                      ["run", "--summary", "json", "--", "true"], ["run", "--bad"],
                      ["run", "-o", "/dev/full.csv", "--", "true"], ["run"]):
        assert place.call([place.toll, *arguments])[1] == b"", arguments


def test_pipeline(place):
    status, out, err = place.shell("seq 100000 | $TOLL run -q -- sort -rn | $TOLL run -q -- head -2")
    assert (status, out, err) == (0, b"100000\n99999\n", b"")


def test_broken_pipe_ends_the_command_not_toll(place):
    """`toll run -- yes | head -1`: the command ends by SIGPIPE, and toll tells."""
    status, out, _ = place.shell("($TOLL run -q -- yes; echo $? >&3) 3>status | head -1")
    assert out == b"y\n"
    assert place.path("status").read_text() == f"{128 + signal.SIGPIPE}\n"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams(place, closed):
    """Nothing toll opens may take the place of a stream: what the command says would go there."""
    script = (f"$TOLL run -o x.jsonl -- sh -c 'echo out; echo err >&2; exit 6' {closed}; "
              "echo $? > status")
    place.shell(script)
    assert place.path("status").read_text() == "6\n"
    assert "out" not in place.path("x.jsonl").read_text().splitlines()
    assert "err" not in place.path("x.jsonl").read_text().splitlines()


# ---- make -----------------------------------------------------------------------------------------

@pytest.mark.parametrize("style", ["fifo", "pipe"])
def test_jobserver_is_kept(place, style):
    place.path("Makefile").write_text(
        "all: a b\na:\n\t+@$(TOLL) run -q -- $(MAKE) --no-print-directory -f sub.mk\n"
        "b:\n\t@sleep 0.1\n")
    place.path("sub.mk").write_text("all: x y z\nx y z:\n\t@echo $@ $(MAKEFLAGS)\n")
    options = ["--jobserver-style=pipe"] if style == "pipe" else []
    status, out, err = place.shell(f"make -j4 {' '.join(options)}")
    if options and b"jobserver-style" in err:
        pytest.skip("this make knows one style only")
    assert status == 0, err
    assert b"jobserver unavailable" not in err
    assert b"jobserver" in out, "the inner make knows of the server"


# ---- The end is noticed ----------------------------------------------------------------------------

def test_end_is_an_event_not_a_poll(place):
    """At an interval of ten minutes a sleep of 0.2 s ends when it ends, not with the interval.

    Compared with the bare command in the same run: a poll would take 3000 times as long; 10 times
    and a second leave room for any machine."""
    bare = elapsed(place, ["sleep", "0.2"])
    under = elapsed(place, [place.toll, "run", "-q", "-i", "10m", "--", "sleep", "0.2"])
    assert under < 10 * bare + 1


def elapsed(place, command):
    began = time.monotonic()
    assert place.call(command)[0] == 0
    return time.monotonic() - began


# ---- Colours ---------------------------------------------------------------------------------------

def test_no_colour_with_no_color(here):
    for environment, coloured in [({"TERM": "xterm"}, True), ({"TERM": "dumb"}, False),
                                  ({"TERM": "xterm", "NO_COLOR": "1"}, False),
                                  ({"TERM": "xterm", "NO_COLOR": ""}, True), ({}, False)]:
        with Terminal([here.toll, "run", "--", "true"], environment) as t:
            text = t.rest()
        assert "CPU" in text
        assert bool(re.search("\x1b\\[", text)) == coloured, environment


def test_no_colour_in_a_file(here):
    with here.path("err").open("wb") as f:
        subprocess.run([here.toll, "run", "-o", here.path("x.txt"), "--", "true"], stderr=f,
                       env={**os.environ, "TERM": "xterm"}, check=True, timeout=GUARD)
    assert b"\x1b" not in here.path("err").read_bytes()
    assert b"\x1b" not in here.path("x.txt").read_bytes()


def test_python_child_of_a_python_parent(place):
    """A language runtime notices nothing: the same status and stream of a subprocess."""
    code = "import sys; sys.stdout.write(sys.stdin.read().upper()); sys.exit(33)"
    status, out, err = place.call([place.toll, "run", "-q", "--", sys.executable, "-c", code],
                                  input=b"hello")
    assert (status, out, err) == (33, b"HELLO", b"")
