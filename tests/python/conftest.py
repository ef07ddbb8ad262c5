# SPDX-License-Identifier: MIT
"""The package is imported from the build directory."""

import os
import pathlib
import sys

import pytest

PACKAGE = pathlib.Path(os.environ["TOLL_BUILD"]).resolve() / "python"
sys.path.insert(0, str(PACKAGE))
sys.path.insert(0, os.path.dirname(__file__))

SANITIZED = "TOLL_SANITIZED" in os.environ


class NotBuilt(pytest.Module):
    """In the place of a file of tests where the package is not there."""

    def collect(self):
        pytest.skip("needs the Debian package python3-dev", allow_module_level=True)


def pytest_pycollect_makemodule(module_path, parent):
    if (PACKAGE / "toll/_toll.abi3.so").exists():
        return None  # as usual
    return NotBuilt.from_parent(parent, path=module_path)


@pytest.fixture
def python():
    """Run a script in a process of its own; its standard output."""
    import subprocess

    def run(script, **variables):
        done = subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONPATH": f"{PACKAGE}:{os.path.dirname(__file__)}", **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    return run
