# SPDX-License-Identifier: MIT
"""The plugin of pytest: what each test uses, with the processes it starts, and limits for it.

    pytest --toll                           a table of the most expensive tests
    pytest --toll --toll-sort memory        … of those with the largest peak
    pytest --toll --toll-json tests.jsonl   figures of every test, a line of JSON each

    @pytest.mark.toll(peak_memory="500M", cpu_seconds=2, processes_started=4)
    def test_import(): ...                  fails if it uses more, also without --toll

The call of a test is measured, not its fixtures. Figures travel with the report of a test, in its
user_properties: they arrive from the workers of pytest-xdist, and they are in the file of --junitxml.
"""

from __future__ import annotations

import contextlib
from typing import Any, Dict, Generator, List, NamedTuple, Optional, TextIO, Tuple, Union

import pytest

from . import _toll

# All that a limit can be set for, in the order of the table.
FIGURES = {
    "wall_seconds": "wall time",
    "cpu_seconds": "CPU time",
    "peak_memory": "peak memory",
    "memory_growth": "memory growth",
    "read_bytes": "bytes read from storage",
    "written_bytes": "bytes written to storage",
    "processes_started": "processes started",
}
_UNIT_OF = {"wall_seconds": "seconds", "cpu_seconds": "seconds", "processes_started": ""}
_SORTED_BY = {"cpu": "cpu_seconds", "memory": "peak_memory", "time": "wall_seconds"}
_PREFIX = "toll_"
_FACTORS = {
    "seconds": {"": 1, "s": 1, "ms": 1e-3, "us": 1e-6, "m": 60, "min": 60, "h": 3600},
    "bytes": {
        "": 1, "B": 1, "k": 2**10, "K": 2**10, "Ki": 2**10, "KiB": 2**10, "M": 2**20, "Mi": 2**20,
        "MiB": 2**20, "G": 2**30, "Gi": 2**30, "GiB": 2**30, "T": 2**40, "Ti": 2**40, "TiB": 2**40,
        "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
    },
    "": {"": 1, "k": 1e3, "M": 1e6},
}

Limits = Dict[str, Union[int, float]]


class Used(NamedTuple):
    """A figure of a test. The value of a lower bound may be higher in truth; None is unknown."""

    value: Optional[float]
    quality: str


class Measured(NamedTuple):
    """A test in the table."""

    test: str
    worker: str
    used: Dict[str, Used]


def unit_of(figure: str) -> str:
    return _UNIT_OF.get(figure, "bytes")


def limit_value(figure: str, limit: object) -> float:
    """A limit as a number: 500, "500M", "1.5 GiB", "200ms". Otherwise a ValueError."""
    if isinstance(limit, (int, float)) and not isinstance(limit, bool):
        value = float(limit)
    else:
        import re

        factors = _FACTORS[unit_of(figure)]
        found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*", str(limit))
        if not found or found[2] not in factors:
            example = {"seconds": "2, '90s' or '200ms'", "bytes": "'500M' or '2GiB'", "": "4"}
            raise ValueError(f"{figure}={limit!r} (expected a limit such as {example[unit_of(figure)]})")
        value = float(found[1]) * factors[found[2]]
    if not 0 <= value < float("inf"):
        raise ValueError(f"{figure}={limit!r} (expected a limit of 0 or more)")
    return value


def limits_of(item: pytest.Item) -> Limits:
    """The limits of a test; its marker replaces limits of its class and module."""
    limits: Limits = {}
    for marker in item.iter_markers("toll"):  # the closest first
        if marker.args:
            raise ValueError("limits have names: @pytest.mark.toll(peak_memory='500M')")
        for figure, limit in marker.kwargs.items():
            if figure not in FIGURES:
                raise ValueError(f"unknown figure {figure!r} (expected one of {', '.join(FIGURES)})")
            value = limit_value(figure, limit)
            limits.setdefault(figure, value)
    return limits


