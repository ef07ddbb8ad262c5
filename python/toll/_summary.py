# SPDX-License-Identifier: MIT
"""Summary: the JSON document of a run with attributes. docs/formats.md describes its keys."""

from __future__ import annotations

import copy
import functools
from typing import Any, Dict, FrozenSet, Iterator, List, Mapping, Optional

from ._figures import Figure, metrics, no_figure
from ._html import figure_text, summary_html

_FIGURE_KEYS = {"total", "rate_mean", "mean", "max", "quality"}
_THINGS = {"rapl": "rapl"}  # the key of several things; of all others an s is put behind


@functools.lru_cache(maxsize=None)
def _metric_names() -> FrozenSet[str]:
    return frozenset(metric.name for metric in metrics())


def _wrap(name: str, value: Any) -> Any:
    """What stands under that name; limits and metrics share some."""
    if isinstance(value, list):
        return [_wrap("", one) for one in value]
    if not isinstance(value, dict):
        return value
    if name in _metric_names() and (not value or not _FIGURE_KEYS.isdisjoint(value)):
        return Figure(value)
    return Part(value)


class Part:
    """A part of the summary: its keys are attributes, and items as well."""

    __slots__ = ("_values",)
    _values: Dict[str, Any]

    def __init__(self, values: Dict[str, Any]) -> None:
        self._values = values

    def _get(self, name: str) -> Any:
        return _wrap(name, self._values[name])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return self._get(name)
        except KeyError:
            known = ", ".join(self._values) or "nothing"
            raise AttributeError(f"there is no '{name}' here; there is {known}") from None

    def __getitem__(self, name: str) -> Any:
        return self._get(name)

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __dir__(self) -> List[str]:
        return [*super().__dir__(), *self._values]

    def keys(self) -> List[str]:
        """What there is."""
        return list(self._values)

    def to_dict(self) -> Dict[str, Any]:
        """As it stands in JSON; a copy."""
        return copy.deepcopy(self._values)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Part):
            return NotImplemented
        return self._values == other._values

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<toll.{type(self).__name__} {', '.join(self._values)}>"

    def __reduce__(self) -> Any:
        return (type(self), (self._values,))


class TargetPart(Part):
    """A target: `combined` is the whole, `main` the process itself, `descendants` what it started.

    Figures that are asked for directly are those of `combined`: `s.target.cpu_seconds`.
    """

    __slots__ = ()

    def _get(self, name: str) -> Any:
        if name in self._values:
            return super()._get(name)
        return _wrap(name, self._values.get("combined", {})[name])

    def __dir__(self) -> List[str]:
        return [*super().__dir__(), *self._values.get("combined", {})]


class Summary(Part):
    """What a run came to, up to now or in the end.

    `s.wall_seconds`, `s.target.cpu_seconds.total`, `s.target.main.memory_rss_bytes.max`,
    `s["target_cpu_seconds"].quality`, `s.notes`. str() is the report for people, to_dict() the JSON
    document as docs/formats.md describes it; notebooks show a table.
    """

    __slots__ = ("_text",)

    def __init__(self, document: Dict[str, Any], text: Optional[str] = None) -> None:
        super().__init__(document)
        self._text = text

    @property
    def target(self) -> TargetPart:
        """What was measured; of several targets all together."""
        try:
            return TargetPart(self._values["target"])
        except KeyError:
            raise AttributeError("no target was measured, only the machine") from None

    @property
    def targets(self) -> List[TargetPart]:
        """Each of several targets, with its `name`, `end` and `limits`; otherwise empty."""
        return [TargetPart(one) for one in self._values.get("targets", [])]

    def phase(self, name: str) -> Part:
        """What was used in a phase: `s.phase("train").figures.cpu_seconds.total`."""
        for one in self._values.get("phases", []):
            if one["name"] == name:
                return Part(one)
        known = ", ".join(one["name"] for one in self._values.get("phases", [])) or "none"
        raise KeyError(f"no phase was called {name!r}; there is {known}")

    @property
    def wall_seconds(self) -> float:
        """How long it was measured."""
        return float(self._values["wall_seconds"])

    @property
    def notes(self) -> List[str]:
        """Sentences for people: what could not be measured, and why."""
        return list(self._values["notes"])

    @property
    def labels(self) -> Dict[str, str]:
        """As they were given."""
        return dict(self._values["labels"])

    def __getitem__(self, name: str) -> Any:
        """A figure by the name it has as a column of CSV, or a part by its key."""
        if name in self._values:
            return getattr(self, name)
        try:
            return Figure(self._column(name))
        except (KeyError, StopIteration):
            raise no_figure(name) from None

    def _column(self, name: str) -> Any:
        if "." in name:
            return self._dotted(name)
        first, _, rest = name.partition("_")
        if first in ("main", "descendants"):
            return self._values["target"][first][rest]
        return self._values["target"]["combined"][rest] if first == "target" else (
            self._values[first][rest]
        )

    def _dotted(self, column: str) -> Any:
        """target.NAME.main_x, disk.NAME.x: names may have dots in them, figures have none."""
        entity, _, rest = column.partition(".")
        name, _, figure = rest.rpartition(".")
        things = self._values[_THINGS.get(entity, entity + "s")]
        thing = next(one for one in things if one["name"] == name)
        if entity != "target":
            return thing[figure]
        part, _, short = figure.partition("_")
        if part in ("main", "descendants"):
            return thing[part][short]
        return thing["combined"][figure]

    def __str__(self) -> str:
        return self._text if self._text is not None else repr(self)

    def __repr__(self) -> str:
        words = [f"<toll.Summary {self._values['name']!r}", f"{self.wall_seconds:.3g} s"]
        for column, what in (("cpu_seconds", "CPU"), ("memory_rss_bytes", "RSS")):
            figures: Mapping[str, Any] = self._values.get("target", {}).get("combined", {})
            if column in figures:
                shown = figure_text(Figure(figures[column]), column.rpartition("_")[2])
                words.append(f"{shown} {what}")
        return ", ".join(words) + ">"

    def _repr_html_(self) -> str:
        return summary_html(self._values)

    def __reduce__(self) -> Any:
        return (Summary, (self._values, self._text))
