# SPDX-License-Identifier: MIT
"""tools/fetch-uplot without a network: a stored package is used, any other file is not."""

import hashlib
import os
import pathlib
import re
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
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
