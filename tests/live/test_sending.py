# SPDX-License-Identifier: MIT
"""Outputs that are sent somewhere: all arrives, whatever the other side does nothing is held up,
and what is lost is told."""
import base64
import json
import os
import re
import signal
import subprocess
import time

import pytest
from hostlib import needs

import livelib
import sinklib
from terminal import Terminal


@pytest.fixture(autouse=True, scope="module")
def has_http(programs):
    r = subprocess.run([programs[0], "run", "-q", "-o", "prometheus:http://127.0.0.1:9/,grace=0s,spool=none",
                        "--", "true"], stderr=subprocess.PIPE, check=False)
    if b"libcurl" in r.stderr:
        pytest.skip("this toll has no HTTP")
    assert r.returncode == 0


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
        livelib.until(lambda: "the job continues" in here.path("run.jsonl").read_text(), "trouble")
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
    assert r.err.count(b"the job continues") == 1, r.err


@pytest.mark.parametrize("trouble", [(504, b"<html>", {}), "close"])
def test_what_a_server_had_taken(here, trouble):
    """A proxy lost patience, or the answer was lost: the same samples again are out of order."""
    answers = [trouble, (400, b"out of order sample", {})]
    with sinklib.Server(lambda request: answers.pop(0) if answers else (204, b"", {})) as server:
        r = here.run(["sleep", "0.2"], ["-i", "50ms", "-o", remote_write(server)])
    (output, *_) = r.summary["outputs"]
    assert output["complete"] and output["retries"] == 1 and not output["dropped"]


def test_sinks_as_json(here):
    status, out, err = here.call([here.toll, "outputs", "--json"])
    kinds = {kind["name"]: kind for kind in json.loads(out)}
    assert status == 0 and {"csv", "prometheus", "sqlite", "sub-tracking"} <= set(kinds)
    assert {"every", "grace", "token_file"} <= {o["name"] for o in kinds["prometheus"]["options"]}
    status, out, err = here.call([here.toll, "outputs"])
    assert status == 0 and b"(null)" not in out


@pytest.mark.parametrize("status", [400, 404, 413])
def test_what_is_not_tried_again(here, status):
    with sinklib.Server((status, b"no, never\nmore", {})) as server:
        status_, out, err = here.call([here.toll, "run", "-o", remote_write(server), "--", "true"])
    assert status_ == 0
    assert f"server answered {status}: no, never".encode() in b" ".join(err.split()), err
    assert b"0 samples" in err and b"lost" in err
    assert len({r["body"] for r in server.requests}) == len(server.requests), "nothing twice"


@pytest.mark.parametrize("kind", ["prometheus", "otlp"])
@pytest.mark.parametrize("status", [401, 403, 302])
def test_what_somebody_has_to_mend_is_kept(here, kind, status, state_directory):
    """Another password or another URL may help, asking again does not."""
    with sinklib.Server((status, b"no", {"Location": "/x"})) as server:
        r = here.run(["true"], ["-o", f"{kind}:{server.url}/x,grace=60s"])
        asked = len(server.requests)
    (output,) = r.summary["outputs"]
    assert output["kept"] == output["samples"] and f"server answered {status}" in output["failure"]
    (spool,) = (state_directory / "toll").glob(f"{kind}-*.spool")
    assert 1 <= asked <= 2
    with sinklib.Server((200, b"", {})) as server:
        status, out, err = here.call([here.toll, "resend", spool, f"{kind}:{server.url}/x"])
    assert status == 0 and re.match(rf"{output['samples']} samples? sent\n", out.decode()), err


# ---- The spool -----------------------------------------------------------------------------------


def test_the_summary_has_the_whole_path(here):
    """It has to be copied for `toll resend`, however long it is and narrow the terminal."""
    directory = here.path("a-directory-with-a-long-name-" + "x" * 60)
    directory.mkdir()
    status, _, err = here.call([here.toll, "run", "-o", f"otlp:http://127.0.0.1:9,grace=0s,spool={directory}/kept",
                                "--", "true"])
    assert status == 0 and f"\n  '{directory}/kept'\n" in err.decode(), err
    assert "for 'toll resend': " in err.decode()


