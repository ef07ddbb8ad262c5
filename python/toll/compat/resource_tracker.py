# SPDX-License-Identifier: MIT
"""The trackers of resource-tracker (SpareCores), measured by toll.

    from toll.compat.resource_tracker import PidTracker, ResourceTracker, SystemTracker

PidTracker and SystemTracker have the columns of its first releases (clock ticks, kB);
ProcessTracker and ResourceTracker those of later ones (seconds, MiB).
"""

from __future__ import annotations

import contextlib
import csv
import os
import sys
import time
from typing import Any, Dict, Iterator, Optional, TextIO

from .._dialects import Cell, Translator, dialect_columns
from .._toll import Frame
from .._track import track, track_machine
from .._tracker import Track
from ._looks import (
    get_pid_children,
    get_pid_proc_io,
    get_pid_proc_times,
    get_pid_pss_rollup,
    get_pid_rss,
    get_pid_stats,
    get_system_stats,
    is_partition,
    look_at_machine,
    look_at_process,
    machine_totals,
    nothing,
    process_totals,
    sector_sizes,
)
from ._resources import ResourceTracker
from ._server import cloud_info as get_cloud_info
from ._server import server_info as get_server_info
from ._statistics import TIME
from ._table import StatSpec, TinyDataFrame

__all__ = [
    "PidTracker",
    "ProcessTracker",
    "ResourceTracker",
    "StatSpec",
    "SystemTracker",
    "TinyDataFrame",
    "get_cloud_info",
    "get_pid_children",
    "get_pid_proc_io",
    "get_pid_proc_times",
    "get_pid_pss_rollup",
    "get_pid_rss",
    "get_pid_stats",
    "get_process_stats",
    "get_server_info",
    "get_system_stats",
    "is_partition",
]

get_process_stats = get_pid_stats  # as later releases call it

# That tool has them in modules, whose names are others for this one.
tracker = tiny_data_frame = sys.modules[__name__]
sys.modules.update({f"{__name__}.{name}": tracker for name in ("tracker", "tiny_data_frame")})

Row = Dict[str, Cell]
_DELTA = "delta"


@contextlib.contextmanager
def _destination(path: Optional[str]) -> Iterator[TextIO]:
    if path is None:
        yield sys.stdout
        return
    with open(path, "w", newline="", encoding="utf-8") as file:
        yield file


class _Tracker:
    """What is the same of a process and of the machine. A row covers the time since the row before,
    the first one that since the start."""

    _dialect = "resource-tracker"
    _columns = "v1"
    _subject = ""

    def __init__(
        self,
        interval: float,
        autostart: bool,
        output_file: Optional[str],
        start_time: Optional[float],
    ) -> None:
        self.status = "running"
        self.interval = interval
        self.cycle = 0
        self.start_time = time.time() if start_time is None else start_time
        self._looks = self._translator()
        self._looks.tell(since=1)
        self._frame: Optional[Frame] = None
        self._at_start: Row = {}
        self._row()
        if autostart:
            time.sleep(max(0.0, self.start_time - time.time()))
            self.start_tracking(output_file)

    def __call__(self) -> None:
        """Does nothing: it makes an instance callable."""

    def _look(self) -> Frame:
        raise NotImplementedError

    def _totals(self, frame: Optional[Frame]) -> Dict[str, Any]:
        raise NotImplementedError

    def _track(self) -> Track:
        raise NotImplementedError

    @property
    def stats(self) -> Dict[str, Any]:
        """What was used in all, at the last look: get_pid_stats() or get_system_stats()."""
        if self._frame is None and self.status == "running":  # start_tracking() looks by itself
            try:
                return self._totals(self._look())
            except ProcessLookupError:
                pass
        return self._totals(self._frame)

    def _translator(self) -> Translator:
        return Translator(f"{self._dialect},columns={self._columns}")

    def _row(self) -> Row:
        self._looks.tell(elapsed=time.monotonic())
        self._frame = self._look()
        (row,) = self._looks.rows(self._frame)
        return row

    def diff_stats(self) -> Row:
        """What was used since the last call, as a row; of a process that has ended 0 of everything,
        and `status` is exited."""
        self.cycle += 1
        try:
            return self._row()
        except ProcessLookupError:
            self.status = "exited"
            self._frame = None
            ended = nothing(self._columns, self._subject)
            return {**ended, **{k: v for k, v in self.stats.items() if k in (TIME, "pid")}}

    def start_tracking(self, output_file: Optional[str] = None, print_header: bool = True) -> None:
        """Write a row every `interval` seconds, until the process has ended; of the machine until
        somebody interrupts it.

        The rows are CSV, for standard output when no file is named.
        """
        self._frame = None
        with _destination(output_file) as file:
            writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC)
            for row in self._rows():
                if self.cycle == 0 and print_header:
                    writer.writerow(row)
                self.cycle += 1
                writer.writerow(row.values())
                file.flush()

    def _rows(self) -> Iterator[Row]:
        self.cycle = 0
        translator = self._translator()
        try:
            tracker = self._track().start()
        except ProcessLookupError:
            self.status = "exited"
            return
        seen = 0
        try:
            for frame in tracker.until_end():
                seen = frame.number + 1
                yield from self._rows_of(frame, translator)
        finally:
            tracker.stop()
        self.status = "exited"
        for frame in tracker.frames:
            if frame.number >= seen:
                yield from self._rows_of(frame, translator)

    def _rows_of(self, frame: Frame, translator: Translator) -> Iterator[Row]:
        """The first frame is of the very start. It is no row, but has all that is read seldom, and
        what was used until then comes with the first row."""
        for row in translator.rows(frame):
            if frame.number == 0:
                self._at_start = row
                continue
            if frame.number == 1:
                self._add_start(row)
            yield row

    def _add_start(self, row: Row) -> None:
        known = dialect_columns(self._dialect, columns=self._columns, subject=self._subject)
        for column in known:
            value, before = row[column.name], self._at_start.get(column.name)
            if column.take == _DELTA and isinstance(value, (int, float)):
                both = value + before if isinstance(before, (int, float)) else value
                row[column.name] = round(both, column.decimals) if column.decimals else both


