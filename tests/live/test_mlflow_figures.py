# SPDX-License-Identifier: MIT
"""-o mlflow: what its users look at: points at its rate, the names of its own monitor with the same
meaning as there, parameters, nested runs, phases."""
import json
import re
import socket
import sys

import pytest

import hostlib
import livelib
import sinklib
from livelib import job_until, noted, recorded
from mlflowlib import SECRET, Store, check_all_arrived, clean_environment, to  # noqa: F401
from test_gpus import Driver

psutil = hostlib.module("psutil")

BUSY = "i=0; while [ $i -lt 60000 ]; do i=$((i + 1)); done; sleep 0.8"


def kinds(place):
    status, out, _ = place.call([place.toll, "metrics", "--json"])
    assert status == 0
    return {m["name"]: m["kind"] for m in json.loads(out) if m["entity"] == "process"}


def points_of_record(place, record, interval):
    """{name: [(sample, value)]} as docs/mlflow.md says: the first sample of each interval ends the
    one before, and so does the last of all."""
    facts, found = kinds(place), {}
    since, values, seen = 0.0, {}, {}
    for number, sample in enumerate(livelib.records(record, "sample")):
        elapsed = sample["elapsed_seconds"]
        for name, value in sample["target"]["combined"].items():
            if value is not None:
                weight = elapsed - max(seen.get(name, 0.0), since)
                values.setdefault(name, []).append((value, weight))
                seen[name] = elapsed
        if sample.get("last") or int(elapsed / interval) != int(since / interval):
            for name, pairs in values.items():
                of_now = facts[name] == "counter" or name == "memory_peak_bytes"
                total = sum(weight for _, weight in pairs)
                mean = sum(v * w for v, w in pairs) / total if total > 0 else pairs[-1][0]
                found.setdefault(name, []).append((number, pairs[-1][0] if of_now else mean))
            since, values = elapsed, {}
    return found


def test_one_point_in_an_interval(here):
    """Counters as they are by then, gauges as their mean over the time, the last sample in any case;
    nothing is lost: cores times time are the CPU time, and the totals of the end are exact."""
    store, record = Store(), here.path("run.jsonl")
    with sinklib.Server(store) as server:
        r = here.run(["sh", "-c", BUSY], ["-i", "10ms", "-o", to(server, ",interval=200ms"), "-o",
                                          record])
        assert r.status == 0, r.err
    samples = livelib.records(record, "sample")
    wanted = points_of_record(here, record, 0.2)
    found = {k.split("target_", 1)[1]: v for k, v in store.metrics().items()
             if k.startswith("system/target_")}
    assert set(found) == set(wanted)
    for name, points in wanted.items():
        assert [step for _, step, _ in found[name]] == [number for number, _ in points], name
        # Times have nine decimals in the record, rates six.
        assert [value for _, _, value in found[name]] == pytest.approx(
            [value for _, value in points], rel=1e-4, abs=1e-5), name
    ends = [step for _, step, _ in found["wall_seconds"]]
    assert 4 <= len(ends) < len(samples) / 2 and ends[-1] == len(samples) - 1
    (output, *_) = r.summary["outputs"]
    assert output["delivered"] == output["samples"] == len(samples) and output["complete"]
    last = {k: v[-1][2] for k, v in store.metrics().items()}
    assert last["toll/cpu_seconds"] == r.total("cpu_seconds") == last["system/target_cpu_seconds"]
    since = used = 0
    for (_, _, wall), (_, _, cores) in zip(found["wall_seconds"], found["cpu_cores"]):
        used, since = used + cores * (wall - since), wall
    # Rates of samples are over their own time; the last of all comes with the exact total.
    assert used == pytest.approx(r.total("cpu_seconds"), rel=0.15, abs=0.03)


def test_ten_seconds_by_default(here):
    """A short job has one point of each figure, with all of its samples in it."""
    store = Store()
    with sinklib.Server(store) as server:
        r = here.run(["sleep", "0.3"], ["-i", "20ms", "-o", to(server, ",interval=10s")])
        plain = here.run(["true"], ["-o", sinklib.patient(f"mlflow:{server.url},wait=60s")])
    assert r.status == plain.status == 0
    ticks = r.summary["self"]["ticks"]["total"]
    for key, points in store.metrics(store.runs["%032x" % 1]).items():
        assert len(points) == 1, key
    assert r.summary["outputs"][0]["delivered"] == ticks > 5
    for key, points in store.metrics(store.runs["%032x" % 2]).items():
        assert len(points) == 1, key


