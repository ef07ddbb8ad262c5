# SPDX-License-Identifier: MIT
"""Man page, completions and documents: well-formed, and in step with the command."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["TOLL_BUILD"])
TOLL = os.environ["TOLL"]

MAN_PAGE = BUILD / "man/toll.1"
DOCUMENTS = [
    path
    for path in [*sorted(TOP.glob("*.md")), *sorted((TOP / "docs").rglob("*.md"))]
    if path.is_file()
]


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.skipif(not shutil.which("mandoc"), reason="no mandoc")
def test_man_page_is_well_formed():
    done = subprocess.run(
        ["mandoc", "-T", "lint", "-W", "warning", MAN_PAGE],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_man_page_is_filled_in():
    text = MAN_PAGE.read_text(encoding="utf-8")
    assert not re.findall(r"@[A-Z]+@", text)
    assert output(TOLL, "help", "--man") in text


@pytest.mark.parametrize("shell, file", [("bash", "toll"), ("zsh", "_toll"), ("fish", "toll.fish")])
def test_completion_is_valid(shell, file):
    if not shutil.which(shell):
        pytest.skip(f"no {shell}")
    path = BUILD / "completions" / file
    assert path.stat().st_size > 0
    subprocess.run([shell, "-n", path], check=True)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(TOP)))
def test_links_lead_somewhere(path):
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text)
    missing = [
        link
        for link in links
        if not re.match(r"[a-z]+:", link) and not (path.parent / link).exists()
    ]
    assert missing == []


def test_every_dependency_has_its_reason():
    script = (TOP / "tools/bootstrap").read_text(encoding="utf-8")
    lists = re.findall(r"^\w+_packages='([^']+)'", script, flags=re.MULTILINE)
    packages = " ".join(lists).split()
    text = (TOP / "docs/dependencies.md").read_text(encoding="utf-8")
    explained = re.findall(r"^\| `([^`]+)` \|", text, flags=re.MULTILINE)
    assert sorted(explained) == sorted(packages)