def test_spooled_samples_arrive_once(place):
    """A server that is away for longer than the grace: all of it is in the spool, and arrives once,
    although the server goes away again in the middle of it."""
    spool, port = place.path("kept.spool"), sinklib.free_port()
    url = f"http://127.0.0.1:{port}/api/v1/write"
    r = place.run(["sleep", "0.6"], ["-i", "20ms", "-o", place.path("run.jsonl"), "-o",
                                     f"prometheus:{url},every=20ms,grace=300ms,spool={spool}"])
    (output, *_) = r.summary["outputs"]
    assert r.status == 0 and output["kept"] == output["samples"] > 5
    assert output["delivered"] == output["dropped"] == 0
    assert f"kept in '{spool}' for 'toll resend'" in output["failure"]
    with open(spool, "rb") as f:
        assert f.read(10) == b"toll-spool" and os.fstat(f.fileno()).st_mode & 0o777 == 0o600
    status, _, err = place.call([place.toll, "resend", spool])
    assert status == 125 and b"is kept unchanged" in err

    def goes_away(request):
        return (204, b"", {}) if len(server.taken()) < 3 else (503, b"", {})
    with sinklib.Server(goes_away, port=port) as server:
        status, _, err = place.call([place.toll, "resend", spool])
        assert status == 125 and b"with the rest, to send again" in err
        first = server.requests
    with sinklib.Server(port=port) as server:
        status, out, err = place.call([place.toll, "resend", spool])
        assert status == 0, err
        server.requests = first + server.requests
        figures = sum(map(len, sinklib.arrived(server).values()))
        check_all_arrived(server, place.path("run.jsonl"))
        assert facts_of_the_end(server)["toll_run_exit_code"] == 0
    sent, whole, before = map(int, re.fullmatch(
        rb"sent (\d+) of (\d+) points; (\d+) were there already\n", out).groups())
    assert whole == figures == sent + before and before > 0
    assert not spool.exists()


def test_spooled_otlp_arrives_once(here):
    spool, port = here.path("kept.spool"), sinklib.free_port()
    r = here.run(["sleep", "0.4"], ["-i", "20ms", "-o", here.path("run.jsonl"), "-o",
                                    f"otlp:http://127.0.0.1:{port},every=20ms,grace=300ms,"
                                    f"spool={spool}"])
    (output, *_) = r.summary["outputs"]
    assert r.status == 0 and output["kept"] == output["samples"] > 5 and not output["dropped"]

    def goes_away(request):
        return (200, b"", {}) if len(server.taken()) < 1 else "close"
    with sinklib.Server(goes_away, port=port) as server:
        assert here.call([here.toll, "resend", spool])[0] == 125
        first = server.requests
    with sinklib.Server((200, b"", {}), port=port) as server:
        status, out, err = here.call([here.toll, "resend", spool])
        assert status == 0 and b"were there already" in out, err
        server.requests = first + server.requests
    points = {}
    for request in server.taken():
        for m in sinklib.otlp_request(request["body"])[2]:
            for attributes, ns, _, value in m["points"]:
                points.setdefault((m["name"], attributes), []).append((ns, value))
    samples = livelib.records(here.path("run.jsonl"), "sample")
    for metric in ("wall_seconds", "faults_minor"):
        expected = [s["target"]["main"][metric] for s in samples
                    if s["target"]["main"][metric] is not None]
        assert expected in [[v for _, v in series[:-1]] for series in points.values()], metric
    for series in points.values():
        times = [ns for ns, _ in series]
        assert times == sorted(set(times)), "each once"
    assert not spool.exists()


def test_away_and_back_while_the_job_runs(here, state_directory):
    """For longer than a batch is tried: it is put aside, sent when the server is back, and gone."""
    port = sinklib.free_port()
    spools = state_directory / "toll"
    p = here.popen([here.toll, "run", "-q", "-i", "50ms", "--summary-to", here.path("s.json"),
                    "-o", f"prometheus:http://127.0.0.1:{port}/w,every=50ms,grace=60s",
                    "-o", here.path("run.jsonl"), "--", "sh", "-c", livelib.job_until("[ -e over ]")])
    livelib.until(lambda: list(spools.glob("prometheus-*.spool")), "a spool")
    with sinklib.Server(port=port) as server:
        livelib.until(lambda: not list(spools.glob("*")), "that it is sent")
        here.path("over").touch()
        assert p.wait(livelib.GUARD) == 0
        samples = check_all_arrived(server, here.path("run.jsonl"))
    (output, *_) = json.loads(here.path("s.json").read_text())["outputs"]
    assert output["delivered"] == samples == output["samples"] and not output["kept"]
    assert output["complete"] and not list(spools.glob("*"))


