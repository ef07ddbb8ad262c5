# SPDX-License-Identifier: MIT
"""-o mlflow: what is sampled arrives once, to the digit, as the server wants it."""
import json
import re
import time

import pytest

import livelib
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


def test_requests_byte_by_byte(here):
    store = Store()
    with sinklib.Server(store) as server:
        r = here.run(["sleep", "0.7"], ["-i", "5ms", "-o", f"mlflow:{server.url}/,every=1h"])
        assert r.status == 0
    run_id, tags = store.run["run_id"], store.run["tags"]
    first, *rest = server.requests
    assert (first["method"], first["path"]) == ("POST", "/api/2.0/mlflow/runs/create")
    assert re.fullmatch(
        rb'\{"experiment_id":"0","run_name":"sleep","start_time":\d{13},"tags":\['
        rb'\{"key":"mlflow.runName","value":"sleep"\},\{"key":"mlflow.user","value":"[^"]+"\},'
        rb'\{"key":"mlflow.source.name","value":"sleep"\},'
        rb'\{"key":"mlflow.source.type","value":"LOCAL"\},'
        rb'\{"key":"toll.id","value":"[0-9a-f]{32}"\}\]\}', first["body"]), first["body"]
    batches = [q for q in rest if q["path"] == "/api/2.0/mlflow/runs/log-batch"]
    metric = (rb'\{"key":"[\w./: -]{1,250}","value":(-?\d+(\.\d+)?([eE][-+]?\d+)?|"NaN"|"-?Infinity"),'
              rb'"timestamp":\d{13},"step":\d+\}')
    tag = rb'\{"key":"[\w./: -]{1,250}","value":"[^"]*"\}'
    for q in batches:
        assert q["method"] == "POST" and q["headers"]["Content-Type"] == "application/json"
        assert int(q["headers"]["Content-Length"]) == len(q["body"])
        assert "Content-Encoding" not in q["headers"] and "Authorization" not in q["headers"]
        head = b'{"run_id":"%s",' % run_id.encode()
        assert q["body"].startswith(head)
        body = q["body"][len(head):]
        assert re.fullmatch(rb'"metrics":\[(%s,)*%s\]\}' % (metric, metric), body) or \
            re.fullmatch(rb'"tags":\[(%s,)*%s\]\}' % (tag, tag), body), body[:300]
    sizes = [len(json.loads(q["body"]).get("metrics", [])) for q in batches]
    assert max(sizes) == 1000, "as many as it takes, and no more"
    (put,) = [q for q in rest if q["method"] == "PUT"]
    assert put["path"] == f"/api/2.0/mlflow-artifacts/artifacts/0/{run_id}/artifacts/toll/summary.json"
    assert put["headers"]["Content-Type"] == "application/json" and put is rest[-1]
    end = rest[-2]
    assert end["path"] == "/api/2.0/mlflow/runs/update"
    assert re.fullmatch(rb'\{"run_id":"%s","status":"FINISHED","end_time":\d{13}\}' % run_id.encode(),
                        end["body"])
    assert store.corrupted == [] and tags["toll.exit_code"] == "0"


def test_the_fake_has_the_traps(here):
    """What the real server does with what must not be sent."""
    store = Store()

    def ask(path, body, headers=None):
        status, text, _ = store({"method": "POST", "path": "/api/2.0/mlflow/" + path, "body": body,
                                 "headers": headers or {"Content-Type": "application/json"}})
        return status, text

    status, text = ask("runs/create", b'{"experiment_id":"0","start_time":1}')
    run = json.loads(text)["run"]["info"]["run_id"]

    def log(metric, count=1):
        body = '{"run_id":"%s","metrics":[%s]}' % (run, ",".join([metric] * count))
        return ask("runs/log-batch", body.encode())[0]

    good = '{"key":"a","value":1,"timestamp":5,"step":0}'
    assert log(good) == log(good) == 200 and len(store.run["metrics"]) == 1
    assert log(good, 1001) == 400
    assert log('{"key":"a","value":null,"timestamp":5}') == log('{"key":"a","value":1}') == 400
    for key in ("a,b", "x" * 251, "a/../b", "a//b", "/a", "a/", "ä"):
        assert log('{"key":"%s","value":1,"timestamp":5}' % key) == 400, key
    assert store.corrupted == []
    assert log('{"key":"a","value":1,"timestamp":5.5}') == 200 and len(store.corrupted) == 1
    assert log('{"key":"a","value":NaN,"timestamp":5}') == 200 and len(store.corrupted) == 2
    assert log('{"key":"a","value":"NaN","timestamp":5}') == 200 and len(store.corrupted) == 2
    assert log('{"key":"a","value":1,"timestamp":-5}') == 400
    assert ask("runs/log-batch", b"{")[0] == 500
    padding = b" " * 1000000
    assert ask("runs/log-batch", b'{"run_id":"%s"}%s' % (run.encode(), padding))[0] == 400

    def send(path, **fields):
        return ask(path, json.dumps(fields).encode())[0]

    tag = {"key": "t", "value": "x"}
    assert send("runs/log-batch", run_id="nowhere") == 404 and send("runs/log-batch") == 400
    assert send("runs/log-batch", run_id=run, tags=[tag] * 101) == 400
    assert send("runs/log-batch", run_id=run, params=[tag] * 101) == 400
    assert send("runs/log-batch", run_id=run, params=[tag] * 2) == 400
    assert send("runs/log-batch", run_id=run, params=[tag]) == 200
    assert send("runs/log-batch", run_id=run, params=[{"key": "t", "value": "y"}]) == 400
    assert send("runs/create", experiment_id="0", start_time=1, run_name="a", tags=[
        {"key": "mlflow.runName", "value": "b"}]) == 400
    assert send("runs/update", run_id=run, status="DONE", end_time=1) == 400
    assert send("runs/update", run_id=run, status="FINISHED", end_time=1) == 200
    assert log(good) == 200, "one that has ended takes more"
    store.run["stage"] = "deleted"
    assert log(good) == 400 and len(store.corrupted) == 2
    assert ask("runs/log-batch", b"{}", {"Content-Type": "application/json",
                                         "Content-Encoding": "gzip"})[0] == 500


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
                     ["-o", "mlflow:", "-o", here.path("run.jsonl")])
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


