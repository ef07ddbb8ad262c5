# SPDX-License-Identifier: MIT
"""For every test in Python, whether meson, run-tests or pytest alone has started it."""

import os
import pathlib
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))
import hostlib  # noqa: E402

hostlib.set_signals()
for name in ("TOLL", "TOLL_BUILD"):  # tests change their directory
    if name in os.environ:
        os.environ[name] = os.path.abspath(os.environ[name])
os.umask(0o022)  # root's is often 077, and expected modes are those of most users


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """A test that could not start a program of PROGRAMS is skipped with the name of its package."""
    outcome = yield
    if call.excinfo is None or not call.excinfo.errisinstance(FileNotFoundError):
        return
    why = missing_program(call.excinfo.value)
    if why:
        report = outcome.get_result()
        report.outcome = "skipped"
        report.longrepr = (str(item.path), item.location[1] or 0, f"Skipped: {why}")


def missing_program(error):
    name = pathlib.Path(os.fsdecode(error.filename or "")).name
    return hostlib.lacking(name) if name in hostlib.PROGRAMS else None
