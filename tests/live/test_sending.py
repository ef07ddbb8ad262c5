# SPDX-License-Identifier: MIT
"""Outputs that are sent somewhere: all arrives, whatever the other side does nothing is held up,
and what is lost is told."""
import json
import os
import re
import signal
import subprocess
import time

import pytest

import livelib
import sinklib
from terminal import Terminal


@pytest.fixture(autouse=True)
def has_http(here):
    status, _, err = here.call([here.toll, "run", "-q", "-o", "prometheus:http://127.0.0.1:9/,grace=0s",
                                "--", "true"])
    if b"libcurl" in err:
        pytest.skip("this toll has no HTTP")
    assert status == 0


def remote_write(server, more=""):
    return sinklib.patient(f"prometheus:{server.url}/api/v1/write,every=100ms{more}")


def expected_samples(path):
    """{(name, scope): [values]} of a record, as Prometheus should have them."""
    counters = {(m["entity"], m["name"]) for m in METRICS if m["kind"] == "counter"}
    found, times = {}, []
    for sample in livelib.records(path, "sample"):
        times.append(sample["time"])
        rows = [("target", "process", part, row) for part, row in sample["target"].items()]
        rows.append(("self", "self", "self", sample["self"]))
        for prefix, entity, scope, row in rows:
            for name, value in row.items():
                total = "_total" if (entity, name) in counters else ""
                if value is not None:
                    found.setdefault((f"toll_{prefix}_{name}{total}", scope), []).append(value)
    return found, times


def facts_of_the_end(server):
    """{name: the one value it has} of what tells how a run ended."""
    return {dict(labels)["__name__"]: sinklib.number(*samples.values())
            for labels, samples in sinklib.arrived(server).items() if "scope" not in dict(labels)}


@pytest.fixture(autouse=True, scope="module")
def metrics(programs):
    global METRICS
    import subprocess
    METRICS = json.loads(subprocess.check_output([programs[0], "metrics", "--json"]))


def check_all_arrived(server, record):
    expected, times = expected_samples(record)
    found = {}
    for labels, samples in sinklib.arrived(server).items():
        d = dict(labels)
        if d.get("scope") not in ("combined", "main", "descendants", "self"):
            continue
        values = [bits for _, bits in sorted(samples.items())]
        assert values[-1] == sinklib.END_BITS, "its end is marked"
        found[d["__name__"], d["scope"]] = [sinklib.number(bits) for bits in values[:-1]]
    assert set(found) == set(expected)
    for key, values in expected.items():
        # Rates have six decimals in the record; the rest is equal to the digit.
        assert found[key] == pytest.approx(values, abs=5.1e-7, rel=0), key
        if "cores" not in key[0] and "ratio" not in key[0] and "utilization" not in key[0]:
            assert found[key] == values, key
    return len(times)


def test_every_sample_arrives_once(place):
    def answer(request):
        place.path("asked").touch()
        return 204, b"", {}

    with sinklib.Server(answer) as server:
        job = livelib.job_until("[ -e asked ]") + "; sleep 0.1; exit 4"
        r = place.run(["sh", "-c", job],
                      ["-i", "20ms", "-o", remote_write(server), "-o", place.path("run.jsonl"),
                       "--name", "my run", "--label", "team=blue", "--label", "run=x"])
        assert r.status == 4, r.err
        samples = check_all_arrived(server, place.path("run.jsonl"))
        ended = facts_of_the_end(server)
        labels = dict(next(iter(sinklib.arrived(server))))
        (output, *_) = r.summary["outputs"]
        head = server.requests[0]["headers"]
    assert output["name"] == f"prometheus {server.url}/api/v1/write"
    assert output["samples"] == output["delivered"] == samples
    (last,) = livelib.records(place.path("run.jsonl"), "sample")[-1:]
    assert set(ended) == {"toll_run_end_time_seconds", "toll_run_exit_code"}
    assert ended["toll_run_exit_code"] == 4
    assert abs(ended["toll_run_end_time_seconds"] - last["unix_seconds"]) < 1
    assert output["dropped"] == output["kept"] == output["retries"] == 0
    assert output["complete"] and output["failure"] is None
    assert labels["run"] == "my run" and labels["team"] == "blue" and labels["label_run"] == "x"
    assert labels["instance"] and not {"pid", "command"} & set(labels)
    assert head["X-Prometheus-Remote-Write-Version"] == "0.1.0"
    assert head["Content-Encoding"] == "snappy"
    assert head["Content-Type"] == "application/x-protobuf"
    assert len(server.requests) >= 2, "in batches, while it runs"


