# SPDX-License-Identifier: MIT
"""Jobs that are measured. Each waits for a signal that ends it.

    jobs.py gpu N GPUS           N sleeping processes that the fake library lists, shared out over GPUS
    jobs.py connections N        N connected TCP sockets on the loopback interface
    jobs.py numpy|sqlite FILE    as steady.c, for work that is done from Python

The first two print their pid when all is there."""
import mmap
import os
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import time


def wait():
    print(os.getpid(), flush=True)
    signal.pause()


def use_gpus(n, gpus):
    sleepers = [subprocess.Popen(["sleep", "1000"]) for _ in range(int(n))]

    def end(*_):
        for sleeper in sleepers:
            sleeper.kill()
        sys.exit(0)

    signal.signal(signal.SIGTERM, end)
    with open(os.environ["FAKE_NVML"], "a", encoding="ascii") as facts:
        for i, sleeper in enumerate(sleepers):
            facts.write(f"{i % int(gpus)}.compute {sleeper.pid} 1000000\n"
                        f"{i % int(gpus)}.sample {sleeper.pid} 5 1000\n")
        facts.write("once 1\n")  # from here on the fake need not look again
    wait()


def connect(n):
    listener = socket.create_server(("127.0.0.1", 0), backlog=int(n))
    kept = []
    for _ in range(int(n) // 2):
        kept.append(socket.create_connection(listener.getsockname()))
        kept.append(listener.accept()[0])
    listener.close()
    wait()


def numpy_work():
    import numpy
    a, b = numpy.random.rand(120, 120), numpy.random.rand(200_000)
    return lambda: (a @ a, b.sum(), (b * 2.0).max())


def sqlite_work():
    base = sqlite3.connect(":memory:")
    base.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT)")

    def work():
        with base:
            base.executemany("INSERT OR REPLACE INTO t VALUES (?, ?)",
                             ((i, "x" * 40) for i in range(400)))
        base.execute("SELECT count(*), sum(length(v)) FROM t").fetchone()
    return work


def work_steadily(work, path):
    with open(path, "w+b") as file:
        file.truncate(4096)
        shown = mmap.mmap(file.fileno(), 4096)
    done = 0
    while True:
        work()
        done += 1
        struct.pack_into("=QQQ", shown, 0, done, time.process_time_ns(), time.monotonic_ns())


JOBS = {
    "gpu": use_gpus,
    "connections": connect,
    "numpy": lambda path: work_steadily(numpy_work(), path),
    "sqlite": lambda path: work_steadily(sqlite_work(), path),
}

JOBS[sys.argv[1]](*sys.argv[2:])
