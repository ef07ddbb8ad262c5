# SPDX-License-Identifier: MIT
"""--exact: a line for every process, however short it lived. The truth for CPU time is a second
cgroup that the job makes around itself or cpu.stat as the job reads it; for processes, what the
job counted; for memory and I/O, what it asked for."""
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import pytest
from livelib import needs_root, records

MIB = 1 << 20
FORKS = 600

# Prints the CPU time that the kernel counts for the cgroup of version 2 of this process.
STAT = """
def cpu_stat():
    path = next(l.split(":", 2)[2].strip() for l in open("/proc/self/cgroup") if l.startswith("0::"))
    mount = next(l.split()[1] for l in open("/proc/mounts") if l.split()[2] == "cgroup2")
    return int(open(mount + path + "/cpu.stat").readline().split()[1]) / 1e6
"""


@pytest.fixture
def exact(here):
    """Runs a command with --exact; a skip where the kernel or the permissions do not allow it."""
    def run(command, *options):
        path = here.path("run.jsonl")
        path.unlink(missing_ok=True)
        result = here.run(command, ["--exact", "-o", path, *options])
        for note in result.notes:
            if note.startswith("--exact: "):
                pytest.skip(note)
        result.lines = records(path, "process")
        return result
    return run


def python(script, *args):
    return [sys.executable, "-c", script, *args]


def cpu_of(lines):
    return sum(line["cpu_seconds"] for line in lines)


def check(result, processes):
    """What holds for every run: all processes have a line, the lines add up to the total, which is
    that of the cgroup to 0.1 % (and the microsecond in which it counts)."""
    assert sum(line.get("count", 1) for line in result.lines) == processes
    assert all(line["recorded"] and line["end"] for line in result.lines)
    assert result.total("processes_started") == processes
    assert result.quality("processes_started") == "exact"
    assert result.quality("cpu_seconds") == "exact"
    assert cpu_of(result.lines) == pytest.approx(result.total("cpu_seconds"), rel=0.001, abs=3e-6 * processes)
    for metric in ("io_written_bytes", "faults_minor", "memory_peak_bytes"):
        assert result.quality(metric) == "exact", metric


def test_fork_storm(exact):
    result = exact(["sh", "-c", f"i=0; while [ $i -lt {FORKS} ]; do /bin/true; i=$((i+1)); done"], "-i", "5s")
    check(result, FORKS + 1)
    assert sum(line["name"] == "true" for line in result.lines) == FORKS
    assert all(line["end"]["code"] == 0 for line in result.lines)
    starts = {(line["pid"], line["start_ticks"]) for line in result.lines}
    assert len(starts) == FORKS + 1


def test_share_of_the_busiest_program(exact, here):
    """The summary names it; the lines of the processes are the truth."""
    burn = f"{sys.executable} -c 'sum(range(3000000))'"
    result = exact(["sh", "-c", f"{burn}; {burn}; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do /bin/true; done"],
                   "-o", here.path("summary.txt"))
    by_name = {}
    for line in result.lines:
        by_name[line["name"]] = by_name.get(line["name"], 0) + line["cpu_seconds"]
    name = max(by_name, key=by_name.get)
    shown = re.search(r"^  Processes  15, .* (\S+) (\d+) % of CPU$", here.path("summary.txt").read_text(), re.M)
    assert shown and shown[1] == name
    assert abs(int(shown[2]) - 100 * by_name[name] / cpu_of(result.lines)) < 1


def test_children_that_are_not_waited_for(exact):
    script = """
import os, signal, sys, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
r, w = os.pipe()
for i in range(50):
    if os.fork() == 0:
        sum(range(20000))
        os.write(w, b"x" * 1000)
        os._exit(3)
os.close(w)
while os.read(r, 65536):
    pass
"""
    result = exact(python(script), "-i", "5s")
    check(result, 51)
    children = [line for line in result.lines if line["parent"] == result.lines[-1]["pid"]]
    assert [line["end"]["code"] for line in result.lines].count(3) == 50
    assert result.total("io_written_bytes") >= 50 * 1000
    assert not any("lower bound" in note for note in result.notes), result.notes
    assert all(line["io_written_bytes"] == 1000 for line in children)


