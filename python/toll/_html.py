# SPDX-License-Identifier: MIT
"""A summary for people, in notebooks: a table that takes its colours from the page."""

from __future__ import annotations

from html import escape
from typing import Any, Dict, List, Mapping, Optional

from ._figures import Figure, metrics

_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_LOWER_BOUND = "lower bound"


def human(value: Optional[float], unit: str) -> str:
    """With three digits: 1.93 s, 58.6 MiB; unknown is a question mark."""
    if value is None:
        return "?"
    if unit == "bytes":
        step = 0
        while abs(value) >= 1024 and step < len(_BINARY) - 1:
            value /= 1024
            step += 1
        return f"{value:.0f} B" if step == 0 else f"{value:.3g} {_BINARY[step]}"
    if unit == "seconds":
        for scale, word in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
            if abs(value) >= scale:
                return f"{value / scale:.4g} {word}" if value >= 1000 else f"{value / scale:.3g} {word}"
        return "0 s" if value == 0 else f"{value * 1e9:.3g} ns"
    number = f"{value:.0f}" if value == round(value) else f"{value:.3g}"
    return number if not unit or unit in ("cores", "ratio") else f"{number} {unit}"


def figure_text(figure: Figure, unit: str) -> str:
    bound = "≥ " if figure.quality == _LOWER_BOUND and figure.value is not None else ""
    return bound + human(figure.value, unit)


def _mean_text(figure: Figure, unit: str) -> str:
    if figure.mean is not None:
        return human(figure.mean, unit)
    if figure.rate_mean is None or unit == "seconds":
        return ""
    return human(figure.rate_mean, unit) + "/s"


def _rows(figures: Mapping[str, Any]) -> List[str]:
    known = {one.name: one for one in metrics() if one.entity == "process"}
    rows = []
    for name, values in figures.items():
        figure = Figure(values)
        metric = known.get(name)
        unit = metric.unit if metric else ""
        cells = (figure_text(figure, unit), _mean_text(figure, unit), figure.quality or "")
        title = escape(metric.title if metric else name)
        rows.append(
            f'<tr title="{escape(name)}"><th style="text-align:left;font-weight:normal">{title}</th>'
            + "".join(f'<td style="text-align:right">{escape(cell)}</td>' for cell in cells)
            + "</tr>"
        )
    return rows


def summary_html(document: Dict[str, Any]) -> str:
    name = document["name"] or " ".join(document["command"]) or "toll"
    head = f"<b>{escape(name)}</b> {human(document['wall_seconds'], 'seconds')}"
    figures = document.get("target", {}).get("combined", {})
    table = (
        '<table style="border-collapse:collapse;color:inherit;background:none">'
        "<tr>"
        + "".join(
            f'<th style="text-align:{side};border-bottom:1px solid currentColor">{word}</th>'
            for word, side in (
                ("", "left"),
                ("total, peak", "right"),
                ("mean", "right"),
                ("quality", "right"),
            )
        )
        + "</tr>"
        + "".join(_rows(figures))
        + "</table>"
    )
    notes = "".join(f"<li>{escape(note)}</li>" for note in document["notes"])
    return f"<div>{head}{table}{f'<ul>{notes}</ul>' if notes else ''}</div>"
