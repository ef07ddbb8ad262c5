# SPDX-License-Identifier: MIT
"""A summary in a notebook: a few tables that take their colours from the page."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Optional, Sequence

from . import _toll
from ._figures import UNKNOWN, Figure, metrics, printable
from ._parts import Process, or_none

if TYPE_CHECKING:
    from ._entities import GpuFigures, TargetFigures
    from ._summary import Summary

# Notebooks colour the rows of tables; here the page shines through.
_TABLE = "border-collapse:collapse;color:inherit;background:none;margin:.4em 0"
_CELL = "padding:.1em .8em .1em 0;border:none;background:none"
_QUIET = "opacity:.7"
_MOST_GPUS, _MOST_PHASES, _MOST_PROCESSES = 16, 12, 5


def _text(value: object) -> str:
    """Names come from outside: nothing in them is markup, or moves the text around."""
    return escape(printable(value))


def _row(cells: Sequence[str], tag: str = "td", title: str = "", side: str = "right") -> str:
    """The first cell to the left, figures to the right."""
    shown = []
    for i, cell in enumerate(cells):
        style = f"{_CELL};text-align:{side if i else 'left'}"
        style += ";font-weight:normal;white-space:nowrap" if tag == "th" or not i else ""
        shown.append(f'<{tag} style="{style}">{_text(cell)}</{tag}>')
    hint = f' title="{_text(title)}"' if title else ""
    return f"<tr{hint}>{''.join(shown)}</tr>"


def _table(heading: Sequence[str], rows: Iterable[str]) -> str:
    body = "".join(rows)
    if not body:
        return ""
    head = f'<thead style="{_QUIET}">{_row(heading, "th")}</thead>' if any(heading) else ""
    return f'<table style="{_TABLE}">{head}<tbody>{body}</tbody></table>'


def _number(value: Optional[float], unit: str) -> str:
    return _toll.number_text(value, unit)


def _shown(figure: Optional[Figure], number: Optional[float] = None) -> str:
    return UNKNOWN if figure is None else figure.text(number)


def _left_out(count: int, most: int) -> List[str]:
    return [_row([f"{count - most} more"])] if count > most else []


# ---- The answers --------------------------------------------------------------------------------


def _answers(summary: Summary) -> List[str]:
    """CPU, memory, disk, energy: what there is of them, with a remark to each."""
    target = summary.target
    rows = []

    def add(label: str, text: str, remark: str = "") -> None:
        rows.append(_row([label, text, remark], side="left"))

    if "cpu_seconds" in target.combined:
        add("CPU", summary.target.cpu_seconds.text(), _cores(summary))
    memory = summary._memory()
    if memory is not None or summary.quality("peak_memory") == UNKNOWN:
        peak = f"{memory.text()} at peak" if memory is not None and memory.max is not None else UNKNOWN
        add("Memory", peak, _share(summary.peak_memory, summary.limits.to_dict().get("memory_bytes")))
    if summary.read_bytes or summary.written_bytes:
        read = _shown(or_none(lambda: target.storage_read_bytes))
        written = _shown(or_none(lambda: target.storage_written_bytes))
        add("Disk", f"{read} read, {written} written")
    if (summary.processes_started or 0) > 1:
        add("Processes", _shown(or_none(lambda: target.processes_started)))
    return rows


def _cores(summary: Summary) -> str:
    if summary.cpu_cores is None:
        return ""
    limit = summary.limits.to_dict().get("cpus") or {}
    of = f" of {_number(limit['value'], '')}" if limit.get("value") else ""
    return f"{summary.cpu_cores:.2f}{of} cores"


def _share(used: Optional[float], limit: Optional[Dict[str, Any]]) -> str:
    if used is None or not limit or not limit.get("value"):
        return ""
    return f"{_number(used / limit['value'], 'ratio')} of {_number(limit['value'], 'bytes')}"


def _energy(summary: Summary) -> List[str]:
    joules: Dict[str, Any] = summary.to_dict().get("run_joules", {})
    known = [(word, joules.get(key)) for word, key in (("processors", "processor"), ("GPUs", "gpu"))]
    shown = [f"{_number(value, 'joules')} {word}" for word, value in known if value is not None]
    if not shown:
        return []
    return [_row(["Energy", ", ".join(shown), "whole machine"], side="left")]


# ---- Tables -------------------------------------------------------------------------------------


def _gpu_row(gpu: GpuFigures) -> str:
    busy = or_none(lambda: gpu.utilization_ratio)
    power = or_none(lambda: gpu.power_watts)
    memory = _shown(or_none(lambda: gpu.memory_used_bytes))
    total = or_none(lambda: gpu.memory_total_bytes)
    if total is not None and total.max:
        memory += f" of {total.text()}"
    return _row(
        [
            gpu._title(),
            _shown(busy, busy.mean if busy else None),
            memory,
            _shown(power, power.mean if power else None),
            _shown(or_none(lambda: gpu.energy_joules)),
        ]
    )


def _gpus(summary: Summary) -> str:
    gpus = summary.gpus
    return _table(
        ["GPU", "busy", "memory at peak", "power", "energy"],
        [*map(_gpu_row, gpus[:_MOST_GPUS]), *_left_out(len(gpus), _MOST_GPUS)],
    )


def _phases(summary: Summary) -> str:
    phases = summary.phases
    rows = [
        _row(
            [
                one.name if one.count == 1 else f"{one.name} × {one.count}",
                _number(one.total_seconds, "seconds"),
                _shown(or_none(lambda: one.figures.cpu_seconds)),
                _shown(or_none(lambda: one.figures.memory_rss_bytes)),
            ]
        )
        for one in phases[:_MOST_PHASES]
    ]
    return _table(
        ["Phase", "time", "CPU", "memory at peak"], [*rows, *_left_out(len(phases), _MOST_PHASES)]
    )


def _processes(summary: Summary) -> str:
    """The largest, where there were several."""
    largest = summary.largest_processes[:_MOST_PROCESSES]

    def row(one: Process) -> str:
        command = one.command or one.name
        shown = command if len(command) <= 60 else command[:59] + "…"
        return _row([f"{one.pid} {shown}", *one._texts()], title=command)

    return _table(["Process", "CPU", "memory at peak"], map(row, largest if largest[1:] else []))


def _all_figures(figures: TargetFigures) -> str:
    """Every figure, folded away."""
    known = {one.name: one for one in metrics() if one.entity == "process"}
    rows = []
    for name, values in figures.to_dict().items():
        figure = Figure(values, name)
        mean = "" if figure.mean is None else figure.text(figure.mean)
        title = known[name].title if name in known else name
        rows.append(_row([title, figure.text(), mean, figure.quality or ""], title=name))
    table = _table(["", "total or peak", "mean", "quality"], rows)
    return f"<details><summary>All figures</summary>{table}</details>" if table else ""


def summary_html(summary: Summary) -> str:
    """Never raises: a document that toll did not write may be shown as text."""
    try:
        return _summary_html(summary)
    except Exception:
        return f"<div>{_text(repr(summary))}</div>"


def _summary_html(summary: Summary) -> str:
    seconds = _number(summary.wall_seconds, "seconds")
    outcome = summary.outcome()
    ended = f"{outcome} in {seconds}" if outcome else f"measured for {seconds}"
    parts = [f'<div><b>{_text(summary.title())}</b> <span style="{_QUIET}">{_text(ended)}</span></div>']
    has_target = "target" in summary
    answers = _answers(summary) if has_target else []
    parts.append(_table([], [*answers, *_energy(summary)]))
    parts += [_gpus(summary), _phases(summary), _processes(summary)]
    if has_target:
        parts.append(_all_figures(summary.target.combined))
    notes = "".join(f"<li>{_text(note)}</li>" for note in summary.notes)
    parts.append(f"<ul>{notes}</ul>" if notes else "")
    return f"<div>{''.join(parts)}</div>"
