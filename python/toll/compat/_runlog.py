# SPDX-License-Identifier: MIT
"""RunLog: what a run says of itself, a line of JSON for each phase and each event."""

from __future__ import annotations

import json
import os
import threading
from datetime import datetime, timezone
from typing import IO, Any, Dict, List, Optional, Union

Path = Union[str, "os.PathLike[str]"]


def _now() -> str:
    return datetime.now(tz=timezone.utc).isoformat(timespec="milliseconds")


class RunLog:
    """Phases and events of one run, in the order they came; from any thread.

    With a path each line is appended to that file when it happens, so that `tail -f` follows it and
    a crash loses nothing; write() puts all of them into a file in the end.
    """

    def __init__(self, path: Optional[Path] = None) -> None:
        self._entries: List[Dict[str, Any]] = []
        self._lock = threading.Lock()
        self._file: Optional[IO[str]] = None
        if path is not None:
            self._file = open(path, "a", encoding="utf-8", buffering=1)

    def _add(self, entry: Dict[str, Any]) -> None:
        line = json.dumps(entry, default=str)
        with self._lock:
            self._entries.append(entry)
            if self._file is not None:
                self._file.write(line + "\n")

    def log_phase(self, name: str, seconds: float, **extra: Any) -> None:
        """A phase that has ended, with how long it took; extra keys stand behind."""
        self._add({"ts": _now(), "type": "phase", "name": name, "seconds": round(seconds, 3), **extra})

    def log_event(self, event_type: str, data: Optional[Dict[str, Any]] = None) -> None:
        """Something that happened, with what there is to say about it."""
        entry: Dict[str, Any] = {"ts": _now(), "type": "event", "event": event_type}
        if data:
            entry["data"] = data
        self._add(entry)

    def write(self, path: Path) -> None:
        """All lines so far into a file, which is there whole or not at all. What is no file, such
        as /dev/stdout, is written as it is; a link goes on leading to its file."""
        with self._lock:
            lines = [json.dumps(entry, default=str) + "\n" for entry in self._entries]
        place = os.path.realpath(path)
        if os.path.exists(place) and not os.path.isfile(place):
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(lines)
            return
        fresh = f"{place}.{os.getpid()}.new"
        try:
            with open(fresh, "w", encoding="utf-8") as file:
                file.writelines(lines)
            os.replace(fresh, place)
        except BaseException as error:
            if os.path.exists(fresh):
                os.unlink(fresh)
            if isinstance(error, OSError):  # of the file that was asked for
                raise OSError(error.errno, error.strerror, os.fspath(path)) from error
            raise

    def close(self) -> None:
        """Close the file that lines are appended to, if there is one."""
        with self._lock:
            file, self._file = self._file, None
        if file is not None:
            file.close()

    def __enter__(self) -> "RunLog":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
