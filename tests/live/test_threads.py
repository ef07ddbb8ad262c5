# SPDX-License-Identifier: MIT
"""--threads, against the CPU clock that each thread of the job reads of itself."""
import json
import subprocess

import pytest

import livelib
from attachlib import Attached
from livelib import until

# The kernel brings the time of a thread that runs up to date at each tick of its CPU at the latest,
# and the thread itself goes on for a moment after it has read its clock.
LAG = 0.02


def rows(summary):
    return {int(row["tid"]): row for row in summary.get("threads", [])}


def notes(summary):
    return [note for note in summary["notes"] if note.startswith("--threads")]


class Job:
    """A job whose threads have used what they print, and wait."""

    def __init__(self, place, prefix, uses):
        self.process = place.popen([*prefix, place.helper("clocks"), "stay", *uses],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.uses, self.truth, self.waited = uses, {}, {}

    def wait_until_used(self):
        for _ in self.uses:
            tid, clock, waited, rusage = self.process.stdout.readline().split()
            assert abs(float(clock) - float(rusage)) < 0.005
            self.truth[int(tid)] = float(clock)
            self.waited[int(tid)] = float(waited)

    def end(self):
        self.process.communicate(timeout=livelib.GUARD)
        return self.process.returncode


def looks(samples):
    """The rows of threads in each sample so far; a line that is being written does not count yet."""
    text = samples.read_text() if samples.exists() else ""
    return [json.loads(line).get("threads", []) for line in text[:text.rfind("\n") + 1].splitlines()]


def check(found, truth, quality):
    for tid, seconds in truth.items():
        cpu = found[tid]["cpu_seconds"]
        assert cpu["quality"] == quality
        assert seconds - LAG < cpu["total"] < seconds + LAG, (tid, seconds, cpu)
        assert found[tid]["name"] == f"uses {found[tid]['name'].split()[1]} {tid}"


def test_threads_of_a_command(place):
    """They wait after their work for longer than between two looks: then nothing is missing."""
    samples, summary = place.path("run.jsonl"), place.path("run.json")
    job = Job(place, [place.toll, "run", "--threads", "-i", "50ms", "-o", samples, "-o", place.path("run.db"),
                      "--summary", "json", "--summary-to", summary], ["0.05", "0.1", "0.3"])
    job.wait_until_used()
    used = sum(job.truth.values())

    def is_seen():
        last = {int(row["tid"]): row for look in looks(samples) for row in look}
        return (sum(row["cpu_seconds"] for row in last.values()) > used - 0.001 and
                all((last.get(tid, {}).get("cpu_wait_seconds") or 0) >= waited
                    for tid, waited in job.waited.items()))
    until(is_seen, "a look after the work")
    assert job.end() == 0
    found = json.loads(summary.read_text())
    # They have ended without being read: what they used after the last reading is not known.
    check(rows(found), job.truth, "lower bound")
    main = [row for row in found["threads"] if row["tid"] == row["pid"]]
    assert len(main) == 1 and main[0]["cpu_seconds"]["quality"] == "exact"
    whole = found["target"]["combined"]["cpu_seconds"]["total"]
    assert sum(row["cpu_seconds"]["total"] for row in found["threads"]) == pytest.approx(whole, abs=LAG)
    assert not notes(found)
    for tid, seconds in job.waited.items():
        assert rows(found)[tid]["cpu_wait_seconds"].get("total", 0) >= seconds
    exported = place.path("again.jsonl")
    assert place.call([place.toll, "export", place.path("run.db"), "-o", exported])[0] == 0
    again = livelib.records(exported, "summary")[0]
    assert {t: row["cpu_seconds"]["total"] for t, row in rows(again).items()} == \
           {t: row["cpu_seconds"]["total"] for t, row in rows(found).items()}


def test_threads_of_a_running_process(here):
    """What they used before the attach is not in it; they are still there at the end."""
    job = Job(here, [], ["0.05", "0.2"])
    job.wait_until_used()
    late = Attached(here, ["--threads", str(job.process.pid)])
    late.end()
    assert all(row["cpu_seconds"]["total"] < 0.02 for row in rows(late.summary).values())
    whole = Attached(here, ["--threads", "--since-start", str(job.process.pid)])
    whole.end()
    check(rows(whole.summary), job.truth, "sampled")
    assert job.end() == 0


def test_threads_that_come_and_go(place):
    """None of them lives as long as the time between two looks: a note has what is missing."""
    result = place.run([place.helper("clocks"), "pass", "60", "4"], ["--threads", "-i", "100ms"])
    used = result.total("cpu_seconds")
    seen = sum(row["cpu_seconds"].get("total", 0) for row in result.summary["threads"])
    assert used > 0.24 and seen < used
    assert [n for n in notes(result.summary) if "too short-lived to be sampled" in n]


def test_no_rows_without_the_option(here):
    result = here.run(["true"])
    assert "threads" not in result.summary


def test_many_threads_are_bounded(here):
    """The busiest 32 have a row, and those that were among them; a note has the others."""
    samples, summary = here.path("many.jsonl"), here.path("many.json")
    job = Job(here, [here.toll, "run", "--threads", "-o", samples, "--summary", "json", "--summary-to",
                     summary], ["0.002"] * 60)
    job.wait_until_used()
    until(lambda: len({row["tid"] for look in looks(samples) for row in look}) >= 32, "rows of 32")
    assert job.end() == 0
    found = json.loads(summary.read_text())
    assert 32 <= len(rows(found)) == len(found["threads"]) <= 256
    further = [n for n in notes(found) if "more threads used" in n]
    # The look may have come before some of them had used anything.
    assert further or len(rows(found)) > 32
    assert not further or len(rows(found)) < 61


def test_the_block(here):
    samples = here.path("block.jsonl")
    job = Job(here, [here.toll, "run", "--threads", "-o", samples, "--summary-to", here.path("text")],
              ["0.1"])
    job.wait_until_used()
    until(lambda: '"uses 0.1 ' in samples.read_text(), "a look")
    assert job.end() == 0
    text = here.path("text").read_text()
    assert "Busiest threads" in text and "uses 0.1 " in text
