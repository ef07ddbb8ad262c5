# SPDX-License-Identifier: MIT
"""-o mlflow: what is sampled arrives once, to the digit, whatever the run is like."""
import json
import time

import pytest

import sinklib
from mlflowlib import SECRET, Store, check_all_arrived, clean_environment, to  # noqa: F401


def test_a_run_from_its_beginning_to_its_end(place, tmp_path):
    store = Store()
    with sinklib.Server(store) as server:
        r = place.run(["sh", "-c", "echo $MLFLOW_RUN_ID $MLFLOW_TRACKING_URI; exec sleep 0.6", SECRET],
                      ["-i", "10ms", "-o", to(server, ",experiment=my exp/ä,run=first try"),
                       "-o", place.path("run.jsonl"), "--label", "team=blue"])
        assert r.status == 0, r.err
        steps = check_all_arrived(store, place.path("run.jsonl"))
    run = store.run
    assert r.out.decode().split() == [run["run_id"], server.url], "the command is told"
    assert store.experiments == {"Default": "0", "my exp/ä": "1"} and run["experiment_id"] == "1"
    assert run["name"] == "first try" and run["status"] == "FINISHED"
    assert run["start_time"] <= run["end_time"] == pytest.approx(time.time() * 1000, abs=60000)
    tags = run["tags"]
    assert tags["mlflow.source.name"] == "sh" and tags["mlflow.user"]
    assert not tags["mlflow.user"].isdigit(), "a name, also where no variable has it"
    assert tags["toll.exit_code"] == "0" and tags["team"] == "blue" and tags["toll.host"]
    assert tags["toll.version"] == r.summary["toll"]
    assert "toll.command" not in tags
    (output, *_) = r.summary["outputs"]
    assert output["name"] == f"mlflow {server.url}" and output["delivered"] == steps == output["samples"]
    assert output["complete"] and output["kept"] == output["dropped"] == output["retries"] == 0
    # The summary as metrics and as a file, without the arguments of the command.
    last = {k: v[-1][2] for k, v in store.metrics().items()}
    combined = r.summary["target"]["combined"]
    assert last["toll/cpu_seconds"] == combined["cpu_seconds"]["total"]
    assert last["toll/memory_rss_bytes_max"] == combined["memory_rss_bytes"]["max"]
    assert last["toll/run_seconds"] == r.summary["wall_seconds"]
    document = json.loads(store.files[run["run_id"], "toll/summary.json"])
    assert document["command"] == ["sh"] and document["target"] == r.summary["target"]
    assert not any(SECRET.encode() in request["body"] for request in server.requests)
    # MLflow's own names, in its units.
    rss = store.metrics()["system/target_memory_rss_bytes"]
    assert [(t, s, round(v / 1e6, 1)) for t, s, v in rss] == \
        store.metrics()["system/process_memory_rss_megabytes"]


@pytest.mark.parametrize("command, status, exit_, tag", [
    (["sh", "-c", "exit 3"], "FAILED", 3, ("toll.exit_code", "3")),
    (["sh", "-c", "kill -9 $$"], "KILLED", 137, ("toll.exit_signal", "SIGKILL")),
])
def test_how_it_ended(here, command, status, exit_, tag):
    store = Store()
    with sinklib.Server(store) as server:
        r = here.run(command, ["-o", to(server)])
    assert r.status == exit_ and store.run["status"] == status
    assert store.run["tags"][tag[0]] == tag[1]


def test_a_command_that_cannot_be_started(here):
    store = Store()
    with sinklib.Server(store) as server:
        status, _, _ = here.call([here.toll, "run", "-o", to(server), "--", "/nowhere/at all"])
    assert status == 127 and store.run["status"] == "FAILED"


def test_a_run_that_is_there_is_joined_and_never_ended(here, monkeypatch):
    store = Store()
    store.create_run({"experiment_id": "0", "start_time": 1})
    run_id = store.run["run_id"]
    with sinklib.Server(store) as server:
        monkeypatch.setenv("MLFLOW_RUN_ID", run_id)
        monkeypatch.setenv("MLFLOW_TRACKING_URI", server.url + "/")
        r = here.run(["sh", "-c", "echo $MLFLOW_RUN_ID; exit 1"],
                     ["-o", "mlflow:,interval=0s", "-o", here.path("run.jsonl")])
        assert r.out.decode().strip() == run_id and r.status == 1
        check_all_arrived(store, here.path("run.jsonl"))
        assert store.run["status"] == "RUNNING" and store.run["tags"]["toll.exit_code"] == "1"
        assert not any(p.endswith(("runs/create", "runs/update")) for _, p in store.seen)
        # One of several in it has names of its own.
        monkeypatch.setenv("RANK", "3")
        monkeypatch.setenv("WORLD_SIZE", "4")
        assert here.run(["true"], ["-o", "mlflow:"]).status == 0
    assert "system/rank_3/target_wall_seconds" in store.metrics()
    assert "toll/rank_3/run_seconds" in store.metrics()
    assert store.run["tags"]["toll.rank_3/exit_code"] == "0"
    assert (run_id, "toll/rank_3/summary.json") in store.files


