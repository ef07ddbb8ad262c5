# SPDX-License-Identifier: MIT
"""Templates: the keys, their order and the kinds of the values, without the values."""

import gc
import os
import subprocess
import sys
import time


def kind(value):
    """A dict with the kinds of its values, a list with that of its first; otherwise the kind."""
    if isinstance(value, dict):
        return {key: kind(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [kind(value[0])] if value else []
    return type(value).__name__


def same_order(a, b):
    """Equal, and with the keys in the same order, all the way down."""
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(same_order(a[key], b[key]) for key in a)
    return a == b


def left_behind(function):
    """By how many descriptors and threads there are more after a call than before it."""
    def count():
        gc.collect()
        return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))

    function()  # what is opened once and kept
    before = count()
    function()
    end = time.monotonic() + 2  # a thread that has ended may be listed a little longer
    while any(now > had for had, now in zip(before, count())) and time.monotonic() < end:
        time.sleep(0.01)
    return [max(0, now - had) for had, now in zip(before, count())]


def job(script, *args, **kwargs):
    """A process that runs a script."""
    return subprocess.Popen([sys.executable, "-c", script, *args], **kwargs)


def heading(names):
    """As a row of text that Python's csv has written."""
    return ",".join(f'"{name}"' for name in names) + "\r\n"


# The columns of its releases: of a process and of the machine.
_NAMES = "timestamp {first} utime stime cpu_usage {rest}"
PROCESS_COLUMNS = {
    "0.1": "pss read_bytes write_bytes gpu_usage gpu_vram gpu_utilized",
    "0.4": "memory read_bytes write_bytes gpu_usage gpu_vram gpu_utilized",
    "0.5": "memory_mib disk_read_bytes disk_write_bytes gpu_usage gpu_vram_mib gpu_utilized",
}
_MEMORY = "memory_free{0} memory_used{0} memory_buffers{0} memory_cached{0} memory_active{1} memory_inactive{1}"
_REST = (
    "disk_read_bytes disk_write_bytes disk_space_total_gb disk_space_used_gb disk_space_free_gb "
    "net_recv_bytes net_sent_bytes gpu_usage gpu_vram{0} gpu_utilized"
)
_ENDINGS = {"0.1": ("", "_anon"), "0.4": ("", ""), "0.5": ("_mib", "_mib")}
PROCESS_COLUMNS = {
    release: _NAMES.format(first="pid children", rest=rest).split()
    for release, rest in PROCESS_COLUMNS.items()
}
SYSTEM_COLUMNS = {
    release: _NAMES.format(first="processes", rest=f"{_MEMORY} {_REST}".format(*endings)).split()
    for release, endings in _ENDINGS.items()
}
PROCESS_HEADING = heading(PROCESS_COLUMNS["0.1"])
SYSTEM_HEADING = heading(SYSTEM_COLUMNS["0.1"])
