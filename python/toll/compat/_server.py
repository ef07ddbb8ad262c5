# SPDX-License-Identifier: MIT
"""What the machine has. No service on the network is asked."""

from __future__ import annotations

import collections
import os
import platform
import statistics
import time
from typing import Any, Dict, List, Optional

from .._snapshot import snapshot
from .._track import track_machine
from ._releases import chosen
from ._table import TinyDataFrame

# Column of the process, of the machine: how many times as much the machine may use, or how much
# more, before others must be using it, too.
_CHECKS = (
    ("cpu_usage", "cpu_usage", 1.25, 0.25),
    ("memory_mib", "memory_used_mib", 1.5, 512),
    ("gpu_usage", "gpu_usage", 1.25, 0.2),
    ("gpu_vram_mib", "gpu_vram_mib", 1.25, 512),
)
_MIB = 1048576
MOST_SECONDS = 2.0  # for a driver that was asked a moment ago


def total_memory() -> float:
    """Of the machine, in MiB."""
    return round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / _MIB, 2)


def _models(names: List[str]) -> List[str]:
    """What the driver calls GPUs, which only a summary has; by their names where it does not say."""
    if not names:
        return []
    with track_machine(interval=0.05, gpus="all") as tracker:
        end = time.monotonic() + MOST_SECONDS
        while time.monotonic() < end:
            frame = tracker.frame
            if frame is not None and any(row.entity == "gpu" for row in frame.rows):
                break
            time.sleep(0.005)
    known = {gpu["name"]: gpu.get("model") for gpu in tracker.summary.to_dict().get("gpus", [])}
    return [known.get(name) or name for name in names]


def server_info(*, columns: Optional[str] = None) -> Dict[str, Any]:
    """Operating system, CPUs, memory and GPUs. Memory is MiB; the keys call it so from release 0.5
    on, before that they call it mb."""
    unit = chosen(columns, "0.5").unit
    gpus = [row for row in snapshot(system=True, gpus="all").rows if row.entity == "gpu"]
    names = _models([row.name for row in gpus])
    sizes = [row.memory_total_bytes for row in gpus if row.memory_total_bytes is not None]
    return {
        "os": platform.system(),
        "vcpus": os.cpu_count(),
        f"memory_{unit}": total_memory(),
        "gpu_count": len(gpus),
        "gpu_names": names,
        "gpu_name": collections.Counter(names).most_common(1)[0][0] if names else "",
        f"gpu_memory_{unit}": round(sum(sizes) / _MIB, 2) if len(sizes) == len(gpus) else None,
    }


def cloud_info() -> Dict[str, Any]:
    """Which cloud this is is known only to its own service on the network."""
    unknown = dict.fromkeys(("vendor", "instance_type", "region"), "unknown")
    return {**unknown, "discovery_time": 0.0}


def allocation(process: TinyDataFrame, system: TinyDataFrame) -> Optional[str]:
    """A guess: the machine is dedicated to the process, or shared; None when nothing is known."""
    if not len(process) or not len(system):
        return None
    for of_process, of_system, times, more in _CHECKS:
        own = [value for value in process[of_process] if value is not None]
        whole = [value for value in system[of_system] if value is not None]
        if not own or not whole:
            continue
        mean, most = statistics.fmean(own), statistics.fmean(whole)
        if most > mean * times or most > mean + more:
            return "shared"
    return "dedicated"
