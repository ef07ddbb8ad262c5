# SPDX-License-Identifier: MIT
"""%toll and %%toll in a real IPython: in its shell object, as a notebook uses it, and in its program."""

import os
import subprocess
import sys
import time

import pytest
import toll
from conftest import PACKAGE
from hostlib import module

module("IPython")

import IPython.core.displaypub  # noqa: E402
import IPython.core.interactiveshell  # noqa: E402
import traitlets.config  # noqa: E402


@pytest.fixture
def shell(tmp_path, monkeypatch):
    """As the kernel of a notebook has one: what is displayed is kept with its types."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    kind = IPython.core.interactiveshell.InteractiveShell
    config = traitlets.config.Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "NoColor"
    one = kind.instance(config=config)
    one.display_pub = IPython.core.displaypub.CapturingDisplayPublisher()
    one.run_line_magic("load_ext", "toll")
    yield one
    one.run_line_magic("unload_ext", "toll")
    kind.clear_instance()


def shown(shell):
    """What was displayed since the last call: text, HTML."""
    outputs = [(one["data"]["text/plain"], one["data"]["text/html"]) for one in shell.display_pub.outputs]
    shell.display_pub.outputs.clear()
    return outputs


BURN = "import time\nend = time.thread_time() + 0.1\nwhile time.thread_time() < end: pass\n"


def test_a_cell(shell):
    before = time.process_time()
    done = shell.run_cell("%%toll -n training\n" + BURN + "x = 6\nx * 7")
    most = time.process_time() - before
    assert done.success and done.result == 42 and shell.user_ns["x"] == 6 and shell.user_ns["Out"][1] == 42
    ((text, html),) = shown(shell)
    assert "training" in text and "CPU" in text
    assert html.startswith("<div>") and "<table" in html and "training" in html
    t = shell.user_ns["_toll"]
    assert isinstance(t, toll.Track) and not t.running
    # The clock of the thread inside of the cell, and of the process around all of it.
    assert 0.1 <= t.summary.cpu_seconds <= most
    assert t.frames and "<table" in t._repr_html_()


def test_children_count(shell):
    code = "import time\\nwhile time.process_time() < 0.2: pass"
    assert shell.run_cell(f'%%toll -q\nimport subprocess, sys\nsubprocess.run([sys.executable, "-c", "{code}"])').success
    # User and system time of an ended child are in whole ticks of 10 ms.
    assert shell.user_ns["_toll"].summary.cpu_seconds >= 0.2 - 0.021 and shown(shell) == []


def test_a_statement(shell):
    assert shell.run_cell("%toll sum(range(10))").result == 45
    assert shell.run_cell("y = %toll -q -t mine len('{x} $x  a')").success
    assert shell.user_ns["y"] == 9 and shell.user_ns["mine"] is shell.user_ns["_toll"]
    assert shell.run_cell("%toll -q z = 3").success and shell.user_ns["z"] == 3
    assert shell.run_cell("%toll -q -- -z").result == -3
    for silenced in ("z;", "z;  # done", "z;\n\n"):
        assert shell.run_cell("%%toll -q\n" + silenced).result is None
    assert shell.run_cell("%%toll -q\n'a; # b'").result == "a; # b"
    assert shell.run_cell("%%toll -q\nlines = !echo shell\n%time w = 1\nlines, w").result == (["shell"], 1)
    ((_, html),) = shown(shell)
    assert "<b>cell 1</b>" in html
    shell.run_cell("def inner(n):\n    return get_ipython().run_line_magic('toll', '-q n + 1')")
    assert shell.run_cell("inner(4)").result == 5


def test_the_cell_fails(shell, capsys):
    """The exception is that of the cell, with its lines, and the next cells of a notebook do not run."""
    done = shell.run_cell("%%toll\nvalue = 1\nraise KeyError('missing')")
    assert not done.success and isinstance(done.error_in_exec, KeyError) and done.error_in_exec.args == ("missing",)
    traceback = capsys.readouterr().out
    assert "raise KeyError('missing')" in traceback and "_magics.py" not in traceback
    assert shell.user_ns["value"] == 1 and len(shown(shell)) == 1
    interrupted = shell.run_cell("%%toll\nraise KeyboardInterrupt")
    assert isinstance(interrupted.error_in_exec, KeyboardInterrupt) and len(shown(shell)) == 1
    assert isinstance(shell.run_cell("%%toll\n1 +").error_in_exec, SyntaxError) and shown(shell) == []
    assert shell.run_cell("1 + 1").result == 2


def test_marks(shell):
    """toll.phase in the cell is of its measurement, and of that of a statement in it."""
    shell.run_cell("import toll\n@toll.phase('early')\ndef early():\n    %toll -q -t inner toll.event('saved')")
    done = shell.run_cell("%%toll -t outer\nwith toll.phase('load'):\n    early()\n"
                          "one = toll.phase('late')\none.begin(), one.end(), toll.gauge('loss', 0.5)")
    assert done.result == (True, True, True)
    outer = shell.user_ns["outer"].summary
    assert {one.name: (one.count, one.not_ended_count) for one in outer.phases} == {
        "load": (1, 0), "early": (1, 0), "late": (1, 0)}
    assert [(one.name, one.last) for one in outer.gauges] == [("loss", 0.5)]
    assert shell.user_ns["inner"].summary.phases == []
    assert "late" in shown(shell)[0][1]
    assert toll.event("after") is False, "nothing listens any more"


def test_outputs(shell, tmp_path):
    path = tmp_path / "a cell.jsonl"
    assert shell.run_cell(f"%%toll -q -i 0.01 -o '{path}' -o={tmp_path}/cell.html\nimport time\ntime.sleep(0.05)").success
    lines = list(toll.read_record(path))
    assert lines[0]["type"] == "run" and lines[-1]["type"] == "summary"
    assert (tmp_path / "cell.html").read_text().startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(("cell", "sentence"), [
    ("%toll", "nothing to measure"),
    ("%%toll\n\n", "nothing to measure"),
    ("%%toll -x\n1", "unknown option -x"),
    ("%%toll x = 1\n1", "unexpected text after %%toll: x = 1"),
    ("%%toll -i\n1", "option -i needs a value"),
    ("%%toll -i fast\n1", "-i fast: invalid interval"),
    ("%%toll -i 0\n1", "interval"),
    ("%%toll -t 3x\n1", "-t 3x: invalid name"),
    ("%%toll -o /nowhere/at/all.csv\nran = True", "/nowhere/at/all.csv"),
    ("%%toll\nimport asyncio\nawait asyncio.sleep(0)", "await at the top level"),
])
def test_mistakes(shell, capsys, cell, sentence):
    done = shell.run_cell(cell)
    assert type(done.error_in_exec).__name__ == "UsageError" and "ran" not in shell.user_ns
    captured = capsys.readouterr()
    (line,) = (captured.out + captured.err).splitlines()
    assert sentence in line and line.startswith("UsageError: toll: ")


def test_in_a_terminal(tmp_path):
    """The program ipython: the text of the summary, then the result."""
    script = tmp_path / "notebook.ipy"
    script.write_text("%load_ext toll\n%toll -n job x = sum(range(100))\nprint('sum', x)\n", encoding="utf-8")
    done = subprocess.run([sys.executable, "-m", "IPython", "--no-banner", "--colors=NoColor", script],
                          env={**os.environ, "PYTHONPATH": str(PACKAGE), "IPYTHONDIR": str(tmp_path)},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "toll: job: process " in done.stdout and "  Memory " in done.stdout
    assert done.stdout.endswith("sum 4950\n")
