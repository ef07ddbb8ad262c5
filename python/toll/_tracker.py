# SPDX-License-Identifier: MIT
"""Track: a measurement in the background."""

from __future__ import annotations

import collections
import os
import threading
import weakref
from typing import (
    TYPE_CHECKING,
    Any,
    AsyncIterator,
    Deque,
    Dict,
    Iterable,
    Iterator,
    List,
    Optional,
    Sequence,
    Tuple,
    Type,
)

from . import _toll
from ._frames import FrameStore, frames_to_pandas
from ._marks import Phase, send_event, send_gauge
from ._options import Destination, OptionsTuple, Report, Target, report_list

if TYPE_CHECKING:
    from types import TracebackType

    from ._figures import Figure
    from ._plot import Frames
    from ._summary import Summary

# Tracks that were stopped and whose summary was not read yet. Each holds the native tracker, a
# quarter of a megabyte: of more than these the oldest writes its summary and lets go of it.
_unread: Deque["weakref.ref[Track]"] = collections.deque()
_MOST_UNREAD = 8


def _close_oldest() -> None:
    """Never waits: a track that another thread is using stays as it is."""
    try:
        track = _unread.popleft()()
    except IndexError:
        return
    if track is None or not track.is_ours or not track._lock.acquire(blocking=False):
        return
    try:
        track._final_texts()
    except Exception:
        pass  # reading its summary raises it again
    finally:
        track._lock.release()