@pytest.mark.parametrize("limit", [300, 2000])
def test_requests_that_are_too_large_are_split(here, limit):
    """By a server that counts what is not compressed; 300 bytes are one figure."""
    def answer(request):
        return (413, b"too large", {}) if len(sinklib.unsnap(request["body"])) > limit else (
            204, b"", {})
    with sinklib.Server(answer) as server:
        r = here.run(["true"], ["-o", remote_write(server), "-o", here.path("run.jsonl"),
                                "-m", "cpu_seconds,threads,wall_seconds"])
        (output, *_) = r.summary["outputs"]
        assert r.status == 0 and output["complete"], output
        check_all_arrived(server, here.path("run.jsonl"))
        assert len(sinklib.metadata(server)) >= 5


def test_a_figure_that_is_too_large_is_counted(here):
    """One series can never be sent, the others arrive, and it is not called complete."""
    def answer(request):
        return (413, b"too large", {}) if b"faults_minor" in sinklib.unsnap(request["body"]) else (
            204, b"", {})
    with sinklib.Server(answer) as server:
        r = here.run(["true"], ["-o", remote_write(server), "-m", "cpu_seconds,faults_minor"])
        (output,) = r.summary["outputs"]
        names = {dict(labels)["__name__"] for labels in sinklib.arrived(server)}
    assert r.status == 0 and not output["complete"]
    assert output["dropped"] == output["samples"] and "413" in output["failure"]
    assert "toll_target_cpu_seconds_total" in names
    assert "toll_target_faults_minor_total" not in names


def test_what_is_lost_before_a_retry_is_counted(here):
    """A figure that is refused for good is not forgotten while the next one has to be sent again."""
    again = []

    def answer(request):
        is_bad = b"faults_minor" in sinklib.unsnap(request["body"])
        alone = [r for r in server.requests if r["answer"][0] == 413 and len(r["body"]) < 300]
        if not is_bad and alone and not again:
            again.append(request)
            return 503, b"", {}
        return (413, b"too large", {}) if is_bad else (204, b"", {})
    with sinklib.Server(answer) as server:
        r = here.run(["true"], ["-o", remote_write(server), "-m", "threads,faults_minor"])
        (output,) = r.summary["outputs"]
    assert r.status == 0 and again
    assert output["dropped"] == output["samples"] and not output["complete"]


def test_what_a_server_rejects_of_a_spool_is_counted(here, state_directory):
    """A part of what was kept is refused for good: those samples are not called delivered."""
    with sinklib.Server((503, b"", {})) as server:
        p = here.popen([here.toll, "run", "-q", "-i", "50ms", "-m", "threads,faults_minor",
                        "--summary-to", here.path("s.json"), "-o", remote_write(server), "--", "sh",
                        "-c", livelib.job_until("[ -e over ]")])
        spools = state_directory / "toll"
        livelib.until(lambda: list(spools.glob("*.spool")), "a spool")
        kept = len(server.requests)

        def answer(request):
            return (413, b"too large", {}) if b"faults_minor" in sinklib.unsnap(
                request["body"]) else (204, b"", {})
        server.answer = answer
        livelib.until(lambda: not list(spools.glob("*.spool")), "the end of the spool")
        here.path("over").touch()
        assert p.wait(livelib.GUARD) == 0
        taken = {dict(labels)["__name__"] for labels in sinklib.arrived(server)}
    (output,) = json.loads(here.path("s.json").read_text())["outputs"]
    assert kept and "toll_target_threads" in taken and "toll_target_faults_minor_total" not in taken
    assert output["samples"] == output["dropped"] and not output["delivered"], output
    assert not output["complete"] and "413" in output["failure"]