def test_a_record_that_was_cut_short(here):
    """It has no last sample: what is left makes a point."""
    store, record = Store(), here.path("run.jsonl")
    assert here.run(["sleep", "0.3"], ["-i", "20ms", "-o", record]).status == 0
    lines = [line for line in record.read_text().splitlines() if '"last":true' not in line
             and json.loads(line)["type"] in ("run", "sample")]
    record.write_text("\n".join(lines) + "\n")
    with sinklib.Server(store) as server:
        status, _, err = here.call([here.toll, "export", record, "-o", to(server, ",interval=10s")])
    assert status == 0, err
    ((_, step, _),) = store.metrics()["system/target_wall_seconds"]
    assert step == len(lines) - 2


# ---- The names of MLflow's monitor ---------------------------------------------------------------

SEND = """
import socket, sys
listener = socket.create_server(("127.0.0.1", 0))
one = socket.create_connection(listener.getsockname())
other, _ = listener.accept()
for _ in range(80):
    one.sendall(bytes(1 << 16))
    left = 1 << 16
    while left:
        left -= len(other.recv(left))
input()
"""


def test_the_machine_as_psutil_has_it(here):
    """Which MLflow asks: memory, the filesystem at /, all interfaces with loopback."""
    store = Store()
    before = psutil.net_io_counters()
    with sinklib.Server(store) as server:
        toll = here.popen([here.toll, "run", "-q", "-i", "50ms", "-o", to(server), "--layout",
                           "mlflow-system", "--", sys.executable, "-c", SEND],
                          stdin=-1)
        livelib.until(lambda: any(v[-1][2] > 5 for k, v in (
            store.metrics().items() if store.runs else ()) if k == "system/network_receive_megabytes"),
            "what went over loopback")
        memory, disk = psutil.virtual_memory(), psutil.disk_usage("/")
        after = psutil.net_io_counters()
        toll.communicate(b"\n", timeout=60)
    assert toll.returncode == 0
    last = {k[len("system/"):]: v[-1][2] for k, v in store.metrics().items()
            if k.startswith("system/")}
    # The rest of the machine goes on, and the filesystem is read every ten seconds.
    total = memory.total / 1e6
    assert last["system_memory_usage_megabytes"] == pytest.approx(memory.used / 1e6, abs=0.05 * total)
    assert last["system_memory_usage_percentage"] == pytest.approx(
        100 * last["system_memory_usage_megabytes"] / total, abs=0.2)
    size = (disk.used + disk.free) / 1e6
    assert last["disk_usage_megabytes"] == pytest.approx(disk.used / 1e6, abs=0.05 * size)
    assert last["disk_available_megabytes"] == pytest.approx(disk.free / 1e6, abs=0.05 * size)
    assert last["disk_usage_percentage"] == pytest.approx(disk.percent, abs=5)
    for key, name in (("receive", "bytes_recv"), ("transmit", "bytes_sent")):
        there = [value for _, _, value in store.metrics()[f"system/network_{key}_megabytes"]]
        assert there == sorted(there) and there[0] < 5
        came = (getattr(after, name) - getattr(before, name)) / 1e6
        assert 80 * 65536 / 1e6 <= there[-1] and came >= 80 * 65536 / 1e6
    assert 0 <= last["cpu_utilization_percentage"] <= 100


def test_power_of_gpus(here):
    """In watts, and of the limit that is enforced; where there is no limit, there is no share."""
    store = Store()
    driver = Driver(here, "gpus 2\nutilization 63\nmemory_total 40000000000\nmemory_used 10000000000\n"
                          "power 250500\npower_limit 400000\n1.error.power_limit 3\n")
    script = job_until(recorded(r'"power_watts":250.5', 3))
    with sinklib.Server(store) as server:
        r = driver.run("-i", "50ms", "--gpus", "all", "-o", "run.jsonl", "-o",
                       to(server, ",interval=10s"), job=["sh", "-c", script])
    assert r.status == 0, r.err
    last = {k: v[-1][2] for k, v in store.metrics().items()}
    expected = {"memory_usage_percentage": 25, "memory_usage_megabytes": 10000,
                "utilization_percentage": 63, "power_usage_watts": 250.5}
    for gpu in (0, 1):
        assert {k: last[f"system/gpu_{gpu}_{k}"] for k in expected} == expected
    assert last["system/gpu_0_power_usage_percentage"] == 62.6
    assert "system/gpu_1_power_usage_percentage" not in last
    assert last["system/gpu/nvidia0/power_limit_watts"] == 400


