# SPDX-License-Identifier: MIT
"""snapshot() against the kernel's own files."""

import inspect
import os
import pickle
import resource
import subprocess
import sys
import threading
import time

import pytest
import toll
from work import burn


def status(pid="self"):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        return dict(line.split(":", 1) for line in file)


def test_cpu_of_this_process():
    before = time.process_time()
    seen = toll.snapshot().cpu_seconds
    after = time.process_time()
    assert before - 0.001 <= seen <= after + 0.001


def test_counters_of_this_process():
    used = resource.getrusage(resource.RUSAGE_SELF)
    frame = toll.snapshot()
    assert frame.faults_minor >= used.ru_minflt
    assert frame.switches_involuntary >= used.ru_nivcsw
    assert frame.switches_voluntary >= used.ru_nvcsw
    assert frame.cpu_user_seconds == pytest.approx(used.ru_utime, abs=0.02)


def is_of_toll(number):
    """What toll keeps from one look to the next."""
    try:
        return os.readlink(f"/proc/self/fd/{number}").startswith(f"/proc/{os.getpid()}/")
    except FileNotFoundError:
        return False


def test_memory_threads_and_files_of_this_process():
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    files = len(os.listdir("/proc/self/fd")) - 1  # the listing itself has one
    kept = [f for f in os.listdir("/proc/self/fd") if is_of_toll(f)]
    frame = toll.snapshot()
    truth = status()
    kept_now = [f for f in os.listdir("/proc/self/fd") if is_of_toll(f)]
    more = toll.snapshot(os.getpid(), memory="pss")
    done.set()
    other.join()
    # The kernel keeps counts of each CPU and adds them up now and then.
    assert frame.memory_rss_bytes == pytest.approx(int(truth["VmRSS"].split()[0]) * 1024, abs=1 << 20)
    assert frame.memory_virtual_bytes == int(truth["VmSize"].split()[0]) * 1024
    assert frame.threads == int(truth["Threads"])
    # What it takes to look is none of it; what another look keeps is.
    assert frame.open_files == files - len(kept)
    assert more.open_files == frame.open_files + len(kept_now)


def test_io_of_this_process(tmp_path):
    with open(tmp_path / "file", "wb", buffering=0) as file:
        before = toll.snapshot()
        file.write(bytes(1 << 20))
        after = toll.snapshot()
    assert after.io_written_bytes - before.io_written_bytes == 1 << 20
    assert after.io_write_calls - before.io_write_calls == 1


def test_whole_numbers_are_ints():
    frame = toll.snapshot()
    assert isinstance(frame.memory_rss_bytes, int)
    assert isinstance(frame.threads, int)
    assert isinstance(frame.cpu_seconds, float)
    assert frame.memory_pss_bytes is None


def test_pss_when_it_is_asked_for():
    frame = toll.snapshot(memory="pss")
    assert 0 < frame.memory_pss_bytes <= frame.memory_rss_bytes


def test_another_process():
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        try:
            other.stdin.write(b"go\n")
            other.stdin.flush()
            assert other.stdout.readline() == b"go\n"  # now it has all it needs
            frame = toll.snapshot(other.pid)
            assert frame.memory_virtual_bytes == int(status(other.pid)["VmSize"].split()[0]) * 1024
            assert frame.threads == 1
        finally:
            other.kill()
    with pytest.raises(ProcessLookupError):
        toll.snapshot(other.pid)


def test_with_children():
    script = "import time\nwhile time.process_time() < 0.1: pass\nprint(1, flush=True)\ntime.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as child:
        try:
            child.stdout.readline()
            alone, all_of_them = toll.snapshot(), toll.snapshot(children=True)
        finally:
            child.kill()
    assert all_of_them.cpu_seconds >= alone.cpu_seconds + 0.1 - 0.01
    assert all_of_them.processes >= 2
    assert all_of_them["descendants_cpu_seconds"] >= 0.1 - 0.01


def test_the_machine():
    frame = toll.snapshot(system=True)
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE")
    assert frame.memory_total_bytes == pytest.approx(total, rel=0.01)
    assert frame["system_memory_total_bytes"] == frame.memory_total_bytes
    assert {row.entity for row in frame.rows} >= {"system", "core"}


def test_chosen_metrics():
    frame = toll.snapshot(metrics="target_cpu_seconds")
    assert frame.cpu_seconds > 0
    assert frame.memory_rss_bytes is None


def test_one_target_only():
    with pytest.raises(ValueError, match="snapshot: several targets"):
        toll.snapshot(1, group=1)
    with pytest.raises(ValueError, match="unknown metric"):
        toll.snapshot(metrics="nonsense")


def test_it_is_a_function_like_others():
    """Of the extension, and nobody has to know: a signature, a text, a place to be found at."""
    parameters = inspect.signature(toll.snapshot).parameters
    assert list(parameters)[:2] == ["pid", "children"]
    assert parameters["memory"].default == "rss"
    assert toll.snapshot.__doc__.startswith("Current figures of a process")
    assert pickle.loads(pickle.dumps(toll.snapshot)) is toll.snapshot
    assert toll.snapshot(os.getpid()).threads == toll.snapshot(*[], **{}).threads
    with pytest.raises(TypeError, match="unexpected keyword argument 'childen'"):
        toll.snapshot(childen=True)


def test_names_that_are_not_interned():
    frame = toll.snapshot()
    assert getattr(frame, "".join(["threads"])) == frame.threads == frame["target_threads"]
    with pytest.raises(AttributeError):
        frame.no_such_thing


def test_after_a_fork():
    """The probe that is kept is of the process that looks."""
    toll.snapshot()
    burn(0.1)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            before = time.process_time()
            seen = toll.snapshot().cpu_seconds
            os.write(write, f"{before} {seen} {time.process_time()}".encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    before, seen, after = map(float, os.read(read, 100).split())
    assert before - 0.001 <= seen <= after + 0.001
    assert toll.snapshot().cpu_seconds >= 0.1


def test_files_that_the_program_closes(python):
    """The kept files are not taken for the program's, nor the program's for them."""
    script = """
import os, toll
toll.snapshot()
os.closerange(3, 1000)
own = [os.open("/dev/null", os.O_RDWR) for _ in range(20)]
before = toll.snapshot()
os.write(own[0], b"x" * 1000)
after = toll.snapshot()
assert after.io_written_bytes - before.io_written_bytes == 1000, "io"
assert after.memory_rss_bytes > 1 << 20, "memory"
for fd in own:
    os.fstat(fd)
print("good")
"""
    assert python(script) == "good\n"


def test_from_threads():
    def look():
        for _ in range(2000):
            assert toll.snapshot().cpu_seconds > 0

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_without_descriptors(python):
    """A process that cannot be read is still there."""
    script = """
import os, resource, toll
resource.setrlimit(resource.RLIMIT_NOFILE, (24, 4096))
held, said = [], set()
try:
    while True: held.append(os.dup(0))
except OSError: pass
while held:
    try:
        toll.snapshot(os.getppid())
        break
    except OSError as error: said.add(type(error).__name__)
    os.close(held.pop())
print(said, len(held) > 0)
"""
    assert python(script) == "{'OSError'} True\n"