def test_marks_that_did_not_fit(here):
    """Some of them are dropped while nothing can be sent; the others keep their own names."""
    job = ('i=0; while [ $i -lt 300 ]; do "$0" mark gauge early$i 1; i=$((i+1)); done; touch filled; '
           f'{livelib.job_until("[ -e over ]")}; '
           'for i in 1 2 3 4; do "$0" mark gauge late$i $i; done')
    with sinklib.Server((503, b"", {})) as server:
        p = here.popen([here.toll, "run", "-q", "-o",
                        remote_write(server, ",queue=4K,grace=20s,spool=none"),
                        "--", "sh", "-c", job, here.toll])
        livelib.until(here.path("filled").exists, "more marks than fit")
        server.answer = (204, b"", {})
        livelib.until(server.taken, "something was taken")
        here.path("over").touch()
        assert p.wait(livelib.GUARD) == 0
        found = {}
        for labels, samples in sinklib.arrived(server).items():
            d = dict(labels)
            if d.get("scope") == "mark":
                found[d["mark"]] = [sinklib.number(bits) for _, bits in sorted(samples.items())
                                    if bits != sinklib.END_BITS]
    assert len(found) < 300, "they did not fit"
    for name, values in found.items():
        assert values == [float(name[4:]) if name.startswith("late") else 1.0], name
    assert {"late1", "late2", "late3", "late4"} <= set(found)


@needs("openssl")
@pytest.mark.parametrize("kind, in_one", [("prometheus", False), ("pushgateway", True)])
def test_a_certificate_of_the_client(here, kind, in_one):
    key, certificate = sinklib.certificate(here.directory, "server")
    own_key, own = sinklib.certificate(here.directory, "client")
    both = here.path("both.pem")
    both.write_text(own.read_text() + own_key.read_text())
    mine = f",cert={both}" if in_one else f",cert={own},key={own_key}"
    with sinklib.Server(context=sinklib.strict(key, certificate, own)) as server:
        place = f"{kind}:{server.url}/api/v1/write,ca={certificate}"
        spool = "" if kind == "pushgateway" else ",spool=none"
        r = here.run(["true"], ["-o", place + spool + ",grace=200ms"])
        assert r.status == 0 and r.summary["outputs"][0]["dropped"] and not server.taken()
        r = here.run(["true"], ["-o", place + mine + ",grace=60s"])
        assert r.status == 0 and r.summary["outputs"][0]["complete"], r.err
        assert server.taken()


@needs("openssl")
def test_a_spool_knows_the_certificate_of_the_client(here):
    key, certificate = sinklib.certificate(here.directory, "server")
    own_key, own = sinklib.certificate(here.directory, "client")
    spool, port = here.path("kept.spool"), sinklib.free_port()
    r = here.run(["true"], ["-o", f"prometheus:https://127.0.0.1:{port}/w,spool={spool},grace=100ms,"
                            f"ca={certificate},cert={own},key={own_key}"])
    assert r.status == 0 and r.summary["outputs"][0]["kept"]
    with sinklib.Server(port=port, context=sinklib.strict(key, certificate, own)) as server:
        status, _, err = here.call([here.toll, "resend", spool])
        assert status == 0 and server.taken(), err


def test_metadata_and_compression(here):
    with sinklib.Server() as server:
        r = here.run(["sleep", "0.2"], ["-i", "50ms", "--system", "-o", remote_write(server)])
        assert r.status == 0
        said = sinklib.metadata(server)
        names = {dict(labels)["__name__"] for labels in sinklib.arrived(server)}
        packed, whole = (sum(len(body) for body in bodies) for bodies in zip(*(
            (q["body"], sinklib.unsnap(q["body"])) for q in server.requests)))
    assert set(said) == names, "every metric that was sent, and no other"
    known = {}
    for m in METRICS:
        entity = "target" if m["entity"] == "process" else m["entity"]
        total = "_total" if m["kind"] == "counter" else ""
        known[f"toll_{entity}_{m['name']}{total}"] = (m["kind"], m["help"], m["unit"])
    for name, meaning in said.items():
        if not name.startswith("toll_run_"):
            assert meaning == known[name], name
    assert said["toll_run_end_time_seconds"][0::2] == ("gauge", "seconds")
    assert packed * 4 < whole, "labels repeat"


