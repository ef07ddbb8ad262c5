# SPDX-License-Identifier: MIT
"""What runs beside a GPU calibration sweep: a log of phases and events, monitors of the hardware,
and the summary of their files. Measured by toll: no nvidia-smi is started.

    from toll.compat.sweep import HWMonitor, RunLog, build_resource_summary

    monitor = HWMonitor()
    monitor.start(directory)
    work()
    summary = build_resource_summary(*monitor.stop())
"""

from __future__ import annotations

import csv
import dataclasses
import importlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Tuple

from .._layouts import LayoutColumn, layout_columns
from .._track import track_machine
from .._tracker import Track
from ._records import make_record
from ._runlog import RunLog

__all__ = [
    "HWMonitor",
    "ResourceSummary",
    "RunLog",
    "build_resource_summary",
    "probe_jax_peak_memory_mb",
]

LAYOUT = "sweep"
GPU_FILE, CPU_FILE, DMON_FILE = "hw_metrics.csv", "cpu_metrics.csv", "hw_dmon.csv"
_SUMMARY = layout_columns(LAYOUT, format="json")


class HWMonitor:
    """Samples of GPUs and CPUs, in files of a directory, from start() to stop().

    A native thread takes them, every `interval_sec` seconds. A file of something that is not there,
    as of GPUs, is left out.
    """

    def __init__(self) -> None:
        self._track: Optional[Track] = None
        self._directory = Path()

    def start(self, output_dir: "os.PathLike[str] | str", interval_sec: float = 2) -> None:
        """Begin; the directory is made. RuntimeError when it runs already."""
        if self._track is not None:
            raise RuntimeError("HWMonitor: already running")
        self._directory = Path(output_dir)
        self._directory.mkdir(parents=True, exist_ok=True)
        self._track = track_machine(
            interval=interval_sec,
            outputs=[
                ("csv", self._directory / name, LAYOUT) for name in (GPU_FILE, CPU_FILE, DMON_FILE)
            ],
            history=0,
            gpus="all",
        ).start()

    def stop(self) -> Tuple[Optional[Path], Optional[Path], Optional[Path]]:
        """The files of GPUs, CPUs and memory controllers; None of what is not there. When it was
        not started, all of them."""
        tracker, self._track = self._track, None
        if tracker is None or not tracker.is_ours:
            return None, None, None
        tracker.stop()
        return self._keep(GPU_FILE), self._keep(CPU_FILE), self._keep(DMON_FILE)

    def _keep(self, name: str) -> Optional[Path]:
        """The path, when there are samples in it."""
        path = self._directory / name
        if any(True for _ in _samples(path, layout_columns(LAYOUT, file=name))):
            return path
        if path.exists():
            path.unlink()
        return None

    def __enter__(self) -> "HWMonitor":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


# ---- The files -----------------------------------------------------------------------------------


def _number(text: str) -> Optional[float]:
    try:
        return float(text)
    except ValueError:
        return None  # [N/A], -


def _heading(line: str, columns: List[LayoutColumn]) -> Optional[List[int]]:
    """Where a heading of nvidia-smi dmon has each of the columns, -1: nowhere. What it prints, and in
    which order, depends on the driver. None: a line of units, which names none of them."""
    words = line.lstrip("#").lower().split()
    places = [words.index(column.name) if column.name in words else -1 for column in columns]
    return places if max(places) >= 0 else None


def _samples(path: Path, columns: List[LayoutColumn]) -> Iterator[List[Optional[float]]]:
    """The rows of a file, a number for each column; headings are none. By the heading that stands
    before them, where there is one; otherwise in the order of the columns."""
    if not path.exists():
        return
    places, needed = list(range(len(columns))), len(columns)
    with open(path, newline="", encoding="utf-8") as file:
        for line in file:
            if line.startswith("#"):
                places = _heading(line, columns) or places
                needed = max(places) + 1
                continue
            words = next(csv.reader([line])) if "," in line else line.split()
            values = [_number(word.strip()) for word in words]
            if len(values) >= needed and any(value is not None for value in values):
                yield [values[place] if place >= 0 else None for place in places]


def _columns_of(path: Optional["os.PathLike[str] | str"], name: str) -> Dict[str, List[float]]:
    """By what each column is in toll's words: the values that are known."""
    found: Dict[str, List[float]] = {}
    if path is None:
        return found
    columns = layout_columns(LAYOUT, file=name)
    for values in _samples(Path(path), columns):
        for column, value in zip(columns, values):
            if value is not None:
                found.setdefault(column.terms, []).append(value)
    return found


# ---- The summary ---------------------------------------------------------------------------------


if TYPE_CHECKING:
    from ._shapes import ResourceSummary
else:
    # The class has its fields in another order than the document, where some may be left out.
    _BEHIND = {"peak_vram_mb": "jax_", "gpu_util_max_pct": "mem_util_"}

    def _to_dict(self) -> Dict[str, float]:
        """As it is written to a file; what was not measured may be left out."""
        found = {c: getattr(self, c.name) for c in _SUMMARY}
        return {c.name: round(v, c.decimals) for c, v in found.items() if v > 0 or not c.optional}

    def _fields() -> Iterator[str]:
        names = [column.name for column in _SUMMARY]
        for name in (column.name for column in _SUMMARY if not column.optional):
            yield name
            yield from (one for one in names if one.startswith(_BEHIND.get(name, "-")))

    ResourceSummary = make_record(
        "ResourceSummary",
        "What a sweep used, of the files of a HWMonitor. 0.0: not measured.",
        [(name, float, dataclasses.field(default=0.0)) for name in _fields()],
    )
    ResourceSummary.to_dict = _to_dict


def build_resource_summary(
    gpu_csv_path: Optional["os.PathLike[str] | str"],
    cpu_csv_path: Optional["os.PathLike[str] | str"],
    dmon_csv_path: Optional["os.PathLike[str] | str"] = None,
) -> ResourceSummary:
    """Of the files of a HWMonitor, or of nvidia-smi: means and peaks. None: there is no such file."""
    dmon = _columns_of(dmon_csv_path, DMON_FILE)
    known = {**_columns_of(gpu_csv_path, GPU_FILE), **_columns_of(cpu_csv_path, CPU_FILE)}
    summary = ResourceSummary()
    for column in _SUMMARY:
        terms = column.terms.rstrip("^")
        # Of the file of memory controllers comes what is told only where there is one. It has more
        # columns, which are those of the other file again, as it was between its samples.
        values = (column.optional and dmon.get(terms)) or known.get(terms, [])
        if values:
            value = max(values) if column.take == "max" else sum(values) / len(values)
            setattr(summary, column.name, value)
    return summary


def probe_jax_peak_memory_mb() -> float:
    """The most memory of the first GPU that JAX has used, in MiB; 0.0 when there is no JAX, or no
    GPU for it."""
    try:
        devices = importlib.import_module("jax").local_devices()
        stats = next(one for one in devices if one.platform == "gpu").memory_stats()
        return float(stats.get("peak_bytes_in_use", 0) / 1048576)
    except Exception:
        return 0.0
