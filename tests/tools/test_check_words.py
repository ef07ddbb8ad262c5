# SPDX-License-Identifier: MIT
"""tools/check-words: users read standard English."""

import pathlib
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]


def run(top, *words):
    return subprocess.run([TOP / "tools/check-words", top, *words], capture_output=True, text=True,
                          check=False)


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "src").mkdir()

    def write(path, text):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return tmp_path

    return write


def test_this_tree():
    done = run(TOP)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("path, text, phrase", [
    ("src/sink/x.c", 'puts("told by nobody else");\n', "nobody"),
    ("src/sink/x.c", 'puts("what stands "\n     "behind a comma");\n', "what stands"),
    ("src/sink/x.c", 'puts("killed for "\n     "want of memory");\n', "for want of"),
    ("src/cli/x.c", '{"--x", "the option takes a number"},\n', "takes a number"),
    ("src/cli/x.c", 'err("\'%s\' is no option; there are %s", a, b);\n', "there are %s"),
    ("src/base/x.h", '#define X                     \\\n    "no memory "              \\\n    "for it"\n',
     "no memory for"),
    ("src/metric/metrics.def", 'METRIC(a, "Memory used by whomever")\n', "whomever"),
    ("python/src/x.c", 'PyErr_SetString(e, "the dialect is unknown");\n', "dialect"),
    ("python/toll/x.py", '"""What the job\nshall do."""\n', "shall"),
    ("man/toll.1.in", "Measures what\nthe \\fBsink\\fR writes\n", "sink"),
    ("README.md", "toll tells what a job used\n", "tells"),
    ("docs/x.md", "Reading PSS is dear.\n", "dear"),
    ("docs/x.md", "The run has a cgroup of its own.\n", "of its own"),
    ("docs/x.md", "The program with most CPU time\n", "with most"),
    ("docs/x.md", "A file beside the record\n", "beside"),
    ("docs/x.md", "The exit status is that of the command\n", "is that of"),
    ("docs/x.md", "<!-- output: toll help -->\n```text\nwhat runs already\n```\n", "what runs already"),
])
def test_a_phrase_to_avoid(tree, path, text, phrase):
    done = run(tree(path, text))
    assert done.returncode == 1
    assert f"{path}:" in done.stderr and f"'{phrase}' in" in done.stderr and "; write: " in done.stderr


@pytest.mark.parametrize("path, text", [
    ("src/sink/x.c", '/* told to nobody */ const char *told = "told"; puts("the whole machine");\n'),
    ("src/sink/x.c", '#include "sink/sink.h"\nputs("sink/sink.c");\n'),
    ("src/cli/x.c", 'puts("a process whose name matches; if there are none, all of them");\n'),
    ("python/toll/x.py", "# nobody shall read this\nvalue is None\n"),
    ("python/toll/compat/x.py", '"""Told to nobody."""\n'),
    ("docs/x.md", "`toll sinks` is an old name.\n\n```c\nshall();\n```\n[outputs](sinks.md)\n"),
    ("man/toll.1.in", '.\\" told to nobody\nWhether it was sampled\n'),
])
def test_what_may_be(tree, path, text):
    done = run(tree(path, text))
    assert (done.returncode, done.stderr) == (0, "")


def test_some_files_only(tree):
    tree("docs/x.md", "nobody\n")
    top = tree("docs/y.md", "somebody\n")
    done = run(top, "docs/y.md")
    assert done.returncode == 1 and "somebody" in done.stderr and "x.md" not in done.stderr


def test_comments_on_request(tree):
    top = tree("src/x.c", "/* told to nobody */\n")
    assert run(top).returncode == 0
    assert run(top, "--all").returncode == 1


def test_a_place_without_sources(tmp_path):
    done = run(tmp_path)
    assert done.returncode == 2 and "has no src" in done.stderr
