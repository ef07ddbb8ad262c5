# SPDX-License-Identifier: MIT
"""A small table: columns by name, rows by number; what trackers hand their users."""

from __future__ import annotations

import csv
import io
import re
import time
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Union,
    overload,
)

Column = List[Any]
ROWS_SHOWN = 10


class StatSpec(NamedTuple):
    """One statistic: of which column, made by what, rounded to so many decimals."""

    column: str
    agg: Callable[..., Any]
    agg_name: Optional[str] = None
    round: Optional[int] = None

    @property
    def name(self) -> str:
        """What it is called in the result: mean, max, …"""
        return self.agg_name or str(getattr(self.agg, "__name__", "stat"))


_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def _cell(text: Optional[str]) -> Any:
    """A whole number is an int, another number a float; what is empty is not known."""
    if not text:
        return None
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text


def rows_of_csv(text: str) -> List[Dict[str, Any]]:
    """A dict for each row below the heading."""
    rows: List[Dict[str, Any]] = []
    for row in csv.DictReader(io.StringIO(text, newline="")):
        if None in row:
            raise ValueError(f"row {len(rows) + 1} of the CSV has more cells than the heading")
        rows.append({name: _cell(value) for name, value in row.items()})
    return rows


def _read(path: str, retries: int, delay: float) -> List[Dict[str, Any]]:
    """Tried again where it fails, after a delay that doubles."""
    for left in range(retries, -1, -1):
        try:
            with open(path, newline="", encoding="utf-8") as file:
                return rows_of_csv(file.read())
        except (OSError, ValueError):
            if not left:
                raise
        time.sleep(delay)
        delay *= 2
    return []


class TinyDataFrame:
    """Rows and columns: `t["cpu_usage"]` is a column, `t[0]` a row, `t[1:3]` and `t[["a", "b"]]` are
    tables again."""

    def __init__(
        self,
        data: Union[Mapping[str, Iterable[Any]], Iterable[Mapping[str, Any]], None] = None,
        csv_file_path: Optional[str] = None,
        retries: int = 0,
        retry_delay: float = 0.1,
    ) -> None:
        if (data is None) == (csv_file_path is None):
            raise ValueError("table: both or neither of data and csv_file_path were given (expected one of them)")
        if csv_file_path is not None:
            data = _read(csv_file_path, max(0, retries), retry_delay)
        self._data: Dict[str, Column] = {}
        if isinstance(data, Mapping):
            self._data = {name: list(column) for name, column in data.items()}
        elif data is not None:
            rows = list(data)
            names = dict.fromkeys(name for row in rows for name in row)
            self._data = {name: [row.get(name) for row in rows] for name in names}

    @property
    def columns(self) -> List[str]:
        """Their names."""
        return list(self._data)

    def __len__(self) -> int:
        return len(next(iter(self._data.values()), ()))

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        return (self[number] for number in range(len(self)))

    @overload
    def __getitem__(self, key: str) -> Column: ...

    @overload
    def __getitem__(self, key: int) -> Dict[str, Any]: ...

    @overload
    def __getitem__(self, key: Union[slice, List[str]]) -> "TinyDataFrame": ...

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return self._data[key]
        if isinstance(key, int):
            return {name: column[key] for name, column in self._data.items()}
        if isinstance(key, slice):
            return TinyDataFrame({name: column[key] for name, column in self._data.items()})
        if isinstance(key, list):
            return TinyDataFrame({name: self._data[name] for name in key})
        raise TypeError(f"table: invalid key {key!r} (expected a column, row, slice or list of columns)")

    def __setitem__(self, key: str, column: Iterable[Any]) -> None:
        values = list(column)
        if not isinstance(key, str):
            raise TypeError(f"table: invalid column {key!r} (expected text)")
        if self._data and len(values) != len(self):
            raise ValueError(f"table: {len(values)} values for {len(self)} rows")
        self._data[key] = values

    def head(self, n: int = 5) -> "TinyDataFrame":
        """The first rows."""
        return self[:n]

    def tail(self, n: int = 5) -> "TinyDataFrame":
        """The last rows."""
        return self[-n:] if n > 0 else self[:0]

    def rename(self, columns: Mapping[str, str]) -> "TinyDataFrame":
        """Other names for some columns; of this very table."""
        for name in columns:
            if name not in self._data:
                raise KeyError(f"column '{name}': not found (known columns: {', '.join(self._data)})")
        self._data = {columns.get(name, name): column for name, column in self._data.items()}
        return self

    def to_dict(self) -> List[Dict[str, Any]]:
        """A dict for each row."""
        return list(self)

    def to_csv(self, csv_file_path: Optional[str] = None, quote_strings: bool = True) -> Optional[str]:
        """As CSV into a file, or as a text when none is named."""
        text = io.StringIO(newline="")
        writer = csv.writer(
            text, quoting=csv.QUOTE_NONNUMERIC if quote_strings else csv.QUOTE_MINIMAL
        )
        writer.writerow(self._data)
        writer.writerows(zip(*self._data.values()))
        if csv_file_path is None:
            return text.getvalue()
        with open(csv_file_path, "w", newline="", encoding="utf-8") as file:
            file.write(text.getvalue())
        return None

    def stats(self, specs: Iterable[StatSpec]) -> Dict[str, Dict[str, Any]]:
        """Statistics by column and name. What is not known is left out of them; when nothing is
        known, so is the statistic: None."""
        found: Dict[str, Dict[str, Any]] = {}
        for spec in specs:
            known = [value for value in self._data[spec.column] if value is not None]
            value = spec.agg(known) if known else None
            if value is not None and spec.round is not None:
                value = round(value, spec.round)
            found.setdefault(spec.column, {})[spec.name] = value
        return found

    def __repr__(self) -> str:
        first = f" First row as a dict: {self[0]}" if len(self) else ""
        return f"TinyDataFrame with {len(self)} rows and {len(self._data)} columns.{first}"

    def __str__(self) -> str:
        head = f"TinyDataFrame with {len(self)} rows and {len(self._data)} columns:\n"
        if not len(self):
            return head + "Empty dataframe"
        shown = [
            [name, *(str(value) for value in column[:ROWS_SHOWN])]
            for name, column in self._data.items()
        ]
        widths = [max(map(len, column)) for column in shown]
        lines = [
            " | ".join(
                value.ljust(width) if number == 0 or not _is_number(value) else value.rjust(width)
                for value, width in zip(row, widths)
            )
            for number, row in enumerate(zip(*shown))
        ]
        lines.insert(1, "-+-".join("-" * width for width in widths))
        if len(self) > ROWS_SHOWN:
            lines.append("...")
        return head + "\n".join(lines)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
