# SPDX-License-Identifier: MIT
"""`python -m toll` is the command `toll`; what a wheel installs as gpu-tracker is it, too."""

import os
import sys

from ._command import find_command


def _become(name: str) -> None:
    os.execv(find_command(), [name, *sys.argv[1:]])


def main() -> None:
    _become("toll")


def gpu_tracker() -> None:
    """The same program under another name, which is what it goes by."""
    _become("gpu-tracker")


if __name__ == "__main__":
    main()
