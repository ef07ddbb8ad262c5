# SPDX-License-Identifier: MIT
"""-o mlflow: against a server that has the limits and the traps of the real one (which
tests/fakes/mlflow_server.py knows): what is sampled arrives once, to the digit; whatever the server
does, the job is as without it, and what cannot be sent is kept and can be sent later."""
import base64
import json
import os
import pathlib
import re
import ssl
import stat
import subprocess
import sys
import time

import pytest

import livelib
import sinklib

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "fakes"))
import mlflow_server  # noqa: E402
from mlflow_server import Store  # noqa: E402

SECRET = "hunter2-s3cr3t"


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch, here):
    for name in [n for n in os.environ if n.startswith("MLFLOW_")] + ["RANK", "WORLD_SIZE"]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(here.directory / "state"))
    status, _, err = here.call([here.toll, "run", "-q", "-o", "prometheus:http://127.0.0.1:9/,grace=0s",
                                "--", "true"])
    if b"libcurl" in err:
        pytest.skip("this toll has no HTTP")


def to(server, more=""):
    return f"mlflow:{server.url},every=100ms{more}"


def bodies(server, path):
    return [json.loads(r["body"]) for r in server.taken() if r["path"].endswith(path)]


def expected(path, prefix="system/"):
    """{key: [(ms, value)]} of a record: what every sample has of the target as a whole."""
    found = {}
    for sample in livelib.records(path, "sample"):
        for name, value in sample["target"]["combined"].items():
            if value is not None:
                found.setdefault(f"{prefix}target_{name}", []).append(value)
    return found


def check_all_arrived(store, record, prefix="system/"):
    """Every sample once, each at a time and a step of its own. Rates have six decimals in the
    record."""
    metrics, wanted = store.metrics(), expected(record, prefix)
    steps = len(livelib.records(record, "sample"))
    found = {k: v for k, v in metrics.items() if k.startswith(prefix + "target_")}
    assert set(found) == set(wanted)
    for key, values in wanted.items():
        points = found[key]
        assert [v for _, _, v in points] == pytest.approx(values, abs=5.1e-7, rel=0), key
        times = [t for t, _, _ in points]
        assert times == sorted(set(times)), "timestamps rise"
        assert len({s for _, s, _ in points}) == len(points)
    assert store.corrupted == []
    assert [s for _, s, _ in found[f"{prefix}target_wall_seconds"]] == list(range(steps))
    return steps


# ---- A run -----------------------------------------------------------------------------------------

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
    assert put["headers"]["Content-Type"] == "application/json"
    end = rest[-1]
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
    assert ask("runs/log-batch", b"{")[0] == 500
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


def test_dialects(here):
    store = Store()
    with sinklib.Server(store) as server:
        r = here.run(["sleep", "0.3"], ["-i", "20ms", "-o", to(server), "--dialect",
                                        "process-metrics,samples=3,prefix=p/"])
        assert r.status == 0, r.err
        run = store.runs["%032x" % 1]
        found = {k: v for k, v in store.metrics(run).items() if not k.startswith("toll/")}
        assert {"p/cpu_usage_percentage", "p/memory_rss_megabytes", "p/num_threads"} <= set(found)
        assert all(k.startswith("p/") for k in found)
        steps = [s for _, s, _ in found["p/memory_rss_megabytes"]]
        assert steps == list(range(len(steps))) and 2 <= len(steps) <= 8
        r = here.run(["sleep", "0.1"], ["-i", "50ms", "-o", to(server), "--dialect", "mlflow-system"])
        assert r.status == 0, r.err
    found = {k for k in store.metrics(store.runs["%032x" % 2]) if not k.startswith("toll/")}
    assert {"system/system_memory_usage_megabytes", "system/process_cpu_percentage",
            "system/process_memory_percentage", "system/cpu_utilization_percentage"} <= found
    assert not any("target_" in k for k in found)


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


# ---- Servers that are away, slow or broken -----------------------------------------------------------

