# SPDX-License-Identifier: MIT
"""Pictures of terminals: what was printed is drawn where it was, and the one of README.md is whole."""

import pathlib
import re
import subprocess
import xml.etree.ElementTree as ElementTree

import hostlib
import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
TOOL = TOP / "tools/terminal-picture"
PICTURES = sorted((TOP / "docs").rglob("*.svg"))
SVG = "{http://www.w3.org/2000/svg}"


def drawn(command, path, *options):
    return subprocess.run([TOOL, *options, command, path], capture_output=True, text=True, check=False,
                          timeout=120)


def pieces(root, name):
    return [piece for piece in root.iter(SVG + name) if piece.get("class") != "page"]


@hostlib.needs("tmux")
def test_cells_are_drawn_where_they_are(tmp_path):
    path = tmp_path / "picture.svg"
    command = r"printf 'a<b \033[1;31mred\033[0m  \033[2mdim\033[0m\n%79s▂█\nlast\n' x"
    done = drawn(command, path, "-c", "80", "-t", "A & B")
    assert done.returncode == 0, done.stderr
    root = ElementTree.parse(path).getroot()
    assert root.find(SVG + "title").text == "A & B"
    # A line of 81 cells goes on in the next one, as on any terminal.
    assert root.find(SVG + "desc").text.splitlines() == [
        f"$ {command}", "a<b red  dim", f"{'x':>79}▂", "█", "last"]
    texts = {piece.text: piece for piece in pieces(root, "text")}
    assert {"a<b", "red", "dim", "x", "last"} <= set(texts)
    assert texts["red"].get("class") == "bold red" and texts["dim"].get("class") == "dim"
    cell = float(texts["red"].get("textLength")) / 3
    columns = {text: (float(piece.get("x")) - float(texts["a<b"].get("x"))) / cell
               for text, piece in texts.items()}
    assert [round(columns[text], 1) for text in ("a<b", "red", "dim", "x", "last")] == [0, 4, 9, 78, 0]
    low, high = pieces(root, "rect")[-2:]  # after those of the prompt
    assert float(high.get("height")) == pytest.approx(4 * float(low.get("height")))


@hostlib.needs("tmux")
def test_what_cannot_be_drawn_is_an_error(tmp_path):
    done = drawn(r"printf '\033[41mbackground\033[0m\n'", tmp_path / "picture.svg")
    assert done.returncode == 1 and "cannot draw" in done.stderr
    assert not (tmp_path / "picture.svg").exists()


def test_a_command_without_a_file_is_an_error():
    done = subprocess.run([TOOL, "true"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "usage" in done.stderr


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.name)
def test_pictures_of_the_documents_are_whole(path):
    text = path.read_text(encoding="utf-8")
    root = ElementTree.fromstring(text)
    assert root.get("role") == "img" and root.get("aria-labelledby") == "title desc"
    assert root.find(SVG + "title").text
    # It needs nothing from elsewhere, and runs nothing.
    assert not re.search(r"href|url\(|@import|<script|<foreignObject", text)
    assert "prefers-color-scheme: dark" in text
    lines = root.find(SVG + "desc").text.splitlines()
    assert lines[0].startswith("$ toll ") and max(map(len, lines)) <= 80
    shown = " ".join(piece.text for piece in pieces(root, "text"))
    for line in lines:
        for word in re.findall(r"[\w./-]+", line):
            assert word in shown, word


def test_readme_shows_the_picture():
    text = (TOP / "README.md").read_text(encoding="utf-8")
    ((said, link),) = re.findall(r"!\[([^\]]+)\]\(([^)]+\.svg)\)", text)
    assert len(said) > 20 and TOP / link in PICTURES
    lines = ElementTree.parse(TOP / link).getroot().find(SVG + "desc").text.splitlines()
    command = lines[0].removeprefix("$ ")
    assert f"`{command}`" in text, "the text names the command that the picture shows"
    assert [line for line in lines if re.match(r"toll: .* exit 0 in ", line)]
    assert {"CPU", "Memory", "Disk", "Processes"} <= {line.split()[0] for line in lines if line.strip()}


def test_picture_of_a_report_is_small():
    """tools/report-picture writes it: few colours, and no more than a page should load."""
    data = (TOP / "docs/images/report.png").read_bytes()
    assert data.startswith(b"\x89PNG\r\n") and data[25] == 3 and len(data) < 80_000
