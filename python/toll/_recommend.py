# SPDX-License-Identifier: MIT
"""recommend: what to request for the next run, from earlier ones."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple, cast

from . import _toll
from ._parts import Part
from ._study import Labels, Records, Run, Runs, Study, label_list, pre_html, run_list

TOOLS = ("sbatch", "kubernetes", "docker", "systemd", "nextflow", "snakemake", "cwl", "condor")


class Request(Part):
    """What to request for one job: the runs of one name. None: nothing is known of it."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """Of the runs."""
        return str(self._values["name"])

    @property
    def cpus(self) -> Optional[int]:
        """CPUs: as many as were in use 90 % of the time."""
        return cast(Optional[int], self._values["cpus"]["request"])

    @property
    def more_cpus_would_help(self) -> bool:
        """The runs used what they were allowed, and waited for more."""
        return bool(self._values["cpus"]["more_would_help"])

    @property
    def memory_bytes(self) -> Optional[int]:
        """Memory, with room above the largest peak."""
        memory = self._values["memory"]["request_bytes"]
        return None if memory is None else int(memory)

    @property
    def seconds(self) -> Optional[float]:
        """Time, with room above the longest run, in steps of 15 minutes."""
        return cast(Optional[float], self._values["time"]["request_seconds"])

    @property
    def gpus(self) -> Optional[int]:
        """GPUs that were busy."""
        return cast(Optional[int], self._values["gpus"]["request"])

    @property
    def runs(self) -> int:
        """How many finished runs were counted."""
        return int(self._values["runs"]["finished"])

    @property
    def weak(self) -> bool:
        """Fewer than three runs were counted."""
        return bool(self._values["weak"])

    @property
    def lower_bounds(self) -> List[str]:
        """Which of "cpus", "memory" and "time" may need more than what is recommended."""
        return [key for key in ("cpus", "memory", "time") if self._values[key]["lower_bound"]]

    def _headline(self) -> List[str]:
        shown = [] if self.cpus is None else [f"{self.cpus} CPU{'' if self.cpus == 1 else 's'}"]
        if self.memory_bytes is not None:
            shown.append(f"{_toll.number_text(self.memory_bytes, 'bytes')} of memory")
        if self.gpus:
            shown.append(f"{self.gpus} GPU{'' if self.gpus == 1 else 's'}")
        if self.seconds is not None:
            shown.append(_toll.number_text(self.seconds, "seconds"))
        weak = f"weak: {self.runs} run{'' if self.runs == 1 else 's'}" if self.weak else f"{self.runs} runs"
        return [*shown, weak]


class Recommendation(Study):
    """What to request for the next run; `toll.recommend()` returns one.

    `cpus`, `memory_bytes`, `seconds` and `gpus` are for the only job; with runs of several names,
    `jobs` has one entry for each. str() of it gives the reasons.
    """

    def __init__(self, runs: List[Run], name: Optional[str], labels: List[str]) -> None:
        super().__init__()
        self._runs, self._name, self._labels = runs, name, labels
        self._jobs: List[Dict[str, Any]] = self.to_dict()["jobs"]

    def _write(self, form: str) -> Tuple[str, List[str]]:
        with Records() as records:
            paths = [records.path(run, "recommend") for run in self._runs]
            return _toll.recommend(paths, self._name, self._labels, form)

    @property
    def jobs(self) -> List[Request]:
        """What to request for the runs of each name."""
        return [Request(job) for job in self._jobs]

    def _job(self) -> Request:
        if len(self._jobs) != 1:
            names = ", ".join(repr(job["name"]) for job in self._jobs[:5])
            raise ValueError(
                f"recommend: runs of {len(self._jobs)} names ({names}): choose one with name=, or use jobs"
            )
        return Request(self._jobs[0])

    @property
    def cpus(self) -> Optional[int]:
        """CPUs to request; None when it is not known."""
        return self._job().cpus

    @property
    def memory_bytes(self) -> Optional[int]:
        """Memory to request, in bytes; None when it is not known."""
        return self._job().memory_bytes

    @property
    def seconds(self) -> Optional[float]:
        """Time to request, in seconds; None when it is not known."""
        return self._job().seconds

    @property
    def gpus(self) -> Optional[int]:
        """GPUs to request; None when it is not known."""
        return self._job().gpus

    @property
    def weak(self) -> bool:
        """A job has fewer than three finished runs."""
        return any(job.weak for job in self.jobs)

    def lines(self, tool: str) -> str:
        """The lines to paste for a tool: sbatch, kubernetes, docker, systemd, nextflow, snakemake,
        cwl or condor.

            print(toll.recommend("runs/").lines("sbatch"))
        """
        if tool not in TOOLS:
            raise ValueError(f"lines: invalid tool {tool!r} (expected one of {', '.join(TOOLS)})")
        return self._text(tool)

    def __repr__(self) -> str:
        try:
            return f"<Recommendation {'; '.join(repr(job)[len('<Request '):-1] for job in self.jobs)}>"
        except Exception:  # a repr never raises
            return "<Recommendation>"

    def _repr_html_(self) -> str:
        return pre_html(str(self))


def recommend(
    runs: Runs = ".", *, name: Optional[str] = None, labels: Labels = None
) -> Recommendation:
    """What to request for the next run: CPUs, memory, time and GPUs, from earlier runs.

        r = toll.recommend("runs/", name="train")
        r.cpus, r.memory_bytes, r.seconds
        print(r)                              # with the reasons
        print(r.lines("sbatch"))              # to paste

    `runs` are records and directories with records, or summaries of toll.run(), one or several;
    the current directory by default. The last 20 finished runs of each name are counted, by the
    rules of docs/recommend.md. `name` is a glob; `labels` are {"key": "value"}, or "key=value" and
    "key" for any value.

    ValueError: a mistake in the arguments. OSError: a record that cannot be read, or no run that
    has finished.
    """
    return Recommendation(run_list(runs), name, label_list(labels))
