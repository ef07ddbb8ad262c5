# SPDX-License-Identifier: MIT
"""`python -m toll.compat.gpu_tracker` is the command `gpu-tracker`."""

from ...__main__ import gpu_tracker


def main() -> None:
    """Becomes the command, with the words behind the name of the program."""
    gpu_tracker()


if __name__ == "__main__":
    main()