def test_daemon(exact):
    script = "(setsid sh -c 'sleep 0.2; /bin/true; exit 7' >/dev/null 2>&1 &) ; exit 0"
    result = exact(["sh", "-c", script], "--wait", "all")
    assert sorted(line["end"]["code"] for line in result.lines) == [0, 0, 0, 0, 7]
    check(result, 5)


def test_short_spike_of_memory(exact):
    spike = "import time; b = bytearray(500 << 20); time.sleep(0.03)"
    result = exact(python(f"import subprocess, sys; subprocess.run([sys.executable, '-c', {spike!r}])"), "-i", "5s")
    check(result, 2)
    assert 500 * MIB <= result.figure("memory_peak_bytes")["max"] <= 530 * MIB
    # The kernel's own count lacks some pages for each CPU, and wait4 may have them.
    largest = max(line["memory_peak_bytes"] for line in result.lines)
    assert 0 <= result.figure("memory_peak_bytes")["max"] - largest <= MIB
    assert min(line["memory_peak_bytes"] for line in result.lines) < 100 * MIB


def test_threads_that_exit(exact):
    script = """
import threading
for _ in range(4):
    threads = [threading.Thread(target=sum, args=(range(30000),)) for _ in range(20)]
    [t.start() for t in threads]
    [t.join() for t in threads]
"""
    result = exact(python(script), "-i", "5s")
    check(result, 1)
    assert result.lines[0]["threads_ended"] == 81


def test_direct_writes(exact):
    path = pathlib.Path("direct")
    result = exact(["dd", "if=/dev/zero", f"of={path}", "bs=1M", "count=32", "oflag=direct"], "-i", "5s")
    if result.status:
        pytest.skip("O_DIRECT is not supported here")
    check(result, 1)
    assert result.lines[0]["io_written_bytes"] >= 32 * MIB
    assert result.lines[0]["storage_written_bytes"] == result.total("storage_written_bytes") >= 32 * MIB


def test_exec_by_a_thread(exact):
    """It takes over the pid of the first thread, which dies under it."""
    script = """
import os, threading, time
def run():
    sum(range(100000))
    os.execv("/bin/true", ["true"])
threading.Thread(target=run).start()
time.sleep(5)
"""
    result = exact(python(script), "-i", "5s")
    check(result, 1)
    assert result.lines[0]["name"] == "true" and result.lines[0]["threads_ended"] == 2


def test_nested_subreapers(exact):
    script = """
import ctypes, os, time
def reaper(depth):
    ctypes.CDLL(None).prctl(36, 1)
    if depth:
        if os.fork() == 0:
            reaper(depth - 1)
            os._exit(depth)
    for i in range(3):
        if os.fork() == 0:
            if os.fork() == 0:
                sum(range(10000))
                os._exit(9)
            os._exit(8)
    try:
        while True:
            os.wait()
    except ChildProcessError:
        pass
reaper(3)
"""
    result = exact(python(script), "-i", "5s")
    check(result, 4 + 4 * 6)
    codes = [line["end"]["code"] for line in result.lines]
    assert codes.count(8) == codes.count(9) == 12


def test_pid_namespace(exact):
    burn = f"{sys.executable} -c 'sum(range(3000000))'"
    result = exact(["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", f"{burn} & {burn} & sleep 0.1"], "-i", "5s")
    if result.status:
        pytest.skip("no pid namespace can be made here")
    check(result, 5)
    assert {line["name"] for line in result.lines} >= {"unshare", "sh", "sleep"}
    assert not any("lower bound" in note for note in result.notes), result.notes


def test_ends(exact):
    script = "sh -c 'exit 5'; sh -c 'kill -9 $$'; sh -c 'ulimit -c 0; kill -SEGV $$' 2>/dev/null; exit 6"
    result = exact(["sh", "-c", script])
    check(result, 4)
    ends = sorted((line["end"]["status"], line["end"]["code"], line["end"]["signal"]) for line in result.lines
                  if line["end"]["status"] == "exited")
    assert ends == [("exited", 5, None), ("exited", 6, None)]
    assert sorted(line["end"]["signal"] for line in result.lines if line["end"]["status"] == "signaled") == [9, 11]


def test_commands_are_masked(exact):
    result = exact(["sh", "-c", "/bin/true --password=hunter2 plain; exit 0"])
    commands = [line.get("command", "") for line in result.lines]
    assert any(c.startswith("/bin/true --password=*** plain") for c in commands), commands
    assert "hunter2" not in here_text(result)


