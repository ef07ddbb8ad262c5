# SPDX-License-Identifier: MIT
"""Frames: kept ones, live ones, as dictionaries and tables."""

import asyncio
import copy
import os
import pickle
import re
import signal
import sys
import threading
import time

import hostlib
import pytest
import toll
from work import frames


def test_frames_are_in_order_and_complete():
    with toll.track(interval=0.01) as t:
        time.sleep(0.2)
    numbers = [frame.number for frame in t.frames]
    assert numbers == list(range(len(numbers)))
    assert t.dropped == 0
    assert [frame.last for frame in t.frames] == [False] * (len(numbers) - 1) + [True]
    times = [frame.elapsed_seconds for frame in t.frames]
    assert times == sorted(times)
    assert t.frame.number == numbers[-1]
    assert list(t) == t.frames


def test_history_keeps_the_last():
    with toll.track(interval=0.002, history=4) as t:
        frames(t, 6)
    assert len(t.frames) == 4
    assert t.frames[-1].last
    assert t.dropped == t.frames[0].number > 0


def test_no_history():
    with toll.track(interval=0.002, history=0) as t:
        assert frames(t, 2) is not None
    assert t.frames == []
    assert t.frame.last
    assert t.dropped == t.frame.number + 1
    with pytest.raises(ValueError, match="history: no frames are kept"):
        next(iter(t))


def test_iteration_ends_with_the_tracker():
    with toll.track(interval=0.005) as t:
        seen = []
        readers = [threading.Thread(target=lambda: seen.append(list(t))) for _ in range(2)]
        for reader in readers:
            reader.start()
        time.sleep(0.1)
    for reader in readers:
        reader.join(10)
        assert not reader.is_alive()
    assert seen == [t.frames, t.frames]


def test_iteration_while_it_runs():
    with toll.track(interval=0.005) as t:
        for frame in t:
            if frame.number == 5:
                break
        assert t.running
        assert frame.elapsed_seconds > 0


def test_asynchronous_iteration():
    async def main():
        async with toll.track(interval=0.005) as t:

            async def read():
                return [frame.number async for frame in t]

            reading = asyncio.ensure_future(read())
            await asyncio.sleep(0.1)
        return t, await reading

    t, numbers = asyncio.run(main())
    assert numbers == [frame.number for frame in t.frames]


def test_an_interrupt_is_heard_while_waiting():
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt), toll.track(interval=60) as t:
        for _ in t:
            pass
    assert time.monotonic() - begin < 30
    assert t.summary.wall_seconds >= 0.1


def test_access_to_figures():
    with toll.track(interval=0.01) as t:
        frames(t, 3)
    frame = t.frames[2]
    assert frame.memory_rss_bytes == frame["target_memory_rss_bytes"] > 1 << 20
    assert isinstance(frame.memory_rss_bytes, int)
    assert isinstance(frame.cpu_seconds, float)
    row = frame.rows[0]
    assert (row.entity, row.part, row.name, row.pid) == ("target", "combined", "", None)
    assert row.memory_rss_bytes == row["memory_rss_bytes"] == frame.memory_rss_bytes
    assert set(frame.keys()) == set(frame.to_dict()) > {"target_cpu_seconds", "self_cpu_seconds"}
    assert dict(row)["threads"] == frame.threads
    with pytest.raises(KeyError):
        frame["target_nonsense"]
    with pytest.raises(KeyError):
        frame["nonsense"]
    with pytest.raises(AttributeError):
        frame.nonsense
    with pytest.raises(AttributeError, match="figure 'memory_available_bytes': not a figure of target"):
        frame.memory_available_bytes
    with pytest.raises(TypeError):
        frame[3]
    with pytest.raises(TypeError, match="cannot be created directly"):
        toll.Frame()


def test_unknown_is_none():
    with toll.track(memory="rss", interval=0.01) as t:
        time.sleep(0.03)
    assert t.frame.memory_pss_bytes is None
    assert t.frame["target_memory_pss_bytes"] is None
    figure = t.summary.target.memory_pss_bytes
    assert (figure.max, figure.value, figure.quality) == (None, None, "unknown")


def test_columns_are_those_of_csv(tmp_path):
    with toll.track(interval=0.01, outputs=tmp_path / "run.csv") as t:
        time.sleep(0.05)
    header = (tmp_path / "run.csv").read_text().splitlines()[0].split(",")
    known = {name for frame in t.frames for name in frame.to_dict()}
    assert set(header[3:]) <= known


def test_rows_of_processes():
    with toll.track(processes="all", interval=0.01) as t:
        frames(t, 2)
    processes = [row for row in t.frames[1].rows if row.entity == "process"]
    assert [row.pid for row in processes] == [os.getpid()]
    assert processes[0].parent == os.getppid()
    assert processes[0].memory_rss_bytes > 1 << 20


def test_without_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with toll.track() as t:
        pass
    with pytest.raises(ImportError, match=r"to_pandas: pandas is not installed"):
        t.to_pandas()


