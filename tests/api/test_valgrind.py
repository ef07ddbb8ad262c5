# SPDX-License-Identifier: MIT
"""Under valgrind: the memory of the library is in order, and programs keep their descriptors though
valgrind's close_range only claims to make a separate table."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["TOLL_BUILD"])
TOLL = os.environ["TOLL"]
VALGRIND = shutil.which("valgrind")
FINDING = 99  # the exit status of a program in which valgrind found something

pytestmark = [
    pytest.mark.skipif("TOLL_SANITIZED" in os.environ,
                       reason="valgrind does not run programs with sanitizers"),
    pytest.mark.skipif(not VALGRIND, reason="needs the Debian package valgrind"),
]


@pytest.fixture(name="checked")
def fixture_checked(tmp_path):
    """Runs a command under memcheck; findings and leaks fail the test."""

    def run(*words, **options):
        command = [VALGRIND, "-q", f"--error-exitcode={FINDING}", "--leak-check=full",
                   "--errors-for-leak-kinds=definite,indirect,possible", "--child-silent-after-fork=yes",
                   f"--log-file={tmp_path}/valgrind", *map(str, words)]
        done = subprocess.run(command, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=300, check=False, **options)
        findings = (tmp_path / "valgrind").read_text()
        # It has not heard of newer calls, which is no fault of the program's.
        findings = re.sub(r"^--\d+-- .*\n", "", findings, flags=re.MULTILINE)
        assert done.returncode != FINDING and not findings, findings
        return done

    return run


def example(name):
    path = BUILD / "examples" / name
    if not path.exists():
        pytest.skip(f"{name} was not built here")
    return path


def test_descriptors_stay_intact(checked, tmp_path):
    program = tmp_path / "embedding"
    subprocess.run(["cc", "-g", f"-I{TOP}/include", "-o", program, TOP / "tests/api/embedding.c",
                    f"-L{BUILD}", "-ltoll", f"-Wl,-rpath,{BUILD}"], check=True)
    done = checked(program, "intact")
    assert done.returncode == 0, done.stderr
    assert "lost 0\n" in done.stdout and "finish 0\n" in done.stdout
    assert json.loads((tmp_path / "run.json").read_text())["target"]


@pytest.mark.parametrize("name, arguments, printed", [
    ("measure_self", ["summary.json"], "target_cpu_seconds"),
    ("cplusplus", [], "target_cpu_seconds"),
    ("frames", [], "frames"),
    ("own_gauge", ["run.jsonl"], ""),
    ("marks_only", [], ""),
    ("snapshot", ["process", os.getpid()], "target_cpu_seconds"),
    ("snapshot", ["tree", os.getpid()], "target_cpu_seconds"),
    ("snapshot", ["machine"], "system_cpu_seconds"),
    ("probe", [os.getpid(), 3, 1], ""),
    ("run_command", ["true"], ""),
    ("time_command", ["true"], ""),
    ("phases", [], ""),
])
def test_examples(checked, name, arguments, printed):
    done = checked(example(name), *arguments)
    assert done.returncode == 0, done.stderr
    assert printed in done.stdout


def test_every_example_is_tried():
    """… by the table above."""
    tried = {case[0] for mark in test_examples.pytestmark for case in mark.args[1]}
    assert tried == {path.stem for path in (TOP / "examples").glob("*.c*")}


def test_the_command(checked, tmp_path):
    """With every output that is a file, and children that come and go."""
    outputs = ["x.jsonl", "x.csv", "x.json", "x.sqlite", "x.om", "x.prom"]
    job = f"{TOLL} mark phase begin p; for i in 1 2 3 4 5; do {sys.executable} -c pass & done; wait; " \
          f"{TOLL} mark phase end p; exit 7"
    options = [word for name in outputs for word in ("-o", name)]
    done = checked(TOLL, "run", "-i", "10ms", "--system", *options, "--", "sh", "-c", job)
    assert done.returncode == 7, done.stderr
    assert [name for name in outputs if not (tmp_path / name).stat().st_size] == []
    assert checked(TOLL, "export", "x.jsonl", "-o", "y.csv").returncode == 0
    assert checked(TOLL, "export", "x.sqlite", "-o", "z.jsonl").returncode == 0


def test_gpu_helper(checked, tmp_path):
    """What is passed between toll and the process that calls the driver."""
    (tmp_path / "facts").write_text("gpus 2\nutilization 50\nenergy 1000\n0.compute 1 5\n")
    done = checked(TOLL, "run", "--gpus", "all", "-i", "100ms", "-o", "run.json", "--", "sleep", "1",
                   env={**os.environ, "FAKE_NVML": str(tmp_path / "facts"),
                        "LD_LIBRARY_PATH": str(BUILD / "tests/fakes/nvml")})
    assert done.returncode == 0, done.stderr
    assert len(json.loads((tmp_path / "run.json").read_text())["gpus"]) == 2
