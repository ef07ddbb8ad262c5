# SPDX-License-Identifier: MIT
"""Tracker, and the data classes with what it found."""

from __future__ import annotations

import enum
import errno
import json
import logging
import os
import pickle
import uuid
from typing import TYPE_CHECKING, Any, Collection, Dict, List, Optional, Union

from ... import _toll
from ..._track import track
from .._gpus import choose_gpus
from .._usage import LAYOUT, Usage, check_units
from .sub_tracker import SubTrackingResults, check_new, check_suffix, results_of

__all__ = [
    "CPUUtilization",
    "ComputeTime",
    "GPUUtilization",
    "MaxGPURAM",
    "MaxRAM",
    "ProcessingUnitPercentages",
    "RSSValues",
    "ResourceUsage",
    "Tracker",
    "read_pickle",
]

_LOG = logging.getLogger(__name__)
_USAGE = Usage()
SHORTEST_SLEEP = 0.001

if TYPE_CHECKING:
    from .._shapes import (
        ComputeTime,
        CPUUtilization,
        GPUUtilization,
        MaxGPURAM,
        MaxRAM,
        ProcessingUnitPercentages,
        ResourceUsage,
        RSSValues,
    )
else:
    for _made in _USAGE.classes.values():
        _made.__module__ = __name__
    globals().update(_USAGE.classes)


