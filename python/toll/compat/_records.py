# SPDX-License-Identifier: MIT
"""Data classes whose fields are the columns of a layout."""

from __future__ import annotations

import dataclasses
import sys
from typing import Any, Iterable, Tuple

TYPES = {"integer": int, "float": float, "text": str}
Field = Any  # (name, type), or with a default


def make_record(
    name: str, about: str, fields: Iterable[Field], bases: Tuple[type, ...] = ()
) -> Any:
    """A data class of the module that calls this, as if it were written there."""
    made = dataclasses.make_dataclass(name, fields, bases=bases)
    made.__doc__ = about
    made.__module__ = sys._getframe(1).f_globals["__name__"]
    return made
