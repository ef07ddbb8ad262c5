# SPDX-License-Identifier: MIT
"""How it ended: codes, signals, core dumps, and a command that was given a time."""
import os
import signal
import time

import pytest
from livelib import children_of, exists, records, started

STUBBORN = "trap '' TERM; echo $$ > {0}.part; mv {0}.part {0}; while :; do sleep 0.05; done"


def in_time(ready, run):
    """What a run gives that was ready when its time was over. How long that takes is the machine's
    affair: one that was not has shown nothing, and is given more time."""
    for seconds in (0.5, 5, 50):
        result = run(f"{seconds}s")
        if ready.exists():
            return result
    raise AssertionError(f"never made {ready}")


def end_of(result):
    return result.summary["end"]


def text_of(place, options, command):
    """The summary for people, and toll's exit status."""
    status, _, err = place.call([place.toll, "run", *options, "--", *command])
    return status, err.decode()


# ---- Codes and signals ---------------------------------------------------------------------------


@pytest.mark.parametrize("code", [0, 1, 7, 125, 255])
def test_exit_code(place, code):
    result = place.run(["sh", "-c", f"exit {code}"])
    assert result.status == code
    assert end_of(result) == {"status": "exited", "code": code, "signal": None,
                              "core_dumped": False, "oom_killed": False, "timed_out": False}


@pytest.mark.parametrize("name", ["TERM", "KILL", "USR1", "SEGV", "XCPU"])
def test_signal(place, name):
    """Without a core file (the limit is 0), and never taken for the kernel's want of memory."""
    number = int(getattr(signal, "SIG" + name))
    result = place.run(["sh", "-c", f"ulimit -c 0; kill -{name} $$"])
    assert result.status == 128 + number
    assert end_of(result) == {"status": "signaled", "code": None, "signal": number,
                              "core_dumped": False, "oom_killed": False, "timed_out": False}
    status, text = text_of(place, [], ["sh", "-c", f"ulimit -c 0; kill -{name} $$"])
    assert status == 128 + number
    assert f"killed by SIG{name} after" in text and "OOM" not in text


def test_core_dump(place):
    """The flag is the kernel's, as the test itself gets it of the same command."""
    command = ["sh", "-c", "ulimit -c unlimited; cd $0 && kill -SEGV $$", str(place.directory)]
    p = place.popen(command)
    _, status = os.waitpid(p.pid, 0)
    p.returncode = status
    if not os.WCOREDUMP(status):
        pytest.skip("this machine writes no core files")
    assert end_of(place.run(command))["core_dumped"] is True
    assert "core dumped" in text_of(place, [], command)[1]


# ---- A time that was given -----------------------------------------------------------------------


def test_in_time_nothing_happens(place):
    result = place.run(["sh", "-c", "exit 3"], ["--timeout", "100s"])
    assert result.status == 3
    assert end_of(result)["timed_out"] is False
    assert not result.notes


@pytest.mark.parametrize("timeout", ["300ms", "0.3s", "0.3"])
def test_sigterm_when_the_time_is_over(place, timeout):
    began = time.monotonic()
    result = place.run(["sleep", "100"], ["--timeout", timeout])
    assert time.monotonic() - began >= 0.3, "not before its time"
    assert result.status == 128 + signal.SIGTERM
    assert end_of(result)["signal"] == signal.SIGTERM
    assert end_of(result)["timed_out"] is True
    assert not result.notes, "SIGTERM was enough"
    assert "timed out" in text_of(place, ["--timeout", timeout], ["sleep", "100"])[1]


def test_status_stays_the_commands(place):
    """One that cleans up and says how it ended is believed."""
    job = ["sh", "-c", "trap 'exit 9' TERM; : > ready; while :; do sleep 0.02; done"]
    result = in_time(place.path("ready"), lambda time: place.run(job, ["--timeout", time]))
    assert result.status == 9
    assert end_of(result)["code"] == 9 and end_of(result)["timed_out"] is True


