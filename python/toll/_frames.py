# SPDX-License-Identifier: MIT
"""Frames of a tracker: those that are kept, and those to come."""

from __future__ import annotations

import collections
import functools
import itertools
import threading
import time
from typing import Any, AsyncIterator, Callable, Deque, Dict, Iterator, List, Optional

from . import _toll

# A wait is divided, so that Ctrl-C interrupts it; the GIL is released meanwhile.
PIECE_MS = 100


class FrameStore:
    """Takes frames out of the native tracker. One thread at a time pulls; it wakes the others.

    A signal handler that stops the tracker interrupts the main thread between any two of its steps,
    also while it holds the lock or pulls: when it continues, the native tracker may be closed. So
    frames go into the deque without a step of Python in between, and a refusal after the end is ignored.
    """

    def __init__(self, native: _toll.Tracker, history: int) -> None:
        self._native = native
        self._kept: Deque[_toll.Frame] = collections.deque(maxlen=history)
        self._changed = threading.Condition()
        self._puller: Optional[int] = None  # the thread that pulls
        self._ended = False  # from then on all of these are constant
        self._targets_ended = False
        self._newest: Optional[_toll.Frame] = None

    def _ask(self, call: Callable[..., Any], *words: Any) -> Any:
        """The answer of the native tracker, or None if it was closed meanwhile."""
        try:
            return call(*words)
        except RuntimeError:
            if not self._ended:
                raise
            return None

    def _frames_of_native(self, wait_ms: int) -> Iterator[_toll.Frame]:
        return iter(functools.partial(self._native.next_frame, wait_ms), None)

    def _pull_all(self) -> None:
        """Pull all waiting frames; with the lock held and no other thread pulling."""
        self._ask(self._kept.extend, self._frames_of_native(0))

    def _pull_one(self, wait_ms: int) -> None:
        """Wait for a frame, or until another thread has pulled one; with the lock held."""
        if self._puller is not None:
            self._changed.wait(wait_ms / 1000)
            return
        self._puller = threading.get_ident()
        self._changed.release()
        try:
            self._ask(self._kept.extend, itertools.islice(self._frames_of_native(wait_ms), 1))
        finally:
            self._changed.acquire()
            self._puller = None
            self._changed.notify_all()

    def _next_number(self) -> int:
        """That of the frame after the last one."""
        newest = self._newest if self._ended else self._kept[-1] if self._kept else None
        return newest.number + 1 if newest is not None else 0

    def end(self) -> None:
        """The tracker has finished: take what is left, before it is freed."""
        with self._changed:
            # It comes back at once: there will be no more. This very thread continues to pull only after
            # its signal handler.
            while self._puller not in (None, threading.get_ident()):
                self._changed.wait()
            targets_ended = self._ask(self._native.wait, 0)
            newest = self._ask(self._native.frame)
            if self._kept.maxlen:
                self._pull_all()
            if not self._ended:
                self._targets_ended = targets_ended
                self._newest = newest
                self._ended = True
            self._changed.notify_all()

    def wait(self, timeout: Optional[float]) -> bool:
        """Until all targets have ended, or the tracker was stopped; whether they have."""
        end = None if timeout is None else time.monotonic() + timeout
        while not self._ended:
            left = PIECE_MS / 1000 if end is None else end - time.monotonic()
            if self._ask(self._native.wait, max(0, min(PIECE_MS, int(left * 1000)))):
                return True
            if end is not None and time.monotonic() >= end:
                return False
        return self._targets_ended

    def last(self) -> Optional[_toll.Frame]:
        with self._changed:
            frame = None if self._ended else self._ask(self._native.frame)
            return self._newest if self._ended else frame

    def kept(self) -> List[_toll.Frame]:
        with self._changed:
            if not self._ended and self._puller is None and self._kept.maxlen:
                self._pull_all()
            return list(self._kept)

    def dropped(self) -> int:
        with self._changed:
            if not self._ended and self._puller is None and self._kept.maxlen:
                self._pull_all()
            return self._next_number() - len(self._kept)

    def _after(self, number: int, wait_ms: int) -> List[_toll.Frame]:
        """The kept frames from this number on; waits for one when there is none."""
        with self._changed:
            if not self._ended and self._puller is None:
                self._pull_all()
            if not self._ended and self._next_number() <= number and wait_ms:
                self._pull_one(wait_ms)
            found = []
            for frame in reversed(list(self._kept)):  # another thread may pull one meanwhile
                if frame.number < number:
                    break
                found.append(frame)
            return found[::-1]

    def _check_history(self) -> None:
        if not self._kept.maxlen:
            raise ValueError("history: no frames are kept with 0 (expected 1 or more to iterate)")

    def iterate(self, to_the_end: bool = False) -> Iterator[_toll.Frame]:
        """Until it was stopped; to the end: or until all targets have ended."""
        self._check_history()
        number = 0
        while not self._ended or self._next_number() > number:
            is_over = to_the_end and self.wait(0)
            found = self._after(number, 0 if is_over else PIECE_MS)
            for frame in found:
                number = frame.number + 1
                yield frame
            if is_over and not found:
                return

    async def iterate_async(self) -> AsyncIterator[_toll.Frame]:
        import asyncio

        self._check_history()
        loop = asyncio.get_running_loop()
        number = 0
        while not self._ended or self._next_number() > number:
            found = self._after(number, 0)
            if not found and not self._ended:
                found = await loop.run_in_executor(None, self._after, number, PIECE_MS)
            for frame in found:
                number = frame.number + 1
                yield frame


def frames_to_pandas(frames: List[_toll.Frame]) -> Any:
    try:
        import pandas  # type: ignore[import]
    except ImportError as error:
        raise ImportError(
            "to_pandas: pandas is not installed (frames and to_dict() work without it)"
        ) from error
    from math import nan

    # With None for what is not known, a column would hold objects, not numbers.
    rows: List[Dict[str, float]] = [
        {
            "elapsed_seconds": frame.elapsed_seconds,
            "interval_seconds": frame.interval_seconds,
            **{name: nan if value is None else value for name, value in frame.to_dict().items()},
        }
        for frame in frames
    ]
    index = pandas.to_datetime([frame.time_ns for frame in frames], unit="ns", utc=True)
    return pandas.DataFrame(rows, index=pandas.DatetimeIndex(index, name="time"))
