# SPDX-License-Identifier: MIT
"""toll recommend: what it prints for people, programs and each tool, from records with known figures.

The option --update writes expected/recommend.txt anew; look at it with git diff.
"""

import json
import os
import pathlib
import re
import sqlite3
import subprocess
import time

import hostlib
import packed
import pytest

import recorded

HERE = pathlib.Path(__file__).parent
EXPECTED = HERE / "expected/recommend.txt"
SCHEMA = HERE.parents[1] / "docs/schema/recommend.schema.json"
TOOLS = ["sbatch", "kubernetes", "docker", "systemd", "nextflow", "snakemake", "cwl", "condor"]
NOW = 1_790_000_000
MIB = 2**20


def toll(*words, locale="C.UTF-8", cwd=None):
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LC_ALL": locale, "TZ": "UTC"}
    env |= {key: os.environ[key] for key in ("ASAN_OPTIONS", "UBSAN_OPTIONS") if key in os.environ}
    done = subprocess.run([recorded.TOLL, "recommend", *words], stdin=subprocess.DEVNULL, env=env,
                          cwd=cwd, capture_output=True, timeout=60, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.fixture(scope="module")
def pattern(tmp_path_factory):
    """The lines of a small record that toll itself wrote."""
    where = tmp_path_factory.mktemp("pattern")
    done = recorded.replay(recorded.fixture_of("marks"), "-q", "-o", where / "live.jsonl")
    assert done.returncode in (0, 3, 7), done.stderr
    return [json.loads(line) for line in (where / "live.jsonl").read_text().splitlines()]


def statistics(value, quality, source="samples"):
    if value is None:
        return {"quality": "unknown", "from": ""}
    return {"mean": value, "min": value, "p50": value, "p90": value, "p95": value, "p99": value,
            "max": value, "max_at_seconds": 1, "last": value, "quality": quality, "from": source}


class Job:
    """Writes runs with known figures, one record each, in the order of their start."""

    def __init__(self, where, pattern):
        self.where, self.pattern, self.count = where, pattern, 0
        where.mkdir(exist_ok=True)

    def run(self, name="train", *, wall=600.0, mib=2000, quality="exact", cores=1.9, wait=0.0,
            cpu=1000.0, end=None, limit_mib=None, cut=False, allowed=2, labels=None,
            command=("train",), file=None, gpus=()):
        self.count += 1
        begin, *rest, summary = json.loads(json.dumps(self.pattern))
        start = NOW + self.count * 3600
        for line in (begin, summary):
            line.update(name=name, labels=labels or {}, command=list(command), cpus=allowed,
                        id=f"01a1ec5b-ade4-7e9b-b144-{self.count:012x}",
                        start=time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(start)))
        begin["unix_seconds"] = start
        summary["wall_seconds"] = wall
        summary["end"] = {"status": "exited", "code": 0, "signal": None, "core_dumped": False,
                          "oom_killed": False, "timed_out": False} | (end or {})
        figures = summary["target"]["combined"]
        figures["cpu_seconds"].update(total=cpu, quality="exact")
        figures["cpu_wait_seconds"] = {"total": wait, "quality": "sampled", "from": "samples"}
        figures["cpu_cores"] = statistics(cores, "sampled")
        peak = None if mib is None else mib * MIB
        figures["memory_rss_bytes"] = statistics(peak, quality)
        figures["memory_peak_bytes"] = statistics(None if peak is None else 1000, "exact")
        summary["limits"] = {"cpus": {"value": allowed, "unlimited": False, "by": "machine"}}
        if limit_mib:
            summary["limits"]["memory_bytes"] = {"value": limit_mib * MIB, "unlimited": False,
                                                 "by": "memory limit", "cgroup": "/job"}
        for line in rest:
            if line["type"] == "sample" and gpus:
                line["gpus"] = [{"name": f"{vendor}{i}", "utilization_ratio": busy,
                                 "memory_used_bytes": 3 * 2**30}
                                for i, (vendor, busy) in enumerate(gpus)]
        path = self.where / (file or f"{self.count:02}.jsonl")
        lines = [begin, *rest] + ([] if cut else [summary])
        with open(path, "a", encoding="utf-8") as out:
            out.writelines(json.dumps(line) + "\n" for line in lines)
        return path


