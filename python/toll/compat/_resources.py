# SPDX-License-Identifier: MIT
"""ResourceTracker: a process and the machine in the background, with statistics and a
recommendation. What is kept for later, and read again, is in _kept.py."""

from __future__ import annotations

import os
import time
from typing import Any, Dict, Iterable, List, Optional, Sequence

from .._track import track, track_machine
from .._tracker import Track
from ._combined import COMBINED, PROCESS, SYSTEM, Names
from ._gpus import choose_gpus
from ._kept import Kept
from ._report import Report
from ._rows_file import RowsFile
from ._server import allocation, cloud_info, server_info
from ._statistics import DEFAULT_SPECS, TIME, Stats, Weighted, aggregate_stats, recommend
from ._table import StatSpec, TinyDataFrame

DIALECT = f"resource-tracker,columns={COMBINED}"
SAMPLES_WAITED = 5  # intervals, for the first row


class ResourceTracker(Kept):
    """Measures a process with its children, and the machine, from the construction to stop().

    `process_metrics` and `system_metrics` are tables of a row for each interval, at any time;
    stats() has means and peaks, recommend_resources() what to order the next time. Where nothing is
    said of `autostart`, start() may be called all the same, as later releases want it. `columns` is
    the word of the dialect for the names of combined metrics and statistics: "combined" for
    process_… and system_…, "host-proc" for those that the newest releases have.
    """

    def __init__(
        self,
        pid: Optional[int] = None,
        children: bool = True,
        interval: float = 1,
        method: Optional[str] = None,
        autostart: Optional[bool] = None,
        track_processes: bool = True,
        track_system: bool = True,
        discover_server: bool = True,
        discover_cloud: bool = True,
        *,
        columns: str = COMBINED,
    ) -> None:
        self._names = Names(columns)
        self.pid = os.getpid() if pid is None else int(pid)
        self.children = children
        self.interval = interval
        self.method = method
        self.autostart = autostart is not False
        self._may_start = autostart is None
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
        if self.autostart:
            self._begin()

    # ---- Life ------------------------------------------------------------------------------------

    def _make_track(self, outputs: List[Any]) -> Track:
        gpus = choose_gpus(None, None)
        if "process_tracker" not in self.trackers:
            return track_machine(interval=self.interval, outputs=outputs, history=0, gpus=gpus)
        return track(
            self.pid,
            interval=self.interval,
            children=self.children,
            system="system_tracker" in self.trackers,
            memory="pss",
            processes=None,
            outputs=outputs,
            history=0,
            gpus=gpus,
        )

    def start(self) -> None:
        """Begin to measure. Once."""
        if self.start_time is not None and not self._may_start:
            raise RuntimeError("this ResourceTracker was started before; make a new one")
        self._may_start = False
        if self.start_time is None:
            self._begin()

    def _begin(self) -> None:
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

    def cleanup(self) -> None:
        """Stop, if it runs; there are no files or processes to be removed."""
        if self._track is not None and self._track.is_ours:
            self.stop()

    @property
    def running(self) -> bool:
        """Between start() and stop()."""
        return self._track is not None

    def wait_for_samples(self, n: int = 1, timeout: float = 5) -> None:
        """Until there are so many rows; RuntimeError when there are not after so many seconds, or
        when it was stopped before."""
        end = time.monotonic() + timeout
        while self.n_samples < n:
            if not self.running:
                raise RuntimeError(
                    f"there are {self.n_samples} samples, and no more will come: it does not run"
                )
            if time.monotonic() > end:
                raise RuntimeError(f"there are {self.n_samples} of {n} samples after {timeout} s")
            time.sleep(min(self.interval / 10, 0.1))

    def __enter__(self) -> "ResourceTracker":
        if self.start_time is None:
            self._begin()
        return self

    def __exit__(self, *_: object) -> None:
        self.cleanup()

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
        self,
        bytes: bool = False,
        human_names: bool = False,
        system_prefix: Optional[str] = None,
        process_prefix: Optional[str] = None,
        offset: int = 0,
    ) -> TinyDataFrame:
        """Both in one table, from the row `offset` on. With `bytes` memory and space are in bytes,
        with `human_names` columns are called as people would call them."""
        rows = self._rows()[offset:]
        if bytes:
            rows = [self._names.in_bytes(row) for row in rows]
        new = self._names.new(human_names, system_prefix, process_prefix)
        return TinyDataFrame({new[name]: value for name, value in row.items()} for row in rows)

    # ---- What it comes to ------------------------------------------------------------------------

    def stats(self, specs: Optional[Iterable[StatSpec]] = None) -> Stats:
        """Statistics by column and name; what is not known is None."""
        table = self.get_combined_metrics()
        if not len(table):
            raise RuntimeError("No metrics collected (yet)")
        if specs is None:
            specs = [self._names.spec(spec) for spec in DEFAULT_SPECS]
        return Weighted(table, self.start_time).stats(specs)

    def recommend_resources(self, historical_stats: Sequence[Stats] = ()) -> Dict[str, int]:
        """What to order for the next run, also in the light of statistics of earlier ones."""
        self.wait_for_samples(timeout=self.interval * SAMPLES_WAITED)
        stats = self.stats()
        combined = aggregate_stats([stats, *historical_stats]) if historical_stats else stats
        return recommend(self._names.old(combined))

    def recommend_server(self, **filters: Any) -> Dict[str, Any]:
        """Not possible: which servers there are to rent, only a service on the network knows."""
        raise NotImplementedError(
            "recommend_server() would ask a service on the network, which toll does not do; "
            f"recommend_resources() has what to look for: {self.recommend_resources()}"
        )

    @property
    def server_info(self) -> Optional[Dict[str, Any]]:
        """The machine: CPUs, memory, GPUs, and whether others use it, too."""
        if self._server_info is not None:
            self._server_info["allocation"] = allocation(self.process_metrics, self.system_metrics)
        return self._server_info

    @property
    def cloud_info(self) -> Optional[Dict[str, Any]]:
        """Always unknown: nobody outside is asked."""
        return self._cloud_info

    def report(
        self,
        integration: str = "standalone",
        historical_stats: Sequence[Stats] = (),
        status_failed: bool = False,
        integration_version: Optional[str] = None,
    ) -> Report:
        """The summary as HTML. The arguments are those of that tool, and change nothing."""
        return Report(self._html or (self._track.summary._repr_html_() if self._track else ""))
