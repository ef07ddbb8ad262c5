# SPDX-License-Identifier: MIT
"""That every test is run, and how tools/run-tests counts."""

import collections
import importlib.machinery
import importlib.util
import json
import os
import pathlib

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]


def load(path):
    loader = importlib.machinery.SourceFileLoader("run_tests", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_tests", loader))
    loader.exec_module(module)
    return module


run_tests = load(TOP / "tools/run-tests")


def test_meson_knows_every_file_of_tests():
    """A new file that is in no list of tests/meson.build would never fail."""
    known = json.loads(pathlib.Path(os.environ["TOLL_BUILD"], "meson-info/intro-tests.json").read_text())
    files = {pathlib.Path(word).resolve() for test in known for word in test["cmd"] if word.endswith(".py")}
    in_python = {path.resolve() for path in (TOP / "tests").rglob("test_*.py")}
    assert in_python - files == set()
    names = {test["name"] for test in known}
    in_c = {str(path.relative_to(TOP / "tests/unit").with_suffix("")) for path in TOP.glob("tests/unit/*/**/*.c")}
    assert in_c - names == set() or "unit tests" in names, "a test called `unit tests` says that cmocka is missing"


def count(**test):
    return collections.Counter(run_tests.cases({"command": ["test"], "stdout": "", **test}))


@pytest.mark.parametrize(
    "result, verdict",
    [
        ("OK", "passed"),
        ("EXPECTEDFAIL", "passed"),
        ("SKIP", "skipped"),
        ("FAIL", "failed"),
        ("ERROR", "failed"),
        ("TIMEOUT", "failed"),
        ("INTERRUPT", "failed"),
        ("UNEXPECTEDPASS", "failed"),
    ],
)
def test_a_plain_test_is_one_case(result, verdict):
    assert count(result=result) == {verdict: 1}


def test_every_line_of_tap_is_a_case():
    text = "1..5\nok 1 - a\nok - b\n# ok, a remark\nnot ok 3 - c\nok 4 # SKIP no GPU\nokay\nok 5\n"
    assert count(result="FAIL", stdout=text) == {"passed": 3, "failed": 1, "skipped": 1}


def test_a_crash_behind_good_cases_counts():
    assert count(result="ERROR", stdout="1..1\nok 1\n") == {"passed": 1, "failed": 1}


def test_cases_of_pytest(tmp_path):
    log = tmp_path / "log.xml"
    log.write_text(
        '<testsuites><testsuite><testcase name="a"/><testcase name="b"><failure/></testcase>'
        '<testcase name="c"><skipped/></testcase><testcase name="d"><error/></testcase>'
        "</testsuite></testsuites>"
    )
    command = ["python3", "-m", "pytest", "--junitxml", str(log), "x.py"]
    assert count(result="FAIL", command=command) == {"passed": 1, "failed": 2, "skipped": 1}


def test_pytest_that_wrote_nothing(tmp_path):
    command = ["python3", "-m", "pytest", "--junitxml", str(tmp_path / "none.xml"), "x.py"]
    # What a test prints is no protocol here.
    assert count(result="ERROR", command=command, stdout="ok 1\n") == {"failed": 1}


def test_closing_line():
    line = run_tests.closing_line
    assert line(collections.Counter()) == "0 passed, 0 failed"
    assert line(collections.Counter(passed=12, failed=1)) == "12 passed, 1 failed"
    assert line(collections.Counter(passed=2, skipped=3)) == "2 passed, 0 failed, 3 skipped"


def reasons(**test):
    return run_tests.skip_reasons({"name": "sockets", "command": ["test"], "stdout": "", **test})


def test_reasons_of_skips_in_tap():
    text = "1..3\nok 1 - a\nok 2 - b # SKIP no GPU\nok 3 # SKIP test_c\nok # skip\n"
    assert reasons(stdout=text) == ["no GPU", "sockets test_c", "sockets"]
    assert reasons(stdout="1..0 # SKIP needs the Debian package x\n") == ["needs the Debian package x"]


def test_reasons_of_skips_in_pytest(tmp_path):
    log = tmp_path / "log.xml"
    log.write_text(
        '<testsuites><testsuite><testcase name="a"><skipped message="needs root"/></testcase>'
        '<testcase name="b"/><testcase name="c"><skipped message="collection skipped">'
        "('/a/conftest.py', 21, 'Skipped: needs the Debian package y')</skipped></testcase>"
        "</testsuite></testsuites>"
    )
    command = ["python3", "--junitxml", str(log)]
    assert reasons(command=command) == ["needs root", "needs the Debian package y"]
    log.unlink()
    said = "skipped: needs the Debian package python3-pytest\n"
    assert reasons(command=command, stdout=said) == ["needs the Debian package python3-pytest"]


def test_packages_that_skipped_tests_need():
    found = {"needs root": 3, "needs the Debian package zsh": 1, "needs the Debian package fish, zsh": 2}
    assert run_tests.packages(found) == ["fish", "zsh"]
    assert run_tests.packages({}) == []
