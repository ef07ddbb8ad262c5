# SPDX-License-Identifier: MIT
"""Code blocks: SubTracker writes down when they begin and end, SubTrackingAnalyzer and
TrackingComparison have what they used. libtoll reads the files and makes the figures; these are the
shapes that gpu_tracker has for them."""

from __future__ import annotations

import csv
import dataclasses
import errno
import functools
import importlib
import io
import json
import logging
import math
import os
import pickle
import re
import sqlite3
import sys
import tempfile
import threading
import time
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Set,
    Tuple,
    TypeVar,
)

from ... import _toll

Function = TypeVar("Function", bound=Callable[..., Any])

COLUMNS = ("process_id", "code_block_name", "position", "timestamp")
START, STOP = 0, 1
SUFFIXES = (".csv", ".sqlite")
BUSY_SECONDS = 10
_FORMULA = re.compile(r"'*[=+\-@\t\r]")

_begun: Set[str] = set()  # files that this program has written to, and may go on with
_lock = threading.Lock()  # a file is begun by one thread


def _unlock() -> None:
    """In a forked child: the thread that held it does not exist here."""
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
    """A name that a spreadsheet would take for a formula has an apostrophe before it, as toll writes
    and reads it."""
    text = io.StringIO(newline="")
    csv.writer(text).writerow(
        "'" + v if isinstance(v, str) and _FORMULA.match(v) else v for v in values
    )
    return text.getvalue().encode()


def _append(path: str, lines: List[bytes], is_new: bool) -> None:
    """In one write: several processes may share the file. Where it begins nothing may be there, nor
    a link."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
    fd = os.open(path, flags | (os.O_EXCL if is_new else 0), 0o666)
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
    """A block whose begin and end are written to a file, for `toll sub-tracking analyze`.

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
            if code_block_attribute is None:
                code_block_attribute = str(caller.f_lineno)
            code_block_name = f"{place}:{code_block_attribute}"
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
            raise FileNotFoundError(
                f"The file {path} was removed in the middle of writing data to it."
            )
        if path.endswith(".csv"):
            _append(path, [*lines, _line(values)], bool(lines))
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
    """A decorator: each call of the function is a block. Its name is the file that decorates it, and
    the function."""

    def decorate(function: Function) -> Function:
        name = code_block_name
        if name is None:
            place = os.path.abspath(sys._getframe(1).f_code.co_filename)
            attribute = function.__name__ if code_block_attribute is None else code_block_attribute
            name = f"{place}:{attribute}"

        @functools.wraps(function)
        def calling(*args: Any, **kwargs: Any) -> Any:
            with SubTracker(name, code_block_attribute, sub_tracking_file, overwrite):
                return function(*args, **kwargs)

        return calling  # type: ignore[return-value]

    return decorate


# ---- Results -------------------------------------------------------------------------------------

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


def _all_series(many: Mapping[str, Mapping[str, Any]]) -> Dict[str, Any]:
    return {name: _series(one) for name, one in many.items()}


def _plain(value: Any) -> Any:
    """A number of Python's own; None when it is not known."""
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and math.isnan(value) else value


def _values(series: Any) -> Dict[str, Any]:
    """A series of either kind as a dict."""
    return {str(name): _plain(value) for name, value in dict(series).items()}


def _rows(table: Any) -> Dict[str, Dict[str, Any]]:
    """A table of either kind as a dict of its rows."""
    columns = {name: _values(column) for name, column in dict(table).items()}
    names = list(next(iter(columns.values()), {}))
    return {row: {name: column[row] for name, column in columns.items()} for row in names}


@dataclasses.dataclass
class CodeBlockResults:
    """One block: how often it was called, how long that took, what was used meanwhile."""

    name: str
    num_timepoints: int
    num_calls: int
    num_non_empty_calls: int
    compute_time: Any
    resource_usage: Any


