# SPDX-License-Identifier: MIT
"""PidTracker, ProcessTracker and SystemTracker: rows of CSV, in the thread that calls them."""

from __future__ import annotations

import contextlib
import csv
import os
import sys
import threading
import time
from typing import Any, Dict, Iterator, Optional, TextIO, Tuple

from .._layouts import Cell, LayoutColumn, Translator, layout_columns
from .._toll import Frame
from .._track import track, track_machine
from .._tracker import Track
from ._gpus import choose_gpus
from ._looks import (
    Look,
    get_pid_children,
    look_at_machine,
    look_at_process,
    machine_totals,
    nothing,
    process_totals,
    row_of_look,
    sector_sizes,
)
from ._releases import chosen, is_moment
from ._statistics import TIME

Row = Dict[str, Cell]
_DELTA = "delta"
_MEMORY = ("pss", "memory", "memory_mib")  # as releases call it


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

    _layout = "resource-tracker"
    _release = "0.1"  # whose columns it has when nothing is said
    _subject = ""

    def __init__(
        self,
        interval: float,
        autostart: bool,
        output_file: Optional[str],
        start_time: Optional[float],
        columns: Optional[str],
    ) -> None:
        self._columns = chosen(columns, self._release).rows
        self.status = "running"
        self.interval = interval
        self.cycle = 0
        self.start_time = time.time() if start_time is None else start_time
        self._looks = self._translator()
        self._looks.set_fact(since=1)
        self._last: Optional[Look] = None
        self._at_start: Row = {}
        self._row()
        if autostart:
            time.sleep(max(0.0, self.start_time - time.time()))
            self.start_tracking(output_file)

    def __call__(self) -> None:
        """Does nothing: it makes an instance callable."""

    def _look(self) -> Look:
        raise NotImplementedError

    def _totals(self, look: Optional[Look]) -> Dict[str, Any]:
        raise NotImplementedError

    def _track(self) -> Track:
        raise NotImplementedError

    @property
    def stats(self) -> Dict[str, Any]:
        """What was used in all, at the last look: get_pid_stats() or get_system_stats()."""
        if self._last is None and self.status == "running":  # start_tracking() looks by itself
            try:
                return self._totals(self._look())
            except ProcessLookupError:
                pass
        return self._totals(self._last)

    def _translator(self) -> Translator:
        return Translator(f"{self._layout},columns={self._columns}")

    def _row(self) -> Row:
        self._looks.set_fact(elapsed=time.monotonic())
        self._last = self._look()
        return row_of_look(self._looks, self._last, self._columns)

    def diff_stats(self) -> Row:
        """What was used since the last call, as a row; of a process that has ended 0 of everything,
        and `status` is exited."""
        self.cycle += 1
        try:
            return self._row()
        except ProcessLookupError:
            self.status = "exited"
            self._last = None
            ended = nothing(self._columns, self._subject)
            return {**ended, **{k: v for k, v in self.stats.items() if k in (TIME, "pid")}}

    def start_tracking(self, output_file: Optional[str] = None, print_header: bool = True) -> None:
        """Write a row every `interval` seconds, until the process has ended; of the machine until
        it is interrupted.

        The rows are CSV, for standard output when no file is named.
        """
        self._last = None
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
        known = layout_columns(self._layout, columns=self._columns, subject=self._subject)
        for column in known:
            value, before = row[column.name], self._at_start.get(column.name)
            if column.take == _DELTA and isinstance(value, (int, float)):
                both = value + before if isinstance(before, (int, float)) else value
                row[column.name] = round(both, column.decimals) if column.decimals else both


def _in_order(
    start_time: Any, interval: Any, autostart: Any, output_file: Any
) -> Tuple[Optional[float], float, bool, Optional[str]]:
    """From release 0.4 on `start_time` stands before `interval`; before that there is none, and
    interval, autostart, output_file begin one place earlier. A length of time is no time of day."""
    if isinstance(interval, bool):
        if not isinstance(autostart, bool):
            interval, autostart, output_file = start_time, interval, autostart
        else:  # one of them by its name, or none
            interval, autostart = start_time, interval and autostart
        return None, 1 if interval is None else interval, autostart, output_file
    if start_time and interval == 1 and not is_moment(start_time):
        return None, start_time, autostart, output_file
    return start_time, interval, autostart, output_file


