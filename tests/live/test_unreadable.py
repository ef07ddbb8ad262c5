# SPDX-License-Identifier: MIT
"""A process of the job that its user may not read: a sum without it is nowhere shown as the whole."""
import csv
import io
import json
import pathlib
import shutil
import subprocess
import time

import pytest
from conftest import make_place
from livelib import GUARD, children_of, needs_root, records, until
from test_membership import made_setuid

WRITTEN = 5_000_000
MARGIN = 0.01  # seconds: a sample so near to an event may be of before or after it

# Nothing but these two processes ever runs: the shell waits in itself.
SCRIPT = "echo up; read x; {program} out {count} 600000 0 & read y; kill $!; wait; echo gone; read z; exit 0"

# A file, and whether its rows have a time. What is unknown in it is looked for below.
LAYOUTS = {
    "rt1.csv": "resource-tracker",
    "rt2.csv": "resource-tracker,columns=v2",
    "rt3.csv": "resource-tracker,columns=combined",
    "rt4.csv": "resource-tracker,columns=host-proc",
    "spdl.jsonl": "spdl,columns=all",
    "pm.jsonl": "process-metrics",
    "pm3.jsonl": "process-metrics,samples=3",
    "points.csv": "gpu-tracker,ram_unit=bytes",
    "gt.json": "gpu-tracker,ram_unit=bytes",
    "gt.txt": "gpu-tracker,ram_unit=bytes",
}

# What of a row needs files that are closed: page tables and I/O. How many files a process has open,
# newer kernels tell every user.
CLOSED = {
    "rt1.csv": ["pss", "read_bytes", "write_bytes"],
    "rt2.csv": ["memory_mib", "disk_read_bytes", "disk_write_bytes"],
    "rt3.csv": ["process_memory_mib", "process_disk_read_bytes", "process_disk_write_bytes"],
    "rt4.csv": ["proc_memory_all_used_mib_gauge", "proc_disk_all_read_bytes_delta",
                "proc_disk_all_write_bytes_delta"],
    "spdl.jsonl": ["pss_bytes", "private_bytes", "disk_read_bytes", "disk_write_bytes"],
    "pm.jsonl": ["process/memory_uss_megabytes", "process/io_read_megabytes",
                 "process/io_write_megabytes"],
    "own.csv": ["target_memory_pss_bytes", "target_memory_uss_bytes", "target_storage_read_bytes",
                "target_io_written_bytes", "target_memory_distinct_bytes"],
}
OPEN = {
    "rt1.csv": ["utime", "cpu_usage", "children"],
    "rt2.csv": ["utime", "cpu_usage", "children"],
    "rt3.csv": ["process_utime", "system_utime"],
    "rt4.csv": ["proc_cpu_all_utime_s_delta"],
    "spdl.jsonl": ["rss_bytes", "num_procs", "cpu_percent"],
    "pm.jsonl": ["process/memory_rss_megabytes", "process/num_threads"],
    "own.csv": ["target_memory_rss_bytes", "target_threads", "target_cpu_seconds"],
}
UNKNOWN = ("", None)
MARGIN = 0.01  # seconds between what happened and a sample that has it or has it not for certain


def samples_of(place):
    path = place.path("run.jsonl")
    text = path.read_text() if path.exists() else ""
    lines = [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]
    return [line for line in lines if line["type"] == "sample"]


def wait_for(place, since, count, what, is_one):
    """So many samples between then and now that have read all that can be read."""
    def enough():
        now = time.time()
        return sum(since + MARGIN < s["unix_seconds"] < now - MARGIN
                   and is_one(s["target"]["combined"]) for s in samples_of(place)) >= count
    until(enough, what)


def is_read(figures):
    return None not in (figures["memory_pss_bytes"], figures["io_written_bytes"])


def is_bounded(figures):
    return {"memory_pss_bytes", "io_written_bytes"} <= set(figures.get("lower_bound", {}))


def rollup(pid, key):
    for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024
    raise AssertionError(key)


