# SPDX-License-Identifier: MIT
"""Metrics, and figures: what one metric came to."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Union

from . import _toll

Number = Union[int, float]


class Metric(NamedTuple):
    """One row of the table of what can be measured."""

    entity: str
    """what the figure is of: process (and so every target), system, disk, …, self"""
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
    """cheap, refresh (read about once a second) or slow (on the budget)"""
    source: str
    """the kernel's file or call"""
    otel: str
    """OpenTelemetry's name of the same thing, or ''"""
    help: str


def metrics() -> List[Metric]:
    """Everything that can be measured."""
    return [Metric(*row) for row in _toll.metrics()]


class Figure:
    """What one metric came to.

    A counter has `total`, `rate_mean`, `rate_max` and `rate_max_at_seconds`; a gauge `mean`, `min`,
    `max`, `max_at_seconds`, `last` and perhaps `p50`, `p90`, `p99`. Whatever is not there or not
    known is None. `quality` tells how exact it is: exact, exact if reaped, sampled, lower bound or
    unknown; `from_` by what means it was found. Both are None of what toll used itself.
    """

    __slots__ = ("_values",)
    _values: Mapping[str, Any]

    KEYS = (
        "total",
        "rate_mean",
        "rate_max",
        "rate_max_at_seconds",
        "mean",
        "min",
        "max",
        "max_at_seconds",
        "last",
        "p50",
        "p90",
        "p99",
        "quality",
    )

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def __getattr__(self, name: str) -> Any:
        if name in Figure.KEYS:
            return self._values.get(name)
        raise AttributeError(f"a figure has no '{name}'; it has {', '.join(Figure.KEYS)} and from_")

    @property
    def from_(self) -> Optional[str]:
        """The means that gave it."""
        return self._values.get("from")

    @property
    def value(self) -> Optional[Number]:
        """What a summary shows first: the total of a counter, the peak of a gauge."""
        value: Optional[Number] = self._values.get("total", self._values.get("max"))
        return value

    def to_dict(self) -> Dict[str, Any]:
        """As it stands in JSON."""
        return dict(self._values)

    def __dir__(self) -> List[str]:
        return [*Figure.KEYS, "from_", "to_dict", "value"]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Figure):
            return NotImplemented
        return dict(self._values) == dict(other._values)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        inner = ", ".join(
            f"{'from_' if key == 'from' else key}={value!r}" for key, value in self._values.items()
        )
        return f"Figure({inner})"

    def __reduce__(self) -> Any:
        return (Figure, (dict(self._values),))


def no_figure(name: str) -> KeyError:
    """With what may be meant: cpu_seconds is target_cpu_seconds."""
    for entity, prefix in (("process", "target"), ("system", "system")):
        if any(one.name == name and one.entity == entity for one in metrics()):
            return KeyError(f"{name}: no such figure was measured; {prefix}_{name} may be meant")
    return KeyError(
        f"{name}: no such figure was measured; names are like target_cpu_seconds, "
        "main_cpu_cores, system_cpu_cores"
    )


def figure_now(answer: Any) -> Figure:
    """A figure of a tracker that still runs, in the words of the summary."""
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
    return Figure({**known, "quality": quality, "from": means})