def test_the_dialect_of_process_metrics(here):
    """Its nine keys with its prefix, each the same figure at the same step as in its own file: so
    many samples make one, what is left at the end another."""
    names = {"cpu_usage_percentage", "memory_rss_megabytes", "memory_vms_megabytes",
             "memory_uss_megabytes", "memory_usage_percentage", "num_threads", "num_fds",
             "io_read_megabytes", "io_write_megabytes"}
    store = Store()
    with sinklib.Server(store) as server:
        for number, (options, prefix) in enumerate((("", "process/"), (",samples=3,prefix=p/", "p/")),
                                                   1):
            lines = here.path(f"lines{number}.jsonl")
            r = here.run(["sleep", "0.3"], ["-i", "20ms", "-o", to(server), "-o", lines, "--dialect",
                                            f"process-metrics{options}"])
            assert r.status == 0, r.err
            run = store.runs["%032x" % number]
            found = {k: v for k, v in store.metrics(run).items() if not k.startswith("toll/")}
            assert set(found) <= {prefix + name for name in names}
            assert {f"{prefix}memory_rss_megabytes", f"{prefix}num_threads"} <= set(found)
            lines = [json.loads(line) for line in lines.read_text().splitlines()]
            for key in {prefix + name for name in names}:
                assert [(line["step"], line[key]) for line in lines if line[key] is not None] == \
                    [(step, pytest.approx(value, rel=1e-9)) for _, step, value in found.get(key, [])]
            assert len(lines) == r.summary["outputs"][0]["samples"]
            of_each = 1 if number == 1 else 3
            assert abs(len(lines) * of_each - r.summary["self"]["ticks"]["total"]) <= of_each
    assert store.corrupted == []


def test_the_dialect_of_mlflow_itself(here):
    """Every name that its monitor has for what this machine has, and no other."""
    store = Store()
    with sinklib.Server(store) as server:
        r = here.run(["sleep", "0.1"], ["-i", "50ms", "-o", to(server), "--dialect", "mlflow-system"])
        assert r.status == 0, r.err
    found = {k for k in store.metrics() if not k.startswith("toll/")}
    assert {"system/" + name for name in (
        "cpu_utilization_percentage", "system_memory_usage_megabytes",
        "system_memory_usage_percentage", "network_receive_megabytes", "network_transmit_megabytes",
        "process_cpu_percentage", "process_memory_rss_megabytes", "process_memory_vms_megabytes",
        "process_memory_percentage", "process_threads", "process_open_files")} == {
            k for k in found if not k.startswith("system/gpu_")}


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
    assert status == 0 and b"for 'toll send'" in err and here.path("spool").exists()


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
    ("mlflow:", None, "set MLFLOW_TRACKING_URI"),
    ("mlflow:", "file:///srv/mlruns", "MLFLOW_TRACKING_URI is none"),
    ("mlflow:sqlite:///x.db", None, "'mlflow server'"),
    ("mlflow:http://h,run_id=a b", None, "the option run_id takes an ID"),
    ("mlflow:http://h,every=soon", None, "takes a time"),
    ("mlflow:http://h,experimnt=x", None, "there are experiment, run,"),
    ("mlflow:http://h,parts=some", None, "combined|all"),
    ("mlflow:http://h,spool_size=much", None, "takes a size"),
])
def test_mistakes_are_told_before_anything_runs(here, destination, uri, sentence, monkeypatch):
    if uri:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    status, out, err = here.call([here.toll, "run", "-o", destination, "--", "touch",
                                  here.path("ran")])
    assert status == 125 and sentence in err.decode(), err
    assert not here.path("ran").exists()
