# SPDX-License-Identifier: MIT
"""One run with every output at once, measured as closely as toll can: in the sanitized builds, and
in the plain one under valgrind. TOLL_SECONDS=60 in the environment makes it a long one."""
import os
import re
import shutil
import sqlite3

import pytest

import livelib
import mlflowlib
import sinklib
from livelib import SANITIZED
from mlflowlib import clean_environment  # noqa: F401 (a fixture)

SECONDS = float(os.environ.get("TOLL_SECONDS", 2))
FINDING = 99  # the exit status of a program in which valgrind found something
VALGRIND = ["valgrind", "-q", f"--error-exitcode={FINDING}", "--leak-check=full",
            "--errors-for-leak-kinds=definite,indirect,possible", "--trace-children=no",
            "--child-silent-after-fork=yes", "--log-file=valgrind.%p"]

# Processes that come and go, memory that grows and shrinks, a file, threads, marks.
JOB = """
import mmap, os, subprocess, sys, threading, time
toll, seconds = sys.argv[1], float(sys.argv[2])
begin = time.monotonic()
def goes_on():
    # On a busy machine toll may be long in coming to its samples.
    with open("run.jsonl") as record:
        samples = sum('"type":"sample"' in line for line in record)
    spent = time.monotonic() - begin
    return spent < seconds or samples <= seconds and spent < seconds + 60
rounds = 0
while goes_on() or not rounds:
    subprocess.run([toll, "mark", "phase", "begin", "round"])
    threads = [threading.Thread(target=time.sleep, args=(0.05,)) for _ in range(5)]
    for thread in threads:
        thread.start()
    memory = mmap.mmap(-1, 8 << 20)
    memory.write(bytes(8 << 20))
    with open("data", "wb") as f:
        f.write(bytes(1 << 20))
    for status in range(3):
        subprocess.run(["sh", "-c", f"exit {status}"])
    subprocess.run([toll, "mark", "gauge", "rounds", str(rounds)])
    subprocess.run([toll, "mark", "event", "a line"])
    for thread in threads:
        thread.join()
    memory.close()
    subprocess.run([toll, "mark", "phase", "end", "round"])
    rounds += 1
sys.exit(3)
"""


def checkers():
    """How toll is run: alone, and under valgrind where that can be."""
    yield pytest.param([], id="sanitized" if SANITIZED else "alone")
    if not SANITIZED:
        yield pytest.param(VALGRIND, id="valgrind", marks=pytest.mark.skipif(
            not shutil.which("valgrind"), reason="needs the Debian package valgrind"))


@pytest.mark.parametrize("checker", checkers())
def test_all_outputs_at_once(here, checker):
    store = mlflowlib.Store()
    files = [f"run.{suffix}" for suffix in ("jsonl", "csv", "json", "txt", "sqlite", "om", "prom")]
    with sinklib.Server() as prometheus, sinklib.Server((200, b"", {})) as pushgateway, \
            sinklib.Server((200, b"", {})) as collector, sinklib.Server(store) as mlflow:
        servers = [f"prometheus:{prometheus.url},every=200ms", f"otlp:{collector.url},every=200ms",
                   f"pushgateway:{pushgateway.url},every=200ms"]
        outputs = [*files, *map(sinklib.patient, servers), mlflowlib.to(mlflow),
                   f"openmetrics:127.0.0.1:{sinklib.free_port()}"]
        status, _, err = here.call(
            [*checker, here.toll, "run", "-i", "50ms", "--system", "--network", "--processes", "all",
             "--memory", "pss", *(word for output in outputs for word in ("-o", output)), "--",
             "python3", "-c", JOB, here.toll, str(SECONDS)], timeout=SECONDS + 4 * livelib.GUARD)
        samples = len(livelib.records(here.path("run.jsonl"), "sample"))
        assert status == 3, (err, findings(here))
        assert findings(here) == ""
        assert samples > SECONDS
        assert sinklib.arrived(prometheus) and collector.taken() and pushgateway.taken()
    mlflowlib.check_all_arrived(store, here.path("run.jsonl"))
    assert all(here.path(name).stat().st_size for name in files)
    with sqlite3.connect(here.path("run.sqlite")) as database:
        assert database.execute("select count(*) from samples").fetchone() == (samples,)


def findings(here):
    """What valgrind wrote, without its remarks on calls that it does not know."""
    text = "".join(p.read_text() for p in here.directory.glob("valgrind.*"))
    return re.sub(r"^--\d+-- .*\n", "", text, flags=re.MULTILINE)
