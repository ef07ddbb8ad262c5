# SPDX-License-Identifier: MIT
"""Every call that can fail is made to fail, one after the other.

Whatever fails in toll, the job is either not started, with a sentence that says why, or it runs
and its exit status is passed on; its stdout is its own; no file is left with half a piece in it.
"""

import csv
import json
import os
import signal
import subprocess

import pytest

TOLL = os.environ["TOLL"]
FAULTS = os.path.join(os.environ["TOLL_BUILD"], "tests", "fakes", "faults.so")
SANITIZED = "TOLL_SANITIZED" in os.environ
# regcomp of the C library loses a few bytes when it gets no memory.
LEAKS_OF_OTHERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "leaks_of_others.supp")
LSAN_OPTIONS = f"suppressions={LEAKS_OF_OTHERS}:print_suppressions=0"

# No run of a job that ends at once takes this long; a hang would.
TIMEOUT = 120
# Behind these many calls the steps grow, so that a kind that is called often stays affordable.
EVERY_CALL_UP_TO = 16

# Long enough for some samples, with a child and an orphan.
JOB = "echo out; : > started; (sleep 0.01 &); sleep 0.02; exit 7"
# … and one that says where it is.
MARKS = f"{TOLL} mark phase begin p k=v; {TOLL} mark event e k=v; {TOLL} mark gauge g 1"
MARKING_JOB = f"echo out; : > started; {MARKS}; {TOLL} mark phase end p; exit 7"


