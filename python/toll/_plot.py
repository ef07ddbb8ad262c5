# SPDX-License-Identifier: MIT
"""Plots: charts of frames over time, by matplotlib or as SVG."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Optional, Sequence, Tuple, Union

from . import _toll

if TYPE_CHECKING:
    from ._summary import Summary

    _FrameList = List[_toll.Frame]
else:
    _FrameList = list

MATPLOTLIB, SVG = "matplotlib", "svg"
Path = Union[str, "os.PathLike[str]"]


class Plot:
    """Charts over time. A notebook shows them; save() writes them to a file.

        plot = t.frames.plot("cpu", "memory")
        plot.save("run.svg")                  # with matplotlib also .png, .pdf, …
        plot.figure                           # the matplotlib figure; None without matplotlib

    However many samples there are, a curve has at most 800 columns: the line is their mean, the band
    reaches from the smallest to the largest value.
    """

    __slots__ = ("_charts", "_svg", "figure")
    figure: Any
    """a matplotlib.figure.Figure, or None"""

    def __init__(self, svg: str, charts: Dict[str, Any], figure: Any = None) -> None:
        self._svg = svg
        self._charts = charts
        self.figure = figure

    @property
    def charts(self) -> List[str]:
        """The names of the charts that were drawn: those that have figures."""
        return [str(chart["name"]) for chart in self._charts["charts"]]

    @property
    def svg(self) -> str:
        """The SVG document that toll has drawn, also when matplotlib is installed."""
        return self._svg

    def to_dict(self) -> Dict[str, Any]:
        """The curves as numbers: `charts`, each with its `series` of `mean`, `min` and `max` for
        columns of `column_seconds`; None where nothing was known."""
        import copy

        return copy.deepcopy(self._charts)

    def save(self, path: Path, **options: Any) -> None:
        """Write the picture to a file: .svg, and with matplotlib whatever its savefig() can write,
        which gets the options."""
        name = os.fspath(path)
        if self.figure is not None:
            self.figure.savefig(name, **options)
            return
        if options:
            raise TypeError(f"save: {', '.join(options)}: options are for matplotlib, which did not "
                            "draw this plot")
        if not name.lower().endswith(".svg"):
            raise ValueError(f"save: cannot write {name!r}: expected .svg (other formats need matplotlib)")
        with open(name, "w", encoding="utf-8") as file:
            file.write(self._svg)

    def __repr__(self) -> str:
        shown = ", ".join(self.charts) or "no samples"
        return f"<Plot {shown}: {self._charts['samples']} samples>"

    def _repr_svg_(self) -> Optional[str]:
        return self._svg if self.figure is None else None

    def _repr_png_(self) -> Optional[bytes]:
        if self.figure is None:
            return None
        import io

        file = io.BytesIO()
        self.figure.savefig(file, format="png")
        return file.getvalue()

    def _repr_html_(self) -> Optional[str]:
        """An image: the styles of an SVG element would apply to the whole notebook."""
        if self.figure is not None:
            return None
        import base64

        data = base64.b64encode(self._svg.encode()).decode()
        words = ", ".join(self.charts) or "no samples"
        return f'<img alt="Charts: {words}" style="max-width:100%" src="data:image/svg+xml;base64,{data}">'


class Frames(_FrameList):
    """Frames of a run: a list, with plot() and to_pandas(). A slice of it is one, too."""

    __slots__ = ()

    def plot(self, *charts: str, backend: Optional[str] = None) -> Plot:
        """Draw charts of these frames over the time since the start of the run.

            t.frames.plot()                       # CPU and memory
            t.frames[-100:].plot("disk", "processes").save("end.svg")

        `charts` are names: cpu, memory, disk, network, processes, gpu, gpu_memory, gpu_power,
        cgroup_pressure; of the machine power, machine_cpu, machine_memory and pressure. One without
        figures is left out.
        `backend` is "matplotlib" or "svg"; None: matplotlib if it is installed.
        """
        return plot_frames(self, charts, backend)

    def to_pandas(self) -> Any:
        """A pandas.DataFrame: indexed by time, with the columns of CSV."""
        from ._frames import frames_to_pandas

        return frames_to_pandas(self)

    if not TYPE_CHECKING:

        def __getitem__(self, index):
            found = list.__getitem__(self, index)
            return Frames(found) if isinstance(index, slice) else found

    def __repr__(self) -> str:
        if not self:
            return "<Frames: none>"
        seconds = _toll.number_text(self[-1].elapsed_seconds, "seconds")
        return f"<Frames: {len(self)}, up to {seconds}>"


def plot_frames(
    frames: Sequence[_toll.Frame],
    charts: Iterable[str],
    backend: Optional[str] = None,
    summary: Optional[Summary] = None,
) -> Plot:
    """Of a summary also with its limits as lines."""
    import json

    names = [str(one) for one in charts]
    if backend not in (None, MATPLOTLIB, SVG):
        raise ValueError(f"backend: invalid value {backend!r} (expected 'matplotlib' or 'svg')")
    cores, memory = _limits(summary)
    chosen = ",".join(names) if names else None
    svg = _toll.draw_frames(frames, chosen, SVG, cores, memory)
    drawn: Dict[str, Any] = json.loads(_toll.draw_frames(frames, chosen, "json", cores, memory))
    return Plot(svg, drawn, None if backend == SVG else _figure(drawn, backend, summary))


def _limits(summary: Optional[Summary]) -> Tuple[float, float]:
    """The cores and the memory that the target may use; 0 where that is not known."""
    limits: Dict[str, Any] = {} if summary is None else summary.limits.to_dict()
    cores, memory = ((limits.get(key) or {}).get("value") or 0 for key in ("cpus", "memory_bytes"))
    return float(cores), float(memory)


# ---- matplotlib ---------------------------------------------------------------------------------


def _figure(drawn: Dict[str, Any], backend: Optional[str], summary: Optional[Summary]) -> Any:
    """A separate figure, unknown to pyplot: no window opens, and it ends with the Plot. None
    without matplotlib."""
    try:
        from matplotlib.figure import Figure  # type: ignore[import]
    except ImportError as error:
        if backend is None:
            return None
        raise ImportError("plot: matplotlib is not installed (backend='svg' works without it)") from error
    charts = drawn["charts"]
    figure = Figure(figsize=(9.6, 2.6 * max(1, len(charts)) + 0.3), constrained_layout=True)
    if summary is not None:
        figure.suptitle(_plain(summary.title()))
    if not charts:
        figure.text(0.5, 0.5, "no samples", ha="center")
    axes = figure.subplots(max(1, len(charts)), sharex=True, squeeze=False)[:, 0] if charts else []
    for ax, chart in zip(axes, charts):
        _draw(ax, chart)
    if charts:
        axes[-1].set_xlabel("seconds since the start")
    return figure


def _plain(text: str) -> str:
    """Text from outside: nothing in it is mathematics."""
    return text.replace("$", r"\$")


def _draw(ax: Any, chart: Dict[str, Any]) -> None:
    nan = float("nan")
    most = max((series["peak"] for series in chart["series"]), default=0)
    limit = chart.get("limit", 0)
    is_near = 0 < limit < 2 * most  # a limit far above would make the curve flat
    scale, unit = _scale(chart, max(most, limit) if is_near else most)
    for series in chart["series"]:
        width = series["column_seconds"]
        times = [(i + 0.5) * width for i in range(len(series["mean"]))]
        mean, low, high = (
            [nan if value is None else value / scale for value in series[key]]
            for key in ("mean", "min", "max")
        )
        (line,) = ax.plot(times, mean, linewidth=1.4, label=_plain(series["name"]) or None)
        ax.fill_between(times, low, high, alpha=0.25, linewidth=0, color=line.get_color())
    if is_near:
        ax.axhline(limit / scale, linestyle="--", linewidth=1, color="tab:red", label="limit")
    ax.set_ylim(bottom=0)
    ax.set_xlim(left=0)
    ax.set_title(chart["title"], loc="left", fontsize="medium")
    ax.set_ylabel(unit or chart["about"])
    ax.grid(True, alpha=0.3)
    if is_near or len(chart["series"]) > 1:
        ax.legend(loc="best", fontsize="small")


def _scale(chart: Dict[str, Any], most: float) -> Tuple[float, str]:
    """What the values are divided by, and the unit that makes of them."""
    unit, per = str(chart["unit"]), "/s" if chart["per_second"] else ""
    if unit == "bytes":
        names = ("bytes", "KiB", "MiB", "GiB", "TiB")
        power = 0
        while power + 1 < len(names) and most >= 1024 ** (power + 1):
            power += 1
        return float(1024**power), names[power] + per
    if unit == "ratio" or (unit == "seconds" and per):
        return 0.01, "%"
    return 1.0, unit + per if unit else ""