def test_with_pandas():
    pandas = hostlib.module("pandas")
    with toll.track(interval=0.01) as t:
        time.sleep(0.05)
    table = t.to_pandas()
    assert len(table) == len(t.frames)
    assert table.index.name == "time"
    assert isinstance(table.index, pandas.DatetimeIndex)
    assert list(table.index) == [pandas.Timestamp(f.time_ns, unit="ns", tz="UTC") for f in t.frames]
    assert list(table["target_cpu_seconds"]) == [f.cpu_seconds for f in t.frames]
    assert {kind.kind for kind in table.dtypes} <= set("if"), "numbers, also where nothing is known"
    assert table["target_network_sent_bytes"].isna().all()


def test_reprs_show_figures():
    with toll.track(interval=0.01, processes="all", system=True) as t:
        frames(t, 3)
    number = r"[\d.,]+ ([µm]?s|[KMG]?i?B)"
    frame = t.frames[2]
    assert re.fullmatch(rf"<Frame 2 after {number}: {number} CPU, {number} RSS>", repr(frame))
    shown = {repr(row).partition(":")[0]: repr(row) for row in frame.rows}
    assert re.fullmatch(rf"<Row target main: {number} CPU, {number} RSS>", shown["<Row target main"])
    assert re.fullmatch(rf"<Row system: {number} CPU, {number} memory used>", shown["<Row system"])
    assert any(re.match(rf"<Row process {os.getpid()} '.*$", head) for head in shown)
    assert re.fullmatch(rf"<Frame: {number} CPU, {number} RSS>", repr(toll.snapshot()))
    only = repr(toll.snapshot(metrics="memory_rss_bytes"))
    assert re.fullmatch(rf"<Frame( 1 after {number})?: {number} RSS>", only)
    assert repr(toll.snapshot(metrics="memory_pss_bytes")).endswith(": no known figures>")


def same(frame, other):
    assert type(other) is toll.Frame
    facts = ("number", "time_ns", "elapsed_seconds", "interval_seconds", "missed", "dropped", "last")
    assert [getattr(frame, fact) for fact in facts] == [getattr(other, fact) for fact in facts]
    assert frame.to_dict() == other.to_dict()
    assert [repr(row) for row in frame.rows] == [repr(row) for row in other.rows]
    assert [row.to_dict() for row in frame.rows] == [row.to_dict() for row in other.rows]


def test_frames_can_be_pickled():
    with toll.track(interval=0.01, processes="all", system=True) as t:
        frames(t, 3)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        same(t.frames[1], pickle.loads(pickle.dumps(t.frames[1], protocol)))
    for one, other in zip(t.frames, pickle.loads(pickle.dumps(t.frames))):
        same(one, other)
    frame = t.frames[0]
    assert copy.copy(frame) is copy.deepcopy(frame) is frame
    row = frame.rows[1]
    again = pickle.loads(pickle.dumps(row))
    assert (repr(again), dict(again), again.pid) == (repr(row), dict(row), row.pid)
    assert copy.deepcopy(row) is row
    # A translator takes a frame that came from elsewhere.
    rows = [list(toll.Translator("resource-tracker").translate(many))
            for many in (t.frames, pickle.loads(pickle.dumps(t.frames)))]
    assert rows[0] == rows[1]


def test_frames_cross_processes(python):
    script = """
import concurrent.futures, multiprocessing, os, toll
spawn = multiprocessing.get_context("spawn")
with concurrent.futures.ProcessPoolExecutor(1, mp_context=spawn) as pool:
    there = pool.submit(toll.snapshot, os.getpid()).result()
    print(there.memory_rss_bytes > 1 << 20, there["target_threads"] >= 1)
    print(pool.submit(repr, there).result() == repr(there))
"""
    assert python(script) == "True True\nTrue\n"


def test_damaged_pickles_are_refused():
    make, (good,) = toll.snapshot().__reduce__()
    for cut in range(len(good)):
        with pytest.raises(ValueError, match="^packed frame: "):
            make(good[:cut])
    for i in range(len(good)):
        try:
            made = make(good[:i] + bytes([good[i] ^ 0x81]) + good[i + 1 :])
        except ValueError:
            continue
        assert repr(made) and made.rows is not None and made.to_dict() is not None
    with pytest.raises(ValueError, match=r"unknown version \(expected 1\)"):
        make(good.replace(b"frame 1", b"frame 2", 1))
    with pytest.raises(TypeError):
        make("text")
    with pytest.raises(ValueError, match="the frame has 1 rows"):
        toll._toll.frame_row(toll.snapshot(), 1)
    for number in (-1, 1 << 40):
        with pytest.raises(ValueError):
            toll._toll.frame_row(toll.snapshot(), number)
    with pytest.raises(TypeError):
        toll._toll.frame_row(None, 0)
    with pytest.raises(TypeError):
        toll.Frame.__reduce__(None)


def test_numbers_as_people_read_them():
    text = toll._toll.number_text
    assert (text(271, "seconds"), text(None, "bytes"), text(1 << 30, "bytes")) == (
        "4m 31s", "unknown", "1.00 GiB")
    with pytest.raises(ValueError, match="unit 'x': unknown"):
        text(1, "x")
    with pytest.raises(TypeError):
        text("1", "bytes")