def here_text(result):
    return "".join(line.get("command", "") + line["name"] for line in result.lines if line["name"] == "true")


def test_job_is_the_same(exact):
    """The job sees neither a tracer, nor other signals, limits or descriptors."""
    view = """
import os, resource, signal
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print([status[k].strip() for k in ("TracerPid", "SigBlk", "SigIgn", "SigCgt", "Seccomp", "NoNewPrivs")])
print([resource.getrlimit(n) for n in range(16)], sorted(os.listdir("/proc/self/fd")), os.nice(0))
"""
    plain = exact(python(view)).out
    assert plain.startswith(b"['0', ")


def test_cpu_time_of_the_cgroup(exact):
    """The job's own reading of cpu.stat, all that it starts included."""
    script = STAT + """
import subprocess, sys
for _ in range(20):
    subprocess.run([sys.executable, "-c", "sum(range(200000))"])
print(cpu_stat())
"""
    result = exact(python(script), "-i", "5s")
    truth = float(result.out)
    # The interpreter itself ends after it has read the file.
    assert truth <= result.total("cpu_seconds") <= truth * 1.001 + 0.05
    check(result, 21)


def test_many_are_folded(exact):
    """After 10,000 lines, processes are folded by program, parent and outcome; none is lost."""
    storm = pathlib.Path(os.environ["TOLL_BUILD"]) / "tests" / "bench" / "storm"
    if not storm.exists():
        pytest.skip("tests/bench/storm is not built")
    result = exact([storm.resolve(), "vfork", "15000"])
    assert result.total("processes_started") == 15001
    assert result.quality("processes_started") == "exact"
    lost = [note for note in result.notes if "of ended tasks; the list" in note]
    if lost:
        pytest.skip("the machine is too busy: " + lost[0])
    check(result, 15001)
    assert len(result.lines) <= 10002
    folded = [line for line in result.lines if line.get("count")]
    assert len(folded) == 1 and folded[0]["name"] == "storm" and folded[0]["end"]["code"] == 0
    assert any("lines by program" in note or "line by program" in note for note in result.notes)


@needs_root
def test_pid_in_use_again_before_toll_has_looked(exact):
    """A process that samples have seen, and a second one with its number: a line for each, no more."""
    script = """
import os, signal, time
def start(code, then):
    pid = os.fork()
    if pid == 0:
        then()
        os._exit(code)
    return pid
first = start(3, lambda: time.sleep(0.5))
time.sleep(0.3)
os.kill(os.getppid(), signal.SIGSTOP)
try:
    os.waitpid(first, 0)
    second = 0
    for _ in range(50):
        with open("/proc/sys/kernel/ns_last_pid", "w") as f:
            f.write(str(first - 1))
        second = start(4, lambda: None)
        os.waitpid(second, 0)
        if second == first:
            break
finally:
    os.kill(os.getppid(), signal.SIGCONT)
time.sleep(0.5)
print(second == first)
"""
    if not os.access("/proc/sys/kernel/ns_last_pid", os.W_OK):
        pytest.skip("the next pid cannot be chosen here")
    result = exact(python(script), "-i", "20ms")
    if result.out != b"True\n":
        pytest.skip("the number was taken by another process")
    assert [line["end"]["code"] for line in result.lines].count(3) == 1
    assert all(line["recorded"] for line in result.lines)
    assert len(result.lines) == result.total("processes_started")


def test_left_running(exact):
    result = exact(["sh", "-c", "sleep 0.5 & /bin/true; exit 0"])
    assert result.total("processes_started") == 3 and result.quality("processes_started") == "exact"
    assert sorted(line["name"] for line in result.lines) == ["sh", "true"]


def test_child_that_leaves_the_cgroup(exact):
    """Too short to be surely seen outside, with too little CPU time for the comparison with the cgroup's: the
    kernel counted a birth, and records no end."""
    script = """
import os
path = next(l.split(":", 2)[2].strip() for l in open("/proc/self/cgroup") if l.startswith("0::"))
mount = next(l.split()[1] for l in open("/proc/mounts") if l.split()[2] == "cgroup2")
procs = os.open(mount + os.path.dirname(path) + "/cgroup.procs", os.O_WRONLY)
for leaves in (False, True):
    if os.fork() == 0:
        if leaves:
            os.write(procs, b"0")
        os._exit(0)
    os.wait()
"""
    result = exact(python(script), "-i", "5s")
    assert any("left the cgroup of the command" in note for note in result.notes), result.notes
    assert sum(line.get("recorded", False) for line in result.lines) == 2
    for metric in ("cpu_seconds", "processes_started", "faults_minor", "io_written_bytes", "memory_peak_bytes"):
        assert result.quality(metric) != "exact", metric