def test_a_server_that_is_away_for_a_while(here):
    """Stopped and started again in the middle, on the same port."""
    with sinklib.Server() as first:
        p = here.popen([here.toll, "run", "-q", "-i", "50ms", "--summary-to", here.path("s.json"),
                        "-o", remote_write(first, ",grace=30s"), "-o", here.path("run.jsonl"),
                        "--", "sh", "-c", livelib.job_until("[ -e over ]")])
        livelib.until(lambda: len(first.requests) >= 2, "requests")
        first.stop()
        livelib.until(lambda: "the job goes on" in here.path("run.jsonl").read_text(), "trouble")
        with sinklib.Server(port=first.port) as second:
            livelib.until(second.taken, "that it goes on")
            here.path("over").touch()
            assert p.wait(livelib.GUARD) == 0
            second.requests = first.requests + second.requests
            samples = check_all_arrived(second, here.path("run.jsonl"))
    (output, *_) = json.loads(here.path("s.json").read_text())["outputs"]
    assert output["delivered"] == samples and output["complete"]
    assert output["retries"] >= 1


@pytest.mark.parametrize("trouble", [
    (500, b"<html>what</html>", {}), (503, b"", {"Retry-After": "0"}), (429, b"slow down", {}),
    "close",
])
def test_what_is_tried_again(here, trouble):
    left = [2]

    def answer(request):
        left[0] -= 1
        return trouble if left[0] >= 0 else (200, b"", {})

    with sinklib.Server(answer) as server:
        r = here.run(["sleep", "0.2"], ["-i", "50ms", "-o", remote_write(server), "-o",
                                       here.path("run.jsonl")])
        assert r.status == 0
        check_all_arrived(server, here.path("run.jsonl"))
    (output, *_) = r.summary["outputs"]
    assert output["complete"] and output["retries"] == 2, output
    assert output["failure"]
    assert r.err.count(b"the job goes on") == 1, r.err


@pytest.mark.parametrize("trouble", [(504, b"<html>", {}), "close"])
def test_what_a_server_had_taken(here, trouble):
    """A proxy lost patience, or the answer was lost: the same samples again are out of order."""
    answers = [trouble, (400, b"out of order sample", {})]
    with sinklib.Server(lambda request: answers.pop(0) if answers else (204, b"", {})) as server:
        r = here.run(["sleep", "0.2"], ["-i", "50ms", "-o", remote_write(server)])
    (output, *_) = r.summary["outputs"]
    assert output["complete"] and output["retries"] == 1 and not output["dropped"]


def test_sinks_as_json(here):
    status, out, err = here.call([here.toll, "sinks", "--json"])
    kinds = {kind["name"]: kind for kind in json.loads(out)}
    assert status == 0 and {"csv", "prometheus", "sqlite", "sub-tracking"} <= set(kinds)
    assert {"every", "grace", "token_file"} <= {o["name"] for o in kinds["prometheus"]["options"]}
    status, out, err = here.call([here.toll, "sinks"])
    assert status == 0 and b"(null)" not in out


@pytest.mark.parametrize("status", [400, 401, 404, 413])
def test_what_is_not_tried_again(here, status):
    with sinklib.Server((status, b"no, never\nmore", {})) as server:
        status_, out, err = here.call([here.toll, "run", "-o", remote_write(server), "--", "true"])
    assert status_ == 0
    assert f"it answered {status}: no, never".encode() in b" ".join(err.split()), err
    assert b"0 samples" in err and b"lost" in err
    assert len({r["body"] for r in server.requests}) == len(server.requests), "nothing twice"


