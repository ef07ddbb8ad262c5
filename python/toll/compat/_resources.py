# SPDX-License-Identifier: MIT
"""ResourceTracker: a process and the machine in the background, with statistics and a
recommendation."""

from __future__ import annotations

import gzip
import json
import os
import time
import webbrowser
from tempfile import NamedTemporaryFile
from typing import Any, Dict, Iterable, List, Optional, Sequence

from .. import _toll
from .._track import track, track_machine
from .._tracker import Track
from ._rows_file import RowsFile
from ._server import cloud_info, server_info
from ._statistics import DEFAULT_SPECS, TIME, Stats, Weighted, aggregate_stats, recommend
from ._table import StatSpec, TinyDataFrame

DIALECT = "resource-tracker,columns=combined"
PROCESS, SYSTEM = "process_", "system_"


class Report(str):
    """A report in HTML."""

    def save(self, filepath: str) -> "Report":
        """Into a file."""
        with open(filepath, "w", encoding="utf-8") as file:
            file.write(self)
        return self

    def browse(self) -> "Report":
        """In the browser."""
        with NamedTemporaryFile("w", suffix=".html", delete=False, encoding="utf-8") as file:
            file.write(self)
        webbrowser.open(f"file://{file.name}")
        return self


class ResourceTracker:
    """Measures a process with its children, and the machine, from the construction to stop().

    `process_metrics` and `system_metrics` are tables of a row for each interval, at any time;
    stats() has means and peaks, recommend_resources() what to order the next time.
    """

    def __init__(
        self,
        pid: Optional[int] = None,
        children: bool = True,
        interval: float = 1,
        method: Optional[str] = None,
        autostart: bool = True,
        track_processes: bool = True,
        track_system: bool = True,
        discover_server: bool = True,
        discover_cloud: bool = True,
    ) -> None:
        self.pid = os.getpid() if pid is None else int(pid)
        self.children = children
        self.interval = interval
        self.method = method
        self.autostart = autostart
        self.trackers = ["process_tracker"] * track_processes + ["system_tracker"] * track_system
        self.discover_server = discover_server
        self.discover_cloud = discover_cloud
        self.start_time: Optional[float] = None
        self.stop_time: Optional[float] = None
        self._server_info: Optional[Dict[str, Any]] = None
        self._cloud_info: Optional[Dict[str, Any]] = None
        self._track: Optional[Track] = None
        self._file: Optional[RowsFile] = None
        self._kept: List[Dict[str, Any]] = []
        self._html = ""
        if autostart:
            self.start()

    # ---- Life ------------------------------------------------------------------------------------

    def _make_track(self, outputs: List[Any]) -> Track:
        if "process_tracker" not in self.trackers:
            return track_machine(interval=self.interval, outputs=outputs, history=0)
        return track(
            self.pid,
            interval=self.interval,
            children=self.children,
            system="system_tracker" in self.trackers,
            memory="pss",
            processes=None,
            outputs=outputs,
            history=0,
        )

    def start(self) -> None:
        """Begin to measure. Once."""
        if self.start_time is not None:
            raise RuntimeError("this ResourceTracker was started before; make a new one")
        file = RowsFile()
        try:
            self._track = self._make_track([("csv", file.path, DIALECT)]).start()
        except BaseException:
            file.close()
            raise
        self._file = file
        self.start_time = time.time()
        if self.discover_server:
            self._server_info = server_info()
        if self.discover_cloud:
            self._cloud_info = cloud_info()

    def stop(self) -> None:
        """Stop measuring; the tables stay. Calling it again does nothing."""
        if self.start_time is None:
            raise RuntimeError("this ResourceTracker was not started")
        if self._track is None or self._file is None:
            return
        self._html = self._track.stop()._repr_html_()
        self.stop_time = time.time()
        self._kept = self._file.rows()
        self._file.close()
        self._track = self._file = None

    def __enter__(self) -> "ResourceTracker":
        if self.start_time is None:
            self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._track is not None and self._track.is_ours:
            self.stop()

    # ---- Tables ----------------------------------------------------------------------------------

    def _rows(self) -> List[Dict[str, Any]]:
        return self._kept if self._file is None else self._file.rows()

    def _part(self, prefix: str, tracker: str) -> TinyDataFrame:
        rows = self._rows() if tracker in self.trackers else []
        return TinyDataFrame(
            {
                name if name == TIME else name[len(prefix) :]: value
                for name, value in row.items()
                if name == TIME or name.startswith(prefix)
            }
            for row in rows
        )

    @property
    def process_metrics(self) -> TinyDataFrame:
        """A row for each interval: the process and its children."""
        return self._part(PROCESS, "process_tracker")

    @property
    def system_metrics(self) -> TinyDataFrame:
        """A row for each interval: the machine."""
        return self._part(SYSTEM, "system_tracker")

    @property
    def n_samples(self) -> int:
        """How many rows there are."""
        return len(self._rows())

    def get_combined_metrics(
        self, system_prefix: str = SYSTEM, process_prefix: str = PROCESS
    ) -> TinyDataFrame:
        """Both in one table, with prefixes."""
        table = TinyDataFrame(self._rows())
        new = {SYSTEM: system_prefix, PROCESS: process_prefix}
        return table.rename(
            {
                name: new[prefix] + name[len(prefix) :]
                for name in table.columns
                for prefix in new
                if name.startswith(prefix)
            }
        )

    # ---- What it comes to ------------------------------------------------------------------------

    def stats(self, specs: Iterable[StatSpec] = tuple(DEFAULT_SPECS)) -> Stats:
        """Statistics by column and name; what is not known is None."""
        table = self.get_combined_metrics()
        if not len(table):
            raise RuntimeError("No metrics collected (yet)")
        return Weighted(table, self.start_time).stats(specs)

    def recommend_resources(self, historical_stats: Sequence[Stats] = ()) -> Dict[str, int]:
        """What to order for the next run, also in the light of statistics of earlier ones."""
        stats = self.stats()
        return recommend(aggregate_stats([stats, *historical_stats]) if historical_stats else stats)

    @property
    def server_info(self) -> Optional[Dict[str, Any]]:
        """The machine: CPUs, memory, GPUs."""
        return self._server_info

    @property
    def cloud_info(self) -> Optional[Dict[str, Any]]:
        """Always unknown: nobody outside is asked."""
        return self._cloud_info

    def report(self) -> Report:
        """The summary as HTML."""
        return Report(self._html or (self._track.summary._repr_html_() if self._track else ""))

    # ---- Keeping it ------------------------------------------------------------------------------

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
    def from_snapshot(cls, snapshot: Dict[str, Any]) -> "ResourceTracker":
        """A tracker that was stopped, with the tables of then."""
        facts = snapshot["metadata"]
        settings = {key: facts[key] for key in (*cls._SETTINGS, "track_processes", "track_system")}
        tracker = cls(autostart=False, **settings)
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
    def loads(cls, s: str) -> "ResourceTracker":
        """What dumps() made."""
        return cls.from_snapshot(json.loads(s))

    def dump(self, file: str) -> None:
        """snapshot() into a file, JSON with gzip."""
        with gzip.open(file, "wt", encoding="utf-8") as out:
            out.write(self.dumps())

    @classmethod
    def load(cls, file: str) -> "ResourceTracker":
        """What dump() wrote."""
        with gzip.open(file, "rt", encoding="utf-8") as source:
            return cls.loads(source.read())
