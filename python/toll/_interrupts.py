# SPDX-License-Identifier: MIT
"""Ctrl-C while something is begun that would be left behind."""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType
from typing import Any, Optional


class HeldInterrupts:
    """From its making to release(), an interrupt only waits. Signals are not blocked, which a
    command would inherit. Other threads than the first hear of none; where the program takes
    interrupts in no way of Python's, nothing is changed."""

    def __init__(self) -> None:
        self._has_come = False
        self._before: Any = None
        is_first = threading.current_thread() is threading.main_thread()
        before = signal.getsignal(signal.SIGINT) if is_first else None
        if callable(before):
            signal.signal(signal.SIGINT, self._keep)
            self._before = before

    def _keep(self, number: int, frame: Optional[FrameType]) -> None:
        self._has_come = True

    def release(self) -> None:
        """What has come is told now, as a KeyboardInterrupt or however the program does it."""
        before, self._before = self._before, None
        if before is None:
            return
        signal.signal(signal.SIGINT, before)
        if self._has_come:
            before(signal.SIGINT, sys._getframe())
