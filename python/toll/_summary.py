# SPDX-License-Identifier: MIT
"""Summary: the JSON document of a run with attributes. docs/formats.md describes its keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence, TypeVar, cast

from . import _toll
from ._entities import (
    CgroupDiskFigures,
    CgroupFigures,
    CoreFigures,
    DiskFigures,
    GpuFigures,
    MountFigures,
    NetifFigures,
    RaplFigures,
    SelfFigures,
    SensorFigures,
    SystemFigures,
    TargetFigures,
    ThreadFigures,
)
from ._figures import LOWER_BOUND, UNKNOWN, Figure, metric_of, no_figure, printable, unit_of
from ._parts import Part, Process, Program, Values, or_none, usage_words

if TYPE_CHECKING:
    from ._plot import Path, Plot
    from ._report import Report

Kind = TypeVar("Kind", bound=Part)

_PLURALS = {"rapl": "rapl"}  # the key of a list; of all other entities it is the name and an s
_TITLE_LENGTH = 48
# The first samples of a command that ran shorter than this are from before it had its memory.
_SHORTEST_FOR_MEMORY = 0.05
_LEAST_OF_A_PROGRAM = 1 << 20


class Target(TargetFigures):
    """A target: `combined` is the whole, `main` the process itself, `descendants` what it started.

    Figures that are read directly belong to `combined`: `s.target.cpu_seconds`.
    """

    __slots__ = ()

    def _get(self, name: str) -> Any:
        if name in self._values:
            return super()._get(name)
        return TargetFigures(self._values.get("combined", {}))._get(name)

    def _names(self) -> List[str]:
        return [*self._values, *self._values.get("combined", {})]

    @property
    def name(self) -> str:
        """Of one of several targets; otherwise ''."""
        return str(self._values.get("name", ""))

    @property
    def combined(self) -> TargetFigures:
        """All processes of the target."""
        return TargetFigures(self._part("combined"))

    @property
    def main(self) -> TargetFigures:
        """The main process alone."""
        return TargetFigures(self._part("main"))

    @property
    def descendants(self) -> TargetFigures:
        """All processes but the main one."""
        return TargetFigures(self._part("descendants"))

    @property
    def end(self) -> Values:
        """How one of several targets ended."""
        return Values(self._part("end"))

    @property
    def limits(self) -> Values:
        """What one of several targets may use."""
        return Values(self._part("limits"))

    def _part(self, key: str) -> Dict[str, Any]:
        try:
            part: Dict[str, Any] = self._values[key]
        except KeyError:
            raise AttributeError(key) from None
        return part

    def _headline(self) -> List[str]:
        return usage_words(self)


class PhaseUsage(Part):
    """What was used in all phases of one name."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """As the program gave it."""
        return str(self._values["name"])

    @property
    def count(self) -> int:
        """How many phases had this name."""
        return int(self._values["count"])

    @property
    def total_seconds(self) -> float:
        """How long all of them took together."""
        return float(self._values["total_seconds"])

    @property
    def figures(self) -> TargetFigures:
        """What was used: `phase.figures.cpu_seconds.total`."""
        return TargetFigures(self._values["figures"])

    @property
    def cpu_seconds(self) -> Optional[float]:
        """CPU time; None when it is not known."""
        return or_none(lambda: self.figures.cpu_seconds.total)

    @property
    def peak_memory(self) -> Optional[float]:
        """Largest resident memory in bytes; None when it is not known."""
        return or_none(lambda: self.figures.memory_rss_bytes.max)

    def _headline(self) -> List[str]:
        return [_toll.number_text(self.total_seconds, "seconds"), *usage_words(self.figures)]


class Summary(Part):
    """The result of a run, so far or in the end.

        s.cpu_seconds, s.peak_memory, s.wall_seconds, s.exit_code    the answers, None if unknown
        s.quality("peak_memory")                                     how far to trust them
        s.target.memory_pss_bytes.mean                               every figure
        s.target.main, s.target.descendants                          the process itself, its children
        s["system_cpu_cores"], s.gpus, s.phase("train"), s.notes     by column; devices; phases

    str(s) is the report for people, s.to_dict() the JSON document that docs/formats.md describes,
    and notebooks show a table. Summaries can be pickled and compared.
    """

    __slots__ = ("_frames", "_text")

    def __init__(
        self,
        document: Dict[str, Any],
        text: Optional[str] = None,
        frames: Sequence[_toll.Frame] = (),
    ) -> None:
        super().__init__(document)
        self._text = text
        self._frames = frames  # of a Track, for plot()

    # ---- The answers ---------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """As it was given with `name=`; otherwise the command's, or ''."""
        return str(self._values.get("name") or "")

    @property
    def command(self) -> List[str]:
        """The command of toll.run() or `toll run`; empty for a block or an attached process."""
        return list(self._values.get("command", []))

    @property
    def wall_seconds(self) -> float:
        """How long was measured, in seconds."""
        return float(self._values["wall_seconds"])

    @property
    def cpu_seconds(self) -> Optional[float]:
        """CPU time, user and system, of all processes together; None when it is not known."""
        return or_none(lambda: self.target.cpu_seconds.total)

    @property
    def cpu_user_seconds(self) -> Optional[float]:
        """CPU time in user mode; None when it is not known."""
        return or_none(lambda: self.target.cpu_user_seconds.total)

    @property
    def cpu_system_seconds(self) -> Optional[float]:
        """CPU time in the kernel; None when it is not known."""
        return or_none(lambda: self.target.cpu_system_seconds.total)

    @property
    def cpu_cores(self) -> Optional[float]:
        """Cores in use on average; None when it is not known."""
        return or_none(lambda: self.target.cpu_cores.mean)

    @property
    def peak_memory(self) -> Optional[int]:
        """Largest resident memory (RSS) of all processes together, in bytes; None when it is not
        known. Never below the kernel's own high-water mark of the largest process."""
        figure = self._memory()
        return None if figure is None or figure.max is None else int(figure.max)

    @property
    def read_bytes(self) -> Optional[int]:
        """Bytes read from storage, not from the cache; None when it is not known."""
        return cast(Optional[int], or_none(lambda: self.target.storage_read_bytes.total))

    @property
    def written_bytes(self) -> Optional[int]:
        """Bytes written to storage; None when it is not known."""
        return cast(Optional[int], or_none(lambda: self.target.storage_written_bytes.total))

    @property
    def processes_started(self) -> Optional[int]:
        """How many processes there were; None when it is not known."""
        return cast(Optional[int], or_none(lambda: self.target.processes_started.total))

    @property
    def energy_joules(self) -> Optional[float]:
        """Energy of processors and GPUs during the run, of the whole machine; None when one of both
        is not known. Needs system=True, or GPUs."""
        energy: Mapping[str, Any] = self._values.get("run_joules", {})
        return energy.get("total")

    @property
    def exit_code(self) -> Optional[int]:
        """Exit code of the command; None while it runs, for a block, and when a signal ended it."""
        return cast(Optional[int], self._end().get("code"))

    @property
    def signal(self) -> Optional[int]:
        """Number of the signal that ended the command; None when no signal did."""
        return cast(Optional[int], self._end().get("signal"))

    def quality(self, name: str) -> str:
        """How a figure was obtained: exact, exact if reaped, sampled, lower bound or unknown.

        `name` is one of the attributes above ("peak_memory"), a metric of the target
        ("memory_pss_bytes") or a column ("system_cpu_cores").
        """
        if name == "wall_seconds":
            return "exact"
        shortcuts: Dict[str, Callable[[], Optional[Figure]]] = {
            "peak_memory": self._memory,
            "read_bytes": lambda: self.target.storage_read_bytes,
            "written_bytes": lambda: self.target.storage_written_bytes,
        }
        if name in shortcuts:
            figure = or_none(shortcuts[name])
        else:
            figure = or_none(lambda: cast(Optional[Figure], self.target._get(name)))
            if figure is None and unit_of(name) is None:
                figure = self[name]
        return (figure.quality if isinstance(figure, Figure) else None) or UNKNOWN

    def _end(self) -> Mapping[str, Any]:
        end: Mapping[str, Any] = self._values.get("end", {})
        return end

    def _memory(self) -> Optional[Figure]:
        """The figure of peak_memory with its quality, as `toll list` has it: the samples, or the
        kernel's high-water mark of the largest process where samples missed it. None: unknown."""
        sampled = or_none(lambda: self.target.memory_rss_bytes)
        largest = or_none(lambda: self.target.memory_peak_bytes)
        started = or_none(lambda: self.target.processes_started)
        is_short = bool(self.command) and self.wall_seconds < _SHORTEST_FOR_MEMORY
        most, mark = ((one and one.max) or 0 for one in (sampled, largest))
        # A peak without a time is the mark itself: samples have less.
        seen = most if sampled is not None and sampled.max_at_seconds is not None else 0
        bound = largest is not None and largest.quality == LOWER_BOUND
        is_premature = is_short and mark < _LEAST_OF_A_PROGRAM and bound
        if largest is not None and mark >= most and mark > 1.02 * seen and not is_premature:
            if started is None or started.total is None or started.total > 1 or bound:
                return largest._with_quality(LOWER_BOUND)
            is_alone = str(started.quality).startswith("exact")
            return largest if is_alone else largest._with_quality("sampled")
        if sampled is None or (is_short and most < _LEAST_OF_A_PROGRAM):
            return None
        return sampled._with_quality(LOWER_BOUND) if is_short else sampled

    # ---- Parts ---------------------------------------------------------------------------------

    @property
    def target(self) -> Target:
        """What was measured; of several targets all together."""
        if "target" not in self._values:
            raise AttributeError("target")
        return Target(self._values["target"])

    @property
    def targets(self) -> List[Target]:
        """Each of several targets, with its `name`, `end` and `limits`; otherwise empty."""
        return self._list("targets", Target)

    @property
    def system(self) -> SystemFigures:
        """The whole machine; an AttributeError without system=True."""
        if "system" not in self._values:
            raise AttributeError("system")
        return SystemFigures(self._values["system"])

    @property
    def gpus(self) -> List[GpuFigures]:
        """Each GPU that was read."""
        return self._list("gpus", GpuFigures)

    @property
    def cores(self) -> List[CoreFigures]:
        """Each CPU, with system=True."""
        return self._list("cores", CoreFigures)

    @property
    def disks(self) -> List[DiskFigures]:
        """Each block device, with system=True."""
        return self._list("disks", DiskFigures)

    @property
    def mounts(self) -> List[MountFigures]:
        """Each filesystem, with system=True."""
        return self._list("mounts", MountFigures)

    @property
    def netifs(self) -> List[NetifFigures]:
        """Each network interface, with system=True."""
        return self._list("netifs", NetifFigures)

    @property
    def sensors(self) -> List[SensorFigures]:
        """Each temperature sensor, with system=True."""
        return self._list("sensors", SensorFigures)

    @property
    def rapl(self) -> List[RaplFigures]:
        """Each energy counter of the processors, with system=True."""
        return self._list("rapl", RaplFigures)

    @property
    def threads(self) -> List[ThreadFigures]:
        """The busiest threads, with threads=True."""
        return self._list("threads", ThreadFigures)

    @property
    def cgroups(self) -> List[CgroupFigures]:
        """The cgroups around the target."""
        return self._list("cgroups", CgroupFigures)

    @property
    def cgroup_disks(self) -> List[CgroupDiskFigures]:
        """What those cgroups did to each block device."""
        return self._list("cgroup_disks", CgroupDiskFigures)

    @property
    def self(self) -> SelfFigures:
        """What measuring cost."""
        return SelfFigures(self._values.get("self", {}))

    @property
    def end(self) -> Values:
        """How it ended: `status`, `code`, `signal`, `core_dumped`, `oom_killed`, `timed_out`."""
        return Values(dict(self._end()))

    @property
    def limits(self) -> Values:
        """What the target may use: `s.limits.memory_bytes.value`."""
        return Values(self._values.get("limits", {}))

    @property
    def phases(self) -> List[PhaseUsage]:
        """What was used in the phases of each name."""
        return self._list("phases", PhaseUsage)

    def phase(self, name: str) -> PhaseUsage:
        """What was used in the phases of one name: `s.phase("train").cpu_seconds`."""
        for one in self.phases:
            if one.name == name:
                return one
        known = ", ".join(one.name for one in self.phases) or "none"
        raise KeyError(f"phase {name!r}: not found (known phases: {known})")

    @property
    def gauges(self) -> List[Values]:
        """The figures that the program reported itself."""
        return self._list("gauges", Values)

    @property
    def largest_processes(self) -> List[Process]:
        """The ones with the most memory, then the ones with the most CPU time."""
        return self._list("largest_processes", Process)

    @property
    def programs(self) -> List[Program]:
        """Processes of one name together, most CPU time first."""
        return self._list("programs", Program)

    @property
    def still_running(self) -> List[Process]:
        """The first of the processes that were left at the end."""
        return self._list("still_running", Process)

    @property
    def outputs(self) -> List[Values]:
        """How many samples each output got."""
        return self._list("outputs", Values)

    @property
    def notes(self) -> List[str]:
        """Sentences for people: what could not be measured, and why."""
        return list(self._values.get("notes", []))

    @property
    def labels(self) -> Dict[str, str]:
        """As they were given."""
        return dict(self._values.get("labels", {}))

    def _hint(self, name: str) -> str:
        hints = {
            "target": " (only the machine was measured)",
            "system": " (measured with system=True)",
        }
        if name in self._values.get("target", {}).get("combined", {}):
            return f"; did you mean: target.{name}"
        return hints.get(name) or super()._hint(name)

    def _list(self, key: str, kind: Callable[[Dict[str, Any]], Kind]) -> List[Kind]:
        return [kind(one) for one in self._values.get(key, [])]

    # ---- By names ------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Any:
        """A figure by the name of its column in CSV, or a part by its key."""
        if name in self._values:
            return getattr(self, name)
        try:
            return Figure(self._column(name), metric_of(name))
        except (KeyError, StopIteration, TypeError):
            raise no_figure(name) from None

    def _column(self, name: str) -> Any:
        if "." in name:
            return self._dotted(name)
        first, _, rest = name.partition("_")
        if first in ("main", "descendants"):
            return self._values["target"][first][rest]
        return self._values["target"]["combined"][rest] if first == "target" else (
            self._values[first][rest]
        )

    def _dotted(self, column: str) -> Any:
        """target.NAME.main_x, disk.NAME.x: names may have dots in them, figures have none."""
        entity, _, rest = column.partition(".")
        name, _, figure = rest.rpartition(".")
        instances = self._values[_PLURALS.get(entity, entity + "s")]
        instance = next(one for one in instances if one["name"] == name)
        if entity != "target":
            return instance[figure]
        part, _, short = figure.partition("_")
        if part in ("main", "descendants"):
            return instance[part][short]
        return instance["combined"][figure]

    # ---- For people ----------------------------------------------------------------------------

    def title(self) -> str:
        """What was measured in a few words: its name, the command, the program or the machine."""
        program = self.command[0].rpartition("/")[2] if self.command else ""
        return _shortened(self.name if self.name not in ("", program) else self._what())

    def _what(self) -> str:
        if self.command:
            words = self.command
        else:
            pid = self._values.get("pid")
            own = (one.command for one in self.largest_processes if one.pid == pid)
            words = (next(own, None) or "").split(" ")
        if words[0]:
            return " ".join([words[0].rpartition("/")[2] or words[0], *words[1:]])
        attached = self._values.get("attached_to") or [{}]
        if len(attached) > 1:
            return f"{len(attached)} targets"
        return str(attached[0].get("what") or self._values.get("host") or "run")

    def outcome(self) -> str:
        """How a command ended, "exit 0", "killed by signal 9"; '' for a block and while it runs."""
        end = self._end()
        timed_out = "timed out, " if end.get("timed_out") else ""
        if end.get("oom_killed"):
            return f"{timed_out}killed by the OOM killer"
        if end.get("signal") is not None:
            return f"{timed_out}killed by signal {end['signal']}"
        return f"{timed_out}exit {end['code']}" if end.get("code") is not None else ""

    def plot(self, *charts: str, backend: Optional[str] = None) -> Plot:
        """Draw charts of the run over time, with its limits as lines.

            t.summary.plot()                          # CPU and memory; a notebook shows them
            t.summary.plot("disk").save("disk.svg")

        `charts` and `backend` are the same as for `t.frames.plot()`. The samples are the kept frames of
        toll.track(); a ValueError for a summary without any, such as one that was pickled.
        """
        from ._plot import plot_frames

        if not self._frames:
            raise ValueError(
                "plot: this summary has no samples (toll.track() keeps them with history=1 or more; "
                "a pickled summary has none)"
            )
        return plot_frames(self._frames, charts, backend, self)

    def report(self, path: Optional[Path] = None) -> Report:
        """A page about the run, with findings, charts and every figure.

            t.summary.report()                # a notebook shows it
            t.summary.report("run.html")      # or .md, .json, .txt, .svg

        The charts are of the kept frames of toll.track(). Of a command that was run with a record,
        toll.report("run.jsonl") has all samples.
        """
        from ._report import report

        return report(self, path)

    def _title(self) -> str:
        return self.title()

    def _headline(self) -> List[str]:
        outcome = self.outcome()
        shown = [] if outcome in ("", "exit 0") else [outcome]
        if "target" not in self._values:
            return [*shown, f"measured for {_toll.number_text(self.wall_seconds, 'seconds')}"]
        memory = self._memory()
        cpu = or_none(lambda: self.target.cpu_seconds.text())
        peak = memory.text() if memory is not None and memory.max is not None else None
        return [
            *shown,
            f"{cpu} CPU" if cpu not in (None, UNKNOWN) else "CPU unknown",
            f"{peak} peak" if peak is not None else "memory unknown",
        ]

    def __str__(self) -> str:
        return self._text if self._text is not None else repr(self)

    def _repr_html_(self) -> str:
        from ._html import summary_html

        return summary_html(self)

    def __reduce__(self) -> Any:
        return (Summary, (self._values, self._text))


def _shortened(text: str) -> str:
    text = printable(text)
    return text if len(text) <= _TITLE_LENGTH else text[: _TITLE_LENGTH - 1] + "…"
