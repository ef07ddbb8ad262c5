# SPDX-License-Identifier: MIT
"""psutil_loop.py WHAT INTERVAL SKIP TICKS: sample the way a careful user of psutil does, WHAT is

    PID               a tree
    groups:PGID,…     process groups
    system            the machine
    system+threads    with the number of threads, for which psutil has to ask every process

Process objects are kept, values that come from one file are read together (oneshot), deadlines are
absolute. Prints ticks, CPU seconds of the ticks after the first SKIP, and how long they took."""
import os
import sys
import time

import psutil


class Processes:
    def __init__(self, what):
        asked = what.removeprefix("groups:")
        self.groups = set(map(int, asked.split(","))) if asked != what else None
        self.root = None if self.groups else psutil.Process(int(what))
        self.kept = {}

    def members(self):
        if self.root:
            return [self.root] + self.root.children(recursive=True)
        return list(self.members_of_groups())

    def members_of_groups(self):
        for process in psutil.process_iter():
            try:
                if os.getpgid(process.pid) in self.groups:
                    yield process
            except ProcessLookupError:
                pass

    def sample(self):
        self.kept = {p: self.kept.get(p, p) for p in self.members()}
        for p in self.kept.values():
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


class Machine:
    def __init__(self, what):
        self.with_threads = what.endswith("+threads")

    def sample(self):
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
        if self.with_threads:
            sum(p.info["num_threads"] or 0 for p in psutil.process_iter(["num_threads"]))
        psutil.sensors_temperatures()


def main():
    what, interval, skip, ticks = sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    sampled = (Machine if what.startswith("system") else Processes)(what)
    deadline = time.monotonic()
    for tick in range(skip + ticks):
        if tick == skip:
            began, began_cpu = time.monotonic(), time.process_time()
        deadline = max(deadline + interval, time.monotonic())
        time.sleep(max(0, deadline - time.monotonic()))
        sampled.sample()
    print(ticks, time.process_time() - began_cpu, time.monotonic() - began)


main()
