# SPDX-License-Identifier: MIT
"""Arguments of toll.run() as options of the command `toll run`."""

from __future__ import annotations

import os
import re
from typing import Iterable, List

from . import _toll
from ._options import Destination, OptionsTuple


def time_word(value: float) -> str:
    """Seconds, as an option is written."""
    return f"{max(1, round(value * 1e6))}us"


def _from_anywhere(place: str) -> str:
    """Absolute, since the command may run in another directory; not of a server: a URL, [HOST]:PORT."""
    if not place or "://" in place or re.match(r"[^/]*:\d+(,|$)", place) or os.path.isabs(place):
        return place
    return os.path.join(os.getcwd(), place)


def _destination(output: Destination) -> str:
    """As -o takes it."""
    front, path = output.format or "", output.path
    word, colon, rest = path.partition(":")
    if colon and not front and word in _toll.formats():
        front, path = word, rest
    path = _from_anywhere(path)
    if output.layout is not None:
        _toll.translator(output.layout)  # checks it
        if ":" in output.layout:
            raise ValueError(f"layout: invalid value {output.layout!r} (expected no ':' in toll.run())")
        front += f"@{output.layout}"
    return f"{front}:{path}" if front else path


def run_words(options: OptionsTuple, outputs: Iterable[Destination]) -> List[str]:
    """The options of the command for these of track()."""
    interval_ns, metrics, name, labels, memory, processes, children, system, network = options[:9]
    found = ["run", "-q"]
    for output in outputs:
        found += ["-o", _destination(output)]
    found += ["--interval", f"{interval_ns}ns" if interval_ns else "auto"]
    found += ["--memory", ("auto", "rss", "pss")[memory]]
    found += ["--processes", ("top", "none", "all")[processes]]
    if metrics is not None:
        found += ["--metrics", metrics]
    if options[-1] is not None:
        found += ["--gpus", options[-1]]
    if name is not None:
        found += ["--name", name]
    for label in labels:
        found += ["--label", label]
    flags = (
        ("--no-children", not children),
        ("--system", system),
        ("--network", network),
        ("--show-secrets", options[-2]),
    )
    return found + [flag for flag, is_on in flags if is_on]
