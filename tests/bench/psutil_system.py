# SPDX-License-Identifier: MIT
"""psutil_system.py INTERVAL SKIP TICKS [threads]: sample the machine the way a careful user of
psutil does; with the number of threads, for which psutil has to ask every process.

Prints ticks, and CPU seconds of the ticks after the first SKIP."""
import sys
import time

import psutil

interval = float(sys.argv[1])
skip, ticks = int(sys.argv[2]), int(sys.argv[3])
with_threads = "threads" in sys.argv[4:]
deadline = time.monotonic()
for tick in range(skip + ticks):
    if tick == skip:
        began = time.process_time()
    deadline += interval
    time.sleep(max(0, deadline - time.monotonic()))
    psutil.boot_time()
    psutil.cpu_times()
    psutil.cpu_times(percpu=True)
    psutil.cpu_stats()
    psutil.virtual_memory()
    psutil.swap_memory()
    psutil.disk_io_counters(perdisk=True)
    psutil.net_io_counters(pernic=True)
    for partition in psutil.disk_partitions():
        psutil.disk_usage(partition.mountpoint)
    psutil.getloadavg()
    len(psutil.pids())
    if with_threads:
        sum(p.info["num_threads"] or 0 for p in psutil.process_iter(["num_threads"]))
    psutil.sensors_temperatures()
print(ticks, time.process_time() - began)
