# SPDX-License-Identifier: MIT
"""SubTracker: writes down when a block of code begins and ends."""

from __future__ import annotations

import csv
import functools
import io
import os
import sqlite3
import sys
import threading
import time
from typing import Any, Callable, List, Optional, Set, Tuple, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

COLUMNS = ("process_id", "code_block_name", "position", "timestamp")
START, STOP = 0, 1
SUFFIXES = (".csv", ".sqlite")
BUSY_SECONDS = 10

_begun: Set[str] = set()  # files that this program has written to, and may go on with
_lock = threading.Lock()  # a file is begun by one thread


def _unlock() -> None:
    """In a child that was forked: whoever held it is not here."""
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_unlock)


def check_suffix(path: str) -> str:
    """The path; ValueError when it is neither CSV nor SQLite."""
    if not path.endswith(SUFFIXES):
        raise ValueError(
            f'Invalid file name: "{path}". Valid file extensions are ".csv" and ".sqlite".'
        )
    return path


def check_new(path: str, overwrite: bool) -> None:
    """A file that is there is removed, or it is a FileExistsError."""
    if not os.path.exists(path):
        return
    if not overwrite:
        raise FileExistsError(
            f"File {path} already exists. Set overwrite to True to overwrite the existing file."
        )
    os.remove(path)


def _line(values: Any) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerow(values)
    return text.getvalue().encode()


def _append(path: str, lines: List[bytes]) -> None:
    """In one write: several processes may share the file."""
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        os.write(fd, b"".join(lines))
    finally:
        os.close(fd)


def _insert(path: str, values: Any) -> None:
    types = ("INTEGER", "VARCHAR", "INTEGER", "FLOAT")
    table = ", ".join(f"{name} {kind}" for name, kind in zip(COLUMNS, types))
    base = sqlite3.connect(path, timeout=BUSY_SECONDS)
    try:
        with base:
            base.execute(f"CREATE TABLE IF NOT EXISTS data ({table})")
            base.execute("INSERT INTO data VALUES (?, ?, ?, ?)", values)
    finally:
        base.close()


class SubTracker:
    """A block whose begin and end are written to a file, for `toll phases analyze`.

        with SubTracker(code_block_name="load"):
            load()

    The name is the file and the line by default, the file is PID.csv; it may be .csv or .sqlite. A
    file from before is not touched: FileExistsError, or with `overwrite` it begins anew.
    """

    def __init__(
        self,
        code_block_name: Optional[str] = None,
        code_block_attribute: Optional[str] = None,
        sub_tracking_file: Optional[str] = None,
        overwrite: bool = False,
    ) -> None:
        if code_block_name is None:
            caller = sys._getframe(1)
            place = os.path.relpath(caller.f_code.co_filename)
            code_block_name = f"{place}:{code_block_attribute or caller.f_lineno}"
        self.code_block_name = code_block_name
        self.process_id = os.getpid()
        self.sub_tracking_file = check_suffix(
            os.fspath(sub_tracking_file or f"{self.process_id}.csv")
        )
        self._overwrite = overwrite

    def _log(self, position: int) -> None:
        values = (self.process_id, self.code_block_name, position, time.time())
        with _lock:
            self._write(values)

    def _write(self, values: Tuple[int, str, int, float]) -> None:
        path = self.sub_tracking_file
        key = os.path.abspath(path)
        lines = []
        if key not in _begun:
            check_new(path, self._overwrite)
            lines.append(_line(COLUMNS))
            _begun.add(key)
        elif not os.path.exists(path):
            raise FileNotFoundError(f"File {path} was removed while it was being written to.")
        if path.endswith(".csv"):
            _append(path, [*lines, _line(values)])
        else:
            _insert(path, values)

    def __enter__(self) -> "SubTracker":
        self._log(START)
        return self

    def __exit__(self, *_: object) -> None:
        self._log(STOP)


def sub_track(
    code_block_name: Optional[str] = None,
    code_block_attribute: Optional[str] = None,
    sub_tracking_file: Optional[str] = None,
    overwrite: bool = False,
) -> Callable[[Function], Function]:
    """A decorator: each call of the function is a block. Its name is the file and the function."""

    def decorate(function: Function) -> Function:
        name = code_block_name
        if name is None:
            place = os.path.abspath(function.__code__.co_filename)
            name = f"{place}:{code_block_attribute or function.__name__}"

        @functools.wraps(function)
        def calling(*args: Any, **kwargs: Any) -> Any:
            with SubTracker(name, code_block_attribute, sub_tracking_file, overwrite):
                return function(*args, **kwargs)

        return calling  # type: ignore[return-value]

    return decorate