class Watched:
    """A run in which a process of root's came and went: when, and what root saw of it."""

    def __init__(self, place, program, mode):
        self.place = place
        outputs = ["-o", "run.jsonl", "-o", "run.sqlite", "-o", "own.csv", "--processes", "all"]
        for file, layout in LAYOUTS.items():
            form = pathlib.Path(file).suffix[1:].replace("txt", "text")
            outputs += ["-o", f"{form}@{layout}:{file}"]
        outputs += ["-i", "50ms", "-q"]
        job = ["sh", "-c", SCRIPT.format(program=program, count=WRITTEN)]
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        if mode == "run":
            with place.popen([place.toll, "run", *outputs, "--", *job], **streams) as toll:
                self.follow(toll, lambda: children_of(toll.pid)[0])
                self.status = toll.wait(GUARD)
        else:
            with place.popen(job, **streams) as shell:
                toll = place.popen([place.toll, "attach", *outputs, shell.pid])
                with toll:
                    self.follow(shell, lambda: shell.pid)
                    self.status = toll.wait(GUARD)
        self.samples = samples_of(place)

    def follow(self, speaker, shell):
        def say():
            speaker.stdin.write(b"\n")
            speaker.stdin.flush()
        assert speaker.stdout.readline() == b"up\n"
        wait_for(self.place, 0, 5, "samples of what can be read", is_read)
        self.before = time.time()
        say()
        pid = until(lambda: children_of(shell()), "the other process")[0]
        until(lambda: self.place.path("out").exists()
              and self.place.path("out").stat().st_size == WRITTEN, "its file")
        self.begin = time.time()
        hidden = is_read if self.place.privileged else is_bounded
        wait_for(self.place, self.begin + MARGIN, 5, "samples of both", hidden)
        # Other processes that share pages with these two come and go, and move PSS between the two.
        self.private, self.rss = (sum(rollup(p, key) for p in (shell(), pid))
                                  for key in ("Private_Dirty", "Rss"))
        self.end = time.time()
        say()
        assert speaker.stdout.readline() == b"gone\n"
        self.after = time.time()
        wait_for(self.place, self.after + MARGIN, 3, "samples after it", is_read)
        speaker.stdin.close()

    def rows(self, file, export=None):
        """(time, row) of a file; unknown is as the file has it."""
        text = (export or self.place.path(file)).read_bytes().decode()
        if file.endswith(".jsonl"):
            found = [json.loads(line) for line in text.splitlines()]
        else:
            found = list(csv.DictReader(io.StringIO(text, newline="")))
        if file == "own.csv":
            assert len(found) == len(self.samples)
            return [(s["unix_seconds"], row) for s, row in zip(self.samples, found)]
        return [(float(row["timestamp"]), row) for row in found]

    def while_it_lived(self, file):
        found = [row for at, row in self.rows(file) if self.begin + MARGIN < at < self.end - MARGIN]
        assert len(found) >= 3
        return found

    def without_it(self, file):
        """Rows before it came, but for the first, and after it was gone."""
        rows = self.rows(file)
        return ([row for at, row in rows[2:] if at < self.before - MARGIN],
                [row for at, row in rows[:-1] if at > self.after + MARGIN])


def watch(user, mode, programs):
    place = make_place(user, programs)
    try:
        with made_setuid(place) as program:
            result = Watched(place, program, mode)
        assert result.status == 0
        yield result
    finally:
        shutil.rmtree(place.directory, ignore_errors=True)


@pytest.fixture(scope="module", params=["run", "attach"])
def watched(request, programs):
    """By an ordinary user."""
    yield from watch("nobody", request.param, programs)


@pytest.fixture(scope="module", params=["run", "attach"])
def watched_by_root(request, programs):
    yield from watch("root", request.param, programs)