class PidTracker(_Tracker):
    """A process and what it starts, a row of CSV every `interval` seconds.

    With `autostart` the call returns when the process has ended; otherwise start_tracking() does
    the same, and diff_stats() is one row at a time. `status` is running or exited.
    ProcessLookupError when there is no such process to begin with.
    """

    _subject = "target"

    def __init__(
        self,
        pid: Optional[int] = None,
        interval: float = 1,
        children: bool = True,
        autostart: bool = True,
        output_file: Optional[str] = None,
        start_time: Optional[float] = None,
    ) -> None:
        self.pid = os.getpid() if pid is None else int(pid)
        self.children = children
        super().__init__(interval, autostart, output_file, start_time)

    def _look(self) -> Frame:
        return look_at_process(self.pid, self.children)

    def _totals(self, frame: Optional[Frame]) -> Dict[str, Any]:
        return process_totals(frame, self.pid, self.children, self._columns)

    def _track(self) -> Track:
        return track(
            self.pid,
            interval=self.interval,
            children=self.children,
            memory="pss",
            processes=None,
            gpus="all",
        )

    def _translator(self) -> Translator:
        return Translator(f"{self._dialect},columns={self._columns}", pid=self.pid)


class ProcessTracker(PidTracker):
    """PidTracker with the columns of later releases: seconds, MiB."""

    _columns = "v2"

    def __init__(
        self,
        pid: Optional[int] = None,
        start_time: Optional[float] = None,
        interval: float = 1,
        children: bool = True,
        autostart: bool = True,
        output_file: Optional[str] = None,
    ) -> None:
        super().__init__(pid, interval, children, autostart, output_file, start_time)


class SystemTracker(_Tracker):
    """The machine, a row of CSV every `interval` seconds, until somebody interrupts it.

    With `autostart` the call does not return; otherwise start_tracking() does the same, and
    diff_stats() is one row at a time.
    """

    _subject = "machine"

    def __init__(
        self,
        interval: float = 1,
        autostart: bool = True,
        output_file: Optional[str] = None,
        start_time: Optional[float] = None,
        **options: Any,
    ) -> None:
        self._columns = options.pop("columns", "v1")
        if options:
            raise TypeError(f"SystemTracker takes no {', '.join(options)}")
        self.sector_sizes = sector_sizes()
        super().__init__(interval, autostart, output_file, start_time)

    def _look(self) -> Frame:
        return look_at_machine()

    def _totals(self, frame: Optional[Frame]) -> Dict[str, Any]:
        return machine_totals(frame or look_at_machine(), self._columns)

    def _track(self) -> Track:
        return track_machine(interval=self.interval, gpus="all")
