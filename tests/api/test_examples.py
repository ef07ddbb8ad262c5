# SPDX-License-Identifier: MIT
"""The examples do what they say: their figures against what the kernel says of them."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = pathlib.Path(os.environ["TOLL_BUILD"]) / "examples"
TOLL = os.environ["TOLL"]
SOURCES = sorted([*(TOP / "examples").glob("*.c"), *(TOP / "examples").glob("*.cc")])
MIB = 1 << 20

# Works until it has used so many seconds, and prints what it has used in all.
BURN = ("import sys, time\n"
        "while time.process_time() < float(sys.argv[1]): pass\n"
        "print(time.process_time(), flush=True)\n")


class Ended:
    """An example that was run: what it printed, and what the kernel says that it used."""

    def __init__(self, status, out, err, usage):
        self.status = os.waitstatus_to_exitcode(status)
        self.out, self.err = out, err
        self.cpu_seconds = usage.ru_utime + usage.ru_stime
        self.rss_bytes = usage.ru_maxrss * 1024

    def figure(self, name, text=None):
        """From a line "NAME VALUE …"."""
        found = re.findall(rf"^{re.escape(name)} (\S+)", text or self.out, flags=re.MULTILINE)
        assert len(found) == 1, (name, self.out, self.err)
        return float(found[0])


def command(name, *arguments):
    program = EXAMPLES / name
    if not program.exists():
        pytest.skip(f"{name} was not built here")
    return [str(program), *map(str, arguments)]


@pytest.fixture
def run(tmp_path):
    """Runs a command to its end, with wait4 as the witness."""

    def run_in_place(words, **options):
        out, err = tmp_path / "stdout", tmp_path / "stderr"
        with open(out, "wb") as out_file, open(err, "wb") as err_file:
            process = subprocess.Popen(words, stdout=out_file, stderr=err_file, cwd=tmp_path,
                                       stdin=subprocess.DEVNULL, **options)
            watchdog = time.monotonic() + 60
            while True:
                pid, status, usage = os.wait4(process.pid, os.WNOHANG)
                if pid:
                    break
                if time.monotonic() > watchdog:
                    process.kill()
                time.sleep(0.01)
            process.returncode = status
        return Ended(status, out.read_text(), err.read_text(), usage)

    return run_in_place


@pytest.fixture
def burner():
    """Starts processes that work, and ends them."""
    started = []

    def start(words, **options):
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, **options)
        started.append((process, options))
        return process

    yield start
    for process, options in started:
        if options.get("start_new_session"):
            os.killpg(process.pid, signal.SIGKILL)
        elif process.returncode is None:
            process.kill()
        process.wait()
        process.stdout.close()


def test_each_has_a_line_in_the_readme():
    text = (TOP / "examples/README.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| \[(\w+\.\w+)\]", text, flags=re.MULTILINE)) == [
        path.name for path in SOURCES]


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_short_enough_to_be_read(source):
    assert len(source.read_text(encoding="utf-8").splitlines()) <= 80


# ---- A program that measures itself --------------------------------------------------------------


def check_own_figures(ended):
    """The program's CPU time and toll's make what the kernel counted; of that some milliseconds are
    from before the start and after the end. Memory: a sample is never above the high-water mark,
    beside which the kernel's counters of several threads may be off by some pages."""
    cpu, own = ended.figure("target_cpu_seconds"), ended.figure("self_cpu_seconds")
    assert 0 < own and 0 < cpu
    assert ended.cpu_seconds * 0.9 - 0.03 <= cpu + own <= ended.cpu_seconds + 0.001
    memory = ended.figure("target_memory_rss_bytes")
    assert 64 * MIB <= memory <= ended.rss_bytes + MIB


def test_measure_self(run, tmp_path):
    ended = run(command("measure_self", "summary.json"))
    assert ended.status == 0, ended.err
    check_own_figures(ended)
    summary = json.loads((tmp_path / "summary.json").read_text())
    total = summary["target"]["combined"]["cpu_seconds"]["total"]
    assert abs(total - ended.figure("target_cpu_seconds")) < 1e-6
    phases = {phase["name"]: phase["figures"] for phase in summary["phases"]}
    assert sorted(phases) == ["compute", "load"]
    compute, load = phases["compute"]["cpu_seconds"], phases["load"]["cpu_seconds"]
    # A busy machine may look so late after a short phase that nothing is known of it, which it says.
    for figure in (compute, load):
        assert ("total" in figure) == (figure["quality"] != "unknown")
    if "total" in compute and "total" in load:
        assert compute["total"] > load["total"]


