# SPDX-License-Identifier: MIT
"""Statistics over rows of unequal length, and what to order for the next run."""

from __future__ import annotations

import math
import statistics
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

from ._table import Column, StatSpec, TinyDataFrame

TIME = "timestamp"
Stats = Dict[str, Dict[str, Any]]


def mean(values: Sequence[float]) -> float:
    """In the statistics of ResourceTracker each value counts for as long as its row is."""
    return statistics.fmean(values)


# Columns of the layout, as its table has them: cores, memory, GPUs, their memory.
RECOMMENDED = (
    "process_cpu_usage",
    "process_memory_mib",
    "process_gpu_usage",
    "process_gpu_vram_mib",
)


def _specs() -> List[StatSpec]:
    both = (*RECOMMENDED, "process_gpu_utilized")
    kinds: List[Any] = [mean, max]
    found = [StatSpec(column, agg, round=2) for column in both for agg in kinds]
    found.append(StatSpec("system_disk_space_used_gb", max, round=2))
    found += [StatSpec(f"system_net_{way}_bytes", sum) for way in ("recv", "sent")]
    found.append(StatSpec(TIME, lambda x: max(x) - min(x), "duration", 2))
    return found


DEFAULT_SPECS = _specs()


class Weighted:
    """A table whose rows are of unequal length: the first and the last are shorter."""

    def __init__(self, table: TinyDataFrame, start: Optional[float]) -> None:
        times = table[TIME]
        self._table = table
        before = [times[0] if start is None else start, *times]
        self._lengths = [max(0.0, now - then) for then, now in zip(before, times)]

    def _known(self, column: Column) -> List[Tuple[float, float]]:
        return [pair for pair in zip(column, self._lengths) if pair[0] is not None]

    def _stat(self, spec: StatSpec) -> Any:
        """Of all rows. A mean counts every value for as long as it was."""
        if spec.column == TIME and spec.name == "duration":
            return sum(self._lengths)
        known = self._known(self._table[spec.column])
        total = sum(length for _, length in known)
        if not known:
            return None
        if spec.agg in (mean, statistics.mean, statistics.fmean) and total > 0:
            return sum(value * length for value, length in known) / total
        return spec.agg([value for value, _ in known])

    def stats(self, specs: Iterable[StatSpec]) -> Stats:
        """By column and name; what is not known is None."""
        found: Stats = {}
        for spec in specs:
            value = self._stat(spec)
            if value is not None and spec.round is not None:
                value = round(value, spec.round)
            found.setdefault(spec.column, {})[spec.name] = value
        return found


def aggregate_stats(many: Sequence[Stats]) -> Stats:
    """Statistics of several runs as one: means of means, the largest of the largest."""
    combined: Stats = {}
    for column, named in many[0].items():
        combined[column] = {}
        for name in named:
            known = [one[column][name] for one in many if one.get(column, {}).get(name) is not None]
            value = (max(known) if name == "max" else statistics.fmean(known)) if known else None
            combined[column][name] = value
    return combined


def round_memory(mb: float) -> int:
    """The next size that one can order: 128, 256, 512, 1024, 2048, then whole gigabytes."""
    for size in (128, 256, 512, 1024, 2048):
        if mb <= size:
            return size
    return 1024 * math.ceil(mb / 1024)


def recommend(stats: Stats) -> Dict[str, int]:
    """The mean of the cores; memory, of GPUs too, for the peak and a fifth more."""
    cpu, memory, gpu, vram = (
        {key: value or 0 for key, value in stats[column].items()} for column in RECOMMENDED
    )
    return {
        "cpu": max(1, math.floor(cpu["mean"] + 0.5)),
        "memory": round_memory(memory["max"] * 1.2),
        "gpu": max(1, math.floor(gpu["max"] + 0.5)) if gpu["mean"] > 0 else 0,
        "vram": round_memory(vram["max"] * 1.2) if vram["max"] > 0 else 0,
    }
