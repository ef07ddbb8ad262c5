# SPDX-License-Identifier: MIT
"""Runs that were measured before: the lines of a record, from a .jsonl or a SQLite file."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any, Dict, Iterator, Optional, Union

from . import _toll


def read_record(
    path: Union[str, "os.PathLike[str]"], run: Optional[int] = None
) -> Iterator[Dict[str, Any]]:
    """Each line of a record as a dict, in order: "type" is run, sample, process, phase, event, gauge
    or summary, as docs/formats.md describes them.

    `path` is a .jsonl or a SQLite file that toll has written, or still writes: then the last line is
    the summary of the samples so far. `run` is the number of one of several. The file is read when
    this is called, and once: what it is missing or damaged by raises at once.
    """
    if run is not None and (isinstance(run, bool) or not isinstance(run, int)):
        raise TypeError(f"run is {run!r}; it takes a number")
    if run is not None and run < 1:
        raise ValueError(f"run is {run}; it takes a number from 1 up")
    file = tempfile.TemporaryFile()
    try:
        _toll.record_lines(path, run or 0, file.fileno())
    except BaseException:
        file.close()
        raise
    return _lines(file)


def _lines(file: Any) -> Iterator[Dict[str, Any]]:
    with file:
        file.seek(0)
        for line in file:
            yield json.loads(line)