def test_measure_self_goes_on_when_it_cannot_measure(run):
    ended = run(command("measure_self", "summary.odd"))
    assert ended.status == 0 and ended.out.startswith("result ")
    assert "not measured: cannot determine the output type of 'summary.odd'" in ended.err


def test_cplusplus(run):
    ended = run(command("cplusplus"))
    assert ended.status == 0, ended.err
    check_own_figures(ended)


@pytest.mark.parametrize("delay_ms", [0, 20])
def test_frames(run, delay_ms):
    """Each frame was taken, or was told as dropped."""
    ended = run(command("frames", delay_ms))
    assert ended.status == 0, ended.err
    assert ended.out.startswith("this was the last frame\n")
    assert ended.figure("frames") == ended.figure("calls") + ended.figure("dropped")
    assert ended.figure("dropped") > 0 or delay_ms == 0  # a busy machine drops some by itself
    assert 0.25 <= ended.figure("target_cpu_seconds") <= ended.cpu_seconds


def test_own_gauge(run, tmp_path):
    ended = run(command("own_gauge", "run.jsonl"))
    assert ended.status == 0, ended.err
    assert ended.figure("pool_peak_bytes") == 16 * MIB
    lines = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text().splitlines()]
    values = [line["value"] for line in lines if line["type"] == "gauge"]
    assert values == [MIB, 16 * MIB, 2 * MIB]
    summary = lines[-1]
    assert [phase["name"] for phase in summary["phases"]] == ["read", "sort", "write"]
    gauge, = summary["gauges"]
    assert (gauge["name"], gauge["max"]) == ("pool_used_bytes", 16 * MIB)


# ---- A look at others ----------------------------------------------------------------------------