def test_experiments_by_variable_and_made_by_somebody_else_meanwhile(here, monkeypatch):
    store = Store()

    def race(request):
        if request["path"].endswith("experiments/create"):
            store.experiments.setdefault("taken", "7")

    store.trouble = race
    with sinklib.Server(store) as server:
        monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "taken")
        assert here.run(["true"], ["-o", to(server)]).status == 0
        monkeypatch.setenv("MLFLOW_EXPERIMENT_ID", "0")
        monkeypatch.delenv("MLFLOW_EXPERIMENT_NAME")
        assert here.run(["true"], ["-o", to(server)]).status == 0
    assert [r["experiment_id"] for r in store.runs.values()] == ["7", "0"]


def test_the_command_line_when_asked_for(here):
    store = Store()
    with sinklib.Server(store) as server:
        r = here.run(["true", "a b"], ["-o", to(server, ",command=yes,prefix=job/,export=no")])
        assert here.run(["sh", "-c", "echo -$MLFLOW_RUN_ID"], ["-o", to(server, ",export=no")]
                        ).out == b"-\n"
    assert r.status == 0
    run = store.runs["%032x" % 1]
    assert run["tags"]["toll.command"] == "true a b"
    assert "job/target_wall_seconds" in store.metrics(run)


def test_marks_of_the_job(here):
    store = Store()
    with sinklib.Server(store) as server:
        r = here.run([here.toll, "mark", "gauge", "train/löss", "0.25"], ["-o", to(server)])
    assert r.status == 0, r.err
    ((ms, step, value),) = store.metrics()["train/l__ss"]
    assert value == 0.25 and abs(ms - store.run["start_time"]) < 60000


def test_a_node_with_a_blank_in_its_name(here):
    store = Store()
    with sinklib.Server(store) as server:
        r = here.run(["true"], ["-o", to(server, ",node=my node: 1%/ä")])
    (output, *_) = r.summary["outputs"]
    assert r.status == 0 and output["complete"] and store.run["status"] == "FINISHED"
    node = "my node: 1____"
    assert f"system/{node}/target_wall_seconds" in store.metrics()
    assert store.run["tags"][f"toll.{node}/exit_code"] == "0"
    assert list(store.files) == [(store.run["run_id"], f"toll/{node}/summary.json")]


def test_a_record_sent_afterwards(here):
    """toll export: with the times of the record, not those of now."""
    store, record = Store(), here.path("run.jsonl")
    r = here.run(["sh", "-c", "sleep 0.2; exit 4"], ["-i", "20ms", "-o", record])
    with sinklib.Server(store) as server:
        status, out, err = here.call([here.toll, "export", record, "-o", to(server)])
    assert status == 0 and out == b"", err
    check_all_arrived(store, record)
    assert store.run["status"] == "FAILED" and store.run["tags"]["toll.exit_code"] == "4"
    assert store.run["end_time"] - store.run["start_time"] == pytest.approx(
        1000 * r.summary["wall_seconds"], abs=2)
    status, out, err = here.call([here.toll, "export", record, "-o",
                                  f"mlflow:http://127.0.0.1:9,grace=0s,spool={here.path('spool')}"])
    assert status == 0 and b"for 'toll resend'" in err and here.path("spool").exists()


def test_what_it_takes_is_not_the_jobs(here):
    """Neither the helper that makes the run nor the thread that sends counts for the job: what cat
    reads and writes is the same with and without them, to the byte."""
    store, job = Store(), ["cat", "/etc/passwd"]
    with sinklib.Server(store) as server:
        alone, r = here.run(job), here.run(job, ["-o", to(server)])
    assert r.out == alone.out and len(store.runs) == 1
    for name in ("io_read_bytes", "io_written_bytes", "io_read_calls", "processes_started"):
        assert r.total(name) == alone.total(name), name
        assert r.quality(name) == alone.quality(name), name


@pytest.mark.parametrize("destination, uri, sentence", [
    ("mlflow:", None, "or MLFLOW_TRACKING_URI"),
    ("mlflow:", "file:///srv/mlruns", "invalid URL in MLFLOW_TRACKING_URI"),
    ("mlflow:sqlite:///x.db", None, "'mlflow server'"),
    ("mlflow:http://h,run_id=a b", None, "invalid ID in run_id"),
    ("mlflow:http://h,every=soon", None, "expected a time"),
    ("mlflow:http://h,experimnt=x", None, "(did you mean 'experiment'?); known options: experiment, run,"),
    ("mlflow:http://h,parts=some", None, "combined|all"),
    ("mlflow:http://h,spool_size=much", None, "expected a size"),
])
def test_mistakes_are_told_before_anything_runs(here, destination, uri, sentence, monkeypatch):
    if uri:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    status, out, err = here.call([here.toll, "run", "-o", destination, "--", "touch",
                                  here.path("ran")])
    assert status == 125 and sentence in err.decode(), err
    assert not here.path("ran").exists()
