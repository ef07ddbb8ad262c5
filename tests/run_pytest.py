# SPDX-License-Identifier: MIT
"""Run pytest for meson, which knows a skipped test by its status: where pytest is not installed, and
where a file has nothing that could run here.

usage: run_pytest.py [ARGUMENT of pytest …]
"""

import sys

SKIPPED = 77  # of a program that meson runs
NO_TESTS = 5  # of pytest, also when a whole file was skipped

try:
    import pytest
except ModuleNotFoundError:
    print("skipped: needs the Debian package python3-pytest")
    sys.exit(SKIPPED)

status = pytest.main(sys.argv[1:])
sys.exit(SKIPPED if status == NO_TESTS else int(status))
