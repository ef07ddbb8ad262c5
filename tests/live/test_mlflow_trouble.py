# SPDX-License-Identifier: MIT
"""-o mlflow: with servers that are away, slow or broken: the job is as without them, and nothing is
lost that could be kept."""
import json
import time

import pytest

import livelib
import sinklib
from terminal import Terminal
from mlflowlib import HTML, Store, check_all_arrived, clean_environment, some, to  # noqa: F401


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


@pytest.mark.parametrize("away", [
    (503, b'{"error_code":"TEMPORARILY_UNAVAILABLE"}', {}),
    (500, HTML, {}),  # a database that is away for a moment
])
def test_away_for_longer_than_patience_and_back(here, away):
    """What waits goes to disk, and from there to the server, in the same run."""
    spool, until, was_kept = here.path("spool"), [None], []
    store = Store()

    def trouble(request):
        if request["path"].endswith("log-batch") and until[0] is None:
            until[0] = time.monotonic() + 60
        if until[0] and spool.exists() and not was_kept:
            was_kept.append(True)
            until[0] = time.monotonic() + 0.3
        return away if until[0] and time.monotonic() < until[0] else None

    store.trouble = trouble
    with sinklib.Server(store) as server:
        r = here.run(["sleep", "4"], ["-i", "100ms", "-o", to(server, f",grace=30s,spool={spool}"),
                                      "-o", here.path("run.jsonl")])
        assert r.status == 0
        check_all_arrived(store, here.path("run.jsonl"))
    (output, *_) = r.summary["outputs"]
    assert was_kept and b"answered %d" % away[0] in r.err
    assert output["delivered"] == output["samples"] and output["kept"] == 0 and output["complete"]
    assert not spool.exists()


@pytest.mark.parametrize("trouble", [
    (429, b'{"error_code":"RESOURCE_EXHAUSTED"}', {"Retry-After": "0"}),
    (500, b'{"error_code":"INTERNAL_ERROR"}', {}),
    (500, HTML, {}),
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


def test_a_page_of_html_holds_up_nothing_where_nothing_can_be_kept(here):
    store = Store(some((500, HTML, {}), 1000))
    with sinklib.Server(store) as server:
        r = here.run(["true"], ["-o", to(server, ",grace=20s,spool=none")])
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


def test_a_server_that_takes_no_files(here):
    """It was started without --serve-artifacts: that is not worth waiting for."""
    text = b"Endpoint: / disabled due to the mlflow server running with `--no-serve-artifacts`."
    store = Store(some((503, text, {}), 1000, "summary.json"))
    with sinklib.Server(store) as server:
        r = here.run(["true"], ["-o", to(server, ",grace=60s")])
    (output, *_) = r.summary["outputs"]
    assert r.status == 0 and store.run["status"] == "FINISHED"
    assert output["delivered"] == output["samples"] and output["kept"] == 0
    assert not output["complete"] and "serve-artifacts" in output["failure"]


def test_the_wait_at_the_end_is_written(here):
    """On a terminal, in words, where it may look as if the job hung."""
    with sinklib.silent() as silent:
        place = f"mlflow:http://127.0.0.1:{silent.getsockname()[1]}"
        with Terminal([here.toll, "run", "-o", f"{place},wait=50ms,grace=1s", "--", "echo", "done"],
                      {"HOME": str(here.directory)}, here.directory) as t:
            t.expect("done")
            t.expect(f"toll: {place.replace(':', ' ', 1)}: sending the rest, for up to 1 s")
            assert "kept to send later" in " ".join(t.rest().split()) and t.status == 0
        assert len(list(here.directory.rglob("*.spool"))) == 1
