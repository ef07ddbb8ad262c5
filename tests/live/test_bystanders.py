# SPDX-License-Identifier: MIT
"""Who and what only stands beside the job: earlier children, earlier programs, other outputs."""
import json
import os
import subprocess
import sys

from livelib import GUARD, TICK, job_until, not_sanitized, records, until


def test_a_parent_that_ignores_its_children_once(place):
    """Only the child that nobody waited for may be missing; the others do not count twice."""
    result = place.run([place.helper("fickle"), place.helper("burn"), "200", "300"],
                       ["-i", "10ms"])
    assert result.status == 0
    assert result.quality("cpu_seconds") == "lower bound"
    # 3 x 300 ms are waited for; the one that is lost had 200 ms. The start of five programs and the
    # waiting of the parent are a few milliseconds.
    assert 0.9 <= result.total("cpu_seconds") <= 1.1 + 4 * TICK


def test_children_of_the_shell_before(place):
    """exec keeps children: those of the shell that became toll are not the job's."""
    summary = place.path("s.json")
    status, _, _ = place.shell("$HELPERS/burn 300 & exec $TOLL run --summary json "
                               "--summary-to s.json -i 50ms --wait all -- sleep 0.8")
    figures = json.loads(summary.read_text())
    assert status == 0
    assert figures["still_running"] == []
    assert figures["target"]["combined"]["cpu_seconds"]["total"] < 0.1  # of 0.3
    assert figures["target"]["combined"]["cpu_seconds"]["quality"] == "exact if reaped"


@not_sanitized
def test_cost_begins_with_measuring(here):
    """The CPU clock of a process survives exec; what the program before used is not toll's cost."""
    script = ("import os, time\nwhile time.process_time() < 0.5: pass\n"
              f"os.execv({here.toll!r}, ['toll', 'run', '--summary-to', 's.json', '--', 'true'])")
    status, _, _ = here.call([sys.executable, "-c", script])
    assert status == 0
    figures = json.loads(here.path("s.json").read_text())
    assert figures["self"]["cpu_seconds"]["total"] < 0.25


def test_timer_set_before_toll_ends_the_command(here):
    """alarm, then exec: the classic way to limit a command. The timer comes to toll."""
    script = (f"import os, signal\nsignal.alarm(1)\n"
              f"os.execv({here.toll!r}, ['toll', 'run', '-q', '--', 'sleep', '60'])")
    status, _, _ = here.call([sys.executable, "-c", script])
    assert status == 128 + 14


def test_nested_runs_do_not_share_a_file(here):
    """An inherited TOLL_OUTPUT is the outer run's; the inner one says so and measures."""
    environment = dict(os.environ, TOLL_OUTPUT="out.jsonl")
    status, _, err = here.shell("$TOLL run -q -- sh -c '$TOLL run -q -- true; exit 5'",
                                env=environment)
    assert status == 5
    assert b"in use by another toll process" in err
    lines = records(here.path("out.jsonl"))
    assert lines[0]["type"] == "run" and lines[0]["command"][0] == "sh"
    assert [line["type"] for line in lines].count("summary") == 1


def test_file_in_use_on_the_command_line(here):
    status, _, err = here.shell("$TOLL run -q -o out.csv -- $TOLL run -q -o out.csv -- touch mark")
    assert status == 125
    assert b"in use by another toll process" in err
    assert not here.path("mark").exists()


def test_pipe_without_a_reader(here):
    os.mkfifo(here.path("f.csv"))
    status, _, err = here.call([here.toll, "run", "-o", "f.csv", "--", "touch", "mark"])
    assert status == 125
    assert b"no process reads from it" in err
    assert not here.path("mark").exists()


def test_pipe_that_is_not_read_holds_up_nothing(here):
    """Signals reach the command, its end is noticed, and what was lost is told."""
    os.mkfifo(here.path("f.jsonl"))
    reader = os.open(here.path("f.jsonl"), os.O_RDONLY | os.O_NONBLOCK)
    try:
        with here.popen([here.toll, "run", "-q", "-i", "1ms", "-o", "f.jsonl", "-o", "good.jsonl",
                         "--", "sleep", "60"], stderr=subprocess.PIPE) as toll:
            good = here.path("good.jsonl")
            until(lambda: good.exists() and "cannot write to 'f.jsonl'" in good.read_text(),
                  "a full pipe")
            toll.terminate()
            _, err = toll.communicate(timeout=GUARD)
        assert toll.returncode == 128 + 15
        assert b"f.jsonl: destination too slow" in err
    finally:
        os.close(reader)


def test_slow_reader_gets_whole_lines(here):
    os.mkfifo(here.path("f.jsonl"))
    with here.popen(["sh", "-c", "sleep 1; cat f.jsonl > copy.jsonl"]) as reader:
        opener = os.open(here.path("f.jsonl"), os.O_RDWR)  # until the reader has come
        status, _, _ = here.call([here.toll, "run", "-q", "-i", "5ms", "-o", "f.jsonl", "--",
                                  "sh", "-c", job_until("[ -s copy.jsonl ]") + "; sleep 0.2"])
        os.close(opener)
        reader.wait(timeout=GUARD)
    assert status == 0
    assert len(records(here.path("copy.jsonl"), "sample")) > 3


def test_nothing_empty_lies_about(here):
    """A summary is written at the end: killed before, there is no file, and an old one is whole."""
    here.path("old.json").write_text("{}\n")
    with here.popen([here.toll, "run", "-q", "-o", "new.json", "-o", "old.json", "--", "sleep",
                     "60"]) as toll:
        children = until(lambda: open(f"/proc/{toll.pid}/task/{toll.pid}/children").read().split(),
                         "the command")
        until(lambda: not here.path("new.json").exists(), "that the trial is over")
        toll.kill()
    os.kill(int(children[0]), 9)
    assert not here.path("new.json").exists()
    assert here.path("old.json").read_text() == "{}\n"


def test_format_named_before_the_file(here):
    status, _, _ = here.call([here.toll, "run", "-q", "-o", "csv:samples", "--", "true"])
    assert status == 0
    assert here.path("samples").read_text().startswith("time,elapsed_seconds")
