# SPDX-License-Identifier: MIT
"""Parts of a summary: the objects of its JSON document, with their keys as attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional, TypeVar

from . import _toll
from ._figures import Figure, is_figure, printable

Known = TypeVar("Known")


def wrap(name: str, value: Any) -> Any:
    """What a key holds, with attributes where it is an object."""
    if isinstance(value, list):
        return [wrap("", one) for one in value]
    if not isinstance(value, dict):
        return value
    return Figure(value, name) if is_figure(name, value) else Values(value)


class Part:
    """A part of the summary: its keys are attributes, and items as well."""

    __slots__ = ("_values",)
    _values: Dict[str, Any]

    def __init__(self, values: Dict[str, Any]) -> None:
        if not isinstance(values, dict):
            raise TypeError(f"{type(self).__name__}: invalid values {values!r} (expected a dict)")
        self._values = values

    def _get(self, name: str) -> Any:
        return wrap(name, self._values[name])

    if not TYPE_CHECKING:  # a checker shall know the attributes there are

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__") or name == "_values":
                raise AttributeError(name)
            try:
                return self._get(name)
            except KeyError:
                raise AttributeError(f"{name}: not in this summary{self._hint(name)}") from None

    def _hint(self, name: str) -> str:
        """Names that are similar to that of a missing attribute, or some of those there are."""
        import difflib

        most, names = 12, list(dict.fromkeys(self._names()))
        near = difflib.get_close_matches(name, [one for one in dir(self) if one[:1] != "_"], 1, 0.75)
        if near:
            return f"; did you mean: {near[0]}"
        more = ", …" if names[most:] else ""
        return f" (known here: {', '.join(names[:most]) or 'nothing'}{more})"

    def _names(self) -> List[str]:
        return list(self._values)

    def __getitem__(self, name: str) -> Any:
        return self._get(name)

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __dir__(self) -> List[str]:
        return sorted({*super().__dir__(), *self._names()})

    def keys(self) -> List[str]:
        """The names of everything in it."""
        return list(self._values)

    def to_dict(self) -> Dict[str, Any]:
        """A copy, as in the JSON document."""
        import copy

        return copy.deepcopy(self._values)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Part):
            return NotImplemented
        return self._values == other._values

    __hash__ = None  # type: ignore[assignment]

    def _title(self) -> str:
        """What it is of: "4711 cc1plus", "train"."""
        words = (self._values.get(key) for key in ("pid", "name"))
        return " ".join(printable(word) for word in words if word not in (None, ""))

    def _headline(self) -> List[str]:
        """The figures that are shown first, as text."""
        figures = (wrap(name, self._values[name]) for name in self._values)
        return [f"{one.name} {one.text()}" for one in figures if isinstance(one, Figure)][:2]

    def __repr__(self) -> str:
        head = " ".join(word for word in (type(self).__name__, _attempt(self._title)) if word)
        shown = ", ".join(_attempt(self._headline) or [])
        return f"<{head}: {shown}>" if shown else f"<{head}>"

    def __reduce__(self) -> Any:
        return (type(self), (self._values,))


def or_none(get: Callable[[], Known]) -> Optional[Known]:
    """None for what was not measured."""
    try:
        return get()
    except (AttributeError, KeyError):
        return None


def usage_words(figures: Any) -> List[str]:
    """CPU time and peak of a target, a part of one or a phase, as text; those that were measured."""
    cpu = or_none(lambda: str(figures.cpu_seconds.text()))
    memory = or_none(lambda: str(figures.memory_rss_bytes.text()))
    return [f"{text} {word}" for text, word in ((cpu, "CPU"), (memory, "peak")) if text is not None]


def _attempt(function: Any) -> Any:
    """A repr never raises, whatever a document holds."""
    try:
        return function()
    except Exception:
        return None


class Values(Part):
    """A part without typed properties, such as `summary.end` or `summary.limits`."""

    __slots__ = ()

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def _headline(self) -> List[str]:
        plain = {k: v for k, v in self._values.items() if not isinstance(v, (dict, list))}
        shown = [f"{printable(name)}={value!r}" for name, value in plain.items()][:6]
        return shown or [printable(", ".join(self._values))]


class Process(Part):
    """A process of the run: one of the largest, or one that was still running at the end."""

    __slots__ = ()

    @property
    def pid(self) -> int:
        """Its process id."""
        return int(self._values["pid"])

    @property
    def name(self) -> str:
        """The name of its program."""
        return str(self._values["name"])

    @property
    def command(self) -> Optional[str]:
        """Its command line, cut; None when it is not known. What looks like a secret is masked."""
        return self._values.get("command")

    @property
    def cpu_seconds(self) -> Optional[float]:
        """Its CPU time, without its children; None when it is not known."""
        seconds: Optional[float] = _first(self._values, "seconds")
        return seconds

    @property
    def peak_memory(self) -> Optional[int]:
        """Its largest resident memory in bytes when last read; None when it is not known."""
        peak: Optional[int] = _first(self._values, "bytes")
        return peak

    def _texts(self) -> List[str]:
        """CPU time and peak memory as people read them."""
        return [self._text(self.cpu_seconds, "seconds", "complete"),
                self._text(self.peak_memory, "bytes", "recorded")]

    def _text(self, value: Optional[float], unit: str, exact: str) -> str:
        """Of one of the largest, what was last read while it lived is a lower bound: "≥ 84.2 MiB"; of 0
        it says nothing."""
        if "complete" not in self._values or self._values.get(exact):
            return _toll.number_text(value, unit)
        return f"≥ {_toll.number_text(value, unit)}" if value else _toll.number_text(None, unit)

    def _headline(self) -> List[str]:
        cpu, peak = self._texts()
        return [f"{cpu} CPU", f"{peak} peak"]


class Program(Process):
    """All processes of one program together."""

    __slots__ = ()

    @property
    def processes(self) -> int:
        """How many there were."""
        return int(self._values["processes"])

    def _title(self) -> str:
        return f"{printable(self.name)} × {self.processes}"


def _first(values: Dict[str, Any], unit: str) -> Optional[Any]:
    """The first number in this unit, or None."""
    return next((value for key, value in values.items() if key.endswith(f"_{unit}")), None)
