# SPDX-License-Identifier: MIT
"""Marks: what a program says of itself, in the record among the samples."""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, Optional, Sequence, Type, TypeVar, cast
from types import TracebackType

from . import _toll

# In the order of enum toll_mark_kind.
PHASE_BEGIN, PHASE_END, EVENT, GAUGE = range(4)

Function = TypeVar("Function", bound=Callable[..., Any])
Send = Callable[[int, str, float, Sequence[str]], int]


NAME_BYTES = 128


def _check_name(name: object) -> None:
    """The one mistake that is told: a name is written by the programmer, all else comes with data."""
    if isinstance(name, str) and 0 < len(name) <= NAME_BYTES and name.isascii() and name.isprintable():
        return
    if not isinstance(name, str):
        raise ValueError(f"the name of a mark is {name!r}; it takes text")
    try:
        length = len(name.encode())
    except UnicodeEncodeError:
        raise ValueError(f"the name of a mark is {name!r}, which is no UTF-8 text") from None
    if not 0 < length <= NAME_BYTES:
        raise ValueError(f"the name of a mark has {length} bytes; it takes 1 to {NAME_BYTES}")
    if any(one < " " or "\x7f" <= one < "\xa0" for one in name):
        raise ValueError(f"the name of a mark is {name!r}; it takes no control characters")


def check_decorable(function: object, what: str) -> None:
    """Functions, also asynchronous ones: a generator has done nothing when its call returns."""
    if not callable(function):
        raise TypeError(f"{what} decorates a function, not {function!r}")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(
            f"{what} cannot decorate the generator {getattr(function, '__qualname__', function)!r}: "
            "its call returns before it runs; put a `with` block into it, or around the loop"
        )


def _send(kind: int, name: str, value: float, attributes: Sequence[str]) -> int:
    return _toll.mark(kind, name, value, attributes)


def _is_taken(
    mark: Send, kind: int, name: str, value: float = 0.0, attributes: Sequence[str] = ()
) -> bool:
    """Whatever is wrong with a mark, the job goes on."""
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

    It never raises by itself: a mark that cannot be taken is left out.
    """

    __slots__ = ("_mark", "name")

    def __init__(self, name: str, mark: Send = _send) -> None:
        _check_name(name)
        self.name = name
        self._mark = mark

    def __enter__(self) -> "Phase":
        _is_taken(self._mark, PHASE_BEGIN, self.name)
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        _is_taken(self._mark, PHASE_END, self.name)

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
        check_decorable(function, "a phase")
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
        return f"<toll.Phase {self.name!r}>"


def send_event(mark: Send, name: str, attributes: "dict[str, object]") -> bool:
    """True: it was taken."""
    _check_name(name)
    for key in attributes:
        if "=" in key:
            raise ValueError(f"attribute {key!r}: a key is text without '='")
    try:
        texts = [f"{key}={value}" for key, value in attributes.items()]
    except Exception:  # what a value says of itself is not worth the job
        return False
    return _is_taken(mark, EVENT, name, 0.0, texts)


def send_gauge(mark: Send, name: str, value: float) -> bool:
    _check_name(name)
    return _is_taken(mark, GAUGE, name, value)


def phase(name: str) -> Phase:
    """A phase, told to the `toll run` around this program; without one it does nothing."""
    return Phase(name)


def event(name: str, **attributes: object) -> bool:
    """An event, told to the `toll run` around this program; False: nobody took it.

    ValueError for a name that cannot be one; whatever else is wrong, the program goes on.
    """
    return send_event(_send, name, attributes)


def gauge(name: str, value: float) -> bool:
    """A figure of the program's own, told to the `toll run` around it; False: nobody took it.

    One that is not finite is not taken. ValueError for a name that cannot be one.
    """
    return send_gauge(_send, name, value)
