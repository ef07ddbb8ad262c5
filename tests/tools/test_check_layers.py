# SPDX-License-Identifier: MIT
"""tools/check-layers on small trees, good and bad."""

import pathlib
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]


def check(tmp_path, files, *options):
    src = tmp_path / "src"
    for name, text in files.items():
        path = src / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return subprocess.run(
        [TOP / "tools/check-layers", *options, src], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    "path, include",
    [
        ("base/buf.c", '"base/util.h"'),
        ("base/buf.c", "<stdio.h>"),
        ("base/buf.c", "<sys/types.h>"),
        ("base/err.h", '"toll.h"'),
        ("metric/metric.c", '"metric/metrics.def"'),
        ("source/pid_files.c", '"base/text/scan.h"'),
        ("source/proc/reader.c", '"source/pid_files.h"'),
        ("source/proc/reader.c", '"source/proc/reader.h"'),
        ("sink/mlflow/client.c", '"sink/sender.h"'),
        ("engine/target/walk.c", '"engine/tracker.h"'),
        ("engine/step.c", '"engine/target/walk.h"'),
        ("summary/stat.c", '"metric/frame.h"'),
        ("sink/csv.c", '"layout/layout.h"'),
        ("sink/csv.c", '"summary/summary.h"'),
        ("engine/api.c", '"source/proc/reader.h"'),
        ("engine/api.c", '"sink/sinks.h"'),
        ("cli/run.c", '"toll.h"'),
        ("cli/run.c", '"base/buf.h"'),
    ],
)
def test_allowed(tmp_path, path, include):
    done = check(tmp_path, {path: f"#include {include}\n"})
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "path, include",
    [
        ("base/buf.c", '"metric/metric.h"'),
        ("metric/metric.def", '"source/pid_files.h"'),
        ("source/proc/reader.c", '"account/tree.h"'),
        ("account/tree.c", '"source/collector.h"'),
        ("record/write.c", '"sink/sink.h"'),
        ("summary/stat.c", '"account/tree.h"'),
        ("summary/stat.c", '"sink/sink.h"'),
        ("layout/tables/spdl.c", '"source/collector.h"'),
        ("sink/csv.c", '"account/tree.h"'),
        ("sink/csv.c", '"source/collector.h"'),
        ("sink/csv.c", '"engine/plan.h"'),
        ("sink/csv.c", "<engine/plan.h>"),
        ("engine/api.c", '"cli/run.h"'),
        ("cli/run.c", '"engine/plan.h"'),
        ("cli/run.c", '"metric/metric.h"'),
    ],
)
def test_reaching_upward(tmp_path, path, include):
    done = check(tmp_path, {path: f"/* text */\n  #  include {include}\n"})
    assert done.returncode == 1
    folder, other = path.split("/")[0], include.strip('"<>').split("/")[0]
    line = f"{tmp_path}/src/{path}:2: {folder}/ may not include {other}/"
    assert done.stderr.startswith(line)
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("include", ["scan.h", "../base/scan.h", "base/../cli/run.h", "other/x.h"])
def test_include_without_its_folder(tmp_path, include):
    done = check(tmp_path, {"base/buf.c": f'#include "{include}"\n'})
    assert done.returncode == 1
    assert 'is not written as "folder/file"' in done.stderr


def test_every_violation_has_its_line(tmp_path):
    done = check(
        tmp_path,
        {
            "base/buf.c": '#include "cli/run.h"\n#include "sink/csv.h"\n',
            "metric/frame.c": '#include "source/collector.h"\n',
        },
    )
    assert done.returncode == 1
    assert [line.split("/src/")[1].split(" ")[0] for line in done.stderr.splitlines()] == [
        "base/buf.c:1:",
        "base/buf.c:2:",
        "metric/frame.c:1:",
    ]


@pytest.mark.parametrize("path, include", [
    ("source/net/sockets.c", "source/proc/reader.h"),
    ("source/collector.c", "source/gpu/vendor.h"),
    ("sink/mlflow/client.c", "sink/otlp/otlp.h"),
    ("sink/csv.c", "sink/otlp/otlp.h"),
])
def test_sources_and_sinks_do_not_know_each_other(tmp_path, path, include):
    done = check(tmp_path, {path: f'#include "{include}"\n'})
    assert done.returncode == 1
    folder, other = path.rpartition("/")[0], include.rpartition("/")[0]
    assert f"{folder}/ may not include {other}/" in done.stderr


def test_file_in_no_layer(tmp_path):
    for name in ("stray.c", "util/stray.c"):
        done = check(tmp_path / name.replace("/", "-"), {name: ""})
        assert done.returncode == 1
        assert "is in none of the layers" in done.stderr


def test_step_of_the_build(tmp_path):
    stamp, depfile = tmp_path / "stamp", tmp_path / "depfile"
    options = ["--stamp", stamp, "--depfile", depfile]

    assert check(tmp_path, {"base/buf.c": '#include "cli/run.h"\n'}, *options).returncode == 1
    assert not stamp.exists()

    assert check(tmp_path, {"base/buf.c": ""}, *options).returncode == 0
    assert stamp.exists()
    assert depfile.read_text() == f"{stamp}: {tmp_path}/src/base/buf.c\n"


def test_source_directory_missing(tmp_path):
    done = subprocess.run(
        [TOP / "tools/check-layers", tmp_path / "none"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
