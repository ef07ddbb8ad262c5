# SPDX-License-Identifier: MIT
"""Records of up to a million samples (samples.c): writing and asking a SQLite file, `toll export`, and
reports."""
import csv
import json
import os
import resource
import shutil
import sqlite3
import subprocess
import time

from measure import TOLL, WORK, headline, line, ns, output_of, program, rounds


# ---- A SQLite file, against the record of the same samples and a bare loop of inserts -------------

INSERTED = 1_000_000
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


def sqlite():
    count = rounds(INSERTED)
    headline(f"SQLite: {count} samples of a job with its parts, eight metrics")
    place = WORK / "samples"
    place.mkdir()
    try:
        out = output_of(program("samples"), str(count), str(place))
        took = {name: (int(wall), int(cpu)) for name, wall, cpu in
                (row.split() for row in out.splitlines())}
        rows, jsonl, floor = (took[name] for name in ("sqlite", "jsonl", "floor"))
        sizes = {name: os.stat(place / name).st_size
                 for name in ("x.sqlite", "x.jsonl", "floor.sqlite")}
        ratio = rows[1] / floor[1]
        line("CPU time to write a sample", "", ns(rows[1] / count),
             f"{ns(floor[1] / count)} bare inserts", f"{ratio:.2f} ×", f"≤ {RATE_TARGET} ×",
             ratio <= RATE_TARGET, f"{count / rows[0] * 1e9:.0f} samples a second")
        line("  … against the record", "", ns(rows[1] / count), f"{ns(jsonl[1] / count)} JSONL",
             f"{rows[1] / jsonl[1]:.2f} ×")
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


# ---- toll export, against a loop in Python that makes the same table ------------------------------

EXPORTED = 200_000
EXPORT_TARGET = 2
TO = {"csv": ".csv", "jsonl": ".jsonl", "json": ".json", "openmetrics": ".om", "sqlite": ".db"}


def export(record, into):
    """CPU time and wall time of it."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic_ns()
    subprocess.run([TOLL, "export", "-q", record, "-o", into], check=True)
    took = time.monotonic_ns() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return round(cpu * 1e9), took


def table_in_python(record, into):
    """What a script would do: a row for each sample, with the figures of all parts."""
    begin, count = time.process_time_ns(), 0
    with open(record, "rb") as lines, open(into, "w", newline="") as file:
        table = csv.writer(file)
        for text in lines:
            sample = json.loads(text)
            if sample["type"] == "sample":
                count += 1
                parts = sample["target"].values()
                table.writerow([sample["time"], sample["elapsed_seconds"], sample["interval_seconds"],
                                *(value for part in parts for value in part.values()),
                                *sample["self"].values()])
    return count, time.process_time_ns() - begin


def exporting():
    count = rounds(EXPORTED)
    headline(f"export: {count} samples of a job with its parts, eight metrics")
    place = WORK / "samples"
    place.mkdir()
    try:
        output_of(program("samples"), str(count), str(place))
        seen, theirs = table_in_python(place / "x.jsonl", place / "theirs.csv")
        assert seen == count
        for source in ("x.jsonl", "x.sqlite"):
            for name, suffix in TO.items():
                into = place / f"out{suffix}"
                cpu, wall = export(place / source, into)
                compared = ("", "", "", None)
                if (source, name) == ("x.jsonl", "csv"):
                    compared = (f"{ns(theirs / count)} json.loads", f"{theirs / cpu:.1f} ×",
                                f"≥ {EXPORT_TARGET} ×", theirs / cpu >= EXPORT_TARGET)
                line(f"CPU time of a sample from {source[1:]} to {suffix}", "", ns(cpu / count),
                     *compared, f"{count / wall * 1e9:.0f} samples a second, "
                     f"{os.stat(into).st_size / 1e6:.3g} MB")
                into.unlink()
    finally:
        shutil.rmtree(place, ignore_errors=True)


# ---- A report, whose memory does not grow with the record -----------------------------------------

FEW, MANY = 10_000, 1_000_000
MEMORY_TARGET = 1.25  # of the peak memory with the few


def report(count, place, name):
    """Figures of `toll export`, by toll; the record comes through a pipe, and is nowhere whole."""
    figures, page = place / "figures.json", place / name
    with subprocess.Popen([program("samples"), str(count), "-"], stdout=subprocess.PIPE) as record:
        subprocess.run([TOLL, "run", "-q", "-o", figures, "--", TOLL, "export", "-q", "-", "-o", page],
                       stdin=record.stdout, check=True)
    used = json.loads(figures.read_text())["target"]["combined"]
    figures.unlink()
    return (used["cpu_seconds"]["total"] * 1e9, used["wall_seconds"]["total"] * 1e9,
            used["memory_peak_bytes"]["max"], page.stat().st_size)


def reporting():
    many = rounds(MANY)
    headline(f"report: a page of {many} samples of a job with its parts, eight metrics")
    place = WORK / "report"
    place.mkdir()
    try:
        for name in ("x.html", "x.md"):
            _, _, small, _ = report(FEW, place, f"few-{name}")
            cpu, wall, memory, size = report(many, place, name)
            line(f"CPU time of a sample, {name[1:]}", "", ns(cpu / many), "", note=
                 f"{ns(cpu)} in all, {ns(wall)} with the program that writes the record, {size / 1e3:.0f} kB")
            line(f"peak memory, {name[1:]}", "", f"{memory / 2**20:.1f} MiB",
                 f"{small / 2**20:.1f} MiB of {FEW}", f"{memory / small:.2f} ×", f"≤ {MEMORY_TARGET} ×",
                 memory <= MEMORY_TARGET * small)
    finally:
        shutil.rmtree(place, ignore_errors=True)
