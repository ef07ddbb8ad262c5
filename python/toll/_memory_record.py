# SPDX-License-Identifier: MIT
"""A summary and its frames as a record, for what reads records: reports, comparisons."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, Iterator, List

from . import _toll
from ._summary import _PLURALS, Summary

# What the line at the beginning of a record has of the summary's keys.
_RUN_KEYS = (
    "toll id job rank name metrics command attached_to labels host kernel cpus pid start "
    "interval_seconds children"
).split()


def record_lines(summary: Summary) -> Iterator[str]:
    """The lines of a record, each with its newline: the beginning, the frames that are kept, the
    summary. Single processes, phases and events are only in the summary."""
    document = summary.to_dict()
    run: Dict[str, Any] = {"type": "run", "schema": "toll.record/1"}
    run.update({key: document[key] for key in _RUN_KEYS if key in document})
    if document.get("pid") == os.getpid():
        run["toll_pid"] = os.getpid()  # it measured itself: that it still runs is no news
    yield _line(run)
    for frame in summary._frames:
        yield _line(_sample(frame))
    document.pop("type", None)
    yield _line({"type": "summary", **document})


def _line(values: Dict[str, Any]) -> str:
    return json.dumps(values, allow_nan=False) + "\n"


def _sample(frame: _toll.Frame) -> Dict[str, Any]:
    from datetime import datetime, timezone

    time = datetime.fromtimestamp(frame.time_ns // 10**6 / 1000, timezone.utc)
    sample: Dict[str, Any] = {
        "type": "sample",
        "tick": frame.number,
        "time": time.strftime("%Y-%m-%dT%H:%M:%S.") + f"{time.microsecond // 1000:03}Z",
        "elapsed_seconds": frame.elapsed_seconds,
        "interval_seconds": frame.interval_seconds,
    }
    targets: Dict[str, Dict[str, Any]] = {}
    for row in frame.rows:
        if row.entity == "process":
            continue
        values = row.to_dict()
        if row.entity == "target" and not row.name:
            sample.setdefault("target", {})[row.part] = values
        elif row.entity == "target":
            targets.setdefault(row.name, {"name": row.name})[row.part] = values
        elif row.entity in ("system", "self"):
            sample[row.entity] = values
        else:
            rows: List[Dict[str, Any]] = sample.setdefault(_PLURALS.get(row.entity, row.entity + "s"), [])
            rows.append({"name": row.name, **values})
    if targets:
        sample["targets"] = list(targets.values())
    return sample
