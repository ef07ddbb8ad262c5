# SPDX-License-Identifier: MIT
"""track: measure a block of the program, or what runs beside it, in the background."""

from __future__ import annotations

from typing import Iterable, Mapping, Optional, Union

from ._options import (
    PROCESS,
    Globs,
    Gpus,
    Interval,
    Output,
    Path,
    Target,
    Texts,
    option_tuple,
    output_list,
    target_list,
)
from ._tracker import Report, Track

Numbers = Union[int, Iterable[int], None]


def track(
    pid: Numbers = None,
    *,
    interval: Interval = None,
    metrics: Globs = None,
    children: bool = True,
    system: bool = False,
    network: bool = False,
    gpus: Gpus = None,
    name: Optional[str] = None,
    labels: Optional[Mapping[str, object]] = None,
    outputs: Union[Path, Iterable[Output]] = (),
    memory: str = "auto",
    processes: Optional[str] = "top",
    history: int = 4096,
    since_start: bool = False,
    without_self: bool = False,
    show_secrets: bool = False,
    reports: Iterable[Report] = (),
    group: Numbers = None,
    session: Numbers = None,
    cgroup: Texts = None,
    match: Texts = None,
    user: Union[Texts, int] = None,
) -> Track:
    """Measure in the background, this process with its children unless something else is named.

        with toll.track() as t:
            work()
        print(t.summary)

    interval    seconds between samples, from 0.001 up; "auto" (None) begins with 10 ms and grows
                with the age of the run to 1 s
    metrics     only these: globs, as text with commas between or as a list
    children    with what the processes start
    system      the machine too; network: network bytes of the target, which are dear
    gpus        "all", "none", "visible" (None), or numbers and UUIDs, as text or as a list
    outputs     files: "run.csv", "run.jsonl", "summary.json", or ("csv", "/dev/fd/3")
    memory      "auto" reads the proportional set size as the budget allows, "rss" never, "pss" always
    processes   rows of single processes: "top", "all" or None
    history     how many frames are kept for `frames`, iteration and to_pandas()
    since_start count from the birth of the processes, not from now on
    without_self  this process belongs to no target, even when it descends from one: for a process
                that does nothing but measure
    show_secrets  keep what looks like a password, token or key in names, labels and marks; it is
                "***" otherwise
    reports     (format, dialect) of summaries that report() can tell when it was stopped

    An output with the names and units of another tool is (format, path, dialect):
    ("csv", "rows.csv", "resource-tracker"); dialects() lists them.

    pid, group, session, cgroup, match (a regular expression on command lines) and user name what to
    measure instead; each may be one or several.
    """
    targets = target_list(pid, group, session, cgroup, match, user)
    options = option_tuple(
        interval=interval,
        metrics=metrics,
        name=name,
        labels=labels,
        memory=memory,
        processes=processes,
        children=children,
        system=system,
        network=network,
        since_start=since_start,
        without_self=without_self,
        history=history,
        show_secrets=show_secrets,
        gpus=gpus,
    )
    here = [Target(PROCESS, 0, None)]
    return Track(options, targets or here, output_list(outputs), history, reports)


def track_machine(
    *,
    interval: Interval = None,
    outputs: Union[Path, Iterable[Output]] = (),
    history: int = 4096,
    gpus: Gpus = None,
) -> Track:
    """The machine in the background, and no process."""
    options = option_tuple(
        interval=interval, processes=None, system=True, history=history, gpus=gpus
    )
    return Track(options, [], output_list(outputs), history)
