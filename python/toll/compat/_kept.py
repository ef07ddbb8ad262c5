# SPDX-License-Identifier: MIT
"""A ResourceTracker for later: as a dict, as JSON, as a file."""

from __future__ import annotations

import gzip
import json
import time
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Type, TypeVar

from .. import _toll
from ._combined import PROCESS, SYSTEM, is_of_0_4
from ._releases import used_release
from ._statistics import TIME

if TYPE_CHECKING:
    from ._table import TinyDataFrame

Tracker = TypeVar("Tracker", bound="Kept")


class Kept:
    """What is the same whether it was measured now or then."""

    trackers: List[str]
    start_time: Optional[float]
    stop_time: Optional[float]
    autostart: bool
    _server_info: Optional[Dict[str, Any]]
    _cloud_info: Optional[Dict[str, Any]]
    _kept: List[Dict[str, Any]]

    if TYPE_CHECKING:

        def __init__(self, **settings: Any) -> None: ...
        @property
        def server_info(self) -> Optional[Dict[str, Any]]: ...
        @property
        def cloud_info(self) -> Optional[Dict[str, Any]]: ...
        @property
        def process_metrics(self) -> TinyDataFrame: ...
        @property
        def system_metrics(self) -> TinyDataFrame: ...

    _SETTINGS = ("pid", "children", "interval", "method", "discover_server", "discover_cloud")

    def snapshot(self) -> Dict[str, Any]:
        """All there is so far, for JSON; from_snapshot() makes a tracker of it again."""
        end = self.stop_time or time.time()
        return {
            "metadata": {
                "version": 1,
                "resource_tracker": {"version": _toll.version, "implementation": "toll"},
                **{key: getattr(self, key) for key in self._SETTINGS},
                "autostart": self.autostart,
                "track_processes": "process_tracker" in self.trackers,
                "track_system": "system_tracker" in self.trackers,
                "start_time": self.start_time,
                "stop_time": end,
                "duration": round(end - (self.start_time or end), 2),
            },
            "server_info": self.server_info,
            "cloud_info": self.cloud_info,
            "process_metrics": self.process_metrics.to_dict(),
            "system_metrics": self.system_metrics.to_dict(),
        }

    @classmethod
    def from_snapshot(cls: Type[Tracker], snapshot: Dict[str, Any]) -> Tracker:
        """A tracker that was stopped, with the tables of then, of whatever release."""
        facts = snapshot["metadata"]
        used = used_release()
        columns = None if used is None or used.unit == "mib" else "0.5"
        if is_of_0_4(snapshot["process_metrics"], snapshot["system_metrics"]):
            columns = "0.4"
        settings = {key: facts[key] for key in (*cls._SETTINGS, "track_processes", "track_system")}
        tracker = cls(autostart=False, columns=columns, **settings)
        tracker.start_time, tracker.stop_time = facts["start_time"], facts["stop_time"]
        tracker._server_info, tracker._cloud_info = snapshot["server_info"], snapshot["cloud_info"]
        parts = ((SYSTEM, snapshot["system_metrics"]), (PROCESS, snapshot["process_metrics"]))
        for prefix, rows in parts:
            tracker._kept = tracker._kept or [{} for _ in rows]
            for kept, row in zip(tracker._kept, rows):
                kept.update({k if k == TIME else prefix + k: v for k, v in row.items()})
        return tracker

    def dumps(self) -> str:
        """snapshot() as JSON."""
        return json.dumps(self.snapshot())

    @classmethod
    def loads(cls: Type[Tracker], s: str) -> Tracker:
        """What dumps() made."""
        return cls.from_snapshot(json.loads(s))

    def dump(self, file: str) -> None:
        """snapshot() into a file, JSON with gzip."""
        with gzip.open(file, "wt", encoding="utf-8") as out:
            out.write(self.dumps())

    @classmethod
    def load(cls: Type[Tracker], file: str) -> Tracker:
        """What dump() wrote."""
        with gzip.open(file, "rt", encoding="utf-8") as source:
            return cls.loads(source.read())
