# SPDX-License-Identifier: MIT
"""gpu_tracker (Moseley Bioinformatics Lab), measured by toll.

    from toll.compat import gpu_tracker as gput

    with gput.Tracker(ram_unit="megabytes", time_unit="seconds") as tracker:
        work()
    print(tracker)
    tracker.to_json(), tracker.resource_usage.max_ram.main.total_rss
"""

from ... import _toll
from .sub_tracker import (
    CodeBlockResults,
    ComparisonResults,
    SubTracker,
    SubTrackingAnalyzer,
    SubTrackingResults,
    TrackingComparison,
    sub_track,
)
from .tracker import (
    ComputeTime,
    CPUUtilization,
    GPUUtilization,
    MaxGPURAM,
    MaxRAM,
    ProcessingUnitPercentages,
    ResourceUsage,
    RSSValues,
    Tracker,
    read_pickle,
)

__all__ = [
    "CPUUtilization",
    "CodeBlockResults",
    "ComparisonResults",
    "ComputeTime",
    "GPUUtilization",
    "MaxGPURAM",
    "MaxRAM",
    "ProcessingUnitPercentages",
    "RSSValues",
    "ResourceUsage",
    "SubTracker",
    "SubTrackingAnalyzer",
    "SubTrackingResults",
    "Tracker",
    "TrackingComparison",
    "__version__",
    "read_pickle",
    "sub_track",
]

__version__ = _toll.version
