# SPDX-License-Identifier: MIT
"""Layouts: the columns of other tools, and frames as their rows."""

from __future__ import annotations

from typing import Dict, Iterable, Iterator, List, NamedTuple, Union

from . import _toll

Cell = Union[int, float, str, None]


class LayoutOption(NamedTuple):
    """An option of a layout: "process-metrics,samples=5"."""

    name: str
    value: str
    """default; '' when it depends on the machine"""
    accepted: str
    """words separated by blanks, NUMBER or TEXT"""
    help: str


class LayoutColumn(NamedTuple):
    """A column or key of another tool, and the figures of toll that it is made of."""

    format: str
    """csv, jsonl, …"""
    columns: str
    """the value of the option "columns" that it belongs to, or ''"""
    subject: str
    """target or machine, if there is a set for each; or ''"""
    file: str
    """its file, if the layout writes several into a directory; or ''"""
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
    """at most this many; 0: all that the number has"""
    optional: bool
    """left out when it is 0 or not known"""


class Layout(NamedTuple):
    """The columns, units and order that another tool's users know."""

    name: str
    formats: List[str]
    help: str
    interval: float
    """default seconds between samples of that tool; 0: it has none"""
    options: List[LayoutOption]
    columns: List[LayoutColumn]


def layouts() -> List[Layout]:
    """The columns of other tools that toll can write, as a list of Layout.

        [layout.name for layout in toll.layouts()]

    `toll layouts` lists them, too.
    """
    return [
        Layout(
            name,
            formats.split(),
            help,
            interval,
            [LayoutOption(*one) for one in options],
            [LayoutColumn(*one) for one in columns],
        )
        for name, formats, help, interval, options, columns in _toll.layouts()
    ]


def layout_columns(name: str, **wanted: str) -> List[LayoutColumn]:
    """The columns of one layout, only those with format=…, columns=…, subject=…, file=…"""
    (found,) = (one for one in layouts() if one.name == name)
    return [
        column
        for column in found.columns
        if all(getattr(column, key) == value for key, value in wanted.items())
    ]


class Translator:
    """Turns frames into rows of a layout: `for row in toll.Translator("spdl").rows(frame):`.

    A row is a dict with the columns of the layout in their order; what is not known is None. Pass
    frames in order: a counter is its growth since the previous frame. `pid`, `group` and `cpus` are
    for columns that frames do not have. For snapshots set `since=1` (counters count from before)
    and set_fact(elapsed=…) before each.
    """

    def __init__(self, layout: str, **facts: float) -> None:
        self._native = _toll.translator(layout)
        self._layout = layout
        self._columns: List[str] = []
        self.set_fact(**facts)

    def set_fact(self, **facts: float) -> None:
        """Set facts that frames lack: `set_fact(elapsed=time.monotonic() - start)`."""
        for fact, value in facts.items():
            self._native.set_fact(fact, value)

    tell = set_fact  # its name before 0.1.0

    @property
    def columns(self) -> List[str]:
        """The names of the columns; empty before the first frame."""
        if not self._columns:
            self._columns = self._native.columns()
        return self._columns

    def rows(self, frame: _toll.Frame) -> List[Dict[str, Cell]]:
        """The rows of a frame: one, or one for each target; none while several are averaged."""
        found = self._native.rows(frame)
        return [dict(zip(self.columns, row)) for row in found]

    def translate(self, frames: Iterable[_toll.Frame]) -> Iterator[Dict[str, Cell]]:
        """The rows of many frames, one after the other."""
        for frame in frames:
            yield from self.rows(frame)

    def __repr__(self) -> str:
        return f"<Translator {self._layout}>"


# Names before 0.1.0.
Dialect, DialectColumn, DialectOption, dialects = Layout, LayoutColumn, LayoutOption, layouts
