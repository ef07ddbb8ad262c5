# SPDX-License-Identifier: MIT
"""Every recorded run in every format, byte for byte; and its totals against the truth.

`make golden-update` writes the expected files anew; look at them with git diff.
"""

import json
import pathlib

import packed
import pytest

import recorded

EXPECTED = pathlib.Path(__file__).with_name("expected")
SUFFIXES = (".csv", ".jsonl", ".json", ".txt", ".verbose.txt")

CPU = {
    "cpu_seconds": ("user_us", "system_us"),
    "cpu_user_seconds": ("user_us",),
    "cpu_system_seconds": ("system_us",),
}
COUNTS = {
    "faults_minor": "minflt",
    "faults_major": "majflt",
    "storage_read_bytes": "read_bytes",
    "storage_written_bytes": "write_bytes",
    "storage_cancelled_bytes": "cancelled_write_bytes",
    "io_read_bytes": "rchar",
    "io_written_bytes": "wchar",
    "io_read_calls": "syscr",
    "io_write_calls": "syscw",
}
# What is known only as far as it was seen.
LOSSY = {"auto-reap", "nocldwait"}
ATTACHED = [name for name in recorded.NAMES if (recorded.FIXTURES / name / "targets.json").exists()]
WRITTEN = [name for name in recorded.NAMES if (recorded.FIXTURES / name / "truth.json").exists()]


@pytest.fixture(scope="session")
def outputs(tmp_path_factory):
    """Each run is replayed once, however many tests look at it."""
    kept = {}

    def get(run):
        if run not in kept:
            kept[run] = recorded.outputs(run, tmp_path_factory.mktemp("run"))
        return kept[run]

    return get


def place_of(run, suffix):
    """File and part: what a run gives with other options is in the file of the run, after its own."""
    name = recorded.fixture_of(run).name
    return EXPECTED / f"{name}.txt", f"{run}{suffix}".removeprefix(f"{name}.")


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("run", recorded.RUNS)
def test_as_expected(run, suffix, outputs, request):
    found = outputs(run)[suffix]
    path, part = place_of(run, suffix)
    if request.config.getoption("--update"):
        parts = packed.read(path) if path.exists() else {}
        packed.write(path, parts | {part: found})
    expected = packed.read(path)[part]
    # As text when it can be: pytest shows the lines that differ.
    assert found.decode(errors="backslashreplace") == expected.decode(errors="backslashreplace")
    assert found == expected


def test_nothing_else_is_expected():
    others = {EXPECTED / f"{name}.txt" for name in ("doctor", "layouts", "recommend", "report", "terminals")}
    found = {(path, part) for path in {*EXPECTED.iterdir()} - others for part in packed.read(path)}
    assert found == {place_of(run, suffix) for run in recorded.RUNS for suffix in SUFFIXES}
    assert all(path.exists() for path in others)


@pytest.mark.parametrize("run", recorded.RUNS)
def test_notes_are_said_and_kept(run, outputs):
    notes = json.loads(outputs(run)[".json"])["notes"]
    said = outputs(run)["stderr"].decode(errors="replace").splitlines()
    assert said == [f"toll: {note}" for note in notes]


# ---- The truth ---------------------------------------------------------------------------------


def truth_of(name):
    return json.loads((recorded.FIXTURES / name / "truth.json").read_text())


def whole_target(name, outputs):
    return json.loads(outputs(name)[".json"])["target"]["combined"]


@pytest.mark.parametrize("name", WRITTEN)
def test_cpu_is_conserved(name, outputs):
    truth, target = truth_of(name), whole_target(name, outputs)
    for metric, parts in CPU.items():
        real = sum(truth[part] for part in parts)
        told = round(target[metric]["total"] * 1e6)
        if name in LOSSY:
            assert real - truth["vanished_us"] <= told <= real
            assert told < real or metric != "cpu_seconds"
            assert target[metric]["quality"] == "lower bound"
        elif truth["left"]:
            # Of living processes user and system time are known in hundredths of a second.
            assert real - 20_000 * truth["started"] <= told <= real
        else:
            assert told == real
            assert target[metric]["quality"] == "exact if reaped"


@pytest.mark.parametrize("name", WRITTEN)
def test_counts_are_conserved(name, outputs):
    truth, target = truth_of(name), whole_target(name, outputs)
    for metric, key in COUNTS.items():
        told = target[metric]["total"]
        assert told <= truth[key] if name in LOSSY else told == truth[key], metric


@pytest.mark.parametrize("name", WRITTEN)
def test_processes_and_peak(name, outputs):
    truth, target = truth_of(name), whole_target(name, outputs)
    unseen = 1 if name == "auto-reap" else 0
    assert target["processes_started"]["total"] == truth["started"] - unseen
    assert target["memory_peak_bytes"]["last"] <= truth["peak_kib"] * 1024
    if name not in LOSSY:
        assert target["memory_peak_bytes"]["last"] == truth["peak_kib"] * 1024


