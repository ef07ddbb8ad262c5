# SPDX-License-Identifier: MIT
"""Reports of records that were damaged, or written to do harm: a clear sentence or a whole page, never
a crash, foreign markup, or a file that is half written."""

import json
import os
import random
import re
import xml.dom.minidom

import pytest

from test_export import DAMAGE, record_of, small, toll
from test_report import page_of

NAMES = ("r.html", "r.md", "r.svg")
FORMS = [word for name in NAMES for word in ("-o", name)]
EVIL = ("<script>steal()</script>", "\"><img src=x onerror=steal()>", "'-steal()-'", "]]></svg><xss>",
        "\r\n\n# heading\n<xss>", "|`*_[x](javascript:steal())",
        "&lt;&#60;&amp", "</title></style></script><xss>", "\u202e\u2028\ufeffüß漢", "%s%n{{7*7}}${7}",
        "<!--", "a" * 3000, "\x1b[31mred\x1b]0;title\x07")


def report(directory, text):
    """What toll makes of a record, and what it complains about; nothing else is left behind."""
    (directory / "in.jsonl").write_bytes(text)
    before = {"in.jsonl", *(name for name in os.listdir(directory) if name not in NAMES)}
    for name in NAMES:
        (directory / name).write_text("as before")
    done = toll("export", "in.jsonl", *FORMS, cwd=directory)
    assert set(os.listdir(directory)) == before | set(NAMES)
    if done.returncode:
        assert done.stderr.startswith(b"toll: ") and done.stderr.count(b"\n") == 1, done.stderr
        assert all((directory / name).read_text() == "as before" for name in NAMES)
        return None
    done = toll("report", "in.jsonl", cwd=directory)
    assert done.returncode == 0, done.stderr
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", done.stdout.decode()), done.stdout
    page = page_of(directory / "r.html")
    xml.dom.minidom.parse(str(directory / "r.svg"))
    assert (directory / "r.md").read_text().startswith("### ")
    for name in NAMES:
        text = (directory / name).read_text()
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text), name
    for tag, name, value in page.attributes:
        assert not name.startswith("on") and name != "href", (tag, name)
        if re.fullmatch(r"x|y|width|height|[xy][12]|viewbox|points|d|style", name):
            assert not re.search(r"\b(nan|inf)", value or "", re.I), (tag, name, value)
    words = " ".join(page.text)
    assert not {"nan", "-nan", "inf", "-inf"} & set(words.lower().split())
    return page


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_in_the_middle(damage, tmp_path):
    lines = small(tmp_path).splitlines(keepends=True)
    lines.insert(3, DAMAGE[damage])
    assert report(tmp_path, b"".join(lines)) is None


@pytest.mark.parametrize("words", [["report", "."], ["recommend", "."], ["compare", ".", "."]])
def test_damage_in_a_directory(words, tmp_path):
    """The file and the line, and not that nothing matches what was not asked for."""
    lines = small(tmp_path).splitlines(keepends=True)
    place = tmp_path / "records"
    place.mkdir()
    (place / "in.jsonl").write_bytes(b"".join([*lines[:3], b"{]\n", *lines[3:]]))
    done = toll(*words, cwd=place)
    assert done.returncode == 125 and done.stdout == b""
    assert b"in.jsonl': line 4: " in done.stderr and b"match" not in done.stderr, done.stderr


