# SPDX-License-Identifier: MIT
"""The report of ResourceTracker: one page of HTML with charts, without anything from elsewhere."""

from __future__ import annotations

import time
import webbrowser
from html import escape
from tempfile import NamedTemporaryFile
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .._toll import number_text
from ._statistics import TIME
from ._table import TinyDataFrame

Points = List[Tuple[float, Optional[float]]]

WIDTH, HEIGHT = 720, 180
POINTS = 1000  # in one line of a chart
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd")
STYLE = """
body{font:15px/1.4 sans-serif;max-width:780px;margin:2em auto;padding:0 1em;color:#222;background:#fff}
table{border-collapse:collapse}th,td{padding:.1em 1em .1em 0;text-align:left;font-weight:normal}
td{text-align:right}figure{margin:1.5em 0}figcaption span{margin-right:1.2em}
svg{width:100%;height:auto;background:#fafafa;border:1px solid #ddd}svg text{font:11px sans-serif;fill:#555}
.failed{color:#b00}small{color:#666}
"""


class Report(str):
    """A report in HTML."""

    def save(self, filepath: str) -> "Report":
        """Into a file."""
        with open(filepath, "w", encoding="utf-8") as file:
            file.write(self)
        return self

    def browse(self) -> "Report":
        """In the browser."""
        with NamedTemporaryFile("w", suffix=".html", delete=False, encoding="utf-8") as file:
            file.write(self)
        webbrowser.open(f"file://{file.name}")
        return self


class Chart(NamedTuple):
    title: str
    unit: str  # as number_text() takes it
    is_rate: bool  # what came in each row, over the length of the row
    lines: Sequence[str]  # columns by the names for people
    may_be_missing: bool = False  # left out when there is nothing but 0


CHARTS = (
    Chart("CPU, cores", "", False, ("Process CPU usage", "System CPU usage")),
    Chart("Memory", "bytes", False, ("Process memory usage", "System used memory")),
    Chart(
        "Disk, per second",
        "bytes",
        True,
        ("Process disk read", "System disk read", "Process disk write", "System disk write"),
    ),
    Chart("Disk space used", "bytes", False, ("System disk space used",)),
    Chart(
        "Network, per second",
        "bytes",
        True,
        ("System inbound network traffic", "System outbound network traffic"),
    ),
    Chart("GPUs, usage", "", False, ("Process GPU usage", "System GPU usage"), True),
    Chart("GPUs in use", "", False, ("Process GPUs in use", "System GPUs in use"), True),
    Chart("GPU memory", "bytes", False, ("Process VRAM used", "System VRAM used"), True),
)


def _thinned(points: Points) -> Points:
    """No more than can be drawn: the largest of several neighbours."""
    step = -(-len(points) // POINTS)
    found: Points = []
    for first in range(0, len(points), step):
        some = [point for point in points[first : first + step] if point[1] is not None]
        found.append(max(some, key=lambda point: point[1] or 0) if some else points[first])
    return found


def _line(points: Points, end: float, top: float, colour: str) -> str:
    """What is not known is a gap; a point without neighbours is a dot."""
    pieces: List[List[str]] = [[]]
    for x, y in _thinned(points):
        if y is None:
            pieces.append([])
        else:
            place = f"{x / end * WIDTH:.1f},{HEIGHT - y / top * (HEIGHT - 20):.1f}"
            pieces[-1].append(place)
    return "".join(
        f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" stroke-linecap="round" '
        f'points="{" ".join(piece if len(piece) > 1 else piece * 2)}"/>'
        for piece in pieces
        if piece
    )


def _chart(chart: Chart, table: TinyDataFrame, start: float) -> str:
    times = [moment - start for moment in table[TIME.title()]]
    lengths = [now - then for then, now in zip([0.0, *times], times)]
    lines: Dict[str, Points] = {}
    for name in chart.lines:
        values = table[name] if name in table.columns else []
        if chart.is_rate:
            values = [
                None if value is None or length <= 0 else value / length
                for value, length in zip(values, lengths)
            ]
        if any(value is not None for value in values):
            lines[name] = list(zip(times, values))
    most = max((y for points in lines.values() for _, y in points if y is not None), default=0.0)
    if not lines or (chart.may_be_missing and not most):
        return ""
    end, top = max(times[-1], 1e-9), most or 1.0
    drawn = "".join(
        _line(points, end, top, colour) for points, colour in zip(lines.values(), COLOURS)
    )
    legend = "".join(
        f'<span><b style="color:{colour}">—</b> {escape(name)}</span>'
        for name, colour in zip(lines, COLOURS)
    )
    many = f"; {len(times)} rows, drawn are peaks" if len(times) > POINTS else ""
    return (
        f"<figure><figcaption><b>{escape(chart.title)}</b> "
        f"<small>(up to {escape(number_text(most, chart.unit))}{many})</small><br>{legend}</figcaption>"
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT + 16}" role="img" aria-label="{escape(chart.title)}">'
        f'<line x1="0" y1="20" x2="{WIDTH}" y2="20" stroke="#ddd"/>{drawn}'
        f'<text x="4" y="14">{escape(number_text(top, chart.unit))}</text>'
        f'<text x="4" y="{HEIGHT + 12}">0 s</text>'
        f'<text x="{WIDTH - 4}" y="{HEIGHT + 12}" text-anchor="end">{escape(number_text(end, "seconds"))}</text>'
        f"</svg></figure>"
    )


def facts_table(facts: Iterable[Tuple[str, Any]]) -> str:
    """Name and value in each line; what is not known is a question mark."""
    rows = "".join(
        f"<tr><th>{escape(str(name))}</th><td>{escape('?' if value is None else str(value))}</td></tr>"
        for name, value in facts
    )
    return f"<table>{rows}</table>"


def recommended_section(recommended: Mapping[str, int], earlier: int) -> Tuple[str, str]:
    """What to order for the next run; memory is MiB."""
    units = {"memory": " MiB", "vram": " MiB"}
    rows = [(name, f"{value}{units.get(name, '')}") for name, value in recommended.items()]
    runs = f" (with {earlier} earlier runs)" if earlier else ""
    return f"Recommended resources{runs}", facts_table(rows)


def stats_section(stats: Mapping[str, Mapping[str, Any]]) -> Tuple[str, str]:
    """Each statistic by the names of its column and of itself."""
    rows = [(f"{column}, {name}", one) for column, named in stats.items() for name, one in named.items()]
    return "Statistics", facts_table(rows)


def make_report(
    table: TinyDataFrame,
    start: float,
    status: str,
    sections: Iterable[Tuple[str, str]],
    footer: str,
) -> Report:
    """A page of a table with names for people, in bytes, and of sections that are HTML already."""
    when = time.strftime("%Y-%m-%d %H:%M:%S %z", time.localtime(start))
    parts = "".join(f"<h2>{escape(title)}</h2>{text}" for title, text in sections if text)
    charts = "".join(_chart(chart, table, start) for chart in CHARTS)
    return Report(
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>Resource usage</title><style>{STYLE}</style></head><body>"
        f'<h1>Resource usage</h1><p class="{escape(status.lower())}"><b>{escape(status)}</b>, '
        f"started {escape(when)}</p><h2>Over time</h2>{charts}{parts}"
        f"<p><small>{escape(footer)}</small></p></body></html>\n"
    )