@needs_root
def test_realtime_job(here):
    """Version 1 refuses it in a cgroup without a share of realtime: the command is started nevertheless."""
    for option in ("--exact", "--network"):
        status, out, err = here.call(["chrt", "-f", "1", here.toll, "run", "-q", option, "--", "echo", "ran"])
        assert (status, out) == (0, b"ran\n"), err


def test_nobody_is_told(nobody):
    """Without privileges the run goes on, with a note."""
    path = nobody.path("summary.json")
    status, out, err = nobody.call([nobody.toll, "run", "--exact", "--summary", "json", "--summary-to", path,
                                    "--", "echo", "ran"])
    assert status == 0 and out == b"ran\n"
    assert b"--exact: " in err or not os.path.exists(path)


# Sends 1,000,000 B by TCP to its parent, and itself 3 datagrams of 500 B, each looked at before; then
# it lives for as long as its argument says. The parent ends after that, or half of it before.
SIDES = """
import os, socket, sys, time
stays, is_outlived = float(sys.argv[1]), len(sys.argv) > 2
a = socket.create_server(("127.0.0.1", 0))
if os.fork() == 0:
    c = socket.create_connection(a.getsockname())
    c.sendall(b"x" * 1000000)
    u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    u.bind(("127.0.0.1", 0))
    for i in range(3):
        u.sendto(b"y" * 500, u.getsockname())
        u.recv(1000, socket.MSG_PEEK)
        u.recv(1000)
    time.sleep(stays)
    os._exit(0)
s, _ = a.accept()
n = 0
while n < 1000000:
    n += len(s.recv(65536))
time.sleep(stays / 2)
if not is_outlived:
    os.wait()
"""
CHILD = {"socket_sent_bytes": 1001500, "socket_received_bytes": 1500}
PARENT = {"socket_sent_bytes": 0, "socket_received_bytes": 1000000}


def sides_of(row):
    return {key: row.get(key) for key in CHILD}


def skip_without_sockets(result):
    if any("network bytes of single processes" in note for note in result.notes):
        pytest.skip("this kernel does not count bytes of sockets by process")


def check_totals(result):
    """Of all, and of the main process, which is the parent."""
    for key in CHILD:
        assert result.figure(key)["total"] == CHILD[key] + PARENT[key]
        assert result.figure(key)["quality"] == "exact"
        main = result.summary["target"]["main"][key]
        assert (main["total"], main["quality"]) == (PARENT[key], "exact")
        rest = result.summary["target"]["descendants"][key]
        assert (rest["total"], rest["quality"]) == (CHILD[key], "exact")


def test_network_of_each_process(exact):
    result = exact(python(SIDES, "0"), "--network")
    skip_without_sockets(result)
    child, parent = sorted(result.lines, key=lambda line: line["elapsed_seconds"])
    assert (sides_of(child), sides_of(parent)) == (CHILD, PARENT)
    check_totals(result)


def test_network_of_processes_that_live(exact, here):
    """In the samples while they live; the child is there at the end, and is counted."""
    result = exact(python(SIDES, "1", "-"), "--network", "-i", "50ms", "--processes", "all")
    skip_without_sockets(result)
    samples = records(here.path("run.jsonl"), "sample")
    rows = [row for sample in samples for row in sample.get("processes", [])]
    of_parent = [row for row in rows if row["pid"] == result.summary["pid"]]
    of_child = [row for row in rows if row["parent"] == result.summary["pid"]]
    assert sides_of(of_child[-1]) == CHILD and sides_of(of_parent[-1]) == PARENT
    for same in (of_parent, of_child):
        for key in CHILD:
            values = [row[key] for row in same if row.get(key) is not None]
            assert values == sorted(values)
    for part in ("combined", "main", "descendants"):
        for key in CHILD:
            values = [sample["target"][part][key] for sample in samples
                      if sample["target"].get(part, {}).get(key) is not None]
            assert values == sorted(values), (part, key)
    check_totals(result)


