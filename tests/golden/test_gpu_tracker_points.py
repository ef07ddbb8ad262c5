# SPDX-License-Identifier: MIT
"""The tracking file of gpu-tracker from recorded runs: every figure worked out from the record, to
the digit, in every unit."""
import csv
import subprocess

import pytest
import recorded
from recordlib import read_record

UNITS = {"bytes": 1, "kilobytes": 1e-3, "megabytes": 1e-6, "gigabytes": 1e-9, "terabytes": 1e-12}
PARTS = {"main": "main", "descendants": "descendants", "combined": "combined"}


def replay(tmp_path, run, unit, cores):
    points, record = tmp_path / "p.csv", tmp_path / "r.jsonl"
    subprocess.run([recorded.TOLL, "replay", "-q", "--system", "--layout",
                    f"gpu-tracker,ram_unit={unit},n_expected_cores={cores}", "-o", points, "-o", record,
                    recorded.FIXTURES / run], check=True, timeout=60)
    rows = list(csv.reader(points.read_text().splitlines()))
    return rows, [s for s in read_record(record.read_text()) if s["type"] == "sample"]


def number(text):
    return None if text == "" else float(text)


def times(value, factor):
    return None if value is None else pytest.approx(value * factor, rel=1e-12)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("run", ["64-cores", "limits-cgroup2", "this-machine"])
def test_every_figure(tmp_path, run, unit):
    cores = 4
    (names, facts, columns, *rows), samples = replay(tmp_path, run, unit, cores)
    static = dict(zip(names, facts))
    assert (static["ram_unit"], static["gpu_ram_unit"], static["time_unit"]) == (unit, "gigabytes", "hours")
    assert static["n_expected_cores"] == str(cores)
    machine = samples[0].get("system", {})
    assert number(static["ram_system_capacity"]) == times(machine.get("memory_total_bytes"), UNITS[unit])
    before, held, shown, earlier, at = {}, {}, {}, {}, 0
    if samples[0]["elapsed_seconds"] < 0.1:  # at once: it is no time point
        first = samples.pop(0)["target"]
        for part in PARTS.values():
            held[part] = first.get(part, {}).get("memory_distinct_bytes")
    # What follows the end has a row only if anything grew.
    while len(samples) > len(rows):
        assert not any(samples[-1]["target"][part].get("processes") for part in PARTS.values())
        samples.pop()
    for row, sample in zip(rows, samples, strict=True):
        seconds, at = sample["elapsed_seconds"] - at, sample["elapsed_seconds"]
        has_ended = not sample["target"]["combined"].get("processes")
        point = dict(zip(columns, row))
        for name, part in PARTS.items():
            figures = sample["target"].get(part, {})
            memory = figures.get("memory_distinct_bytes")
            if memory is None and figures.get("processes"):
                memory = held.get(part)  # read seldom: as it was last …
            held[part] = memory
            rss = figures.get("memory_rss_bytes")
            if memory is None or memory > 2 * (rss or memory):
                memory = rss  # … unless it was never read, or most of it has gone
            threads = figures.get("threads")
            if has_ended:  # what is not known is as it was when they were last looked at
                last_memory, last_threads = shown[part]
                memory = last_memory if memory is None else memory
                threads = last_threads if threads is None else threads
            shown[part] = memory, threads
            assert number(point[f"{name}_ram"]) == times(memory, UNITS[unit])
            assert point[f"{name}_n_threads"] == ("" if threads is None else str(threads))
            used = figures["cpu_seconds"] - before.get(part, 0)
            before[part] = figures["cpu_seconds"]
            found = number(point[f"cpu_{name}_sum_utilization_percent"])
            lasted = seconds
            if sample is samples[-1] and lasted < 0.1:  # too short alone: with the row before
                used, lasted = used + earlier[part][0], lasted + earlier[part][1]
            earlier[part] = used, lasted
            assert found == pytest.approx(used / lasted * 100, rel=1e-6, abs=1e-6)
            assert number(point[f"cpu_{name}_hardware_utilization_percent"]) == times(found, 1 / cores)
        used = sample.get("system", {}).get("memory_used_bytes")
        assert number(point["system_ram"]) == times(used, UNITS[unit])
        assert {point[f"{of}_gpu_ram"] for of in (*PARTS, "system")} == {"0.0"}
