# SPDX-License-Identifier: MIT
"""track() against what the program can know of itself by other means."""

import errno
import json
import os
import re
import resource
import subprocess
import sys
import threading
import time
import warnings

import pytest
import toll
from work import another_frame, burn, frames

# CPU clocks tell nanoseconds; reading them takes some microseconds on either side.
CLOCK = 0.002
# Children that have ended are counted by the kernel to the microsecond or to the tick.
TICK = 0.011


def test_cpu_is_that_of_the_body():
    before = time.thread_time()
    with toll.track() as t:
        begin = time.thread_time()
        burn(0.2)
        inner = time.thread_time() - begin
    outer = time.thread_time() - before
    assert inner - CLOCK <= t.summary.target.cpu_seconds.total <= outer + CLOCK


def test_the_sampler_does_not_count_as_the_program():
    with toll.track(interval=0.001) as t:
        time.sleep(0.5)
    own = t.summary["self_cpu_seconds"].total
    assert own > 0
    assert t.summary.target.cpu_seconds.total < max(0.01, own / 2)
    assert t.summary.target.threads.max == threading.active_count()


def test_threads_count():
    workers = [threading.Thread(target=burn, args=(0.1,)) for _ in range(3)]
    with toll.track(interval=0.005) as t:
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert 0.3 - CLOCK <= t.summary.target.cpu_seconds.total < 0.6
    assert t.summary.target.threads.max >= 2


def test_a_child_counts_as_a_descendant():
    def children():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    before = children()
    with toll.track() as t:
        script = "import time\nwhile time.process_time() < 0.3: pass"
        subprocess.run([sys.executable, "-S", "-c", script], check=True)
    truth = children() - before
    assert t.summary.target.descendants.cpu_seconds.total == pytest.approx(truth, abs=TICK)
    assert t.summary.target.cpu_seconds.total >= truth - TICK


def test_without_children():
    with toll.track(children=False) as t:
        script = "import time\nwhile time.process_time() < 0.3: pass"
        subprocess.run([sys.executable, "-S", "-c", script], check=True)
    assert t.summary.target.cpu_seconds.total < 0.2
    assert t.summary.to_dict()["children"] is False


def test_bytes_written(tmp_path):
    size = 3 << 20
    with toll.track() as t, open(tmp_path / "file", "wb", buffering=0) as file:
        for _ in range(3):
            file.write(bytes(1 << 20))
    assert size <= t.summary.target.io_written_bytes.total <= size + 65536


