# SPDX-License-Identifier: MIT
import os


def pytest_addoption(parser):
    parser.addoption(
        "--update",
        action="store_true",
        default=os.environ.get("UPDATE") == "1",
        help="write what toll says now to tests/golden/expected, to be looked at with git diff",
    )