class Track:
    """A measurement in the background; `toll.track()` creates one.

    Use it with `with` or `async with`, or call start() and stop(). While it runs and afterwards,
    also when the body raised, `summary`, `figure(name)`, `frame` and `frames` have the results so
    far. `for frame in t` yields the kept frames, then new ones until it is stopped. All of it works
    from any thread.

    An output that cannot be written does not make the program fail: leaving the block issues a
    RuntimeWarning with the name of the file, and `summary.notes` has it. stop() raises OSError.
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
        self._stopped = False
        self._texts: Optional[Dict[Report, str]] = None  # made when one is asked for after stop()
        self._wanted: List[Report] = [("json", None), ("text", None), *report_list(reports)]
        self._started = False
        self._failed = 0  # negative errno of an output, until it was reported
        self._reported_kept = False
        self._paths = [output.path for output in outputs]
        self._native = _toll.tracker(*options)
        self._store = FrameStore(self._native, history)
        for target in targets:
            self._native.add_target(target.kind, None, target.id, target.text)
        for output in outputs:
            self._native.add_output(output.path, output.format, output.layout)

    # ---- Life ------------------------------------------------------------------------------------

    @property
    def is_ours(self) -> bool:
        """False in a forked child: the tracker belongs to the parent."""
        return os.getpid() == self._owner

    def _check_owner(self) -> None:
        if not self.is_ours:
            raise RuntimeError("track: this tracker belongs to the parent process")

    def _check_started(self) -> None:
        self._check_owner()
        if not self._started:
            raise RuntimeError("track: not started (use `with`, or call start())")

    def start(self) -> "Track":
        """Begin to measure; only once."""
        self._check_owner()
        with self._lock:
            if self._started:
                raise RuntimeError("track: already started (call toll.track() for a new one)")
            self._started = True
            try:
                self._native.start()
            except Exception:
                self._started = False
                raise
        return self

    def stop(self) -> Summary:
        """Take the last sample and end the measuring; returns the summary. Results stay available;
        calling it again does nothing.

        OSError if an output could not be written completely; `summary` is available nevertheless.
        """
        failed = self._end()
        if failed < 0:
            from ._warn import what_failed

            raise OSError(-failed, what_failed(failed, self._paths, self.summary))
        return self.summary

    def _end(self, error: Optional[BaseException] = None) -> int:
        self._check_started()
        with self._lock:
            # Ctrl-C may come between any two of these: the next call continues.
            if not self._stopped:
                self._failed = self._native.finish()
                self._store.end()
                self._stopped = True
            failed, self._failed = self._failed, 0
            may_keep = bool(self._paths) and not self._reported_kept
            kept = self._kept_outputs() if may_keep else None
            self._reported_kept = True
        _unread.append(weakref.ref(self))
        while len(_unread) > _MOST_UNREAD:
            _close_oldest()
        if kept:
            from ._warn import warn

            warn(kept, error)
        return failed

    def _final_texts(self) -> Dict[Report, str]:
        """After stop(), with the lock held: the summary in each form. Writing it takes longer than the
        last sample did, so that a block whose summary is never read does not pay for it."""
        if self._texts is None:
            try:
                self._texts = {wanted: self._native.report(*wanted) for wanted in self._wanted}
            except RuntimeError:
                if self._texts is None:  # it was not a signal handler of this thread that came here
                    raise
            self._native.close()
        return self._texts

    def _kept_outputs(self) -> Optional[str]:
        from ._warn import what_was_kept

        return what_was_kept(self.summary)

    @property
    def running(self) -> bool:
        """Whether it is between start() and stop()."""
        return self._started and not self._stopped

    def wait(self, timeout: Optional[float] = None) -> bool:
        """Wait until all targets have ended, at most `timeout` seconds; returns whether they have.

        After stop(): whether they had ended by then. Before start(): wait(0) is False, anything
        longer is a RuntimeError.
        """
        self._check_owner()
        if self._started:
            return self._store.wait(timeout)
        if timeout == 0:
            return False
        raise RuntimeError("track: not started, cannot wait for its end")

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
            from ._warn import warn, what_failed

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

    # ---- Results ---------------------------------------------------------------------------------

    @property
    def summary(self) -> Summary:
        """The results up to the last sample; final after stop()."""
        self._check_owner()
        with self._lock:
            if self._summary is not None:
                return self._summary
            import json

            from ._summary import Summary

            found = Summary(json.loads(self.report("json")), self.report("text"), self._store.kept())
            if self._stopped:
                self._summary = found
            return found

    def report(
        self, format: str = "text", layout: Optional[str] = None, *, dialect: Optional[str] = None
    ) -> str:
        """The summary as it would be written now: "text" or "json", or in a layout of another tool.

        After stop() also those layouts that `reports` of track() named. `dialect` is the old name of
        `layout`.
        """
        self._check_owner()
        layout = layout if layout is not None else dialect
        with self._lock:
            if not self._stopped:
                try:
                    return self._native.report(format, layout)
                except RuntimeError:
                    if not self._stopped:  # by a signal handler of this thread
                        raise
            texts = self._final_texts()
            if (format, layout) in texts:
                return texts[format, layout]
        raise RuntimeError(
            f"report: {format!r} with layout {layout!r} is not available after stop() "
            f"(keep it with toll.track(reports=[({format!r}, {layout!r})]))"
        )

    def figure(self, name: str) -> Figure:
        """One figure of the summary by the name of its column, "target_cpu_seconds"; cheaper than
        the whole summary."""
        from ._figures import Figure, figure_now, no_figure

        self._check_owner()
        with self._lock:
            if not self._stopped:
                try:
                    answer = self._native.figure(name)
                except RuntimeError:
                    if not self._stopped:  # by a signal handler of this thread
                        raise
                else:
                    if answer is None:
                        raise no_figure(name)
                    return figure_now(answer, name)
        found = self.summary[name]
        if not isinstance(found, Figure):
            raise no_figure(name)
        return found

    @property
    def frame(self) -> Optional[_toll.Frame]:
        """The latest frame; None before the first."""
        self._check_owner()
        return self._store.last() if self._started else None

    @property
    def frames(self) -> Frames:
        """The frames that are kept: the last `history` of them. `t.frames.plot()` draws them."""
        from ._plot import Frames

        self._check_owner()
        return Frames(self._store.kept() if self._started else ())

    @property
    def dropped(self) -> int:
        """How many frames are no longer kept."""
        self._check_owner()
        return self._store.dropped() if self._started else 0

    def __iter__(self) -> Iterator[_toll.Frame]:
        self._check_started()
        return self._store.iterate()

    def __aiter__(self) -> AsyncIterator[_toll.Frame]:
        self._check_started()
        return self._store.iterate_async()

    def until_end(self) -> Iterator[_toll.Frame]:
        """The frames so far, then new ones until all targets have ended or it is stopped."""
        self._check_started()
        return self._store.iterate(to_the_end=True)

    def to_pandas(self) -> Any:
        """The kept frames as a pandas.DataFrame: indexed by time, with the columns of CSV."""
        return frames_to_pandas(self.frames)

    # ---- Marks -------------------------------------------------------------------------------------

    def _mark(self, kind: int, name: str, value: float, attributes: Sequence[str]) -> int:
        if os.getpid() != self._owner:
            return 1  # in a forked child: not its tracker, and its lock may be held for ever
        with self._lock:
            try:
                return self._native.mark(kind, name, value, attributes) if self.running else 1
            except RuntimeError:
                if not self._stopped:  # by a signal handler of this thread
                    raise
                return 1

    def phase(self, name: str) -> Phase:
        """A phase of the program: `with t.phase("train"):`, or as a decorator."""
        return Phase(name, self._mark)

    def event(self, name: str, **attributes: object) -> bool:
        """Something that happened, with attributes: `t.event("saved", path="a.pt")`. Returns whether it
        was accepted."""
        return send_event(self._mark, name, attributes)

    def gauge(self, name: str, value: float) -> bool:
        """A figure of the program itself: `t.gauge("loss", 0.3)`. Returns whether it was accepted."""
        return send_gauge(self._mark, name, value)

    # ---- For people --------------------------------------------------------------------------------

    def __repr__(self) -> str:
        """With the results so far, never with an exception."""
        try:
            return f"<Track {self._state()}>"
        except Exception:
            return "<Track>"

    def _state(self) -> str:
        if not self.is_ours:
            return "of the parent process"
        if not self._started:
            return "not started"
        summary = self.summary
        seconds = _toll.number_text(summary.wall_seconds, "seconds")
        state = "stopped after" if self._stopped else "running for"
        return ": ".join([f"{state} {seconds}", ", ".join(summary._headline())])

    def _repr_html_(self) -> str:
        if not self._started or not self.is_ours:
            return f"<div>&lt;{repr(self)[1:-1]}&gt;</div>"
        return self.summary._repr_html_()

    def __reduce__(self) -> Any:
        raise TypeError("track: a tracker cannot be pickled (its summary and frames can be)")