@pytest.mark.parametrize("word", ["true", "True", "1"])
def test_a_program_that_logs_the_same_names(here, word, monkeypatch):
    """MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING: ours have a place of their own, and a note says so."""
    store = Store()
    monkeypatch.setenv("MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING", word)
    with sinklib.Server(store) as server:
        r = here.run(["true"], ["--system", "-o", to(server)])
        same = here.run(["true"], ["--system", "-o", to(server, ",monitor=no")])
        other = here.run(["true"], ["--system", "-o", to(server, ",prefix=job/")])
    (note,) = [n for n in r.summary["notes"] if "MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING" in n]
    assert "system/toll/" in note
    first, second, third = (store.metrics(run) for run in store.runs.values())
    assert "system/toll/system_memory_usage_megabytes" in first
    assert "system/system_memory_usage_megabytes" not in first
    assert "system/target_wall_seconds" in first, "our own names stay"
    assert "system/system_memory_usage_megabytes" in second
    assert "job/system_memory_usage_megabytes" in third
    for run in (same, other):
        assert not any("MLFLOW_ENABLE" in n for n in run.summary["notes"])


def test_a_run_that_has_these_names_already(here, monkeypatch):
    """log_system_metrics=True in the program that made the run."""
    store, usage = Store(), "system_memory_usage_megabytes"
    store.create_run({"experiment_id": "0", "start_time": 1})
    monkeypatch.setenv("MLFLOW_RUN_ID", store.run["run_id"])
    store.log_batch({"run_id": store.run["run_id"], "metrics": [
        {"key": f"system/{key}", "value": 3.5, "timestamp": 5, "step": 0}
        for key in ("cpu_utilization_percentage", usage)]})
    with sinklib.Server(store) as server:
        script = job_until(noted("already has MLflow.s system metrics"))
        r = here.run(["sh", "-c", script], ["-i", "20ms", "--system", "-o", to(server), "-o",
                                            "run.jsonl"])
    assert r.status == 0 and b"already has MLflow's system metrics" in r.err
    assert store.metrics()[f"system/{usage}"] == [(5, 0, 3.5)]
    assert store.metrics()[f"system/toll/{usage}"] and "system/target_wall_seconds" in store.metrics()


def test_several_tolls_in_one_run(here, monkeypatch):
    """One after the other: the names that an earlier one has logged are not those of a monitor."""
    store = Store()
    store.create_run({"experiment_id": "0", "start_time": 1})
    monkeypatch.setenv("MLFLOW_RUN_ID", store.run["run_id"])
    with sinklib.Server(store) as server:
        for _ in range(2):
            assert here.run(["true"], ["--system", "-o", to(server)]).status == 0
    assert "system/system_memory_usage_megabytes" in store.metrics()
    assert not any(key.startswith("system/toll/") for key in store.metrics())


def test_said_by_the_user(here):
    store = Store()
    with sinklib.Server(store) as server:
        assert here.run(["true"], ["--system", "-o", to(server, ",monitor=yes")]).status == 0
    assert "system/toll/system_memory_usage_megabytes" in store.metrics()
    assert "system/system_memory_usage_megabytes" not in store.metrics()


# ---- Parameters, parents, phases -----------------------------------------------------------------


def test_parameters(here, monkeypatch):
    """What runs are compared by; without the arguments, unless they are asked for, and then without
    what looks like a secret."""
    store = Store()
    job = ["sh", "-c", "true", f"--password={SECRET}", "plain"]
    with sinklib.Server(store) as server:
        for more in ("", ",command=yes", ",params=no"):
            assert here.run(job, ["-i", "20ms", "--system", "-o", to(server, more)]).status == 0
        first, second, third = (run["params"] for run in store.runs.values())
        assert first.pop("toll.kernel") and int(first.pop("toll.cpus")) > 0
        assert first == {"toll.command": "sh", "toll.host": socket.gethostname(),
                         "toll.interval_seconds": "0.02", "toll.metrics": "all",
                         "toll.system": "yes", "toll.network": "no", "toll.reads_gpus": first["toll.reads_gpus"],
                         "toll.children": "yes", "toll.since_start": "no"}
        line = second["toll.command"]
        assert line.startswith("sh -c true --password=") and line.endswith("plain")
        assert SECRET not in line and third == {}
        # Nothing of the user's is written into a run that is his, unless he asks.
        last = list(store.runs.values())[-1]
        monkeypatch.setenv("MLFLOW_RUN_ID", last["run_id"])
        assert here.run(job, ["-o", to(server)]).status == 0
        assert last["params"] == {}
        assert here.run(["true"], ["-o", to(server, ",params=yes")]).status == 0
        assert last["params"]["toll.command"] == "true"
        # They can be written once: others are refused, and nothing else with them.
        r = here.run(["sh", "-c", "true"], ["-o", to(server, ",params=yes"), "-o", here.path("r.jsonl")])
        (output, *_) = r.summary["outputs"]
        assert output["delivered"] == output["samples"] and not output["complete"]
        assert "Changing param values" in output["failure"]
    assert not any(SECRET.encode() in request["body"] for request in server.requests)


