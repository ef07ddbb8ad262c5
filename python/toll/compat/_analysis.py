# SPDX-License-Identifier: MIT
"""What each code block of a run used, and how runs compare. libtoll reads the files and makes the
figures; these are the shapes that gpu_tracker has for them."""

from __future__ import annotations

import csv
import dataclasses
import errno
import importlib
import json
import logging
import os
import pickle
import sqlite3
import tempfile
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple

from .. import _toll
from ._blocks import COLUMNS, START, check_suffix

_LOG = logging.getLogger(__name__)
Pairs = List[Tuple[float, float]]


def _pandas() -> Any:
    """The module, or None."""
    try:
        return importlib.import_module("pandas")
    except ImportError:
        return None


def _frame(rows: Mapping[str, Mapping[str, Any]]) -> Any:
    """A pandas.DataFrame with a row for each figure; without pandas a dict of its columns."""
    names = list(next(iter(rows.values()), {}))
    columns = {name: {key: row[name] for key, row in rows.items()} for name in names}
    pandas = _pandas()
    return pandas.DataFrame(columns, index=list(rows)) if pandas else columns


def _series(values: Mapping[str, Any]) -> Any:
    """A pandas.Series; without pandas a dict."""
    pandas = _pandas()
    if not pandas:
        return dict(values)
    has_text = any(isinstance(value, str) for value in values.values())
    return pandas.Series(values, dtype=object if has_text else float)


@dataclasses.dataclass
class CodeBlockResults:
    """One block: how often it was called, how long that took, what was used meanwhile."""

    name: str
    num_timepoints: int
    num_calls: int
    num_non_empty_calls: int
    compute_time: Any
    resource_usage: Any


class SubTrackingResults:
    """A run, over all and block by block: min, max, mean and std of each figure."""

    def __init__(self, document: Dict[str, Any], text: str) -> None:
        self._document = document
        self._text = text
        self.overall = _frame(document["overall"])
        self.static_data = _series(document["static_data"])
        self.code_block_results = [
            CodeBlockResults(
                **{
                    **block,
                    "compute_time": _series(block["compute_time"]),
                    "resource_usage": _frame(block["resource_usage"]),
                }
            )
            for block in document["code_block_results"]
        ]

    def to_json(self) -> Dict[str, Any]:
        """As a dict."""
        return json.loads(json.dumps(self._document))  # type: ignore[no-any-return]

    def __str__(self) -> str:
        return self._text

    def __reduce__(self) -> Any:
        return (SubTrackingResults, (self._document, self._text))


class ComparisonResults:
    """One statistic of each figure, of several runs, the smallest first."""

    def __init__(self, document: Dict[str, Any], text: str) -> None:
        self._document = document
        self._text = text
        self.overall_resource_usage = _all_series(document["overall_resource_usage"])
        self.code_block_resource_usage = {
            figure: _all_series(blocks)
            for figure, blocks in document["code_block_resource_usage"].items()
        }
        self.code_block_compute_time = _all_series(document["code_block_compute_time"])

    def to_json(self) -> Dict[str, Any]:
        """As a dict."""
        return json.loads(json.dumps(self._document))  # type: ignore[no-any-return]

    def __str__(self) -> str:
        return self._text


def _all_series(many: Mapping[str, Mapping[str, Any]]) -> Dict[str, Any]:
    return {name: _series(one) for name, one in many.items()}


# ---- Files ---------------------------------------------------------------------------------------


def _read(path: str, skip: int = 0) -> Iterator[Dict[str, Any]]:
    """The rows of a file, CSV or SQLite."""
    if path.endswith(".csv"):
        with open(path, newline="", encoding="utf-8") as file:
            for _ in range(skip):
                next(file, None)
            yield from csv.DictReader(file)
        return
    base = sqlite3.connect(path)
    try:
        found = base.execute("SELECT * FROM data")
        names = [one[0] for one in found.description]
        for row in found:
            yield dict(zip(names, row))
    finally:
        base.close()