@dataclasses.dataclass
class SubTrackingResults:
    """A run, over all and block by block: min, max, mean and std of each figure."""

    overall: Any
    static_data: Any
    code_block_results: List[CodeBlockResults]

    def to_json(self) -> Dict[str, Any]:
        """As a dict."""
        return {
            "overall": _rows(self.overall),
            "static_data": _values(self.static_data),
            "code_block_results": [
                {
                    **{field.name: getattr(block, field.name) for field in dataclasses.fields(block)},
                    "compute_time": _values(block.compute_time),
                    "resource_usage": _rows(block.resource_usage),
                }
                for block in self.code_block_results
            ],
        }

    def __str__(self) -> str:
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
            json.dump(self.to_json(), file)
            file.flush()
            return _toll.phases_analyze(file.name, None, "text")

    def __reduce__(self) -> Any:
        """As data that every pandas, and none, can make tables of."""
        return results_of, (self.to_json(),)


def results_of(document: Mapping[str, Any]) -> SubTrackingResults:
    """The results that to_json() gave."""
    return SubTrackingResults(
        _frame(document["overall"]),
        _series(document["static_data"]),
        [
            CodeBlockResults(
                **{
                    **block,
                    "compute_time": _series(block["compute_time"]),
                    "resource_usage": _frame(block["resource_usage"]),
                }
            )
            for block in document["code_block_results"]
        ],
    )


@dataclasses.dataclass
class ComparisonResults:
    """One statistic of each figure, of several runs, the smallest first."""

    overall_resource_usage: Dict[str, Any]
    code_block_resource_usage: Dict[str, Dict[str, Any]]
    code_block_compute_time: Dict[str, Any]

    def to_json(self) -> Dict[str, Any]:
        """As a dict."""
        return {
            "overall_resource_usage": {k: _values(v) for k, v in self.overall_resource_usage.items()},
            "code_block_resource_usage": {
                figure: {name: _values(one) for name, one in blocks.items()}
                for figure, blocks in self.code_block_resource_usage.items()
            },
            "code_block_compute_time": {k: _values(v) for k, v in self.code_block_compute_time.items()},
        }

    def __str__(self) -> str:
        text: str = getattr(self, "_text", "")  # of compare()
        return text or json.dumps(self.to_json(), indent=1)


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


def _stray_stop(name: str, stamps: Sequence[Tuple[int, float, int, bool]]) -> str:
    """What libtoll says of it, too."""
    (process, moment, number, _), *after = stamps
    said = "Sub-tracking file is invalid. "
    if after and after[0][0] != process:
        return (
            f"{said}Detected timestamp pair ({moment}, {after[0][1]}) with differing process IDs: "
            f"{process} and {after[0][0]}."
        )
    if after and after[0][3]:
        return (
            f"{said}Detected timestamp pair ({moment}, {after[0][1]}) of process ID {process} with a "
            "start time greater than the stop time."
        )
    return f'{said}Row {number} stops "{name}" of process ID {process}, which had not started.'


def _analyze(points: str, blocks: Optional[str]) -> Dict[str, Any]:
    """ValueError when what is in the files makes no sense."""
    try:
        document: Dict[str, Any] = json.loads(_toll.phases_analyze(points, blocks, "json"))
    except OSError as error:
        if error.errno == errno.EBADMSG:
            raise ValueError(error.strerror) from None
        if error.errno == errno.EOPNOTSUPP:  # more than data
            raise pickle.UnpicklingError(error.strerror) from None
        raise
    return document