@needs_root
def test_a_part_is_not_the_whole(watched):
    """In every layout unknown, as that tool writes it, for as long as it cannot be read."""
    for file, columns in CLOSED.items():
        for row in watched.while_it_lived(file):
            assert [row[c] for c in columns if row[c] not in UNKNOWN] == [], file
            assert [c for c in OPEN[file] if row[c] in UNKNOWN] == [], file
        for rows in watched.without_it(file):
            assert rows
            for column in columns:
                assert [row for row in rows if row[column] not in UNKNOWN], (file, column)
    # Page tables of the main process can be read. A round of reading that was not finished in time
    # is not published.
    assert [row for row in watched.while_it_lived("own.csv")
            if row["main_memory_pss_bytes"] not in UNKNOWN]
    # A mean over three samples, of which none had all.
    lived = [row for at, row in watched.rows("pm3.jsonl")
             if watched.begin + 0.2 < at < watched.end - MARGIN]
    assert all(row["process/memory_uss_megabytes"] is None for row in lived)
    # What it wrote is there when it is gone: the difference of that row has all of it.
    written = sum(int(row["write_bytes"] or 0) for _, row in watched.rows("rt1.csv"))
    last = watched.samples[-1]["target"]["combined"]
    assert written == last["storage_written_bytes"]
    assert last["io_written_bytes"] >= WRITTEN
    # What was read, of the shell alone, is a lower bound of what root sees.
    bounds = [s["target"]["combined"]["lower_bound"]["memory_pss_bytes"] for s in watched.samples
              if watched.begin < s["unix_seconds"] < watched.end
              and "memory_pss_bytes" in s["target"]["combined"].get("lower_bound", {})]
    assert bounds and max(bounds) < watched.rss


@needs_root
def test_a_part_in_the_summary(watched):
    ram = json.loads(watched.place.path("gt.json").read_text())["max_ram"]
    assert ram["combined"]["private_rss"] is ram["combined"]["shared_rss"] is None
    assert ram["main"]["private_rss"] > 0
    most = max(s["target"]["combined"]["memory_rss_bytes"] or 0 for s in watched.samples)
    assert ram["combined"]["total_rss"] >= most
    summary = records(watched.place.path("run.jsonl"), "summary")[0]["target"]
    for metric in ("memory_pss_bytes", "memory_uss_bytes"):
        figure = summary["combined"][metric]
        assert (figure["quality"], figure["partial"]) == ("lower bound", True), metric
        assert "partial" not in summary["main"][metric], metric
    assert "partial" not in summary["combined"]["memory_rss_bytes"]
    assert summary["combined"]["io_written_bytes"]["total"] >= WRITTEN
    assert "partial" not in summary["combined"]["io_written_bytes"]


@needs_root
@pytest.mark.parametrize("record", ["run.jsonl", "run.sqlite"])
def test_a_record_knows_what_was_a_part(watched, record):
    """Every layout, and our own, again from the record: the same bytes."""
    place = watched.place
    shutil.rmtree(place.path("again"), ignore_errors=True)
    place.path("again").mkdir()
    place.path("again").chmod(0o777)
    words = []
    for file, layout in LAYOUTS.items():
        form = pathlib.Path(file).suffix[1:].replace("txt", "text")
        words += ["-o", f"{form}@{layout}:again/{file}"]
    status, _, err = place.call([place.toll, "export", record, "-o", "again/own.csv", *words])
    assert status == 0, err
    for file in [*LAYOUTS, "own.csv"]:
        assert place.path(f"again/{file}").read_bytes() == place.path(file).read_bytes(), file


@needs_root
def test_rows_of_the_process_itself(watched):
    rows = [(s["unix_seconds"], p) for s in watched.samples for p in s.get("processes", [])
            if p["name"].startswith("other")]
    rows = [p for at, p in rows if watched.begin < at < watched.end]
    assert rows
    for metric in ("memory_pss_bytes", "io_written_bytes"):
        assert {p[metric] for p in rows} == {None}, metric
    assert all(p["memory_rss_bytes"] > 0 for p in rows)


@needs_root
def test_all_is_known_to_root(watched_by_root):
    """The same, where all can be read: every figure, with that of both processes."""
    watched = watched_by_root
    assert not any("lower_bound" in part for s in watched.samples for part in s["target"].values())
    for file, columns in CLOSED.items():
        for row in watched.while_it_lived(file):
            assert [c for c in [*columns, *OPEN[file]] if row[c] in UNKNOWN] == [], file
    found = [int(row["pss"]) * 1024 for row in watched.while_it_lived("rt1.csv")]
    assert 0 < watched.private <= found[-1] <= watched.rss
    both = [row for row in watched.while_it_lived("own.csv") if row["target_memory_pss_bytes"]]
    assert both
    assert all(int(row["target_memory_pss_bytes"]) > int(row["main_memory_pss_bytes"]) > 0 for row in both)
    ram = json.loads(watched.place.path("gt.json").read_text())["max_ram"]
    # The shell's own pages are shared with its child from the fork on: the most it had was before.
    assert ram["combined"]["private_rss"] >= ram["main"]["private_rss"] > 0
