# SPDX-License-Identifier: MIT
"""What docs/library.md says of a program that measures itself: how it may end, what it shares with
the library, and what counts as its own."""

import csv
import json
import os
import pathlib
import re
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = os.environ["TOLL_BUILD"]

pytestmark = pytest.mark.skipif(
    "TOLL_SANITIZED" in os.environ, reason="the program is built without sanitizers")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("embedding") / "embedding"
    subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", f"-I{TOP}/include", "-o", path,
                    TOP / "tests/api/embedding.c", f"-L{BUILD}", "-ltoll", f"-Wl,-rpath,{BUILD}"],
                   check=True)
    return path


@pytest.fixture
def run(program, tmp_path):
    def in_place(mode):
        return subprocess.run([program, mode], cwd=tmp_path, capture_output=True, text=True,
                              timeout=60, check=False)

    return in_place


def figure(done, name):
    return float(re.search(rf"^{name} (\S+)$", done.stdout, flags=re.MULTILINE)[1])


@pytest.mark.parametrize("mode, status", [("exit", 7), ("exec", 0)])
def test_ended_without_finish(run, tmp_path, mode, status):
    """What was written until then is valid; there is no summary."""
    assert run(mode).returncode == status
    lines = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text().splitlines()]
    assert lines[0]["type"] == "run" and "sample" in {line["type"] for line in lines}
    assert lines[-1]["type"] != "summary"
    with open(tmp_path / "run.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert len(rows) > 1 and {len(row) for row in rows} == {len(rows[0])}
    assert (tmp_path / "run.json").read_text() == ""


def test_one_descriptor_is_in_the_program(run):
    done = run("descriptors")
    if done.stdout.startswith("descriptors ") and figure(done, "descriptors") > 1:
        pytest.skip("the kernel gives threads no descriptors of their own")
    assert done.returncode == 0 and figure(done, "descriptors") == 1


def test_descriptors_stay_intact(run):
    done = run("intact")
    assert done.returncode == 0 and figure(done, "lost") == 0, done.stderr


def test_none_survives_exec(run):
    done = run("exec")
    assert not re.search(r"run\.(jsonl|csv|json)$|timerfd|eventpoll|/proc/\d+$", done.stderr,
                         flags=re.MULTILINE), done.stderr


def test_a_pipe_that_nobody_reads(run):
    """The failure is told at the end; the program lives."""
    done = run("pipe")
    assert done.returncode == 0 and figure(done, "finish") == -32, done.stderr


def test_what_the_callback_uses_is_the_programs(run):
    """It stops at 0.2 s of CPU time; the program itself uses next to none."""
    done = run("callback")
    assert done.returncode == 0, done.stderr
    assert 0.199 <= figure(done, "target_cpu_seconds") <= 0.3
