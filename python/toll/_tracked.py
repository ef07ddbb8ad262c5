# SPDX-License-Identifier: MIT
"""@tracked: measure each call of a function."""

from __future__ import annotations

from typing import Any, Callable, Optional, TypeVar, Union, overload

from ._marks import check_decorable
from ._track import track
from ._tracker import Track

Function = TypeVar("Function", bound=Callable[..., Any])
OnDone = Optional[Callable[[Track], Any]]


@overload
def tracked(function: Function) -> Function: ...


@overload
def tracked(
    *, name: Optional[str] = None, on_done: OnDone = None, **options: Any
) -> Callable[[Function], Function]: ...


def tracked(
    function: Optional[Function] = None,
    *,
    name: Optional[str] = None,
    on_done: OnDone = None,
    **options: Any,
) -> Union[Function, Callable[[Function], Function]]:
    """Measure each call of a function, also of an asynchronous one.

        @toll.tracked
        def work(): ...

        work()
        print(work.last.summary)

        @toll.tracked(name="nightly", on_done=lambda t: print(t.summary), interval=0.1)
        def night(): ...

    `function.last` is the Track of the last call that has ended; None before the first. `on_done` is
    called with it after every call, also of one that raised. Other options are the
    same as for toll.track().

    Calls may be nested and run in several threads; each is measured separately. The process is
    measured, so what other threads do at the same time counts too. Generators are a TypeError. An
    output that cannot be written is a RuntimeWarning; the function's result is returned.
    """

    import functools
    import inspect

    def decorate(inner: Function) -> Function:
        check_decorable(inner, "toll.tracked")
        title = name or getattr(inner, "__qualname__", repr(inner))

        def done(t: Track) -> None:
            wrapper.last = t
            if on_done is not None:
                on_done(t)

        if inspect.iscoroutinefunction(inner):

            @functools.wraps(inner)
            async def waiting(*args: Any, **kwargs: Any) -> Any:
                t = track(name=title, **options)
                try:
                    async with t:
                        return await inner(*args, **kwargs)
                finally:
                    if not t.running:
                        done(t)

            wrapper: Any = waiting
        else:

            @functools.wraps(inner)
            def calling(*args: Any, **kwargs: Any) -> Any:
                t = track(name=title, **options)
                try:
                    with t:
                        return inner(*args, **kwargs)
                finally:
                    if not t.running:
                        done(t)

            wrapper = calling
        wrapper.last = None
        return wrapper  # type: ignore[no-any-return]

    return decorate if function is None else decorate(function)
