# SPDX-License-Identifier: MIT
"""What is sent to toll reaches the command, once; what the command has already is not sent again."""
import os
import signal
import subprocess
import time

import pytest
from livelib import children_of, job_until, needs_root, signal_number, state_of, until

# Long enough for a signal that is sent a second time to arrive; it is a matter of microseconds.
SETTLE = 0.3


class Catcher:
    """`toll run -- catch` in a process group of its own, with what it has got so far."""

    def __init__(self, place, arguments=(), before=(), options=(), wrap=()):
        self.file = place.path("caught")
        self.process = place.popen(
            [*before, place.toll, "run", "-q", *options, "--", *wrap, place.helper("catch"),
             *arguments],
            stdin=subprocess.PIPE, stdout=self.file.open("wb"), stderr=subprocess.PIPE,
            start_new_session=True)
        self.command = until(self._ready, "the command is ready")

    def _ready(self):
        lines = self.file.read_text().splitlines(keepends=True)
        return int(lines[0].split()[1]) if lines and lines[0].endswith("\n") else 0

    def got(self):
        return [int(line.split()[1]) for line in self.file.read_text().splitlines()
                if line.startswith("got")]

    def send(self, number, to=None):
        os.kill(to or self.process.pid, number)

    def wait_for(self, number):
        until(lambda: number in self.got(), f"signal {number} in the command")

    def end(self):
        """Everything it got, after time for more; the status must be the command's."""
        time.sleep(SETTLE)
        self.process.stdin.close()
        status = self.process.wait(60)
        errors = self.process.stderr.read()
        self.process.stderr.close()
        assert status == 0, errors
        return self.got()


FORWARDED = ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGALRM",
             "SIGPIPE", "SIGXCPU", "SIGTSTP", "SIGRTMIN"]


@pytest.mark.parametrize("name", FORWARDED)
def test_sent_to_toll_reaches_the_command_once(place, name):
    number = signal_number(name)
    c = Catcher(place)
    c.send(number)
    c.wait_for(number)
    assert c.end() == [number]


def test_many_are_all_forwarded(here):
    """Real-time signals queue: none is lost, none comes twice."""
    c = Catcher(here)
    number = signal.SIGRTMIN + 3
    for _ in range(50):
        c.send(number)
    until(lambda: len(c.got()) >= 50, "fifty signals")
    assert c.end() == [number] * 50


@pytest.mark.parametrize("name", ["SIGTERM", "SIGUSR1", "SIGINT"])
def test_a_job_that_signals_its_group_has_it_once(place, name):
    """`kill 0` reaches toll and the command: toll must not pass on what came from inside."""
    number = signal_number(name)
    c = Catcher(place, ["group", str(number)])
    c.wait_for(number)
    assert c.end() == [number]


def test_a_child_that_signals_the_group(place):
    c = Catcher(place, ["child", str(int(signal.SIGTERM))])
    c.wait_for(signal.SIGTERM)
    assert c.end() == [signal.SIGTERM]


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGRTMIN"])
@pytest.mark.parametrize("how, times", [("forward", 2), ("group", 1)])
def test_a_group_that_is_signalled_from_outside(place, name, how, times):
    """Without a shell's job control: the kernel does not say that it was sent to the group."""
    number = signal_number(name)
    c = Catcher(place, options=["--signals", how])
    os.killpg(c.process.pid, number)
    c.wait_for(number)
    got = c.end()
    # Two of the same may become one while they wait; real-time signals queue.
    assert got == [number] * times or (name != "SIGRTMIN" and got == [number]), got


def test_signals_to_a_group_that_the_command_has_left(place):
    """It does not get them by itself then."""
    c = Catcher(place, before=(), options=["--signals", "group"], wrap=["setsid"])
    c.send(signal.SIGUSR1)
    c.wait_for(signal.SIGUSR1)
    assert c.end() == [signal.SIGUSR1]


