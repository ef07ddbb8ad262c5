# SPDX-License-Identifier: MIT
"""Ranks of real launchers, each in a toll of its own: Open MPI on two machines that are namespaces of
this one, MPICH; what a rank that is killed and a file system that is full cost the others; and a
thousand short jobs of GNU parallel."""
import concurrent.futures
import contextlib
import csv
import functools
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import time

import pytest
from hostlib import needs
from livelib import GUARD, Process, small_disk, until

PYTHON = sys.executable
LATE = 2 << 20  # bytes

# Each rank holds 20 MiB more than the one before and computes 0.2 s longer. It writes what the kernel
# has of it; of its memory at a moment at which all ranks hold theirs, until a file exists if one is
# named. All of this is the process that toll starts.
WORK = r"""
import json, os, pathlib, resource, sys, time
name = next(n for n in ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID") if n in os.environ)
rank, ranks, place = int(os.environ[name]), int(sys.argv[1]), pathlib.Path(sys.argv[2])
data = b"x" * ((20 + 20 * rank) << 20)
(place / f"ready-{rank}").touch()
limit = time.monotonic() + 100
while len(list(place.glob("ready-*"))) < ranks and time.monotonic() < limit:
    time.sleep(0.01)
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
resident = int(status["VmRSS"].split()[0]) << 10
while sys.argv[3:] and not os.path.exists(sys.argv[3]) and time.monotonic() < limit:
    time.sleep(0.01)
time.sleep(0.5)
end = time.process_time() + 0.2 * (rank + 1)
while time.process_time() < end:
    pass
print("rank", rank, flush=True)
usage = resource.getrusage(resource.RUSAGE_SELF)
truth = {"cpu": usage.ru_utime + usage.ru_stime, "peak": usage.ru_maxrss << 10, "resident": resident,
         "host": os.uname().nodename}
(place / f"truth-{rank}").write_text(json.dumps(truth))
"""


def truth_of(place, ranks):
    return [json.loads(place.path(f"truth-{rank}").read_text()) for rank in range(ranks)]


def report_of(place, *paths):
    status, out, err = place.call([place.toll, "report", "--json", *paths])
    assert status == 0, err
    return json.loads(out)["job"]


def lines_of(text):
    return sorted(text.decode().splitlines())


def write_work(place):
    place.path("work.py").write_text(WORK)
    return [PYTHON, "work.py"]


def open_mpi(ranks, *options):
    # Debian's mpirun refuses root and more ranks than CPUs unless it is asked.
    return ["mpirun.openmpi", *(["--allow-run-as-root"] if os.geteuid() == 0 else []), "--oversubscribe",
            "-n", str(ranks), *options]


def mpich(ranks, *options):
    return ["mpiexec.hydra", *options, "-n", str(ranks)]


LAUNCHERS = [pytest.param(open_mpi, marks=needs("mpirun.openmpi"), id="openmpi"),
             pytest.param(mpich, marks=needs("mpiexec.hydra"), id="mpich")]


# ---- Two machines --------------------------------------------------------------------------------

HOSTS = {"node1": "10.77.0.1", "node2": "10.77.0.2"}
ENTER = ("-n", "-u", "-m", "-r")  # its root directory, too: tests may run in a chroot


