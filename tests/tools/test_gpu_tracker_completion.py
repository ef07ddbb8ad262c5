# SPDX-License-Identifier: MIT
"""Completions of the command gpu-tracker, in every shell."""

import os
import re
import subprocess

import pytest
from test_completion import DEADLINE, FILES, TOLL, Terminal, make_programs, needs, surroundings

SIZES = ["bytes", "gigabytes", "kilobytes", "megabytes", "terabytes"]
# A line, what the tab key makes of its last word.
LINES = [
    ("gpu-tracker --exec", ["--execute"]),
    ("gpu-tracker -e true --ru meg", ["-e", "true", "--ru", "megabytes"]),
    ("gpu-tracker -e true --ru=meg", ["-e", "true", "--ru=megabytes"]),
    ("gpu-tracker --tu=mi", ["--tu=minutes"]),
    ("gpu-tracker -f js", ["-f", "json"]),
    ("gpu-tracker -e uniquej", ["-e", "uniquejob"]),
    ("gpu-tracker -o notes", ["-o", "notes file.txt"]),
    ("gpu-tracker sub-t", ["sub-track"]),
    ("gpu-tracker sub-track comb", ["sub-track", "combine"]),
    ("gpu-tracker sub-track compare --st", ["sub-track", "compare", "--stat"]),
    ("gpu-tracker sub-track compare --stat=me", ["sub-track", "compare", "--stat=mean"]),
    ("gpu-tracker sub-track analyze --tf notes", ["sub-track", "analyze", "--tf", "notes file.txt"]),
]


@pytest.fixture
def place(tmp_path):
    make_programs(tmp_path, "gpu-tracker", "uniquejob")
    (tmp_path / "notes file.txt").touch()
    return tmp_path


def shell_says(place, command, setup):
    shell = Terminal(place, command, setup)
    try:
        return [(line, shell.tab(line)) for line, _ in LINES]
    finally:
        shell.close()


@needs("bash")
def test_bash(place):
    command = ["bash", "--norc", "--noprofile", "-i"]
    assert shell_says(place, command, f". '{FILES}/gpu-tracker'") == LINES


@needs("zsh")
def test_zsh(place):
    setup = f"fpath=('{FILES}' $fpath); autoload -U compinit; compinit -u -d '{place}/dump'"
    assert shell_says(place, ["zsh", "-f", "-i"], setup) == LINES


def fish_offers(place, line):
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"source '{FILES}/gpu-tracker.fish'; complete -C $argv[1]", line],
        cwd=place, env={**os.environ, **surroundings(place)}, capture_output=True, text=True,
        check=True, timeout=DEADLINE)
    assert done.stderr == ""
    return sorted(row.split("\t")[0] for row in done.stdout.splitlines())


@needs("fish")
def test_fish(place):
    assert [(line, fish_offers(place, line)) for line, _ in LINES] == [
        (line, [words[-1]]) for line, words in LINES]
    assert fish_offers(place, "gpu-tracker --gru ") == SIZES


def options_of(task):
    """As the usage has them."""
    text = subprocess.check_output(["gpu-tracker", "-h"], executable=TOLL, text=True)
    lines = re.split(r"\n    gpu-tracker ", text.split("\nOptions:")[0])
    (usage,) = (line for line in lines if line.startswith(task))
    return sorted(set(re.findall(r"--[a-z-]+", usage))) + ["--help", "--version"]


@needs("fish")
@pytest.mark.parametrize("task", ["--execute", "sub-track combine", "sub-track analyze",
                                  "sub-track compare"])
def test_every_option_of_a_task_and_no_other(place, task):
    line = "gpu-tracker --" if task == "--execute" else f"gpu-tracker {task} --"
    assert fish_offers(place, line) == sorted(options_of(task))