def test_sigkill_after_the_grace(place):
    result = in_time(place.path("pid"), lambda time: place.run(
        ["sh", "-c", STUBBORN.format("pid")], ["--timeout", time, "--grace", "300ms"]))
    assert result.summary["wall_seconds"] >= 0.5 + 0.3, "the grace was given"
    assert result.status == 128 + signal.SIGKILL
    assert end_of(result)["signal"] == signal.SIGKILL
    assert end_of(result)["timed_out"] is True and end_of(result)["oom_killed"] is False
    assert any("SIGKILL" in note for note in result.notes)
    assert not exists(started(place.path("pid")))


@pytest.mark.parametrize("wait", ["main", "all"])
def test_descendants_everywhere_are_ended(place, wait):
    """In the same group, in a session of its own, and orphaned: none is left, none is unknown."""
    script = ("sleep 100 & echo $! > one; "
              "setsid sh -c 'echo $$ > two; exec sleep 100' & "
              "$HELPERS/daemonize three sleep 100; "
              "while ! [ -s one -a -s two -a -s three ]; do sleep 0.01; done; "
              "echo > ready; wait; sleep 100")
    status, _, err = in_time(place.path("ready"), lambda time: place.shell(
        f"rm -f one two three; exec $TOLL run --timeout {time} --wait {wait} -o s.json -- "
        f"sh -c \"{script.replace('$', chr(92) + '$')}\""))
    assert status == 128 + signal.SIGTERM, err
    for name in ("one", "two", "three"):
        assert not exists(started(place.path(name))), name


@pytest.mark.parametrize("wait", ["main", "all"])
def test_a_stubborn_descendant_gets_sigkill(place, wait):
    """The command goes at once; what it has started and does not listen is ended after the grace,
    counted and not left to be a survivor."""
    stubborn = STUBBORN.format("pid")
    job = ["sh", "-c", f'sh -c "{stubborn.replace("$", chr(92) + "$")}" & '
           "while ! [ -s pid ]; do sleep 0.01; done; : > ready; sleep 100"]
    result = in_time(place.path("ready"), lambda time: place.run(
        job, ["--timeout", time, "--grace", "300ms", "--wait", wait, "-o", "x.jsonl"]))
    assert result.status == 128 + signal.SIGTERM
    assert not exists(started(place.path("pid")))
    assert result.summary["still_running_count"] == 0
    assert any("SIGKILL" in note for note in result.notes)
    elapsed = [s["elapsed_seconds"] for s in records(place.path("x.jsonl"), "sample")]
    assert elapsed == sorted(elapsed), "time never runs backwards"


def test_forking_faster_than_anybody_looks(place):
    """Children that are born while others are killed are found again."""
    script = ("trap '' TERM; : > ready; f() { while :; do sh -c 'trap \"\" TERM; sleep 0.3' & "
              "sleep 0.01; done; }; f")
    result = in_time(place.path("ready"), lambda time: place.run(
        ["sh", "-c", script], ["--timeout", time, "--grace", "100ms", "--wait", "all"]))
    assert result.status == 128 + signal.SIGKILL
    assert result.summary["still_running_count"] == 0


def test_a_stopped_command_is_ended(place):
    """One that was stopped hears SIGTERM when it is continued, before any grace is over."""
    def run(time):
        return place.call([place.toll, "run", "-q", "--timeout", time, "--grace", "100s", "--",
                           "sh", "-c", ": > ready; kill -STOP $$; exec sleep 200"])
    assert in_time(place.path("ready"), run)[0] == 128 + signal.SIGTERM


def test_with_no_children_the_command_alone(place):
    """Who is not measured is not ended."""
    status, _, err = in_time(place.path("child"), lambda time: place.shell(
        f"exec $TOLL run -q --no-children --timeout {time} -- "
        "sh -c 'sleep 100 > /dev/null 2>&1 & echo $! > child; wait'"))
    assert status == 128 + signal.SIGTERM, err
    child = started(place.path("child"))
    assert exists(child)
    os.kill(child, signal.SIGKILL)


def test_timeout_is_for_a_command(place):
    """What runs already is never ended."""
    with place.popen(["sleep", "100"]) as p:
        status, _, err = place.call([place.toll, "attach", "--timeout", "1s", str(p.pid)])
        assert status == 125 and b"timeout" in err and err.count(b"\n") <= 2
        assert p.poll() is None and not children_of(p.pid)
        p.kill()
