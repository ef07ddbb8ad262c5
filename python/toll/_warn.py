# SPDX-License-Identifier: MIT
"""Warnings for the program that uses this package."""

from __future__ import annotations

import os
import sys
import warnings
from typing import List, Optional

_HERE = os.path.join(os.path.dirname(__file__), "")


def warn(sentence: str, error: Optional[BaseException] = None) -> None:
    """A RuntimeWarning, at the line of the program that called into this package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        level, frame = level + 1, frame.f_back
    try:
        warnings.warn(sentence, RuntimeWarning, stacklevel=level)
    except RuntimeWarning:  # as the program has asked for; an error that is on its way says more
        if error is None:
            raise


def what_failed(failed: int, paths: List[str], notes: List[str]) -> str:
    """Which outputs are not complete, and why: notes of the summary have it."""
    told = [note for note in notes if any(f"'{path}'" in note for path in paths)]
    why = "; ".join(told) or f"{', '.join(map(repr, paths))}: {os.strerror(-failed)}"
    return f"an output is not complete: {why}"
