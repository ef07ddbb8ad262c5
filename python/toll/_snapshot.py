# SPDX-License-Identifier: MIT
"""snapshot: current figures of a process, of several, or of the machine."""

from __future__ import annotations

from typing import Any, Callable, Optional, TypeVar, Union, cast

from . import _toll
from ._options import PROCESS, Globs, Gpus, Target, option_tuple, target_list

Look = TypeVar("Look", bound=Callable[..., _toll.Frame])


def _without_python(look: Look) -> Look:
    """The same as a function of the extension: a snapshot of this process takes a few microseconds,
    of which a function in Python would be a large part."""
    function: Any = look
    options = ", ".join(f"{name}={value!r}" for name, value in function.__kwdefaults__.items())
    text = f"snapshot(pid=None, *, {options})\n--\n\n{look.__doc__}"
    return cast(Look, _toll.make_snapshot(look, text, "toll"))


@_without_python
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
    gpus: Gpus = None,
    metrics: Globs = None,
    memory: str = "rss",
    processes: Optional[str] = None,
) -> _toll.Frame:
    """Current figures of a process, or of the machine, as a Frame. Counters are since the start of
    the process.

    Without arguments: this process alone, in a few microseconds. `pid` is another process, with
    `children=True` its descendants as well; `group`, `session`, `cgroup`, `match` and `user` name
    several processes. `system=True` adds the machine; alone it is the machine and nothing else.
    `gpus="all"` (or "visible", numbers, UUIDs) adds rows of GPUs if the driver answers in time.
    `memory="pss"` reads the proportional set size too, which takes milliseconds per gigabyte.

        toll.snapshot().cpu_seconds
        toll.snapshot(1234, children=True).memory_rss_bytes
        toll.snapshot(system=True).memory_used_bytes

    ProcessLookupError if there is no such process.
    """
    targets = target_list(pid, group, session, cgroup, match, user)
    if len(targets) > 1:
        raise ValueError("snapshot: several targets (expected one; toll.track() measures several)")
    options = option_tuple(
        metrics=metrics,
        memory=memory,
        processes=processes,
        children=children,
        system=system,
        network=network,
        gpus=gpus,
    )
    alone = not targets and system and not (children or network or processes)
    kind, number, text = targets[0] if targets else Target(-1 if alone else PROCESS, 0, None)
    return _toll.snapshot_once(options, kind, number, text)
