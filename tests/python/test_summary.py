# SPDX-License-Identifier: MIT
"""Summary: attributes, names of columns, texts."""

import copy
import json
import pathlib
import pickle
import re
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
    with pytest.raises(AttributeError, match="there is no 'nonsense' here"):
        summary.nonsense
    with pytest.raises(AttributeError, match="a figure has no 'sum'; it has total,"):
        summary.target.cpu_seconds.sum


def test_names_of_columns(summary):
    assert summary["target_cpu_seconds"] == summary.target.cpu_seconds
    assert summary["main_threads"] == summary.target.main.threads
    assert summary["self_ticks"].total >= 1
    assert summary["wall_seconds"] == summary.wall_seconds
    with pytest.raises(KeyError, match="no such figure was measured"):
        summary["system_cpu_cores"]
    with pytest.raises(KeyError, match="no such figure was measured"):
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
    assert re.fullmatch(r"<toll\.Summary 'a <b> .*', [\d.]+ s, .* CPU, .* RSS>", repr(summary))
    assert len(repr(summary)) < 100


def test_html(summary):
    page = xml.fromstring(summary._repr_html_())
    rows = {row.findtext("th"): [cell.text for cell in row.iter("td")] for row in page.iter("tr")}
    assert page.findtext("b") == 'a <b> & "c"'
    assert rows["CPU time"][2] == summary.target.cpu_seconds.quality
    assert re.match(r"[\d.]+ (s|ms|µs)$", rows["CPU time"][0])
    assert re.match(r"[\d.]+ MiB$", rows["resident memory (RSS)"][0])
    bound = next(cells for cells in rows.values() if cells[2:] == ["lower bound"])
    assert bound[0].startswith("≥ ")
    assert "#" not in summary._repr_html_()  # no colour but that of the page


def test_html_of_what_is_not_known():
    document = json.loads(
        json.dumps(
            {
                "name": "",
                "command": ["x", "<y>"],
                "wall_seconds": 0.5,
                "notes": ["a <note>"],
                "labels": {},
                "target": {"combined": {"cpu_seconds": {"quality": "unknown", "from": ""}}},
            }
        )
    )
    page = toll.Summary(document)._repr_html_()
    assert ">?</td>" in page and ">0" not in page
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
