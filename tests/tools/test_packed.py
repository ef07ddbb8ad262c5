# SPDX-License-Identifier: MIT
"""tests/packed.py: what is packed is unpacked byte for byte, and text stays readable."""

import pathlib

import packed
import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
FILES = sorted([*TOP.glob("tests/fuzz/corpus/*"), *TOP.glob("tests/golden/expected/*")])


@pytest.mark.parametrize("data", [
    b"", b"\n", b"text\n", b"no newline", b"\\ \t\r\n", b"-- a --\nb\n", b"-- a --", b"\xff\x00" * 100 + b"\n",
    b"x" * 300, "\u2192 \u200b\n".encode(), b"\n\n-",
])
def test_byte_for_byte(data, tmp_path):
    parts = {"a": b"1\n", "b-2": data, "c.d": b""}
    packed.write(tmp_path / "t", parts)
    assert packed.read(tmp_path / "t") == parts


def test_text_stays_as_it_is():
    assert packed.pack("a", "\u2192 b\n".encode()) == "-- a --\n\u2192 b\n".encode()
    assert packed.pack("a", b"x\r\n\xff") == b"-- a (escaped) --\nx\\r\n\\xff\\\n"


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_files_are_as_they_would_be_written(path, tmp_path):
    packed.write(tmp_path / "again", packed.read(path))
    assert (tmp_path / "again").read_bytes() == path.read_bytes()
