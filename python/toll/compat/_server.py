# SPDX-License-Identifier: MIT
"""What the machine has. Nobody outside is asked."""

from __future__ import annotations

import os
import statistics
from typing import Any, Dict, Optional

from .._snapshot import snapshot
from ._table import TinyDataFrame

# Column of the process, of the machine: how many times as much the machine may use, or how much
# more, before others must be using it, too.
_CHECKS = (
    ("cpu_usage", "cpu_usage", 1.25, 0.25),
    ("memory_mib", "memory_used_mib", 1.5, 512),
    ("gpu_usage", "gpu_usage", 1.25, 0.2),
    ("gpu_vram_mib", "gpu_vram_mib", 1.25, 512),
)


def server_info() -> Dict[str, Any]:
    """CPUs, memory and GPUs."""
    gpus = [row for row in snapshot(system=True, gpus="all").rows if row.entity == "gpu"]
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "vcpus": os.cpu_count(),
        "memory_mb": round(memory / 1048576, 2),
        "gpu_count": len(gpus),
        "gpu_names": [row.name for row in gpus],
        "gpu_memory_mb": round(sum(row.memory_total_bytes or 0 for row in gpus) / 1048576, 2),
    }


def cloud_info() -> Dict[str, Any]:
    """Which cloud this is could only be told by its own service on the network."""
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
