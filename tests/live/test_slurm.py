# SPDX-License-Identifier: MIT
"""toll as the wrapper of tasks of a real Slurm, beside what sstat and sacct have of the same step."""
import json
import re
import subprocess
import time

import pytest
import slurmlib
from livelib import GUARD, Process, until
from test_ranks import LATE, report_of, truth_of, write_work


@pytest.fixture(scope="module", name="slurm")
def slurm_fixture():
    with slurmlib.cluster() as cluster:
        yield cluster


@pytest.fixture(name="srun")
def srun_fixture(slurm, here):
    """How to run tasks there: more of them than CPUs, if need be."""
    def call(*words, command="srun"):
        return here.call([command, *words], env={**slurm.env, "TOLL": here.toll})
    return call


def seconds(text):
    """Of a time such as 1-00:00:03.250 or 00:03.250."""
    days, _, rest = text.rpartition("-")
    total = 0
    for part in rest.split(":"):
        total = total * 60 + float(part)
    return total + 86400 * int(days or 0)


def bytes_of(text):
    number, unit = re.fullmatch(r"([\d.]+)([KMG]?)", text).groups()
    return float(number) * {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}[unit]


def accounted(slurm, step, is_whole):
    """The row of a step that has ended. The end of the job reaches the database first, and makes it
    COMPLETED; the figures and exit status of the step follow."""
    def row():
        fields = "JobID,State,ExitCode,NTasks,TotalCPU,MaxRSS,MaxRSSTask,Elapsed"
        rows = slurm.rows("sacct", "--noconvert", "-j", step, f"--format={fields}")
        return next((one for one in rows if one["JobID"] == step and is_whole(one)), None)
    return until(row, f"step {step} in sacct")


def test_a_step_beside_sstat_and_sacct(slurm, here):
    work = write_work(here)
    with Process(["srun", "-n", "2", "--overcommit", here.toll, "run", "-o", "runs/%j/%r.jsonl", "--", *work, "2",
                  here.directory, "go"], env=slurm.env, cwd=here.directory, stdin=subprocess.DEVNULL,
                 stdout=subprocess.PIPE, stderr=subprocess.PIPE) as srun:
        until(lambda: len(list(here.directory.glob("ready-*"))) == 2, "both ranks")
        (directory,) = here.path("runs").iterdir()
        step = f"{directory.name}.0"
        began = time.monotonic()

        def running():
            rows = slurm.rows("sstat", "-a", "--noconvert", "-j", step, "--format=JobID,NTasks,MaxRSS,MaxRSSTask")
            full = [one for one in rows if one["MaxRSS"] and bytes_of(one["MaxRSS"]) > 40 << 20]
            return time.monotonic() - began > 3 and full  # Slurm looks every second

        (live,) = until(running, "the memory of both ranks in sstat")
        here.path("go").touch()
        out, err = srun.communicate(timeout=GUARD)
    assert srun.returncode == 0, err
    assert sorted(out.splitlines()) == [b"rank 0", b"rank 1"]
    assert err.count(b"toll: ") == 1 and f"Rank       0 of 2 (Slurm), local rank 0, job {directory.name}" in err.decode()

    truth, job = truth_of(here, 2), report_of(here, directory)
    assert (job["launcher"], job["job_id"], job["world_size"]) == ("Slurm", directory.name, 2)
    row = accounted(slurm, step, lambda one: seconds(one["TotalCPU"]) > 0)
    assert (row["State"], row["ExitCode"], row["NTasks"]) == ("COMPLETED", "0:0", "2")
    # Slurm's is the task, which is toll with its command; as wait4 has it when the task ends.
    summaries = [json.loads((directory / f"{rank}.jsonl").read_text().splitlines()[-1]) for rank in range(2)]
    own = sum(one["self"]["cpu_seconds"]["total"] for one in summaries)
    cpu = job["figures"]["cpu_seconds"]["sum"]
    assert sum(one["cpu"] for one in truth) <= cpu <= seconds(row["TotalCPU"]) + 0.01
    assert seconds(row["TotalCPU"]) <= cpu + own + 0.1
    # What Slurm has sampled of the largest task; it includes toll itself.
    most = job["figures"]["memory_peak_bytes"]
    for one in (live, row):
        assert one["MaxRSSTask"] == most["max_rank"] == "1"
        assert truth[1]["resident"] - LATE <= bytes_of(one["MaxRSS"]) <= most["max"] + (16 << 20)
    assert job["figures"]["wall_seconds"]["max"] <= seconds(row["Elapsed"]) + 2, "of whole seconds"


