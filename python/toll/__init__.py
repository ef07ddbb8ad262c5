# SPDX-License-Identifier: MIT
"""Measure what a job uses: CPU, memory, storage, network, GPUs, energy.

    import toll

    with toll.track() as t:               # this process and what it starts
        work()
    print(t.summary)                      # a report for people
    t.summary.cpu_seconds                 # numbers for programs; None when not known
    t.summary.peak_memory
    t.summary.quality("peak_memory")      # how far to trust them

What there is:

    track(...)          measure a block of this program, or other processes, in the background
    @tracked            measure each call of a function
    run([...])          subprocess.run, and what the command with all its children used
    snapshot(...)       current figures of a process or of the machine, in microseconds
    read_record(path)   what was measured before, from a .jsonl or SQLite file
    report(runs)        a page about a run: findings, charts, every figure
    compare(a, b)       what changed between runs; conditions for CI
    recommend(runs)     what to request for the next run
    phase, event, gauge marks in the record of the `toll run` around this program
    %load_ext toll      in IPython: %toll and %%toll measure a statement and a cell
    metrics()           the table of everything that can be measured
    layouts()           the columns of other tools; Translator writes frames in them

A native thread takes the samples and never needs the GIL. Names end with their unit: seconds, bytes,
cores. What is not known is None, never 0. Summaries, figures and frames can be pickled.
"""

# Modules are imported when a name of theirs is used: `import toll` costs no more than the extension.
TYPE_CHECKING = False  # as in typing, which takes longer to import than all of this

try:
    from . import _toll
except ImportError as _error:
    import os as _os

    _path = _os.path.join(_os.path.dirname(__file__), "_toll.abi3.so")
    _why = str(_error) if _os.path.exists(_path) else f"{_path}: no such file"
    raise ImportError(
        f"toll: cannot load the extension module: {_why} (needs CPython 3.8 or later on Linux; "
        "'make wheel' and 'pip install dist/toll-*.whl' install it)"
    ) from None

from ._toll import Frame, Row, version as __version__

if TYPE_CHECKING:
    from ._compare import Change, Comparison, compare
    from ._figures import Figure, Metric, metrics
    from ._layouts import Layout, LayoutColumn, LayoutOption, Translator, layouts
    from ._marks import Phase, event, gauge, phase
    from ._plot import Frames, Plot
    from ._recommend import Recommendation, recommend
    from ._record import read_record
    from ._report import Report, report
    from ._run import Completed, run
    from ._snapshot import snapshot
    from ._summary import Summary
    from ._track import track
    from ._tracker import Track
    from ._tracked import tracked

__all__ = [
    "Change",
    "Comparison",
    "Completed",
    "Figure",
    "Frame",
    "Frames",
    "Layout",
    "LayoutColumn",
    "LayoutOption",
    "Metric",
    "Phase",
    "Plot",
    "Recommendation",
    "Report",
    "Row",
    "Summary",
    "Track",
    "Translator",
    "__version__",
    "compare",
    "event",
    "gauge",
    "layouts",
    "metrics",
    "phase",
    "read_record",
    "recommend",
    "report",
    "run",
    "snapshot",
    "track",
    "tracked",
]

_MODULES = {
    "_compare": "Change Comparison compare",
    "_figures": "Figure Metric metrics",
    "_layouts": "Layout LayoutColumn LayoutOption Translator layouts "
    "Dialect DialectColumn DialectOption dialects",  # names before 0.1.0
    "_marks": "Phase event gauge phase",
    "_plot": "Frames Plot",
    "_recommend": "Recommendation recommend",
    "_record": "read_record",
    "_report": "Report report",
    "_run": "Completed run",
    "_snapshot": "snapshot",
    "_summary": "Summary",
    "_track": "track",
    "_tracked": "tracked",
    "_tracker": "Track",
}


def load_ipython_extension(shell: object) -> None:
    """`%load_ext toll` in IPython: the magics %toll and %%toll."""
    from ._magics import load

    load(shell)


def unload_ipython_extension(shell: object) -> None:
    """`%unload_ext toll`."""
    from ._magics import unload

    unload(shell)


if not TYPE_CHECKING:  # a checker shall know the names there are

    def __getattr__(name):
        for module, names in _MODULES.items():
            if name in names.split():
                from importlib import import_module

                found = getattr(import_module("." + module, __name__), name)
                globals()[name] = found
                return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__():
        return sorted({*globals(), *__all__})
