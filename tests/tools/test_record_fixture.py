# SPDX-License-Identifier: MIT
"""tools/record-fixture: what it records can be replayed, and holds no secrets."""

import json
import os
import pathlib
import re
import subprocess

import hostlib
import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
TOOL = TOP / "tools/record-fixture"
TOLL = os.environ["TOLL"]
# Two children at once, one orphan that ends later, and a status of its own.
JOB = "sleep 0.4 & (seq 20000 | sort -R >/dev/null); wait; (sleep 0.1 &); exit 3"
READ_BY_TOLL = re.compile(
    r"t\d{3}/proc/(loadavg|\d+/(stat|io|status|smaps_rollup|fd/(\d+|\.none)"
    r"|task/\d+/(children|schedstat|io)))"
)


def record(directory, *words, tool=TOOL, **how):
    return subprocess.run(
        [tool, "-o", directory, *words], capture_output=True, text=True, timeout=60, check=False, **how
    )


def summary(directory):
    out = directory.with_suffix(".json")
    subprocess.run([TOLL, "replay", "-q", "-o", out, directory], check=True, timeout=60)
    return json.loads(out.read_text())


def script(directory):
    return [line.split() for line in (directory / "script").read_text().splitlines()]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    directory = tmp_path_factory.mktemp("recorded") / "run"
    env = os.environ | {"SECRET": "hunter2-in-the-environment"}
    done = record(directory, "--renumber", "--wait-all", "--", "/bin/sh", "-c", JOB, "hunter2-argument", env=env)
    assert done.returncode == 3, done.stderr
    return directory


def test_replay_tells_what_was_reaped(run):
    usage = [line for line in script(run) if line[0] == "usage"][-1]
    io = [line for line in script(run) if line[0] == "io"][-1]
    whole = summary(run)
    target = whole["target"]["combined"]
    assert whole["end"]["code"] == 3
    assert whole["name"] == "sh" and whole["host"] == "recorded"
    assert target["cpu_user_seconds"]["total"] == pytest.approx(float(usage[1]), abs=1e-6)
    assert target["cpu_system_seconds"]["total"] == pytest.approx(float(usage[2]), abs=1e-6)
    assert target["faults_minor"]["total"] == int(usage[3])
    assert target["io_read_bytes"]["total"] == int(io[1]) > 0
    # The recorder looks now and then: on a busy machine a short process may be over before.
    assert target["processes_started"]["total"] >= 1
    assert target["cpu_seconds"]["quality"] == "exact if reaped"


def test_only_what_toll_reads(run):
    files = [str(path.relative_to(run)) for path in run.rglob("*") if path.is_file()]
    assert [name for name in files if name != "script" and not READ_BY_TOLL.fullmatch(name)] == []
    for path in run.rglob("*"):
        if path.is_file():
            text = path.read_bytes()
            assert b"hunter2" not in text
            assert not text or path.name == "children" or text.endswith(b"\n"), path


def test_pids_are_renumbered(run):
    pids = {path.name for path in run.glob("t*/proc/[0-9]*")}
    assert "1000" in pids and "1001" in pids
    assert all(1000 <= int(pid) < 1100 for pid in pids)


@pytest.mark.parametrize("status, text", [("exit 0", "exit 0"), ("kill -9 $$", "signal 9")])
def test_status_is_passed_on(status, text, tmp_path):
    done = record(tmp_path / "run", "--", "sh", "-c", status)
    assert done.returncode == (0 if text == "exit 0" else 137)
    assert text in (tmp_path / "run/script").read_text()


def test_unknown_command(tmp_path):
    done = record(tmp_path / "run", "--", "/nonexistent/command")
    assert done.returncode == 127
    assert "No such file" in done.stderr


def test_existing_directory_is_kept(tmp_path):
    done = record(tmp_path, "--", "true")
    assert done.returncode == 2
    assert "is there already" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="is an ordinary user already")
def test_ordinary_user():
    nobody = {"user": hostlib.NOBODY, "group": hostlib.NOBODY, "extra_groups": []}
    # Below the directory of the tests, or of the checkout, an ordinary user may not even look.
    with hostlib.shared_place() as directory:
        os.chown(directory, hostlib.NOBODY, hostlib.NOBODY)
        run = directory / "run"
        tool = hostlib.shared_copy(TOOL)
        done = record(run, "--", "sh", "-c", "sleep 0.25; true", tool=tool, cwd=directory, **nobody)
        assert done.returncode == 0, done.stderr
        assert summary(run)["target"]["combined"]["io_read_bytes"]["total"] > 0