def test_cut_anywhere(tmp_path):
    """A page of the whole lines before the cut."""
    text = small(tmp_path)
    first = text.index(b"\n")
    for at in (0, 1, first, *range(first + 1, len(text), len(text) // 25)):
        assert (report(tmp_path, text[:at]) is None) == (at < first), at


def test_a_line_of_a_gigabyte(tmp_path):
    path = tmp_path / "huge.jsonl"
    with open(path, "wb") as file:
        file.write(b'{"type":"run","schema":"toll.record/1"}\n')
        file.truncate(1 << 30)
    done = toll("export", path, *FORMS, cwd=tmp_path)
    assert done.returncode == 125 and b": line 2: " in done.stderr and done.stderr.count(b"\n") == 1
    assert os.listdir(tmp_path) == ["huge.jsonl"]


def strings(value, change, key=""):
    """The value with each text in it changed, except where only certain words may be."""
    fixed = ("type", "schema", "time", "start", "quality", "status", "left", "of", "way")
    if isinstance(value, dict):
        return {k: strings(v, change, k) for k, v in value.items()}
    if isinstance(value, list):
        return [strings(v, change, key) for v in value]
    return change(value) if isinstance(value, str) and key not in fixed else value


@pytest.mark.parametrize("run", ["marks", "machine-server", "limits-cgroup2", "attach-groups",
                                 "linux-4.9.all-processes"])
def test_markup_and_escape_sequences_in_every_text(run, tmp_path):
    lines = [json.loads(line) for line in record_of(run, tmp_path).read_text().splitlines()]
    plain = report(tmp_path, "".join(json.dumps(line) + "\n" for line in lines).encode())
    allowed = {(tag, name) for tag, name, _ in plain.attributes}
    for number, evil in enumerate(EVIL):
        # The same for the same, so that a device stays what it is in all lines.
        bad = [strings(line, lambda text: f"{evil}{text}" if number % 2 else f"{text}{evil}")
               for line in lines]
        page = report(tmp_path, "".join(json.dumps(line) + "\n" for line in bad).encode())
        assert page is not None, evil
        assert set(page.tags) <= set(plain.tags) | {"title"}, evil
        assert page.tags.count("script") == plain.tags.count("script")
        assert {(tag, name) for tag, name, _ in page.attributes} <= allowed
        assert "<xss" not in (tmp_path / "r.md").read_text()
    text = toll("export", "in.jsonl", "-v", "-f", "text", "-o", "-", cwd=tmp_path).stdout
    assert not re.search(rb"[\x00-\x08\x0b-\x1f\x7f]", text)


HUGE = (0, 1, -1, 1e-320, 1e300, 1.7976931348623157e308, -1e300, 9223372036854775807,
        18446744073709551615, 18446744073709551616, 1e19, 0.1, 4503599627370497.5)


def numbers(value, found, path=()):
    """The paths of all numbers in it."""
    if isinstance(value, (dict, list)):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            numbers(inner, found, (*path, key))
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        found.append(path)


@pytest.mark.parametrize("run", ["marks", "machine-server", "limits-cgroup2", "this-machine"])
def test_huge_numbers(run, tmp_path):
    """Any number may be any: a record that is accepted becomes a page without nonsense."""
    chance = random.Random(run)
    text = record_of(run, tmp_path).read_text().splitlines()
    for _ in range(12):
        lines = [json.loads(line) for line in text]
        for _ in range(chance.choice((1, 1, 3, 10))):
            line, paths = chance.choice(lines), []
            numbers(line, paths)
            if not paths:
                continue
            *way, last = chance.choice(paths)
            for key in way:
                line = line[key]
            line[last] = chance.choice(HUGE)
        report(tmp_path, "".join(json.dumps(line) + "\n" for line in lines).encode())


def run_with(samples, *more):
    """A record of our own: CPU and memory at these times, then other lines."""
    lines = [{"type": "run", "schema": "toll.record/1", "name": "x", "command": ["x"], "pid": 5,
              "start": "2026-11-07T17:20:00.000Z", "cpus": 2}]
    before = 0
    for tick, at in enumerate(samples):
        figures = {"cpu_seconds": at / 2, "cpu_cores": 0.5, "memory_rss_bytes": 1 << 20}
        lines.append({"type": "sample", "tick": tick, "time": "2026-11-07T17:20:00.000Z",
                      "elapsed_seconds": at, "interval_seconds": at - before,
                      "target": {"combined": figures}})
        before = at
    return "".join(json.dumps(line) + "\n" for line in [*lines, *more]).encode()


def phase(name, begin, end):
    return {"type": "phase", "elapsed_seconds": max(begin, end), "name": name, "pid": 5, "attributes": {},
            "begin_seconds": begin, "end_seconds": end, "ended": True, "of": "target", "looks": 0,
            "figures": {}}


@pytest.mark.parametrize("samples", [
    [], [0], [0, 0, 0], [1e-9], [1e-9] * 20, [9e9, 9.1e9], [0, 1e-9, 9.2e9], [100.0] * 50,
], ids=lambda samples: ",".join(map(str, samples[:3])) or "none")
def test_times_that_are_odd(samples, tmp_path):
    """No sample, no duration, all at the same time, three hundred years."""
    last = samples[-1] if samples else 0
    page = report(tmp_path, run_with(samples, phase("p", last, last)))
    assert page is not None


def test_many_phases_and_events_at_one_time(tmp_path):
    events = [{"type": "event", "elapsed_seconds": 2, "name": f"e{i}", "pid": 5} for i in range(20000)]
    phases = [phase(f"p{i % 3000}", 1, 1 + i % 2) for i in range(20000)]
    page = report(tmp_path, run_with([i / 10 for i in range(21)], *events, *phases))
    assert page is not None and (tmp_path / "r.html").stat().st_size < 2e6


def test_an_end_before_its_beginning(tmp_path):
    """Phases, and a summary that is shorter than the samples."""
    summary = {"type": "summary", "wall_seconds": 0.001, "end": {"status": "exited", "code": 0}}
    for more in ([phase("p", 2, 1)], [phase("p", 9e9, 0)], [phase("p", 0.5, 1), summary]):
        report(tmp_path, run_with([0.5, 1, 2], *more))