def test_marks_as_metrics(here):
    """What the job says of itself, at the time it said it, as the record has it."""
    job = ('for i in 1 2 3; do "$0" mark gauge loss 0.$i; "$0" mark event "saved it"; '
           '"$0" mark phase begin load; "$0" mark phase end load; done')
    with sinklib.Server() as server:
        r = here.run(["sh", "-c", job, here.toll], ["-o", remote_write(server),
                                                    "-o", here.path("run.jsonl")])
        assert r.status == 0, r.err
        found = {}
        for labels, samples in sinklib.arrived(server).items():
            d = dict(labels)
            if d.get("scope") == "mark":
                *values, end = [bits for _, bits in sorted(samples.items())]
                assert end == sinklib.END_BITS and d["id"] and d["instance"]
                found[d["__name__"], d["mark"]] = [sinklib.number(bits) for bits in values]
        said = sinklib.metadata(server)
    phases = livelib.records(here.path("run.jsonl"), "phase")
    total = [sum(p["end_seconds"] - p["begin_seconds"] for p in phases[:i + 1]) for i in range(3)]
    assert found.pop(("toll_mark_phase_seconds_total", "load")) == pytest.approx(total, abs=1e-6)
    assert found == {("toll_mark_gauge", "loss"): [0.1, 0.2, 0.3],
                     ("toll_mark_events_total", "saved it"): [1, 2, 3],
                     ("toll_mark_phases_total", "load"): [1, 2, 3]}
    assert said["toll_mark_events_total"][0] == "counter" and said["toll_mark_gauge"][0] == "gauge"


@pytest.mark.parametrize("quiet", [["-q"], ["--summary", "none"], ["--summary-to", "s.txt"]])
def test_what_failed_is_told_without_a_summary(here, quiet):
    """Each output once, with its name, what is missing and why."""
    place = "http://user:secret@127.0.0.1:1/api/v1/write"
    status, _, err = here.call([here.toll, "run", *quiet, "-o", f"prometheus:{place},grace=50ms,spool=none",
                                "-o", "csv:/dev/full", "--", "true"])
    ends = [line for line in err.decode().splitlines() if "the job continues" not in line]
    assert status == 0 and len(ends) == 2, err
    assert ends[0].startswith("toll: prometheus http://127.0.0.1:1/api/v1/write: ")
    assert "samples lost: " in ends[0] and "connect" in ends[0] and "secret" not in err.decode()
    assert ends[1].startswith("toll: ") and "of '/dev/full': No space" in ends[1]


def test_the_path_of_remote_write_is_told(here):
    with sinklib.Server((405, b"Method Not Allowed", {})) as server:
        r = here.run(["true"], ["-o", f"prometheus:{server.url},grace=60s"])
    assert "/api/v1/write" in r.summary["outputs"][0]["failure"]


def test_two_runs_with_the_same_labels(here):
    with sinklib.Server((400, b"out of order sample", {})) as server:
        _, _, err = here.call([here.toll, "run", "-q", "-o", remote_write(server), "--", "true"])
    assert b"400: out of order sample; another run with the same labels? (use id=yes, --name" in err


def test_a_server_that_never_answers(here):
    """The job and its samples are as without it, and toll ends within the grace."""
    job = ["sleep", "0.4"]
    with sinklib.silent() as silent:
        url = "http://127.0.0.1:%d/" % silent.getsockname()[1]
        alone = here.run(job, ["-i", "10ms"])
        began = time.monotonic()
        r = here.run(job, ["-i", "10ms", "-o", f"prometheus:{url},every=20ms,grace=1500ms,spool=none"])
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
        with Terminal([here.toll, "run", "-o", place + ",grace=300s,spool=none", "--", "sh", "-c", "exit 5"],
                      {}, here.directory) as t:
            t.expect(r"sending the rest, for up to 300 s \(Ctrl-C ends the wait\)")
            t.type("\x03")
            assert re.search(r"\^C\r\ntoll: sh -c .*Sent .*0 samples", t.rest(), re.DOTALL)
            assert t.status == 5
        assert time.monotonic() - began < 100


def test_others_are_not_disturbed(here):
    with sinklib.silent() as silent, sinklib.Server((400, b"no", {})) as refuses, \
            sinklib.Server() as takes:
        dead = "prometheus:http://127.0.0.1:%d/,grace=300ms,spool=none" % silent.getsockname()[1]
        r = here.run(["sh", "-c", "exit 7"],
                     ["-o", dead, "-o", remote_write(refuses), "-o", remote_write(takes),
                      "-o", here.path("run.jsonl"), "-o", "prometheus:http://127.0.0.1:9/,grace=100ms,spool=none"])
        check_all_arrived(takes, here.path("run.jsonl"))
    assert r.status == 7
    assert [o["complete"] for o in r.summary["outputs"]] == [False, False, True, False, True]
    recorded = livelib.records(here.path("run.jsonl"), "summary")[0]["outputs"]
    recorded[-1]["bytes"] = os.path.getsize(here.path("run.jsonl"))  # without itself, in the record
    assert recorded == r.summary["outputs"]


