# SPDX-License-Identifier: MIT
"""Dialects: the columns of other tools, and frames as their rows."""

from __future__ import annotations

from typing import Dict, Iterable, Iterator, List, NamedTuple, Union

from . import _toll

Cell = Union[int, float, str, None]


class DialectOption(NamedTuple):
    """What can be said to a dialect: "process-metrics,samples=5"."""

    name: str
    value: str
    """when nothing is said; '' when that depends on the machine"""
    accepted: str
    """words with blanks between, NUMBER or TEXT"""
    help: str


class DialectColumn(NamedTuple):
    """A column or key of another tool, and what it is in toll's words."""

    format: str
    """csv, jsonl, …"""
    columns: str
    """the word of the option "columns" that it belongs to, or ''"""
    subject: str
    """target or machine, when there is one set for each; or ''"""
    file: str
    """its file, where a dialect writes several into a directory; or ''"""
    name: str
    label: str
    """in a text, or ''"""
    terms: str
    """figures, with signs between; @… is a fact, =… an option"""
    take: str
    """value, delta, rate, total, max, mean or share"""
    type: str
    """integer, float or text"""
    factor: float
    """from toll's unit to theirs, before options"""
    decimals: int
    """at most so many; 0: all that the number has"""
    optional: bool
    """left out when it is 0 or not known"""


class Dialect(NamedTuple):
    """The columns, units and order that another tool's users know."""

    name: str
    formats: List[str]
    help: str
    interval: float
    """seconds between samples that the tool has by default; 0: it has no default"""
    options: List[DialectOption]
    columns: List[DialectColumn]


def dialects() -> List[Dialect]:
    """All there are, with their options and columns."""
    return [
        Dialect(
            name,
            formats.split(),
            help,
            interval,
            [DialectOption(*one) for one in options],
            [DialectColumn(*one) for one in columns],
        )
        for name, formats, help, interval, options, columns in _toll.dialects()
    ]


def dialect_columns(name: str, **wanted: str) -> List[DialectColumn]:
    """The columns of one dialect, only those with format=…, columns=…, subject=…, file=…"""
    (found,) = (one for one in dialects() if one.name == name)
    return [
        column
        for column in found.columns
        if all(getattr(column, key) == value for key, value in wanted.items())
    ]


class Translator:
    """Frames as rows of a dialect: `for row in toll.Translator("spdl").rows(frame):`.

    A row is a dict with the dialect's names in its order; what is not known is None. Frames are
    given in order: counters are told as what they grew by since the frame before. `pid`, `group`
    and `cpus` are for columns that frames do not have. Snapshots are frames, too: `since=1` says
    that their counters are from before, and tell(elapsed=…) when each was taken.
    """

    def __init__(self, dialect: str, **facts: float) -> None:
        self._native = _toll.translator(dialect)
        self._columns: List[str] = []
        self.tell(**facts)

    def tell(self, **facts: float) -> None:
        """What frames do not say: `tell(elapsed=time.monotonic() - start)`."""
        for fact, value in facts.items():
            self._native.tell(fact, value)

    @property
    def columns(self) -> List[str]:
        """Their names; none before the first frame, which tells whether it is of a target."""
        if not self._columns:
            self._columns = self._native.columns()
        return self._columns

    def rows(self, frame: _toll.Frame) -> List[Dict[str, Cell]]:
        """What came of a frame: one row, one for each target, or none while one is averaged."""
        found = self._native.rows(frame)
        return [dict(zip(self.columns, row)) for row in found]

    def translate(self, frames: Iterable[_toll.Frame]) -> Iterator[Dict[str, Cell]]:
        """The rows of many frames, as they come."""
        for frame in frames:
            yield from self.rows(frame)
