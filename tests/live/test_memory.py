# SPDX-License-Identifier: MIT
"""Memory, faults and context switches."""
import json
import os
import sys

import pytest
from livelib import PAGE, not_sanitized

MIB = 1 << 20


def test_shared_memory(place):
    """Six children, one region of 100 MiB: RSS has it six times, PSS once, USS not at all."""
    count, size = 6, 100 * MIB
    result = place.run([place.helper("share"), str(count), str(size // MIB), "3000"],
                       ["-i", "50ms", "--memory", "pss"])
    assert result.status == 0
    # 5 %: programs and libraries of seven processes come on top, under 1 MiB each.
    assert result.largest("memory_rss_bytes") == pytest.approx(count * size, rel=0.05)
    # PSS is read of one process after the other; while a child comes or goes the shares do not
    # add up for a moment (the first reads see fewer sharers): 5 % of the median, not of the peak.
    assert result.figure("memory_pss_bytes")["p50"] == pytest.approx(size, rel=0.05)
    assert result.figure("memory_uss_bytes")["p50"] < 5 * MIB
    # All resident shared pages, once for each process. Read once a second: for that long the parent
    # is still believed to have what it has let go, so the median of three seconds.
    assert result.figure("memory_shared_bytes")["p50"] == pytest.approx(count * size, rel=0.05)


def test_peak_of_the_sum_is_not_the_sum_of_peaks(place):
    """Two children of 60 MiB one after the other need 60 MiB, two at a time need 120."""
    one = f"{place.helper('faults')} 60 300"
    after = place.run(["sh", "-c", f"{one}; {one}"], ["-i", "10ms"])
    at_once = place.run(["sh", "-c", f"{one} & {one} & wait"], ["-i", "10ms"])
    # Each holds its memory for 300 naps of 1 ms and more: 30 samples at least. The shell and the
    # programs' own pages are under 5 MiB.
    assert after.largest("memory_rss_bytes") == pytest.approx(60 * MIB, abs=5 * MIB)
    assert at_once.largest("memory_rss_bytes") == pytest.approx(120 * MIB, abs=8 * MIB)
    # The largest single process is the same in both, to some pages.
    for result in (after, at_once):
        assert result.largest("memory_peak_bytes") == pytest.approx(60 * MIB, abs=3 * MIB)


def test_peak_between_two_samples(place):
    """100 MiB for a moment, and no sample in between: the kernel's high-water mark has it."""
    result = place.run([place.helper("faults"), "100", "0"], ["-i", "10s"])
    assert result.largest("memory_peak_bytes") == pytest.approx(100 * MIB, abs=3 * MIB)
    assert result.quality("memory_peak_bytes") == "exact if reaped"


def test_main_peak_is_not_below_what_was_seen(place):
    """Whatever is said of the main process alone, its largest is no less than its resident memory
    at any sample."""
    result = place.run([place.helper("faults"), "50", "200"], ["-i", "10ms"])
    seen = result.largest("memory_rss_bytes", "main")
    assert seen >= 50 * MIB
    assert result.largest("memory_peak_bytes", "main") >= seen


def test_high_water_mark_of_the_caller_is_not_the_jobs(place):
    """ru_maxrss survives exec: a large program that starts toll must not show in the job."""
    file = place.path("s.json")
    big = ("import os, sys; block = bytearray(300 << 20); "
           "block[::4096] = b'x' * len(block[::4096]); os.execv(sys.argv[1], sys.argv[1:])")
    status, _, err = place.call([sys.executable, "-c", big, place.toll, "run", "--summary", "json",
                                 "--summary-to", file, "--", "sleep", "0.2"])
    assert status == 0, err
    peak = json.loads(file.read_text())["target"]["combined"]["memory_peak_bytes"]
    assert 0 < peak["max"] < 20 * MIB


@not_sanitized
def test_peak_of_a_tiny_program_is_its_own(place):
    """Smaller than toll's child is before exec: the launcher's mark must not be called exact."""
    result = place.run([place.helper("tiny"), "mark"])
    assert result.status == 0
    truth = int(place.path("mark").read_text()) * 1024
    peak = result.figure("memory_peak_bytes")
    # 256 KiB: the end of the program comes after its look, and the kernel counts roughly.
    assert peak["quality"] != "exact if reaped" or peak["max"] <= truth + MIB // 4


@pytest.fixture
def counted(place):
    """A program with a known number of faults and switches, with the truth of wait4 beside it."""
    result = place.run([place.helper("truth"), "truth.json", place.helper("faults"), "64", "200"],
                       ["-i", "100ms"])
    assert result.status == 0
    return result, json.loads(place.path("truth.json").read_text())


def test_faults_and_switches_are_those_of_wait4(counted):
    """The wrapper's own rusage was read before its last breath: what comes after is a few page
    faults of closing a file and of exit, and a switch or two."""
    result, truth = counted
    child, wrapper = truth["child"], truth["self"]
    assert child["minor"] >= 64 * MIB // PAGE
    assert child["voluntary"] >= 200
    for metric, key, rest in [("faults_minor", "minor", 60), ("faults_major", "major", 5),
                              ("switches_voluntary", "voluntary", 5),
                              ("switches_involuntary", "involuntary", 10)]:
        expected = child[key] + wrapper[key]
        assert expected <= result.total(metric) <= expected + rest, metric
    assert result.quality("faults_minor") == "exact if reaped"
    assert result.quality("switches_voluntary") == "exact if reaped"
    # The kernel counts resident pages of three kinds on every CPU apart, and its high-water mark is
    # taken without adding up: each CPU may be off by a batch of each kind.
    cpus = os.cpu_count()
    slack = 3 * cpus * max(32, 2 * cpus) * PAGE
    assert result.largest("memory_peak_bytes") == pytest.approx(child["maxrss"], abs=slack)


def test_faults_repeat_a_bare_run(place):
    """The same program under toll faults as often as without: the loader's luck is some pages."""
    program = [place.helper("faults"), "32", "0"]
    place.call([place.helper("truth"), "truth.json", *program])
    bare = json.loads(place.path("truth.json").read_text())["child"]
    result = place.run(program)
    # toll forks where the wrapper forks too: a few pages copied before exec differ.
    assert result.total("faults_minor") == pytest.approx(bare["minor"], abs=100)


def test_switches_of_threads_that_exited(place):
    """/proc/PID/status knows those of the main thread only; rusage those of all that ever were."""
    result = place.run([place.helper("truth"), "truth.json", place.helper("burn"), "5", "40"],
                       ["-i", "1s"])
    truth = json.loads(place.path("truth.json").read_text())
    for metric, key in [("switches_voluntary", "voluntary"),
                        ("switches_involuntary", "involuntary")]:
        expected = truth["child"][key] + truth["self"][key]
        assert expected <= result.total(metric) <= expected + 10, metric


def test_rss_only(place):
    """--memory rss never reads PSS: it is unknown then, not zero."""
    result = place.run(["sleep", "0.3"], ["--memory", "rss", "-i", "10ms"])
    figure = result.summary["target"]["combined"].get("memory_pss_bytes")
    assert figure is None or figure.get("quality") == "unknown"
    assert result.largest("memory_rss_bytes") > 0
