# SPDX-License-Identifier: MIT
"""The monitor of process groups of SPDL, measured by toll.

    from toll.compat.spdl import ProcessGroupResourceUsage, ProcessGroupStatsMonitor

    async def callback(usage: ProcessGroupResourceUsage) -> None:
        print(usage.cpu_percent, usage.pss_bytes)

    task = asyncio.create_task(ProcessGroupStatsMonitor(callback, interval=60).run())
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import os
from typing import TYPE_CHECKING, Any, Awaitable, Callable, Iterable, List, Optional, Union

from .._layouts import LayoutColumn, Translator, layout_columns
from .._toll import Frame
from .._track import track
from .._tracker import Track
from ._records import TYPES, make_record

__all__ = [
    "ExtendedProcessGroupResourceUsage",
    "ProcessGroupResourceUsage",
    "ProcessGroupStatsMonitor",
]

LAYOUT = "spdl"
_COLUMNS = layout_columns(LAYOUT, columns="spdl")
_EXTENDED = layout_columns(LAYOUT, columns="all")
_GROUP = next(column.name for column in _COLUMNS if column.terms == "@group")
_LOG = logging.getLogger(__name__)

_ABOUT = """What the processes of a group use: one sample of ProcessGroupStatsMonitor.

`cpu_percent` is of one core, over the time since the sample before: 200 are two cores; None in the
first sample. Memory is the sum over the group: RSS counts shared pages once for each process, PSS
divides them, private memory leaves them out; PSS and private memory are None when the kernel does
not tell. Disk is storage, network is all interfaces but loopback: totals since monitoring began.
"""

_MORE = """A ProcessGroupResourceUsage with three more fields, which SPDL does not have: when the sample
was taken, and what came over the network since the sample before.
"""

if TYPE_CHECKING:
    from ._shapes import ExtendedProcessGroupResourceUsage, ProcessGroupResourceUsage
else:
    # The pid and the group are always known, the rest may be not.
    _REQUIRED = ("@own_pid", "@group")

    def _fields(columns: List[LayoutColumn]) -> List[Any]:
        return [
            (column.name, TYPES[column.type])
            if column.terms in _REQUIRED
            else (column.name, Optional[TYPES[column.type]], dataclasses.field(default=None))
            for column in columns
        ]

    ProcessGroupResourceUsage = make_record("ProcessGroupResourceUsage", _ABOUT, _fields(_COLUMNS))
    ExtendedProcessGroupResourceUsage = make_record(
        "ExtendedProcessGroupResourceUsage",
        _MORE,
        _fields(_EXTENDED[len(_COLUMNS) :]),
        (ProcessGroupResourceUsage,),
    )


class ProcessGroupStatsMonitor:
    """Calls `callback` with a ProcessGroupResourceUsage every `interval` seconds, the first time at
    once.

    A native thread takes the samples: a callback that takes its time delays none of them. One that
    raises is logged, and monitoring goes on. `pgid` names other groups than that of this
    process, one or several; there is a call for each. With `extended` the callback is called with an
    ExtendedProcessGroupResourceUsage.
    """

    def __init__(
        self,
        callback: Callable[[ProcessGroupResourceUsage], Awaitable[None]],
        interval: float = 60.0,
        mp_context: object = None,
        *,
        pgid: Union[int, Iterable[int], None] = None,
        extended: bool = False,
    ) -> None:
        groups = [os.getpgrp()] if pgid is None else [pgid] if isinstance(pgid, int) else list(pgid)
        self._callback = callback
        self._interval = interval
        self._groups = groups
        self._record = ExtendedProcessGroupResourceUsage if extended else ProcessGroupResourceUsage
        self._layout = f"{LAYOUT},columns=all" if extended else LAYOUT

    async def run(self) -> None:
        """Until it is cancelled, or until all of the groups have ended."""
        tracker = track(
            group=self._groups,
            interval=self._interval,
            memory="pss",
            processes=None,
            system=True,
            gpus="none",
        )
        tracker.start()
        try:
            await self._follow(tracker)
        finally:
            tracker.stop()

    async def _follow(self, tracker: Track) -> None:
        translator = Translator(self._layout)
        pause = min(max(self._interval / 50, 0.005), 0.5)
        number = 0
        while True:
            is_over = tracker.wait(0)
            for frame in tracker.frames:
                if frame.number >= number:
                    number = frame.number + 1
                    await self._tell(translator, frame)
            if is_over:
                return
            await asyncio.sleep(pause)

    async def _tell(self, translator: Translator, frame: Frame) -> None:
        for group, row in zip(self._groups, translator.rows(frame)):
            record: Any = {**row, _GROUP: group}
            try:
                await self._callback(self._record(**record))
            except Exception:
                _LOG.warning("the callback of ProcessGroupStatsMonitor failed", exc_info=True)
