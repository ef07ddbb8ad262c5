# SPDX-License-Identifier: MIT
"""Where the command `toll` is: in the package, or in the build directory it is imported from."""

import os
from pathlib import Path


def find_command() -> str:
    """The path of the command; TOLL in the environment of a build directory names another one."""
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
        f"the command toll is neither at {installed} nor at {built}; "
        "the variable TOLL can name it"
    )
