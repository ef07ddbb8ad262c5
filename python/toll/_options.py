# SPDX-License-Identifier: MIT
"""Arguments as the extension takes them. Mistakes raise here, or in libtoll."""

from __future__ import annotations

import os
from typing import Any, Iterable, List, Mapping, NamedTuple, Optional, Tuple, Union

from . import _toll

Path = Union[str, "os.PathLike[str]"]
Output = Union[Path, Tuple[Optional[str], Path], Tuple[Optional[str], Path, Optional[str]]]
Interval = Union[int, float, str, None]
Globs = Union[str, Iterable[str], None]
Texts = Union[str, Iterable[str], None]
Gpus = Union[str, int, Iterable[Union[str, int]], None]
Report = Tuple[str, Optional[str]]  # format and layout

MEMORY = ("auto", "rss", "pss")
PROCESSES = ("top", "none", "all")
# In the order of enum toll_target_kind.
PROCESS, GROUP, SESSION, CGROUP, MATCH, USER = range(6)

OptionsTuple = Tuple[
    int,
    Optional[str],
    Optional[str],
    List[str],
    int,
    int,
    bool,
    bool,
    bool,
    bool,
    int,
    bool,
    bool,
    Optional[str],
]


class Target(NamedTuple):
    kind: int
    id: int
    text: Optional[str]


def one_of(what: str, word: Optional[str], words: Tuple[str, ...]) -> int:
    if word is None and "none" in words:
        word = "none"
    if word not in words:
        raise ValueError(f"{what}: invalid value {word!r} (expected {', '.join(map(repr, words))})")
    return words.index(word)


def nanoseconds(interval: Interval) -> int:
    """0 is auto."""
    if interval is None or interval == "auto":
        return 0
    if isinstance(interval, bool) or not isinstance(interval, (int, float)):
        raise TypeError(f"interval: invalid value {interval!r} (expected seconds, or 'auto')")
    if not 0.001 <= interval <= 1e9:
        raise ValueError(
            f"interval: invalid value {interval!r} (expected 0.001 seconds or more, or 'auto')"
        )
    return round(interval * 1e9)


def checked_text(what: str, text: object) -> str:
    """As libtoll takes it."""
    if not isinstance(text, str):
        raise TypeError(f"{what}: invalid value {text!r} (expected text)")
    try:
        is_text = b"\0" not in text.encode()
    except UnicodeEncodeError:
        is_text = False
    if not is_text:
        raise ValueError(f"{what}: invalid text (expected UTF-8 without null characters)")  # may be secret
    return text


def globs(metrics: Globs) -> Optional[str]:
    if metrics is None:
        return None
    return ",".join(checked_text("metrics", one) for one in _each(metrics))


def _each(value: object) -> List[object]:
    if value is None:
        return []
    if isinstance(value, (str, int)) or not isinstance(value, Iterable):
        return [value]
    return list(value)


def gpu_words(gpus: Gpus) -> Optional[str]:
    """As --gpus takes them; libtoll checks the words."""
    if gpus is None or isinstance(gpus, str):
        return gpus
    words = _each(gpus)
    for word in words:
        if isinstance(word, bool) or not isinstance(word, (int, str)):
            raise TypeError(
                f"gpus: invalid value {gpus!r} (expected 'all', 'none', 'visible', or numbers "
                "and UUIDs)"
            )
    return ",".join(map(str, words)) or "none"


def label_list(labels: Optional[Mapping[str, object]]) -> List[str]:
    if labels is not None and not isinstance(labels, Mapping):
        raise TypeError(f"labels: invalid value {labels!r} (expected a dict such as {{'team': 'a'}})")
    pairs = dict(labels or {})
    for key in pairs:
        if not isinstance(key, str) or not key or "=" in key:
            raise ValueError(f"labels: invalid key {key!r} (expected text without '=')")
    return [checked_text("labels", f"{key}={value}") for key, value in pairs.items()]


class Destination(NamedTuple):
    format: Optional[str]
    path: str
    layout: Optional[str]


def _is_one_output(outputs: object) -> bool:
    """("csv", "a.csv") in place of a list of these: "csv" is not a path with a suffix."""
    if not isinstance(outputs, tuple) or len(outputs) not in (2, 3):
        return False
    return isinstance(outputs[0], str) and not {".", "/"} & set(outputs[0])