class Outcome:
    """One run of toll with faults."""

    def __init__(self, directory, fault, options=(), job=JOB):
        self.fault = fault
        self.directory = directory
        directory.mkdir()
        self.command = [TOLL, "run", "-i", "1ms", *options]
        for name in ("x.csv", "x.jsonl", "x.json"):
            self.command += ["-o", str(directory / name)]
        self.command += ["--", "sh", "-c", job]
        env = {
            **os.environ,
            "LD_PRELOAD": FAULTS,
            "TOLL_FAULT": fault,
            "TOLL_FAULT_FIRED": str(directory / "fired"),
        }
        # What a sanitizer finds ends toll with a signal, which no job looks like.
        env["ASAN_OPTIONS"] = "abort_on_error=1:verify_asan_link_order=0:allocator_may_return_null=1"
        env["UBSAN_OPTIONS"] = "abort_on_error=1:print_stacktrace=1"
        env["LSAN_OPTIONS"] = LSAN_OPTIONS
        done = subprocess.run(
            self.command,
            cwd=directory,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
        self.status = done.returncode
        self.stdout = done.stdout
        self.stderr = done.stderr

    @property
    def fired(self):
        return (self.directory / "fired").exists()

    @property
    def started(self):
        return (self.directory / "started").exists()

    def __str__(self):
        return f"{self.fault}: status {self.status}\n{self.stderr}"


def check_csv(path):
    text = path.read_text()
    assert text == "" or text.endswith("\n"), "half a row"
    rows = list(csv.reader(text.splitlines()))
    assert all(len(row) == len(rows[0]) for row in rows), "a row with other columns"


def check_jsonl(path):
    text = path.read_text()
    assert text == "" or text.endswith("\n"), "half a line"
    for line in text.splitlines():
        assert isinstance(json.loads(line), dict)


def check_json(path, outcome):
    text = path.read_text()
    if text == "":  # it could not be written, and somebody was told, unless that failed too
        silenced = outcome.fault.startswith("write:") and "+" in outcome.fault
        assert outcome.stderr or silenced, "an empty summary, and not a word about it"
    else:
        assert json.loads(text)["schema"]


def check(outcome):
    assert outcome.status >= 0, f"toll died of {signal.Signals(-outcome.status).name}: {outcome}"
    assert "Sanitizer" not in outcome.stderr and "runtime error" not in outcome.stderr, outcome
    if outcome.started:
        assert outcome.status == 7, outcome
        assert outcome.stdout == "out\n", outcome
    else:
        assert outcome.status in (125, 126, 127), outcome
        assert outcome.stderr.startswith("toll: "), outcome
        assert outcome.stdout == "", outcome
    for name, look in (("x.csv", check_csv), ("x.jsonl", check_jsonl)):
        if (outcome.directory / name).exists():
            look(outcome.directory / name)
    if (outcome.directory / "x.json").exists():
        check_json(outcome.directory / "x.json", outcome)
    if not outcome.started:
        left = {entry.name for entry in outcome.directory.iterdir()} - {"fired"}
        assert not left, f"left behind for a job that was never started: {left}"


def walk(tmp_path, kind, suffix="", options=(), job=JOB):
    """The first call fails, then the second, … until a run ends before its turn comes."""
    n = 1
    while True:
        outcome = Outcome(tmp_path / str(n), f"{kind}:{n}{suffix}", options, job)
        check(outcome)
        if not outcome.fired:
            # Nothing failed, so nothing may be missing.
            assert outcome.started
            for name in ("x.csv", "x.jsonl", "x.json"):
                assert (outcome.directory / name).stat().st_size > 0
            return n - 1
        n += 1 if n < EVERY_CALL_UP_TO else n // 8
        assert n < 100000, "the fault comes up however often the call is made"


KINDS = [
    "malloc",
    "calloc",
    "realloc",
    "open",
    "read",
    "pread",
    "write",
    "fork",
    "epoll_create1",
    "timerfd_create",
    "signalfd",
    "pipe2",
    "mmap",
    "poll",
    "waitid",
    "wait4",
]


@pytest.fixture(autouse=True)
def library():
    if not os.path.exists(FAULTS):
        pytest.skip("faults.so was not built")


@pytest.mark.parametrize("kind", KINDS)
def test_one_failure(tmp_path, kind):
    walk(tmp_path, kind)


@pytest.mark.parametrize("error", ["EINVAL", "EPERM", "ENOSYS"])
def test_nothing_can_be_waited_for(tmp_path, error):
    """The end of the command is seen all the same, and toll does not go on for ever."""
    outcome = Outcome(tmp_path / "x", f"waitid:1+:{error},wait4:1+:{error}")
    assert outcome.started and outcome.stdout == "out\n", outcome
    assert outcome.status == 125, outcome
    assert "cannot wait for the command; its exit status is unknown" in outcome.stderr, outcome
    end = json.loads((outcome.directory / "x.json").read_text())["end"]
    assert end["status"] == "unknown" and end["code"] is None


def test_ends_that_cannot_be_looked_at(tmp_path):
    """Without waitid, wait4 has the status, and what was used."""
    job = "i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; (sleep 0.01 &); : > started; exit 7"
    outcome = Outcome(tmp_path / "x", "waitid:1+:EPERM", job=job)
    assert outcome.status == 7, outcome
    cpu = json.loads((outcome.directory / "x.json").read_text())["target"]["combined"]["cpu_seconds"]
    assert cpu["total"] > 0


@pytest.mark.parametrize("kind", KINDS)
def test_from_then_on(tmp_path, kind):
    """It does not get better: no memory, no descriptors, no room on the disk any more."""
    walk(tmp_path, kind, "+")


@pytest.mark.parametrize("suffix", ["", "+"])
@pytest.mark.parametrize("kind", ["malloc", "calloc", "realloc"])
def test_marks_without_memory(tmp_path, kind, suffix):
    walk(tmp_path, kind, suffix, job=MARKING_JOB)


# ---- What runs already ---------------------------------------------------------------------------


def observe(directory, fault, words):
    """toll attach or system with a fault: it measures, or it says why not, and exits with 125."""
    directory.mkdir()
    env = {
        **os.environ,
        "LD_PRELOAD": FAULTS,
        "TOLL_FAULT": fault,
        "TOLL_FAULT_FIRED": str(directory / "fired"),
        "ASAN_OPTIONS": "abort_on_error=1:verify_asan_link_order=0:allocator_may_return_null=1",
        "LSAN_OPTIONS": LSAN_OPTIONS,
        "UBSAN_OPTIONS": "abort_on_error=1:print_stacktrace=1",
    }
    done = subprocess.run(
        [TOLL, *words, "-i", "1ms", "--for", "15ms", "-o", "x.csv", "-o", "x.jsonl"],
        cwd=directory,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    told = f"{fault}: status {done.returncode}\n{done.stderr}"
    assert done.returncode in (0, 125), told
    assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr, told
    assert done.returncode == 0 or "toll: " in done.stderr, told
    for name, look in (("x.csv", check_csv), ("x.jsonl", check_jsonl)):
        if (directory / name).exists():
            look(directory / name)
    return (directory / "fired").exists()


@pytest.mark.parametrize("suffix", ["", "+"])
@pytest.mark.parametrize("kind", ["malloc", "calloc", "realloc", "open", "read", "pread", "poll"])
@pytest.mark.parametrize("what", ["attach", "system"])
def test_what_runs_already(tmp_path, what, kind, suffix):
    words = [what] if what == "system" else [what, f"a={os.getpid()}", "--match=pytest", "--network"]
    n = 1
    while observe(tmp_path / str(n), f"{kind}:{n}{suffix}", words):
        n += 1 if n < EVERY_CALL_UP_TO else n // 5
        assert n < 100000, "the fault comes up however often the call is made"


@pytest.mark.parametrize(
    "kind, error",
    [("open", "ENOENT"), ("open", "EACCES"), ("pread", "ESRCH"), ("pread", "EACCES"),
     ("read", "EAGAIN"), ("write", "EPIPE")],
)
def test_other_errors(tmp_path, kind, error):
    walk(tmp_path, kind, ":" + error)


@pytest.mark.parametrize("kind", ["read", "pread", "write", "poll"])
def test_interrupted(tmp_path, kind):
    """A call that was only interrupted is made again: nothing is lost by it."""
    for n in range(1, 12):
        outcome = Outcome(tmp_path / str(n), f"{kind}:{n}:EINTR")
        check(outcome)
        assert outcome.status == 7, outcome
        assert "cannot" not in outcome.stderr and "could not" not in outcome.stderr, outcome
        summary = json.loads((outcome.directory / "x.json").read_text())
        assert summary["end"]["code"] == 7


def test_short_writes(tmp_path):
    """What a call leaves over is written by the next one."""
    outcome = Outcome(tmp_path / "run", "write:1+:SHORT")
    check(outcome)
    assert outcome.fired
    lines = (outcome.directory / "x.jsonl").read_text().splitlines()
    assert json.loads(lines[0])["type"] == "run"
    assert json.loads(lines[-1])["type"] == "summary"
    assert json.loads((outcome.directory / "x.json").read_text())["end"]["code"] == 7


def test_a_full_disk_is_told(tmp_path):
    """The first write is that of the head of x.jsonl; the summary on the terminal says so."""
    outcome = Outcome(tmp_path / "run", "write:1:ENOSPC")
    check(outcome)
    assert outcome.fired
    assert "x.jsonl" in outcome.stderr and "No space left on device" in outcome.stderr


def test_no_descriptors_left_for_measuring(tmp_path):
    """The job has descriptors of its own; that toll has none more does not stop it."""
    outcome = Outcome(tmp_path / "run", "open:9+:EMFILE")
    check(outcome)


@pytest.mark.skipif(SANITIZED, reason="one build is enough")
def test_the_job_is_left_alone(tmp_path):
    """The variables that ask for faults do not reach it."""
    job = "env; : > started; exit 7"
    outcome = Outcome(tmp_path / "run", "write:100000", job=job)
    assert outcome.status == 7
    assert "TOLL_FAULT" not in outcome.stdout and "LD_PRELOAD" not in outcome.stdout