def excesses(used: Dict[str, Used], limits: Limits) -> List[str]:
    """A sentence for each limit that was exceeded, or that cannot be checked. A lower bound above
    its limit is proof; one below it passes, as far as could be seen."""
    found = []
    for figure, limit in limits.items():
        value, quality = used.get(figure, Used(None, "unknown"))
        most = _toll.number_text(limit, unit_of(figure))
        if value is None:
            found.append(f"{FIGURES[figure]} is unknown, the limit of {most} cannot be checked")
        elif value > limit:
            least = "at least " if quality == "lower bound" else ""
            spent = _toll.number_text(value, unit_of(figure))
            found.append(f"{FIGURES[figure]}: {least}{spent}, more than the limit of {most}")
    return found


def _figures_of(track: Any, before: Optional[int]) -> Dict[str, Used]:
    summary = track.summary
    used = {
        figure: Used(getattr(summary, figure), summary.quality(figure))
        for figure in FIGURES
        if figure not in ("memory_growth", "wall_seconds")
    }
    used["wall_seconds"] = Used(summary.wall_seconds, "exact")
    # The interpreter with all its modules is in the peak; what the test added is above the start.
    peak, growth = used["peak_memory"], Used(None, "unknown")
    if peak.value is not None and before is not None:
        growth = Used(max(0.0, peak.value - before), peak.quality)
    used["memory_growth"] = growth
    return used


def _properties(used: Dict[str, Used]) -> List[Tuple[str, object]]:
    """As the properties of a report: plain values, which JUnit and xdist can carry."""
    found: List[Tuple[str, object]] = []
    for figure in FIGURES:
        value, quality = used[figure]
        if value is not None:
            found.append((_PREFIX + figure, value))
            if quality != "sampled":
                found.append((f"{_PREFIX}{figure}_quality", quality))
    return found


def _read_properties(report: pytest.TestReport) -> Dict[str, Used]:
    values = {str(k)[len(_PREFIX) :]: v for k, v in report.user_properties if str(k).startswith(_PREFIX)}
    return {
        figure: Used(float(str(values[figure])), str(values.get(f"{figure}_quality", "sampled")))
        for figure in FIGURES
        if figure in values
    }


class Measuring:
    """In every process that runs tests: the only one, or each worker of xdist."""

    def __init__(self, measures_all: bool) -> None:
        self.measures_all = measures_all
        self.used: Optional[Dict[str, Used]] = None
        self.limits: Limits = {}

    @pytest.hookimpl(tryfirst=True)  # type: ignore[misc]
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self.used, self.limits, mistake = None, {}, None
        try:
            self.limits = limits_of(item)
        except ValueError as error:
            mistake = f"toll: marker of {item.nodeid}: {error}"
        if mistake:
            pytest.fail(mistake, pytrace=False)

    @pytest.hookimpl(hookwrapper=True, trylast=True)  # type: ignore[misc]
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, None]:
        if not self.measures_all and not self.limits:
            yield
            return
        from ._snapshot import snapshot
        from ._track import track

        try:
            t = track(name=item.nodeid, gpus="none", processes=None, history=1)
            before = snapshot(children=True).memory_rss_bytes
            t.start()
        except Exception as error:  # the test runs whatever happens here
            item.warn(pytest.PytestWarning(f"toll: this test is not measured: {error}"))
            yield
            return
        yield
        if t.is_ours:  # a child that the test forked, and that came back here, has no tracker
            t.stop()
            self.used = _figures_of(t, before)
            item.user_properties.extend(_properties(self.used))

    @pytest.hookimpl(hookwrapper=True)  # type: ignore[misc]
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, Any, None]:
        outcome = yield
        report = outcome.get_result()
        if call.when != "call" or not report.passed or hasattr(report, "wasxfail"):
            return
        if self.limits and self.used is None:
            item.warn(pytest.PytestWarning("toll: the limits of this test were not checked"))
        over = excesses(self.used, self.limits) if self.used is not None else []
        if over:
            report.outcome = "failed"
            report.longrepr = "\n".join(f"toll: {sentence}" for sentence in over)


