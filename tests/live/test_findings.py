# SPDX-License-Identifier: MIT
"""Findings of reports: for each kind a load that has it, and a twin that differs in just that and has
it not. Neither depends on the speed of the machine: where a load must get a CPU it has the highest
priority, and a twin is kept from its finding by the kernel, not by the clock."""
import html
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import pytest
from cgrouplib import group, try_to_remove  # noqa: F401
from conftest import make_place
from livelib import GUARD, IS_ROOT, job_until, recorded, until
from test_gpus import Driver

MIB = 1 << 20
FIRST = ["chrt", "--rr", "1"]  # a nice value would count only within the session
ONE_CPU = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
LONG = "1.2"  # seconds, as any run that is judged takes

comes_first = pytest.mark.skipif(
    not shutil.which("chrt") or subprocess.run([*FIRST, "true"], check=False, capture_output=True).returncode,
    reason="real-time priority is not allowed")
several_cpus = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is only one CPU")
DOCUMENTED = re.findall(r"^\| `([a-z-]+)` \|",
                        (pathlib.Path(__file__).parents[2] / "docs/report.md").read_text(), re.M)


class Findings(dict):
    """Key to (weight, sentence with its evidence)."""

    def __init__(self, path):
        text = path.read_text()
        items = re.findall(r'<li class="(\w+)" data-finding="([a-z-]+)">(.*?)</li>', text, re.S)
        super().__init__((key, (weight, html.unescape(words))) for weight, key, words in items)
        assert set(self) <= set(DOCUMENTED)
        assert all("<small>" in words for _, words in self.values()), "evidence"
        for one in ("waiting-for-cpu", "cpu-throttled"):
            assert one not in self or not {"serial", "cores-idle"} & set(self), "a contradiction"


def find(place, command, before=(), options=("-i", "50ms"), **kw):
    """The findings of a run; `before` starts toll, with the limits that its job inherits. Its record
    has the same."""
    status, _, err = place.call([*before, place.toll, "run", "-q", *options, "-o", "r.html",
                                 "-o", "r.jsonl", "--", *command], **kw)
    assert b"toll:" not in err, err
    found = Findings(place.path("r.html"))
    place.path("r.html").unlink()
    subprocess.run([place.toll, "report", place.path("r.jsonl"), "-o", place.path("r.html")], check=True)
    assert Findings(place.path("r.html")) == found
    for name in ("r.html", "r.jsonl"):
        place.path(name).unlink()
    return found, status


# ---- CPU ------------------------------------------------------------------------------------------

@comes_first
@several_cpus
def test_serial(here):
    job = [*FIRST, here.helper("burn"), "1500"]
    found, _ = find(here, job)
    assert "serial" in found and "cores-idle" not in found
    found, _ = find(here, job, ONE_CPU)
    assert "serial" not in found and "cores-idle" not in found


@comes_first
@several_cpus
def test_cores_idle_and_a_job_that_does_not_compute(here):
    found, _ = find(here, [*FIRST, "sleep", LONG])
    assert "cores-idle" in found
    assert not {"serial", "waiting-for-cpu", "one-process", "too-short"} & set(found)
    found, _ = find(here, ["sleep", LONG], ONE_CPU)
    assert "cores-idle" not in found


@comes_first
def test_waiting_for_cpu(here):
    """Three that compute on one CPU: each waits while the others run. The twin sleeps."""
    burn = here.helper("burn")
    found, _ = find(here, [burn, "500", "3"], ONE_CPU)
    assert "waiting-for-cpu" in found
    found, _ = find(here, [*FIRST, "sleep", LONG], ONE_CPU)
    assert "waiting-for-cpu" not in found


def test_throttled(here, group):  # noqa: F811
    job = [here.helper("burn"), "250"]
    group.come_first()  # a job that does not get its quota is not held back by it
    group.set_quota(0.2)
    found, _ = find(here, job, group.join([]))
    assert "cpu-throttled" in found and not {"waiting-for-cpu", "limit-hit"} & set(found)
    assert "quota 0.20 cores" in found["cpu-throttled"][1]
    group.set_quota(1000)
    found, _ = find(here, ["sh", "-c", f"{job[0]} 250; sleep {LONG}"], group.join([]))
    assert "cpu-throttled" not in found


