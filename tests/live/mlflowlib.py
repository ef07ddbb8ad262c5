# SPDX-License-Identifier: MIT
"""What the tests of -o mlflow: share: a server that has the limits and the traps of the real one
(which tests/fakes/mlflow_server.py knows), and what has to be there when all arrived."""
import os
import pathlib
import secrets
import sys

import pytest

import livelib
import sinklib

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "fakes"))
import mlflow_server  # noqa: E402
from mlflow_server import Store  # noqa: E402,F401

HTML = mlflow_server.HTML
SECRET = f"hunter2-{secrets.token_hex(8)}"  # nobody else on the machine has it


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch, here):
    for name in [n for n in os.environ if n.startswith("MLFLOW_")] + ["RANK", "WORLD_SIZE"]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(here.directory / "state"))
    status, _, err = here.call([here.toll, "run", "-q", "-o", "prometheus:http://127.0.0.1:9/,grace=0s,spool=none",
                                "--", "true"])
    if b"libcurl" in err:
        pytest.skip("this toll has no HTTP")


def to(server, more=""):
    """A server that answers: the command may wait for its run as long as that takes. Every sample is
    a point, unless something else is asked for."""
    wait = "" if "wait=" in more else ",wait=60s"
    interval = "" if "interval=" in more else ",interval=0s"
    return sinklib.patient(f"mlflow:{server.url},every=100ms{wait}{interval}{more}")


def expected(path, prefix="system/"):
    """{key: [(ms, value)]} of a record: what every sample has of the target as a whole."""
    found = {}
    for sample in livelib.records(path, "sample"):
        for name, value in sample["target"]["combined"].items():
            if value is not None and name != "lower_bound":  # of figures that are unknown
                found.setdefault(f"{prefix}target_{name}", []).append(value)
    return found


def check_all_arrived(store, record, prefix="system/"):
    """Every sample once, each at a time and a step of its own. Rates have six decimals in the
    record."""
    metrics, wanted = store.metrics(), expected(record, prefix)
    steps = len(livelib.records(record, "sample"))
    found = {k: v for k, v in metrics.items() if k.startswith(prefix + "target_")}
    assert set(found) == set(wanted), set(found) ^ set(wanted)
    for key, values in wanted.items():
        points = found[key]
        assert [v for _, _, v in points] == pytest.approx(values, abs=5.1e-7, rel=0), key
        times = [t for t, _, _ in points]
        assert times == sorted(set(times)), "timestamps rise"
        assert len({s for _, s, _ in points}) == len(points)
    assert store.corrupted == []
    assert [s for _, s, _ in found[f"{prefix}target_wall_seconds"]] == list(range(steps))
    return steps


def some(trouble, count, path="log-batch"):
    left = [count]

    def answer(request):
        if not request["path"].endswith(path):
            return None
        left[0] -= 1
        return trouble if left[0] >= 0 else None
    return answer


def everything_written(here, *texts):
    files = [p.read_bytes() for p in here.directory.rglob("*") if p.is_file()]
    return b"".join([*files, *texts])