@pytest.mark.parametrize("quiet", [["-q"], ["--summary", "none"], ["--summary-to", "s.txt"]])
def test_what_failed_is_told_without_a_summary(here, quiet):
    """Each output once, with its name, what is missing and why."""
    place = "http://user:secret@127.0.0.1:1/api/v1/write"
    status, _, err = here.call([here.toll, "run", *quiet, "-o", f"prometheus:{place},grace=50ms",
                                "-o", "csv:/dev/full", "--", "true"])
    ends = [line for line in err.decode().splitlines() if "the job goes on" not in line]
    assert status == 0 and len(ends) == 2, err
    assert ends[0].startswith("toll: prometheus http://127.0.0.1:1/api/v1/write: ")
    assert "samples are lost: " in ends[0] and "connect" in ends[0] and "secret" not in err.decode()
    assert ends[1].startswith("toll: ") and "'/dev/full' could not be written: No space" in ends[1]


def test_the_path_of_remote_write_is_told(here):
    with sinklib.Server((405, b"Method Not Allowed", {})) as server:
        r = here.run(["true"], ["-o", f"prometheus:{server.url},grace=60s"])
    assert "/api/v1/write" in r.summary["outputs"][0]["failure"]


def test_two_runs_with_the_same_labels(here):
    with sinklib.Server((400, b"out of order sample", {})) as server:
        _, _, err = here.call([here.toll, "run", "-q", "-o", remote_write(server), "--", "true"])
    assert b"400: out of order sample; another run with the same labels? --name or --label" in err


def test_a_server_that_never_answers(here):
    """The job and its samples are as without it, and toll ends within the grace."""
    job = ["sleep", "0.4"]
    with sinklib.silent() as silent:
        url = "http://127.0.0.1:%d/" % silent.getsockname()[1]
        alone = here.run(job, ["-i", "10ms"])
        began = time.monotonic()
        r = here.run(job, ["-i", "10ms", "-o", f"prometheus:{url},every=20ms,grace=1500ms"])
        took = time.monotonic() - began
    assert r.status == 0
    wall = r.summary["wall_seconds"]
    assert wall < alone.summary["wall_seconds"] + 1, "the job is not held up"
    ticks = [x.summary["self"]["ticks"]["total"] + x.summary["self"]["ticks_missed"]["total"]
             for x in (alone, r)]
    assert ticks[1] / wall == pytest.approx(ticks[0] / alone.summary["wall_seconds"], rel=0.2)
    assert 1.4 < took - wall < 10, "the grace, and no more than a slow machine"
    (output, *_) = r.summary["outputs"]
    assert output["delivered"] == 0 and not output["complete"]
    assert output["dropped"] == output["samples"] > 10
    assert "no time left" in output["failure"] or "in time" in output["failure"]


def test_ctrl_c_ends_the_wait(here):
    """The job is over: nobody has to wait for a server that does not answer. Its status stays."""
    with sinklib.silent() as silent:
        place = f"prometheus:http://127.0.0.1:{silent.getsockname()[1]}/"
        began = time.monotonic()
        with Terminal([here.toll, "run", "-o", place + ",grace=300s", "--", "sh", "-c", "exit 5"],
                      {}, here.directory) as t:
            t.expect(r"waiting for what is left, 300 s at most \(Ctrl-C ends the wait\)")
            t.type("\x03")
            assert re.search(r"\^C\r\ntoll: sh -c .*sent to .*0 samples", t.rest(), re.DOTALL)
            assert t.status == 5
        assert time.monotonic() - began < 100


def test_others_are_not_disturbed(here):
    with sinklib.silent() as silent, sinklib.Server((400, b"no", {})) as refuses, \
            sinklib.Server() as takes:
        dead = "prometheus:http://127.0.0.1:%d/,grace=300ms" % silent.getsockname()[1]
        r = here.run(["sh", "-c", "exit 7"],
                     ["-o", dead, "-o", remote_write(refuses), "-o", remote_write(takes),
                      "-o", here.path("run.jsonl"), "-o", "prometheus:http://127.0.0.1:9/,grace=100ms"])
        check_all_arrived(takes, here.path("run.jsonl"))
    assert r.status == 7
    assert [o["complete"] for o in r.summary["outputs"]] == [False, False, True, False, True]
    assert livelib.records(here.path("run.jsonl"), "summary")[0]["outputs"] == r.summary["outputs"]