def output_list(outputs: Union[Path, Iterable[Output]]) -> List[Destination]:
    """A single path may be given without a list."""
    if isinstance(outputs, (str, os.PathLike)):
        outputs = [outputs]
    if _is_one_output(outputs):
        raise ValueError(
            f"outputs: invalid value {outputs!r} (expected a list, outputs=[{outputs!r}])"
        )
    if isinstance(outputs, bytes) or not isinstance(outputs, Iterable):
        raise TypeError(f"outputs: invalid value {outputs!r} (expected a path, or a list)")
    found: List[Destination] = []
    for output in outputs:
        words: Tuple[Any, ...] = output if isinstance(output, tuple) else (None, output)
        is_path = len(words) in (2, 3) and isinstance(words[1], (str, os.PathLike))
        if not is_path or any(not isinstance(word, (str, type(None))) for word in (words[0], *words[2:])):
            raise ValueError(
                f"outputs: invalid value {output!r} (expected a path, (format, path) or "
                "(format, path, layout))"
            )
        texts = [word if word is None else checked_text("outputs", os.fspath(word)) for word in words]
        found.append(Destination(texts[0], str(texts[1]), texts[2] if texts[2:] else None))
    return found


def report_list(reports: object) -> List[Report]:
    """Whether libtoll can write them is known before anything is measured: afterwards one mistake would
    take the whole summary with it."""
    if isinstance(reports, (str, bytes)) or not isinstance(reports, Iterable):
        raise TypeError(f"reports: invalid value {reports!r} (expected a list of (format, layout))")
    found: List[Report] = []
    for one in reports:
        is_pair = isinstance(one, tuple) and len(one) in (1, 2)
        if not is_pair or any(not isinstance(word, (str, type(None))) for word in one) or one[0] is None:
            raise ValueError(f"reports: invalid value {one!r} (expected (format, layout))")
        found.append((one[0], one[1] if one[1:] else None))
    if found:
        probe = _toll.tracker(*option_tuple())
        probe.add_target(PROCESS, None, 0, None)
        probe.start()
        try:
            for report in found:
                probe.report(*report)
        finally:
            probe.finish()
            probe.close()
    return found


def option_tuple(
    *,
    interval: Interval = None,
    metrics: Globs = None,
    name: Optional[str] = None,
    labels: Optional[Mapping[str, object]] = None,
    memory: str = "auto",
    processes: Optional[str] = "top",
    children: bool = True,
    system: bool = False,
    network: bool = False,
    since_start: bool = False,
    history: int = 0,
    without_self: bool = False,
    show_secrets: bool = False,
    gpus: Gpus = None,
) -> OptionsTuple:
    if name is not None:
        checked_text("name", name)
    if isinstance(history, bool) or not isinstance(history, int):
        raise TypeError(f"history: invalid value {history!r} (expected a number of frames)")
    if not 0 <= history < 2**31:
        raise ValueError(f"history: invalid value {history} (expected a number of frames, 0 for none)")
    return (
        nanoseconds(interval),
        globs(metrics),
        name,
        label_list(labels),
        one_of("memory", memory, MEMORY),
        one_of("processes", processes, PROCESSES),
        bool(children),
        bool(system),
        bool(network),
        bool(since_start),
        history,
        bool(without_self),
        bool(show_secrets),
        gpu_words(gpus),
    )


def _number(what: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{what}: invalid value {value!r} (expected a number)")
    if not 0 < value < 2**31:
        raise ValueError(f"{what}: invalid value {value} (expected 1 or more)")
    return value


def _named(what: str, value: object) -> List[object]:
    """An empty list is a mistake: it would measure this process, which was not named."""
    found = _each(value)
    if value is not None and not found:
        raise ValueError(f"{what}: invalid value {value!r} (expected at least one; None: this process)")
    return found


def target_list(
    pid: object, group: object, session: object, cgroup: object, match: object, user: object
) -> List[Target]:
    """Each may be one or several; without any, the caller measures this process."""
    found = [Target(PROCESS, _number("pid", one), None) for one in _named("pid", pid)]
    found += [Target(GROUP, _number("group", one), None) for one in _named("group", group)]
    found += [Target(SESSION, _number("session", one), None) for one in _named("session", session)]
    found += [Target(CGROUP, 0, str(one)) for one in _named("cgroup", cgroup)]
    found += [Target(MATCH, 0, str(one)) for one in _named("match", match)]
    found += [Target(USER, 0, str(one)) for one in _named("user", user)]
    return found
