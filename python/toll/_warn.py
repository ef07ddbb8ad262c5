# SPDX-License-Identifier: MIT
"""Warnings for the program that uses this package."""

from __future__ import annotations

import os
import sys
import warnings
from typing import TYPE_CHECKING, Any, Dict, List, Optional

if TYPE_CHECKING:
    from ._summary import Summary

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


def _sentence(output: Dict[str, Any]) -> str:
    lost, kept = output["dropped"], output["kept"]
    counts = [f"{lost} of {output['samples']} samples are lost"] if lost else []
    counts += [f"{kept} of {output['samples']} samples are put aside"] if kept else []
    parts = [output["name"], ", ".join(counts), output["failure"]]
    return ": ".join(part for part in parts if part)


def what_failed(failed: int, paths: List[str], summary: "Summary") -> str:
    """Which outputs are not complete, and why: never by the words of the program, which may hold
    passwords, but for the paths of files that the notes of the summary name."""
    told = [note for note in summary.notes if any(f"'{path}'" in note for path in paths)]
    told += [
        _sentence(output)
        for output in summary.to_dict().get("outputs", [])
        if not output["complete"] and not any(f"'{output['name']}'" in note for note in told)
    ]
    return f"an output is not complete: {'; '.join(told) or os.strerror(-failed)}"


def what_was_kept(summary: "Summary") -> Optional[str]:
    """What waits to be sent by somebody, or None."""
    outputs = summary.to_dict().get("outputs", [])
    kept = [_sentence(output) for output in outputs if output["complete"] and output["kept"]]
    return f"an output is not delivered yet: {'; '.join(kept)}" if kept else None
