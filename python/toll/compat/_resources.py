# SPDX-License-Identifier: MIT
"""ResourceTracker: a process and the machine in the background, with statistics and a
recommendation. What is kept for later, and read again, is in _kept.py."""

from __future__ import annotations

import logging
import os
import time
from enum import Enum
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Union

from .. import _toll
from .._options import Output, Path, output_list
from .._track import track, track_machine
from .._tracker import Track
from ._combined import PROCESS, SYSTEM, Names
from ._gpus import choose_gpus
from ._kept import Kept
from ._releases import chosen, used_release
from ._report import Report, facts_table, make_report, recommended_section, stats_section
from ._rows_file import RowsFile
from ._server import allocation, cloud_info, server_info
from ._statistics import DEFAULT_SPECS, Stats, Weighted, aggregate_stats, recommend
from ._table import StatSpec, TinyDataFrame

SAMPLES_WAITED = 5  # intervals, for the first row
_LOG = logging.getLogger(__name__)


class RunStatus(Enum):
    """How a run ended."""

    started = "started"
    finished = "finished"
    failed = "failed"
    stale = "stale"


class ResourceTracker(Kept):
    """Measures a process with its children, and the machine, from the construction to stop().

    `process_metrics` and `system_metrics` are tables of a row for each interval, at any time;
    stats() has means and peaks, recommend_resources() what to order the next time. Where nothing is
    said of `autostart`, start() may be called all the same, as later releases want it. `columns` is
    the release whose names and units tables and statistics have, "0.4", "0.5" or "0.6", or the
    layout's word for them; see use_release().

    Nothing is sent to Sentinel: with a `sentinel_token` there is a warning. `outputs` are those of
    toll.track(), files and servers; `streaming_metadata` are the labels of the run there.
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
        sentinel_token: Optional[str] = None,
        upload_interval: int = 60,
        streaming_metadata: Optional[Mapping[str, object]] = None,
        *,
        columns: Optional[str] = None,
        outputs: Union[Path, Iterable[Output]] = (),
    ) -> None:
        release = chosen(columns, "0.5")
        if not release.combined:
            raise ValueError("columns: release 0.1 has no ResourceTracker (expected 0.2 or later)")
        self._names = Names(release.combined)
        self._unit = release.unit
        self.pid = os.getpid() if pid is None else int(pid)
        self.children = children
        self.interval = interval
        self.method = method
        used = used_release()
        self._may_start = autostart is None and (used is None or used.starts)
        if autostart is None and used is not None:
            autostart = used.starts
        self.autostart = autostart is not False
        self.trackers = ["process_tracker"] * track_processes + ["system_tracker"] * track_system
        self.discover_server = discover_server
        self.discover_cloud = discover_cloud
        self._sentinel_token = sentinel_token or os.environ.get("SENTINEL_API_TOKEN")
        self._metadata = dict(streaming_metadata or {})
        self._outputs = list(output_list(outputs))
        self.start_time: Optional[float] = None
        self.stop_time: Optional[float] = None
        self._run_status = RunStatus.started.value
        self._server_info: Optional[Dict[str, Any]] = None
        self._cloud_info: Optional[Dict[str, Any]] = None
        self._track: Optional[Track] = None
        self._file: Optional[RowsFile] = None
        self._kept: List[Dict[str, Any]] = []
        self._html = ""
        if self.autostart:
            self._begin()

    # ---- Life ------------------------------------------------------------------------------------

    def _make_track(self, rows: str) -> Track:
        outputs: List[Output] = [("csv", rows, f"resource-tracker,columns={self._names.kept}")]
        outputs += [(one.format, one.path, one.layout) for one in self._outputs]
        gpus, _ = choose_gpus(None, None)
        if "process_tracker" not in self.trackers:
            return track_machine(interval=self.interval, outputs=outputs, history=0, gpus=gpus)
        return track(
            self.pid,
            interval=self.interval,
            children=self.children,
            system="system_tracker" in self.trackers,
            memory="pss",
            processes=None,
            labels=self._metadata if self._outputs else None,
            outputs=outputs,
            history=0,
            gpus=gpus,
        )

    def start(self) -> None:
        """Begin to measure. Once."""
        if self.start_time is not None and not self._may_start:
            raise RuntimeError("ResourceTracker: already started (create a new one)")
        self._may_start = False
        if self.start_time is None:
            self._begin()

    def _begin(self) -> None:
        if self._sentinel_token:
            _LOG.warning(
                "Nothing is sent to Sentinel, toll has no client for it; "
                "outputs=[...] of ResourceTracker sends to other servers."
            )
        file = RowsFile()
        try:
            self._track = self._make_track(file.path).start()
        except BaseException:
            file.close()
            raise
        self._file = file
        self.start_time = time.time()
        if self.discover_server:
            self._server_info = server_info(columns="0.4" if self._unit == "mb" else "0.5")
        if self.discover_cloud:
            self._cloud_info = cloud_info()

    def stop(
        self, exit_code: int = 0, run_status: Union[str, RunStatus, None] = None
    ) -> None:
        """Stop measuring; the tables stay. Calling it again does nothing. The report says what the
        status was; by default it is finished where the exit code is 0, failed otherwise."""
        if self.start_time is None:
            raise RuntimeError("ResourceTracker: not started")
        if self._track is None or self._file is None:
            return
        if run_status is None:
            run_status = RunStatus.failed if exit_code else RunStatus.finished
        self._run_status = run_status.value if isinstance(run_status, RunStatus) else str(run_status)
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
                raise RuntimeError(f"ResourceTracker: {self.n_samples} of {n} samples after {timeout} s")
            time.sleep(min(self.interval / 10, 0.1))

    def __enter__(self) -> "ResourceTracker":
        if self.start_time is None:
            self._begin()
        self._may_start = False
        return self

    def __exit__(self, kind: object = None, *_: object) -> None:
        if self._track is not None and self._track.is_ours:
            self.stop(exit_code=0 if kind is None else 1)

    # ---- Tables ----------------------------------------------------------------------------------

    def _rows(self) -> List[Dict[str, Any]]:
        return self._kept if self._file is None else self._file.rows()

    def _part(self, prefix: str, tracker: str) -> TinyDataFrame:
        rows = self._rows() if tracker in self.trackers else []
        return TinyDataFrame([self._names.part(row, prefix) for row in rows])

    @property
    def process_metrics(self) -> TinyDataFrame:
        """A row for each interval: the process and its children."""
        return self._part(PROCESS, "process_tracker")

    @property
    def system_metrics(self) -> TinyDataFrame:
        """A row for each interval: the machine."""
        return self._part(SYSTEM, "system_tracker")

    @property
    def pid_tracker(self) -> TinyDataFrame:
        """process_metrics, as release 0.3 calls it."""
        return self.process_metrics

    @property
    def system_tracker(self) -> TinyDataFrame:
        """system_metrics, as release 0.3 calls it."""
        return self.system_metrics

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
        offset: Optional[int] = None,
    ) -> TinyDataFrame:
        """Both in one table, from the row `offset` on. With `bytes` memory and space are in bytes,
        with `human_names` columns are called as people would call them."""
        rows = self._rows()[offset:]
        if bytes:
            rows = [self._names.in_bytes(row) for row in rows]
        new = self._names.new(human_names, system_prefix, process_prefix)
        return TinyDataFrame([{new[name]: row.get(name) for name in new} for row in rows])

    # ---- What it comes to ------------------------------------------------------------------------

    def stats(self, specs: Optional[Iterable[StatSpec]] = None) -> Stats:
        """Statistics by column and name; what is not known is None."""
        table = self.get_combined_metrics()
        if not len(table):
            raise RuntimeError("No metrics collected (yet)")
        if specs is None:
            specs = self._names.specs(DEFAULT_SPECS)
        return Weighted(table, self.start_time).stats(specs)

    def recommend_resources(self, historical_stats: Sequence[Stats] = ()) -> Dict[str, int]:
        """What to order for the next run, also in the light of statistics of earlier ones."""
        self.wait_for_samples(timeout=self.interval * SAMPLES_WAITED)
        stats = self.stats()
        combined = aggregate_stats([stats, *historical_stats]) if historical_stats else stats
        return recommend(self._names.known_stats(combined))

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
            rows = [self._names.known(row) for row in self._rows()]
            parts = (
                TinyDataFrame([self._names.part(row, prefix) for row in rows if tracker in self.trackers])
                for prefix, tracker in ((PROCESS, "process_tracker"), (SYSTEM, "system_tracker"))
            )
            self._server_info["allocation"] = allocation(*parts)
        return self._server_info

    @property
    def cloud_info(self) -> Optional[Dict[str, Any]]:
        """Always unknown: it takes a service on the network."""
        return self._cloud_info

    @property
    def sentinel_result(self) -> Optional[Dict[str, Any]]:
        """Always None: nothing is sent to Sentinel."""
        return None

    def report(
        self,
        integration: str = "standalone",
        historical_stats: Sequence[Stats] = (),
        status_failed: bool = False,
        integration_version: Optional[str] = None,
    ) -> Report:
        """A page of HTML with charts, statistics and the recommendation, also in the light of
        statistics of earlier runs. Which server to rent it does not say."""
        recommended = self.recommend_resources(historical_stats)
        is_failed = status_failed or self._run_status == RunStatus.failed.value
        status = "Failed" if is_failed else "Pending" if self.running else "Finished"
        seconds = (self.stop_time or time.time()) - (self.start_time or 0)
        tool = " ".join(word for word in (integration, integration_version) if word)
        return make_report(
            self.get_combined_metrics(bytes=True, human_names=True),
            self.start_time or 0,
            status,
            (
                recommended_section(recommended, len(historical_stats)),
                ("Server", facts_table((self.server_info or {}).items())),
                ("Totals", self._html or (self._track.summary._repr_html_() if self._track else "")),
                stats_section(self.stats()),
            ),
            f"{self.n_samples} rows in {seconds:.6g} s, measured by toll {_toll.version} ({tool})",
        )
