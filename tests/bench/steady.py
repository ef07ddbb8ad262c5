# SPDX-License-Identifier: MIT
"""steady.py numpy|sqlite FILE: as steady.c, for work that is done from Python."""
import mmap
import sqlite3
import struct
import sys
import time


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


def main():
    work = {"numpy": numpy_work, "sqlite": sqlite_work}[sys.argv[1]]()
    with open(sys.argv[2], "w+b") as file:
        file.truncate(4096)
        shown = mmap.mmap(file.fileno(), 4096)
    done = 0
    while True:
        work()
        done += 1
        struct.pack_into("=QQQ", shown, 0, done, time.process_time_ns(), time.monotonic_ns())


main()
