# SPDX-License-Identifier: MIT
"""Summary: attributes, names of columns, texts."""

import copy
import json
import os
import pathlib
import pickle
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

import hostlib
import pytest
import toll

TOP = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def summary():
    with toll.track(name='a <b> & "c"') as t:
        sum(range(1000000))
    return t.summary


def sign_of_peak(summary):
    return "≥ " if summary.quality("peak_memory") == "lower bound" else ""


def test_attributes(summary):
    document = summary.to_dict()
    assert summary.name == document["name"]
    assert summary.wall_seconds == document["wall_seconds"]
    cpu = document["target"]["combined"]["cpu_seconds"]
    assert summary.target.cpu_seconds.total == cpu["total"]
    assert summary.target.cpu_seconds.quality == cpu["quality"]
    assert summary.target.cpu_seconds.from_ == cpu["from"]
    assert summary.target.cpu_seconds.mean is None
    assert summary.target.main.cpu_seconds.to_dict() == document["target"]["main"]["cpu_seconds"]
    assert summary.limits.cpus.value == document["limits"]["cpus"]["value"]
    assert summary.end.status == "running"
    assert summary.targets == []
    with pytest.raises(AttributeError, match="nonsense: not in this summary"):
        summary.nonsense
    with pytest.raises(AttributeError, match="peak_memry: not in this summary; did you mean: peak_memory$"):
        summary.peak_memry
    with pytest.raises(AttributeError, match="did you mean: target.memory_rss_bytes$"):
        summary.memory_rss_bytes
    assert len(dir(summary)) == len(set(dir(summary)))
    with pytest.raises(AttributeError, match="sum"):
        summary.target.cpu_seconds.sum
    assert summary.target.cpu_seconds.name == "cpu_seconds"
    assert isinstance(summary.target, type(summary.target.main))
    with pytest.raises(AttributeError, match=r"system: not in this summary \(measured with system=True"):
        summary.system


def test_answers(summary):
    """The attributes that people try first."""
    figures = summary.target
    assert summary.cpu_seconds == figures.cpu_seconds.total
    assert summary.cpu_user_seconds == figures.cpu_user_seconds.total
    assert summary.cpu_system_seconds == figures.cpu_system_seconds.total
    assert summary.cpu_cores == figures.cpu_cores.mean
    assert summary.peak_memory >= figures.memory_rss_bytes.max > 1 << 20
    assert isinstance(summary.peak_memory, int)
    assert summary.read_bytes == figures.storage_read_bytes.total
    assert summary.written_bytes == figures.storage_written_bytes.total
    assert summary.processes_started == 1
    assert (summary.exit_code, summary.signal, summary.energy_joules) == (None, None, None)
    assert (summary.command, summary.name) == ([], 'a <b> & "c"')
    assert summary.quality("cpu_seconds") == figures.cpu_seconds.quality
    # A block of a few milliseconds on a busy machine: samples may be late, and the peak between them unseen.
    assert summary.quality("peak_memory") in ("sampled", "lower bound")
    assert summary.quality("memory_swap_bytes") == figures.memory_swap_bytes.quality
    assert summary.quality("main_threads") == figures.main.threads.quality
    assert summary.quality("wall_seconds") == "exact"
    assert summary.quality("written_bytes") == figures.storage_written_bytes.quality
    with pytest.raises(KeyError, match="figure 'nonsense': not found"):
        summary.quality("nonsense")


def test_answers_of_a_command():
    done = toll.run(["sh", "-c", "sleep 0.1; exit 3"])
    assert (done.summary.exit_code, done.summary.signal) == (3, None)
    assert done.summary.peak_memory > 1 << 18
    assert re.fullmatch(r"<Completed sh -c sleep 0.1; exit 3: exit 3 in \d+ ms, .* CPU, .* peak>", repr(done))
    assert repr(done.summary).startswith("<Summary sh -c sleep 0.1; exit 3: exit 3, ")
    done = toll.run(["sh", "-c", "kill -9 $$"])
    assert (done.summary.exit_code, done.summary.signal) == (None, 9)
    assert "killed by signal 9" in repr(done)
    assert pickle.loads(pickle.dumps(done)).summary == done.summary


