# SPDX-License-Identifier: MIT
"""What holds of each format, whatever the figures: schemas, columns, and names from the table."""

import csv
import io
import json
import re

import hostlib
import pytest

import recorded

jsonschema = hostlib.module("jsonschema")

SCHEMAS = recorded.TOP / "docs/schema"
ENTITIES = {m["entity"] for m in recorded.metrics()}
NAMES_OF = {
    entity: {m["name"] for m in recorded.metrics() if m["entity"] == entity} for entity in ENTITIES
}
# The keys of things of the machine and their entity; words that are no figures.
THINGS = {
    "cores": "core",
    "disks": "disk",
    "mounts": "mount",
    "netifs": "netif",
    "sensors": "sensor",
    "rapl": "rapl",
    "gpus": "gpu",
    "cgroups": "cgroup",
    "cgroup_disks": "cgroup_disk",
    "threads": "thread",
}
PARTS = ("combined", "main", "descendants")
# Files that must take names of metrics from the table. In C an enumerator of the table may stand
# (process_cpu_seconds): the compiler knows when it is no more. A string may not.
GENERATED = ("src/sink", "src/record", "src/cli", "docs/schema", "completions")
ALLOWED = {
    # Keys of the run and of a sample, which are no metrics but called alike.
    ("src/record/record.def", "wall_seconds"),
    ("docs/schema/summary.schema.json", "wall_seconds"),
    # Members of struct toll_summary, which are keys of a list.
    ("src/cli/list.c", "wall_seconds"),
    ("src/cli/list.c", "cpu_seconds"),
    ("src/cli/list.c", "memory_peak_bytes"),
    ("src/record/sqlite/schema.c", "wall_seconds"),
    # A name of OpenTelemetry.
    ("src/sink/otlp/names.c", "context_switches"),
    # A key of jobstats.
    ("src/sink/documents.c", "gpus"),
    # A table.
    ("src/record/sqlite/schema.c", "processes"),
    ("docs/schema/record.schema.json", "processes"),
    ("docs/schema/record.schema.json", "gpus"),
    ("docs/schema/summary.schema.json", "gpus"),
    ("src/cli/option_table.c", "gpus"),
    # Rows of threads, and an option.
    ("docs/schema/record.schema.json", "threads"),
    ("docs/schema/summary.schema.json", "threads"),
    ("src/cli/option_table.c", "threads"),
    # Figures of runs that are compared or advised on; GPUs to request.
    ("docs/schema/compare.schema.json", "memory_peak_bytes"),
    ("docs/schema/recommend.schema.json", "memory_peak_bytes"),
    ("docs/schema/recommend.schema.json", "gpus"),
    # A chart, processes on a timeline, and a heading.
    ("src/sink/report/model.c", "processes"),
    ("src/sink/report/json.c", "processes"),
    ("src/sink/report/text.c", "processes"),
    ("docs/schema/report.schema.json", "processes"),
    ("docs/schema/report.schema.json", "wall_seconds"),
    ("docs/schema/report.schema.json", "cpu_seconds"),
    ("docs/schema/report.schema.json", "memory_peak_bytes"),
    # An option.
    ("src/cli/option_rules.c", "processes"),
    ("src/cli/option_table.c", "processes"),
} | {
    # What is allowed is called like what is used; size_bytes is in file_size_bytes.
    (file, name)
    for file in ("src/record/keys.c", "docs/schema/summary.schema.json")
    for name in ("memory_bytes", "open_files", "processes", "size_bytes", "tasks")
}


@pytest.fixture(scope="module", params=recorded.RUNS)
def outputs(request, tmp_path_factory):
    return recorded.outputs(request.param, tmp_path_factory.mktemp("run"))


