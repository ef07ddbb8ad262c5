# SPDX-License-Identifier: MIT
"""compare: what changed between runs, or groups of runs."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Tuple, Union, cast

from . import _toll
from ._figures import printable, unit_of
from ._parts import Part, Values
from ._study import FORMS, Path, Records, Runs, Study, frame_html

Conditions = Union[None, str, Iterable[str]]


class Interval(NamedTuple):
    """The range of a change, with this confidence."""

    low: float
    high: float
    confidence: float


class Change(Part):
    """One figure of two groups of runs. Only differences that the runs prove are claimed: see
    `result` before `change`."""

    __slots__ = ()

    @property
    def figure(self) -> str:
        """Its name: "wall_seconds", "memory_peak_bytes"."""
        return str(self._values["figure"])

    @property
    def phase(self) -> Optional[str]:
        """The phases it is of; None: the whole run."""
        return cast(Optional[str], self._values["phase"])

    @property
    def result(self) -> str:
        """"different", "no difference shown", "one run each" (which shows none), "lower bound" (not
        compared), "unknown" (in one group) or "zero" (in both)."""
        return str(self._values["result"])

    @property
    def is_shown(self) -> bool:
        """Whether the runs prove a difference."""
        return self.result == "different"

    @property
    def change(self) -> Optional[float]:
        """Mean of the group minus mean of the baseline; None when one is not known."""
        return cast(Optional[float], self._values["change"])

    @property
    def change_ratio(self) -> Optional[float]:
        """The same as a share of the baseline: 0.05 is 5 % more."""
        return cast(Optional[float], self._values["change_ratio"])

    @property
    def interval(self) -> Optional[Interval]:
        """The range of the change; None without repeated runs."""
        found = self._values["interval"]
        return None if found is None else Interval(found["low"], found["high"], found["confidence"])

    @property
    def at_least(self) -> bool:
        """The difference may be larger, since a figure is a lower bound."""
        return bool(self._values["at_least"])

    @property
    def baseline(self) -> Values:
        """Of the baseline: `mean`, `sd`, `min`, `max`, `median`, `runs`, `quality`, `outliers`."""
        return Values(self._values["baseline"])

    @property
    def group(self) -> Values:
        """The same of the other group."""
        return Values(self._values["group"])

    def _title(self) -> str:
        phase = "" if self.phase is None else f" of phase {printable(self.phase)}"
        return printable(self.figure) + phase

    def _headline(self) -> List[str]:
        unit = unit_of(self.figure) or self.figure.rpartition("_")[2]
        unit = unit if unit in ("seconds", "bytes", "joules", "cores") else ""
        bound = {"lower bound": "≥ "}
        before, after = (
            bound.get(side["quality"], "") + _toll.number_text(side["mean"], unit)
            for side in (self._values["baseline"], self._values["group"])
        )
        ratio = "" if self.change_ratio is None else f" ({self.change_ratio:+.1%})"
        return [f"{before} → {after}{ratio}", self.result]


class Comparison(Study):
    """Groups of runs, compared with the first; `toll.compare()` returns one.

        c = toll.compare("before.jsonl", "after.jsonl")
        c.verdict                             # one sentence
        c["cpu_seconds"].change_ratio         # 0.05: 5 % more
        c.passed                              # no condition of fail_if holds

    str() of it is a table for people, save() writes .html, .md, .json or .txt, and notebooks show
    the page with the curves of both.
    """

    def __init__(self, groups: List[Runs], within: Optional[str], conditions: List[str]) -> None:
        super().__init__()
        self._groups, self._within, self._conditions = groups, within, conditions
        self._document = self.to_dict()

    def _write(self, form: str) -> Tuple[str, List[str]]:
        with Records() as records:
            groups: List[Union[bytes, str]] = [
                one if isinstance(one, str) else records.group(one, "compare") for one in self._groups
            ]
            return _toll.compare(groups, self._within, self._conditions, form)

    @property
    def verdict(self) -> str:
        """What the runs show, in a sentence for each group but the first."""
        return "\n".join(str(one["sentence"]) for one in self._document["comparisons"])

    @property
    def groups(self) -> List[Values]:
        """The groups, the baseline first: `name`, and `runs` with those that were left out."""
        return [Values(one) for one in self._document["groups"]]

    @property
    def changes(self) -> List[Change]:
        """Every figure of every group but the first, the whole run first, then its phases."""
        return [Change(figure) for one in self._document["comparisons"] for figure in one["figures"]]

    def __getitem__(self, figure: str) -> Change:
        """A figure of the whole run by its name, of the second group."""
        first: List[Dict[str, Any]] = self._document["comparisons"][0]["figures"]
        for one in first:
            if one["figure"] == figure and one["phase"] is None:
                return Change(one)
        known = ", ".join(one["figure"] for one in first if one["phase"] is None) or "none"
        raise KeyError(f"figure {figure!r}: not compared (known here: {known})")

    @property
    def differences(self) -> List[Change]:
        """The changes that the runs show."""
        return [one for one in self.changes if one.is_shown]

    @property
    def conditions(self) -> List[Values]:
        """Each condition of fail_if for each group: `condition`, `group`, `state`, `sentence`."""
        return [Values(one) for one in self._document["conditions"]]

    @property
    def failures(self) -> List[str]:
        """A sentence for each condition that holds, or that cannot be checked."""
        return [str(one["sentence"]) for one in self._document["conditions"] if one["state"] == "failed"]

    @property
    def passed(self) -> bool:
        """Whether no condition has failed."""
        return not self.failures

    def save(self, path: Path) -> None:
        """Write it to a file, in the form of its suffix: .html, .md, .json or .txt."""
        self._save(path, FORMS)

    def __repr__(self) -> str:
        try:
            count = len(self.failures)
            failed = f" ({count} condition{'' if count == 1 else 's'} failed)" if count else ""
            return f"<Comparison {printable(self.verdict)}{failed}>"
        except Exception:  # a repr never raises
            return "<Comparison>"

    def _repr_markdown_(self) -> str:
        return self._text("markdown")

    def _repr_html_(self) -> str:
        return frame_html(self._text("html"), "toll comparison")


def compare(
    baseline: Runs, *groups: Runs, within: Optional[Path] = None, fail_if: Conditions = None
) -> Comparison:
    """Compare runs, or groups of runs, with the first: what changed, and whether that is shown.

        print(toll.compare("before.jsonl", "after.jsonl"))
        c = toll.compare("branch=main", "branch=new", within="runs/", fail_if="cpu_seconds > +5%")
        c.verdict, c.failures

    A group is a record, one of its runs ("RECORD:2"), a directory with records, or "name=GLOB" and
    labels, separated by commas, which are looked up in `within` (the current directory by default);
    or it is a Summary, a Track, a Completed, or a list of summaries. Repeated runs have an interval;
    one run each shows no difference. `fail_if` are conditions such as "memory_peak > 2G" and, with
    a sign, relative to the baseline. docs/compare.md has the rules.

    ValueError: a mistake in the arguments. OSError: a record that cannot be read, or a group without
    runs.
    """
    import os

    if not groups:
        raise ValueError("compare: one group of runs (expected two or more)")
    conditions = [fail_if] if isinstance(fail_if, str) else [str(one) for one in fail_if or ()]
    place = None if within is None else os.fspath(within)
    return Comparison([baseline, *groups], place, conditions)
