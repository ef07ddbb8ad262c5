# SPDX-License-Identifier: MIT
"""Forks, subinterpreters, the end of the program: the tracker is the process's that made it."""

import multiprocessing
import os
import sys
import threading
import time

import pytest
import toll
from work import another_frame, burn


def in_child(function):
    """What the function returns in a forked child, as text."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, str(function()).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as file:
        said = file.read()
    _, status = os.waitpid(child, 0)
    assert status == 0
    return said


@pytest.mark.parametrize(
    "ask",
    [
        lambda t: t.summary,
        lambda t: t.frames,
        lambda t: t.frame,
        lambda t: t.dropped,
        lambda t: t.figure("target_cpu_seconds"),
        lambda t: t.stop(),
        lambda t: t.wait(0),
        lambda t: next(iter(t)),
        lambda t: t._native.report("json"),
        lambda t: t._native.finish(),
    ],
)
def test_a_child_is_told(ask):
    def told():
        try:
            ask(t)
        except RuntimeError as error:
            return error
        return "nothing was raised"

    with toll.track(interval=0.005) as t:
        time.sleep(0.02)
        assert in_child(told) == "track: this tracker belongs to the parent process"
    assert t.summary.wall_seconds > 0


def test_a_child_leaves_the_body_in_peace():
    """What it raises is not covered up, and the parent measures on."""
    pid = os.getpid()
    try:
        with toll.track(interval=0.005) as t, t.phase("fork"):
            child = os.fork()
            if child == 0:
                raise SystemExit(7)
            _, status = os.waitpid(child, 0)
            before = t.frame.number if t.frame else 0
            assert another_frame(t).number > before
    except SystemExit as leaving:
        assert os.getpid() != pid
        os._exit(leaving.code)
    assert os.WEXITSTATUS(status) == 7
    assert t.frames[-1].last


def test_marks_of_a_child_are_left_out():
    """Nothing is raised: training goes on in workers that were forked."""

    def mark():
        with t.phase("in the child"), t.phase("and another"):
            taken = [t.event("x"), t.gauge("x", 1)]
        return taken

    with toll.track() as t:
        holding, done = threading.Event(), threading.Event()

        def hold():
            with t._lock:
                holding.set()
                done.wait()

        other = threading.Thread(target=hold)
        other.start()
        holding.wait()
        assert in_child(mark) == "[False, False]"  # also with its lock held by a lost thread
        done.set()
        other.join()
    assert "phases" not in t.summary or t.summary.phases == []


def test_a_child_may_have_its_own():
    def own():
        begin = time.process_time()
        with toll.track() as mine:
            burn(0.05)
        used = time.process_time() - begin
        return f"{mine.summary.target.cpu_seconds.total} {used}"

    with toll.track() as t:
        told, used = map(float, in_child(own).split())
    assert 0.04 < told <= used + 0.01
    assert t.summary.target.cpu_seconds.total >= 0.04


def test_a_child_that_was_waited_for_is_counted_whole():
    """Also if the program did next to nothing after its last sample but wait."""
    for _ in range(20):
        with toll.track() as t:
            child = os.fork()
            if child == 0:
                burn(0.02)
                os._exit(0)
            _, _, used = os.wait4(child, 0)
        cpu = used.ru_utime + used.ru_stime
        # User and system time are cut to whole microseconds: here, before the block and after it. The
        # kernel adds the child's time to its parent's before it reads what wait4 returns, while the
        # child may still be on its way out on another CPU. A child that is not counted is 20 ms.
        counted = t.summary.target.descendants.cpu_seconds.total
        assert cpu - 5e-4 < counted < cpu + 4.1e-6


def work_of_a_worker(seconds):
    burn(seconds)
    return toll.snapshot().cpu_seconds


def test_multiprocessing():
    with toll.track() as t:
        with multiprocessing.get_context("fork").Pool(2) as pool:
            used = pool.map(work_of_a_worker, [0.1] * 4)
            pool.close()
            pool.join()
    assert all(one >= 0.1 for one in used)
    assert t.summary.target.descendants.cpu_seconds.total >= 0.4 - 0.05


def test_a_tracker_nobody_stopped(python):
    """The program ends as it would have; in the middle of a frame, too."""
    script = """
import toll
t = toll.track(interval=0.001).start()
with toll.track() as u: pass
leak = [t]; leak.append(leak)
print("end")
"""
    assert python(script) == "end\n"


def test_exit_in_a_thread(python):
    script = """
import threading, time, toll
t = toll.track(interval=0.001).start()
threading.Thread(target=lambda: list(t), daemon=True).start()
time.sleep(0.05)
print("end")
"""
    assert python(script) == "end\n"


def test_subinterpreters(python):
    pytest.importorskip("_xxsubinterpreters")
    script = """
import toll, _xxsubinterpreters as interpreters
toll.snapshot()
inner = '''
import toll
assert toll.snapshot().cpu_seconds > 0
t = toll._toll.tracker(0, None, None, [], 0, 0, True, False, False, False, 10, False, False, None)
t.add_target(0, None, 0, None)
t.start(); t.finish(); assert t.next_frame(0).cpu_seconds >= 0; t.close()
'''
for _ in range(3):
    one = interpreters.create()
    interpreters.run_string(one, inner)
    interpreters.destroy(one)
assert toll.snapshot().cpu_seconds > 0
print("good")
"""
    assert python(script) == "good\n"


def test_signals_reach_the_program(python):
    """None is taken by the sampler's thread."""
    script = """
import os, signal, toll
got = []
signal.signal(signal.SIGUSR1, lambda *_: got.append(1))
with toll.track(interval=0.001):
    for _ in range(200):
        os.kill(os.getpid(), signal.SIGUSR1)
print(len(got))
"""
    assert python(script) == "200\n"


def test_sys_is_as_it_was():
    with toll.track():  # what the first block loads stays loaded
        pass
    before = sys.getswitchinterval(), len(sys.modules)
    with toll.track():
        pass
    assert (sys.getswitchinterval(), len(sys.modules)) == before
