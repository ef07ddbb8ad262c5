# SPDX-License-Identifier: MIT
"""The scripts of the repository: executable, and clean to shellcheck; what tests/packed.py and
tools/fetch-uplot do."""

import hashlib
import re
import os
import pathlib
import subprocess

import hostlib
import packed
import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
SCRIPTS = [path for path in sorted((TOP / "tools").iterdir()) if path.is_file()] + [TOP / ".ci/run"]


def first_line(path):
    return path.read_text(encoding="utf-8").split("\n", 1)[0]


def name(path):
    return str(path.relative_to(TOP))


@pytest.mark.parametrize("path", SCRIPTS, ids=name)
def test_executable(path):
    assert os.access(path, os.X_OK)
    assert first_line(path) in ("#!/bin/sh", "#!/bin/bash", "#!/usr/bin/python3")


@hostlib.needs("shellcheck")
@pytest.mark.parametrize("path", [p for p in SCRIPTS if first_line(p).endswith("sh")], ids=name)
def test_shellcheck(path):
    done = subprocess.run(["shellcheck", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


# ---- tools/list-messages ----------------------------------------------------------------------

def test_list_messages(tmp_path):
    source = tmp_path / "src" / "x.c"
    source.parent.mkdir()
    source.write_text('int f(void)\n{\n    return g(err_set(e, -EINVAL,\n'
                      '        has ? "price: invalid value \'%s\' "  // why\n              "(expected %" PRIu64 ")"\n'
                      '            : "no price", "x"));\n    printf("not a message");\n}\n')
    done = subprocess.run([TOP / "tools/list-messages", tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout == ("src/x.c:3: err_set: price: invalid value '%s' (expected %u)\n"
                           "src/x.c:3: err_set: no price\n")


# ---- tests/packed.py ----------

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


# ---- tools/fetch-uplot without a network ----------

TOOL = TOP / "tools/fetch-uplot"
NAME = "uplot-{}.tgz".format(re.search(r'^VERSION = "(.*)"', TOOL.read_text(), re.M)[1])


def fetched(cache, *words):
    nowhere = "http://127.0.0.1:9"  # a port at which nothing listens
    env = {**os.environ, "XDG_CACHE_HOME": str(cache), "https_proxy": nowhere, "no_proxy": ""}
    return subprocess.run([TOOL, *words], env=env, capture_output=True, text=True, check=False)


def test_other_contents_are_not_used(tmp_path):
    stored = tmp_path / "cache/toll" / NAME
    stored.parent.mkdir(parents=True)
    stored.write_bytes(b"something else")
    done = fetched(tmp_path / "cache", tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("fetch-uplot: https://registry.npmjs.org/")
    assert stored.read_bytes() == b"something else"


def test_stored_package_is_used(tmp_path):
    """Also from the directory that was named, where no cache can be written."""
    known = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache", "toll", NAME)
    if not known.exists():
        pytest.skip("uPlot was not downloaded")
    copy = tmp_path / NAME
    copy.write_bytes(known.read_bytes())
    done = fetched("/dev/null/none", tmp_path)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, str(copy), "")
    assert hashlib.sha512(copy.read_bytes()).hexdigest() in TOOL.read_text().replace('"\n    "', "")