def test_memory():
    with toll.track(interval=0.005) as t:
        block = bytearray(64 << 20)
        block[::4096] = bytes(len(block) // 4096)[::-1]
        another_frame(t)
        peak = t.figure("target_memory_rss_bytes").max
    assert peak >= 64 << 20
    assert t.summary.target.memory_rss_bytes.max >= peak
    assert t.summary.target.memory_rss_bytes.quality == "sampled"


def test_result_is_there_when_the_body_raised():
    with pytest.raises(ZeroDivisionError), toll.track() as t:
        burn(0.05)
        1 / 0
    assert t.summary.target.cpu_seconds.total >= 0.05 - CLOCK
    assert t.frames[-1].last
    assert not t.running


def test_while_it_runs():
    with toll.track(interval=0.01) as t:
        assert t.running
        burn(0.05)
        first = t.figure("target_cpu_seconds").total
        burn(0.1)
        another_frame(t)
        assert t.figure("target_cpu_seconds").total > first
        assert t.summary.target.cpu_seconds.total > first
        assert t.frame.cpu_seconds > first
        assert t.summary.to_dict()["end"]["status"] == "running"
    assert t.figure("target_cpu_seconds").total >= 0.15 - CLOCK
    assert t.figure("target_cpu_seconds") == t.summary["target_cpu_seconds"]


def test_trackers_may_be_nested():
    with toll.track() as outer:
        burn(0.05)
        with toll.track(name="inner") as inner:
            burn(0.1)
    assert inner.summary.name == "inner"
    assert inner.summary.target.cpu_seconds.total >= 0.1 - CLOCK
    assert outer.summary.target.cpu_seconds.total >= 0.15 - 2 * CLOCK
    assert inner.summary.target.cpu_seconds.total < outer.summary.target.cpu_seconds.total


def test_another_process():
    with subprocess.Popen(["sleep", "60"]) as other:
        try:
            with toll.track(other.pid, interval=0.01) as t:
                time.sleep(0.1)
                assert t.wait(0) is False
                other.kill()
                other.wait()
                assert t.wait(10) is True
        finally:
            other.kill()
    assert t.summary.to_dict()["pid"] == other.pid
    assert t.summary.target.cpu_seconds.total < 0.1


def test_several_targets():
    with subprocess.Popen(["sleep", "60"]) as one, subprocess.Popen(["sleep", "60"]) as two:
        try:
            with toll.track([one.pid, two.pid], interval=0.01) as t:
                frames(t, 3)
        finally:
            one.kill()
            two.kill()
    assert [target.name for target in t.summary.targets] == [
        f"process-{one.pid}",
        f"process-{two.pid}",
    ]
    column = f"target.process-{one.pid}.memory_rss_bytes"
    assert t.summary[column].max > 0
    assert t.frames[2][column] > 0
    assert t.frames[2]["target_processes"] == 2


def test_the_machine_beside_it():
    with toll.track(system=True, interval=0.02) as t:
        time.sleep(0.1)
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE")
    assert t.summary["system_memory_total_bytes"].last == pytest.approx(total, rel=0.01)
    assert t.summary.system.cpu_seconds.total >= 0


def test_outputs(tmp_path):
    record, summary, odd = tmp_path / "run.jsonl", tmp_path / "run.json", tmp_path / "odd"
    with toll.track(outputs=[record, str(summary), ("csv", odd)], labels={"a": 1}, name="n") as t:
        time.sleep(0.03)
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    assert (lines[0]["type"], lines[-1]["type"]) == ("run", "summary")
    assert json.loads(summary.read_text()) == t.summary.to_dict()
    assert odd.read_text().startswith("time,elapsed_seconds,interval_seconds,target_")
    assert t.summary.labels == {"a": "1"}


def test_start_and_stop():
    t = toll.track()
    with pytest.raises(RuntimeError, match="track: not started"):
        t.stop()
    assert t.start() is t
    with pytest.raises(RuntimeError, match="track: already started"):
        t.start()
    first = t.stop()
    assert t.stop() == first
    with pytest.raises(RuntimeError, match="track: already started"):
        t.start()


def test_from_many_threads():
    """Whatever is asked while it is stopped gets an answer, and the truth."""
    for _ in range(20):
        with toll.track(interval=0.001) as t:
            begin = threading.Barrier(4)
            answers = []

            def ask():
                begin.wait()
                for _ in range(20):
                    answers.append((t.summary.wall_seconds, t.frame, t.frames, t.dropped))
                    answers.append(t.figure("target_cpu_seconds").total)

            def read():
                begin.wait()
                answers.append(list(t))

            threads = [threading.Thread(target=f) for f in (ask, ask, read)]
            for thread in threads:
                thread.start()
            begin.wait()
        for thread in threads:
            thread.join(20)
            assert not thread.is_alive()
        assert len(answers) == 81


@pytest.mark.parametrize(
    "options, error, says",
    [
        ({"interval": 0}, ValueError, "interval: invalid value 0 (expected 0.001 seconds or more, or 'auto')"),
        ({"interval": "1s"}, TypeError, "(expected seconds, or 'auto')"),
        ({"metrics": "cpu_sceonds"}, ValueError, "unknown metric 'cpu_sceonds'"),
        ({"memory": "all"}, ValueError, "memory: invalid value 'all' (expected 'auto', 'rss', 'pss')"),
        ({"processes": 3}, ValueError, "processes: invalid value 3 (expected 'top', 'none', 'all')"),
        ({"history": -1}, ValueError, "history: invalid value -1 (expected a number of frames"),
        ({"pid": -1}, ValueError, "pid: invalid value -1 (expected 1 or more)"),
        ({"pid": "1"}, TypeError, "pid: invalid value '1' (expected a number)"),
        ({"pid": []}, ValueError, "pid: invalid value [] (expected at least one; None: this process)"),
        ({"user": ()}, ValueError, "user: invalid value () (expected at least one"),
        ({"name": 5}, TypeError, "name: invalid value 5 (expected text)"),
        ({"outputs": "run.xls"}, ValueError, "cannot determine the output type"),
        ({"outputs": "/nowhere/run.csv"}, FileNotFoundError, "cannot write to"),
        ({"labels": {"a=b": 1}}, ValueError, "labels: invalid key 'a=b' (expected text without '=')"),
        ({"labels": ["a"]}, TypeError, "(expected a dict such as {'team': 'a'})"),
        ({"outputs": ("csv", "a.csv")}, ValueError, "(expected a list, outputs="),
        ({"match": "("}, ValueError, "invalid regular expression"),
        ({"user": "no such user"}, ValueError, "unknown user"),
        ({"metrics": 5}, TypeError, "metrics: invalid value 5 (expected text)"),
        ({"metrics": ["cpu_*", 5]}, TypeError, "metrics: invalid value 5 (expected text)"),
        ({"outputs": 5}, TypeError, "outputs: invalid value 5 (expected a path, or a list)"),
        ({"outputs": b"a.csv"}, TypeError, "(expected a path, or a list)"),
        ({"outputs": [5]}, ValueError, "outputs: invalid value 5 (expected a path, (format, path)"),
        ({"outputs": [("csv", 5)]}, ValueError, "(expected a path, (format, path)"),
        ({"outputs": "a\0.csv"}, ValueError, "outputs: invalid text (expected UTF-8"),
        ({"name": "a\0b"}, ValueError, "name: invalid text (expected UTF-8"),
        ({"name": "\ud800"}, ValueError, "name: invalid text (expected UTF-8"),
        ({"labels": {"a": "\0"}}, ValueError, "labels: invalid text (expected UTF-8"),
        ({"history": "5"}, TypeError, "history: invalid value '5' (expected a number of frames)"),
        ({"history": 1 << 70}, ValueError, "history: invalid value"),
        ({"reports": "json"}, TypeError, "reports: invalid value 'json' (expected a list"),
        ({"reports": [5]}, ValueError, "reports: invalid value 5 (expected (format, layout))"),
        ({"reports": [("pdf", None)]}, ValueError, "unknown output type 'pdf'"),
        ({"reports": [("json", "nope")]}, ValueError, "unknown layout 'nope'"),
        ({"reports": [("json", "gpu-tracker,nope=1")]}, ValueError, "nope"),
    ],
)
def test_mistakes_raise(options, error, says):
    with pytest.raises(error, match=re.escape(says)):
        toll.track(**options)


def test_a_process_that_is_not_there():
    with subprocess.Popen(["true"]) as gone:
        pass
    with pytest.raises(ProcessLookupError), toll.track(gone.pid):
        pass


def test_an_output_that_fails(tmp_path):
    (tmp_path / "full.csv").symlink_to("/dev/full")
    t = toll.track(outputs=tmp_path / "full.csv")
    with pytest.warns(RuntimeWarning, match="output incomplete: .*full.csv") as told, t:
        pass
    assert [one.filename for one in told] == [__file__]
    assert any("full.csv" in note for note in t.summary.notes)
    t.stop()  # it was told


def test_an_output_that_fails_covers_nothing_up(tmp_path):
    (tmp_path / "full.json").symlink_to("/dev/full")
    with pytest.warns(RuntimeWarning, match="full.json"), pytest.raises(KeyError, match="mine"):
        with toll.track(outputs=tmp_path / "full.json"):
            raise KeyError("mine")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(KeyError, match="mine"), toll.track(outputs=tmp_path / "full.json"):
            raise KeyError("mine")
    t = toll.track(outputs=tmp_path / "full.json").start()
    with pytest.raises(OSError, match="output incomplete: .*full.json") as failed:
        t.stop()
    assert failed.value.errno == errno.ENOSPC
    assert t.stop() is t.summary


@pytest.mark.parametrize("kind", ["prometheus", "pushgateway", "otlp"])
def test_passwords_are_told_to_nobody(kind):
    secret = ["geheim", "tok123"]
    spool = "" if kind == "pushgateway" else ",spool=none"
    url = f"http://me:{secret[0]}@127.0.0.1:9/w?token={secret[1]},grace=50ms{spool}"
    with pytest.warns(RuntimeWarning, match=f"output incomplete: {kind} http://127.0.0.1:9") as told:
        with toll.track(outputs=[f"{kind}:{url}"]) as t:
            pass
    with pytest.raises(OSError, match="samples lost: ") as failed:
        toll.track(outputs=[(kind, url)]).start().stop()
    said = [str(one.message) for one in told] + [str(failed.value), repr(t), str(t.summary)]
    assert not [text for text in said for word in secret if word in text]


def test_what_is_put_aside_is_told(tmp_path):
    spool = tmp_path / "later"
    t = toll.track(outputs=[f"mlflow:http://127.0.0.1:9,spool={spool},wait=1ms,grace=50ms"])
    with pytest.warns(RuntimeWarning, match="output not sent yet: .* kept to send later: .*toll resend") as told, t:
        pass
    assert [one.filename for one in told] == [__file__] and spool.exists()


def test_waiting_for_the_end():
    t = toll.track(pid=os.getppid())
    assert t.wait(0) is False
    for wrong in (None, 1):
        with pytest.raises(RuntimeError, match="track: not started, cannot wait for its end"):
            t.wait(wrong)
    with t:
        assert t.wait(0) is False
    assert (t.wait(), t.wait(0)) == (False, False)
    with subprocess.Popen(["sleep", "60"]) as other:
        with toll.track(other.pid, interval=60) as t:
            other.kill()
            other.wait()
    assert t.wait() is True


def test_before_the_start():
    t = toll.track()
    assert (t.frame, t.frames, t.dropped, t.running) == (None, [], 0, False)
    assert "Track not started" in t._repr_html_()
    with pytest.raises(RuntimeError, match="track: not started"):
        iter(t)
    with t:
        pass
    assert "<table" in t._repr_html_()


@pytest.mark.parametrize("where", ["report", "end", "close"])
def test_an_interrupt_in_the_middle_of_the_end(where, monkeypatch):
    """The next stop() goes on where it was."""

    class Native:
        def __init__(self, inner):
            self.inner = inner

        def __getattr__(self, name):
            if name == where:
                raise KeyboardInterrupt
            return getattr(self.inner, name)

    t = toll.track().start()
    native, store = t._native, t._store
    t._native = t._store = None
    t._native, t._store = Native(native), Native(store)
    with pytest.raises(KeyboardInterrupt):
        t.stop()
    t._native, t._store = native, store
    assert t.stop().wall_seconds > 0
    assert t.frames[-1].last
    assert not t.running


def test_names_that_are_nearly_right():
    with toll.track(system=True) as t:
        time.sleep(0.02)
        for _ in range(2):  # while it runs, and when it was stopped
            with pytest.raises(KeyError, match="did you mean target_cpu_seconds"):
                t.figure("cpu_seconds")
            with pytest.raises(KeyError, match="did you mean system_memory_available_bytes"):
                t.figure("memory_available_bytes")
            with pytest.raises(KeyError, match="expected a name such as target_cpu_seconds"):
                t.figure("foo")
            t.stop()
    with pytest.raises(KeyError, match="did you mean .target_cpu_seconds"):
        t.frame["cpu_seconds"]
    with pytest.raises(KeyError, match=r"figure 'foo': not found .*keys\(\) lists all"):
        t.frame["foo"]


def test_selected_metrics():
    with toll.track(metrics=["target_cpu_seconds", "target_memory_rss_bytes"]) as t:
        pass
    assert t.summary.target.combined.keys() == ["cpu_seconds", "memory_rss_bytes"]
    with pytest.raises(KeyError, match="not found"):
        t.figure("target_threads")
    with pytest.raises(AttributeError, match="threads: not in this summary"):
        t.summary.target.combined.threads


def test_a_block_is_not_reported_as_running():
    """The program goes on after a block, of course; another process that runs is worth a word."""
    with toll.track() as t:
        assert "still running" not in str(t.summary)
    assert re.search(r" measured for [\d.]+ [µm]?s$", str(t.summary).splitlines()[0])
    with subprocess.Popen(["sleep", "60"]) as other:
        with toll.track(other.pid) as t:
            pass
        other.kill()
    assert "still running, measured for" in str(t.summary)


@pytest.mark.parametrize("read", ["for frame in t: seen.append(frame.number)",
                                  "while t.running: seen += [one.number for one in t.frames[-1:]]",
                                  "while t.running: t.summary, t.wait(0.01)"])
def test_a_signal_handler_stops_it(python, read):
    """It interrupts the thread that waits for a frame, or holds the locks: that must not wait for itself."""
    printed = python(f"""
import signal, toll, toll._summary
seen = []
t = toll.track(interval=0.002).start()
signal.signal(signal.SIGALRM, lambda number, frame: t.stop())
signal.setitimer(signal.ITIMER_REAL, 0.1)
{read}
kept = [frame.number for frame in t.frames]
print(t.summary.wall_seconds >= 0.1, kept == list(range(len(kept))), len(kept) > 10, seen == sorted(seen))
""")
    assert printed == "True True True True\n"


@pytest.mark.parametrize("where, ask, answer", [
    ("next_frame", lambda t: t.frames[-1].last, True),
    ("next_frame", lambda t: list(t)[-1].last, True),
    ("frame", lambda t: t.frame.last, True),
    ("wait", lambda t: t.wait(0.01), False),
    ("report", lambda t: t.summary.wall_seconds > 0, True),
    ("figure", lambda t: t.figure("target_cpu_seconds").total > 0, True),
    ("mark", lambda t: t.event("saved"), False),
    ("mark", lambda t: t.gauge("loss", 1), False),
])
def test_a_signal_handler_stops_it_just_before(where, ask, answer):
    """The native tracker is closed when the interrupted question reaches it."""

    class Native:
        def __init__(self, inner):
            self.inner, self.is_interrupted = inner, False

        def __getattr__(self, name):
            if name == where and not self.is_interrupted:
                self.is_interrupted = True
                t.stop()
            return getattr(self.inner, name)

    t = toll.track(interval=0.01).start()
    t._native = t._store._native = Native(t._native)
    assert ask(t) == answer
    assert t._native.is_interrupted and not t.running
    numbers = [frame.number for frame in t.frames]
    assert numbers == list(range(len(numbers))) and t.dropped == 0


def test_as_a_decorator():
    with pytest.raises(TypeError, match="did you mean @toll.tracked"):
        @toll.track
        def work():
            pass