def test_a_queue_that_is_full_drops_the_oldest(here):
    with sinklib.Server((503, b"", {})) as server:
        record = here.path("run.jsonl")
        p = here.popen([here.toll, "run", "-q", "-i", "5ms", "--summary-to", here.path("s.json"),
                        "-o", remote_write(server, ",queue=16K,grace=20s"), "-o", record,
                        "--", "sh", "-c", livelib.job_until("[ -e over ]")])
        livelib.until(lambda: record.exists() and record.read_text().count('"sample"') > 100,
                      "more than fits")
        server.answer = (204, b"", {})
        here.path("over").touch()
        assert p.wait(livelib.GUARD) == 0
    (output, *_) = json.loads(here.path("s.json").read_text())["outputs"]
    assert output["dropped"] > 0 and output["delivered"] > 0
    assert output["dropped"] + output["delivered"] == output["samples"]
    assert not output["complete"]


def test_secrets_are_not_told(here):
    (here.directory / "token").write_text("hunter2\n")
    (here.directory / "token").chmod(0o644)
    with sinklib.Server((401, b"who are you?", {})) as server:
        url = server.url.replace("//", "//joe:hunter3@") + "/x?key=hunter4"
        options = ["-v", "-o", f"prometheus:{url},header=X-Key: hunter5,every=10ms",
                   "-o", f"prometheus:{server.url},token_file={here.directory / 'token'}",
                   "-o", here.path("run.jsonl"), "-o", here.path("run.txt")]
        status, out, err = here.call([here.toll, "run", *options, "--", "sleep", "0.1"])
    heads = [r["headers"] for r in server.requests]
    assert any(h.get("Authorization") == "Bearer hunter2" for h in heads)
    assert any(h.get("Authorization", "").startswith("Basic am9lOmh1bnRlcjM") for h in heads)
    assert any(h.get("X-Key") == "hunter5" for h in heads)
    written = err + out + here.path("run.jsonl").read_bytes() + here.path("run.txt").read_bytes()
    assert b"it answered 401" in b" ".join(written.split())
    assert b"hunter" not in written and b"joe" not in written


def test_what_the_courier_reads_is_not_the_jobs(here):
    """Looking up a name reads files; so does loading what TLS needs."""
    with sinklib.Server() as server:
        url = f"prometheus:http://localhost:{server.port}/,every=1ms"
        command = ["sh", "-c", "for i in 1 2 3 4 5; do sleep 0.05; head -c 100000 /dev/zero; done"]
        alone = here.run(command)
        r = here.run(command, ["-o", url, "-i", "5ms"])
    assert server.taken()
    for metric in ("io_read_bytes", "io_written_bytes", "io_read_calls", "io_write_calls"):
        assert r.total(metric) == alone.total(metric), metric
        assert r.quality(metric) == alone.quality(metric)


@pytest.mark.parametrize("destination, sentence", [
    ("prometheus:", "takes a URL"),
    ("prometheus:http://h,evry=1s", "has no option 'evry'; there are every, grace, queue"),
    ("prometheus:http://h,every=soon", "takes a time such as"),
    ("prometheus:http://h,token_file=/no/such", "cannot read '/no/such'"),
    ("prometheus:http://h,ca=/no/such", "cannot read the certificates in '/no/such': No such file"),
    ("prometheus:http://h,header=X: a\r\nY: b", "takes 'Name: value'"),
    ("promotheus:http://h", "does not tell a format"),
    ("openmetrics:19465", "write ':19465' to listen there"),
    ("x.csv,every=1s", "csv has no options"),
    ("csv:x.csv,every=1s", "csv has no options"),
])
def test_mistakes_are_told_before_anything_runs(here, destination, sentence):
    status, out, err = here.call([here.toll, "run", "-o", destination, "--", "touch",
                                  here.path("ran")])
    assert status == 125 and sentence in err.decode()
    assert not here.path("ran").exists()


def test_paths_may_have_commas(here):
    for name in ("a,b.csv", "a,every=5s.csv", "prometheus,x.jsonl"):
        status, out, err = here.call([here.toll, "run", "-q", "-o", here.path(name), "--", "true"])
        assert status == 0, err
        assert here.path(name).exists()


def test_the_command_inherits_nothing(here):
    with sinklib.Server() as server:
        r = here.run(["sh", "-c", "ls /proc/self/fd | wc -l; grep -E '^(SigBlk|SigIgn)' "
                                  "/proc/self/status"], ["-o", remote_write(server)])
        alone = here.run(["sh", "-c", "ls /proc/self/fd | wc -l; grep -E '^(SigBlk|SigIgn)' "
                                      "/proc/self/status"])
    assert r.out == alone.out


