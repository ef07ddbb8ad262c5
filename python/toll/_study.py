# SPDX-License-Identifier: MIT
"""What reports, comparisons and recommendations share: the runs they are about, and their forms."""

from __future__ import annotations

import json
import os
import tempfile
from html import escape
from types import TracebackType
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple, Type, Union

from ._figures import printable
from ._memory_record import record_lines
from ._run import Completed
from ._summary import Summary
from ._tracker import Track

Path = Union[str, "os.PathLike[str]"]
Run = Union[Path, Summary, Track, Completed]
Runs = Union[Run, Iterable[Run]]
Labels = Union[None, str, Iterable[str], Mapping[str, object]]

EXPECTED = (
    "expected the path of a record or a directory, a Summary, a Track, or a Completed with a summary"
)
FORMS = {".html": "html", ".htm": "html", ".md": "markdown", ".json": "json", ".txt": "text"}


def run_list(runs: Runs) -> List[Run]:
    """One run or several, as a list."""
    if isinstance(runs, (str, bytes, os.PathLike, Summary, Track, Completed)):
        return [runs]
    try:
        return list(runs)
    except TypeError:
        raise TypeError(f"runs: invalid value {runs!r} ({EXPECTED})") from None


def label_list(labels: Labels) -> List[str]:
    """ "key=value" of each; "key" alone for any value."""
    if labels is None:
        return []
    if isinstance(labels, str):
        return [labels]
    if isinstance(labels, Mapping):
        return [key if value is None else f"{key}={value}" for key, value in labels.items()]
    return [str(one) for one in labels]


class Records:
    """Runs as paths of records. Those in memory are written to a directory that lasts as long as the
    `with` block."""

    def __init__(self) -> None:
        self._directory: Optional["tempfile.TemporaryDirectory[str]"] = None

    def __enter__(self) -> "Records":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        if self._directory is not None:
            self._directory.cleanup()

    def path(self, run: Run, what: str) -> bytes:
        """Of a record or a directory; `what` is the function that was called, for errors."""
        if isinstance(run, (str, os.PathLike)):
            return os.fsencode(run)
        summary = run if isinstance(run, Summary) else getattr(run, "summary", None)
        if not isinstance(summary, Summary):
            raise TypeError(
                f"{what}: invalid run {run!r} ({EXPECTED})"
            )
        return os.fsencode(self._write([summary]))

    def group(self, runs: Runs, what: str) -> bytes:
        """Several runs as one group: a record with all of them."""
        several = run_list(runs)
        if len(several) == 1:
            return self.path(several[0], what)
        summaries = [one if isinstance(one, Summary) else getattr(one, "summary", None) for one in several]
        if not several or not all(isinstance(one, Summary) for one in summaries):
            raise TypeError(
                f"{what}: invalid group {runs!r} (expected one record or directory, or Summary "
                "objects; runs of several records are a group in a directory)"
            )
        return os.fsencode(self._write([one for one in summaries if one is not None]))

    def _write(self, summaries: List[Summary]) -> str:
        if self._directory is None:
            self._directory = tempfile.TemporaryDirectory(prefix="toll-runs-")
        # The name is what the texts show of a record.
        words = "".join(c if c.isalnum() or c in "-_." else " " for c in summaries[0].title())
        name = "-".join(words.split())[:40].strip(".-") or "run"
        path = os.path.join(self._directory.name, name)
        count = 1
        while os.path.exists(path):
            count += 1
            path = os.path.join(self._directory.name, f"{name}-{count}")
        with open(path, "w", encoding="utf-8") as file:
            for summary in summaries:
                file.writelines(record_lines(summary))
        return path


class Study:
    """A result that libtoll writes in several forms, each when it is asked for."""

    _texts: Dict[str, str]
    notes: List[str]
    """sentences for people, such as a file of a directory that cannot be read"""

    def __init__(self) -> None:
        self._texts = {}
        self.notes = []

    def _write(self, form: str) -> Tuple[str, List[str]]:
        raise NotImplementedError

    def _text(self, form: str) -> str:
        if form not in self._texts:
            self._texts[form], self.notes = self._write(form)
        return self._texts[form]

    def to_dict(self) -> Dict[str, Any]:
        """Everything, as the command prints it with --json."""
        document: Dict[str, Any] = json.loads(self._text("json"))
        return document

    def __str__(self) -> str:
        return self._text("text")

    def _save(self, path: Path, forms: Mapping[str, str]) -> None:
        name = os.fspath(path)
        form = forms.get(os.path.splitext(name)[1].lower())
        if form is None:
            raise ValueError(f"save: cannot write {name!r}: expected {', '.join(forms)}")
        text = self._text(form)
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)


def pre_html(text: str) -> str:
    """Text in columns, for a notebook."""
    lines = "\n".join(printable(line) for line in text.splitlines())
    return f'<pre style="color:inherit;background:none">{escape(lines)}</pre>'


def frame_html(page: str, title: str) -> str:
    """A separate page inside a notebook: its styles stay in it, and its script can reach
    nothing outside."""
    return (
        f'<iframe sandbox="allow-scripts" srcdoc="{escape(page)}" width="100%" height="640" '
        f'style="border:1px solid #8884;border-radius:4px;resize:vertical" title="{title}"></iframe>'
    )