def ticks_used(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def tree(burner):
    """A shell that waits for a process that burns for ever. Their pids."""
    shell = burner(["sh", "-c", '"$0" -c "$1" 100 & echo $!; wait', sys.executable, BURN],
                   start_new_session=True)
    return shell.pid, int(shell.stdout.readline())


def test_snapshot_of_a_process(run, burner):
    _, worker = tree(burner)
    time.sleep(0.3)
    before = ticks_used(worker)
    ended = run(command("snapshot", "process", worker))
    after = ticks_used(worker)
    assert ended.status == 0, ended.err
    # /proc counts in hundredths of a second.
    assert before - 0.02 <= ended.figure("target_cpu_seconds") <= after + 0.02
    assert ended.figure("target_processes") == 1


@pytest.mark.parametrize("kind", ["tree", "group"])
def test_snapshot_of_several(run, burner, kind):
    shell, worker = tree(burner)
    ended = run(command("snapshot", kind, shell))
    assert ended.status == 0, ended.err
    assert ended.figure("target_processes") == 2
    rows = re.findall(r"^process (\d+) of (\d+), \S+ (\d+) bytes$", ended.out, flags=re.MULTILINE)
    assert {(int(pid), int(parent)) for pid, parent, _ in rows} == {(shell, os.getpid()),
                                                                     (worker, shell)}
    assert sum(int(row[2]) for row in rows) == ended.figure("target_memory_rss_bytes")


def own_cgroup():
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers or "cpu" in controllers.split(","):
            return path
    return None


def test_snapshot_of_a_cgroup(run):
    path = own_cgroup()
    if not path:
        pytest.skip("no cgroup")
    ended = run(command("snapshot", "cgroup", path))
    if "no cgroup" in ended.err:
        pytest.skip(ended.err)
    assert ended.status == 0, ended.err
    assert re.search(rf"^process {os.getpid()} of {os.getppid()}, ", ended.out, re.MULTILINE)


def test_snapshot_of_the_machine(run):
    def uptime():
        return float(pathlib.Path("/proc/uptime").read_text().split()[0])

    before = uptime()
    ended = run(command("snapshot", "machine"))
    assert ended.status == 0, ended.err
    assert before - 0.01 <= ended.figure("system_uptime_seconds") <= uptime() + 0.01
    meminfo = pathlib.Path("/proc/meminfo").read_text()
    total = int(re.search(r"MemTotal: +(\d+) kB", meminfo)[1]) * 1024
    assert ended.figure("system_memory_total_bytes") == total


@pytest.mark.parametrize("words, said", [
    (["process", "2147483647"], "no process 2147483647"),
    (["cgroup", "/no/such"], "no cgroup '/no/such'"),
])
def test_snapshot_of_nothing(run, words, said):
    ended = run(command("snapshot", *words))
    assert ended.status == 1 and said in ended.err and ended.out == ""


def test_probe(run, burner):
    """Totals that grow while the process works; what is read last is no more than it used."""
    worker = burner([sys.executable, "-c", BURN, "0.5"])
    ended = run(command("probe", worker.pid, 2000, 20))
    assert ended.status == 0, ended.err
    *rows, last = ended.out.splitlines()
    assert last == "process has ended"
    cpu = [float(row.split()[0]) for row in rows]
    assert cpu == sorted(cpu) and cpu[-1] > cpu[0]
    used = float(worker.stdout.readline())
    assert cpu[-1] <= used + 0.1  # it ends itself after it has said what it used


def test_probe_of_one_that_stands_still(run, burner):
    _, worker = tree(burner)
    time.sleep(0.2)
    os.kill(worker, signal.SIGSTOP)
    end = time.monotonic() + 30
    while " T " not in pathlib.Path(f"/proc/{worker}/stat").read_text():
        assert time.monotonic() < end
        time.sleep(0.01)
    ended = run(command("probe", worker, 3, 1))
    assert ended.status == 0, ended.err
    cpu = {float(row.split()[0]) for row in ended.out.splitlines()}
    assert len(cpu) == 1 and abs(cpu.pop() - ticks_used(worker)) <= 0.02


# ---- A command -----------------------------------------------------------------------------------


@pytest.mark.parametrize("words, status", [
    (["sh", "-c", "exit 3"], 3),
    (["sh", "-c", "kill $$"], 143),
    (["/no/such/command"], 127),
    (["/etc/passwd"], 126),
    ([], 125),
])
def test_run_command_passes_the_status_on(run, words, status):
    ended = run(command("run_command", *words))
    assert ended.status == status and ended.out == "", ended.err


def test_run_command_leaves_stdout_to_the_command(run):
    ended = run(command("run_command", "echo", "mine"))
    assert ended.out == "mine\n" and re.match(r"toll: echo mine +exit 0 in ", ended.err)


def test_run_command_counts_all_of_it(run):
    """What the workers say they have used when they are nearly done; their end, the shell and head
    take some milliseconds more."""
    script = '"$0" -c "$1" 0.2; "$0" -c "$1" 0.2; head -c 1000000 /dev/zero > file'
    ended = run(command("run_command", "sh", "-c", script, sys.executable, BURN))
    assert ended.status == 0, ended.err
    used = sum(map(float, ended.out.split()))
    cpu = ended.figure("target_cpu_seconds", ended.err)
    assert used - 0.001 <= cpu <= min(used + 0.1, ended.cpu_seconds)
    assert 1000000 <= ended.figure("target_io_written_bytes", ended.err) < 1100000


# ---- Marks ---------------------------------------------------------------------------------------


def test_marks_only_without_a_listener(run):
    environment = {key: value for key, value in os.environ.items() if key != "TOLL_SOCKET"}
    ended = run(command("marks_only"), env=environment)
    assert (ended.status, ended.out, ended.err) == (0, "no listener\n", "")


def test_marks_only_under_toll_run(run, tmp_path):
    ended = run([TOLL, "run", "-q", "-o", "run.json", "--", *command("marks_only")])
    assert (ended.status, ended.out) == (0, "toll is listening\n"), ended.err
    summary = json.loads((tmp_path / "run.json").read_text())
    phases = {phase["name"]: phase for phase in summary["phases"]}
    assert (phases["train"]["count"], phases["step"]["count"]) == (1, 3)
    train = phases["train"]["figures"]["cpu_seconds"]["total"]
    assert 0 < train <= summary["target"]["combined"]["cpu_seconds"]["total"]
    gauge, = summary["gauges"]
    assert (gauge["name"], gauge["count"]) == ("loss", 3) and gauge["last"] < gauge["max"]
    assert summary["events"] == 1