# ---- OTLP ----------------------------------------------------------------------------------------


def attributes(pairs):
    return {p[1].decode(): dict(sinklib.fields(p[2]))[1].decode()
            for p in (dict(sinklib.fields(x)) for x in pairs)}


def group(message):
    found = {}
    for number, value in sinklib.fields(message):
        found.setdefault(number, []).append(value)
    return found


def otlp_points(server):
    """(resource, {(metric, unit, is_sum, attributes): [(ns, start, value or None)]})"""
    found, resources = {}, set()
    for request in server.taken():
        (resource_metrics,) = group(request["body"])[1]
        parts = group(resource_metrics)
        resources.add(tuple(sorted(attributes(group(parts[1][0])[1]).items())))
        (scope_metrics,) = parts[2]
        names = set()
        for metric in group(scope_metrics)[2]:
            m = group(metric)
            name, unit = m[1][0].decode(), m[3][0].decode()
            assert (name, 5 in m) not in names, "each metric once in a request"
            names.add((name, 5 in m))
            assert m[2][0], "a description"
            is_sum = 7 in m
            data = group(m[7 if is_sum else 5][0])
            assert (data.get(2), data.get(3)) == (([2], [1]) if is_sum else (None, None))
            for point in data[1]:
                p = group(point)
                key = (name, unit, is_sum, tuple(sorted(attributes(p.get(7, [])).items())))
                value = sinklib.number(p[4][0]) if 4 in p else None
                assert (value is None) == (p.get(8) == [1])
                found.setdefault(key, []).append((p[3][0], p.get(2, [None])[0], value))
    (resource,) = resources
    return dict(resource), found


def test_otlp(here):
    with sinklib.Server((200, b"", {})) as server:
        r = here.run(["sleep", "0.5"], ["-i", "50ms", "-o", f"otlp:{server.url},every=100ms,grace=60s",
                                       "-o", here.path("run.jsonl"), "--label", "team=blue",
                                       "--label", "scope=mine", "--name", "otel", "--system"])
        assert r.status == 0 and r.summary["outputs"][0]["complete"], r.err
        assert {x["path"] for x in server.requests} == {"/v1/metrics"}
        assert server.requests[0]["headers"]["Content-Type"] == "application/x-protobuf"
        resource, found = otlp_points(server)
    assert resource["service.name"] == "otel" and resource["team"] == "blue"
    assert resource["label_scope"] == "mine", "toll's own labels keep their names"
    assert resource["host.name"]
    samples = livelib.records(here.path("run.jsonl"), "sample")
    assert [v for _, _, v in found["toll.run.exit_code", "1", False, ()]] == [0]
    for name, unit, is_sum, more, metric in [
        ("process.cpu.time", "s", True, {"cpu.mode": "user"}, "cpu_user_seconds"),
        ("process.cpu.time", "s", True, {"cpu.mode": "system"}, "cpu_system_seconds"),
        ("process.memory.usage", "By", False, {}, "memory_rss_bytes"),
        ("process.thread.count", "1", False, {}, "threads"),
        ("process.disk.io", "By", True, {"direction": "write"}, "storage_written_bytes"),
        ("toll.target.cpu_seconds", "s", True, {}, "cpu_seconds"),
        ("system.cpu.time", "s", True, {"cpu.mode": "idle"}, "cpu_idle_seconds"),
        ("system.memory.usage", "By", False, {"state": "free"}, "memory_free_bytes"),
    ]:
        scope = "system" if name.startswith("system") else "main"
        key = (name, unit, is_sum, tuple(sorted({"scope": scope, **more}.items())))
        *points, end = found[key]
        expected = [(s["target"]["main"] if scope == "main" else s["system"])[metric]
                    for s in samples]
        assert [v for _, _, v in points] == [v for v in expected if v is not None], key
        assert end[2] is None, "its end is marked"
        assert [t for t, _, _ in points] == sorted({t for t, _, _ in points})
        assert all((start is not None) == is_sum for _, start, _ in points)


