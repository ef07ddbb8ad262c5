# SPDX-License-Identifier: MIT
"""Plots of frames: what is drawn are the frames, with matplotlib and without."""

import pickle
import sys
import time
import xml.etree.ElementTree as xml

import hostlib
import pytest
import toll
from work import frames

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def tracked():
    with toll.track(interval=0.005, name="a $b <c>") as t:
        held = bytearray(30_000_000)
        frames(t, 20)
        held += bytearray(30_000_000)
        end = time.process_time() + 0.15  # enough for a rate
        while time.process_time() < end:
            pass
        frames(t, 5)
    return t


@pytest.fixture
def no_matplotlib(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)


def series(plot, chart, metric):
    found = next(one for one in plot.to_dict()["charts"] if one["name"] == chart)
    return next(one for one in found["series"] if one["metric"] == metric)


def test_the_curve_is_that_of_the_frames(tracked):
    plot = tracked.frames.plot("memory", backend="svg")
    drawn = series(plot, "memory", "memory_rss_bytes")
    seen = [f for f in tracked.frames if f.interval_seconds and f.memory_rss_bytes is not None]
    peak = max(seen, key=lambda frame: frame.memory_rss_bytes)
    assert drawn["peak"] == peak.memory_rss_bytes
    assert drawn["peak_at_seconds"] == pytest.approx(peak.elapsed_seconds)
    known = [value for value in drawn["max"] if value is not None]
    assert max(known) == peak.memory_rss_bytes
    assert min(v for v in drawn["min"] if v is not None) == min(f.memory_rss_bytes for f in seen)
    length = len(drawn["mean"]) * drawn["column_seconds"]
    assert tracked.frames[-1].elapsed_seconds <= length < tracked.frames[-1].elapsed_seconds * 2 + 1
    assert plot.to_dict()["samples"] == len(tracked.frames)


def test_cores_are_those_that_were_used(tracked):
    drawn = series(tracked.frames.plot("cpu"), "cpu", "cpu_cores")
    seconds = sum(value for value in drawn["mean"] if value is not None) * drawn["column_seconds"]
    # The last window may be too short for a rate, and the process ran before its first sample.
    assert 0.1 < seconds <= tracked.summary.cpu_seconds * 1.05 + 0.02


def test_svg_without_matplotlib(tracked, no_matplotlib, tmp_path):
    plot = tracked.summary.plot()
    assert plot.figure is None
    assert plot.charts == ["cpu", "memory"]
    assert repr(plot) == f"<Plot cpu, memory: {len(tracked.frames)} samples>"
    document = xml.fromstring(plot._repr_svg_())
    assert document.tag == SVG + "svg"
    assert len(document.findall(SVG + "svg")) == 2
    assert document.findall(f".//{SVG}polyline")
    assert "allowed: " in plot.svg
    assert plot._repr_html_().startswith('<img alt="Charts: cpu, memory"')
    assert plot._repr_png_() is None
    plot.save(tmp_path / "run.svg")
    assert (tmp_path / "run.svg").read_text(encoding="utf-8") == plot.svg
    with pytest.raises(ValueError, match="save: cannot write '.*run.png': expected .svg"):
        plot.save(tmp_path / "run.png")
    with pytest.raises(TypeError, match="save: dpi: "):
        plot.save(tmp_path / "run.svg", dpi=100)
    with pytest.raises(ImportError, match="plot: matplotlib is not installed"):
        tracked.frames.plot(backend="matplotlib")


def test_matplotlib(tracked, tmp_path):
    hostlib.module("matplotlib")
    plot = tracked.summary.plot("memory", "processes")
    axes = plot.figure.axes
    assert [ax.get_title(loc="left") for ax in axes] == ["Memory", "Processes and threads"]
    assert axes[0].get_ylabel() == "MiB"
    drawn = series(plot, "memory", "memory_rss_bytes")
    line = next(one for one in axes[0].lines if one.get_label() == "RSS")
    shown = [value for value in line.get_ydata() if value == value]
    assert shown == pytest.approx([v / 2**20 for v in drawn["mean"] if v is not None])
    assert plot._repr_png_().startswith(b"\x89PNG")
    assert plot._repr_html_() is None and plot._repr_svg_() is None
    plot.save(tmp_path / "run.png", dpi=50)
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")
    assert "matplotlib.pyplot" not in sys.modules
    assert tracked.frames.plot(backend="svg").figure is None


def test_charts_without_figures_are_left_out(tracked):
    assert tracked.frames.plot("gpu", "memory", backend="svg").charts == ["memory"]
    empty = tracked.frames.plot("gpu", backend="svg")
    assert empty.charts == [] and "no samples" in empty.svg
    assert repr(empty).startswith("<Plot no samples")
    assert toll.Frames().plot(backend="svg").charts == []


def test_the_machine():
    with toll.track(interval=0.005, system=True) as t:
        frames(t, 3)
    assert t.frames.plot("machine_memory", backend="svg").charts == ["machine_memory"]
    limit = series(t.frames.plot("machine_memory"), "machine_memory", "memory_used_bytes")["peak"]
    assert limit == max(f["system_memory_used_bytes"] for f in t.frames if f.interval_seconds)


def test_mistakes(tracked):
    with pytest.raises(ValueError, match=r"charts: unknown chart 'gpus' \(expected cpu, memory, disk, "):
        tracked.frames.plot("gpus")
    with pytest.raises(ValueError, match="backend: invalid value 'plotly'"):
        tracked.frames.plot(backend="plotly")
    with pytest.raises(TypeError, match=r"frame: invalid value 1 \(expected a toll.Frame\)"):
        toll.Frames([1]).plot()
    with pytest.raises(ValueError, match="plot: this summary has no samples"):
        pickle.loads(pickle.dumps(tracked.summary)).plot()
    with toll.track(history=0) as t:
        pass
    with pytest.raises(ValueError, match="plot: this summary has no samples"):
        t.summary.plot()


def test_frames_are_a_list(tracked):
    assert isinstance(tracked.frames, list)
    assert isinstance(tracked.frames[1:3], toll.Frames)
    assert isinstance(tracked.frames[0], toll.Frame)
    copy = pickle.loads(pickle.dumps(tracked.frames))
    assert isinstance(copy, toll.Frames)
    assert copy.plot("memory", backend="svg").svg == tracked.frames.plot("memory", backend="svg").svg
    assert repr(tracked.frames).startswith(f"<Frames: {len(tracked.frames)}, up to ")
    assert repr(toll.Frames()) == "<Frames: none>"


def test_a_summary_can_be_drawn_while_it_runs():
    with toll.track(interval=0.005) as t:
        frames(t, 3)
        assert t.summary.plot("memory", backend="svg").charts == ["memory"]


def test_matplotlib_is_not_imported_before_it_is_needed(python):
    assert python("import sys, toll; toll.Frames; print('matplotlib' in sys.modules)") == "False\n"
