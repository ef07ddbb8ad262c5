# SPDX-License-Identifier: MIT
"""Other trackers' names for what toll measures: their users change an import and keep the rest.

    from toll.compat.resource_tracker import PidTracker, ResourceTracker, SystemTracker
    from toll.compat import gpu_tracker as gput
    from toll.compat.spdl import ProcessGroupStatsMonitor
    from toll.compat.process_metrics import ProcessMetricsMonitor
    from toll.compat.sweep import HWMonitor, RunLog, build_resource_summary

Names, defaults, units and states are those of the tools; the figures are toll's. Columns are not
written here: they come from the layouts of libtoll, which `toll.layouts()` lists. docs/compat.md
lists what differs.
"""
