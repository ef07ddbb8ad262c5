# SPDX-License-Identifier: MIT
"""@tracked: functions of both kinds, nested, in threads."""

import asyncio
import inspect
import threading

import pytest
import toll
from work import burn


def test_a_function():
    @toll.tracked
    def work(seconds, *, result):
        """Does it."""
        burn(seconds)
        return result

    assert work.last is None
    assert work(0.05, result=7) == 7
    assert work.last.summary.target.cpu_seconds.total >= 0.048
    assert work.last.summary.name == "test_a_function.<locals>.work"
    assert (work.__name__, work.__doc__) == ("work", "Does it.")
    assert list(inspect.signature(work).parameters) == ["seconds", "result"]


def test_options_and_a_callback():
    done = []

    @toll.tracked(name="job", on_done=done.append, interval=0.01, labels={"a": "b"})
    def work():
        burn(0.02)

    work()
    work()
    assert len(done) == 2
    assert done[-1] is work.last
    assert done[0].summary.name == "job"
    assert done[0].summary.to_dict()["interval_seconds"] == 0.01


def test_one_that_raises():
    done = []

    @toll.tracked(on_done=done.append)
    def work():
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        work()
    assert work.last is done[0]
    assert work.last.summary.wall_seconds > 0


def test_an_asynchronous_function():
    @toll.tracked
    async def work(seconds):
        await asyncio.sleep(seconds)
        return "done"

    assert inspect.iscoroutinefunction(work)
    assert asyncio.run(work(0.05)) == "done"
    assert work.last.summary.wall_seconds >= 0.05


def test_a_method():
    class Job:
        @toll.tracked
        def work(self, n):
            return self, n

    job = Job()
    assert job.work(3) == (job, 3)
    assert Job.work.last.summary.name.endswith("Job.work")


def test_recursion_and_threads():
    done = []

    @toll.tracked(on_done=done.append)
    def work(depth):
        if depth:
            work(depth - 1)

    work(3)
    assert len(done) == 4
    assert work.last is done[-1]
    walls = [t.summary.wall_seconds for t in done]
    assert walls == sorted(walls)  # the inner ones end first
    threads = [threading.Thread(target=work, args=(2,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 4 + 4 * 3


def test_generators_are_refused():
    def generator():
        yield 1

    async def asynchronous():
        yield 1

    for function in (generator, asynchronous):
        for decorate in (toll.tracked, toll.tracked(name="x")):
            with pytest.raises(TypeError, match="toll.tracked: cannot decorate the generator '.*': its"):
                decorate(function)
    for wrong in (5, "name"):
        with pytest.raises(TypeError, match=f"toll.tracked: cannot decorate {wrong!r}"):
            toll.tracked(wrong)


def test_an_output_that_fails(tmp_path):
    (tmp_path / "full.csv").symlink_to("/dev/full")

    @toll.tracked(outputs=tmp_path / "full.csv")
    def work():
        return 7

    @toll.tracked(outputs=tmp_path / "full.csv")
    async def wait():
        return 8

    with pytest.warns(RuntimeWarning, match="output incomplete: .*full.csv") as told:
        assert work() == 7
    assert [one.filename for one in told] == [__file__]
    with pytest.warns(RuntimeWarning, match="output incomplete: .*full.csv"):
        assert asyncio.run(wait()) == 8
    assert any("full.csv" in note for note in work.last.summary.notes)
