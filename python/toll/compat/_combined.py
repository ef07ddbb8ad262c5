# SPDX-License-Identifier: MIT
"""The names that the columns of a process and of the machine have side by side: a set of them for
each release, that are matched by the tables of the layout."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

from .._layouts import LayoutColumn, layout_columns
from ._statistics import TIME, Stats
from ._table import StatSpec

LAYOUT = "resource-tracker"
COMBINED = "combined"  # by these names statistics and recommendations are worked out
LABELLED = "host-proc"  # the set whose columns have names for people, too
PROCESS, SYSTEM = "process_", "system_"
_HUMAN = {PROCESS: "Process ", SYSTEM: "System "}
_PID = {f"{PROCESS}pid": "Process PID"}


def _what(column: LayoutColumn) -> str:
    """What it is in toll's words, which is the same in all sets."""
    return f"{column.terms} {column.take}"


class Names:
    """From the names of the rows as they are kept to those that are asked for, and back."""

    def __init__(self, columns: str = COMBINED) -> None:
        # Rows are kept with names that have the prefixes of their part.
        self.kept = COMBINED if columns == LABELLED else columns
        kept = {_what(c): c for c in layout_columns(LAYOUT, columns=self.kept)}
        asked = {_what(c): c for c in layout_columns(LAYOUT, columns=columns)}
        known = {_what(c): c for c in layout_columns(LAYOUT, columns=COMBINED)}
        people = {_what(c): c.label for c in layout_columns(LAYOUT, columns=LABELLED)}
        # In the order of those that are asked for.
        self._names = {kept[what].name: c.name for what, c in asked.items()}
        self._labels = {c.name: people[what] for what, c in kept.items() if what in people}
        self._labels.update(_PID)
        self._factors = {c.name: c.factor for c in kept.values() if 0 < c.factor < 1}
        self._asked = {c.name: asked[what].name for what, c in known.items() if what in asked}
        self._known = {c.name: known[what].name for what, c in kept.items()}
        self._scales = {c.name: known[what].factor / c.factor for what, c in kept.items()}

    def part(self, row: Dict[str, Any], prefix: str) -> Dict[str, Any]:
        """Of a row what is of the process or of the machine, without the prefix."""
        return {
            name if name == TIME else name[len(prefix) :]: value
            for name, value in row.items()
            if name == TIME or name.startswith(prefix)
        }

    def known(self, row: Dict[str, Any]) -> Dict[str, Any]:
        """A row with the names and units that statistics are worked out by."""
        return {
            self._known.get(name, name): value
            if value is None or name not in self._scales
            else value * self._scales[name]
            for name, value in row.items()
        }

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

    def specs(self, specs: List[StatSpec]) -> List[StatSpec]:
        """Statistics of columns as they are called now."""
        return [spec._replace(column=self._asked.get(spec.column, spec.column)) for spec in specs]

    def known_stats(self, stats: Stats) -> Stats:
        """Statistics by the names and in the units that recommendations are worked out by."""
        back = {asked: known for known, asked in self._asked.items()}
        kept = {asked: name for name, asked in self._names.items()}
        return {
            back[name]: {
                key: None if value is None else value * self._scales[kept[name]]
                for key, value in values.items()
            }
            for name, values in stats.items()
            if name in back and name != TIME
        }


def is_of_0_4(process: List[Dict[str, Any]], system: List[Dict[str, Any]]) -> bool:
    """Whether rows that were kept have the columns of release 0.4, not of a later one."""
    return any("memory" in row for row in process[:1]) or any("memory_used" in row for row in system[:1])
