# SPDX-License-Identifier: MIT
"""What -o mlflow: puts aside, and toll resend."""
import json
import re
import socket
import stat
import time

import pytest

import sinklib
from livelib import needs_root
from mlflowlib import Store, check_all_arrived, clean_environment, to  # noqa: F401


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
                            f"mlflow:{url},interval=0s,every=50ms,wait=300ms,grace=500ms,spool={spool}"])
        took = time.monotonic() - began
    assert r.status == 0 and r.out == b"-\n", "no run, nothing to tell"
    assert "MLFLOW_RUN_ID is not set for the command" in r.err.decode()
    wall = r.summary["wall_seconds"]
    assert wall < alone.summary["wall_seconds"] + 3, "no request, which may take 10 s, holds it up"
    ticks = [x.summary["self"]["ticks"]["total"] + x.summary["self"]["ticks_missed"]["total"]
             for x in (alone, r)]
    assert ticks[1] / wall > 0.5 * ticks[0] / alone.summary["wall_seconds"], "nor the sampling"
    assert took - wall < 0.3 + 0.5 + 8, "what it may wait, and no more than a slow machine"
    (output, *_) = r.summary["outputs"]
    assert output["kept"] == output["samples"] > 5 and output["delivered"] == output["dropped"] == 0
    assert f"kept in '{spool}' for 'toll resend'" in output["failure"]
    assert stat.S_IMODE(spool.stat().st_mode) == 0o600
    text = spool.read_bytes()
    with sinklib.Server(store) as server:
        status, out, err = place.call([place.toll, "resend", spool])
        assert status == 125 and b"is kept unchanged" in err
        assert spool.read_bytes() == text
        status, out, err = place.call([place.toll, "resend", spool, f"mlflow:{server.url}"])
        assert status == 0, err
    assert out.decode() == f"{output['samples']} samples sent to run {store.run['run_id']}\n"
    check_all_arrived(store, place.path("run.jsonl"))
    assert store.run["status"] == "FINISHED" and store.run["tags"]["toll.exit_code"] == "0"
    assert (store.run["run_id"], "toll/summary.json") in store.files
    assert not spool.exists()


@pytest.mark.parametrize("named", [False, True])
def test_only_what_is_missing_is_sent(place, named):
    """A server that goes away in the middle has a part of a spool: the next attempt sends the rest,
    and counts it so."""
    store, spool, port = Store(), place.path("kept.spool"), sinklib.free_port()
    url = f"http://127.0.0.1:{port}"
    r = place.run(["sleep", "0.6"], ["-i", "20ms", "-o", place.path("run.jsonl"), "-o",
                                     f"mlflow:{url},interval=0s,every=20ms,wait=0s,grace=500ms,"
                                     f"spool={spool}"])
    (output, *_) = r.summary["outputs"]
    assert output["kept"] == output["samples"] > 5
    count = {"batches": 0}

    def goes_away(request):
        count["batches"] += request["path"].endswith("log-batch")
        return "close" if count["batches"] > 3 else store(request)

    words = [spool] + ([f"mlflow:{url},timeout=20s"] if named else [])
    with sinklib.Server(goes_away, port=port) as server:
        status, _, err = place.call([place.toll, "resend", *words])
        assert status == 125 and b"with the rest, to send again" in err
    there = sum(map(len, store.metrics().values()))
    with sinklib.Server(store, port=port) as server:
        status, out, err = place.call([place.toll, "resend", *words])
        assert status == 0, err
        sent = sum(len(json.loads(q["body"]).get("metrics", [])) for q in server.taken()
                   if q["path"].endswith("log-batch"))
    whole = sum(map(len, store.metrics().values()))
    assert 0 < there < whole and sent == whole - there, "what is there is not sent again"
    assert out.decode() == (f"sent {sent} of {whole} points to run {store.run['run_id']}; "
                            f"{there} were there already\n")
    check_all_arrived(store, place.path("run.jsonl"))
    assert store.run["status"] == "FINISHED" and not spool.exists()


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
    assert f"kept in '{taken}.1' for" in r.summary["outputs"][0]["failure"]


@pytest.mark.parametrize("words, sentence", [
    ([], "toll: resend: missing argument (expected toll resend SPOOL [DESTINATION])"),
    (["nowhere"], "cannot open 'nowhere'"),
    (["other"], "is not a spool file of toll"),
    (["-x"], "unknown option '-x'"),
    (["a", "b", "c"], "toll: resend: unexpected argument 'c' (expected toll resend SPOOL [DESTINATION])"),
])
def test_send_says_what_is_wrong(here, words, sentence):
    here.path("other").write_text("batch - 2\n{}\n")
    status, out, err = here.call([here.toll, "resend", *words], cwd=here.directory)
    assert status == 125 and sentence in err.decode() and not out


def test_a_spool_that_was_cut_short(here):
    store, spool = Store(), here.path("spool")
    here.run(["true"], ["-o", f"mlflow:http://127.0.0.1:9,wait=0s,grace=0s,spool={spool}"])
    text = spool.read_bytes()
    spool.write_bytes(text[:-20])
    with sinklib.Server(store) as server:
        status, out, err = here.call([here.toll, "resend", spool, to(server)])
    assert status == 0 and not spool.exists(), err
    assert store.run["status"] == "FINISHED" and not store.files, "its last word is missing"


