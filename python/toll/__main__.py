# SPDX-License-Identifier: MIT
"""`python -m toll` is the command `toll`."""

import os
import sys

from ._command import find_command


def main() -> None:
    command = find_command()
    os.execv(command, ["toll", *sys.argv[1:]])


if __name__ == "__main__":
    main()