def test_command_that_ends_by_the_signal(place):
    """Ended by what was forwarded: 128+N, as if it had been sent to it."""
    with place.popen([place.toll, "run", "-q", "--", "sleep", "60"]) as p:
        until(lambda: children_of(p.pid), "a command")
        p.send_signal(signal.SIGTERM)
        assert p.wait(60) == 128 + signal.SIGTERM


def test_command_that_survives_the_signal(place):
    with place.popen([place.toll, "run", "-q", "--", "sh", "-c",
                      "trap 'exit 42' TERM; echo > ready; while :; do sleep 0.05; done"]) as p:
        until(place.path("ready").exists, "a trap")
        p.send_signal(signal.SIGTERM)
        assert p.wait(60) == 42


@pytest.mark.parametrize("options", [[], ["--foreground"]])
def test_timeout_ends_it(place, options):
    """124 is timeout's word for it."""
    status, _, _ = place.call(["timeout", *options, "0.5", place.toll, "run", "-q", "--", "sleep",
                               "100"])
    assert status == 124


def test_timeout_inside(place):
    result = place.run(["timeout", "0.3", "sleep", "100"])
    assert result.status == 124


def test_stopped_from_outside_and_continued(place):
    """SIGSTOP to the command is somebody's own business: toll waits, and goes on with it."""
    c = Catcher(place, options=["-i", "10ms", "-o", "x.jsonl"])
    os.kill(c.command, signal.SIGSTOP)
    until(lambda: state_of(c.command) == "T", "a stopped command")
    time.sleep(SETTLE)
    assert state_of(c.process.pid) in "SR"
    os.kill(c.command, signal.SIGCONT)
    c.wait_for(signal.SIGCONT)
    c.send(signal.SIGUSR1)
    c.wait_for(signal.SIGUSR1)
    assert c.end() == [signal.SIGCONT, signal.SIGUSR1]


def test_toll_stopped_and_continued(place):
    """Stopping toll alone does not stop the command; continued, it measures on."""
    c = Catcher(place)
    c.send(signal.SIGSTOP)
    until(lambda: state_of(c.process.pid) == "T", "a stopped toll")
    assert state_of(c.command) in "SR"
    c.send(signal.SIGCONT)
    until(lambda: state_of(c.process.pid) in "SR", "toll again")
    c.send(signal.SIGUSR2)
    c.wait_for(signal.SIGUSR2)
    got = c.end()
    assert [n for n in got if n != signal.SIGCONT] == [signal.SIGUSR2]


def test_a_group_that_is_continued(place):
    """The command has it with the others: a second one, which toll came late with, would undo the
    next stop."""
    c = Catcher(place)
    for _ in range(3):
        os.killpg(c.process.pid, signal.SIGSTOP)
        until(lambda: state_of(c.process.pid) == state_of(c.command) == "T", "both stopped")
        before = len(c.got())
        os.killpg(c.process.pid, signal.SIGCONT)
        until(lambda: len(c.got()) > before, "SIGCONT in the command")
        until(lambda: state_of(c.process.pid) == "S", "toll at rest")
    assert c.end() == [signal.SIGCONT] * 3


def test_second_ctrl_c_ends_the_wait_for_daemons(place):
    """With --wait all the command may be gone and a daemon stay: TERM ends the wait, not him."""
    from livelib import exists, started
    with place.popen([place.toll, "run", "-q", "--wait", "all", "--", "sh", "-c",
                      f"{place.helper('daemonize')} pid sleep 60; exit 4"]) as p:
        daemon = started(place.path("pid"))
        until(lambda: children_of(p.pid) == [daemon], "the daemon came home")
        p.send_signal(signal.SIGTERM)
        assert p.wait(60) == 4
    assert exists(daemon)
    place.call(["kill", str(daemon)])


# ---- Signals that toll brings upon itself -----------------------------------------------------------