class SubTrackingAnalyzer:
    """Of a tracking file and a sub-tracking file, what each block used."""

    def __init__(self, tracking_file: Optional[str], sub_tracking_file: Optional[str] = None) -> None:
        self._points = None if tracking_file is None else check_suffix(os.fspath(tracking_file))
        self._blocks = None if sub_tracking_file is None else check_suffix(os.fspath(sub_tracking_file))

    def _analyze(self) -> Dict[str, Any]:
        if self._points is None:
            raise ValueError("analyze: no tracking file was given")
        return _analyze(self._points, self._blocks)

    def sub_tracking_results(self) -> SubTrackingResults:
        """All of it."""
        return results_of(self._analyze())

    def read_static_data(self) -> Any:
        """What holds for the whole run: units, capacities, counts."""
        return self.sub_tracking_results().static_data

    def overall_timepoint_results(self) -> Any:
        """min, max, mean and std of each figure over the whole run."""
        return self.sub_tracking_results().overall

    def combine_sub_tracking_files(self, files: Iterable[str]) -> None:
        """Several sub-tracking files into that of this analyzer, which must not be there yet."""
        if self._blocks is None:
            raise ValueError("combine: no sub-tracking file was given")
        if os.path.exists(self._blocks):
            raise ValueError(
                f"Cannot create sub-tracking file {self._blocks}. File already exists."
            )
        _toll.phases_combine(self._blocks, [os.fspath(file) for file in files])

    def _stamps(self) -> List[Dict[str, Any]]:
        if self._blocks is None:
            return []
        rows = list(_read(self._blocks))
        for row in rows if self._blocks.endswith(".csv") else []:
            name = row[COLUMNS[1]]  # without what keeps spreadsheets from taking it for a formula
            row[COLUMNS[1]] = name[1:] if name[:1] == "'" and _FORMULA.match(name) else name
        return rows

    def load_code_block_names(self) -> List[str]:
        """The blocks that there are."""
        return sorted({row[COLUMNS[1]] for row in self._stamps()})

    def load_timestamp_pairs(self, code_block_name: str) -> Pairs:
        """When each call of a block began and ended; one that did not end is left out. ValueError of
        an end without a beginning."""
        pid, name, position, when = COLUMNS
        stamps = [
            (int(row[pid]), float(row[when]), number, str(row[position]) in (str(START), "START"))
            for number, row in enumerate(self._stamps(), 1)
            if row[name] == code_block_name
        ]
        stamps.sort()
        begun: List[float] = []
        pairs: List[Tuple[int, float, float]] = []
        for i, (process, moment, number, is_start) in enumerate(stamps):
            if i and stamps[i - 1][0] != process:
                begun.clear()
            if is_start:
                begun.append(moment)
            elif begun:
                pairs.append((process, begun.pop(), moment))
            else:
                raise ValueError(_stray_stop(code_block_name, stamps[i : i + 2]))
        return [(start, stop) for _, start, stop in sorted(pairs)]

    def load_timepoints(self, timestamp_pairs: Sequence[Tuple[float, float]]) -> Any:
        """The rows of the tracking file within these calls; a pandas.DataFrame, or a list of dicts."""
        if self._points is None:
            raise ValueError("analyze: no tracking file was given")
        when = COLUMNS[3]
        rows = [
            {key: float(value) for key, value in row.items()}
            for row in _read(self._points, skip=2)
            if any(start <= float(row[when]) <= stop for start, stop in timestamp_pairs)
        ]
        pandas = _pandas()
        return pandas.DataFrame(rows) if pandas else rows


def _load(path: str) -> SubTrackingResults:
    """Results that were pickled, or written as JSON, or a tracking file alone. Nothing in a pickle is
    run."""
    return results_of(_analyze(path, None))


def _sort_key(name: str, digits: int) -> str:
    lead, colon, line = name.rpartition(":")
    return lead + colon + line.zfill(digits) if colon and line.isdigit() else name


def _sort_blocks(results: SubTrackingResults) -> None:
    """By name, lines by their numbers."""
    lines = [block.name.rpartition(":")[2] for block in results.code_block_results]
    digits = max((len(line) for line in lines if line.isdigit()), default=0)
    results.code_block_results.sort(key=lambda block: _sort_key(block.name, digits))


class TrackingComparison:
    """Compares runs by their results: `TrackingComparison({"a": "a.pkl", "b": "b.json"}).compare()`.

    A file is a pickle of SubTrackingResults, of gpu_tracker's own too, its JSON, or a tracking file.
    ValueError when the blocks of the runs are not the same.
    """

    def __init__(self, file_path_map: Mapping[str, str]) -> None:
        self.results_map = {name: _load(os.fspath(path)) for name, path in file_path_map.items()}
        for results in self.results_map.values():
            _sort_blocks(results)
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
        found = json.loads(document)
        results = ComparisonResults(
            _all_series(found["overall_resource_usage"]),
            {
                figure: _all_series(blocks)
                for figure, blocks in found["code_block_resource_usage"].items()
            },
            _all_series(found["code_block_compute_time"]),
        )
        results._text = text  # type: ignore[attr-defined]
        return results
