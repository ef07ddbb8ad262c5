# SPDX-License-Identifier: MIT
"""The trackers of resource-tracker (SpareCores), measured by toll.

    from toll.compat.resource_tracker import PidTracker, ResourceTracker, SystemTracker

PidTracker and SystemTracker have the columns of release 0.1 (clock ticks, kB), ProcessTracker and
ResourceTracker those of 0.5 (seconds, MiB); use_release("0.4") or `columns="0.4"` chooses another.
"""

from __future__ import annotations

import sys
import types
from typing import Any, Dict, Optional

from ._looks import (
    get_pid_children,
    get_pid_proc_io,
    get_pid_proc_times,
    get_pid_pss_rollup,
    get_pid_rss,
    get_pid_stats,
    get_process_stats,
    get_system_stats,
    is_partition,
    sector_sizes,
)
from ._releases import chosen, use_release
from ._report import Report
from ._resources import ResourceTracker, RunStatus
from ._server import cloud_info as get_cloud_info
from ._server import server_info as get_server_info
from ._server import total_memory
from ._statistics import aggregate_stats, round_memory
from ._table import StatSpec, TinyDataFrame
from ._trackers import PidTracker, ProcessTracker, SystemTracker

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
    "use_release",
]


# ---- Modules of that tool -------------------------------------------------------------------------


def _stats_of_0_4(pid: int, children: bool = True, *, columns: Optional[str] = None) -> Dict[str, Any]:
    """get_pid_stats() as the modules of releases 0.2 and 0.3 have it: seconds, kB."""
    return get_pid_stats(pid, children, columns=columns or _columns_from("0.4"))


def _system_stats_of_0_5(*, columns: Optional[str] = None) -> Dict[str, Any]:
    """get_system_stats() as the modules of release 0.5 have it: seconds, MiB."""
    return get_system_stats(columns=columns or _columns_from("0.5"))


def _columns_from(release: str) -> str:
    """Those that use_release() has chosen, otherwise those of this release."""
    return chosen(None, release).rows


def _module(name: str, **names: Any) -> types.ModuleType:
    made = types.ModuleType(f"{__name__}.{name}", f"As resource_tracker.{name}.")
    made.__dict__.update(names)
    return made


_looks = {
    "get_pid_stats": _stats_of_0_4,
    "get_process_stats": get_process_stats,
    "get_system_stats": _system_stats_of_0_5,
    "is_partition": is_partition,
    "get_sector_sizes": sector_sizes,
}
for _word in ("pid", "process"):  # as releases before and from 0.4 on call them
    _looks[f"get_{_word}_children"] = get_pid_children
    _looks[f"get_{_word}_rss"] = get_pid_rss
    _looks[f"get_{_word}_pss_rollup"] = get_pid_pss_rollup
    _looks[f"get_{_word}_proc_times"] = get_pid_proc_times
    _looks[f"get_{_word}_proc_io"] = get_pid_proc_io

tracker = tiny_data_frame = sys.modules[__name__]
tracker_procfs = _module("tracker_procfs", **_looks)
tracker_psutil = _module("tracker_psutil", **_looks)
cloud_info = _module("cloud_info", get_cloud_info=get_cloud_info)
server_info = _module(
    "server_info",
    get_server_info=get_server_info,
    get_total_memory_mb=total_memory,
    get_total_memory_mib=total_memory,
)
report = _module("report", Report=Report, round_memory=round_memory)
helpers = _module("helpers", aggregate_stats=aggregate_stats, is_partition=is_partition)
sentinel_api = _module("sentinel_api", RunStatus=RunStatus)
sys.modules.update(
    {
        f"{__name__}.{_name}": globals()[_name]
        for _name in (
            "tracker",
            "tiny_data_frame",
            "tracker_procfs",
            "tracker_psutil",
            "cloud_info",
            "server_info",
            "report",
            "helpers",
            "sentinel_api",
        )
    }
)
