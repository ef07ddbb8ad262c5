# SPDX-License-Identifier: MIT
"""Phases, events and gauges: of a tracker, and for the `toll run` around the program."""

import asyncio
import math
import os
import socket
import sys

import pytest
import toll
from conftest import PACKAGE
from work import another_frame, burn



def test_what_was_used_in_a_phase():
    with toll.track(interval=0.005) as t:
        burn(0.05)
        with t.phase("train"):
            another_frame(t)
            burn(0.2)
        another_frame(t)
        burn(0.05)
    phase = t.summary.phase("train")
    # What was used is known at the looks before and behind, which were waited for.
    assert 0.19 <= phase.figures.cpu_seconds.total <= 0.27
    assert phase.total_seconds >= 0.2
    assert [one.name for one in t.summary.phases] == ["train"]
    with pytest.raises(KeyError, match=r"phase 'test': not found \(known phases: train\)"):
        t.summary.phase("test")


def test_phases_end_when_the_body_raises():
    with toll.track() as t:
        with pytest.raises(KeyError), t.phase("outer"), t.phase("inner"):
            raise KeyError
    assert {(one.name, one.count, one.not_ended_count) for one in t.summary.phases} == {
        ("outer", 1, 0),
        ("inner", 1, 0),
    }


def test_a_phase_as_a_decorator():
    with toll.track() as t:

        @t.phase("plain")
        def plain(n):
            return n + 1

        @t.phase("waiting")
        async def waiting(n):
            await asyncio.sleep(0)
            return n + 1

        async def main():
            async with t.phase("block"):
                return await waiting(1)

        assert [plain(1), plain(2), asyncio.run(main())] == [2, 3, 2]
    counts = {one.name: one.count for one in t.summary.phases}
    assert counts == {"plain": 2, "waiting": 1, "block": 1}
    assert plain.__name__ == "plain"


def test_events_and_gauges(tmp_path):
    with toll.track(outputs=tmp_path / "run.jsonl") as t:
        assert t.event("checkpoint", file="a b.pt", step=3) is True
        assert t.event("plain") is True
        assert t.gauge("loss", 0.5) is True
        assert t.gauge("loss", 0.25) is True
    (gauge,) = t.summary.gauges
    assert (gauge.name, gauge.count, gauge.last, gauge.max) == ("loss", 2, 0.25, 0.5)
    text = (tmp_path / "run.jsonl").read_text(encoding="utf-8")
    assert '"checkpoint"' in text and '"a b.pt"' in text


def test_marks_outside_of_the_block_are_not_taken():
    t = toll.track()
    assert t.event("early") is False
    with t, t.phase("long"):
        pass
    phase = t.phase("late")
    with phase:
        assert t.gauge("late", 1) is False


@pytest.mark.parametrize(
    "name, says",
    [
        ("", r"of 0 bytes \(expected 1 to 128\)"),
        ("x" * 129, "of 129 bytes"),
        ("ä" * 65, "of 130 bytes"),
        ("a\nb", "no control characters"),
        ("nul\0inside", "no control characters"),
        ("a\x85b", "no control characters"),
        ("\udc80", "expected UTF-8 text"),
        (5, r"5 \(expected text\)"),
        (b"x", r"b'x' \(expected text\)"),
        (None, r"None \(expected text\)"),
    ],
)
def test_bad_names_raise(name, says):
    with toll.track() as t:
        for mark in (
            t.event,
            t.phase,
            toll.event,
            toll.phase,
            lambda name: t.gauge(name, 1),
            lambda name: toll.gauge(name, 1),
        ):
            with pytest.raises(ValueError, match="mark: invalid name .*" + says):
                mark(name)
    with pytest.raises(ValueError, match="mark: invalid name"):
        t.event(name)  # when nobody listens any more, too


class Silent:
    def __str__(self):
        raise OSError("what it is cannot be said")

    __float__ = __str__


@pytest.mark.parametrize("listens", [True, False])
def test_nothing_else_harms_the_program(listens, monkeypatch, tmp_path):
    """Not what comes with data: it is not taken, and that is all."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "m"))
        monkeypatch.setenv("TOLL_SOCKET", str(tmp_path / ("m" if listens else "nobody")))
        with toll.track() as t:
            for mark in (t, toll):
                for value in (math.nan, math.inf, -math.inf, "much", None, Silent(), 10**400):
                    assert mark.gauge("loss", value) is False
                assert mark.event("x", text="a" * 5000) is False
                assert mark.event("x", text="a\udc80") is False
                assert mark.event("x", text=Silent()) is False
                assert mark.event("x", **{"@time": 1}) is False
                with pytest.raises(ValueError, match="event: invalid attribute 'a=b'"):
                    mark.event("x", **{"a=b": "c"})
            assert t.event("x", **{f"k{i}": i for i in range(40)}) is True
        with pytest.raises(ValueError, match="'='"):
            t.event("x", **{"a=b": "c"})


def test_without_descriptors(python, tmp_path):
    script = f"""
import os, resource, socket, toll
listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listener.bind({str(tmp_path / "m")!r})
os.environ["TOLL_SOCKET"] = {str(tmp_path / "m")!r}
resource.setrlimit(resource.RLIMIT_NOFILE, (20, 4096))
try:
    with toll.phase("p"):
        try:
            while True: os.dup(0)
        except OSError: pass
        raise KeyError("the body's own")
except KeyError as error:
    print(error)
print(toll.event("x"), toll.gauge("x", 1))
"""
    assert python(script) == '"the body\'s own"\nFalse False\n'


def test_lost_marks(monkeypatch, tmp_path):
    """The listener does not keep up."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "m"))
        monkeypatch.setenv("TOLL_SOCKET", str(tmp_path / "m"))
        taken = []
        while not taken or taken[-1]:
            taken.append(toll.event("x"))
        assert taken[-1] is False
        with pytest.raises(KeyError, match="mine"), toll.phase("p"):
            raise KeyError("mine")


def test_a_phase_never_covers_up_what_the_body_raised():
    def broken(*_):
        raise OSError("broken")

    with pytest.raises(KeyError, match="mine"), toll.Phase("p", broken):
        raise KeyError("mine")
    with toll.Phase("p", broken):
        pass


def test_a_phase_does_not_decorate_generators():
    def generator():
        yield 1

    async def asynchronous():
        yield 1

    with toll.track() as t:
        for function in (generator, asynchronous):
            with pytest.raises(TypeError, match="phase: cannot decorate the generator"):
                t.phase("x")(function)
        with pytest.raises(TypeError, match="phase: cannot decorate 5"):
            toll.phase("x")(5)


def test_without_a_toll_run_around(monkeypatch):
    monkeypatch.delenv("TOLL_SOCKET", raising=False)
    assert toll.event("nobody", listens="here") is False
    assert toll.gauge("nobody", 1.5) is False
    with toll.phase("nobody"):
        pass


def test_the_toll_run_around_is_told(tmp_path):
    script = """
import toll, time
with toll.phase("load"):
    end = time.process_time() + 0.2
    while time.process_time() < end: pass
assert toll.event("saved", path="model.pt")
assert toll.gauge("loss", 0.5)
"""
    done = toll.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(PACKAGE)},
        outputs=tmp_path / "run.jsonl",
        interval=0.01,
        check=True,
    )
    assert 0.15 <= done.summary.phase("load").figures.cpu_seconds.total <= 0.4
    assert done.summary.gauges[0].last == 0.5
    assert "model.pt" in (tmp_path / "run.jsonl").read_text(encoding="utf-8")