def test_unknown_is_none_and_never_raises():
    with toll.track(metrics="threads") as t:
        pass
    assert (t.summary.cpu_seconds, t.summary.peak_memory, t.summary.read_bytes) == (None, None, None)
    assert t.summary.quality("peak_memory") == "unknown"
    assert t.summary.quality("cpu_seconds") == "unknown"
    assert repr(t.summary).endswith(": CPU unknown, memory unknown>")
    with pytest.raises(AttributeError, match="cpu_seconds: not in this summary"):
        t.summary.target.cpu_seconds
    assert "unknown" in t.summary._repr_html_()


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"name": None, "wall_seconds": None},
        {"name": "x", "wall_seconds": "soon", "end": None, "target": None},
        {"target": {"combined": {"cpu_seconds": {"total": "much"}}}, "wall_seconds": 1},
        {"attached_to": 5, "command": 7},
        {"phases": [{}], "gpus": [{"memory_used_bytes": 5}], "wall_seconds": 1, "notes": [None]},
    ],
)
def test_reprs_never_raise(document):
    """A document may come from a file that another program has written."""
    shown = toll.Summary(document)
    assert repr(shown).startswith("<Summary")
    assert str(shown)
    assert shown._repr_html_().startswith("<div>")
    assert repr(toll.Figure({"total": "much", "quality": 5}, "cpu_seconds")).startswith("<Figure")


def test_wrong_arguments_are_refused():
    for kind in (toll.Summary, toll.Figure):
        with pytest.raises(TypeError, match=f"{kind.__name__}: invalid values 5"):
            kind(5)


def test_names_of_columns(summary):
    assert summary["target_cpu_seconds"] == summary.target.cpu_seconds
    assert summary["main_threads"] == summary.target.main.threads
    assert summary["self_ticks"].total >= 1
    assert summary["wall_seconds"] == summary.wall_seconds
    with pytest.raises(KeyError, match="not found"):
        summary["system_cpu_cores"]
    with pytest.raises(KeyError, match="not found"):
        summary["disk.nowhere.read_bytes"]


def test_copies_and_equality(summary):
    changed = summary.to_dict()
    changed["target"]["combined"]["cpu_seconds"]["total"] = -1
    assert summary.target.cpu_seconds.total >= 0
    assert summary != toll.Summary(changed)
    again = pickle.loads(pickle.dumps(summary))
    assert (again == summary, str(again)) == (True, str(summary))
    assert copy.deepcopy(summary) == summary
    assert pickle.loads(pickle.dumps(summary.target.cpu_seconds)) == summary.target.cpu_seconds


def test_texts(summary):
    assert str(summary).startswith("toll: ")
    assert "\n  CPU  " in str(summary) and "\n  Memory  " in str(summary)
    assert re.fullmatch(rf'<Summary a <b> & "c": [\d.]+ [mµ]?s CPU, {sign_of_peak(summary)}[\d.]+ MiB peak>', repr(summary))


def test_reprs_of_figures(summary):
    number = r"(≥ )?[\d.,]+( [µm]?s| [KMG]?i?B)?"
    assert re.fullmatch(rf"<Figure cpu_seconds: {number} total, sampled>", repr(summary.target.cpu_seconds))
    assert re.fullmatch(
        rf"<Figure memory_rss_bytes: {number} peak, {number} mean, sampled>",
        repr(summary.target.memory_rss_bytes),
    )
    assert repr(summary["target_cpu_seconds"]) == repr(summary.target.cpu_seconds)
    unknown = toll.Figure({"quality": "unknown", "from": ""}, "memory_pss_bytes")
    assert repr(unknown) == "<Figure memory_pss_bytes: unknown>"
    bound = toll.Figure({"total": 271, "quality": "lower bound"}, "cpu_seconds")
    assert repr(bound) == "<Figure cpu_seconds: ≥ 4m 31s total, lower bound>"
    assert re.fullmatch(rf"<Target: {number} CPU, {number} peak>", repr(summary.target))
    assert re.fullmatch(rf"<TargetFigures: {number} CPU, {number} peak>", repr(summary.target.main))
    assert repr(summary.end).startswith("<Values: status='running', code=None")


