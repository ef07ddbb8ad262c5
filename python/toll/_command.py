# SPDX-License-Identifier: MIT
"""The path of the command `toll`: in the package, or in the build directory."""

import os
from pathlib import Path


def find_command() -> str:
    """The path of the command; in a build directory the variable TOLL can name another one."""
    here = Path(__file__).resolve().parent
    installed = here / "bin" / "toll"
    if os.access(installed, os.X_OK):
        return str(installed)
    named = os.environ.get("TOLL")
    if named:
        return os.path.abspath(named)
    built = here.parents[1] / "toll"
    if os.access(built, os.X_OK) and not built.is_dir():
        return str(built)
    raise FileNotFoundError(
        f"run: command toll not found at {installed} or {built} (set the variable TOLL to its path)"
    )
