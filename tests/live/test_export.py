# SPDX-License-Identifier: MIT
"""toll export of records that no golden run has: one that grows, and one that toll left when it was
killed."""

import json
import os
import signal
import time

from livelib import records


def wait_for_samples(path, count):
    for _ in range(2000):
        if path.exists() and path.read_bytes().count(b'"type":"sample"') >= count:
            return
        time.sleep(0.01)
    raise AssertionError("no samples")


def export(place, record, status, sentence):
    out = place.path("out.json")
    code, _, err = place.call([place.toll, "export", record, "-o", out])
    assert code == 0 and sentence in err
    assert json.loads(out.read_bytes())["end"]["status"] == status


def test_growing_and_then_killed(place):
    record = place.path("run.jsonl")
    toll = place.popen([place.toll, "run", "-q", "-i", "10ms", "-o", record, "--", "sleep", "60"])
    job = None
    try:
        wait_for_samples(record, 3)
        job = records(record, "run")[0]["pid"]
        export(place, record, "running", b"the run still goes on")
        code, _, err = place.call([place.toll, "export", record, "-o", f"jsonl:{record}"])
        assert code == 125 and b"is being written by another toll" in err
    finally:
        os.kill(toll.pid, signal.SIGKILL)
        toll.wait(20)
        if job:
            os.kill(job, signal.SIGKILL)
    whole = record.read_bytes().count(b'"type":"sample"')
    export(place, record, "unknown", b"before the run did")
    code, out, _ = place.call([place.toll, "export", "-q", record, "-o", "-", "-f", "csv"])
    assert code == 0 and len(out.splitlines()) in (whole, whole + 1)
