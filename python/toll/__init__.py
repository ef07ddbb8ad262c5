# SPDX-License-Identifier: MIT
"""toll tells what a job cost: CPU, memory, storage, network, as exactly as the kernel can account it.

    import toll

    with toll.track() as t:               # this process and what it starts
        work()
    print(t.summary)                      # for people
    t.summary.target.cpu_seconds.total    # for programs

What there is:

    track(...)          measure a block: this process, or others that run already
    @tracked            measure each call of a function
    run([...])          subprocess.run, with what the command and all it started used
    snapshot(...)       one look at a process or at the machine, in microseconds
    read_record(path)   what was measured before, from a .jsonl or a SQLite file
    phase, event, gauge marks for the `toll run` around this program
    metrics()           the table of everything that can be measured
    dialects()          the columns of other tools; Translator makes their rows of frames

A native thread takes the samples and never needs the GIL. Figures say how exact they are
(`.quality`); what is not known is None, never 0. Names end in their unit: seconds, bytes, cores.
"""

import os as _os

try:
    from . import _toll
except ImportError as _error:
    _path = _os.path.join(_os.path.dirname(__file__), "_toll.abi3.so")
    _why = str(_error) if _os.path.exists(_path) else f"there is no {_path}"
    raise ImportError(
        f"the native part of toll cannot be loaded: {_why}. 'make wheel' and 'pip install "
        "dist/toll-*.whl' make and install a package that has it, for CPython 3.8 and later on Linux"
    ) from None

from ._dialects import Dialect, DialectColumn, DialectOption, Translator, dialects
from ._figures import Figure, Metric, metrics
from ._marks import Phase, event, gauge, phase
from ._record import read_record
from ._run import Completed, run
from ._snapshot import snapshot
from ._summary import Summary
from ._toll import Frame, Row, version as __version__
from ._track import track
from ._tracker import Track
from ._tracked import tracked

__all__ = [
    "Completed",
    "Dialect",
    "DialectColumn",
    "DialectOption",
    "Figure",
    "Frame",
    "Metric",
    "Phase",
    "Row",
    "Summary",
    "Track",
    "Translator",
    "__version__",
    "dialects",
    "event",
    "gauge",
    "metrics",
    "phase",
    "read_record",
    "run",
    "snapshot",
    "track",
    "tracked",
]
