# SPDX-License-Identifier: MIT
"""Metrics, and figures: the result of one metric."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional

from . import _toll

LOWER_BOUND = "lower bound"
UNKNOWN = "unknown"


class Metric(NamedTuple):
    """One row of the table of what can be measured."""

    entity: str
    """what it is measured of: process (and so every target), system, disk, …, self"""
    name: str
    """without the entity: cpu_user_seconds"""
    title: str
    """for people: CPU time, user"""
    kind: str
    """counter or gauge"""
    unit: str
    """seconds, bytes, cores, ratio, joules, …, or '' for a plain number"""
    fold: str
    """how the processes of a target make one figure"""
    cost: str
    """cheap, refresh (read about once a second) or slow (within the budget)"""
    source: str
    """kernel file or system call"""
    otel: str
    """name in OpenTelemetry, or ''"""
    help: str
    """one sentence"""

    @property
    def description(self) -> str:
        """Title, help and unit in one line."""
        return f"{self.title}: {self.help}" + (f" ({self.unit})" if self.unit else "")


def metrics() -> List[Metric]:
    """Everything that can be measured, as a list of Metric.

        [metric.name for metric in toll.metrics() if metric.entity == "gpu"]

    `toll metrics` prints the same table.
    """
    return [Metric(*row) for row in _toll.metrics()]


_units: Dict[str, str] = {}


def unit_of(name: str) -> Optional[str]:
    """The unit of a metric by its name; None when no metric has that name."""
    if not _units:
        _units.update((row[1], row[4]) for row in _toll.metrics())
    return _units.get(name)


def printable(text: object) -> str:
    """Text from outside for one line: control characters and the like are replaced."""
    return "".join(c if c.isprintable() else "\ufffd" for c in str(text))


_FIGURE_KEYS = {"total", "rate_mean", "mean", "max", "quality"}


def is_figure(name: str, value: Mapping[str, Any]) -> bool:
    """Whether an object of the document is a figure: limits and metrics share some names."""
    return unit_of(name) is not None and (not value or not _FIGURE_KEYS.isdisjoint(value))


class Figure:
    """The result of one metric.

    A counter has `total`, `rate_mean`, `rate_max` and `rate_max_at_seconds`; a gauge has `mean`,
    `min`, `max`, `max_at_seconds`, `last` and, in longer runs, `p50`, `p90` and `p99`. An attribute
    that it does not have, or that is not known, is None, never 0.
    """

    __slots__ = ("_values", "name")
    _values: Mapping[str, Any]
    name: str
    """of the metric, or '' """

    def __init__(self, values: Mapping[str, Any], name: str = "") -> None:
        if not isinstance(values, Mapping) or not isinstance(name, str):
            raise TypeError(f"Figure: invalid values {values!r} (expected a dict)")
        self._values = values
        self.name = name

    @property
    def total(self) -> Optional[float]:
        """Counter: what the run used."""
        return self._values.get("total")

    @property
    def rate_mean(self) -> Optional[float]:
        """Counter: growth per second, on average."""
        return self._values.get("rate_mean")

    @property
    def rate_max(self) -> Optional[float]:
        """Counter: the largest growth per second."""
        return self._values.get("rate_max")

    @property
    def rate_max_at_seconds(self) -> Optional[float]:
        """Counter: when that was, in seconds since the start of the run."""
        return self._values.get("rate_max_at_seconds")

    @property
    def mean(self) -> Optional[float]:
        """Gauge: mean over time."""
        return self._values.get("mean")

    @property
    def min(self) -> Optional[float]:
        """Gauge: smallest value."""
        return self._values.get("min")

    @property
    def max(self) -> Optional[float]:
        """Gauge: largest value, the peak."""
        return self._values.get("max")

    @property
    def max_at_seconds(self) -> Optional[float]:
        """Gauge: when that was, in seconds since the start of the run."""
        return self._values.get("max_at_seconds")

    @property
    def last(self) -> Optional[float]:
        """Gauge: value at the end."""
        return self._values.get("last")

    @property
    def p50(self) -> Optional[float]:
        """Gauge: median over time."""
        return self._values.get("p50")

    @property
    def p90(self) -> Optional[float]:
        """Gauge: 90th percentile over time."""
        return self._values.get("p90")

    @property
    def p99(self) -> Optional[float]:
        """Gauge: 99th percentile over time."""
        return self._values.get("p99")

    @property
    def quality(self) -> Optional[str]:
        """How it was obtained: exact, exact if reaped, sampled, lower bound or unknown. None for
        what toll used itself."""
        return self._values.get("quality")

    @property
    def from_(self) -> Optional[str]:
        """The source that gave it, such as "wait4" or "samples"."""
        return self._values.get("from")

    @property
    def value(self) -> Optional[float]:
        """What a summary shows first: the total of a counter, the peak of a gauge."""
        value: Optional[float] = self._values.get("total", self._values.get("max"))
        return value

    def text(self, number: Optional[float] = None) -> str:
        """Its value as people read it, "4m 31s", "≥ 1.82 GiB"; or another number in its unit."""
        shown = self.value if number is None else number
        bound = "≥ " if self.quality == LOWER_BOUND and shown is not None else ""
        return bound + _toll.number_text(shown, unit_of(self.name) or "")

    def _with_quality(self, quality: str) -> "Figure":
        return Figure({**self._values, "quality": quality}, self.name)

    def to_dict(self) -> Dict[str, Any]:
        """A copy, as in the JSON document."""
        return dict(self._values)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Figure):
            return NotImplemented
        return dict(self._values) == dict(other._values)

    __hash__ = None  # type: ignore[assignment]

    def _words(self) -> List[str]:
        if self.value is None:
            return []
        is_counter = self._values.get("total") is not None
        words = [f"{self.text()} {'total' if is_counter else 'peak'}"]
        if not is_counter and self.mean is not None:
            words.append(f"{self.text(self.mean)} mean")
        return words

    def __repr__(self) -> str:
        try:
            words = [*self._words(), printable(self.quality or "")]
        except Exception:  # a document of any kind has a repr
            words = [printable(dict(self._values))]
        shown = ", ".join(word for word in words if word) or UNKNOWN
        return f"<Figure {printable(self.name)}: {shown}>" if self.name else f"<Figure: {shown}>"

    def __reduce__(self) -> Any:
        return (Figure, (dict(self._values), self.name))


def no_figure(name: str) -> KeyError:
    """With the name that was probably intended: cpu_seconds is target_cpu_seconds."""
    for entity, prefix in (("process", "target"), ("system", "system")):
        if any(one.name == name and one.entity == entity for one in metrics()):
            return KeyError(f"figure {name!r}: not found (did you mean {prefix}_{name}?)")
    return KeyError(
        f"figure {name!r}: not found (expected a name such as target_cpu_seconds, "
        "main_cpu_cores or system_cpu_cores)"
    )


def figure_now(answer: Any, name: str) -> Figure:
    """A figure of a tracker that still runs, with the keys of the summary."""
    total, last, least, most, mean, at, quality, means = answer
    if total is not None:
        values = {"total": total, "rate_mean": mean, "rate_max": most}
        if most is not None:
            values["rate_max_at_seconds"] = at
    else:
        values = {"mean": mean, "min": least, "max": most, "last": last}
        if most is not None:
            values["max_at_seconds"] = at
    known = {key: value for key, value in values.items() if value is not None}
    return Figure({**known, "quality": quality, "from": means}, metric_of(name))


def metric_of(column: str) -> str:
    """The name of the metric in that of a column: target.web.main_cpu_seconds is cpu_seconds."""
    rest = column.rpartition(".")[2]
    while rest and unit_of(rest) is None:
        rest = rest.partition("_")[2]
    return rest
