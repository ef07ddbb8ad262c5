# SPDX-License-Identifier: MIT
"""-o mlflow: byte by byte: what is sent is as the server wants it, by its own names or those of a
layout; and the server of the tests is as strict as the real one."""
import json
import re

import pytest

import sinklib
from mlflowlib import Store, clean_environment, to  # noqa: F401


def test_requests_byte_by_byte(here):
    store = Store()
    with sinklib.Server(store) as server:
        r = here.run(["sleep", "0.7"], ["-i", "5ms", "-o", f"mlflow:{server.url}/,interval=0s,every=1h,grace=60s"])
        assert r.status == 0
    run_id, tags = store.run["run_id"], store.run["tags"]
    first, *rest = server.requests
    assert (first["method"], first["path"]) == ("POST", "/api/2.0/mlflow/runs/create")
    assert re.fullmatch(
        rb'\{"experiment_id":"0","run_name":"sleep","start_time":\d{13},"tags":\['
        rb'\{"key":"mlflow.runName","value":"sleep"\},\{"key":"mlflow.user","value":"[^"]+"\},'
        rb'\{"key":"mlflow.source.name","value":"sleep"\},'
        rb'\{"key":"mlflow.source.type","value":"LOCAL"\},'
        rb'\{"key":"toll.output_id","value":"[0-9a-f-]{36}"\}\]\}', first["body"]), first["body"]
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
            re.fullmatch(rb'"(tags|params)":\[(%s,)*%s\]\}' % (tag, tag), body), body[:300]
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


def test_the_layout_of_process_metrics(here):
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
            r = here.run(["sleep", "0.3"], ["-i", "20ms", "-o", to(server), "-o", lines, "--layout",
                                            f"process-metrics{options}"])
            assert r.status == 0, r.err
            run = store.runs["%032x" % number]
            found = {k: v for k, v in store.metrics(run).items() if not k.startswith("toll/")}
            assert set(found) <= {prefix + name for name in names}
            assert {f"{prefix}memory_rss_megabytes", f"{prefix}num_threads"} <= set(found)
            lines = [json.loads(line) for line in lines.read_text().splitlines()]
            for key in {prefix + name for name in names}:
                wanted = [(line["step"], line[key]) for line in lines if line[key] is not None]
                there = [(step, pytest.approx(value, rel=1e-9)) for _, step, value in
                         found.get(key, [])]
                assert wanted[:len(there)] == there, key
                assert len(wanted) - len(there) <= 1, "of what has ended the file repeats the last"
            assert len(lines) == r.summary["outputs"][0]["samples"]
            of_each = 1 if number == 1 else 3
            assert abs(len(lines) * of_each - r.summary["self"]["ticks"]["total"]) <= of_each
    assert store.corrupted == []


def test_the_layout_of_mlflow_itself(here):
    """Every name that its monitor has for what this machine has, and no other."""
    store = Store()
    with sinklib.Server(store) as server:
        r = here.run(["sleep", "0.1"], ["-i", "50ms", "-o", to(server), "--layout", "mlflow-system"])
        assert r.status == 0, r.err
    found = {k for k in store.metrics() if not k.startswith("toll/")}
    assert {"system/" + name for name in (
        "cpu_utilization_percentage", "system_memory_usage_megabytes",
        "system_memory_usage_percentage", "network_receive_megabytes", "network_transmit_megabytes",
        "disk_usage_percentage", "disk_usage_megabytes", "disk_available_megabytes",
        "process_cpu_percentage", "process_memory_rss_megabytes", "process_memory_vms_megabytes",
        "process_memory_percentage", "process_threads", "process_open_files")} == {
            k for k in found if not k.startswith("system/gpu_")}


def test_the_layout_of_mlflow_from_a_record(here):
    """What is sent of a record is what was sent while it was measured: names, times, figures."""
    store, record = Store(), here.path("run.jsonl")
    with sinklib.Server(store) as server:
        r = here.run(["sleep", "0.3"], ["-i", "50ms", "-o", to(server), "-o", record, "--layout",
                                        "mlflow-system"])
        assert r.status == 0, r.err
        status, _, err = here.call([here.toll, "export", record, "-o", to(server), "--layout",
                                    "mlflow-system"])
    assert status == 0, err
    live, again = ({k: v for k, v in store.metrics(store.runs["%032x" % number]).items()
                    if not k.startswith("toll/")} for number in (1, 2))
    assert live["system/process_memory_rss_megabytes"] and again == live
