# SPDX-License-Identifier: MIT
"""Outputs that fail: the job goes on, one sentence says so, and what is written is whole."""
import csv
import json
import os

import pytest
from livelib import IS_ROOT, SANITIZED, job_until, needs_root, noted, records, small_disk, until

JOB = ["100", "0", "100", "7"]  # of `burn`: busy, then asleep, ends with 7


def sentences(err, name):
    return [line for line in err.decode().splitlines() if name in line and "toll: " in line]


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "json", "txt"])
def test_full_device(place, suffix):
    path = place.path(f"x.{suffix}")
    path.symlink_to("/dev/full")
    status, out, err = place.call([place.toll, "run", "-i", "10ms", "-o", path, "--",
                                   place.helper("burn"), *JOB])
    assert (status, out) == (7, b"")
    # Said once while it runs; the summary repeats it without "toll: " before it.
    assert len(sentences(err, path.name)) <= 1
    assert b"No space left" in err


def test_full_device_is_in_the_summary(place):
    path = place.path("x.jsonl")
    path.symlink_to("/dev/full")
    result = place.run([place.helper("burn"), *JOB], ["-i", "10ms", "-o", path])
    assert result.status == 7
    assert any("x.jsonl" in note for note in result.notes)
    assert len(sentences(result.err, "; the job continues")) == 1
    assert len(sentences(result.err, "cannot write")) <= 2  # and how much was lost, at the end


@pytest.mark.skipif(SANITIZED, reason="sanitizers need more stack before toll begins")
@pytest.mark.parametrize("kib", [16, 64, 256])
def test_small_stack(place, kib):
    """A limit of the stack is the command's: toll has one of its own, and passes the limit on. The
    environment is on the stack as well: with a large one the loader of any program crashes."""
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    limited = ["prlimit", f"--stack={kib * 1024}:{kib * 1024}", place.toll]
    outputs = ["x.jsonl", "x.csv", "x.json", "x.txt", "x.sqlite", "x.om"]
    status, out, err = place.call(
        [*limited, "run", "-i", "10ms", "--system", *(w for o in outputs for w in ("-o", o)), "--",
         "sh", "-c", "ulimit -s; ulimit -Hs; sleep 0.05; exit 7"], env=environment)
    assert (status, out.split()) == (7, [b"%d" % kib] * 2), err
    assert [name for name in outputs if not place.path(name).stat().st_size] == []
    for words in (["doctor"], ["export", "x.jsonl", "-o", "y.csv"], ["list", "x.sqlite"],
                  ["system", "--for", "50ms"], ["attach", "--for", "50ms", str(os.getpid())]):
        status, _, err = place.call([*limited, *words], env=environment)
        assert status in (0, 1) if words == ["doctor"] else status == 0, (words, err)


@needs_root
@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
def test_disk_that_fills_up(here, suffix):
    """A filesystem of 64 KiB: it ends with a whole line, and other outputs are not harmed."""
    with small_disk(here, "64k") as small:
        full = job_until(noted("No space left", path="good.jsonl"))
        status, _, err = here.call(
            [here.toll, "run", "-i", "1ms", "--processes", "all", "-o", small / f"x.{suffix}",
             "-o", "good.jsonl", "--", "sh", "-c", f"{full}; sleep 0.1; exit 7"])
        assert status == 7
        text = (small / f"x.{suffix}").read_text()
        assert text.endswith("\n") and len(text) <= 65536
        if suffix == "jsonl":
            assert records(small / "x.jsonl")[0]["type"] == "run"
        else:
            rows = list(csv.reader(text.splitlines()))
            assert len({len(row) for row in rows}) == 1
        assert len(sentences(err, "cannot write")) == 1
        assert records(here.path("good.jsonl"), "summary")


def test_directory_that_is_not_there(place):
    status, out, err = place.call([place.toll, "run", "-o", "nowhere/x.csv", "--", "touch", "ran"])
    assert (status, out) == (125, b"")
    assert err.count(b"\n") == 1 and b"nowhere/x.csv" in err
    assert not place.path("ran").exists(), "the command is not started"


def test_read_only_directory(nobody):
    locked = nobody.path("locked")
    locked.mkdir()
    locked.chmod(0o555)
    status, _, err = nobody.call([nobody.toll, "run", "-o", "first.csv", "-o", "locked/x.csv", "--",
                                  "touch", "ran"])
    if not IS_ROOT and os.access(locked, os.W_OK):
        pytest.skip("this user may write anywhere")
    assert status == 125
    assert b"Permission denied" in err
    assert not nobody.path("ran").exists()
    assert not nobody.path("first.csv").exists(), "what was made before is removed again"


def test_output_that_is_a_directory(here):
    here.path("x.csv").mkdir()
    status, _, err = here.call([here.toll, "run", "-o", "x.csv", "--", "touch", "ran"])
    assert status == 125 and b"x.csv" in err
    assert not here.path("ran").exists()


def test_output_removed_midway(place):
    """The file is gone, the job is not; a second output is whole."""
    result = place.run(["sh", "-c", "sleep 0.1; rm x.jsonl; sleep 0.2; exit 7"],
                       ["-i", "10ms", "-o", "x.jsonl", "-o", "y.jsonl"])
    assert result.status == 7
    assert records(place.path("y.jsonl"))[-1]["type"] == "summary"


def test_output_cut_midway(place):
    """Somebody empties the file (as log rotation does): what follows are whole lines at its
    beginning, without a hole."""
    result = place.run(["sh", "-c", "sleep 0.1; : > x.jsonl; sleep 0.2"],
                       ["-i", "10ms", "-o", "x.jsonl"])
    assert result.status == 0
    lines = records(place.path("x.jsonl"))
    assert lines and lines[-1]["type"] == "summary"


def test_record_can_be_followed(place):
    """Every line is there as soon as it was measured."""
    with place.popen([place.toll, "run", "-q", "-i", "10ms", "-o", "x.jsonl", "--", "sleep",
                      "600"]) as p:
        path = place.path("x.jsonl")
        until(lambda: path.exists() and len(path.read_text().splitlines()) >= 5, "five lines")
        text = path.read_text()
        for line in text[:text.rindex("\n")].splitlines():
            json.loads(line)
        p.terminate()


def test_summary_to_a_descriptor(place):
    status, out, err = place.shell("$TOLL run --summary json --summary-to 5 -- true 5>s.json")
    assert (status, out, err) == (0, b"", b"")
    assert json.loads(place.path("s.json").read_text())["schema"].startswith("toll.summary/")


def test_descriptor_that_is_not_open(place):
    status, _, err = place.shell("$TOLL run --summary-to 9 -- touch ran")
    assert status == 125 and b"9" in err
    assert not place.path("ran").exists()


def test_unknown_is_not_zero(place):
    """PSS of a job that ended before the first look is unknown: null and empty, not 0."""
    result = place.run(["true"], ["-i", "10s", "-o", "x.jsonl", "-o", "x.csv", "--memory", "rss"])
    assert result.status == 0
    for sample in records(place.path("x.jsonl"), "sample"):
        assert sample["target"]["combined"].get("memory_pss_bytes") is None
    with place.path("x.csv").open() as f:
        for row in csv.DictReader(f):
            assert row.get("target_memory_pss_bytes", "") == ""
