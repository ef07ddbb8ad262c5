# SPDX-License-Identifier: MIT
"""track: measure a block of the program, or other processes, in the background."""

from __future__ import annotations

from typing import Iterable, Mapping, Optional, Union

from ._options import (
    PROCESS,
    Globs,
    Gpus,
    Interval,
    Output,
    Path,
    Report,
    Target,
    Texts,
    option_tuple,
    output_list,
    target_list,
)
from ._tracker import Track

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
    """Measure in the background: this process with its children, or what is named.

        with toll.track() as t:
            work()
        print(t.summary)

    What to measure, each one or several; None of them: this process:
    pid, group, session, cgroup, user   processes that are already running
    match         a regular expression on command lines
    children      with their descendants (True)
    system        the machine too
    network       network bytes of the target too, which is expensive
    gpus          "all", "none", "visible" (None), or numbers and UUIDs, as text or a list

    How:
    interval      seconds between samples, 0.001 or more; "auto" (None): 10 ms at first, up to 1 s
    metrics       only these: globs, comma-separated or a list
    memory        the proportional set size (PSS): "auto" within the budget, "rss" never, "pss" always
    processes     rows of single processes: "top", "all" or None
    since_start   count from the start of the processes, not from now
    without_self  leave this process out of every target: for a process that only measures

    Where to:
    name, labels  to find the run again
    outputs       files ("run.csv", "run.jsonl", "runs.sqlite", "summary.json") or servers; or
                  (format, path) and (format, path, layout), with the columns of another tool
    history       how many frames are kept for `frames`, iteration and to_pandas()
    reports       (format, layout) of summaries that report() can return after stop()
    show_secrets  do not replace what looks like a password, token or key by "***" in names, labels
                  and marks
    """
    if callable(pid):
        raise TypeError("track() measures a block, not a function (did you mean @toll.tracked?)")
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
    """Measure the machine in the background, and no process."""
    options = option_tuple(
        interval=interval, processes=None, system=True, history=history, gpus=gpus
    )
    return Track(options, [], output_list(outputs), history)
