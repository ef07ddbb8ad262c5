# SPDX-License-Identifier: MIT
"""The scripts of the repository: executable, and clean to shellcheck."""

import os
import pathlib
import subprocess

import hostlib
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