def test_reprs_of_processes_and_phases():
    with toll.track(interval=0.01) as t:
        with t.phase("load"):
            subprocess.run([sys.executable, "-c", "import time; time.sleep(0.2)"], check=True)
    (phase,) = t.summary.phases
    assert re.fullmatch(r"<PhaseUsage load: [\d.]+ m?s, .* CPU, .* peak>", repr(phase))
    assert phase.figures.cpu_seconds.total == phase.cpu_seconds
    assert phase.peak_memory > 1 << 20
    largest = t.summary.largest_processes
    assert {one.pid for one in largest} > {os.getpid()}
    # Marked as in the text: last read while it lived, a figure may have grown.
    for one in [*largest, t.summary.programs[0]]:
        assert re.fullmatch(r"<(Process \d+|Program) .*: .* CPU, ≥ .* peak>", repr(one))
        assert (": ≥ " in repr(one)) == (not one.to_dict()["complete"] and one.cpu_seconds > 0)
    page = t.summary._repr_html_()
    assert all(f"<td>{cell}</td>" in re.sub(r"<td [^>]*>", "<td>", page) for p in largest for cell in p._texts())
    assert re.fullmatch(r"<Program .* × \d: .*>", repr(t.summary.programs[0]))
    assert [pickle.loads(pickle.dumps(one)) for one in largest] == largest


def test_a_tracker_shows_its_results():
    t = toll.track()
    assert repr(t) == "<Track not started>"
    with t:
        assert re.fullmatch(r"<Track running for [\d.]+ [µm]?s: (.* CPU, .* peak|CPU unknown, memory unknown)>", repr(t))
    assert re.fullmatch(r"<Track stopped after [\d.]+ [µm]?s: .* CPU, .* peak>", repr(t))
    with pytest.raises(TypeError, match="track: a tracker cannot be pickled"):
        pickle.dumps(t)


def rows_of(page):
    """The cells of each row, by the first of them."""
    rows = [["".join(cell.itertext()) for cell in row] for row in page.iter("tr")]
    return {row[0]: row[1:] for row in rows}


def test_html(summary):
    page = xml.fromstring(summary._repr_html_())
    rows = rows_of(page)
    assert page.find("div/b").text == 'a <b> & "c"'
    assert re.match(r"[\d.]+ (s|ms|µs)$", rows["CPU"][0])
    assert re.match(rf"{sign_of_peak(summary)}[\d.]+ MiB at peak$", rows["Memory"][0])
    assert rows["CPU time"][2] == summary.target.cpu_seconds.quality
    assert re.match(r"[\d.]+ MiB$", rows["resident memory (RSS)"][0])
    bound = next(cells for cells in rows.values() if cells[2:] == ["lower bound"])
    assert bound[0].startswith("≥ ")
    assert "#" not in summary._repr_html_()  # no colour but that of the page


FIGURE = {"total": 5000.0, "quality": "exact"}
GPU = {
    "utilization_ratio": {"mean": 0.5, "max": 0.9, "quality": "sampled"},
    "memory_used_bytes": {"mean": 1 << 30, "max": 3 << 30, "quality": "sampled"},
    "memory_total_bytes": {"mean": 8 << 30, "max": 8 << 30, "quality": "sampled"},
    "power_watts": {"mean": 250.0, "max": 300.0, "quality": "sampled"},
    "energy_joules": FIGURE,
}


