# SPDX-License-Identifier: MIT
"""Runs that were measured before: the lines of a record, from a .jsonl or a SQLite file."""

from __future__ import annotations

import os
from typing import Any, Dict, Iterator, Optional, Union

from . import _toll


def read_record(
    path: Union[str, "os.PathLike[str]"], run: Optional[int] = None
) -> Iterator[Dict[str, Any]]:
    """Iterate over the lines of a record, each a dict. line["type"] is run, sample, process, phase,
    event, gauge or summary; docs/formats.md describes them.

        for line in toll.read_record("run.jsonl"):
            if line["type"] == "sample":
                print(line["elapsed_seconds"], line["target"]["combined"]["cpu_seconds"])

    `path` is a .jsonl or SQLite file of toll. If it is still being written, the last line is the
    summary of the samples so far. `run` is the number of one run; None: all of them, in order.

    The file is read at once: OSError if it cannot be read or is damaged, ValueError if it is not a
    record.
    """
    import tempfile

    if run is not None and (isinstance(run, bool) or not isinstance(run, int)):
        raise TypeError(f"run: invalid value {run!r} (expected a number)")
    if run is not None and run < 1:
        raise ValueError(f"run: invalid value {run} (expected 1 or more)")
    file = tempfile.TemporaryFile()
    try:
        _toll.record_lines(path, run or 0, file.fileno())
    except BaseException:
        file.close()
        raise
    return _lines(file)


def _lines(file: Any) -> Iterator[Dict[str, Any]]:
    import json

    with file:
        file.seek(0)
        for line in file:
            yield json.loads(line)
