# SPDX-License-Identifier: MIT
"""Track: a measurement in the background."""

from __future__ import annotations

import json
import os
import threading
from html import escape
from types import TracebackType
from typing import Any, AsyncIterator, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, Type

from . import _toll
from ._figures import Figure, figure_now, no_figure
from ._frames import FrameStore, frames_to_pandas
from ._marks import Phase, send_event, send_gauge
from ._options import Destination, OptionsTuple, Target
from ._summary import Summary
from ._warn import warn, what_failed, what_was_kept

Report = Tuple[str, Optional[str]]  # format and dialect


class Track:
    """A measurement in the background; `toll.track()` makes one.

    A context manager, also an asynchronous one; or start() and stop(). While it runs and after it,
    `summary`, `figure(name)`, `frame` and `frames` tell what was seen so far, also when the body
    raised. `for frame in t` gives the frames that are kept, then those to come until it is stopped.
    From any thread.

    An output that cannot be written never ends the program: leaving the block gives a RuntimeWarning
    with the name of the file, which stands in `summary.notes`, too. stop() raises an OSError.
    """

    def __init__(
        self,
        options: OptionsTuple,
        targets: List[Target],
        outputs: List[Destination],
        history: int,
        reports: Iterable[Report] = (),
    ) -> None:
        self._owner = os.getpid()
        self._lock = threading.RLock()
        self._summary: Optional[Summary] = None
        self._texts: Optional[Dict[Report, str]] = None  # once it was stopped
        self._wanted: List[Report] = [("json", None), ("text", None), *reports]
        self._started = False
        self._failed = 0  # what an output's failure was, until it was told
        self._told_kept = False
        self._paths = [output.path for output in outputs]
        self._native = _toll.tracker(*options)
        self._store = FrameStore(self._native, history)
        for target in targets:
            self._native.add_target(target.kind, None, target.id, target.text)
        for output in outputs:
            self._native.add_output(output.path, output.format, output.dialect)

    # ---- Life ------------------------------------------------------------------------------------

    @property
    def is_ours(self) -> bool:
        """False in a child that was forked since: it is the parent's."""
        return os.getpid() == self._owner

    def _check_owner(self) -> None:
        if not self.is_ours:
            raise RuntimeError("this tracker belongs to the parent process")

    def _check_started(self) -> None:
        self._check_owner()
        if not self._started:
            raise RuntimeError("this tracker was not started")

    def start(self) -> "Track":
        """Begin to measure. Once."""
        self._check_owner()
        with self._lock:
            if self._started:
                raise RuntimeError("this tracker was started before; toll.track() makes a new one")
            self._started = True
            try:
                self._native.start()
            except Exception:
                self._started = False
                raise
        return self

    def stop(self) -> Summary:
        """The last sample, and the end. What was seen stays; calling it again does nothing.

        OSError when an output could not be written completely; the summary is there all the same.
        """
        failed = self._end()
        if failed < 0:
            raise OSError(-failed, what_failed(failed, self._paths, self.summary))
        return self.summary

    def _end(self, error: Optional[BaseException] = None) -> int:
        self._check_started()
        with self._lock:
            # Ctrl-C may come between any two of these: the next call goes on where it was.
            if self._texts is None:
                self._failed = self._native.finish()
                texts = {wanted: self._native.report(*wanted) for wanted in self._wanted}
                self._store.end()
                self._texts = texts
            self._native.close()
            failed, self._failed = self._failed, 0
            may_keep = bool(self._paths) and not self._told_kept
            kept = what_was_kept(self.summary) if may_keep else None
            self._told_kept = True
        if kept:
            warn(kept, error)
        return failed

    @property
    def running(self) -> bool:
        """Between start() and stop()."""
        return self._started and self._texts is None

    def wait(self, timeout: Optional[float] = None) -> bool:
        """Wait until all targets have ended, at most so many seconds; whether they have.

        Once it was stopped: whether they had by then. Before the start nothing is waited for:
        wait(0) is False, anything longer a RuntimeError.
        """
        self._check_owner()
        if self._started:
            return self._store.wait(timeout)
        if timeout == 0:
            return False
        raise RuntimeError("this tracker was not started: there is no end to wait for")

    def __enter__(self) -> "Track":
        return self.start()

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        if os.getpid() != self._owner:
            return  # a child that was forked in the body leaves it, too: not its tracker
        failed = self._end(error)
        if failed < 0:
            warn(what_failed(failed, self._paths, self.summary), error)

    async def __aenter__(self) -> "Track":
        return self.start()

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.__exit__(kind, error, traceback)

    # ---- What it came to ---------------------------------------------------------------------------

    @property
    def summary(self) -> Summary:
        """Up to the last sample, or final once it was stopped."""
        self._check_owner()
        with self._lock:
            if self._summary is not None:
                return self._summary
            found = Summary(json.loads(self.report("json")), self.report("text"))
            if self._texts is not None:
                self._summary = found
            return found

    def report(self, format: str = "text", dialect: Optional[str] = None) -> str:
        """The summary as it would be written now: "text" or "json", in a dialect if one is named.

        Once it was stopped: those that were asked for with `reports`.
        """
        self._check_owner()
        with self._lock:
            if self._texts is None:
                return self._native.report(format, dialect)
            if (format, dialect) in self._texts:
                return self._texts[format, dialect]
        raise RuntimeError(
            f"this tracker was stopped, and no {format} in the dialect {dialect!r} was kept: "
            f"toll.track(reports=[({format!r}, {dialect!r})]) keeps it"
        )

    def figure(self, name: str) -> Figure:
        """One figure of the summary by its column, "target_cpu_seconds"; for less than all of it."""
        self._check_owner()
        with self._lock:
            if self._texts is None:
                answer = self._native.figure(name)
                if answer is None:
                    raise no_figure(name)
                return figure_now(answer)
        found = self.summary[name]
        if not isinstance(found, Figure):
            raise no_figure(name)
        return found

    @property
    def frame(self) -> Optional[_toll.Frame]:
        """The last frame; None before the first."""
        self._check_owner()
        return self._store.last() if self._started else None

    @property
    def frames(self) -> List[_toll.Frame]:
        """The frames that are kept: the last `history` of them."""
        self._check_owner()
        return self._store.kept() if self._started else []

    @property
    def dropped(self) -> int:
        """How many frames are not kept any more."""
        self._check_owner()
        return self._store.dropped() if self._started else 0

    def __iter__(self) -> Iterator[_toll.Frame]:
        self._check_started()
        return self._store.iterate()

    def __aiter__(self) -> AsyncIterator[_toll.Frame]:
        self._check_started()
        return self._store.iterate_async()

    def until_end(self) -> Iterator[_toll.Frame]:
        """The frames so far, then live, until all targets have ended or it was stopped."""
        self._check_started()
        return self._store.iterate(to_the_end=True)

    def to_pandas(self) -> Any:
        """The kept frames as a pandas.DataFrame: indexed by time, columns as in CSV."""
        return frames_to_pandas(self.frames)

    # ---- Marks -------------------------------------------------------------------------------------

    def _mark(self, kind: int, name: str, value: float, attributes: Sequence[str]) -> int:
        if os.getpid() != self._owner:
            return 1  # of a forked child: not its tracker, and its lock may be held for ever
        with self._lock:
            return self._native.mark(kind, name, value, attributes) if self.running else 1

    def phase(self, name: str) -> Phase:
        """A phase of the program: `with t.phase("train"):`, or as a decorator."""
        return Phase(name, self._mark)

    def event(self, name: str, **attributes: object) -> bool:
        """An event, with what there is to say about it. False: it was not taken."""
        return send_event(self._mark, name, attributes)

    def gauge(self, name: str, value: float) -> bool:
        """A figure of the program's own: `t.gauge("loss", 0.3)`. False: it was not taken."""
        return send_gauge(self._mark, name, value)

    # ---- For people --------------------------------------------------------------------------------

    def __repr__(self) -> str:
        state = "stopped" if self._texts is not None else "running" if self._started else "new"
        return f"<toll.Track {state}>"

    def _repr_html_(self) -> str:
        if not self._started:
            return f"<div>{escape(repr(self))}</div>"
        return self.summary._repr_html_()
