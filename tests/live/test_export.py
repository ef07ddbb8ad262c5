# SPDX-License-Identifier: MIT
"""toll export of records that no golden run has: one that grows, and one that toll left when it was
killed."""

import fcntl
import json
import os
import re
import signal
import struct
import subprocess
import termios

import pytest

from livelib import GUARD, job_until, needs_root, recorded, records, small_disk, state_of, until


def wait_for_samples(path, count):
    until(lambda: path.exists() and path.read_bytes().count(b'"type":"sample"') >= count, "samples")


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
        export(place, record, "running", b"still being measured")
        copy = place.path("copy.jsonl")
        copy.write_bytes(record.read_bytes())
        code, _, err = place.call([place.toll, "export", copy, "-o", f"jsonl:{record}"])
        assert code == 125 and b"in use by another toll process" in err
    finally:
        os.kill(toll.pid, signal.SIGKILL)
        toll.wait(GUARD)
        if job:
            os.kill(job, signal.SIGKILL)
    whole = record.read_bytes().count(b'"type":"sample"')
    export(place, record, "unknown", b"before the run did")
    code, out, _ = place.call([place.toll, "export", "-q", record, "-o", "-", "-f", "csv"])
    assert code == 0 and len(out.splitlines()) in (whole, whole + 1)


def listed(place, record):
    """The runs of a record as toll list has them, or none when it cannot be read yet."""
    code, out, _ = place.call([place.toll, "list", "--json", "--sort", "time", record])
    return json.loads(out) if code == 0 else []


def test_a_sqlite_file_that_grows_and_is_killed(place):
    """Another run, which has ended, is in it too."""
    record = place.path("runs.db")
    assert place.call([place.toll, "run", "-q", "-o", record, "--", "true"])[0] == 0
    toll = place.popen([place.toll, "run", "-q", "-i", "10ms", "-o", f"{record},every=20ms", "--",
                        "sleep", "60"])
    try:
        def second():
            runs = listed(place, record)
            return runs if len(runs) == 2 and runs[1]["samples"] >= 3 else None
        first, growing = until(second, "samples of a second run")
        assert (first["status"], first["cut_short"]) == ("exited", False)
        assert growing["status"] == "running"
        text = place.call([place.toll, "list", record])[1].decode().splitlines()
        assert "running" in text[1] and "exit 0" in text[2]
        code, begin, err = place.call([place.toll, "export", record, "--run", "2"])
        assert code == 0 and b"still being measured" in err
        assert len(begin.splitlines()) > growing["samples"]
    finally:
        job = int(open(f"/proc/{toll.pid}/task/{toll.pid}/children").read().split()[0])
        os.kill(toll.pid, signal.SIGKILL)
        toll.wait(GUARD)
        os.kill(job, signal.SIGKILL)
    assert listed(place, record)[1]["status"] == "unknown"
    assert "cut off" in place.call([place.toll, "list", record])[1].decode()
    code, rows, err = place.call([place.toll, "export", record, "--run", "2"])
    assert code == 0 and b"has ended" in err
    assert rows.startswith(begin), "what was exported while it grew stays"


def test_one_that_fails_does_not_disturb_the_others(here):
    record = here.path("run.jsonl")
    assert here.call([here.toll, "run", "-q", "-o", record, "-o", "run.csv", "--", "sleep", "0.1"])[0] == 0
    code, out, err = here.call([here.toll, "export", record, "-o", "csv:/dev/full", "-o", "x.csv", "-o",
                                "json:/dev/full", "-o", "x.json", "-o", "-"])
    assert code == 125
    lines = err.decode().splitlines()
    assert len(lines) == 2 and all("'/dev/full': No space left" in line for line in lines), err
    whole = here.path("run.csv").read_bytes()
    assert out == whole == here.path("x.csv").read_bytes()
    assert json.loads(here.path("x.json").read_text())["end"]["status"] == "exited"


