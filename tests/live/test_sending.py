# SPDX-License-Identifier: MIT
"""Outputs that are sent somewhere: all arrives, whatever the other side does nothing is held up,
and what is lost is told."""
import json
import time

import pytest

import livelib
import sinklib

@pytest.fixture(autouse=True)
def has_http(here):
    status, _, err = here.call([here.toll, "run", "-q", "-o", "prometheus:http://127.0.0.1:9/,grace=0s",
                                "--", "true"])
    if b"libcurl" in err:
        pytest.skip("this toll has no HTTP")
    assert status == 0


def remote_write(server, more=""):
    return f"prometheus:{server.url}/api/v1/write,every=100ms{more}"


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
        if d["scope"] not in ("combined", "main", "descendants", "self"):
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
    with sinklib.Server() as server:
        r = place.run(["sleep", "0.35"],
                      ["-i", "20ms", "-o", remote_write(server), "-o", place.path("run.jsonl"),
                       "--name", "my run", "--label", "team=blue", "--label", "run=x"])
        assert r.status == 0, r.err
        samples = check_all_arrived(server, place.path("run.jsonl"))
        labels = dict(next(iter(sinklib.arrived(server))))
        (output,) = r.summary["outputs"]
        head = server.requests[0]["headers"]
    assert output["name"] == f"prometheus {server.url}/api/v1/write"
    assert output["samples"] == output["delivered"] == samples
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
                        "--", "sleep", "2.5"])
        while len(first.requests) < 2:
            time.sleep(0.02)
        first.stop()
        time.sleep(0.6)
        with sinklib.Server(port=first.port) as second:
            assert p.wait(livelib.GUARD) == 0
            second.requests = first.requests + second.requests
            samples = check_all_arrived(second, here.path("run.jsonl"))
    (output,) = json.loads(here.path("s.json").read_text())["outputs"]
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
    (output,) = r.summary["outputs"]
    assert output["complete"] and output["retries"] == 2, output
    assert output["failure"]
    assert r.err.count(b"the job goes on") == 1, r.err


@pytest.mark.parametrize("status", [400, 401, 404, 413])
def test_what_is_not_tried_again(here, status):
    with sinklib.Server((status, b"no, never\nmore", {})) as server:
        status_, out, err = here.call([here.toll, "run", "-o", remote_write(server), "--", "true"])
    assert status_ == 0
    assert f"it answered {status}: no, never".encode() in b" ".join(err.split()), err
    assert b"0 samples" in err and b"lost" in err
    assert len({r["body"] for r in server.requests}) == len(server.requests), "nothing twice"


def test_a_server_that_never_answers(here):
    """The job and its samples are as without it, and toll ends within the grace."""
    job = ["sleep", "0.4"]
    with sinklib.silent() as silent:
        url = "http://127.0.0.1:%d/" % silent.getsockname()[1]
        alone = here.run(job, ["-i", "10ms"])
        began = time.monotonic()
        r = here.run(job, ["-i", "10ms", "-o", f"prometheus:{url},every=20ms,grace=700ms"])
        took = time.monotonic() - began
    assert r.status == 0
    wall = r.summary["wall_seconds"]
    assert wall < alone.summary["wall_seconds"] + 0.3, "the job is not held up"
    ticks = [x.summary["self"]["ticks"]["total"] + x.summary["self"]["ticks_missed"]["total"]
             for x in (alone, r)]
    assert ticks[1] / wall == pytest.approx(ticks[0] / alone.summary["wall_seconds"], rel=0.2)
    assert 0.6 < took - wall < 5, "the grace, and no more than a slow machine"
    (output,) = r.summary["outputs"]
    assert output["delivered"] == 0 and not output["complete"]
    assert output["dropped"] == output["samples"] > 10
    assert "no time left" in output["failure"] or "in time" in output["failure"]


def test_others_are_not_disturbed(here):
    with sinklib.silent() as silent, sinklib.Server((400, b"no", {})) as refuses, \
            sinklib.Server() as takes:
        dead = "prometheus:http://127.0.0.1:%d/,grace=300ms" % silent.getsockname()[1]
        r = here.run(["sh", "-c", "exit 7"],
                     ["-o", dead, "-o", remote_write(refuses), "-o", remote_write(takes),
                      "-o", here.path("run.jsonl"), "-o", "prometheus:http://127.0.0.1:9/,grace=100ms"])
        check_all_arrived(takes, here.path("run.jsonl"))
    assert r.status == 7
    assert [o["complete"] for o in r.summary["outputs"]] == [False, False, True, False]
    assert livelib.records(here.path("run.jsonl"), "summary")[0]["outputs"] == r.summary["outputs"]


def test_a_queue_that_is_full_drops_the_oldest(here):
    with sinklib.Server((503, b"", {})) as server:
        p = here.popen([here.toll, "run", "-q", "-i", "5ms", "--summary-to", here.path("s.json"),
                        "-o", remote_write(server, ",queue=16K,grace=20s"),
                        "--", "sleep", "0.6"])
        time.sleep(0.5)
        server.answer = (204, b"", {})
        assert p.wait(livelib.GUARD) == 0
    (output,) = json.loads(here.path("s.json").read_text())["outputs"]
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
    ("promotheus:http://h", "does not tell a format"),
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