def test_a_queue_that_is_full_drops_the_oldest(here):
    with sinklib.Server((503, b"", {})) as server:
        record = here.path("run.jsonl")
        p = here.popen([here.toll, "run", "-q", "-i", "5ms", "--summary-to", here.path("s.json"),
                        "-o", remote_write(server, ",queue=16K,grace=20s,spool=none"), "-o", record,
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
    assert b"server answered 401" in b" ".join(written.split())
    assert b"hunter" not in written and b"joe" not in written


def quoting(request):
    """What a server may answer that quotes what it refuses."""
    headers = request["headers"]
    login = headers.get("Authorization", "")
    plain = base64.b64decode(login[6:]).decode() if login.startswith("Basic") else login[7:]
    words = f"{plain} is unknown; {login}; {headers.get('X-Key', '')} at {request['path']}"
    return 401, words.encode(), {}


@pytest.mark.parametrize("destination", [
    "prometheus:{url},header=X-Key: hunter5,token_file={token}",
    "pushgateway:{login}/x?q=hunter6",
    "otlp:{url},header=Authorization: Bearer hunter7",
    "otlp:{url},user=joe,password_file={token}",
    "mlflow:{url},token_file={token}",
    "mlflow:{login}",
    "prometheus:{url}/" + "x" * 84 + ",header=X-Key: hunter890",  # which is cut in the middle
])
def test_secrets_that_a_server_quotes_are_masked(here, destination):
    token = here.directory / "token"
    token.write_text("hunter2\n")
    token.chmod(0o644)
    with sinklib.Server(quoting) as server:
        login = server.url.replace("//", "//joe:hunter%333@")
        place = destination.format(url=server.url, login=login, token=token)
        options = ["-v", "-o", f"{place},every=10ms", "-o", here.path("run.jsonl"),
                   "-o", here.path("run.txt")]
        status, out, err = here.call([here.toll, "run", *options, "--", "sleep", "0.1"])
    assert status == 0 and server.requests
    written = err + out + here.path("run.jsonl").read_bytes() + here.path("run.txt").read_bytes()
    assert b"server answered 401" in b" ".join(written.split())
    assert b"***" in written
    for secret in (b"hunter", b"am9l"):
        assert secret not in written, written


def test_what_the_sender_reads_is_not_the_jobs(here):
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
    ("prometheus:", "invalid URL"),
    ("prometheus:http://h,evry=1s", "unknown option 'evry' (did you mean 'every'?); known options: every, grace, queue"),
    ("prometheus:http://h,every=soon", "expected a time such as"),
    ("prometheus:http://h,token_file=/no/such", "cannot read '/no/such'"),
    ("prometheus:http://h,ca=/no/such", "cannot read the certificates in '/no/such': No such file"),
    ("prometheus:http://h,cert=/no/such", "cannot read the client certificate in '/no/such'"),
    ("prometheus:http://h,cert=/dev/null,key=/no/such", "cannot read the client key"),
    ("prometheus:http://h,key=/dev/null", "prometheus: key needs the option cert"),
    ("prometheus:http://h,header=X: a\r\nY: b", "expected 'Name: value'"),
    ("promotheus:http://h", "cannot determine the output type"),
    ("openmetrics:19465", "write ':19465' for a port"),
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


class Endless:
    """Answers 200 to every request, and goes on with its body until it is cut off, or for a gigabyte.
    sent: the bytes of each answer."""

    def __enter__(self):
        import socket
        import threading
        self.sent, self.most = [], 1 << 30
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self._socket.getsockname()[1]
        threading.Thread(target=self._run, daemon=True).start()
        return self

    def __exit__(self, *args):
        self.most = 0
        self._socket.close()

    def _run(self):
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            with client:
                at, text = len(self.sent), b"x" * 65536
                self.sent.append(0)
                try:
                    client.recv(1 << 20)
                    client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n")
                    while self.sent[at] < self.most:
                        self.sent[at] += client.send(text)
                except OSError:
                    pass


@pytest.mark.parametrize("kind", ["prometheus", "pushgateway", "otlp", "mlflow"])
def test_answers_that_do_not_end(here, kind):
    """Of a body of a gigabyte a megabyte is read. To most outputs 200 says all; MLflow's has to be
    understood, and is not."""
    options = ",wait=1s,grace=1s,spool=none" if kind == "mlflow" else ",grace=60s"
    with Endless() as server:
        r = here.run(["true"], ["-o", f"{kind}:{server.url}{options}"])
        assert r.status == 0 and server.sent
        assert max(server.sent) < 64 << 20, "what was read, and what sockets hold"
    (output,) = r.summary["outputs"]
    assert output["complete"] == (kind != "mlflow")


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
    silent = [socket.create_connection(("127.0.0.1", port), 10) for _ in range(40)]
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


def test_a_hundred_scrapers_at_once(endpoint):
    """All connect and ask while nothing is answered: each gets the whole text afterwards."""
    import socket
    p, port = endpoint
    ask = b"GET /metrics HTTP/1.1\r\nAccept: application/openmetrics-text\r\n\r\n"
    os.kill(p.pid, signal.SIGSTOP)
    try:
        clients = [socket.create_connection(("127.0.0.1", port), livelib.GUARD) for _ in range(100)]
        for client in clients:
            client.sendall(ask)
    finally:
        os.kill(p.pid, signal.SIGCONT)
    for client in clients:
        client.settimeout(livelib.GUARD)
        with client, client.makefile("rb") as f:
            head, body = f.read().split(b"\r\n\r\n", 1)
        assert head.startswith(b"HTTP/1.1 200 OK")
        assert int(head.split(b"Content-Length: ")[1].split()[0]) == len(body)
        assert body.endswith(b"\n# EOF\n") and b"toll_target_cpu_seconds_total{" in body


def test_endpoint_is_on_loopback_only(endpoint):
    _, port = endpoint
    listening = [line.split() for line in open("/proc/net/tcp").read().splitlines()[1:]]
    at = {l[1] for l in listening if l[3] == "0A" and int(l[1].split(":")[1], 16) == port}
    assert at == {f"0100007F:{port:04X}"}


@pytest.mark.parametrize("command", ["run", "attach", "system"])
def test_a_port_that_is_taken(here, endpoint, command):
    """Nothing is served, and a note says so; all else goes on as if it was not asked for. The exit
    status is the job's; without a job it says at the end that an output is not complete."""
    p, port = endpoint
    out = here.path("taken.json")
    asked = ["-i", "50ms", "-o", f"openmetrics::{port}", "--summary-to", out]
    words = {"run": ["run", *asked, "--", "sh", "-c", "sleep 0.2; exit 7"],
             "attach": ["attach", *asked, "--for", "300ms", str(p.pid)],
             "system": ["system", *asked, "--for", "300ms"]}[command]
    status, _, err = here.call([here.toll, *words])
    assert status == (7 if command == "run" else 125), err  # 125: an output is not complete
    sentence = (f"openmetrics: cannot listen on ':{port}': Address already in use; nothing is served, "
                "the job continues")
    assert f"toll: {sentence}\n" in err.decode()
    summary = json.loads(out.read_text())
    assert sentence in summary["notes"]
    (output,) = summary["outputs"]
    assert not output["complete"] and output["failure"] == "Address already in use"
    assert output["samples"] > 1 and (output["delivered"], output["scrapes"]) == (0, 0)


def test_a_port_that_is_taken_is_named_however_quiet(here, endpoint):
    _, port = endpoint
    asked = ["-q", "-o", f"openmetrics::{port}", "-o", here.path("whole.csv")]
    status, _, err = here.call([here.toll, "run", *asked, "--", "true"])
    assert (status, err.decode()) == (0, f"toll: :{port}: nothing was served: Address already in use\n")


def test_addresses_that_are_none(here):
    for place in ("", ":99999", ":http"):
        status, out, err = here.call([here.toll, "run", "-o", "openmetrics:" + place, "--", "true"])
        assert status == 125 and b"expected a file, or an address" in err


def test_a_port_that_the_kernel_chooses(here):
    """A script finds it on stderr, in the record while the job runs, and in the summary."""
    address = re.compile(r"openmetrics: listening on http://(127\.0\.0\.1:(\d+))/metrics")
    record = here.path("run.jsonl")
    p = here.popen([here.toll, "run", "-i", "20ms", "-o", "openmetrics::0", "-o", record,
                    "--summary-to", here.path("s.json"), "--", "sh", "-c",
                    livelib.job_until("[ -e over ]")], stderr=subprocess.PIPE)
    (where, port) = address.search(p.stderr.readline().decode()).groups()
    livelib.until(lambda: b"toll_target_cpu_seconds_total" in
                  raw(int(port), b"GET /metrics HTTP/1.1\r\n\r\n"), "figures")
    (note,) = [e["text"] for e in livelib.records(record, "event") if e["name"] == "note"]
    assert address.fullmatch(note).group(1) == where
    here.path("over").touch()
    p.communicate(timeout=livelib.GUARD)
    (output, *_) = json.loads(here.path("s.json").read_text())["outputs"]
    assert output["name"] == where and output["scrapes"] > 0


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
        assert path.startswith(f"/metrics/job/{job}/id/"), path
        assert "/instance/" in path
    # A GPU has a model of its own, which the group's would hide.
    assert paths[0].endswith("/label_model/x/run/grp/team@base64/YS9i")
    assert len(set(paths)) == 3
    for path in paths:
        assert re.search(r"/id/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/",
                         path + "/")


BATCH = ("SLURM_JOB_ID", "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", "PBS_JOBID", "LSB_JOBID",
         "SGE_TASK_ID", "FLUX_JOB_ID", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
         "PALS_RANKID", "FLUX_TASK_RANK", "JOB_COMPLETION_INDEX", "RANK", "SLURM_STEP_ID", "SLURM_LOCALID",
         "SLURM_NTASKS")


def test_what_tells_a_run_from_others(here, monkeypatch):
    """Its id and the batch system's names for it are in the record and in every series; what is
    exported from a record later has those of the record, not of the exporting process."""
    for name in BATCH:
        monkeypatch.delenv(name, raising=False)
    for name, value in (("SLURM_JOB_ID", "78"), ("SLURM_ARRAY_JOB_ID", "77"),
                        ("SLURM_ARRAY_TASK_ID", "5"), ("SLURM_PROCID", "3"), ("SLURM_LOCALID", "1"),
                        ("SLURM_NTASKS", "4"), ("SLURM_STEP_ID", "0")):
        monkeypatch.setenv(name, value)
    files = [here.path("run.om"), here.path("run.prom"), here.path("run.jsonl"),
             here.path("run.sqlite"), here.path("run.json")]
    busy = ["sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"]  # its rates have decimals
    r = here.run(busy, [word for file in files for word in ("-o", file)]
                 + ["-o", f"openmetrics:{here.path('no.om')},id=no"])
    assert r.status == 0, r.err
    (run,) = livelib.records(here.path("run.jsonl"), "run")
    facts = {"id": run["id"], "job_id": "77", "array_index": "5", "rank": "3", "local_rank": "1",
             "world_size": "4"}
    assert {key: run[key] for key in facts} == facts
    assert {key: json.loads(here.path("run.json").read_text())[key] for key in facts} == facts
    for name in BATCH:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SLURM_JOB_ID", "99")
    for record in ("run.jsonl", "run.sqlite"):
        (listed,) = json.loads(here.call([here.toll, "list", "--json", here.path(record)])[1])
        assert {key: listed[key] for key in facts} == facts
        assert run["id"][-8:].encode() in here.call([here.toll, "list", here.path(record)])[1]
        again = here.path(record + ".om")
        assert here.call([here.toll, "export", here.path(record), "-o", again])[0] == 0
        assert again.read_text() == here.path("run.om").read_text()
    for file in ("run.om", "run.prom", "no.om"):
        lines = [line for line in here.path(file).read_text().splitlines() if line[0] != "#"]
        assert lines
        for line in lines:
            assert 'job_id="77"' in line and 'array_index="5"' in line and 'rank="3"' in line, line
            assert 'local_rank="1"' in line and 'world_size="4"' in line, line
            assert (f'id="{run["id"]}"' in line) == (file != "no.om"), line


def test_a_record_from_before_runs_had_an_id(here):
    """Nothing is made up for it: the label is left out, and an empty id is listed as unknown."""
    assert here.run(["true"], ["-o", here.path("run.jsonl")]).status == 0
    text = here.path("run.jsonl").read_text()
    old = here.path("old.jsonl")
    old.write_text(re.sub(r'"id":"[^"]*",', "", text))
    assert old.read_text() != text
    assert here.call([here.toll, "export", old, "-o", here.path("old.om")])[0] == 0
    assert "id=" not in here.path("old.om").read_text()
    (listed,) = json.loads(here.call([here.toll, "list", "--json", old])[1])
    assert listed["id"] is None


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
