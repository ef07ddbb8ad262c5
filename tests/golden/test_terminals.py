# SPDX-License-Identifier: MIT
"""The summary as a terminal shows it: recorded runs in a pane of tmux, in several widths, locales, and
with and without colours, character for character.

The records are those of terminals.txt, which `record-terminals` writes. In what is expected, the
attributes of text stand in braces: {bold}, {dim}, {red}; {} ends them.
"""

import os
import pathlib
import re
import shlex
import subprocess
import time

import hostlib
import packed
import pytest

import recorded

HERE = pathlib.Path(__file__).parent
RECORDS = packed.read(HERE / "terminals.txt")
EXPECTED = HERE / "expected/terminals.txt"
WIDTHS = (60, 80, 120)
LOCALES = {"c": "C", "utf8": "C.UTF-8"}
COLORS = ("plain", "color")
GUARD = 120
LINES = 16

SGR = re.compile(r"\x1b\[([0-9;]*)m")
ATTRIBUTES = {"1": "bold", "2": "dim", "31": "red"}
ENDS = {"", "0", "39", "49", "22"}

pytestmark = hostlib.needs("tmux")


def with_attributes(text):
    """Escape sequences as words, whichever way this tmux writes them; each line by itself."""
    out, now, shown = [], "", ""
    for i, part in enumerate(SGR.split(text)):
        if i % 2 == 1:
            codes = part.split(";")
            words = [now] if now and codes[0] not in ENDS else []
            now = " ".join(words + [ATTRIBUTES[code] for code in codes if code not in ENDS])
            continue
        for line in part.splitlines(keepends=True):
            if line != "\n" and shown != now:
                out.append(f"{{{now}}}")
                shown = now
            out.append(line.removesuffix("\n"))
            if line.endswith("\n"):
                out.append("{}\n" if shown else "\n")
                shown = ""
    return "".join(out)


class Pane:
    """A terminal in which a script runs; it stays until it is closed."""

    def __init__(self, directory, width, script, environment):
        self.tmux = ["tmux", "-u", "-S", str(directory / f"socket-{time.monotonic_ns()}"), "-f", "/dev/null"]
        path = directory / "script"
        path.write_text(f"{script}\nprintf '\\n== %s ==\\n' end\nexec cat\n")
        variables = [word for key, value in environment.items() for word in ("-e", f"{key}={value}")]
        self.call("set-option", "-g", "history-limit", "5000", ";", "new-session", "-d", "-x", str(width),
                  "-y", "50", *variables, f"exec sh {shlex.quote(str(path))}")

    def call(self, *words):
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TERM": "xterm-256color",
                       "HOME": "/nonexistent"}
        return subprocess.run([*self.tmux, *words], env=environment, capture_output=True, timeout=GUARD,
                              check=True).stdout.decode()

    def text(self):
        """All that it shows, once the script has printed its last line."""
        end = time.monotonic() + GUARD
        while "\n== end ==\n" not in self.call("capture-pane", "-p", "-S", "-"):
            assert time.monotonic() < end, self.call("capture-pane", "-p", "-S", "-")
            time.sleep(0.02)
        return self.call("capture-pane", "-p", "-e", "-S", "-")

    def close(self):
        self.call("kill-server")


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    directory = tmp_path_factory.mktemp("terminals")
    for name, record in RECORDS.items():
        (directory / f"{name}.jsonl").write_bytes(record)
    return directory


def captured(directory, width, locale, color):
    """What the terminal shows of each run."""
    environment = {"LC_ALL": LOCALES[locale], "HOME": "/nonexistent",
                   "NO_COLOR": "" if color == "color" else "1"}
    environment |= {key: os.environ[key] for key in ("ASAN_OPTIONS", "UBSAN_OPTIONS") if key in os.environ}
    script = f"cd {shlex.quote(str(directory))}\n" + "".join(
        f"echo '== {name} =='; {shlex.quote(str(recorded.TOLL))} export -f text {name}.jsonl\n"
        for name in RECORDS)
    pane = Pane(directory, width, script, environment)
    try:
        text = pane.text()
    finally:
        pane.close()
    parts = re.split(r"^== (.*) ==\n", with_attributes(text), flags=re.MULTILINE)
    return {name: re.sub(r"\n+\Z", "\n", shown)
            for name, shown in zip(parts[1::2], parts[2::2]) if name != "end"}