def test_stopped_and_started_again_in_the_middle(here):
    """At 10 Hz, as docs/mlflow.md describes it for a minute."""
    store = Store()
    with sinklib.Server(store) as first:
        p = here.popen([here.toll, "run", "-q", "-i", "100ms", "--summary-to", here.path("s.json"),
                        "-o", to(first, ",grace=30s"), "-o", here.path("run.jsonl"), "--",
                        "sleep", "4"])
        livelib.until(lambda: len(first.requests) > 3, "samples came")
        first.stop()
        time.sleep(0.8)
        with sinklib.Server(store, port=first.port):
            assert p.wait(livelib.GUARD) == 0
    steps = check_all_arrived(store, here.path("run.jsonl"))
    assert steps >= 20 and store.run["status"] == "FINISHED"
    (output, *_) = json.loads(here.path("s.json").read_text())["outputs"]
    assert output["delivered"] == steps and output["complete"] and output["kept"] == 0


def test_away_for_longer_than_patience_and_back(here):
    """What waits goes to disk, and from there to the server, in the same run."""
    spool, until, was_kept = here.path("spool"), [None], []
    store = Store()

    def trouble(request):
        if request["path"].endswith("log-batch") and until[0] is None:
            until[0] = time.monotonic() + 60
        if until[0] and spool.exists() and not was_kept:
            was_kept.append(True)
            until[0] = time.monotonic() + 0.3
        return (503, b'{"error_code":"TEMPORARILY_UNAVAILABLE"}', {}) \
            if until[0] and time.monotonic() < until[0] else None

    store.trouble = trouble
    with sinklib.Server(store) as server:
        r = here.run(["sleep", "4"], ["-i", "100ms", "-o", to(server, f",grace=30s,spool={spool}"),
                                      "-o", here.path("run.jsonl")])
        assert r.status == 0
        check_all_arrived(store, here.path("run.jsonl"))
    (output, *_) = r.summary["outputs"]
    assert was_kept and b"answered 503" in r.err
    assert output["delivered"] == output["samples"] and output["kept"] == 0 and output["complete"]
    assert not spool.exists()


@pytest.mark.parametrize("where", ["refused", "silent"])
def test_away_from_the_beginning_to_the_end(place, where, monkeypatch):
    """Kept for its owner alone, and sent later: once, however often it is tried."""
    store, spool = Store(), place.path("kept.spool")
    job = ["sh", "-c", "echo -$MLFLOW_RUN_ID; sleep 0.3"]
    with sinklib.silent() as silent:
        url = "http://127.0.0.1:%d" % (silent.getsockname()[1] if where == "silent" else 9)
        alone = place.run(job, ["-i", "20ms"])
        began = time.monotonic()
        r = place.run(job, ["-i", "20ms", "-o", place.path("run.jsonl"), "-o",
                            f"mlflow:{url},every=50ms,wait=300ms,grace=500ms,spool={spool}"])
        took = time.monotonic() - began
    assert r.status == 0 and r.out == b"-\n", "no run, nothing to tell"
    assert "the command is not told MLFLOW_RUN_ID" in r.err.decode()
    wall = r.summary["wall_seconds"]
    assert wall < alone.summary["wall_seconds"] + 0.3, "the job is not held up"
    ticks = [x.summary["self"]["ticks"]["total"] + x.summary["self"]["ticks_missed"]["total"]
             for x in (alone, r)]
    assert ticks[1] / wall == pytest.approx(ticks[0] / alone.summary["wall_seconds"], rel=0.25)
    assert took - wall < 0.3 + 0.5 + 4, "what it may wait, and no more than a slow machine"
    (output, *_) = r.summary["outputs"]
    assert output["kept"] == output["samples"] > 5 and output["delivered"] == output["dropped"] == 0
    assert f"kept in '{spool}' for 'toll send'" in output["failure"]
    assert stat.S_IMODE(spool.stat().st_mode) == 0o600
    text = spool.read_bytes()
    with sinklib.Server(store) as server:
        status, out, err = place.call([place.toll, "send", spool])
        assert status == 125 and b"stays as it is" in err
        assert spool.read_bytes() == text
        status, out, err = place.call([place.toll, "send", spool, f"mlflow:{server.url}"])
        assert status == 0, err
    assert out.decode() == f"{output['samples']} samples sent to run {store.run['run_id']}\n"
    check_all_arrived(store, place.path("run.jsonl"))
    assert store.run["status"] == "FINISHED" and store.run["tags"]["toll.exit_code"] == "0"
    assert (store.run["run_id"], "toll/summary.json") in store.files
    assert not spool.exists()