def test_one_process(here):
    burn = here.helper("burn")
    found, _ = find(here, ["sh", "-c", f"{burn} 300; {burn} 1; {burn} 1; sleep {LONG}"])
    assert "burn (pid " in found["one-process"][1]
    found, _ = find(here, ["sh", "-c", f"{burn} 150; {burn} 150; {burn} 1; sleep {LONG}"])
    assert "one-process" not in found


def test_too_short(here):
    found, _ = find(here, ["true"])
    assert set(found) == {"too-short"}


# ---- Memory ---------------------------------------------------------------------------------------

def test_memory_of_a_limit(here, group):  # noqa: F811
    """The same limit, filled to one part after the other."""
    fill = here.helper("fill")
    limit = 200
    group.set("memory", limit * MIB)
    for share, key in ((0.04, "memory-unused"), (0.5, None), (0.92, "memory-near-limit")):
        job = [fill, str(round(limit * share)), "1200"]
        found, status = find(here, job, group.join([]))
        assert status == 0
        assert {"memory-unused", "memory-near-limit"} & set(found) == ({key} if key else set())
        assert "oom" not in found
    found, status = find(here, [fill, str(2 * limit), "1200"], group.join([]))
    assert status == 128 + 9
    assert found["oom"][0] == "problem"
    assert not {"memory-near-limit", "memory-unused", "limit-hit"} & set(found)


def test_page_cache_is_no_want_of_memory(here, group):  # noqa: F811
    """A file that is larger than the limit, of which the kernel keeps what fits."""
    group.set("memory", 48 * MIB)
    script = f"dd if=/dev/zero of=big bs=1M count=96 conv=fsync 2>/dev/null; sleep {LONG}; rm big"
    found, status = find(here, ["sh", "-c", script], group.join([]))
    assert status == 0
    assert "memory-near-limit" not in found and "oom" not in found
    assert found.get("limit-hit", ("note", "page cache"))[0] == "note"


@pytest.fixture(scope="module")
def growing(programs):
    """Two jobs that go on beside the other tests, since a leak takes ten seconds to be one: memory that
    follows the clock, and as much of it at once."""
    script = """
import mmap, sys, time
rate, least, began = 8 << 20, int(sys.argv[1]), time.monotonic()
memory = mmap.mmap(-1, 128 << 20)
at = 0
while time.monotonic() < began + 12:
    wanted = min(max(least, int((time.monotonic() - began) * rate)), len(memory))
    while at < wanted:
        memory[at] = 1
        at += 4096
    time.sleep(0.02)
"""
    places, jobs = [], []
    for least in (0, 100 * MIB):
        places.append(make_place("root" if IS_ROOT else "nobody", programs))
        jobs.append(places[-1].popen([places[-1].toll, "run", "-q", "-i", "100ms", "-o", "r.html", "--",
                                      sys.executable, "-c", script, least]))
    yield places, jobs
    for place, job in zip(places, jobs):
        job.kill()
        job.wait()
        shutil.rmtree(place.directory, ignore_errors=True)


@pytest.mark.usefixtures("growing")
def test_limit_hit(here):
    """The limit is read while the job waits; it ends by the signal that the limit sends, or before."""
    script = f"ulimit -f 16; sleep {LONG}; exec dd if=/dev/zero of=big bs=1k count=$0"
    found, status = find(here, ["sh", "-c", script, "1000"])
    assert status == 128 + 25 and found["limit-hit"][0] == "problem"
    assert "limit on file size" in found["limit-hit"][1]
    found, status = find(here, ["sh", "-c", script, "1"])
    assert status == 0 and "limit-hit" not in found


# ---- Disk -----------------------------------------------------------------------------------------

TOUCH = """
import mmap, os, sys, time
began = time.monotonic()
fd = os.open("file", os.O_RDWR)
if sys.argv[1] == "drop":
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
memory = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
memory.madvise(mmap.MADV_RANDOM)
for at in range(0, len(memory), 4096):
    memory[at]
time.sleep(max(0, began + 1.2 - time.monotonic()))
"""