@pytest.mark.parametrize("color", COLORS)
@pytest.mark.parametrize("locale", LOCALES)
@pytest.mark.parametrize("width", WIDTHS)
def test_captured(places, width, locale, color, request):
    found = captured(places, width, locale, color)
    assert found.keys() == RECORDS.keys()
    for name, text in found.items():
        plain = re.sub(r"{[a-z ]*}", "", text)
        lines = plain.splitlines()
        assert len(lines) <= LINES, text
        assert all(len(line) <= width for line in lines), text
        assert lines[0].startswith("toll: ") and all(line.startswith("  ") for line in lines[1:]), text
        assert plain.isascii() or locale == "utf8", text
        assert (plain != text) == (color == "color"), text
    parts = {f"{name}.{width}.{locale}.{color}": text.encode() for name, text in found.items()}
    if request.config.getoption("--update"):
        kept = packed.read(EXPECTED) if EXPECTED.exists() else {}
        order = [f"{n}.{w}.{l}.{c}" for n in RECORDS for w in WIDTHS for l in LOCALES for c in COLORS]
        packed.write(EXPECTED, {key: (kept | parts)[key] for key in order if key in kept | parts})
    expected = packed.read(EXPECTED)
    for key, text in parts.items():
        assert text.decode() == expected[key].decode(), key


def test_more_width_is_used():
    """The command line and the curve are longer in a wider terminal."""
    expected = {key: text.decode() for key, text in packed.read(EXPECTED).items()}
    for name in RECORDS:
        shown = [expected[f"{name}.{width}.utf8.plain"] for width in WIDTHS]
        curves = [len(re.search(r"^  Memory .*?([▁▂▃▄▅▆▇█ ]*)$", text, re.M)[1].strip()) for text in shown]
        assert curves[0] <= curves[1] < curves[2], name
        titles = [text.splitlines()[0].partition("…") for text in shown]
        assert not titles[0][1] or len(titles[0][0]) < len(titles[1][0]), name


def test_nothing_else_is_expected():
    order = {f"{n}.{w}.{l}.{c}" for n in RECORDS for w in WIDTHS for l in LOCALES for c in COLORS}
    assert packed.read(EXPECTED).keys() == order


@pytest.mark.parametrize("width", WIDTHS)
def test_reports_fit(places, width):
    """Reports have the width of the terminal, in which no line is broken: the text is that which a
    pipe gets for as many columns."""
    environment = {"LC_ALL": "C.UTF-8", "HOME": "/nonexistent", "NO_COLOR": "1", "PAGER": "cat"}
    script = f"cd {shlex.quote(str(places))}\n" + "".join(
        f"echo '== {name} =='; {shlex.quote(str(recorded.TOLL))} report {name}.jsonl\n" for name in RECORDS)
    pane = Pane(places, width, script, environment)
    try:
        parts = re.split(r"^== (.*) ==\n", pane.text(), flags=re.MULTILINE)
    finally:
        pane.close()
    shown = dict(zip(parts[1::2], parts[2::2]))
    shown.pop("end")
    assert shown.keys() == RECORDS.keys()
    for name, text in shown.items():
        piped = subprocess.run([recorded.TOLL, "report", f"{name}.jsonl"], cwd=places, check=True,
                               stdout=subprocess.PIPE, env={**os.environ, **environment,
                                                            "COLUMNS": str(width)}).stdout.decode()
        assert [line.rstrip() for line in text.rstrip("\n").splitlines()] == [
            line.rstrip() for line in piped.rstrip("\n").splitlines()]
        assert all(len(line) <= width for line in piped.splitlines())


@hostlib.needs("less")
def test_a_long_report_is_paged(places):
    """It begins at its top; after q the terminal is as before and toll has ended well."""
    environment = {"LC_ALL": "C.UTF-8", "HOME": "/nonexistent", "TERM": "screen"}
    script = f"cd {shlex.quote(str(places))}\n{shlex.quote(str(recorded.TOLL))} report --all; echo status $?"
    pane = Pane(places, 80, script, environment)
    try:
        end = time.monotonic() + GUARD
        while not re.search(r"^:$", seen := pane.call("capture-pane", "-p"), re.M):
            assert time.monotonic() < end, seen
            time.sleep(0.02)
        assert re.match(r"\S", seen)
        pane.call("send-keys", "q")
        assert "status 0\n" in pane.text()
    finally:
        pane.close()
