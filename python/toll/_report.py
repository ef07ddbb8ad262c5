# SPDX-License-Identifier: MIT
"""report: a page about a run, with charts and findings."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple, Union

from . import _toll
from ._figures import printable
from ._study import FORMS, Labels, Path, Records, Run, Runs, Study, frame_html, label_list, run_list
from ._summary import Summary

_FORMS = {**FORMS, ".svg": "svg"}


class Report(Study):
    """A report of a run; `toll.report()` and `summary.report()` return one.

    A notebook shows the page, in a frame that keeps its styles to itself; str() is the text for a
    terminal; save() writes .html, .md, .json, .txt or .svg.
    """

    def __init__(
        self, runs: List[Run], name: Optional[str], labels: List[str], run: Union[int, str, None], all: bool
    ) -> None:
        super().__init__()
        self._runs, self._name, self._labels, self._run, self._all = runs, name, labels, run, all
        self._document = self.to_dict()

    def _write(self, form: str) -> Tuple[str, List[str]]:
        number = self._run if isinstance(self._run, int) else 0
        run_id = self._run if isinstance(self._run, str) else None
        with Records() as records:
            paths = [records.path(run, "report") for run in self._runs]
            return _toll.report(paths, self._name, self._labels, run_id, number, self._all, form)

    @property
    def summary(self) -> Summary:
        """The summary of the run: with all=True, of the newest."""
        return Summary(self._document["runs"][0]["summary"])

    @property
    def findings(self) -> List[str]:
        """Sentences about what is noteworthy, the most serious first; with all=True, of the newest
        run."""
        found: List[Dict[str, Any]] = self._document["runs"][0]["findings"]
        return [str(one["sentence"]) for one in found]

    @property
    def html(self) -> str:
        """The page: one document that needs no network."""
        return self._text("html")

    @property
    def markdown(self) -> str:
        """For a merge request or the summary of a CI job."""
        return self._text("markdown")

    def save(self, path: Path) -> None:
        """Write it to a file, in the form of its suffix: .html, .md, .json, .txt, or .svg for one
        chart."""
        self._save(path, _FORMS)

    def __repr__(self) -> str:
        try:
            count = len(self.findings)
            words = f"{count} finding{'' if count == 1 else 's'}"
            return f"<Report {printable(self.summary.title())}: {words}>"
        except Exception:  # a repr never raises
            return "<Report>"

    def _repr_markdown_(self) -> str:
        return self.markdown

    def _repr_html_(self) -> str:
        return frame_html(self.html, "toll report")


def report(
    runs: Runs = ".",
    path: Optional[Path] = None,
    *,
    name: Optional[str] = None,
    labels: Labels = None,
    run: Union[int, str, None] = None,
    all: bool = False,
) -> Report:
    """A report of a run: findings, limits, charts, processes, every figure, earlier runs.

        toll.report("run.jsonl", "run.html")  # writes the page
        toll.report("runs/", name="train")    # a notebook shows the newest run of that name
        print(toll.report(t))                 # of a Track or a Summary, as text

    `runs` are records and directories with records, or a Summary, a Track or a Completed, one or
    several; the current directory by default. `path` is a file to write, in the form of its suffix:
    .html, .md, .json, .txt, or .svg for one chart. `name` is a glob and `labels` are {"key": "value"},
    or "key=value" and "key" for any value; `run` is the number of a run in its record, or the end of
    its id. The newest run that matches is shown in full, earlier ones of its name in a table; with
    `all` every run.

    ValueError: a mistake in the arguments. OSError: a record that cannot be read, or no run that
    matches.
    """
    if run is not None and (isinstance(run, bool) or not isinstance(run, (int, str))):
        raise TypeError(f"run: invalid value {run!r} (expected a number, or the end of an id)")
    if isinstance(run, int) and run < 1:
        raise ValueError(f"run: invalid value {run} (expected 1 or more)")
    made = Report(run_list(runs), name, label_list(labels), run, all)
    if path is not None:
        made.save(path)
    return made