class Tracker:
    """Measures this process and what it starts, or another one, from start() to stop().

    A block does the same. str() is a text, to_json() a dict, resource_usage data classes; they are
    there while it runs, too, and when the body raised. What cannot be known is None.

    `sleep_time` is the seconds between samples; CPU time is counted in between all the same. The
    units are bytes to terabytes for RAM and GPU RAM, seconds to days for time. `tracking_file` gets
    every sample, as .csv or .sqlite. `resource_usage_file` holds a pickle of what was found so far,
    for the case that the program does not get to its end; .gpu-tracker_UUID.pkl in the working
    directory by default. `gpu_uuids` are the GPUs whose utilisation counts, `gpu_brand` reads those
    of "nvidia" or "amd"; all of them when nothing is said.
    """

    class State(enum.Enum):
        """Where a Tracker is in its life."""

        NEW = 0
        STARTED = 1
        STOPPED = 2

    def __init__(
        self,
        sleep_time: float = 1.0,
        ram_unit: str = "gigabytes",
        gpu_ram_unit: str = "gigabytes",
        time_unit: str = "hours",
        n_expected_cores: Optional[int] = None,
        gpu_uuids: Optional[Collection[str]] = None,
        disable_logs: bool = False,
        process_id: Optional[int] = None,
        resource_usage_file: Optional[str] = None,
        n_join_attempts: int = 5,
        join_timeout: float = 10.0,
        gpu_brand: Optional[str] = None,
        tracking_file: Optional[str] = None,
        overwrite: bool = False,
    ) -> None:
        if not sleep_time >= SHORTEST_SLEEP:
            raise ValueError(
                f"Sleep time of {sleep_time} is invalid. Must be at least {SHORTEST_SLEEP} seconds."
            )
        options = {"ram_unit": ram_unit, "gpu_ram_unit": gpu_ram_unit, "time_unit": time_unit}
        words = [LAYOUT, *(f"{key}={value}" for key, value in options.items())]
        if n_expected_cores is not None:
            words.append(f"n_expected_cores={n_expected_cores}")
        check_units(options)
        gpus, counted = choose_gpus(gpu_uuids, gpu_brand, disable_logs)
        if counted:
            words.append(f"n_expected_gpus={len(counted)}")
        self._layout = ",".join(words)
        _toll.translator(self._layout)  # says what is wrong with the cores
        self._disable_logs = disable_logs
        self._process_id = process_id
        self.n_join_attempts = n_join_attempts
        self.join_timeout = join_timeout
        self.state = Tracker.State.NEW
        self._final: Optional[str] = None
        self._tracking_file = tracking_file
        self._points: Optional[str] = None
        outputs: List[Any] = []
        if tracking_file is not None:
            check_new(check_suffix(tracking_file), overwrite)
            self._points = tracking_file
            if tracking_file.endswith(".sqlite"):  # made of rows in the end
                self._points += f".{os.getpid()}.csv"
            outputs.append(("csv", self._points, self._layout))
        self._track = track(
            process_id,
            interval=sleep_time,
            memory="pss",
            processes=None,
            system=True,
            outputs=outputs,
            history=0,
            reports=[("json", self._layout), ("text", self._layout)],
            gpus=gpus,
        )
        if counted:
            self._track._native.count_gpus(",".join(counted))
        has_room = os.access(".", os.W_OK | os.X_OK)
        if resource_usage_file is None and has_room:
            resource_usage_file = f".gpu-tracker_{uuid.uuid4()}.pkl"
        self._resource_usage_file = resource_usage_file
        if resource_usage_file is not None:
            self._track._native.keep_backup(resource_usage_file, self._layout)

    # ---- Life ------------------------------------------------------------------------------------

    def _refuse(self, doing: str, state: str) -> RuntimeError:
        return RuntimeError(f"Cannot {doing} tracking when tracking has {state}.")

    def __enter__(self) -> "Tracker":
        if self.state == Tracker.State.STARTED:
            raise self._refuse("start", "already started")
        if self.state == Tracker.State.STOPPED:
            raise self._refuse("start", "already stopped")
        try:
            self._track.start()
        except ProcessLookupError:
            raise ProcessLookupError(
                errno.ESRCH,
                f"The target process of ID {self._process_id} ended before tracking could begin.",
            ) from None
        self.state = Tracker.State.STARTED
        return self

    def __exit__(self, *_: object) -> None:
        if not self._track.is_ours:
            return  # a child that was forked in the body leaves it, too
        if self.state == Tracker.State.NEW:
            raise self._refuse("stop", "not started yet")
        if self.state == Tracker.State.STOPPED:
            raise self._refuse("stop", "already stopped")
        self.state = Tracker.State.STOPPED
        try:
            notes = self._track.stop().notes
        except OSError as error:
            notes = [str(error)]
        if not self._disable_logs:
            for note in notes:
                _LOG.warning(note)
        self._store_points()

    def _store_points(self) -> None:
        """What was measured is no reason for the program to fail: the rows lie beside then."""
        if self._points is None or self._points == self._tracking_file:
            return
        try:
            if os.path.exists(str(self._tracking_file)):
                raise FileExistsError(f"File {self._tracking_file} was created by another process in the meantime")
            _toll.phases_store(self._points, str(self._tracking_file))
        except (OSError, ValueError) as error:
            _LOG.error("%s; its rows are in %s", error, self._points)
        else:
            os.remove(self._points)

    def start(self) -> None:
        """Begin to measure. Once."""
        self.__enter__()

    def stop(self) -> None:
        """The end. Once."""
        self.__exit__()

    # ---- What was used ---------------------------------------------------------------------------

    def _report(self, format: str) -> str:
        if self.state == Tracker.State.NEW:
            raise RuntimeError("There is no resource usage: tracking has not started yet.")
        return self._track.report(format, self._layout)

    @property
    def resource_usage(self) -> Optional["ResourceUsage"]:
        """Data classes; None before the start."""
        if self.state == Tracker.State.NEW:
            return None
        found: ResourceUsage = _USAGE.fill(self.to_json())
        return found

    def to_json(self) -> Dict[str, Any]:
        """A dict, with all digits."""
        found: Dict[str, Any] = json.loads(self._report("json"))
        return found

    def __str__(self) -> str:
        """For people, with three decimals."""
        return self._report("text").rstrip("\n") if self.state != Tracker.State.NEW else repr(self)

    def __repr__(self) -> str:
        return f"State: {self.state.name}"


def read_pickle(path: str) -> Union["ResourceUsage", SubTrackingResults]:
    """What is in a pickle of gpu_tracker's or of ours: what a Tracker found, such as the file that a
    crash leaves, or the results of an analysis. Nothing in it is run."""
    try:
        text = _toll.pickle_to_json(os.fspath(path))
    except OSError as error:
        if error.errno == errno.EBADMSG:
            raise ValueError(error.strerror) from None
        if error.errno == errno.EOPNOTSUPP:  # more than data
            raise pickle.UnpicklingError(error.strerror) from None
        raise
    document = json.loads(text.replace("descendents", "descendants"))  # as old releases wrote it
    try:
        if "overall" in document:
            return results_of(document)
        usage: ResourceUsage = _USAGE.fill(document)
    except (KeyError, TypeError, AttributeError):
        raise ValueError(f"{os.fspath(path)}: not a file with results of gpu_tracker") from None
    return usage