def test_a_long_command_line(here):
    """No longer than servers take a parameter."""
    store = Store()
    with sinklib.Server(store) as server:
        r = here.run(["true", "ä" * 400], ["-o", to(server, ",command=yes")])
    assert r.status == 0 and r.summary["outputs"][0]["complete"], r.err
    assert 450 <= len(store.run["params"]["toll.command"].encode()) <= 510


def test_a_nested_run(here, monkeypatch):
    """parent=: a run of its own below another, in the same experiment, also where that is joined
    otherwise; and the command joins ours."""
    store = Store()
    store.experiments["other"] = "7"
    store.create_run({"experiment_id": "7", "start_time": 1})
    parent = store.run["run_id"]
    monkeypatch.setenv("MLFLOW_RUN_ID", parent)
    with sinklib.Server(store) as server:
        r = here.run(["sh", "-c", "echo $MLFLOW_RUN_ID"], ["-o", to(server, f",parent={parent}")])
        assert r.status == 0, r.err
        ours = store.runs[r.out.decode().strip()]
        assert ours["run_id"] != parent and ours["experiment_id"] == "7"
        assert ours["tags"]["mlflow.parentRunId"] == parent and ours["status"] == "FINISHED"
        assert store.runs[parent]["status"] == "RUNNING" and not store.runs[parent]["metrics"]
        # An experiment that is named wins.
        monkeypatch.setenv("MLFLOW_EXPERIMENT_ID", "0")
        r = here.run(["sh", "-c", "echo $MLFLOW_RUN_ID"], ["-o", to(server, f",parent={parent}")])
        assert store.runs[r.out.decode().strip()]["experiment_id"] == "0"
        monkeypatch.delenv("MLFLOW_EXPERIMENT_ID")
    # Away: kept, and nested when it is sent.
    spool = here.path("spool")
    here.run(["true"], ["-o", f"mlflow:http://127.0.0.1:9,wait=0s,grace=0s,spool={spool},"
                              f"parent={parent}"])
    with sinklib.Server(store) as server:
        place = f"mlflow:{server.url}"
        text = re.sub(r"to - \d+\nmlflow:http://127.0.0.1:9\n", f"to - {len(place)}\n{place}\n",
                      spool.read_text())
        spool.write_text(text)
        status, out, err = here.call([here.toll, "resend", spool])
    assert status == 0, err
    late = list(store.runs.values())[-1]
    assert late["experiment_id"] == "7" and late["tags"]["mlflow.parentRunId"] == parent


@pytest.mark.parametrize("options, sentence", [
    (",parent=a b", "invalid ID in parent"),
    (",parent=a,run_id=b", "cannot be combined"),
    (",interval=often", "expected a time"),
    (",monitor=perhaps", "auto|no|yes"),
])
def test_mistakes(here, options, sentence):
    status, _, err = here.call([here.toll, "run", "-o", f"mlflow:http://h{options}", "--", "true"])
    assert status == 125 and sentence in err.decode(), err


def test_phases(here):
    """Each one as a point of its name, and what all of a name took and used at the end."""
    store, toll = Store(), here.toll
    script = (f"for i in 1 2 3; do {toll} mark phase begin load/data; sleep 0.05; "
              f"{toll} mark phase end load/data; done; {toll} mark phase begin train; {BUSY}")
    with sinklib.Server(store) as server:
        r = here.run(["sh", "-c", script], ["-i", "20ms", "-o", to(server, ",interval=10s"), "-o",
                                            here.path("run.jsonl")])
        assert r.status == 0, r.err
    metrics = store.metrics()
    marks = [m for m in livelib.records(here.path("run.jsonl"), "phase") if m["name"] == "load/data"]
    assert [(step, value) for _, step, value in metrics["toll/phase/load/data/seconds"]] == [
        (number, pytest.approx(mark["seconds"])) for number, mark in enumerate(marks)]
    assert len(marks) == 3
    phases = {phase["name"]: phase for phase in r.summary["phases"]}
    for name, phase in phases.items():
        last = {k.rsplit("/", 1)[1]: v[-1][2] for k, v in metrics.items()
                if k.startswith(f"toll/phase/{name}/")}
        assert last["count"] == phase["count"]
        assert last["total_seconds"] == pytest.approx(phase["total_seconds"])
        assert last["max_seconds"] == pytest.approx(phase["max_seconds"])
        for metric, figure in phase["figures"].items():
            if figure["quality"] == "unknown":
                assert not any(k.startswith(metric) for k in last), metric
            elif "total" in figure:
                assert last[metric] == pytest.approx(figure["total"]), metric
            else:
                assert last[metric + "_mean"] == pytest.approx(figure["mean"]), metric
                assert last.get(metric + "_max") == pytest.approx(figure.get("max")), metric
    assert phases["train"]["figures"]["cpu_seconds"]["total"] > 0