@pytest.mark.parametrize("quiet", [["-q"], ["--summary", "none"], ["--summary-to", "s.txt"]])
def test_what_is_put_aside_is_told_without_a_summary(here, quiet):
    """With the sentence how to send it; nobody would find the file otherwise."""
    spool = here.path("spool")
    status, _, err = here.call([here.toll, "run", *quiet, "-o",
                                f"mlflow:http://u:p@127.0.0.1:9,wait=0s,grace=0s,spool={spool}",
                                "--", "true"])
    (line,) = [x for x in err.decode().splitlines() if "the job continues" not in x]
    assert status == 0 and re.match(r"toll: mlflow http://127.0.0.1:9: (\d+) of \1 samples kept "
                                    rf"to send later: kept in '{spool}' for 'toll resend'", line), err


@needs_root
def test_a_name_server_that_never_answers(here):
    """Nothing calls a thread back that asks for a name: at the end it has to be back by itself."""
    here.path("resolv.conf").write_text("nameserver 127.53.53.53\n")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        try:
            silent.bind(("127.53.53.53", 53))
        except OSError:
            pytest.skip("somebody answers there")
        status, _, err = here.call(
            ["unshare", "-m", "sh", "-c", "mount --bind resolv.conf /etc/resolv.conf || exit 77; "
             'exec "$@"', "sh", here.toll, "run", "-o", "s.json", "-o", "mlflow:http://no.example.org,"
             "every=50ms,wait=0s,grace=300ms,spool=kept.spool", "--", "sleep", "0.2"])
    if status == 77:
        pytest.skip("nothing can be mounted here")
    (output,) = json.loads(here.path("s.json").read_text())["outputs"]
    assert status == 0 and output["kept"] == output["samples"] > 1, err
    assert "cannot resolve host 'no.example.org'" in output["failure"]


def test_a_spool_has_a_limit(here):
    """What does not fit is lost, and counted; the end of the run is there all the same."""
    store, spool = Store(), here.path("spool")
    r = here.run(["sleep", "1"], ["-i", "20ms", "-o", "mlflow:http://127.0.0.1:9,interval=0s,every=50ms,wait=0s,"
                                  f"grace=50ms,spool_size=1KiB,spool={spool}"])
    (output, *_) = r.summary["outputs"]
    assert r.status == 0 and output["kept"] and output["dropped"] and not output["complete"]
    assert output["kept"] + output["dropped"] == output["samples"]
    assert "in part (spool_size reached" in output["failure"]
    with sinklib.Server(store) as server:
        status, out, err = here.call([here.toll, "resend", spool, to(server)])
    assert status == 0, err
    assert out.decode().startswith(f"{output['kept']} sample")
    assert store.run["status"] == "FINISHED" and store.run["tags"]["toll.exit_code"] == "0"
    assert len(store.metrics()["system/target_wall_seconds"]) == output["kept"]


def test_where_a_spool_cannot_be(here):
    status, _, err = here.call([here.toll, "run", "-o", "mlflow:http://127.0.0.1:9,spool=typo/x.spool",
                                "--", "touch", "ran"])
    assert status == 125 and b"cannot create a spool file in 'typo': No such file" in err
    assert not here.path("ran").exists() and not here.path("typo").exists()


def test_send_from_within_another_run(here, monkeypatch):
    """MLFLOW_RUN_ID is of the job around, not of what is sent; run_id= is said on purpose, and such a
    run is not ended."""
    store, spool = Store(), here.path("spool")
    for _ in range(2):
        here.run(["true"], ["-o", f"mlflow:http://127.0.0.1:9,wait=0s,grace=0s,spool={spool}"])
    store.create_run({"experiment_id": "0", "start_time": 1})
    around = store.run
    monkeypatch.setenv("MLFLOW_RUN_ID", around["run_id"])
    with sinklib.Server(store) as server:
        status, out, err = here.call([here.toll, "resend", spool, to(server, ",experiment=x")])
        assert status == 0, err
        assert not around["metrics"] and len(store.runs) == 2
        made = store.runs["%032x" % 2]
        assert made["experiment_id"] == "1" and made["status"] == "FINISHED"
        status, out, err = here.call([here.toll, "resend", f"{spool}.1",
                                      to(server, f",run_id={around['run_id']}")])
    assert status == 0 and len(store.runs) == 2, err
    assert out.decode().endswith(f"sent to run {around['run_id']}\n")
    assert around["metrics"] and around["status"] == "RUNNING"


def test_a_run_that_is_not_there(here, monkeypatch):
    """Nobody can log into it: it is kept, and goes into the one that was meant."""
    store, spool = Store(), here.path("spool")
    monkeypatch.setenv("MLFLOW_RUN_ID", "0123456789abcdef")
    with sinklib.Server(store) as server:
        r = here.run(["true"], ["-o", to(server, f",spool={spool}"), "-o", here.path("run.jsonl")])
        (output, *_) = r.summary["outputs"]
        assert r.status == 0 and output["kept"] == output["samples"]
        assert "answered 404" in output["failure"]
        store.create_run({"experiment_id": "0", "start_time": 1})
        status, _, err = here.call([here.toll, "resend", spool,
                                    to(server, f",run_id={store.run['run_id']}")])
        assert status == 0, err
        check_all_arrived(store, here.path("run.jsonl"))
        store.run["stage"] = "deleted"
        monkeypatch.setenv("MLFLOW_RUN_ID", store.run["run_id"])
        r = here.run(["true"], ["-o", to(server)])
    assert r.status == 0 and "must be in the 'active' state" in r.summary["outputs"][0]["failure"]
