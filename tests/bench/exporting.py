# SPDX-License-Identifier: MIT
"""toll export of a long record, against a loop in Python that makes the same table of it."""
import csv
import json
import os
import resource
import shutil
import subprocess
import time

from measure import TOLL, WORK, headline, line, ns, output_of, program, rounds

SAMPLES = 200_000
TARGET = 2
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


def run():
    count = rounds(SAMPLES)
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
                                f"≥ {TARGET} ×", theirs / cpu >= TARGET)
                line(f"CPU time of a sample from {source[1:]} to {suffix}", "", ns(cpu / count),
                     *compared, f"{count / wall * 1e9:.0f} samples a second, "
                     f"{os.stat(into).st_size / 1e6:.3g} MB")
                into.unlink()
    finally:
        shutil.rmtree(place, ignore_errors=True)
