# SPDX-License-Identifier: MIT
"""tools/check-names: metrics are named in tables alone."""

import pathlib
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]


def run(top):
    return subprocess.run([TOP / "tools/check-names", top], capture_output=True, text=True,
                          check=False)


@pytest.fixture
def tree(tmp_path):
    metrics = tmp_path / "src/metric/metrics.def"
    metrics.parent.mkdir(parents=True)
    metrics.write_text('METRIC(process, memory_rss, GAUGE, bytes, SUM, CHEAP, "")\n'
                       'METRIC(process, threads, GAUGE, count, SUM, CHEAP, "")\n')

    def write(path, text):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return tmp_path

    return write


def test_this_tree():
    done = run(TOP)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("path, text", [
    ("src/sink/x.c", 'puts("memory_rss_bytes");\n'),
    ("src/cli/x.c", 'puts("a target_memory_rss_bytes of it");\n'),
    ("src/layout/translation.c", 'find("main_memory_rss_bytes");\n'),
    ("python/toll/x.py", "row['memory_rss_bytes']\n"),
])
def test_a_name_by_hand(tree, path, text):
    done = run(tree(path, text))
    assert done.returncode == 1
    assert "names the metric memory_rss_bytes" in done.stderr and path in done.stderr


@pytest.mark.parametrize("path, text", [
    ("src/sink/x.c", '/* "memory_rss_bytes" */ row_u64(r, process_memory_rss_bytes); puts("threads");\n'),
    ("src/sink/x.c", 'puts("memory_rss_bytes_of");\n'),
    ("src/layout/tables/x.c", '"memory_rss_bytes"\nconst struct layout layout_x = {\n'),
    ("src/metric/x.c", 'puts("memory_rss_bytes");\n'),
])
def test_what_may_be(tree, path, text):
    assert run(tree(path, text)).returncode == 0