@contextlib.contextmanager
def machines(directory):
    """Two machines with a network between them: namespaces for the network, the name of the machine
    and mounts (/etc/hosts). Yields how to run a command on the first, and a stand-in for ssh."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    hold = ["unshare", "--net", "--uts", "--mount", "sh", "-c",
            'hostname "$1"; echo ready; exec sleep 600', "sh"]
    hosts, agent = directory / "hosts", directory / "agent"
    hosts.write_text("127.0.0.1 localhost\n" + "".join(f"{ip} {name}\n" for name, ip in HOSTS.items()))
    with contextlib.ExitStack() as stack:
        pids = []
        for name in HOSTS:
            holder = stack.enter_context(Process([*hold, name], stdout=subprocess.PIPE,
                                                 stderr=subprocess.DEVNULL))
            stack.callback(holder.kill)
            if holder.stdout.readline() != b"ready\n":
                pytest.skip("no namespaces can be made here")
            pids.append(str(holder.pid))
        link = ["ip", "link", "add", "veth1", "netns", pids[0], "type", "veth", "peer", "name", "veth2",
                "netns", pids[1]]
        if subprocess.run(link, capture_output=True, check=False).returncode:
            pytest.skip("no virtual network can be made here")
        for i, pid in enumerate(pids):
            script = (f"ip address add {list(HOSTS.values())[i]}/24 dev veth{i + 1} && "
                      f"ip link set veth{i + 1} up && ip link set lo up && "
                      f"mount --bind {hosts} /etc/hosts")
            subprocess.run(["nsenter", "-t", pid, *ENTER, "sh", "-c", script], check=True)
        cases = "".join(f"{name}) pid={pid} ;;\n" for name, pid in zip(HOSTS, pids))
        agent.write_text(f'#!/bin/sh\ncase $1 in\n{cases}esac\nshift\n'
                         f'exec nsenter -t "$pid" {" ".join(ENTER)} sh -c "$*"\n')
        agent.chmod(0o755)
        yield ["nsenter", "-t", pids[0], *ENTER, f"--wd={directory}"], agent


@needs("mpirun.openmpi", "ip")
def test_open_mpi_on_two_machines(here):
    work = write_work(here)
    with machines(here.directory) as (enter, agent):
        command = [*enter, *open_mpi(4, "--mca", "plm_rsh_agent", agent, "--mca", "oob_tcp_if_include", "10.77.0.0/24",
                                     "--host", "node1:2,node2:2"),
                   here.toll, "run", "-o", "runs/%j/%h-%l-%r.jsonl", "--", *work, "4", here.directory]
        status, out, err = here.call(command)
    assert status == 0, err
    assert lines_of(out) == [f"rank {rank}" for rank in range(4)], "what the job prints, and nothing else"
    assert err.count(b"toll: ") == 1 and b"Rank       0 of 4 (Open MPI)" in err, "rank 0 speaks alone"
    (directory,) = here.path("runs").iterdir()
    assert sorted(p.name for p in directory.iterdir()) == [f"node{1 + r // 2}-{r % 2}-{r}.jsonl" for r in range(4)]

    truth = truth_of(here, 4)
    assert [one["host"] for one in truth] == ["node1", "node1", "node2", "node2"]
    job = report_of(here, directory)
    assert (job["launcher"], job["ranks_recorded"], job["world_size"]) == ("Open MPI", 4, 4)
    for rank, one in zip(job["ranks"], truth):
        # The truth is from before the end of Python; the kernel counts pages in batches for each CPU.
        assert one["cpu"] <= rank["cpu_seconds"]["value"] <= one["cpu"] + 0.1
        assert one["resident"] - LATE <= rank["memory_peak_bytes"]["value"] <= one["peak"] + LATE
        assert (rank["host"], rank["ended"], rank["failed"]) == (one["host"], "exit 0", False)
    cpu, shown = [one["cpu"] for one in truth], job["figures"]["cpu_seconds"]
    assert (shown["min_rank"], shown["max_rank"]) == ("0", "3")
    assert sum(cpu) <= shown["sum"] <= sum(cpu) + 0.4
    assert shown["mean"] == pytest.approx(shown["sum"] / 4, abs=1e-6)
    assert job["imbalance_ratio"] == pytest.approx(shown["max"] / shown["mean"] - 1, abs=1e-5)
    # What the ranks of a machine held together at one moment.
    for host, ranks in zip(job["hosts"], (truth[:2], truth[2:])):
        assert host["memory_bytes_max_at_most"] >= sum(one["resident"] - LATE for one in ranks)
        assert host["memory_bytes_max_at_least"] <= sum(one["peak"] + LATE for one in ranks)
    assert job["together"]["memory_bytes_max_at_most"] >= sum(one["resident"] - LATE for one in truth)
    assert not any(host["clock_aligned"] for host in job["hosts"]), "they have one clock"
    assert len(here.call([here.toll, "list", directory])[1].splitlines()) == 2, "one line for the job"


# ---- Files of ranks ------------------------------------------------------------------------------


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_file_for_all_ranks_is_refused(here, launcher):
    """One rank has it; the others are refused before their job starts. SQLite takes them all."""
    one_by_one = "while ! mkdir turn 2>/dev/null; do sleep 0.02; done; echo ran; sleep 0.5; rmdir turn"
    status, out, err = here.call([*launcher(2), here.toll, "run", "-q", "-o", "all.jsonl", "--", "sh", "-c",
                                  one_by_one])
    assert status != 0 and out.count(b"ran") == 1
    assert b"put %r into the name for one file per rank, such as -o 'runs/%j/%r.jsonl'" in err
    assert len(here.path("all.jsonl").read_text().splitlines()) > 2
    status, out, err = here.call([*launcher(2), here.toll, "run", "-q", "-o", "all.sqlite", "--", "echo", "ran"])
    assert (status, out, err) == (0, b"ran\nran\n", b"")
    assert sorted(rank["rank"] for rank in report_of(here, "all.sqlite")["ranks"]) == ["0", "1"]


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_summaries_of_ranks(here, launcher):
    """Notes and summaries come from rank 0; those of all ranks when they are asked for; errors of all."""
    run = [*launcher(3), here.toll, "run"]
    status, out, err = here.call([*run, "--", "echo", "ran"])
    assert (status, out) == (0, b"ran\n" * 3) and err.count(b"toll: echo ran") == 1
    status, _, err = here.call([*run, "--summary", "text", "--", "true"])
    assert status == 0 and err.count(b"toll: true") == 3
    status, _, err = here.call([*run, "--no-such-option", "--", "true"])
    assert status != 0 and err.count(b"--no-such-option") >= 1


# ---- What goes wrong in one rank -----------------------------------------------------------------


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_killed_rank_costs_the_others_nothing(here, launcher):
    """SIGKILL for the toll of rank 1 in the middle. The launcher does not see it, and lets the others
    go on."""
    work = write_work(here)
    kill = 'if [ "$OMPI_COMM_WORLD_RANK$PMI_RANK" = 1 ]; then sleep 0.5; kill -9 $PPID; exit; fi; exec "$@"'
    status, out, err = here.call([*launcher(3), "sh", "-c", '"$@" || echo killed', "sh", here.toll, "run", "-q",
                                  "-o", "runs/%r.jsonl", "--", "sh", "-c", kill, "sh", *work, "2", here.directory])
    assert status == 0, err
    assert lines_of(out) == ["killed", "rank 0", "rank 2"]
    truth = {rank: json.loads(here.path(f"truth-{rank}").read_text()) for rank in (0, 2)}
    job = report_of(here, "runs")
    assert [rank["ended"] for rank in job["ranks"]] == ["exit 0", "cut off", "exit 0"]
    assert [rank["failed"] for rank in job["ranks"]] == [False, True, False]
    for rank, one in truth.items():
        assert one["cpu"] <= job["ranks"][rank]["cpu_seconds"]["value"] <= one["cpu"] + 0.1
    # What rank 1 had written stays: whole lines up to its end.
    lines = here.path("runs/1.jsonl").read_text().splitlines()
    assert [json.loads(line)["type"] for line in lines].count("sample") > 3
    assert job["figures"]["cpu_seconds"]["sum_is_lower_bound"]


@needs("mpirun.openmpi")
def test_the_launcher_ends_the_others(here):
    """Open MPI ends all ranks when one is killed: SIGTERM, and SIGKILL some seconds later, which it
    always waits for. Until then each writes the end of its record."""
    kill = 'if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then sleep 0.5; kill -9 $PPID; fi; exec sleep 100'
    status, _, _ = here.call([*open_mpi(3, "--mca", "odls_base_sigkill_timeout", "5"), here.toll, "run", "-q",
                              "-o", "runs/%r.jsonl", "--", "sh", "-c", kill])
    assert status != 0
    job = report_of(here, "runs")
    assert [rank["ended"] for rank in job["ranks"]] == ["SIGTERM", "cut off", "SIGTERM"]


@needs("mpirun.openmpi")
def test_a_full_file_system_costs_the_others_nothing(here):
    """The record of rank 1 has no room left soon; its job ends as all others do."""
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    work = write_work(here)
    with small_disk(here, "64k") as small:
        for rank in range(3):
            place = here.path(f"disk-{rank}")
            place.symlink_to(small) if rank == 1 else place.mkdir()
        status, out, err = here.call([*open_mpi(3), here.toll, "run", "-i", "5ms", "-o", "disk-%r/%r.jsonl",
                                      "--summary-to", "summary-%r.json", "--", *work, "3", here.directory])
        assert status == 0, err
        assert lines_of(out) == ["rank 0", "rank 1", "rank 2"]
        truth = truth_of(here, 3)
        job = report_of(here, *(here.path(f"disk-{rank}/{rank}.jsonl") for rank in range(3)))
        for rank in (0, 2):
            assert truth[rank]["cpu"] <= job["ranks"][rank]["cpu_seconds"]["value"] <= truth[rank]["cpu"] + 0.1
        assert [rank["ended"] for rank in job["ranks"]] == ["exit 0", "cut off", "exit 0"]
        assert small.joinpath("1.jsonl").read_text().endswith("\n"), "whole lines"
    for rank in range(3):  # the summary of each is elsewhere, and complete
        summary = json.loads(here.path(f"summary-{rank}.json").read_text())
        assert summary["target"]["combined"]["cpu_seconds"]["total"] >= truth[rank]["cpu"]
        assert any("o space left" in note for note in summary["notes"]) == (rank == 1)


# ---- Jobs of one name ----------------------------------------------------------------------------


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_two_jobs_of_one_name_at_once(here, launcher):
    """In one directory: the launch of each tells them apart."""
    def launch(job):
        script = f"while ! [ -e go ]; do sleep 0.02; done; sleep 0.3; exit {job}"
        return here.call([*launcher(2), "sh", "-c", '"$@"; exit', "sh", here.toll, "run", "-q",
                          "--name", "solver", "-o", "runs/%j-%r.jsonl", "--", "sh", "-c", script])

    def written(records):
        assert not any(job.done() for job in jobs), [job.result() for job in jobs if job.done()]
        return runs.exists() and len(list(runs.iterdir())) == records

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs, runs = [], here.path("runs")
        for job, records in ((0, 2), (3, 4)):  # the second starts while the first runs
            jobs.append(pool.submit(launch, job))
            until(functools.partial(written, records), "the records")
        here.path("go").touch()
        assert sorted(job.result()[0] for job in jobs) == [0, 3]
    listed = here.call([here.toll, "list", "runs"])[1].decode().splitlines()[1:]
    assert len(listed) == 2 and sum("exit 3" in line for line in listed) == 1
    records = sorted(runs.iterdir())
    for pair in (records[:2], records[2:]):
        job = report_of(here, *pair)
        assert job["ranks_recorded"] == 2 and len({rank["ended"] for rank in job["ranks"]}) == 1
    assert len({rank["ended"] for rank in report_of(here, "runs")["ranks"]}) == 1, "the newest alone"


# ---- Many short jobs -----------------------------------------------------------------------------


@needs("parallel")
def test_a_thousand_jobs_of_gnu_parallel_in_one_file(here):
    """None is lost, none is there twice, and each has the status that parallel saw."""
    jobs = 1000
    begin = time.monotonic()
    status, out, err = here.call(
        ["parallel", "--will-cite", "-j", "16", "--joblog", "log", here.toll, "run", "-q", "-o", "all.sqlite",
         "--name", "job-{}", "--", "sh", "-c", "'exit $(({} % 3))'", ":::", *map(str, range(jobs))],
        timeout=5 * GUARD, env={**os.environ, "HOME": str(here.directory)})
    whole = time.monotonic() - begin
    assert (out, err) == (b"", b"") and status == 101, "that is: more than 100 jobs failed"
    with open(here.path("log"), encoding="utf-8", newline="") as file:
        log = {int(row["Seq"]) - 1: row for row in csv.DictReader(file, delimiter="\t")}
    with contextlib.closing(sqlite3.connect(here.path("all.sqlite"))) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        rows = db.execute("SELECT name, status, code, wall_ns / 1e9, summary IS NOT NULL FROM runs").fetchall()
    assert len(log) == jobs and sorted(name for name, *_ in rows) == sorted(f"job-{i}" for i in range(jobs))
    for name, ended, code, wall, has_summary in rows:
        row = log[int(name.removeprefix("job-"))]
        assert (ended, code, has_summary) == ("exited", int(row["Exitval"]), 1)
        # JobRuntime is no bound: parallel may take the time of a start after the job has begun.
        assert 0 < wall < whole
    listed = json.loads(here.call([here.toll, "list", "--json", "all.sqlite"])[1])
    assert len(listed) == jobs and len({run["id"] for run in listed}) == jobs
    assert sorted(pathlib.Path(here.directory).glob("all.sqlite*")) == [here.path("all.sqlite")]