@pytest.mark.parametrize("rejected, number", [(1, b"\x01"), (2**20, b"\x80\x80\x40")])
def test_otlp_that_rejects_some(here, rejected, number):
    """Of one figure a sample lacks something; when none is taken all are lost."""
    said = b"\x08" + number + b"\x12\x03old"
    with sinklib.Server((200, b"\x0a" + bytes([len(said)]) + said, {})) as server:
        r = here.run(["sleep", "0.1"], ["-i", "20ms", "-o", f"otlp:{server.url}/my/path,every=1h,grace=60s"])
        assert {x["path"] for x in server.requests} == {"/my/path"}
    (output,) = r.summary["outputs"]
    lost = min(rejected, output["samples"])
    assert (output["dropped"], output["delivered"]) == (lost, output["samples"] - lost)
    assert output["samples"] > 1 and not output["complete"]
    figures = sum(len(points) for points in otlp_points(server)[1].values())
    assert output["failure"] == f"it rejected {rejected} of {figures} figures: old"
    assert output["failure"].encode() in r.err


# ---- The endpoint --------------------------------------------------------------------------------


def raw(port, data, linger=False):
    import socket
    with socket.create_connection(("127.0.0.1", port), 10) as s:
        s.sendall(data)
        s.settimeout(20)
        got = b""
        while True:
            try:
                part = s.recv(65536)
            except ConnectionResetError:
                break
            if not part:
                break
            got += part
    return got


@pytest.fixture
def endpoint(here):
    """toll with an endpoint, as long as the test takes."""
    port = sinklib.free_port()
    p = here.popen([here.toll, "run", "-i", "20ms", "-o", f"openmetrics::{port}", "-o",
                    here.path("run.jsonl"), "--summary-to", here.path("s.json"), "--", "sleep",
                    "60"])
    until = time.monotonic() + 30
    while True:
        try:
            if b"toll_target_cpu_seconds_total" in raw(port, b"GET /metrics HTTP/1.1\r\n\r\n"):
                break
        except OSError:
            pass
        assert time.monotonic() < until
        time.sleep(0.02)
    yield p, port
    p.terminate()
    p.wait(livelib.GUARD)


def test_endpoint_answers(endpoint):
    _, port = endpoint
    ask = b"GET /metrics HTTP/1.1\r\nHost: localhost:%d\r\n" % port
    head, body = raw(port, ask + b"\r\n").split(b"\r\n\r\n", 1)
    assert head.startswith(b"HTTP/1.1 200 OK") and b"text/plain; version=0.0.4" in head
    assert int(head.split(b"Content-Length: ")[1].split()[0]) == len(body)
    assert b"# TYPE toll_target_cpu_seconds_total counter" in body and b"# EOF" not in body
    wants = b"Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5\r\n\r\n"
    head, body = raw(port, ask + wants).split(b"\r\n\r\n", 1)
    assert b"Content-Type: application/openmetrics-text; version=1.0.0" in head
    assert b"# TYPE toll_target_cpu_seconds counter" in body and body.endswith(b"\n# EOF\n")
    head, body = raw(port, ask.replace(b"GET", b"HEAD") + b"\r\n").split(b"\r\n\r\n", 1)
    assert b"200 OK" in head and not body
    assert b"200 OK" in raw(port, b"GET /metrics?x=y HTTP/1.0\r\n\r\n")


@pytest.mark.parametrize("request_, status", [
    (b"POST /metrics HTTP/1.1\r\n\r\n", b"405"), (b"GET / HTTP/1.1\r\n\r\n", b"404"),
    (b"GET /metricsx HTTP/1.1\r\n\r\n", b"404"), (b"GET /metrics\r\n\r\n", b"400"),
    (b"\0\0\0\0", b"400"), (b"\x16\x03\x01\x02\x00\x01\x00\xff\r\n\r\n", b"400"),
    (b"GET /metrics HTTP/1.1\r\nX: " + b"y" * 5000, b"431"),
    (b"GET /metrics HTTP/1.1\r\nHost: rebound.example.org:9464\r\n\r\n", b"421"),
    (b"\r\n\r\n", b"405"), (b"GET ", b"")])
def test_endpoint_refuses_nonsense(endpoint, request_, status):
    p, port = endpoint
    if status:
        assert raw(port, request_).startswith(b"HTTP/1.1 " + status)
    assert b"200 OK" in raw(port, b"GET /metrics HTTP/1.1\r\n\r\n")
    assert p.poll() is None