def test_a_spool_where_nobody_named_one(here):
    r = here.run(["true"], ["-o", "mlflow:http://127.0.0.1:9,wait=0s,grace=0s"])
    (path,) = (here.directory / "state" / "toll").glob("mlflow-*.spool")
    assert r.status == 0 and str(path) in r.summary["outputs"][0]["failure"]
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    r = here.run(["true"], ["-o", "mlflow:http://127.0.0.1:9,wait=0s,grace=0s,spool=none"])
    assert r.status == 0 and r.summary["outputs"][0]["dropped"] == r.summary["outputs"][0]["samples"]
    taken = here.path("taken")
    taken.write_text("precious")
    r = here.run(["true"], ["-o", f"mlflow:http://127.0.0.1:9,wait=0s,grace=0s,spool={taken}"])
    assert r.status == 0 and taken.read_text() == "precious"
    assert "cannot be kept" in r.summary["outputs"][0]["failure"]


def some(trouble, count, path="log-batch"):
    left = [count]

    def answer(request):
        if not request["path"].endswith(path):
            return None
        left[0] -= 1
        return trouble if left[0] >= 0 else None
    return answer


@pytest.mark.parametrize("trouble", [
    (429, b'{"error_code":"RESOURCE_EXHAUSTED"}', {"Retry-After": "0"}),
    (500, b'{"error_code":"INTERNAL_ERROR"}', {}),
    (500, mlflow_server.HTML, {}),
    (502, b"<html>Bad Gateway</html>", {}),
    "close", "taken",
])
def test_what_is_tried_again(here, trouble):
    store = Store(some(trouble, 2))
    with sinklib.Server(store) as server:
        r = here.run(["sleep", "0.2"], ["-i", "50ms", "-o", to(server, ",grace=20s"), "-o",
                                       here.path("run.jsonl")])
        assert r.status == 0
        check_all_arrived(store, here.path("run.jsonl"))
    (output, *_) = r.summary["outputs"]
    assert output["complete"] and output["retries"] >= 1, output


def test_a_page_of_html_is_not_asked_for_forever(here):
    store = Store(some((500, mlflow_server.HTML, {}), 1000))
    with sinklib.Server(store) as server:
        r = here.run(["true"], ["-o", to(server, ",grace=20s")])
    asked = [q["body"] for q in server.requests if q["path"].endswith("log-batch")]
    assert r.status == 0 and [asked.count(body) for body in dict.fromkeys(asked)] == \
        [3] + [1] * (len(asked) - 3), "three times at first, then each once"
    (output, *_) = r.summary["outputs"]
    assert output["delivered"] == 0 and output["dropped"] == output["samples"]
    assert "answered 500" in output["failure"] and not output["complete"]
    assert store.run["status"] == "FINISHED", "the rest is done all the same"


def test_no_second_run_when_the_answer_is_lost(here):
    store = Store(some("taken", 1, "runs/create"))
    with sinklib.Server(store) as server:
        r = here.run(["true"], ["-o", to(server, ",grace=20s"), "-o", here.path("run.jsonl")])
        assert r.status == 0 and r.summary["outputs"][0]["complete"]
    assert any(p.endswith("runs/search") for _, p in store.seen)
    check_all_arrived(store, here.path("run.jsonl"))


