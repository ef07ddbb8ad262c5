# SPDX-License-Identifier: MIT
"""The functions of resource_tracker.tracker: what a process or the machine has used so far, at a look.

A counter's first difference is of all that was ever counted, so a row of the layout that nothing
came before has the totals. As there, a process that is not there has 0 of everything.
"""

from __future__ import annotations

import os
import time
from typing import Any, Dict, Mapping, NamedTuple, Optional, Set

from .._layouts import Cell, Translator, layout_columns
from .._snapshot import snapshot
from .._toll import Frame
from ._releases import chosen
from ._statistics import TIME

LAYOUT = "resource-tracker"
SECTOR = 512
_OF_GPUS = "gpu_"
_RATE = "rate"  # of no use at a single look
_NO_DISKS = ("/proc", "/sys", "/dev", "/run")  # where that tool does not look for space


class Look(NamedTuple):
    """All that a row has. To look at GPUs a process is forked, which shares the memory of this one
    and so halves its PSS: that is another look."""

    frame: Frame
    gpus: Optional[Frame] = None  # None: they are in the frame, or not known


def look_at_process(pid: int, children: bool) -> Look:
    """ProcessLookupError when there is no such process."""
    frame = snapshot(pid, children=children, memory="pss")
    return Look(frame, _look(pid, children=children, gpus="all"))


def look_at_machine() -> Look:
    return Look(snapshot(system=True, gpus="all"))


def row_of_look(translator: Translator, look: Look, columns: str) -> Dict[str, Cell]:
    """A row of the layout; the translator knows the looks before."""
    (row,) = translator.rows(look.frame)
    if look.gpus is not None:
        (other,) = Translator(f"{LAYOUT},columns={columns}").rows(look.gpus)
        row.update({name: value for name, value in other.items() if name.startswith(_OF_GPUS)})
    return row


def _look(pid: int, **options: Any) -> Optional[Frame]:
    """None when there is no such process."""
    try:
        return snapshot(pid, **options)
    except ProcessLookupError:
        return None


def nothing(columns: str, subject: str) -> Dict[str, Cell]:
    """A row of a process that is not there: as in that tool, 0 of everything."""
    return {column.name: 0 for column in layout_columns(LAYOUT, columns=columns, subject=subject)}


def _totals(look: Optional[Look], columns: str, subject: str, **facts: float) -> Dict[str, Any]:
    known = layout_columns(LAYOUT, columns=columns, subject=subject)
    row: Mapping[str, Cell] = nothing(columns, subject)
    if look is not None:
        row = row_of_look(Translator(f"{LAYOUT},columns={columns}", **facts), look, columns)
    return {column.name: row[column.name] for column in known if column.take != _RATE}


def process_totals(
    look: Optional[Look], pid: int, children: bool, columns: str
) -> Dict[str, Any]:
    """What get_pid_stats() says of a look, with the columns of a release."""
    found = _totals(look, columns, "target", pid=pid)
    found.update(pid=pid, children=found["children"] if children else None)
    found[TIME] = found[TIME] or time.time()
    return found


def _process_stats(pid: int, children: bool, columns: str) -> Dict[str, Any]:
    try:
        look: Optional[Look] = look_at_process(pid, children)
    except ProcessLookupError:
        look = None
    return process_totals(look, pid, children, columns)


def get_pid_stats(
    pid: int, children: bool = True, *, columns: Optional[str] = None
) -> Dict[str, Any]:
    """What a process has used, with its children: clock ticks, kB, bytes, as release 0.1 has it; see
    use_release()."""
    return _process_stats(pid, children, chosen(columns, "0.1").rows)


def get_process_stats(
    pid: int, children: bool = True, *, columns: Optional[str] = None
) -> Dict[str, Any]:
    """What a process has used, with its children: seconds, MiB, bytes, as release 0.5 has it; see
    use_release()."""
    return _process_stats(pid, children, chosen(columns, "0.5").rows)


def get_system_stats(*, columns: Optional[str] = None) -> Dict[str, Any]:
    """What the machine has used since boot: clock ticks, kB, bytes, and disks in sectors of 512
    bytes, as release 0.1 has it; see use_release().

    `disk_stats` and `disk_spaces` have a dict for each disk and each filesystem, instead of the sums
    over them.
    """
    return machine_totals(look_at_machine(), chosen(columns, "0.1").rows)


def machine_totals(look: Look, columns: str) -> Dict[str, Any]:
    """What get_system_stats() says of a look, with the columns of a release. Disks are in the place
    of the first sum over them."""
    kept: Dict[str, Any] = {}
    for name, value in _totals(look, columns, "machine").items():
        if not name.startswith("disk_"):
            kept[name] = value
        elif "disk_stats" not in kept:
            kept["disk_stats"] = _disks(look.frame, columns)
            kept["disk_spaces"] = {
                row.name: _space(row)
                for row in look.frame.rows
                if row.entity == "mount" and not row.name.startswith(_NO_DISKS)
            }
    return kept


def _disks(frame: Frame, columns: str) -> Dict[str, Dict[str, Optional[int]]]:
    """In sectors in the first release, in bytes later."""
    word, unit = ("sectors", SECTOR) if columns == "v1" else ("bytes", 1)
    return {
        row.name: {
            f"read_{word}": _parts(row.read_bytes, unit),
            f"write_{word}": _parts(row.written_bytes, unit),
        }
        for row in frame.rows
        if row.entity == "disk"
    }


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
    """In kB; None when this user may not read it."""
    frame = _look(pid, memory="pss")
    return 0 if frame is None else _parts(frame.memory_pss_bytes, 1024)


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
    """All figures of /proc/PID/io; None when this user may not read them, 0 of a process that
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
