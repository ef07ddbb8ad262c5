# SPDX-License-Identifier: MIT
"""The functions of resource_tracker.tracker: what a process or the machine has used so far, at a look.

A counter's first difference is of all that was ever counted, so a row of the dialect that nothing
came before has the totals. As there, a process that is not there has 0 of everything.
"""

from __future__ import annotations

import os
import time
from typing import Any, Dict, Optional, Set

from .._dialects import Cell, Translator, dialect_columns
from .._snapshot import snapshot
from .._toll import Frame
from ._statistics import TIME

DIALECT = "resource-tracker"
SECTOR = 512
_RATE = "rate"  # of no use at a single look
_NO_DISKS = ("/proc", "/sys", "/dev", "/run")  # where that tool does not look for space


def _look(pid: int, **options: Any) -> Optional[Frame]:
    """None when there is no such process."""
    try:
        return snapshot(pid, **options)
    except ProcessLookupError:
        return None


def _totals(frame: Optional[Frame], subject: str, **facts: float) -> Dict[str, Any]:
    columns = dialect_columns(DIALECT, columns="v1", subject=subject)
    known = [column for column in columns if column.take != _RATE]
    row: Dict[str, Cell] = {}
    if frame is not None:
        (row,) = Translator(DIALECT, **facts).rows(frame)
    return {column.name: row[column.name] if row else 0 for column in known}


def get_pid_stats(pid: int, children: bool = True) -> Dict[str, Any]:
    """What a process has used, with its children: clock ticks, kB, bytes."""
    frame = _look(pid, children=children, memory="pss")
    found = _totals(frame, "target", pid=pid)
    found.update(pid=pid, children=found["children"] if children else None)
    found[TIME] = found[TIME] or time.time()
    return found


def get_system_stats() -> Dict[str, Any]:
    """What the machine has used since boot: clock ticks, kB, bytes; disks in sectors of 512 bytes.

    `disk_stats` and `disk_spaces` have a dict for each disk and each filesystem, instead of the sums
    over them.
    """
    frame = snapshot(system=True)
    found = _totals(frame, "machine")
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
    found: Optional[int] = _totals(_look(pid, memory="pss"), "target", pid=pid)["pss"]
    return found


def get_pid_proc_io(pid: int) -> Dict[str, Optional[int]]:
    """Bytes of storage; None when the kernel does not tell this user."""
    found = _totals(_look(pid), "target", pid=pid)
    return {name: found[name] for name in ("read_bytes", "write_bytes")}


def is_partition(disk_name: str) -> bool:
    """Whether a block device is a part of a disk."""
    return os.path.exists(f"/sys/class/block/{disk_name}/partition")