def test_endpoint_under_a_flood(endpoint, here):
    """Those who say nothing take all places, for a while: samples go on, and then it answers."""
    import socket
    p, port = endpoint

    def samples():
        text = here.path("run.jsonl").read_text()
        lines = map(json.loads, text[:text.rindex("\n")].splitlines())
        return [line for line in lines if line["type"] == "sample"]

    before = len(samples())
    silent = [socket.create_connection(("127.0.0.1", port), 10) for _ in range(12)]
    for s in silent[:4]:
        s.sendall(b"GET /me")
    began = time.monotonic()
    assert b"200 OK" in raw(port, b"GET /metrics HTTP/1.1\r\n\r\n")
    took = time.monotonic() - began
    meanwhile = samples()[before - 1:]
    assert max(s["interval_seconds"] for s in meanwhile) < took / 2, "samples are not held up"
    ticks = len(meanwhile) + meanwhile[-1]["self"]["ticks_missed"] - meanwhile[0]["self"]["ticks_missed"]
    assert ticks > took / 0.02 * 0.5, "but for those that a busy machine missed"
    for s in silent:
        s.close()
    assert p.poll() is None


def test_endpoint_is_on_loopback_only(endpoint):
    _, port = endpoint
    listening = [line.split() for line in open("/proc/net/tcp").read().splitlines()[1:]]
    at = {l[1] for l in listening if l[3] == "0A" and int(l[1].split(":")[1], 16) == port}
    assert at == {f"0100007F:{port:04X}"}


def test_an_address_that_is_taken(here, endpoint):
    _, port = endpoint
    status, out, err = here.call([here.toll, "run", "-o", f"openmetrics::{port}", "--", "true"])
    assert status == 125 and b"cannot listen at" in err and b"in use" in err
    for place in ("", ":99999", ":http"):
        status, out, err = here.call([here.toll, "run", "-o", "openmetrics:" + place, "--", "true"])
        assert status == 125 and b"takes a file, or an address" in err


# ---- Files that cannot be written ----------------------------------------------------------------


def test_files_on_a_full_disk(here):
    status, out, err = here.call([here.toll, "run", "-i", "20ms", "-o", "openmetrics:/dev/full",
                                  "--", "sh", "-c", "sleep 0.1; exit 4"])
    assert status == 4
    text = b" ".join(err.split())
    assert b"No space left on device" in text and b"lost" in text


@pytest.mark.parametrize("name", ["run.om", "run.prom"])
def test_a_directory_that_vanishes(here, name):
    directory = here.path("gone")
    directory.mkdir()
    directory.chmod(0o777)
    status, out, err = here.call([
        here.toll, "run", "-i", "20ms", "-o", f"openmetrics:{directory}/{name},every=10ms", "--",
        "sh", "-c", f"sleep 0.1; mv '{directory}' '{directory}.away'; sleep 0.1; exit 5"])
    assert status == 5, err
    if name == "run.prom":
        assert b"No such file or directory" in b" ".join(err.split())
    assert not directory.exists()


def test_a_directory_that_is_not_there(here):
    for name in ("run.om", "run.prom"):
        status, out, err = here.call([here.toll, "run", "-o", f"openmetrics:/no/such/{name}", "--",
                                      "touch", here.path("ran")])
        assert status == 125 and b"cannot write to '/no/such/" in err
    assert not here.path("ran").exists()


def test_a_file_of_another_run(here):
    """Nothing of it is left, also when this one is killed."""
    path = here.path("run.om")
    assert here.run(["true"], ["--name", "first", "-o", path]).status == 0
    assert "# EOF" in path.read_text()
    with here.popen([here.toll, "run", "-q", "-i", "10ms", "-o", f"{path},every=10ms", "--name",
                     "second", "--", "sleep", "20"], start_new_session=True) as p:
        until = time.monotonic() + livelib.GUARD
        while 'run="second"' not in path.read_text() and time.monotonic() < until:
            time.sleep(0.01)
        os.killpg(p.pid, signal.SIGKILL)
    text = path.read_text()
    assert 'run="first"' not in text and "# EOF" not in text