class PidTracker(_Tracker):
    """A process and what it starts, a row of CSV every `interval` seconds.

    With `autostart` the call returns when the process has ended; otherwise start_tracking() does
    the same, and diff_stats() is one row at a time. `status` is running or exited.
    ProcessLookupError when there is no such process to begin with. From release 0.4 on `start_time`
    is the second argument: both orders are taken. A process that does nothing but track one that it
    descends from, as one that multiprocessing has started, is not counted.
    """

    _subject = "target"

    def __init__(
        self,
        pid: Optional[int] = None,
        start_time: Optional[float] = None,
        interval: float = 1,
        children: bool = True,
        autostart: bool = True,
        output_file: Optional[str] = None,
        *,
        columns: Optional[str] = None,
    ) -> None:
        given: Any = (start_time, interval, autostart, output_file)
        if isinstance(interval, bool):  # interval, children, autostart, output_file
            given, children = (start_time, children, autostart, output_file), interval
        start_time, interval, autostart, output_file = _in_order(*given)
        self.pid = os.getpid() if pid is None else int(pid)
        self.children = children
        self._is_apart = False
        self._shared_bytes = 0
        super().__init__(interval, autostart, output_file, start_time, columns)

    @property
    def _memory(self) -> LayoutColumn:
        known = layout_columns(self._layout, columns=self._columns, subject=self._subject)
        return next(column for column in known if column.name in _MEMORY)

    def _look(self) -> Look:
        return look_at_process(self.pid, self.children)

    def _totals(self, look: Optional[Look]) -> Dict[str, Any]:
        return process_totals(look, self.pid, self.children, self._columns)

    def _track(self) -> Track:
        # Its main thread waits in start_tracking(): the process is there for this alone.
        self._is_apart = (
            threading.current_thread() is threading.main_thread()
            and os.getpid() in get_pid_children(self.pid)
        )
        return track(
            self.pid,
            interval=self.interval,
            children=self.children,
            memory="pss",
            processes=None,
            gpus=choose_gpus(None, None)[0],
            without_self=self._is_apart,
        )

    def _translator(self) -> Translator:
        return Translator(f"{self._layout},columns={self._columns}", pid=self.pid)

    def _rows_of(self, frame: Frame, translator: Translator) -> Iterator[Row]:
        """PSS divides a page among those that share it. A tracker that was forked shares what the
        program had then: its part of these pages is the program's."""
        if self._is_apart and not frame.last:
            self._shared_bytes = _shared_memory()
        for row in super()._rows_of(frame, translator):
            value = row[self._memory.name]
            if self._is_apart and isinstance(value, (int, float)) and value > 0:
                both = value + self._shared_bytes * self._memory.factor
                decimals = self._memory.decimals
                row[self._memory.name] = round(both, decimals) if decimals else int(both)
            yield row


def _shared_memory() -> int:
    """Of this process, its part of pages that others have, too."""
    found = dict.fromkeys(("Pss", "Private_Clean", "Private_Dirty", "Private_Hugetlb"), 0)
    try:
        with open("/proc/self/smaps_rollup", encoding="ascii") as file:
            for line in file:
                name, _, rest = line.partition(":")
                if name in found:
                    found[name] = int(rest.split()[0]) * 1024
    except (OSError, ValueError):
        return 0
    return max(0, 2 * found["Pss"] - sum(found.values()))


class ProcessTracker(PidTracker):
    """PidTracker with the columns of release 0.5: seconds, MiB."""

    _release = "0.5"


class SystemTracker(_Tracker):
    """The machine, a row of CSV every `interval` seconds, until it is interrupted.

    With `autostart` the call does not return; otherwise start_tracking() does the same, and
    diff_stats() is one row at a time. Before release 0.4 there is no `start_time`, and `interval` is
    the first argument: both orders are taken.
    """

    _subject = "machine"

    def __init__(
        self,
        start_time: Optional[float] = None,
        interval: float = 1,
        autostart: bool = True,
        output_file: Optional[str] = None,
        *,
        columns: Optional[str] = None,
    ) -> None:
        start_time, interval, autostart, output_file = _in_order(
            start_time, interval, autostart, output_file
        )
        self.sector_sizes = sector_sizes()
        super().__init__(interval, autostart, output_file, start_time, columns)

    def _look(self) -> Look:
        return look_at_machine()

    def _totals(self, look: Optional[Look]) -> Dict[str, Any]:
        return machine_totals(look or look_at_machine(), self._columns)

    def _track(self) -> Track:
        return track_machine(interval=self.interval, gpus=choose_gpus(None, None)[0])
