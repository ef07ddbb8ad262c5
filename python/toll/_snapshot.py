# SPDX-License-Identifier: MIT
"""One look at a process, at several, or at the machine."""

from __future__ import annotations

import functools
from typing import Any, Callable, Optional, TypeVar, Union, cast

from . import _toll
from ._options import PROCESS, Globs, Target, option_tuple, target_list

Look = TypeVar("Look", bound=Callable[..., _toll.Frame])


def _quick_without_arguments(look: Look) -> Look:
    """This process alone is looked at through files that stay open."""
    look_at_self = _toll.look_at_self

    @functools.wraps(look)
    def either(*args: Any, **kwargs: Any) -> _toll.Frame:
        return look(*args, **kwargs) if args or kwargs else look_at_self()

    return cast(Look, either)


@_quick_without_arguments
def snapshot(
    pid: Optional[int] = None,
    *,
    children: bool = False,
    group: Optional[int] = None,
    session: Optional[int] = None,
    cgroup: Optional[str] = None,
    match: Optional[str] = None,
    user: Union[str, int, None] = None,
    system: bool = False,
    network: bool = False,
    metrics: Globs = None,
    memory: str = "rss",
    processes: Optional[str] = None,
) -> _toll.Frame:
    """What a target has used since it began, and has now.

    Without arguments: this process alone, in some microseconds. `pid` is another process, with
    `children=True` what it started as well; `group`, `session`, `cgroup`, `match` and `user` name
    several processes. `system=True` adds the machine; alone it is the machine and nothing else.
    `memory="pss"` reads the proportional set size too, which takes milliseconds for each gigabyte.

        toll.snapshot().cpu_seconds
        toll.snapshot(1234, children=True).memory_rss_bytes
        toll.snapshot(system=True).memory_used_bytes

    ProcessLookupError when there is no such process.
    """
    targets = target_list(pid, group, session, cgroup, match, user)
    if len(targets) > 1:
        raise ValueError("a snapshot is of one target; toll.track() takes several")
    options = option_tuple(
        metrics=metrics,
        memory=memory,
        processes=processes,
        children=children,
        system=system,
        network=network,
    )
    alone = not targets and system and not (children or network or processes)
    kind, number, text = targets[0] if targets else Target(-1 if alone else PROCESS, 0, None)
    return _toll.look_once(options, kind, number, text)