def test_a_textfile_is_there_from_the_start(here):
    """Not only after the first five seconds; and of a run that was killed, what there was."""
    path = here.path("run.prom")
    with here.popen([here.toll, "run", "-q", "-o", f"{path},every=100s", "--", "sleep", "60"],
                    start_new_session=True) as p:
        until = time.monotonic() + livelib.GUARD
        while not path.exists() and time.monotonic() < until:
            time.sleep(0.01)
        os.killpg(p.pid, signal.SIGKILL)
    text = path.read_text()
    assert "toll_target_threads{" in text and "toll_run_end_time" not in text


def test_the_newest_figures_say_that_a_run_is_over(here):
    path = here.path("run.prom")
    assert here.run(["sh", "-c", "sleep 0.1; exit 3"], ["-i", "20ms", "-o", path]).status == 3
    text = path.read_text()
    assert re.search(r"^toll_run_exit_code\{.*\} 3$", text, re.M)
    (ended,) = re.findall(r"^toll_run_end_time_seconds\{.*\} (.*)$", text, re.M)
    assert abs(float(ended) - path.stat().st_mtime) < livelib.GUARD
    assert "toll_target_cpu_seconds_total{" in text and "toll_target_memory_peak_bytes{" in text
    for gauge in ("threads", "processes", "memory_rss_bytes", "cpu_cores"):
        assert f"toll_target_{gauge}{{" not in text


def test_groups_of_a_pushgateway(here):
    """What tells runs apart in labels does so in groups."""
    with sinklib.Server() as server:
        for job in ("7", "8"):
            assert here.run(["true"], ["--name", "grp", "--label", f"job={job}", "--label",
                                       "team=a/b", "--label", "model=x",
                                       "-o", f"pushgateway:{server.url},grace=60s"]).status == 0
        assert here.run(["true"], ["--name", "grp", "-o", f"pushgateway:{server.url},grace=60s"]).status == 0
    paths = [r["path"] for r in server.taken()]
    for path, job in zip(paths, ("7", "8", "toll")):
        assert path.startswith(f"/metrics/job/{job}/instance/"), path
    # A GPU has a model of its own, which the group's would hide.
    assert paths[0].endswith("/label_model/x/run/grp/team@base64/YS9i")
    assert len(set(paths)) == 3


def test_a_textfile_is_for_others(here):
    """Whatever the umask, and several may write to the same place."""
    command = f"umask 077; exec '{here.toll}' run -q -i 5ms -o 'openmetrics:{here.path('x.prom')}," \
              "every=1ms' --name {} -- sleep 0.4"
    both = [here.popen(["sh", "-c", command.format(name)], stderr=subprocess.PIPE)
            for name in "ab"]
    for p in both:
        assert p.wait(livelib.GUARD) == 0 and not p.stderr.read()
        p.stderr.close()
    assert here.path("x.prom").stat().st_mode & 0o777 == 0o644
    assert [f.name for f in here.directory.iterdir() if "prom" in f.name] == ["x.prom"]


def test_a_file_in_order(here):
    """Series one behind the other, each described once, # EOF, and the figures of the record."""
    r = here.run(["sleep", "0.3"], ["-i", "20ms", "--system", "-o", here.path("a,b.om"),
                                   "-o", here.path("run.jsonl")])
    assert r.summary["outputs"][0]["complete"]
    lines = here.path("a,b.om").read_text().splitlines()
    assert lines[-1] == "# EOF" and lines.count("# EOF") == 1
    types = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(types) == len(set(types))
    order, values = [], {}
    for line in lines:
        if line.startswith("#"):
            continue
        lead, value, when = line.rsplit(" ", 2)
        if not order or order[-1] != lead:
            order.append(lead)
        values.setdefault(lead, []).append((float(when), float(value)))
        family = lead.split("{")[0]
        assert types and family.removesuffix("_total") in types
    assert len(order) == len(set(order)), "a series in one piece"
    assert all(v == sorted(v) for v in ([t for t, _ in x] for x in values.values()))
    (lead,) = [x for x in order if x.startswith("toll_target_cpu_seconds_total{")
               and 'scope="main"' in x]
    expected = [s["target"]["main"]["cpu_seconds"]
                for s in livelib.records(here.path("run.jsonl"), "sample")]
    assert [v for _, v in values[lead]] == [v for v in expected if v is not None]
    assert sorted(f.name for f in here.directory.iterdir() if "order" in f.name) == []
