# SPDX-License-Identifier: MIT
"""-o mlflow: and who we are there: passwords, tokens and certificates by the usual variables, which
go to the server and nowhere else."""
import base64
import ssl
import subprocess

import pytest

import sinklib
from mlflowlib import (SECRET, Store, check_all_arrived, clean_environment,  # noqa: F401
                       everything_written, to)


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
        assert output["kept"] == output["samples"] and output["failure"].endswith(
            "server answered 401: You are not authenticated")
        monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", SECRET)
        status, out, err = here.call([here.toll, "resend", spool])
        assert status == 0, err
    check_all_arrived(store, here.path("run.jsonl"))
    assert SECRET.encode() not in everything_written(here, r.err, r.out, out, err)


def test_a_host_that_it_does_not_go_by(here):
    store = Store(hosts={"mlflow.example"})
    with sinklib.Server(store) as server:
        r = here.run(["true"], ["-o", to(server, f",spool={here.path('spool')}")])
        assert r.status == 0 and "Invalid Host" in r.summary["outputs"][0]["failure"]
        status, out, err = here.call([here.toll, "resend", here.path("spool"),
                                      to(server, ",header=Host: mlflow.example")])
    assert status == 0 and store.run["status"] == "FINISHED", err


WAYS = ["basic", "bearer", "half", "url", "token_file", "password_file", "header"]


def server_for(way):
    """Who is let in by the secret alone."""
    def by_header(request):
        return None if request["headers"].get("X-Key") == SECRET else (401, b"no", {})

    if way == "header":
        return Store(by_header)
    is_token = way in ("bearer", "half", "token_file")
    return Store(token=SECRET) if is_token else Store(user="ann", password=SECRET)


@pytest.mark.parametrize("way", WAYS)
def test_secrets_go_to_the_server_and_nowhere_else(here, way, monkeypatch, tmp_path_factory):
    store, argument = server_for(way), f"argument-{SECRET[8:]}"
    secret_file = tmp_path_factory.mktemp("secret") / "file"  # which is not among what is looked at
    secret_file.write_text(SECRET + "\n")
    options = {"token_file": f",token_file={secret_file}", "header": f",header=X-Key: {SECRET}",
               "password_file": f",user=ann,password_file={secret_file}"}.get(way, "")
    variables = {"basic": {"USERNAME": "ann", "PASSWORD": SECRET, "TOKEN": "the name wins"},
                 "half": {"USERNAME": "without a password", "TOKEN": SECRET},
                 "bearer": {"TOKEN": SECRET}}.get(way, {})
    for name, value in variables.items():
        monkeypatch.setenv(f"MLFLOW_TRACKING_{name}", value)
    with sinklib.Server(store) as server:
        place = f"mlflow:{server.url}"
        if way == "url":  # what a user writes there, others can read: a variable is better
            monkeypatch.setenv("MLFLOW_TRACKING_URI", server.url.replace("//", f"//ann:{SECRET}@"))
            place = "mlflow:"
        see = "env | grep -v ^MLFLOW_TRACKING_; sleep 0.1"
        if not options:  # what a user writes there, others can read
            see = "cat /proc/$PPID/cmdline /proc/self/cmdline | tr '\\0' ' '; " + see
        outputs = [x for name in ("run.jsonl", "run.csv", "run.json", "run.txt", "run.sqlite")
                   for x in ("-o", here.path(name))]
        r = here.run(["sh", "-c", see], ["-v", "-o", f"{place},every=100ms{options}", *outputs])
        assert r.status == 0 and r.summary["outputs"][0]["complete"], r.err
        store.user, store.password, store.token = "other", "x", None
        kept = here.run(["true", argument], ["-o", f"{place},spool={here.path('spool')}{options}"])
        for name in variables:
            monkeypatch.delenv(f"MLFLOW_TRACKING_{name}")
        status, out, err = here.call([here.toll, "resend", here.path("spool"), to(server, options)])
    assert status == 125 and b"answered 401" in err and b"is kept unchanged" in err
    written = everything_written(here, r.out, r.err, kept.out, kept.err, out, err)
    sent = b"".join(q["body"] + q["path"].encode() for q in server.requests)
    assert b"toll-spool" in written and b"SQLite" in written and len(server.taken()) > 3
    for form in (SECRET, base64.b64encode(f"ann:{SECRET}".encode()).decode()):
        assert form.encode() not in written
        assert form.encode() not in sent
    assert argument.encode() not in sent + here.path("spool").read_bytes()
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
