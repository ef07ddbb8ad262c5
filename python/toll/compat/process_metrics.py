# SPDX-License-Identifier: MIT
"""ProcessMetricsMonitor of stouputils: the figures of a process tree in a run of MLflow.

    from toll.compat.process_metrics import ProcessMetricsMonitor

    with mlflow.start_run():
        with ProcessMetricsMonitor(pid=12345, sampling_interval=5):
            work()

Whatever goes wrong is a warning in the log, never an exception.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import threading
import time
from typing import Any, Dict, List, Optional

from .._layouts import Cell, Translator, layout_columns
from .._snapshot import snapshot
from .._toll import Row
from .._track import track
from .._tracker import Track

__all__ = ["ProcessMetricsMonitor"]

LAYOUT = "process-metrics"
_TOTAL = "total"
_LOG = logging.getLogger(__name__)


def _mlflow() -> Any:
    """The module, or None."""
    try:
        return importlib.import_module("mlflow")
    except ImportError:
        return None


def _memory_megabytes() -> float:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1048576


class ProcessMetricsMonitor:
    """Nine figures of a process with its children, logged to the active run of MLflow.

    A sample is taken every `sampling_interval` seconds, and `samples_before_logging` of them make
    what is logged: the means of gauges, and I/O as it is by then. start() and finish(), or a block,
    also an asynchronous one. `max_memory_megabytes` is what memory_usage_percentage is of, the
    memory of the machine by default; with `max_cpu_count` cpu_usage_percentage is divided by it.
    """

    def __init__(
        self,
        pid: Optional[int] = None,
        children: bool = True,
        sampling_interval: float = 10.0,
        samples_before_logging: int = 1,
        prefix: str = "process/",
        verbose: bool = False,
        max_memory_megabytes: Optional[float] = None,
        max_cpu_count: Optional[float] = None,
    ) -> None:
        self.pid: int = pid or os.getpid()
        self.children = children
        self.sampling_interval = sampling_interval
        self.samples_before_logging = max(1, samples_before_logging)
        self.prefix = prefix
        self.verbose = verbose
        # 0 or less makes memory_usage_percentage 0.0; CPU is not divided by 0.
        self._asked = {
            "max_memory_megabytes": max_memory_megabytes and max(0.0, max_memory_megabytes),
            "max_cpu_count": max_cpu_count or None,
        }
        self.max_memory_megabytes = (
            _memory_megabytes() if max_memory_megabytes is None else max_memory_megabytes
        )
        self.max_cpu_count = (
            float(os.cpu_count() or 1) if max_cpu_count is None else max_cpu_count
        )
        self.run_id: Optional[str] = None
        self.step = 0
        self.thread: Optional[threading.Thread] = None
        self.shutdown_event = threading.Event()
        self.samples: List[Dict[str, float]] = []
        """What flush_remaining() logs; the monitor itself puts nothing here."""
        self._track: Optional[Track] = None
        self._owner = os.getpid()
        # The table's first columns are when and how often, which MLflow is told otherwise.
        columns = [c for c in layout_columns(LAYOUT, format="jsonl") if not c.terms.startswith("@")]
        self._keys = [column.name for column in columns]
        self._counters = {column.name for column in columns if column.take == _TOTAL}
        self._looks: Optional[Translator] = None
        with contextlib.suppress(ValueError):  # which start() and collect_once() tell
            self._look("rss")  # what CPU is counted from

    # ---- Life ------------------------------------------------------------------------------------

    def __enter__(self) -> "ProcessMetricsMonitor":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()

    async def __aenter__(self) -> "ProcessMetricsMonitor":
        return self.__enter__()

    async def __aexit__(self, *_: object) -> None:
        self.__exit__()

    def _say(self, sentence: str) -> None:
        if self.verbose:
            _LOG.info(sentence)

    def start(self) -> None:
        """Begin, when there is such a process and a run of MLflow is active."""
        if self.thread is not None:
            _LOG.warning("ProcessMetricsMonitor is already running.")
            return
        if not os.path.exists(f"/proc/{self.pid}"):
            _LOG.warning("PID %s does not exist. ProcessMetricsMonitor will not start.", self.pid)
            return
        mlflow = _mlflow()
        if mlflow is None:
            _LOG.warning("MLflow is not installed. ProcessMetricsMonitor will not start.")
            return
        run = mlflow.active_run()
        if run is None:
            _LOG.warning("No active MLflow run found. ProcessMetricsMonitor will not start.")
            return
        try:
            self._translator(1)  # says what is wrong with an option
            self._track = self._measure().start()
        except (OSError, ValueError, TypeError) as error:
            _LOG.warning("%s. ProcessMetricsMonitor will not start.", error)
            return
        self.run_id = str(run.info.run_id)
        self._owner = os.getpid()
        self.shutdown_event.clear()
        self.thread = threading.Thread(
            target=self.monitor_loop, daemon=True, name="ProcessMetricsMonitor"
        )
        self.thread.start()
        self._say(f"Measuring process {self.pid} for MLflow run {self.run_id}.")

    def finish(self) -> None:
        """Stop, and log what has not been logged yet."""
        if self.thread is None or self._track is None or os.getpid() != self._owner:
            return
        self.shutdown_event.set()
        try:
            self._track.stop()
        except OSError as error:
            _LOG.warning("%s", error)
        self.thread.join()
        self.flush_remaining()
        self.thread = self._track = None
        self._say(f"Process {self.pid} is not measured any more.")

    # ---- Samples ---------------------------------------------------------------------------------

    def _measure(self) -> Track:
        return track(
            self.pid,
            children=self.children,
            interval=self.sampling_interval,
            memory="pss",
            processes=None,
            system=self._asked["max_memory_megabytes"] is None,
            since_start=True,
            gpus="none",
        )

    def _translator(self, samples: int) -> Translator:
        words = [LAYOUT, f"samples={samples}", f"prefix={self.prefix}"]
        words += [f"{name}={value:g}" for name, value in self._asked.items() if value is not None]
        return Translator(",".join(words), pid=self.pid, since=1)

    def _figures(self, row: Dict[str, Cell]) -> Dict[str, float]:
        """Without the prefix; what is not known is not logged."""
        named = {key[len(self.prefix) :]: value for key, value in row.items()}
        return {
            key: float(value)
            for key, value in named.items()
            if key in self._keys and isinstance(value, (int, float))
        }

    def _look(self, memory: str) -> List[Dict[str, Cell]]:
        """A row, at once; none when there is no such process."""
        self._looks = self._looks or self._translator(1)
        try:
            frame = snapshot(
                self.pid,
                children=self.children,
                memory=memory,
                system=self._asked["max_memory_megabytes"] is None,
            )
        except ProcessLookupError:
            return []
        self._looks.set_fact(elapsed=time.monotonic())
        return self._looks.rows(frame)

    def collect_once(self) -> Dict[str, float]:
        """The figures of now, without the prefix and without waiting; zeros when there is no such
        process. CPU is what was used since the call before, the first time since this object was
        made."""
        for row in self._look("pss"):
            return self._figures(row)
        return dict.fromkeys(self._keys, 0.0)

    @property
    def processes(self) -> Dict[int, Row]:
        """Those that are measured now, by their numbers."""
        try:
            rows = snapshot(self.pid, children=self.children, processes="all").rows
        except ProcessLookupError:
            return {}
        return {row.pid: row for row in rows if row.pid is not None}

    def aggregate(self, samples: List[Dict[str, float]]) -> Dict[str, float]:
        """Several samples as one: the means of gauges, and I/O as it is in the last one."""
        found: Dict[str, float] = {}
        for key in samples[0] if samples else ():
            known = [sample[key] for sample in samples if key in sample]
            found[key] = known[-1] if key in self._counters else sum(known) / len(known)
        return found

    def flush_remaining(self) -> None:
        """Log what is in `samples`, as one."""
        waiting, self.samples = self.samples, []
        if waiting:
            self.publish(self.aggregate(waiting))

    def publish(self, metrics: Dict[str, float]) -> None:
        """Log figures to the run, with the prefix in front. What fails is logged, and the next one is
        tried all the same."""
        named = {self.prefix + key: value for key, value in metrics.items()}
        try:
            _mlflow().log_metrics(named, step=self.step, run_id=self.run_id)
        except Exception as error:
            _LOG.warning("Failed to log process metrics at step %s: %s", self.step, error)
            return
        self.step += 1

    def monitor_loop(self) -> None:
        """What the thread does, from start() to finish()."""
        translator = self._translator(self.samples_before_logging)
        for frame in self._track or ():
            rows = translator.rows(frame)
            if frame.number == 0 and not frame.last:
                continue  # of the very start, which is no time to tell of
            for metrics in map(self._figures, rows):
                if metrics:
                    self.publish(metrics)