def test_refused_for_good(here):
    store = Store(some((400, b'{"error_code":"INVALID_PARAMETER_VALUE","message":"no"}', {}), 1000))
    with sinklib.Server(store) as server:
        r = here.run(["true"], ["-o", to(server)])
    asked = [q["body"] for q in server.requests if q["path"].endswith("log-batch")]
    assert r.status == 0 and len(set(asked)) == len(asked), "nothing twice"
    (output, *_) = r.summary["outputs"]
    assert output["dropped"] == output["samples"] and "answered 400" in output["failure"]


def test_a_server_that_keeps_files_elsewhere(here):
    store = Store(artifacts="s3://bucket")
    with sinklib.Server(store) as server:
        r = here.run(["true"], ["-o", to(server)])
        (output, *_) = r.summary["outputs"]
        assert r.status == 0 and output["delivered"] == output["samples"]
        assert not output["complete"] and "s3" in output["failure"]
        assert store.run["status"] == "FINISHED"
        r = here.run(["true"], ["-o", to(server, ",artifact=no")])
        assert r.summary["outputs"][0]["complete"]


# ---- Who we are ------------------------------------------------------------------------------------

def everything_written(here, *texts):
    files = [p.read_bytes() for p in here.directory.rglob("*") if p.is_file()]
    return b"".join([*files, *texts])


def test_who_may_not_come_in_keeps_what_he_has(here, monkeypatch):
    """401: it is not asked again and again, and can be sent with the right password."""
    store, spool = Store(user="ann", password=SECRET), here.path("spool")
    monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", "ann")
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "wrong")
    with sinklib.Server(store) as server:
        r = here.run(["sleep", "0.3"], ["-i", "20ms", "-o", to(server, f",spool={spool}"),
                                       "-o", here.path("run.jsonl")])
        assert r.status == 0 and len(server.requests) <= 3
        (output, *_) = r.summary["outputs"]
        assert output["kept"] == output["samples"] and "answered 401" in output["failure"]
        monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", SECRET)
        status, out, err = here.call([here.toll, "send", spool])
        assert status == 0, err
    check_all_arrived(store, here.path("run.jsonl"))
    assert SECRET.encode() not in everything_written(here, r.err, r.out, out, err)


def test_a_host_that_it_does_not_go_by(here):
    store = Store(hosts={"mlflow.example"})
    with sinklib.Server(store) as server:
        r = here.run(["true"], ["-o", to(server, f",spool={here.path('spool')}")])
        assert r.status == 0 and "Invalid Host" in r.summary["outputs"][0]["failure"]
        status, out, err = here.call([here.toll, "send", here.path("spool"),
                                      to(server, ",header=Host: mlflow.example")])
    assert status == 0 and store.run["status"] == "FINISHED", err


@pytest.mark.parametrize("way", ["basic", "bearer", "url", "token_file"])
def test_secrets_go_to_the_server_and_nowhere_else(here, way, monkeypatch):
    store = Store(token=SECRET) if way in ("bearer", "token_file") else Store(user="ann",
                                                                             password=SECRET)
    secret_file = pathlib.Path(f"/tmp/toll-test-{os.getpid()}-token")
    destination = ""
    if way == "basic":
        monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", "ann")
        monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", SECRET)
        monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "the name wins")
    elif way == "bearer":
        monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", SECRET)
    elif way == "token_file":
        secret_file.write_text(SECRET + "\n")
        destination = f",token_file={secret_file}"
    see = ("cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '; "
           "env | grep -v -e ^MLFLOW_TRACKING_PASSWORD -e ^MLFLOW_TRACKING_TOKEN; sleep 0.2")
    try:
        with sinklib.Server(store) as server:
            url = server.url.replace("//", f"//ann:{SECRET}@") if way == "url" else server.url
            if way == "url":  # what a user writes there, others can read: a variable is better
                monkeypatch.setenv("MLFLOW_TRACKING_URI", url)
                see = "env | grep -v ^MLFLOW_TRACKING_URI; true"
            r = here.run(["sh", "-c", see],
                         ["-v", "-o", f"mlflow:{'' if way == 'url' else url},every=100ms{destination}",
                          "-o", here.path("run.jsonl"), "-o", here.path("run.csv")])
            assert r.status == 0 and r.summary["outputs"][0]["complete"], r.err
            store.user, store.token = "other", None
            store.password = "x"
            kept = here.run(["true"], ["-o", f"mlflow:{'' if way == 'url' else url},spool="
                                       f"{here.path('spool')}{destination}"])
        assert here.path("spool").exists()
    finally:
        secret_file.unlink(missing_ok=True)
    written = everything_written(here, r.out, r.err, kept.err)
    for form in (SECRET, base64.b64encode(f"ann:{SECRET}".encode()).decode()):
        assert form.encode() not in written
    assert store.corrupted == []


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    directory = tmp_path_factory.mktemp("tls")
    directory.chmod(0o755)
    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
         "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", "key.pem", "-out", "cert.pem"], cwd=directory, capture_output=True, check=False)
    if made.returncode:
        pytest.skip("no openssl to make a certificate")
    return directory