def test_own_broken_pipe_is_not_the_jobs(place):
    """Whoever reads an output goes away: SIGPIPE is toll's affair, the command must not get it."""
    fifo = place.path("x.jsonl")
    os.mkfifo(fifo)
    fifo.chmod(0o666)
    with subprocess.Popen(["head", "-c", "100"], stdin=open(os.open(fifo, os.O_RDWR), "rb"),
                          stdout=subprocess.DEVNULL) as reader:
        p = place.popen([place.toll, "run", "-q", "-i", "10ms", "-o", "x.jsonl", "--",
                         place.helper("burn"), "100", "0", "300", "8"])
        reader.wait(60)
        # The reader's own descriptor, which kept the pipe open, went with it.
        assert p.wait(60) == 8


def test_closed_stderr_pipe_is_not_the_jobs(place):
    """A note for a stderr that nobody reads any more."""
    read, write = os.pipe()
    os.close(read)
    script = place.path("x.csv")
    script.symlink_to("/dev/full")
    with place.popen([place.toll, "run", "-i", "10ms", "-o", "x.csv", "--", place.helper("burn"),
                      "50", "0", "200", "8"], stderr=write) as p:
        os.close(write)
        assert p.wait(60) == 8


# ---- Somebody else's command -----------------------------------------------------------------------

@needs_root
def test_command_that_became_root(nobody):
    """An ordinary user's toll may not signal it, not even ask whether it is there: it stays with
    it to its end all the same, and its status is passed on."""
    import pathlib
    import shutil
    program = pathlib.Path(nobody.toll).parent / "other-full"
    shutil.copy(nobody.helper("other"), program)
    program.chmod(0o4755)
    try:
        with nobody.popen([nobody.toll, "run", "-q", "--", program, "out", "1000", "1000", "5",
                           "full"]) as p:
            until(lambda: children_of(p.pid) and nobody.path("out").exists(), "a root command")
            time.sleep(SETTLE)
            p.send_signal(signal.SIGTERM)
            assert p.wait(60) == 5
    finally:
        program.unlink()


# ---- As pid 1 --------------------------------------------------------------------------------------

def unshared(place):
    command = ["unshare", "-pf", "--mount-proc", "--kill-child=KILL"]
    if not place.prefix and os.geteuid() == 0:
        return command
    return ["unshare", "-Ur", "-pf", "--mount-proc", "--kill-child=KILL"]


def require_namespace(place):
    status, _, err = place.call([*unshared(place), "true"])
    if status != 0:
        pytest.skip(f"no pid namespace here: {err.decode().strip()}")


def test_as_pid_1(place):
    """Orphans are reaped, the status is passed on."""
    require_namespace(place)
    alone = '[ $(ps -e -o comm= | grep -c sleep) = 0 ]'  # a zombie is listed too
    script = ("i=0; while [ $i -lt 20 ]; do (sleep 0.05 &); i=$((i+1)); done; "
              f"{job_until(alone)}; echo $PPID > parent; ps -e -o stat= | grep -c Z > zombies; exit 13")
    status, _, err = place.call([*unshared(place), place.toll, "run", "-i", "10ms", "--summary",
                                 "json", "--summary-to", "s.json", "--", "sh", "-c", script])
    assert status == 13, err
    assert place.path("parent").read_text() == "1\n"
    assert place.path("zombies").read_text() == "0\n"


def test_sigterm_as_pid_1(place):
    """The kernel drops signals of pid 1 that it does not want: toll wants them."""
    require_namespace(place)
    with place.popen([*unshared(place), place.toll, "run", "-q", "--", "sh", "-c",
                      "trap 'exit 21' TERM; echo > ready; while :; do sleep 0.05; done"]) as p:
        until(place.path("ready").exists, "a trap")
        toll = until(lambda: children_of(p.pid), "pid 1")[0]
        os.kill(toll, signal.SIGTERM)
        assert p.wait(60) == 21