class SubTrackingAnalyzer:
    """Of a tracking file and a sub-tracking file, what each block used."""

    def __init__(self, tracking_file: Optional[str], sub_tracking_file: Optional[str] = None) -> None:
        self._points = None if tracking_file is None else check_suffix(os.fspath(tracking_file))
        self._blocks = None if sub_tracking_file is None else check_suffix(os.fspath(sub_tracking_file))

    def _analyze(self, format: str) -> str:
        if self._points is None:
            raise ValueError("there is no tracking file to analyze")
        try:
            return _toll.phases_analyze(self._points, self._blocks, format)
        except OSError as error:
            if error.errno == errno.EBADMSG:
                raise ValueError(error.strerror) from None
            raise

    def sub_tracking_results(self) -> SubTrackingResults:
        """All of it."""
        return SubTrackingResults(json.loads(self._analyze("json")), self._analyze("text"))

    def read_static_data(self) -> Any:
        """What holds for the whole run: units, capacities, counts."""
        return self.sub_tracking_results().static_data

    def overall_timepoint_results(self) -> Any:
        """min, max, mean and std of each figure over the whole run."""
        return self.sub_tracking_results().overall

    def combine_sub_tracking_files(self, files: Iterable[str]) -> None:
        """Several sub-tracking files into that of this analyzer, which must not be there yet."""
        if self._blocks is None:
            raise ValueError("there is no sub-tracking file to combine into")
        if os.path.exists(self._blocks):
            raise ValueError(
                f"Cannot create sub-tracking file {self._blocks}. File already exists."
            )
        _toll.phases_combine(self._blocks, [os.fspath(file) for file in files])

    def _stamps(self) -> List[Dict[str, Any]]:
        return list(_read(self._blocks)) if self._blocks is not None else []

    def load_code_block_names(self) -> List[str]:
        """The blocks that there are."""
        return sorted({row[COLUMNS[1]] for row in self._stamps()})

    def load_timestamp_pairs(self, code_block_name: str) -> Pairs:
        """When each call of a block began and ended; one that did not end is left out."""
        pid, name, position, when = COLUMNS
        begun: Dict[int, List[float]] = {}
        pairs: List[Tuple[int, float, float]] = []
        for row in self._stamps():
            if row[name] != code_block_name:
                continue
            open_calls = begun.setdefault(int(row[pid]), [])
            if str(row[position]) in (str(START), "START"):
                open_calls.append(float(row[when]))
            elif open_calls:
                pairs.append((int(row[pid]), open_calls.pop(), float(row[when])))
        return [(start, stop) for _, start, stop in sorted(pairs)]

    def load_timepoints(self, timestamp_pairs: Sequence[Tuple[float, float]]) -> Any:
        """The rows of the tracking file within these calls; a pandas.DataFrame, or a list of dicts."""
        if self._points is None:
            raise ValueError("there is no tracking file to read")
        when = COLUMNS[3]
        rows = [
            {key: float(value) for key, value in row.items()}
            for row in _read(self._points, skip=2)
            if any(start <= float(row[when]) <= stop for start, stop in timestamp_pairs)
        ]
        pandas = _pandas()
        return pandas.DataFrame(rows) if pandas else rows


class _Known(pickle.Unpickler):
    """Results and nothing else: a pickle could run anything."""

    def find_class(self, module: str, name: str) -> Any:
        if name == SubTrackingResults.__name__ and module == SubTrackingResults.__module__:
            return SubTrackingResults
        raise pickle.UnpicklingError(f"{module}.{name} is no results of an analysis")


def _load(path: str) -> SubTrackingResults:
    """Results that were pickled, or written as JSON, or a tracking file alone."""
    if path.endswith((".csv", ".sqlite")):
        return SubTrackingAnalyzer(path).sub_tracking_results()
    with open(path, "rb") as file:
        is_pickle = file.read(1) == b"\x80"
        file.seek(0)
        if is_pickle:
            found: SubTrackingResults = _Known(file).load()
            return found
        return SubTrackingResults(json.load(file), "")


class TrackingComparison:
    """Compares runs by their results: `TrackingComparison({"a": "a.pkl", "b": "b.json"}).compare()`.

    A file is a pickle of SubTrackingResults, its JSON, or a tracking file. ValueError when the
    blocks of the runs are not the same.
    """

    def __init__(self, file_path_map: Mapping[str, str]) -> None:
        self.results_map = {name: _load(os.fspath(path)) for name, path in file_path_map.items()}
        _, notes = self._compare("mean", "json")
        for note in notes:
            _LOG.warning(note)

    def _compare(self, statistic: str, format: str) -> Tuple[str, List[str]]:
        with tempfile.TemporaryDirectory(prefix="toll-") as directory:
            sessions = []
            for number, (name, results) in enumerate(self.results_map.items()):
                path = os.path.join(directory, f"{number}.json")
                with open(path, "w", encoding="utf-8") as file:
                    json.dump(results.to_json(), file)
                sessions.append(f"{name}={path}")
            return _toll.phases_compare(sessions, statistic, format)

    def compare(self, statistic: str = "mean") -> ComparisonResults:
        """One of min, max, mean and std."""
        document, text = (self._compare(statistic, format)[0] for format in ("json", "text"))
        return ComparisonResults(json.loads(document), text)
