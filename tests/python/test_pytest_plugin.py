# SPDX-License-Identifier: MIT
"""The plugin of pytest, in a pytest of its own, with and without the workers of pytest-xdist."""

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree

import pytest
from conftest import PACKAGE
from hostlib import module

TESTS = '''
import os, resource, subprocess, sys, time
import pytest

def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass

def truth():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime + time.thread_time()

def test_children(record_property):
    before = truth()
    code = "import time\\nwhile time.process_time() < 0.3: pass"
    subprocess.run([sys.executable, "-c", code], check=True)
    record_property("truth_cpu_seconds", truth() - before)

def test_nothing():
    pass

@pytest.mark.toll(cpu_seconds="100ms")
def test_over():
    burn(0.3)

@pytest.mark.toll(cpu_seconds=60, peak_memory="100G")
def test_within():
    burn(0.01)

@pytest.mark.toll(memory_growth="32M")
def test_memory():
    held = b"x" * (64 << 20)
    time.sleep(0.2)

@pytest.mark.toll(memroy="1M")
def test_misspelt():
    pass
'''


@pytest.fixture
def run(tmp_path):
    (tmp_path / "test_it.py").write_text(TESTS, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")

    def call(*options):
        kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
        return subprocess.run(
            [sys.executable, "-B", "-m", "pytest", "-p", "toll.pytest_plugin", *options],
            cwd=tmp_path, env={**kept, "PYTHONPATH": str(PACKAGE)}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False,
        ).stdout

    return call


def outcomes(printed):
    return {kind: int(n) for n, kind in re.findall(r"(\d+) (passed|failed|error)", printed)}


EXPECTED = {"passed": 3, "failed": 2, "error": 1}


@pytest.mark.parametrize("workers", [0, 2])
def test_figures_limits_and_workers(run, tmp_path, workers):
    if workers:
        module("xdist")
    options = ["-n", str(workers)] if workers else []
    printed = run("--toll", "--toll-json", "out.jsonl", "--junitxml", "junit.xml", *options)
    assert outcomes(printed) == EXPECTED, printed
    assert "toll: CPU time: " in printed and "more than the limit of 100 ms" in printed
    assert "toll: memory growth: " in printed and "more than the limit of 32.0 MiB" in printed
    assert "unknown figure 'memroy'" in printed
    assert "by CPU time" in printed and "test_it.py::test_children" in printed
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    by_test = {line["test"].split("::")[1]: line for line in lines}
    assert set(by_test) == {"test_children", "test_nothing", "test_over", "test_within", "test_memory"}
    assert all(("worker" in line) == bool(workers) for line in lines)
    # The truth of the same call: getrusage of the child, and the clock of the thread that runs the
    # test, without the sampler's. Of an ended child /proc has user and system time in whole ticks of
    # 10 ms. What pytest itself does between the samples and the test is more: a tenth of a second.
    junit = xml.etree.ElementTree.parse(tmp_path / "junit.xml")
    found = {p.get("name"): p.get("value") for p in junit.iterfind(".//*[@name='test_children']//property")}
    truth = float(found["truth_cpu_seconds"])
    assert truth >= 0.3
    assert truth - 0.021 <= by_test["test_children"]["cpu_seconds"] <= truth + 0.1
    assert float(found["toll_cpu_seconds"]) == by_test["test_children"]["cpu_seconds"]
    assert by_test["test_memory"]["memory_growth"] >= 60 << 20


def test_limits_without_the_option(run):
    printed = run()
    assert outcomes(printed) == EXPECTED, printed
    assert "toll: CPU time: " in printed and "by CPU time" not in printed


def test_markers_are_listed(run):
    assert "@pytest.mark.toll(" in run("--markers")


def test_mistakes_are_found_before_the_tests_run(run):
    printed = run("--toll-json", "no/such/place.jsonl")
    assert printed == "ERROR: --toll-json: no/such/place.jsonl: No such file or directory\n\n"
    for count in ("-1", "many"):
        printed = run("--toll", f"--toll-top={count}")
        assert f"argument --toll-top: invalid number of tests value: '{count}'" in printed
    printed = run("-k", "misspelt")
    assert "During handling" not in printed and "ValueError" not in printed


def test_a_full_disk(run):
    """The outcomes are those of the tests."""
    printed = run("--toll-json", "/dev/full")
    assert outcomes(printed) == EXPECTED, printed
    assert "toll: /dev/full: No space left on device: figures of tests are missing" in printed
    assert "by CPU time" in printed and "INTERNALERROR" not in printed and "Traceback" not in printed


def test_figures_outlive_pytest(run, tmp_path):
    """Each line is written at once."""
    path = tmp_path / "test_it.py"
    path.write_text(path.read_text(encoding="utf-8") + "\ndef test_zz_crash():\n    os.kill(os.getpid(), 9)\n",
                    encoding="utf-8")
    run("--toll-json", "out.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [line["test"].split("::")[1] for line in lines] == [
        "test_children", "test_nothing", "test_over", "test_within", "test_memory"]
