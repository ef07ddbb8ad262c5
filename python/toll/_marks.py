# SPDX-License-Identifier: MIT
"""Marks: what a program reports of itself, in the record among the samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, List, Optional, Sequence, Type, TypeVar, cast

from . import _toll

if TYPE_CHECKING:
    from types import TracebackType

# In the order of enum toll_mark_kind.
PHASE_BEGIN, PHASE_END, EVENT, GAUGE = range(4)

Function = TypeVar("Function", bound=Callable[..., Any])
Send = Callable[[int, str, float, Sequence[str]], int]


NAME_BYTES = 128


def _check_name(name: object) -> None:
    """The one mistake that raises: the programmer writes a name, all else comes with data."""
    if isinstance(name, str) and 0 < len(name) <= NAME_BYTES and name.isascii() and name.isprintable():
        return
    if not isinstance(name, str):
        raise ValueError(f"mark: invalid name {name!r} (expected text)")
    try:
        length = len(name.encode())
    except UnicodeEncodeError:
        raise ValueError(f"mark: invalid name {name!r} (expected UTF-8 text)") from None
    if not 0 < length <= NAME_BYTES:
        raise ValueError(f"mark: invalid name of {length} bytes (expected 1 to {NAME_BYTES})")
    if any(one < " " or "\x7f" <= one < "\xa0" for one in name):
        raise ValueError(f"mark: invalid name {name!r} (expected no control characters)")


def check_decorable(function: object, what: str) -> None:
    """Functions, also asynchronous ones: a generator has done nothing when its call returns."""
    import inspect

    if not callable(function):
        raise TypeError(f"{what}: cannot decorate {function!r} (expected a function)")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(
            f"{what}: cannot decorate the generator {getattr(function, '__qualname__', function)!r}: "
            "its call returns before it runs (use a `with` block in it, or around the loop)"
        )


# Trackers that get the marks of this program too: those of %%toll.
listeners: List[Send] = []


def _send(kind: int, name: str, value: float, attributes: Sequence[str]) -> int:
    status = _toll.mark(kind, name, value, attributes)
    for listener in listeners[:]:
        status = min(status, listener(kind, name, value, attributes), key=abs)  # 0 is accepted
    return status


def _is_taken(
    mark: Send, kind: int, name: str, value: float = 0.0, attributes: Sequence[str] = ()
) -> bool:
    """Whatever is wrong with a mark, the job continues."""
    try:
        return mark(kind, name, value, attributes) == 0
    except Exception:
        return False


class Phase:
    """A phase of the program, as a context manager or as a decorator.

        with t.phase("load"):
            ...

        @t.phase("train")
        def train(): ...

    begin() and end() are for callbacks, where both are in different functions. It never raises by
    itself: a mark that is not accepted is left out.
    """

    __slots__ = ("_mark", "name")

    def __init__(self, name: str, mark: Send = _send) -> None:
        _check_name(name)
        self.name = name
        self._mark = mark

    def begin(self) -> bool:
        """Begin the phase; returns whether the mark was accepted."""
        return _is_taken(self._mark, PHASE_BEGIN, self.name)

    def end(self) -> bool:
        """End the phase; returns whether the mark was accepted."""
        return _is_taken(self._mark, PHASE_END, self.name)

    def __enter__(self) -> "Phase":
        self.begin()
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.end()

    async def __aenter__(self) -> "Phase":
        return self.__enter__()

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.__exit__(kind, error, traceback)

    def __call__(self, function: Function) -> Function:
        import functools
        import inspect

        check_decorable(function, "phase")
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def waiting(*args: Any, **kwargs: Any) -> Any:
                with self:
                    return await function(*args, **kwargs)

            return cast(Function, waiting)

        @functools.wraps(function)
        def calling(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return cast(Function, calling)

    def __repr__(self) -> str:
        return f"<Phase {self.name!r}>"


def send_event(mark: Send, name: str, attributes: "dict[str, object]") -> bool:
    """Whether it was accepted."""
    _check_name(name)
    for key in attributes:
        if "=" in key:
            raise ValueError(f"event: invalid attribute {key!r} (expected a name without '=')")
    try:
        texts = [f"{key}={value}" for key, value in attributes.items()]
    except Exception:  # a value without a text is not worth the job
        return False
    return _is_taken(mark, EVENT, name, 0.0, texts)


def send_gauge(mark: Send, name: str, value: float) -> bool:
    """Whether it was accepted."""
    _check_name(name)
    return _is_taken(mark, GAUGE, name, value)


def phase(name: str) -> Phase:
    """A phase of this program, for the `toll run` around it; does nothing without one.

        with toll.phase("train"):
            ...

    It is a decorator, too. Phases may be nested, and may overlap.
    """
    return Phase(name)


def event(name: str, **attributes: object) -> bool:
    """Something that happened, for the `toll run` around this program. Returns whether it was
    accepted.

        toll.event("saved", path="model.pt")

    ValueError for an invalid name; whatever else is wrong, the program continues.
    """
    return send_event(_send, name, attributes)


def gauge(name: str, value: float) -> bool:
    """A figure of the program itself, for the `toll run` around it. Returns whether it was accepted.

        toll.gauge("loss", 0.3)

    A number that is not finite is not accepted. ValueError for an invalid name.
    """
    return send_gauge(_send, name, value)
