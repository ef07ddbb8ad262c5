# SPDX-License-Identifier: MIT
"""For every test in Python, whether meson, run-tests or pytest alone has started it."""

import inspect
import os
import pathlib
import subprocess
import sys
import tempfile

import pytest

sys.path.insert(0, os.path.dirname(__file__))
import hostlib  # noqa: E402

hostlib.set_signals()
for name in ("TOLL", "TOLL_BUILD"):  # tests change their directory
    if name in os.environ:
        os.environ[name] = os.path.abspath(os.environ[name])
os.environ["XDG_CONFIG_HOME"] = "/dev/null/none"  # not the settings of the user who tests
os.umask(0o022)  # root's is often 077, and expected modes are those of most users


def has_sqlite():
    """Whether the command can write a database; True where there is none to ask."""
    toll = os.environ.get("TOLL")
    if not toll or not os.access(toll, os.X_OK):
        return True
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run([toll, "run", "-q", "-o", f"{directory}/x.sqlite", "true"],
                              capture_output=True, text=True, check=False)
    return "built without SQLite" not in done.stderr


def pytest_collection_modifyitems(items):
    """Tests that mention SQLite are skipped where the command was built without it."""
    about = [item for item in items if "sqlite" in item.nodeid
             or "sqlite" in inspect.getsource(getattr(item, "function", item.__class__))]
    if about and not has_sqlite():
        for item in about:
            item.add_marker(pytest.mark.skip(reason="needs the Debian package libsqlite3-dev"))


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
