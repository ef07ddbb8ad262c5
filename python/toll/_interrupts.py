# SPDX-License-Identifier: MIT
"""Ctrl-C while a command is started: it would be left running."""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType
from typing import Any, Optional


class HeldInterrupts:
    """Holds back SIGINT from its creation to release(). Signals are not blocked, which a command
    would inherit. Only the main thread receives any; without a Python handler nothing changes."""

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
        """Deliver what came meanwhile, as a KeyboardInterrupt or to the handler of the program."""
        before, self._before = self._before, None
        if before is None:
            return
        signal.signal(signal.SIGINT, before)
        if self._has_come:
            before(signal.SIGINT, sys._getframe())