@needs_root
@pytest.mark.parametrize("name", ["old.csv", "new.jsonl", "new.sqlite"])
def test_a_disk_without_room(here, name):
    """What was there stays as it was, and nothing else is left."""
    record = here.path("run.jsonl")
    many = job_until(recorded('"type":"sample"', 150))
    assert here.call([here.toll, "run", "-q", "-i", "1ms", "-o", record, "--", "sh", "-c",
                      many])[0] == 0
    with small_disk(here, "16k") as small:
        (small / "old.csv").write_text("as before")
        code, _, err = here.call([here.toll, "export", record, "-o", small / name])
        assert code == 125 and err.count(b"\n") == 1, err
        assert name.encode() in err and (b"No space left" in err or b"disk full" in err or b"disk is full" in err)
        assert [p.name for p in small.iterdir()] == ["old.csv"]
        assert (small / "old.csv").read_text() == "as before"


@needs_root
def test_what_is_lost_for_want_of_room_is_what_is_missing(here):
    """The samples that fit are in the file, whole, and those are not called lost."""
    record = here.path("run.jsonl")
    many = job_until(recorded('"type":"sample"', 150))
    assert here.call([here.toll, "run", "-q", "-i", "1ms", "-o", record, "--", "sh", "-c",
                      many])[0] == 0
    with small_disk(here, "128k") as small:
        code, _, err = here.call([here.toll, "export", record, "-o", small / "run.om"])
        assert code == 125 and b"No space left" in err, err
        delivered = int(re.search(rb"(\d+) of \d+ samples delivered", err).group(1))
        lines = (small / "run.om").read_text().splitlines()
        written = [line for line in lines if line.startswith("toll_target_wall_seconds_total{")
                   and 'scope="main"' in line]
        assert 0 < delivered == len(written)


def high_water(pid):
    status = open(f"/proc/{pid}/status", encoding="ascii", errors="replace").read()
    return int(re.search(r"VmHWM:\s*(\d+) kB", status)[1]) * 1024


def test_memory_of_a_report_does_not_grow_with_its_record(here):
    """One toll reads a record from a pipe: its peak after 10,000 samples and after 40,000, once it has
    read all of them. By then every column of a chart is in use."""
    run = {"type": "run", "schema": "toll.record/1", "name": "x", "command": ["x"], "pid": 5, "cpus": 2,
           "start": "2026-11-07T17:20:00.000Z"}

    def samples(first, last):
        for tick in range(first, last):
            figures = (f'"cpu_seconds":{tick / 20},"cpu_cores":{tick % 17 / 10},'
                       f'"memory_rss_bytes":{tick * 4096}')
            yield (f'{{"type":"sample","tick":{tick},"time":"2026-11-07T17:20:00.000Z",'
                   f'"elapsed_seconds":{(tick + 1) / 10},"interval_seconds":0.1,'
                   f'"target":{{"combined":{{{figures}}}}}}}\n'
                   f'{{"type":"event","elapsed_seconds":{(tick + 1) / 10},"name":"e{tick}","pid":5}}\n')

    out = [word for name in ("r.html", "r.md", "r.svg") for word in ("-o", name)]
    with here.popen([here.toll, "export", "-q", "-", *out], stdin=subprocess.PIPE) as toll:
        def peak(text):
            toll.stdin.write(text.encode())
            toll.stdin.flush()
            until(lambda: not struct.unpack("i", fcntl.ioctl(toll.stdin, termios.FIONREAD, b"0000"))[0]
                  and state_of(toll.pid) == "S", "all of it read")
            return high_water(toll.pid)
        few = peak(json.dumps(run) + "\n" + "".join(samples(0, 10000)))
        many = peak("".join(samples(10000, 40000)))
        toll.stdin.close()
        assert toll.wait(GUARD) == 0
    assert many - few < 256 * 1024, (few, many)
    assert here.path("r.html").stat().st_size < 2e6
