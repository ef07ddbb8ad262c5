# SPDX-License-Identifier: MIT
"""tools/fuzz: every target is run, a finding is named and makes it fail, and does not stop the rest."""

import os
import pathlib
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]

# A target that finds something, in libFuzzer's words: where it keeps the input is one of them.
FINDS = """#!/bin/sh
for word; do
    case $word in -artifact_prefix=*) echo bad >"${word#*=}crash-1" ;; esac
done
echo "does not hold"
exit 77
"""


def fake_build(directory, **targets):
    place = directory / "tests/fuzz"
    place.mkdir(parents=True)
    for name, script in targets.items():
        (place / f"libfuzzer_{name}").write_text(script)
        (place / f"libfuzzer_{name}").chmod(0o755)
        (place / f"fuzz_{name}").write_text("#!/bin/sh\nexit 0\n")  # replays only: is not run
        (place / f"fuzz_{name}").chmod(0o755)
    return directory


def fuzz(*words, **env):
    return subprocess.run([TOP / "tools/fuzz", *words], capture_output=True, text=True, check=False,
                          env={**os.environ, **env}, timeout=60)


def test_a_finding_fails_and_the_others_run(tmp_path):
    build = fake_build(tmp_path, first=FINDS, second="#!/bin/sh\necho \"$@\" >words\n", third=FINDS)
    done = fuzz(build, "--seconds", "7", "--runs", "9")
    assert done.returncode == 1
    assert {line for line in done.stdout.splitlines() if line.startswith(("ok", "not ok"))} == {
        "not ok - first", "ok - second", "not ok - third"}
    for name in ("first", "third"):
        assert f"# input: {build}/fuzz/{name}/found/crash-1" in done.stdout
    words = (build / "fuzz/second/words").read_text().split()
    assert {"-max_total_time=7", "-runs=9", "-seed=1"} <= set(words)
    assert words[-1] == f"{build}/tests/fuzz/corpus/second"


def test_some_targets(tmp_path):
    build = fake_build(tmp_path, first=FINDS, second="#!/bin/sh\n")
    done = fuzz(build, "second", "--jobs", "1")
    assert (done.returncode, done.stdout) == (0, "ok - second\n")
    assert fuzz(build, "nonsense").returncode == 1


def test_a_build_without_targets_is_no_success(tmp_path):
    done = fuzz(tmp_path)
    assert done.returncode == 1 and "no target" in done.stderr


@pytest.mark.parametrize("package", ["clang", "libclang-rt-dev"])
def test_what_is_missing_is_named(package, tmp_path):
    programs = tmp_path / "bin"
    programs.mkdir()
    if package != "clang":
        (programs / "clang").write_text("#!/bin/sh\nexit 1\n")
        (programs / "clang").chmod(0o755)
    done = fuzz(tmp_path / "build", "--setup", PATH=str(programs))
    assert (done.returncode, done.stdout) == (0, f"ok - fuzz # skip {package} is not installed\n")
