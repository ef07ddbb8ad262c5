# SPDX-License-Identifier: MIT
"""Warnings for the program that uses this package."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Dict, List, Optional

if TYPE_CHECKING:
    from ._summary import Summary

_HERE = os.path.join(os.path.dirname(__file__), "")


def warn(sentence: str, error: Optional[BaseException] = None) -> None:
    """A RuntimeWarning, at the line of the program that called into this package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        level, frame = level + 1, frame.f_back
    import warnings

    try:
        warnings.warn(sentence, RuntimeWarning, stacklevel=level)
    except RuntimeWarning:  # as the program has asked for; an exception that propagates is more important
        if error is None:
            raise


def _sentence(output: Dict[str, Any]) -> str:
    lost, kept = output["dropped"], output["kept"]
    counts = [f"{lost} of {output['samples']} samples lost"] if lost else []
    counts += [f"{kept} of {output['samples']} samples kept to send later"] if kept else []
    parts = [output["name"], ", ".join(counts), output["failure"]]
    return ": ".join(part for part in parts if part)


def what_failed(failed: int, paths: List[str], summary: "Summary") -> str:
    """Which outputs are incomplete, and why. Names come from the summary, never from the arguments of
    the program, which may hold passwords; only paths of files are compared with them."""
    found = [note for note in summary.notes if any(f"'{path}'" in note for path in paths)]
    found += [
        _sentence(output)
        for output in summary.to_dict().get("outputs", [])
        if not output["complete"] and not any(f"'{output['name']}'" in note for note in found)
    ]
    return f"output incomplete: {'; '.join(found) or os.strerror(-failed)}"


def what_was_kept(summary: "Summary") -> Optional[str]:
    """What was kept to be sent later, or None."""
    outputs = summary.to_dict().get("outputs", [])
    kept = [_sentence(output) for output in outputs if output["complete"] and output["kept"]]
    return f"output not sent yet: {'; '.join(kept)}" if kept else None