KILLED = {"status": "signaled", "code": None, "signal": 9}
OOM_KILLED = KILLED | {"oom_killed": True}
TIMED_OUT = KILLED | {"signal": 15, "timed_out": True}
FAILED = {"code": 3}


@pytest.fixture(scope="module")
def runs(tmp_path_factory, pattern):
    """Directories with records of jobs of different kinds."""
    where = tmp_path_factory.mktemp("runs")

    plain = Job(where / "plain", pattern)
    for mib, wall, cores in ((1900, 610, 1.7), (2000, 700, 1.9), (1800, 590, 1.8)):
        plain.run(mib=mib, wall=wall, cores=cores)
    plain.run(end=FAILED, wall=3, mib=10)
    plain.run(cut=True)

    Job(where / "weak", pattern).run(quality="sampled", wall=7300, mib=9000, cores=0.4)

    oom = Job(where / "oom", pattern)
    oom.run(end=OOM_KILLED, limit_mib=1000, mib=990, wall=20)
    oom.run(mib=400, quality="lower bound")

    only_oom = Job(where / "only-oom", pattern)
    only_oom.run(end=OOM_KILLED, limit_mib=300, mib=290, wall=20)

    timeout = Job(where / "timeout", pattern)
    for wall in (300, 310, 320):
        timeout.run(wall=wall)
    timeout.run(end=TIMED_OUT, wall=3600)

    busy = Job(where / "busy", pattern)
    for _ in range(3):
        busy.run(cores=1.99, cpu=1000, wait=350)

    unknown = Job(where / "unknown", pattern)
    unknown.run(mib=None, cores=None, wall=0.004)

    gpus = Job(where / "gpus", pattern)
    for _ in range(3):
        gpus.run(gpus=[("nvidia", 0.9), ("nvidia", 0.04)])

    amd = Job(where / "amd", pattern)
    amd.run(gpus=[("amd", 0.9), ("amd", 0.9)])

    unused = Job(where / "unused-gpus", pattern)
    unused.run(gpus=[("nvidia", 0.0)])

    several = Job(where / "several", pattern)
    several.run("evaluate", mib=100, labels={"team": "blue"})
    for _ in range(3):
        several.run("train", labels={"team": "red"}, command=("python3", "a.py"))
    several.run("train", labels={"team": "red"}, command=("python3", "b.py"))
    several.run("broken", end=FAILED)

    failed = Job(where / "failed", pattern)
    failed.run(end=FAILED)
    failed.run(cut=True)
    return where


JOBS = ["plain", "weak", "oom", "only-oom", "timeout", "busy", "unknown", "gpus", "unused-gpus", "several"]
PARTS = ([f"{job}.txt" for job in JOBS] + [f"plain.{tool}" for tool in TOOLS] +
         [f"gpus.{tool}" for tool in TOOLS] +
         ["several.sbatch", "oom.kubernetes", "unknown.nextflow", "busy.condor", "amd.kubernetes", "plain.json",
          "plain.ascii.txt"])


@pytest.mark.parametrize("part", PARTS)
def test_as_expected(part, runs, request):
    job, *form = part.split(".")
    words = {"txt": [], "json": ["--json"]}.get(form[-1], ["--for", form[-1]])
    locale = "C" if "ascii" in form else "C.UTF-8"
    status, out, err = toll(*words, runs / job, locale=locale)
    assert (status, err) == (0, "")
    if form[-1] == "txt":
        assert max(map(len, out.splitlines())) <= 80
    if request.config.getoption("--update"):
        parts = packed.read(EXPECTED) if EXPECTED.exists() else {}
        packed.write(EXPECTED, parts | {part: out.encode()})
    assert out == packed.read(EXPECTED)[part].decode()


def test_nothing_else_is_expected():
    assert list(packed.read(EXPECTED)) == PARTS