def test_failures_and_signals(slurm, srun, here):
    status, _, err = srun("-n", "2", "--overcommit", here.toll, "run", "-o", "runs/%j/%r.jsonl", "--", "sh", "-c",
                          "exit $((SLURM_PROCID * 3))")
    assert status == 3, err
    (directory,) = here.path("runs").iterdir()
    accounted(slurm, f"{directory.name}.0", lambda one: one["ExitCode"] == "3:0")
    assert [rank["ended"] for rank in report_of(here, directory)["ranks"]] == ["exit 0", "exit 3"]


def test_a_step_that_is_cancelled(slurm, here):
    """SIGTERM first: each task writes the end of its record before SIGKILL."""
    with Process(["srun", "-n", "2", "--overcommit", here.toll, "run", "-q", "-o", "runs/%j/%r.jsonl", "--", "sleep",
                  "300"], env=slurm.env, cwd=here.directory, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                 stderr=subprocess.DEVNULL) as srun:
        records = until(lambda: len(list(here.directory.glob("runs/*/*.jsonl"))) == 2 and
                        list(here.directory.glob("runs/*/*.jsonl")), "both records")
        directory = records[0].parent
        until(lambda: all('"type":"sample"' in record.read_text() for record in records), "samples")
        slurm.call("scancel", "--full", directory.name)
        assert srun.wait(GUARD) != 0
    until(lambda: all('"type":"summary"' in record.read_text() for record in records), "the ends")
    assert [rank["ended"] for rank in report_of(here, directory)["ranks"]] == ["SIGTERM", "SIGTERM"]


def test_tasks_of_a_job_array(slurm, srun, here):
    """%j is the id that squeue shows; a batch script is not a rank."""
    script = f"{here.toll} run -q -o batch-%j.jsonl -- true\nsrun -n 2 --overcommit {here.toll} run -q " \
        "-o runs/%j/%r.jsonl -- true"
    status, out, err = srun("--parsable", "--wait", "--array=5-6", "-n", "1", "-o", "/dev/null", "--wrap", script,
                            command="sbatch")
    assert status == 0, err
    array = out.decode().strip()
    assert sorted(p.name for p in here.path("runs").iterdir()) == [f"{array}_5", f"{array}_6"]
    for index in "56":
        job = report_of(here, here.path(f"runs/{array}_{index}"))
        assert (job["job_id"], job["array_index"], job["ranks_recorded"]) == (array, index, 2)
        batch = json.loads(here.path(f"batch-{array}_{index}.jsonl").read_text().splitlines()[0])
        assert batch["job_id"] == array and "rank" not in batch


@pytest.mark.parametrize("mpi", ["none", "pmi2"])
def test_ranks_by_every_interface(srun, here, mpi):
    """--mpi=pmi2 sets the variables of PMI as well. Two steps of an allocation are two launches."""
    run = f"srun --overcommit --mpi={mpi} -n 2 $TOLL run -q -o runs/$SLURM_JOB_ID-$STEP-%r.jsonl -- sleep 0.3"
    status, _, err = srun("-n", "2", "--overcommit", "sh", "-c",
                          f"for STEP in 0 1; do export STEP; {run} & done; wait", command="salloc")
    assert status == 0, err
    for step in "01":
        job = report_of(here, *sorted(here.path("runs").glob(f"*-{step}-*")))
        assert (job["launcher"], job["ranks_recorded"], job["world_size"]) == ("Slurm", 2, 2)
    heads = [json.loads(p.read_text().splitlines()[0]) for p in sorted(here.path("runs").iterdir())]
    assert [head["local_rank"] for head in heads] == ["0", "1", "0", "1"]
    assert len({head["launch"] for head in heads}) == 2
    assert len(here.call([here.toll, "list", "runs"])[1].splitlines()) == 3, "two jobs"
