# SPDX-License-Identifier: MIT
"""What the documents promise users of other tools is tested: every row of a table in compat.md and
layouts.md names its tests in the last column, as `test_file.py::test_name`. A file whose name is
not the only one of its kind has its folder before it: `live/test_layouts.py::test_name`."""

import pathlib
import re

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
TESTS = TOP / "tests"
DOCUMENTS = ["compat.md", "layouts.md"]
HEADING = "test"  # of the last column
NAMED = re.compile(r"`((?:\w+/)*test_\w+\.py)::(test_\w+)`")
FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


def cells(line):
    """Of a row; a | within `code` or behind a backslash separates nothing."""
    parts = re.findall(r"(?:`[^`]*`|\\\||[^|])*", line.strip().strip("|"))
    return [part.strip() for part in parts if part.strip()]


def tables(text):
    """Of each table the heading and the rows."""
    lines = FENCED.sub("", text).splitlines()
    for number, line in enumerate(lines):
        if re.fullmatch(r"\|[-|: ]+\|", line):
            rows = []
            for row in lines[number + 1 :]:
                if not row.startswith("|"):
                    break
                rows.append(row)
            yield lines[number - 1], rows


def all_tables(document):
    found = list(tables((TOP / "docs" / document).read_text(encoding="utf-8")))
    assert found
    return found


def named_tests(document):
    """Each with the files that it may mean."""
    text = (TOP / "docs" / document).read_text(encoding="utf-8")
    there = sorted(path.relative_to(TESTS) for path in TESTS.rglob("test_*.py"))
    for file, name in NAMED.findall(text):
        yield f"{file}::{name}", [path for path in there if f"/{path}".endswith(f"/{file}")], name


@pytest.mark.parametrize("document", DOCUMENTS)
def test_tables_have_a_column_for_tests(document):
    headings = [heading for heading, _ in all_tables(document)]
    assert [one for one in headings if cells(one)[-1] != HEADING] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_row_names_its_tests(document):
    rows = [row for _, found in all_tables(document) for row in found]
    assert [row for row in rows if not NAMED.search(cells(row)[-1])] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_tests_that_are_named_are_there_and_are_run(document):
    listed = (TESTS / "meson.build").read_text(encoding="utf-8")
    for said, files, name in named_tests(document):
        assert len(files) == 1, said
        text = (TESTS / files[0]).read_text(encoding="utf-8")
        assert re.search(rf"^def {name}\(", text, re.MULTILINE), said
        assert f"'{files[0]}'" in listed, said


def test_cells():
    """A row is split as a reader sees it."""
    assert cells("| a `x|y` | b \\| c | `t` |") == ["a `x|y`", "b \\| c", "`t`"]
    text = "| h | test |\n|---|---|\n| 1 | `test_a.py::test_b` |\n\n```\n| no | row |\n|---|---|\n```\n"
    assert list(tables(text)) == [("| h | test |", ["| 1 | `test_a.py::test_b` |"])]
