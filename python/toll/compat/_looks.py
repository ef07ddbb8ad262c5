# SPDX-License-Identifier: MIT
"""The functions of resource_tracker.tracker: what a process or the machine has used so far, at a look.

A counter's first difference is of all that was ever counted, so a row of the dialect that nothing
came before has the totals. As there, a process that is not there has 0 of everything.
"""

from __future__ import annotations

import os
import time
from typing import Any, Dict, Mapping, Optional, Set

from .._dialects import Cell, Translator, dialect_columns
from .._snapshot import snapshot
from .._toll import Frame
from ._statistics import TIME

DIALECT = "resource-tracker"
SECTOR = 512
_RATE = "rate"  # of no use at a single look
_NO_DISKS = ("/proc", "/sys", "/dev", "/run")  # where that tool does not look for space


def look_at_process(pid: int, children: bool) -> Frame:
    """All that a row has. ProcessLookupError when there is no such process."""
    return snapshot(pid, children=children, memory="pss", gpus="all")


def look_at_machine() -> Frame:
    """All that a row has."""
    return snapshot(system=True, gpus="all")


def _look(pid: int, **options: Any) -> Optional[Frame]:
    """None when there is no such process."""
    try:
        return snapshot(pid, **options)
    except ProcessLookupError:
        return None


def nothing(columns: str, subject: str) -> Dict[str, Cell]:
    """A row of a process that is not there: as in that tool, 0 of everything."""
    return {column.name: 0 for column in dialect_columns(DIALECT, columns=columns, subject=subject)}


def _totals(frame: Optional[Frame], columns: str, subject: str, **facts: float) -> Dict[str, Any]:
    known = dialect_columns(DIALECT, columns=columns, subject=subject)
    row: Mapping[str, Cell] = nothing(columns, subject)
    if frame is not None:
        (row,) = Translator(f"{DIALECT},columns={columns}", **facts).rows(frame)
    return {column.name: row[column.name] for column in known if column.take != _RATE}


def process_totals(
    frame: Optional[Frame], pid: int, children: bool, columns: str = "v1"
) -> Dict[str, Any]:
    """What get_pid_stats() says of a look."""
    found = _totals(frame, columns, "target", pid=pid)
    found.update(pid=pid, children=found["children"] if children else None)
    found[TIME] = found[TIME] or time.time()
    return found


def get_pid_stats(pid: int, children: bool = True) -> Dict[str, Any]:
    """What a process has used, with its children: clock ticks, kB, bytes."""
    try:
        frame: Optional[Frame] = look_at_process(pid, children)
    except ProcessLookupError:
        frame = None
    return process_totals(frame, pid, children)


def get_system_stats() -> Dict[str, Any]:
    """What the machine has used since boot: clock ticks, kB, bytes; disks in sectors of 512 bytes.

    `disk_stats` and `disk_spaces` have a dict for each disk and each filesystem, instead of the sums
    over them.
    """
    return machine_totals(look_at_machine())


def machine_totals(frame: Frame, columns: str = "v1") -> Dict[str, Any]:
    """What get_system_stats() says of a look."""
    found = _totals(frame, columns, "machine")
    disks = {row.name: row for row in frame.rows if row.entity == "disk"}
    mounts = {
        row.name: row
        for row in frame.rows
        if row.entity == "mount" and not row.name.startswith(_NO_DISKS)
    }
    kept = {name: value for name, value in found.items() if not name.startswith("disk_")}
    kept["disk_stats"] = {
        name: {"read_sectors": _parts(row.read_bytes), "write_sectors": _parts(row.written_bytes)}
        for name, row in disks.items()
    }
    kept["disk_spaces"] = {name: _space(row) for name, row in mounts.items()}
    return kept


def _parts(count: Optional[float], unit: int = SECTOR) -> Optional[int]:
    return None if count is None else int(count) // unit


def sector_sizes() -> Dict[str, int]:
    """Of each whole disk: what the kernel counts in is the same for all."""
    return {row.name: SECTOR for row in snapshot(system=True).rows if row.entity == "disk"}


def _space(row: Any) -> Dict[str, Optional[int]]:
    total, free = row.size_bytes, row.available_bytes
    used = None if total is None or free is None else total - free
    return {"total": total, "used": used, "free": free}


def get_pid_children(pid: int) -> Set[int]:
    """All that descend from a process and live."""
    frame = _look(pid, children=True, processes="all")
    rows = frame.rows if frame is not None else []
    return {row.pid for row in rows if row.pid is not None and row.pid != pid}


def get_pid_rss(pid: int) -> Optional[int]:
    """In kB."""
    frame = _look(pid)
    return 0 if frame is None else _parts(frame.memory_rss_bytes, 1024)


def get_pid_pss_rollup(pid: int) -> Optional[int]:
    """In kB; None when the kernel does not tell this user."""
    found: Optional[int] = _totals(_look(pid, memory="pss"), "v1", "target", pid=pid)["pss"]
    return found


# These two are the files of the kernel, number for number: there is nothing to measure.


def get_pid_proc_times(pid: int, children: bool = True) -> Dict[str, int]:
    """CPU time of a process in clock ticks; with `children` also that of its children that have
    ended and were waited for, not of those that live."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            words = file.read().rpartition(b")")[2].split()  # a name may have anything in it
    except (FileNotFoundError, ProcessLookupError):
        return {"utime": 0, "stime": 0}
    user, system, reaped_user, reaped_system = (int(word) for word in words[11:15])
    if children:
        user, system = user + reaped_user, system + reaped_system
    return {"utime": user, "stime": system}


def get_pid_proc_io(pid: int) -> Dict[str, Optional[int]]:
    """All figures of /proc/PID/io; None when the kernel does not tell this user, 0 of a process that
    is not there."""
    try:
        with open(f"/proc/{pid}/io", "r", encoding="ascii") as file:
            pairs = [line.split(":") for line in file]
    except (FileNotFoundError, ProcessLookupError):
        return {"read_bytes": 0, "write_bytes": 0}
    except PermissionError:
        return {"read_bytes": None, "write_bytes": None}
    return {name: int(value) for name, value in pairs}


def is_partition(disk_name: str) -> bool:
    """Whether a block device is a part of a disk."""
    return os.path.exists(f"/sys/class/block/{disk_name}/partition")