def validator(name):
    schema = json.loads((SCHEMAS / name).read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def figures_of(document):
    """(entity, name) of every figure of a sample or a summary."""
    targets = [document.get("target", {}), *document.get("targets", [])]
    parts = [t.get(part, {}) for t in targets for part in PARTS]
    found = {("process", name) for part in parts for name in part if name != "lower_bound"}
    found |= {("process", name) for part in parts for name in part.get("lower_bound", {})}
    found |= {(entity, name) for entity in ("system", "self") for name in document.get(entity, {})}
    for key, entity in THINGS.items():
        for thing in document.get(key, []):
            found |= {(entity, n) for n, value in thing.items() if not isinstance(value, str)}
    return found


def assert_names_are_known(document):
    assert figures_of(document)
    assert [(e, name) for e, name in figures_of(document) if name not in NAMES_OF[e]] == []


def test_every_entity_has_its_key():
    assert ENTITIES == {*THINGS.values(), "process", "system", "self"}


def test_summary_follows_its_schema(outputs):
    summary = json.loads(outputs[".json"])
    validator("summary.schema.json").validate(summary)
    assert_names_are_known(summary)


def test_record_follows_its_schema(outputs):
    record = validator("record.schema.json")
    summary = validator("summary.schema.json")
    lines = [json.loads(line) for line in outputs[".jsonl"].decode().splitlines()]
    for line in lines:
        record.validate(line)
        if line["type"] == "sample":
            assert_names_are_known(line)
    types = [line["type"] for line in lines]
    assert types[0] == "run" and types[-1] == "summary"
    assert types.count("run") == types.count("summary") == 1
    summary.validate({key: value for key, value in lines[-1].items() if key != "type"})


SAMPLE = {"type": "sample", "tick": 0, "time": "2026-11-16T01:49:16.056Z"}
SAMPLE |= {"elapsed_seconds": 0.1, "interval_seconds": 0.1, "self": {}}


def test_the_schema_of_the_record_takes_what_refuse_breaks():
    things = {"system": {"cpu_seconds": 1}, "sensors": [{"name": "cpu", "any_celsius": -1.5}]}
    validator("record.schema.json").validate(SAMPLE | things)


@pytest.mark.parametrize(
    "schema, broken",
    [
        ("record.schema.json", {"type": "sample"}),
        ("record.schema.json", {"type": "event", "elapsed_seconds": -1, "name": "note", "text": "x"}),
        ("record.schema.json", {"type": "other"}),
        ("record.schema.json", SAMPLE | {"system": {"cpu_seconds": None}}),
        ("record.schema.json", SAMPLE | {"disks": [{"class": "disk", "reads": 1}]}),
        ("record.schema.json", SAMPLE | {"sensors": [{"name": "cpu", "busy_ratio": -1}]}),
        ("record.schema.json", SAMPLE | {"targets": []}),
        ("summary.schema.json", {"schema": "toll.summary/1"}),
    ],
)
def test_schemas_refuse(schema, broken):
    with pytest.raises(jsonschema.ValidationError):
        validator(schema).validate(broken)


def test_csv_is_a_table(outputs):
    rows = list(csv.reader(io.StringIO(outputs[".csv"].decode(), newline=""), strict=True))
    header, *values = rows
    assert values
    assert {len(row) for row in rows} == {len(header)}
    assert len(set(header)) == len(header)
    samples = [r for r in recorded.records(outputs[".jsonl"]) if r["type"] == "sample"]
    assert len(samples) == len(values)
    prefixes = {"combined": "target", "main": "main", "descendants": "descendants"}
    for sample, row in zip(samples, values):
        named = dict(zip(header, row))
        parts = {prefixes[part]: figures for part, figures in sample.get("target", {}).items()}
        if "system" in sample:
            parts["system"] = sample["system"]
        for prefix, figures in parts.items():
            bounds = figures.pop("lower_bound", {})
            assert all(figures[name] is None for name in bounds)
            for name, value in figures.items():
                text = named[f"{prefix}_{name}"]
                assert text == "" if value is None else float(text) == value, name


def test_lines_end_and_nothing_else_controls(outputs):
    for suffix, text in outputs.items():
        if suffix == "stderr":
            continue
        assert text.endswith(b"\n")
        text.decode("utf-8")  # valid, whatever a process is called
        assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", text), suffix


def texts_of(path):
    """What a file could put out: the strings of C, all of another file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix in (".c", ".h"):
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
        return re.findall(r'"((?:[^"\\\n]|\\.)*)"', text)
    return re.findall(r'"([^"]*)"', text) if path.suffix == ".json" else [text]


def test_no_format_names_a_metric():
    names = {m["name"] for m in recorded.metrics()}
    # A name of one word ("threads") may stand in a sentence, but not alone.
    inside = re.compile(r"(?<![a-z])(?:" + "|".join(name for name in names if "_" in name) + r")(?![a-z_])")
    found = {
        (str(path.relative_to(recorded.TOP)), name)
        for folder in GENERATED
        for path in sorted((recorded.TOP / folder).rglob("*"))
        if path.is_file()
        for text in texts_of(path)
        for name in [*inside.findall(text), *({text} & names)]
    }
    assert sorted(found - ALLOWED) == []
    assert sorted(ALLOWED - found) == []