@pytest.mark.parametrize("name", ATTACHED)
def test_attached_targets_have_what_they_used(name, outputs):
    summary = json.loads(outputs(name)[".json"])
    truth = json.loads((recorded.FIXTURES / name / "targets.json").read_text())
    series = {t["name"]: t["combined"] for t in summary.get("targets", [])}
    series = series or {next(iter(truth)): summary["target"]["combined"]}
    for target, used in truth.items():
        for metric, parts in CPU.items():
            real = sum(used[part] for part in parts) / 1e6
            assert series[target][metric]["total"] == pytest.approx(real, abs=1e-9), (target, metric)
        for metric, key in COUNTS.items():
            if not key.endswith("flt"):
                assert series[target][metric]["total"] == used[key], (target, metric)


# ---- What must hold of every run ------------------------------------------------------------------


def rows_of(record):
    """(name, figures) of the parts of a target and of the things of the machine."""
    yield from record.get("target", {}).items()
    for key, value in record.items():
        if key == "system":
            yield key, value
        for thing in value if isinstance(value, list) and key != "processes" else ():
            if isinstance(thing, dict) and "name" in thing:
                yield f"{key} {thing['name']}", thing


@pytest.mark.parametrize("run", recorded.RUNS)
def test_counters_never_fall(run, outputs):
    counters = {m["name"] for m in recorded.metrics() if m["kind"] == "counter"}
    before = {}
    for record in recorded.records(outputs(run)[".jsonl"]):
        for part, figures in rows_of(record) if record["type"] == "sample" else ():
            for name, value in figures.items():
                if name in counters and value is not None:
                    assert value >= before.get((part, name), 0), (record["tick"], part, name)
                    before[part, name] = value


@pytest.mark.parametrize("run", recorded.NAMES)
def test_main_and_descendants_make_the_whole(run, outputs):
    summed = {m["name"] for m in recorded.metrics() if m["fold"] in ("sum", "conserved", "kept")}
    for record in recorded.records(outputs(run)[".jsonl"]):
        if record["type"] != "sample":
            continue
        parts = record.get("target", {})
        if "main" not in parts:
            continue
        for name in summed & parts["combined"].keys():
            values = [parts[part][name] for part in ("main", "descendants", "combined")]
            if None not in values:
                main, descendants, combined = values
                assert main + descendants == pytest.approx(combined, abs=1e-9), (record["tick"], name)


@pytest.mark.parametrize("run", recorded.RUNS)
def test_summary_and_last_sample_agree(run, outputs):
    lines = recorded.records(outputs(run)[".jsonl"])
    last = [record for record in lines if record["type"] == "sample"][-1]
    assert lines[-1]["type"] == "summary"
    sampled = dict(rows_of(last))
    for part, figures in rows_of(lines[-1]):
        for name, figure in figures.items():
            if isinstance(figure, dict) and "total" in figure:
                assert figure["total"] == sampled[part][name], (part, name)
    whole = json.loads(outputs(run)[".json"])
    # A record has its size before its own summary, the summary that is written last the final one.
    record = outputs(run)[".jsonl"]
    for output in whole["outputs"]:
        assert output["format"] != "jsonl" or output["bytes"] == len(record)
    for output in whole["outputs"] + lines[-1]["outputs"]:
        output.pop("bytes")
    assert {key: value for key, value in lines[-1].items() if key != "type"} == whole


@pytest.mark.parametrize("run", recorded.RUNS)
def test_a_peak_of_the_kernel_has_no_time(run, outputs):
    """A high-water mark does not say when it was reached, and a figure that was raised to one was
    never seen that high in a sample."""
    lines = recorded.records(outputs(run)[".jsonl"])
    seen = {}
    for record in lines[:-1]:
        for part, figures in rows_of(record) if record["type"] == "sample" else ():
            for name, value in figures.items():
                if isinstance(value, (int, float)):
                    seen[part, name] = max(value, seen.get((part, name), value))
    for part, figures in rows_of(lines[-1]):
        for name, figure in figures.items():
            if isinstance(figure, dict) and "max" in figure:
                was_seen = name != "memory_peak_bytes" and figure["max"] <= seen[part, name]
                if name.endswith("_bytes"):
                    assert ("max_at_seconds" in figure) == was_seen, (part, name)


@pytest.mark.parametrize("run", recorded.NAMES)
def test_a_process_ends_once(run, outputs):
    ends = [
        (record["pid"], record["start_ticks"])
        for record in recorded.records(outputs(run)[".jsonl"])
        if record["type"] == "process"
    ]
    assert len(ends) == len(set(ends))
