# SPDX-License-Identifier: MIT
"""psutil_loop.py PID|groups:PGID,… INTERVAL SKIP TICKS: sample a tree, or process groups, the way a
careful user of psutil does.

Process objects are kept, values that come from one file are read together (oneshot), deadlines are
absolute. Prints ticks, CPU seconds of the ticks after the first SKIP, and how long they took."""
import os
import sys
import time

import psutil


def members_of(groups):
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) in groups:
                yield process
        except ProcessLookupError:
            pass


asked = sys.argv[1].removeprefix("groups:")
by_group = asked != sys.argv[1]
groups = set(map(int, asked.split(",")))
root = None if by_group else psutil.Process(int(asked))
interval = float(sys.argv[2])
skip, ticks = int(sys.argv[3]), int(sys.argv[4])
kept = {}
deadline = time.monotonic()
for tick in range(skip + ticks):
    if tick == skip:
        began, began_cpu = time.monotonic(), time.process_time()
    deadline = max(deadline + interval, time.monotonic())
    time.sleep(max(0, deadline - time.monotonic()))
    members = list(members_of(groups)) if by_group else [root] + root.children(recursive=True)
    kept = {p: kept.get(p, p) for p in members}
    for p in kept.values():
        try:
            with p.oneshot():
                p.cpu_times()
                p.memory_info()
                p.io_counters()
                p.num_threads()
                p.num_fds()
                p.num_ctx_switches()
        except psutil.NoSuchProcess:
            pass
print(ticks, time.process_time() - began_cpu, time.monotonic() - began)