def test_tls_with_a_certificate_of_its_own(here, certificate, monkeypatch):
    store = Store()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    ours = here.path("cert.pem")
    ours.write_bytes((certificate / "cert.pem").read_bytes())
    ours.chmod(0o644)
    with sinklib.Server(store, context=context) as server:
        r = here.run(["true"], ["-o", to(server, ",wait=30s,grace=0s,spool=none")])
        assert r.status == 0 and "certificate" in r.err.decode().lower()
        assert not store.runs
        monkeypatch.setenv("MLFLOW_TRACKING_SERVER_CERT_PATH", str(ours))
        r = here.run(["true"], ["-o", to(server)])
        assert r.summary["outputs"][0]["complete"] and store.run["status"] == "FINISHED"
        monkeypatch.delenv("MLFLOW_TRACKING_SERVER_CERT_PATH")
        monkeypatch.setenv("MLFLOW_TRACKING_INSECURE_TLS", "true")
        assert here.run(["true"], ["-o", to(server)]).summary["outputs"][0]["complete"]
    assert len(store.runs) == 2


# ---- Mistakes --------------------------------------------------------------------------------------

@pytest.mark.parametrize("destination, uri, sentence", [
    ("mlflow:", None, "set MLFLOW_TRACKING_URI"),
    ("mlflow:", "file:///srv/mlruns", "MLFLOW_TRACKING_URI is none"),
    ("mlflow:sqlite:///x.db", None, "'mlflow server'"),
    ("mlflow:http://h,run_id=a b", None, "the option run_id takes an ID"),
    ("mlflow:http://h,every=soon", None, "takes a time"),
    ("mlflow:http://h,experimnt=x", None, "there are experiment, run,"),
    ("mlflow:http://h,parts=some", None, "combined|all"),
])
def test_mistakes_are_told_before_anything_runs(here, destination, uri, sentence, monkeypatch):
    if uri:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    status, out, err = here.call([here.toll, "run", "-o", destination, "--", "touch",
                                  here.path("ran")])
    assert status == 125 and sentence in err.decode(), err
    assert not here.path("ran").exists()


@pytest.mark.parametrize("words, sentence", [
    ([], "a word is missing"),
    (["nowhere"], "cannot open 'nowhere'"),
    (["other"], "is not a spool of toll"),
    (["-x"], "no option -x"),
    (["a", "b", "c"], "'c' is too much"),
])
def test_send_says_what_is_wrong(here, words, sentence):
    here.path("other").write_text("batch - 2\n{}\n")
    status, out, err = here.call([here.toll, "send", *words], cwd=here.directory)
    assert status == 125 and sentence in err.decode() and not out


def test_a_spool_that_was_cut_short(here):
    store, spool = Store(), here.path("spool")
    here.run(["true"], ["-o", f"mlflow:http://127.0.0.1:9,wait=0s,grace=0s,spool={spool}"])
    text = spool.read_bytes()
    spool.write_bytes(text[:-20])
    with sinklib.Server(store) as server:
        status, out, err = here.call([here.toll, "send", spool, to(server)])
    assert status == 0 and not spool.exists(), err
    assert store.run["status"] == "RUNNING", "its last word is missing"