def document_with(**more):
    return {
        "name": "",
        "command": ["x", "<y>"],
        "wall_seconds": 0.5,
        "notes": [],
        "labels": {},
        "target": {"combined": {"cpu_seconds": {"quality": "unknown", "from": ""}}},
        **more,
    }


def test_html_marks_lower_bounds():
    bound = {"total": 3.0, "quality": "lower bound"}
    combined = {"processes_started": bound, "storage_read_bytes": {"total": 512.0, "quality": "exact"},
                "storage_written_bytes": bound}
    phase = {"name": "load", "count": 1, "total_seconds": 2.0, "figures": {"cpu_seconds": bound}}
    document = document_with(target={"combined": combined}, phases=[phase])
    rows = rows_of(xml.fromstring(toll.Summary(document)._repr_html_()))
    assert rows["load"] == ["2.00 s", "≥ 3.00 s", "unknown"]
    assert rows["Processes"][0] == "≥ 3"
    assert rows["Disk"][0] == "512 B read, ≥ 3 B written"


def test_html_of_gpus_phases_and_energy():
    phase = {
        "name": "train",
        "count": 2,
        "total_seconds": 61.0,
        "figures": {"cpu_seconds": {"total": 30.0, "quality": "exact"}},
    }
    document = document_with(
        gpus=[{"name": "nvidia0", **GPU}, {"name": "nvidia1"}],
        phases=[phase],
        run_joules={"gpu": 5000.0, "processor": None, "total": None},
    )
    rows = rows_of(xml.fromstring(toll.Summary(document)._repr_html_()))
    assert rows["nvidia0"] == ["50.0 %", "3.00 GiB of 8.00 GiB", "250 W", "5.00 kJ"]
    assert rows["nvidia1"] == ["unknown"] * 4
    assert rows["train × 2"] == ["1m 01s", "30.0 s", "unknown"]
    assert rows["Energy"][0] == "5.00 kJ GPUs"
    many = document_with(gpus=[{"name": f"gpu{i}", **GPU} for i in range(20)])
    assert "4 more" in toll.Summary(many)._repr_html_()


def test_html_of_hostile_names():
    """Whatever a name holds, it is text: nothing runs, nothing moves."""
    bad = "<script>alert(1)</script>\"'><img src=x onerror=y>\x1b[31m\u202e\0"
    document = document_with(
        name=bad,
        command=[bad],
        gpus=[{"name": bad, **GPU}],
        phases=[{"name": bad, "count": 1, "total_seconds": 1, "figures": {}}],
        largest_processes=[
            {"pid": pid, "name": bad, "command": bad, "cpu_time_seconds": 1, "peak_rss_bytes": None}
            for pid in (1, 2)
        ],
        notes=[bad],
    )
    document["target"]["combined"][bad] = FIGURE
    page = toll.Summary(document)._repr_html_()
    tags = {element.tag for element in xml.fromstring(page).iter()}
    assert tags <= set("div b span table thead tbody tr th td details summary ul li".split())
    assert all(set(e.attrib) <= {"style", "title"} for e in xml.fromstring(page).iter())
    assert not set("\x1b\u202e\0") & set(page)
    assert not set("\x1b\u202e\0\n") & set(repr(toll.Summary(document)))


def test_html_of_what_is_not_known():
    page = toll.Summary(document_with(notes=["a <note>"]))._repr_html_()
    assert ">unknown</td>" in page and ">0" not in page
    assert "x &lt;y&gt;" in page and "a &lt;note&gt;" in page


def test_the_document_follows_the_schema(summary):
    jsonschema = hostlib.module("jsonschema")
    schema = json.loads((TOP / "docs/schema/summary.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(summary.to_dict())


def test_metrics():
    table = toll.metrics()
    cpu = next(one for one in table if (one.entity, one.name) == ("process", "cpu_seconds"))
    assert (cpu.kind, cpu.unit) == ("counter", "seconds")
    assert cpu.title == "CPU time"
