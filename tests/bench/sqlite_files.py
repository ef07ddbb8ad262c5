# SPDX-License-Identifier: MIT
"""A million samples as a SQLite file, against the record of the same samples, and against a bare loop
of inserts: size, time to write, time to ask."""
import json
import os
import shutil
import sqlite3
import time

from measure import WORK, headline, line, ns, output_of, program, rounds

SAMPLES = 1_000_000
RATE_TARGET = 4
SIZE_TARGET = 0.5
QUERY_TARGETS = {"table": 10, "view": 3}
TO_THE_TABLE = ("SELECT count(*), max(memory_rss_bytes), avg(cpu_cores), max(cpu_ns) / 1e9 "
                "FROM target_samples WHERE run = 1 AND entity = 1")
TO_THE_VIEW = ("SELECT count(*), max(target_memory_rss_bytes), avg(target_cpu_cores), "
               "max(target_cpu_seconds) FROM timeline WHERE run = 1")


def ask_sqlite(path, question):
    begin = time.process_time_ns()
    db = sqlite3.connect(path)
    answer = db.execute(question).fetchone()
    db.close()
    return answer, time.process_time_ns() - begin


def ask_jsonl(path):
    begin = time.process_time_ns()
    count = most = cores = cpu = 0
    with open(path, "rb") as lines:
        for text in lines:
            sample = json.loads(text)
            if sample["type"] == "sample":
                figures = sample["target"]["combined"]
                count += 1
                most = max(most, figures["memory_rss_bytes"])
                cores += figures["cpu_cores"]
                cpu = max(cpu, figures["cpu_seconds"])
    return (count, most, cores / count, cpu), time.process_time_ns() - begin


def megabytes(size):
    return f"{size / 1e6:.3g} MB"


def run():
    count = rounds(SAMPLES)
    headline(f"SQLite: {count} samples of a job with its parts, eight metrics")
    place = WORK / "samples"
    place.mkdir()
    try:
        out = output_of(program("samples"), str(count), str(place))
        took = {name: (int(wall), int(cpu)) for name, wall, cpu in
                (row.split() for row in out.splitlines())}
        sqlite, jsonl, floor = (took[name] for name in ("sqlite", "jsonl", "floor"))
        sizes = {name: os.stat(place / name).st_size
                 for name in ("x.sqlite", "x.jsonl", "floor.sqlite")}
        ratio = sqlite[1] / floor[1]
        line("CPU time to write a sample", "", ns(sqlite[1] / count),
             f"{ns(floor[1] / count)} bare inserts", f"{ratio:.2f} ×", f"≤ {RATE_TARGET} ×",
             ratio <= RATE_TARGET, f"{count / sqlite[0] * 1e9:.0f} samples a second")
        line("  … against the record", "", ns(sqlite[1] / count), f"{ns(jsonl[1] / count)} JSONL",
             f"{sqlite[1] / jsonl[1]:.2f} ×")
        ratio = sizes["x.sqlite"] / sizes["x.jsonl"]
        line("size of the file", "", megabytes(sizes["x.sqlite"]),
             f"{megabytes(sizes['x.jsonl'])} JSONL", f"{ratio:.2f} ×", f"≤ {SIZE_TARGET} ×",
             ratio <= SIZE_TARGET, f"{sizes['x.sqlite'] / count:.0f} bytes a sample; bare table "
             f"{megabytes(sizes['floor.sqlite'])}")
        expected, theirs = ask_jsonl(place / "x.jsonl")
        for what, question in (("table", TO_THE_TABLE), ("view", TO_THE_VIEW)):
            found, mine = ask_sqlite(place / "x.sqlite", question)
            assert found[:2] == expected[:2] and found[0] == count
            ratio = theirs / mine
            target = QUERY_TARGETS[what]
            line(f"CPU time of peaks and means, asked of the {what}", "", ns(mine),
                 f"{ns(theirs)} json.loads", f"{ratio:.1f} ×", f"≥ {target} ×", ratio >= target)
    finally:
        shutil.rmtree(place, ignore_errors=True)