def test_network_by_splice(exact):
    """A hole: what goes from a socket into a pipe is not seen for the process; packets show it."""
    script = """
import os, socket
a, size = socket.create_server(("127.0.0.1", 0)), 3000000
if os.fork() == 0:
    c = socket.create_connection(a.getsockname())
    c.sendall(b"x" * size)
    os._exit(0)
s, _ = a.accept()
r, w = os.pipe()
n = 0
while n < size:
    moved = os.splice(s.fileno(), w, 65536)
    n += moved
    while moved:
        moved -= len(os.read(r, moved))
os.wait()
"""
    if not hasattr(os, "splice"):
        pytest.skip("this Python has no os.splice")
    result = exact(python(script), "--network")
    skip_without_sockets(result)
    assert result.total("socket_sent_bytes") == 3000000
    assert result.total("socket_received_bytes") == 0
    if result.quality("network_received_tcp_bytes") == "exact":
        assert result.total("network_received_tcp_bytes") >= 3000000


def test_network_of_processes_for_nobody(nobody):
    """Without privileges it is unknown, never 0, with a note; toll doctor has the reason."""
    path, lines = nobody.path("summary.json"), nobody.path("run.jsonl")
    status, _, err = nobody.call([nobody.toll, "run", "--exact", "--network", "-i", "50ms", "--processes", "all",
                                  "-o", lines, "--summary", "json", "--summary-to", path, "--",
                                  *python(SIDES, "0.3")])
    assert status == 0, err
    summary = json.loads(pathlib.Path(path).read_text())
    if not any(note.startswith("--exact: ") for note in summary["notes"]):
        pytest.skip("a user may load BPF programs here")
    for part in summary["target"].values():
        for key in CHILD:
            assert part[key]["quality"] == "unknown" and part[key].get("total") is None
    for row in [row for sample in records(lines, "sample") for row in sample.get("processes", [])]:
        assert all(row.get(key) is None for key in CHILD), row
    status, out, _ = nobody.call([nobody.toll, "doctor", "exact"])
    assert b"network bytes" in out or b"CAP_BPF" in out, out


def test_timeout(exact, here):
    """The command is ended by toll: all its processes have a line with the signal."""
    result = exact(["sh", "-c", "/bin/true; sleep 30; true"], "--timeout", "300ms")
    assert sorted(line["name"] for line in result.lines) == ["sh", "sleep", "true"]
    assert all(line["recorded"] for line in result.lines)
    assert [line["end"]["signal"] for line in result.lines if line["name"] == "sleep"] == [15]


def test_in_a_pid_namespace(here):
    """The kernel's numbers of processes are not those that toll sees: said so, and nothing is invented."""
    path = here.path("summary.json")
    status, _, err = here.call(["unshare", "-pf", "--mount-proc", here.toll, "run", "--exact", "--network", "--summary",
                                "json", "--summary-to", path, "--", "sh", "-c", "/bin/true; exit 3"])
    if status == 1 and b"unshare" in err:
        pytest.skip(err.decode())
    assert status == 3, err
    summary = json.loads(pathlib.Path(path).read_text())
    assert any(note.startswith("--exact: ") for note in summary["notes"])
    assert summary["target"]["combined"]["socket_sent_bytes"]["quality"] == "unknown"


def test_killed_toll_leaves_nothing_for_long(exact):
    """The job goes on; the programs go with toll, and the next run removes the empty cgroup."""
    mount = next(line.split()[1] for line in open("/proc/mounts") if line.split()[2] == "cgroup2")
    exact(["true"])

    def left(pid):
        return [path for path in pathlib.Path(mount).glob(f"**/toll-{pid}") if path.is_dir()]
    read_end, write_end = os.pipe()
    p = subprocess.Popen([os.environ["TOLL"], "run", "-q", "--exact", "--network", "--", "sh", "-c",
                          f"echo >/dev/fd/{write_end}; exec sleep 1"], pass_fds=[write_end])
    os.close(write_end)
    os.read(read_end, 1)
    p.kill()
    p.wait()
    assert left(p.pid)
    while os.read(read_end, 1):  # until the job has ended, too
        pass
    os.close(read_end)
    for _ in range(50):
        exact(["true"])
        if not left(p.pid):
            return
        time.sleep(0.02)
    assert not left(p.pid)