def test_major_faults(here):
    """A file of our own that is mapped, without its pages in memory and with them."""
    with open(here.path("file"), "wb") as f:
        f.write(bytes(40 * MIB))
        f.flush()
        os.fsync(f.fileno())
    here.path("file").chmod(0o666)
    found, _ = find(here, [sys.executable, "-c", TOUCH, "keep"])
    assert "major-faults" not in found
    found, _ = find(here, [sys.executable, "-c", TOUCH, "drop"])
    assert "major-faults" in found


@pytest.fixture
def pressed():
    """The file to join a fresh cgroup of version 2 by, in which the kernel counts what tasks wait
    for."""
    mounts = [line.split() for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()]
    for words in mounts:
        if words[words.index("-") + 1] == "cgroup2" and IS_ROOT:
            directory = pathlib.Path(words[4]) / f"toll-live-{os.getpid()}-{time.monotonic_ns()}"
            directory.mkdir()
            try:
                if (directory / "io.pressure").exists():
                    yield directory / "cgroup.procs"
                    return
            finally:
                until(lambda: try_to_remove(directory), f"the end of {directory}")
    pytest.skip("no cgroup has pressure here")


@comes_first
def test_waiting_for_disk(here, pressed):
    """Writes that wait for the disk each time; the same into memory."""
    join = ["sh", "-c", f'echo $$ > {pressed}; exec "$@"', "sh", *FIRST]
    script = """
import os, sys, time
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
os.unlink(sys.argv[1])
end = time.monotonic() + 1.5
while time.monotonic() < end:
    os.pwrite(fd, bytes(1 << 16), 0)
    os.fsync(fd)
"""
    found, _ = find(here, [sys.executable, "-c", script, here.path("synced")], join)
    assert "waiting-for-disk" in found
    if os.access("/dev/shm", os.W_OK):
        found, _ = find(here, [sys.executable, "-c", script, f"/dev/shm/toll-{os.getpid()}"], join)
        assert "waiting-for-disk" not in found


@pytest.mark.skipif(len(pathlib.Path("/proc/swaps").read_text().splitlines()) < 2,
                    reason="there is no swap")
def test_swap(here, group):  # noqa: F811
    """More than the limit, which only fits with a part of it in swap; and less."""
    group.set("memory", 64 * MIB)
    found, status = find(here, [here.helper("fill"), "96", "1200"], group.join([]))
    if status:
        pytest.skip("this cgroup may not swap")
    assert "swap" in found
    found, _ = find(here, [here.helper("fill"), "16", "1200"], group.join([]))
    assert "swap" not in found


# ---- GPUs -----------------------------------------------------------------------------------------

GPU_KINDS = {"gpu-unused", "gpu-idle", "gpu-starved"}


@pytest.mark.parametrize("busy, computes, key", [
    (0, False, "gpu-unused"), (20, False, "gpu-idle"), (80, False, None),
    pytest.param(20, True, "gpu-starved", marks=comes_first),
    pytest.param(80, True, None, marks=comes_first),
])
def test_gpus(here, busy, computes, key):
    """A GPU that says how busy it is, beside a job that sleeps or computes until it was read often
    enough."""
    driver = Driver(here, f"gpus 1\nutilization {busy}\nmemory_total 42949672960\nmemory_used 1073741824\n")
    known = job_until(recorded(r'"gpus":\[', 30))
    burn = f"{' '.join(FIRST)} {here.helper('burn')} 20000 & " if computes else ""
    script = f"{burn}{known}; {'kill $!' if computes else ':'}"
    found, _ = find(here, ["sh", "-c", script],
                    options=("-i", "50ms", "--gpus", "all", "-o", "run.jsonl"), env=driver.env)
    assert GPU_KINDS & set(found) == ({key} if key else set()), found


# ---- Last, because it takes longest ---------------------------------------------------------------

def test_memory_grows(growing):
    found = []
    for place, job in zip(*growing):
        assert job.wait(timeout=GUARD) == 0
        found.append(Findings(place.path("r.html")))
    assert "memory-grows" in found[0]
    assert "memory-grows" not in found[1]


def test_every_finding_has_a_load():
    """Those of several ranks are in tests/golden/test_ranks.py."""
    here = pathlib.Path(__file__)
    text = here.read_text() + (here.parents[1] / "golden/test_ranks.py").read_text()
    assert [key for key in DOCUMENTED if f'"{key}"' not in text] == []