class Table:
    """In the process that prints: the only one, or the controller of xdist."""

    def __init__(self, config: pytest.Config) -> None:
        self.sorted_by = _SORTED_BY[config.getoption("toll_sort")]
        self.most = config.getoption("toll_top")
        self.tests: List[Measured] = []
        self.ran = 0
        self.json: Optional[TextIO] = None
        self.json_failure = ""
        path = config.getoption("toll_json")
        if path:
            try:
                self.json = open(path, "w", encoding="utf-8")
            except OSError as error:
                raise pytest.UsageError(f"--toll-json: {path}: {error.strerror}") from None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call":
            return
        self.ran += 1
        used = _read_properties(report)
        if used:
            node = getattr(report, "node", None)  # of xdist
            worker = str(node.gateway.id) if node is not None else ""
            self.tests.append(Measured(report.nodeid, worker, used))
            self.write_line(self.tests[-1])

    def write_line(self, test: Measured) -> None:
        """At once: what ends pytest does not take the figures of the tests before with it."""
        if self.json is None:
            return
        import json

        line: Dict[str, object] = {"test": test.test}
        if test.worker:
            line["worker"] = test.worker
        for figure in FIGURES:  # null is unknown
            value, quality = test.used.get(figure, Used(None, "unknown"))
            line[figure] = value
            line[f"{figure}_quality"] = quality
        try:
            self.json.write(json.dumps(line) + "\n")
            self.json.flush()
        except OSError as error:  # a full disk, for example
            self.json_failure = f"toll: {self.json.name}: {error.strerror}: figures of tests are missing"
            with contextlib.suppress(OSError):
                self.json.close()
            self.json = None

    def pytest_sessionfinish(self) -> None:
        if self.json is not None:
            self.json.close()

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.json_failure:
            terminalreporter.write_line(self.json_failure, red=True)
        if not self.ran:
            return

        def key(test: Measured) -> float:
            return test.used.get(self.sorted_by, Used(None, "")).value or 0.0

        def cell(test: Measured, figure: str) -> str:
            value, quality = test.used.get(figure, Used(None, "unknown"))
            if value is None:
                return "?"
            bound = "≥ " if quality == "lower bound" else ""
            return bound + str(_toll.number_text(value, unit_of(figure)))

        columns = ("cpu_seconds", "wall_seconds", "peak_memory", "memory_growth", "processes_started")
        heads = ["CPU time", "wall time", "peak memory", "growth", "processes", "test"]
        first = sorted(self.tests, key=key, reverse=True)[: self.most or None]
        rows = [[*(cell(test, figure) for figure in columns), test.test] for test in first]
        widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(columns))]
        sort_name = FIGURES[self.sorted_by]
        terminalreporter.section(f"toll: {len(first)} of {self.ran} tests by {sort_name}")
        for row in [heads, *rows]:
            cells = [text.rjust(width) for text, width in zip(row, widths)]
            terminalreporter.write_line("  ".join([*cells, row[-1]]))
        if len(self.tests) < self.ran:
            terminalreporter.write_line(f"{self.ran - len(self.tests)} tests without figures")


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise ValueError(text)
    return value


_count.__name__ = "number of tests"  # in the message for an invalid one


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("toll", "what tests use (toll)")
    group.addoption("--toll", action="store_true", help="measure every test and print the most expensive")
    group.addoption(
        "--toll-top", type=_count, default=10, metavar="N", help="tests in the table; 0: all (default: 10)"
    )
    group.addoption(
        "--toll-sort", choices=sorted(_SORTED_BY), default="cpu", help="order of the table (default: cpu)"
    )
    group.addoption("--toll-json", metavar="FILE", help="write the figures of every test as lines of JSON")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "toll(peak_memory='500M', cpu_seconds=2, ...): fail if the test uses more"
    )
    is_worker = hasattr(config, "workerinput")  # of xdist
    measures_all = bool(config.getoption("toll") or config.getoption("toll_json"))
    config.pluginmanager.register(Measuring(measures_all), "toll-measuring")
    if measures_all and not is_worker:
        config.pluginmanager.register(Table(config), "toll-table")