def test_json_follows_the_schema(runs):
    jsonschema = hostlib.module("jsonschema")
    schema = json.loads(SCHEMA.read_text())
    for job in JOBS:
        document = json.loads(toll("--json", runs / job)[1])
        jsonschema.Draft202012Validator(schema).validate(document)


def test_which_runs(runs):
    def names(*words):
        return [job["name"] for job in json.loads(toll("--json", *words, runs / "several")[1])["jobs"]]

    assert names() == ["broken", "evaluate", "train"]
    assert names("--name", "t*") == ["train"]
    assert names("--label", "team=blue") == ["evaluate"]
    assert names("--label", "team") == ["evaluate", "train"]
    assert toll(cwd=runs / "plain")[1] == toll(runs / "plain")[1], "the current directory"
    files = sorted((runs / "plain").iterdir())
    assert toll(*files)[1] == toll(runs / "plain")[1]


def test_a_run_in_two_files_counts_once(runs, tmp_path):
    before = toll("--json", runs / "plain")[1]
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(b"".join(path.read_bytes() for path in sorted((runs / "plain").iterdir())))
    assert toll("--json", runs / "plain", copy)[1] == before


def test_sqlite_says_the_same(runs, tmp_path):
    for path in sorted((runs / "plain").iterdir()):
        subprocess.run([recorded.TOLL, "export", path, "-q", "-o", tmp_path / "runs.sqlite"],
                       check=True, capture_output=True, timeout=60)
    with sqlite3.connect(tmp_path / "runs.sqlite") as db:
        count, = db.execute("SELECT count(*) FROM runs").fetchone()
    if count == 1:
        pytest.skip("export replaces the file")
    assert toll(tmp_path / "runs.sqlite")[1] == toll(runs / "plain")[1]


# ---- What cannot be answered ---------------------------------------------------------------------


def test_no_finished_run(runs):
    for words in ([], ["--json"], ["--for", "cwl"]):
        status, out, err = toll(*words, runs / "failed")
        assert (status, out) == (125, "")
        assert err == "toll: recommend: no finished run of 'train' (1 failed, 1 cut short)\n"


def test_nothing_to_read(runs, tmp_path):
    assert toll(tmp_path)[0::2] == (
        125, f"toll: recommend: no records in '{tmp_path}' (expected *.jsonl, *.sqlite or *.db)\n")
    assert toll("--name", "x", runs / "plain")[2] == "toll: recommend: none of 5 runs matches\n"
    status, _, err = toll(tmp_path / "missing.jsonl")
    assert status == 125 and "missing.jsonl" in err
    status, _, err = toll("--for", "make", runs / "plain")
    assert status == 125 and "invalid value 'make' (expected sbatch, kubernetes, " in err
    assert toll("--for", "cwl", "--json")[2] == (
        "toll: --for: conflicts with --json (leave out one of them)\n")


def test_a_foreign_file_in_a_directory_is_a_warning(runs, tmp_path):
    for path in (runs / "plain").iterdir():
        (tmp_path / path.name).symlink_to(path)
    (tmp_path / "data.jsonl").write_text('{"text": "of another program"}\n')
    status, out, err = toll(tmp_path)
    assert status == 0 and out == toll(runs / "plain")[1]
    assert re.fullmatch(r"toll: recommend: .*data\.jsonl.*\n", err)
    assert toll(tmp_path / "data.jsonl")[0] == 125, "unless it is named"


def test_runs_without_a_name_and_with_a_long_one(pattern, tmp_path):
    job = Job(tmp_path, pattern)
    job.run("", command=())
    job.run("x" * 100)
    text = " ".join(toll(tmp_path)[1].split())
    assert "(weak: from 1 run without a name)." in text
    assert f"(weak: from 1 run of '{'x' * 60}...')." in text


def test_names_cannot_leave_their_comment(pattern, tmp_path):
    job = Job(tmp_path, pattern)
    for _ in range(3):
        job.run("x\n#SBATCH --mem=1M\x1b[31m '")
    for tool in TOOLS:
        status, out, _ = toll("--for", tool, tmp_path)
        assert status == 0 and "\x1b" not in out
        first, *rest = out.splitlines()
        assert "--mem=1M" in first and not any("--mem=1M" in line for line in rest)
