# SPDX-License-Identifier: MIT
"""The names that the columns of a process and of the machine have side by side: three sets of them,
that are told apart and matched by the tables of the dialect."""

from __future__ import annotations

from typing import Any, Dict, Optional

from .._dialects import DialectColumn, dialect_columns
from ._statistics import TIME, Stats
from ._table import StatSpec

COMBINED = "combined"
LABELLED = "host-proc"  # the set whose columns have names for people, too
PROCESS, SYSTEM = "process_", "system_"
_HUMAN = {PROCESS: "Process ", SYSTEM: "System "}


def _what(column: DialectColumn) -> str:
    """What it is in toll's words, which is the same in all sets."""
    return f"{column.terms} {column.take} {column.factor}"


class Names:
    """From the names of the rows to those that are asked for, and back."""

    def __init__(self, columns: str = COMBINED) -> None:
        own = dialect_columns("resource-tracker", columns=COMBINED)
        asked = {_what(c): c for c in dialect_columns("resource-tracker", columns=columns)}
        labelled = {_what(c): c for c in dialect_columns("resource-tracker", columns=LABELLED)}
        if columns not in (COMBINED, LABELLED):
            raise ValueError(f"columns is {columns!r}; it takes {COMBINED!r} or {LABELLED!r}")
        self._names = {c.name: asked[_what(c)].name if _what(c) in asked else c.name for c in own}
        self._labels = {c.name: labelled[_what(c)].label for c in own if _what(c) in labelled}
        self._factors = {c.name: c.factor for c in own if 0 < c.factor < 1}

    def in_bytes(self, row: Dict[str, Any]) -> Dict[str, Any]:
        """A row with what has a larger unit in bytes."""
        return {
            name: value / self._factors[name] if name in self._factors and value is not None else value
            for name, value in row.items()
        }

    def _label(self, name: str) -> str:
        for prefix, words in _HUMAN.items():
            if name.startswith(prefix):
                return self._labels.get(name, words + name[len(prefix) :])
        return self._labels.get(name, name)

    def new(self, human: bool, system: Optional[str], process: Optional[str]) -> Dict[str, str]:
        """For each name of a row the one that is asked for; a prefix of one's own replaces theirs."""
        found = {name: self._label(name) if human else other for name, other in self._names.items()}
        for old, wanted in ((SYSTEM, system), (PROCESS, process)):
            if wanted is None:
                continue
            for name in self._names:
                if name.startswith(old):
                    plain = self._label(name)[len(_HUMAN[old]) :] if human else name[len(old) :]
                    found[name] = wanted + plain
        return found

    def spec(self, spec: StatSpec) -> StatSpec:
        """A statistic of the column as it is called now."""
        return spec._replace(column=self._names.get(spec.column, spec.column))

    def old(self, stats: Stats) -> Stats:
        """Statistics by the names of the rows."""
        back = {new: name for name, new in self._names.items()}
        return {back.get(name, name): value for name, value in stats.items() if name != TIME}
