# SPDX-License-Identifier: MIT
"""Memory, faults and context switches; how many processes there are."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import attachlib
import pytest
from livelib import GUARD, PAGE, Result, children_of, not_sanitized, until
from recordlib import read_record

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


# Processes with a shared region each of which fills and drops memory of its own, all the time.
QUICK = """
import mmap, os, sys
shared = mmap.mmap(-1, 32 << 20)
shared.write(b"x" * (32 << 20))
for _ in range(3):
    if os.fork() == 0:
        break
total = sum(shared[i] for i in range(0, 32 << 20, 4096))
while not os.path.exists("release"):
    for size in (24, 1, 12, 2):
        kept = mmap.mmap(-1, size << 20)
        for at in range(0, size << 20, 4096):
            kept[at] = 1
        kept.close()
try:  # "release" may be gone once the first process has ended
    while True:
        os.wait()
except ChildProcessError:
    pass
"""


# As often as the budget of measuring allows it, which is a few times a second, and at every sample.
@pytest.mark.parametrize("options, wanted", [(["--memory", "pss"], 400), ([], 20)])
def test_pss_is_never_above_rss(place, options, wanted):
    """Of any row of any sample, of a process that has left, and of the whole run: they are of one moment,
    however quickly memory comes and goes between the readings of two files."""
    record = place.path("run.jsonl")

    def rounds():
        text = record.read_text() if record.exists() else ""
        return len(re.findall(r'"memory_pss_bytes":\d', text))
    with place.popen([place.toll, "run", "-q", "-i", "5ms", "--processes", "all", *options, "-o", record,
                      "--", "python3", "-S", "-c", QUICK]) as p:
        until(lambda: rounds() >= wanted or p.poll() is not None, "readings")
        place.path("release").touch()
        assert p.wait(timeout=GUARD) == 0
    rows = 0
    for line in map(json.loads, record.read_text().splitlines()):
        figures = [line] if line["type"] == "process" else []
        if line["type"] == "sample":
            figures = [*line["target"].values(), *line.get("processes", [])]
        for row in figures:
            if row.get("memory_pss_bytes") is not None:
                rows += 1
                assert row["memory_uss_bytes"] <= row["memory_pss_bytes"] <= row["memory_rss_bytes"], line
        for part in line["target"].values() if line["type"] == "summary" else ():
            for key in ("max", "last"):
                pss, rss = (part[f"memory_{kind}_bytes"].get(key) for kind in ("pss", "rss"))
                assert pss is None or pss <= rss, (key, part["memory_pss_bytes"], part["memory_rss_bytes"])
    assert rows >= wanted


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


# ---- One memory that several processes have --------------------------------------------------------

def samples_of(path):
    """Whole lines so far of a record that is being written."""
    text = path.read_text() if path.exists() else ""
    lines = read_record(text[:text.rfind("\n") + 1])
    return [line for line in lines if line["type"] == "sample"]


def run_until_seen(place, command, seen, options=()):
    """toll run of a job that waits for "release": it is released once `seen` holds of the samples."""
    record, summary = place.path("run.jsonl"), place.path("s.json")
    words = [place.toll, "run", "-i", "20ms", "-o", record, "--summary", "json", "--summary-to",
             summary, *options, "--", *command]
    with place.popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                     stderr=subprocess.PIPE) as p:
        until(lambda: p.poll() is not None or seen(samples_of(record)), "the samples")
        place.path("release").touch()
        out, err = p.communicate(timeout=GUARD)
    assert p.returncode == 0, err
    return Result(p.returncode, out, err, summary), samples_of(record)


def with_processes(samples, count, metric="memory_rss_bytes"):
    """Samples that saw so many processes at once, and know the figure."""
    return [s for s in samples if s["target"]["combined"].get("processes") == count and
            s["target"]["combined"].get(metric) is not None]


# Pages of programs, libraries and stacks of a second process, and what the kernel counts roughly.
OTHER_PAGES = 8 * MIB


@pytest.mark.parametrize("how", ["vfork", "clone"])
def test_memory_of_a_child_that_shares_it_counts_once(place, how):
    """A child before exec has the memory of its parent: 200 MiB remain 200 MiB in every figure,
    and the descendants have none of it."""
    result, samples = run_until_seen(
        place, [place.helper("onemem"), how, "200"],
        lambda seen: len(with_processes(seen, 2, "memory_pss_bytes")) >= 3, ["--memory", "pss"])
    truth = int(place.path("mark").read_text())
    assert truth >= 200 * MIB
    both = with_processes(samples, 2)
    assert both
    for s in both:
        for metric in ("rss", "pss", "uss", "distinct"):
            combined = s["target"]["combined"].get(f"memory_{metric}_bytes")
            rest = s["target"]["descendants"].get(f"memory_{metric}_bytes")
            assert combined is None or combined <= truth + OTHER_PAGES, metric
            assert rest is None or rest <= OTHER_PAGES, metric
    for metric in ("rss", "pss", "uss", "distinct"):
        largest = result.largest(f"memory_{metric}_bytes")
        assert 200 * MIB <= largest <= truth + OTHER_PAGES, metric
        rest = result.figure(f"memory_{metric}_bytes", "descendants")
        if "max" in rest:
            assert rest["max"] <= OTHER_PAGES, metric
        else:
            # "true", which the child has become, had memory of its own when it was seen, and had
            # ended when its page tables were to be read.
            assert how == "vfork" and metric != "rss" and rest["quality"] == "unknown", metric
            assert result.largest("memory_rss_bytes", "descendants") > 0
    # One of those for which the job was held: a later one may have seen "true".
    one = with_processes(samples, 2, "memory_pss_bytes")[0]["target"]
    assert one["combined"]["memory_virtual_bytes"] == one["main"]["memory_virtual_bytes"]
    peak = result.figure("memory_peak_bytes", "descendants")
    assert peak.get("max", 0) <= OTHER_PAGES


def test_memory_shared_by_orphans_counts_once(place):
    """The parent that made them has gone: its two children still have but one memory."""
    result, samples = run_until_seen(
        place, [place.helper("onemem"), "orphans", "200"],
        lambda seen: len([s for s in with_processes(seen, 3, "memory_pss_bytes")
                          if place.path("mark").exists()]) >= 3, ["--memory", "pss"])
    truth = int(place.path("mark").read_text())
    assert truth >= 200 * MIB
    assert 200 * MIB <= result.largest("memory_rss_bytes") <= truth + OTHER_PAGES
    assert 200 * MIB <= result.largest("memory_uss_bytes") <= truth + OTHER_PAGES
    assert 200 * MIB <= result.largest("memory_rss_bytes", "descendants") <= truth + OTHER_PAGES


@pytest.mark.parametrize("is_attached", [False, True], ids=["run", "attach"])
def test_memory_after_the_main_thread_has_ended(place, is_attached):
    """Its files are those of a zombie then; the other threads show what the process has."""
    names = ["memory_rss_bytes", "memory_pss_bytes", "memory_virtual_bytes", "open_files"]
    command, options = [place.helper("onemem"), "leader", "100"], ["--memory", "pss"]

    def is_seen(samples):
        rows = [s["target"]["main"] for s in samples if "target" in s]
        return any(row.get("memory_pss_bytes", 0) >= 100 * MIB for row in rows)

    if is_attached:
        with attachlib.running(place, *command) as job:
            until(lambda: "zombie" in pathlib.Path(f"/proc/{job.pid}/status").read_text(), "its end")
            toll = attachlib.attach(place, "-i", "20ms", *options, job.pid)
            until(lambda: is_seen(toll.rows()), "the memory")
            place.path("release").touch()
            toll.wait()
        figures = {name: toll.figure(name, part="main") for name in names}
    else:
        result, _ = run_until_seen(place, command, is_seen, options)
        figures = {name: result.figure(name, "main") for name in names}
    truth = int(place.path("mark").read_text())
    for name in names[:2]:
        assert 100 * MIB <= figures[name]["max"] <= truth + OTHER_PAGES, (name, figures[name])
    assert figures["memory_virtual_bytes"]["max"] >= 100 * MIB
    assert figures["open_files"]["max"] >= 3


def test_memory_of_a_plain_fork_counts_for_both(place):
    """A forked child has page tables of its own: RSS has what both have."""
    # Half of it is written anew: 150 MiB in pages, once that is done. While it goes on, and when one
    # of them ends, the two are read at different moments.
    def seen(samples):
        return any(sample["target"]["combined"]["memory_pss_bytes"] ==
                   pytest.approx(150 * MIB, abs=OTHER_PAGES)
                   for sample in with_processes(samples, 2, "memory_pss_bytes")[-2:])
    result, _ = run_until_seen(place, [place.helper("onemem"), "fork", "100"], seen,
                               ["--memory", "pss"])
    assert result.largest("memory_rss_bytes") == pytest.approx(200 * MIB, abs=OTHER_PAGES)


def test_python_that_starts_programs(place):
    """subprocess.run vforks: again and again a second process shows 300 MiB for a moment."""
    loop = ("import os, resource, subprocess\n"
            "block = bytearray(b'x') * (300 << 20)\n"
            "while not os.path.exists('release'):\n"
            "    subprocess.run(['true'])\n"
            "with open('mark', 'w') as f:\n"
            "    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, file=f)\n")
    # PSS is read less often, and the first time while the block is being filled.
    result, _ = run_until_seen(
        place, [sys.executable, "-c", loop],
        lambda seen: len([s for s in with_processes(seen, 2)
                          if s["target"]["main"]["memory_rss_bytes"] >= 300 * MIB]) >= 20 and
        any((s["target"]["combined"].get("memory_uss_bytes") or 0) >= 300 * MIB for s in seen),
        ["-i", "5ms"])
    truth = int(place.path("mark").read_text())
    for metric in ("rss", "pss", "uss", "distinct"):
        assert 300 * MIB <= result.largest(f"memory_{metric}_bytes") <= truth + OTHER_PAGES, metric
        assert result.figure(f"memory_{metric}_bytes")["mean"] <= truth + OTHER_PAGES, metric


def test_phase_of_a_process_with_a_sharing_child(place):
    """What a phase says of a process and its descendants has the memory once, too."""
    script = (f"{place.toll} mark phase begin work; exec {place.helper('onemem')} vfork 100")
    result, samples = run_until_seen(place, ["sh", "-c", f"({script}); true"],
                                     lambda seen: len(with_processes(seen, 3)) >= 3)
    truth = int(place.path("mark").read_text())
    phase = next(p for p in result.summary["phases"] if p["name"] == "work")
    assert with_processes(samples, 3)
    assert 100 * MIB <= phase["figures"]["memory_rss_bytes"]["max"] <= truth + OTHER_PAGES


def test_attached_to_a_process_with_a_sharing_child(place):
    """Attached to both, each target has the memory, and all together has it once."""
    with attachlib.running(place, place.helper("onemem"), "vfork", "100") as job:
        child = until(lambda: children_of(job.pid), "the child")[0]
        attached = attachlib.attach(place, "-i", "20ms", job.pid, child)
        until(lambda: len(attached.rows()) >= 3, "samples")
        place.path("release").touch()
        attached.wait()
    truth = int(place.path("mark").read_text())
    most = attached.figure("memory_rss_bytes")["max"]
    assert 100 * MIB <= most <= truth + OTHER_PAGES
    names = [t["name"] for t in attached.summary["targets"]]
    assert 100 * MIB <= attached.figure("memory_rss_bytes", names[0])["max"] <= truth + OTHER_PAGES
    assert 100 * MIB <= attached.figure("memory_rss_bytes", names[1])["max"] <= truth + OTHER_PAGES


# ---- Figures of one round --------------------------------------------------------------------------

@pytest.mark.parametrize("options", [[], ["--memory", "pss"], ["-i", "5ms"]])
def test_all_have_no_less_than_the_main_process(place, options):
    """Children that come and go all the time: in every sample and in the summary, what all have
    is no less than what the main process has, and that was 200 MiB."""
    def seen(samples):
        full = [s for s in samples if (s["target"]["combined"].get("memory_pss_bytes") or 0) >=
                200 * MIB]
        return len(full) >= 1 and len(samples) >= 40
    result, samples = run_until_seen(place, [place.helper("onemem"), "spawn", "200"], seen, options)
    truth = int(place.path("mark").read_text())
    for s in samples:
        combined, main = s["target"]["combined"], s["target"]["main"]
        for metric in ("rss", "pss", "uss", "shared", "swap", "distinct"):
            key = f"memory_{metric}_bytes"
            if main.get(key) is not None and main.get("processes") == 1:
                assert combined.get(key) is not None, (key, s)
                assert combined[key] >= main[key], (key, s)
    for metric in ("rss", "pss", "uss", "shared", "swap", "distinct"):
        key = f"memory_{metric}_bytes"
        all_of_it, main = result.figure(key), result.figure(key, "main")
        assert all_of_it["max"] >= main["max"], key
        assert all_of_it["mean"] >= main["mean"], key
    # Of the program that is spawned a few MiB at once come on top.
    for metric in ("rss", "pss", "uss", "distinct"):
        assert 200 * MIB <= result.largest(f"memory_{metric}_bytes") <= truth + OTHER_PAGES, metric


# ---- Large trees, and samples that were skipped ----------------------------------------------------

SKIPPED = "samples were skipped"


@pytest.mark.parametrize("what, count", [("processes", 2500), ("threads", 2500)])
def test_all_members_are_counted(place, what, count):
    """Thousands that sleep: a sample that is taken while all are there counts them all."""
    def seen(samples):
        mark = place.path("mark")
        text = mark.read_text() if mark.exists() else ""
        return text.endswith("\n") and any(s["target"]["combined"].get(what) == int(text)
                                           for s in samples)
    result, _ = run_until_seen(place, [place.helper("crowd"), what, str(count), "100000"], seen)
    truth = int(place.path("mark").read_text())
    assert truth > 100, "this machine allows but few"
    assert result.largest(what) == truth


def test_a_peak_that_was_missed_is_a_lower_bound(place):
    """All are there for two seconds, at the pace that toll chooses: it has counted them, or says
    that it skipped samples. What samples skip is never called sampled."""
    result = place.run([place.helper("crowd"), "processes", "2500", "2000"])
    truth = int(place.path("mark").read_text())
    figure = result.figure("processes")
    assert figure["max"] <= truth
    if figure["max"] < truth:
        assert figure["quality"] == "lower bound"
    if figure["quality"] == "lower bound":
        assert [n for n in result.notes if SKIPPED in n]


def test_descendants_that_no_sample_saw(place):
    """They are known, and so is the largest: 0 B is not their memory, nor is what samples had the
    memory of all. All files agree."""
    script = ("import os, time; time.sleep(1); child = os.fork()\n"
              "if not child: bytearray(b'x') * (60 << 20); os._exit(0)\n"
              "os.waitpid(child, 0)")
    result = place.run(["/usr/bin/python3", "-S", "-c", script], ["-i", "60s", "-o", "run.jsonl"])
    if result.figure("processes", "descendants").get("max"):
        pytest.skip("the machine was so busy that the first sample saw the child")
    assert result.total("processes_started", "descendants") >= 1
    assert result.largest("memory_rss_bytes") >= 60 * MIB
    for metric in ("memory_rss_bytes", "memory_pss_bytes", "memory_virtual_bytes"):
        assert result.quality(metric) in ("lower bound", "unknown"), metric
        assert result.quality(metric, "descendants") == "unknown", metric
    assert result.quality("threads", "descendants") == "unknown"
    status, out, _ = place.call([place.toll, "list", "--json", "run.jsonl"])
    assert status == 0
    row = json.loads(out)[0]
    assert row["memory_quality"] == result.quality("memory_rss_bytes")


def test_samples_that_were_skipped_are_said(place):
    """toll is stopped for some seconds while memory comes and goes."""
    record, summary = place.path("run.jsonl"), place.path("s.json")
    with place.popen([place.toll, "run", "-i", "20ms", "-o", record, "--summary", "json",
                      "--summary-to", summary, "--", "sh", "-c",
                      "until [ -e release ]; do sleep 0.05; done"],
                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
        until(lambda: len(samples_of(record)) >= 3, "samples")
        p.send_signal(signal.SIGSTOP)
        time.sleep(2)  # how long it is stopped, not how long something takes
        p.send_signal(signal.SIGCONT)
        place.path("release").touch()
        out, err = p.communicate(timeout=GUARD)
    result = Result(p.returncode, out, err, summary)
    assert p.returncode == 0, err
    for metric in ("memory_rss_bytes", "threads", "processes", "open_files"):
        assert result.quality(metric) == "lower bound", metric
    assert [n for n in result.notes if SKIPPED in n]
