# SPDX-License-Identifier: MIT
"""The releases of resource-tracker: which columns and keys each has, and which one a program means.

A program says it for a single call with `columns=`, a release or a word of the layout's option
"columns", or once for all with use_release(). Otherwise each name has the columns of the release
that it is known from.
"""

from __future__ import annotations

from typing import Any, Dict, NamedTuple, Optional


class Release(NamedTuple):
    """What differs between releases, in words of the layout."""

    rows: str  # of a process or of the machine
    combined: str  # … of both; '' where there was no ResourceTracker
    unit: str  # in the keys of server_info: memory_mb, memory_mib
    starts: bool  # ResourceTracker begins when it is made


_FIRST = Release("v1", "", "mb", True)
_SECONDS = Release("0.4", "combined-0.4", "mb", True)
_MIB = Release("v2", "combined", "mib", False)
_NAMED_UNITS = Release("v2", "host-proc", "mib", False)

RELEASES: Dict[str, Release] = {
    "0.1": _FIRST,
    "0.2": _SECONDS,
    "0.3": _SECONDS,
    "0.4": _SECONDS,
    "0.5": _MIB,
    "0.6": _NAMED_UNITS,
}
# The words of the layout mean the release that has these columns.
_WORDS = {
    **RELEASES,
    "v1": _FIRST,
    "combined-0.4": _SECONDS,
    "v2": _MIB,
    "combined": _MIB,
    "host-proc": _NAMED_UNITS,
}
_used: Dict[str, Optional[Release]] = {"release": None}


def _named(word: str) -> Release:
    found = _WORDS.get(word)
    if found is None:
        raise ValueError(f"columns: invalid value {word!r} (expected a release, {', '.join(RELEASES)}, or {_others()})")
    return found


def _others() -> str:
    return ", ".join(word for word in _WORDS if word not in RELEASES)


def use_release(release: Optional[str]) -> None:
    """From now on the columns, keys and defaults are those of this release, "0.1" to "0.6", in every
    call that does not say otherwise; None: as before."""
    if release is not None and release not in RELEASES:
        raise ValueError(f"release: invalid value {release!r} (expected {', '.join(RELEASES)}, or None)")
    _used["release"] = None if release is None else RELEASES[release]


def used_release() -> Optional[Release]:
    """What use_release() was called with; None: nothing."""
    return _used["release"]


def chosen(columns: Optional[str], otherwise: str) -> Release:
    """What a call means: its own `columns`, or that of use_release(), or what that name has."""
    if columns is not None:
        return _named(columns)
    return _used["release"] or RELEASES[otherwise]


def is_moment(value: Any) -> bool:
    """A time of day in seconds since 1970, not a length of time: that is three years and more."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 1e8
