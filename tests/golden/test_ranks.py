# SPDX-License-Identifier: MIT
"""Records of the ranks of one job, with known figures: what toll report and toll list make of them
together."""

import json

import jsonschema
import pytest

import recorded
from test_list import pattern, stamp, toll  # noqa: F401 (a fixture)
from test_report import page_of

START = 1_800_000_000
MIB = 2**20
SCHEMA = json.loads((recorded.TOP / "docs/schema/report.schema.json").read_text())


def write(path, pattern, rank, samples, *, host="node1", start=START, world=4, launch="777",
          end=("exited", 0), cut=False, name="solver", job=None, number=None):
    """A record of a rank. samples: CPU seconds and bytes of memory of each second."""
    run, *_, summary = json.loads(json.dumps(pattern))
    sample = next(json.loads(json.dumps(line)) for line in pattern if line["type"] == "sample")
    place = {"rank": str(rank), "local_rank": str(rank % 2), "launcher": "Open MPI",
             "launch": launch} | ({"world_size": str(world)} if world else {})
    for line in (run, summary):
        line.update(start=stamp(start), name=name, host=host, labels={},
                    id=f"01a1ec5b-ade4-7e9b-b144-{number or 1000 + rank:012x}", **place)
        line.update({"job_id": job} if job else {})
    run["unix_seconds"] = start
    lines, cpu = [run], 0
    for i, (used, memory) in enumerate(samples, 1):
        cpu += used
        sample = {"type": "sample", "tick": i, "time": stamp(start + i), "unix_seconds": start + i,
                  "elapsed_seconds": i, "interval_seconds": 1,
                  "target": {"combined": {"wall_seconds": i, "cpu_seconds": cpu,
                                          "memory_rss_bytes": memory}}}
        lines.append(sample)
    summary["wall_seconds"] = len(samples)
    summary["end"].update(status=end[0], code=end[1] if end[0] == "exited" else None,
                          signal=end[1] if end[0] == "signaled" else None)
    figures = summary["target"]["combined"]
    figures["cpu_seconds"].update(total=cpu, quality="exact")
    peak = max(memory for _, memory in samples)
    for metric, most in (("memory_rss_bytes", peak), ("memory_peak_bytes", 1000)):
        figures[metric] = {"mean": most, "min": most, "max": most, "max_at_seconds": 1,
                           "last": most, "quality": "sampled", "from": "samples"}
    lines += [] if cut else [summary]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def report_of(*paths):
    code, out, err = toll("report", "--json", *paths)
    assert code == 0, err
    report = json.loads(out)
    jsonschema.validate(report, SCHEMA)
    assert (report["runs"], report["history"]) == ([], [])
    return report["job"]


def keys_of(job):
    return [finding["key"] for finding in job["findings"]]


@pytest.fixture(name="job")
def job_fixture(tmp_path, pattern):  # noqa: F811
    """Two hosts with two ranks each, which need their memory one after the other; the clock of the
    second is 45 seconds fast."""
    early, late = [(1, 300 * MIB)] * 8 + [(1, 100 * MIB)] * 24, \
        [(1, 100 * MIB)] * 24 + [(1, 300 * MIB)] * 8
    for rank, samples in enumerate((early, late, early, late)):
        fast = 45 * (rank // 2)
        write(tmp_path / "job" / f"{rank}.jsonl", pattern, rank, samples,
              host=f"node{1 + rank // 2}", start=START + fast)
    return tmp_path / "job"


def test_memory_at_the_same_time_is_not_the_sum_of_peaks(job):
    found = report_of(job)
    assert (found["ranks_recorded"], found["world_size"], found["ranks_missing"]) == (4, 4, 0)
    for host in found["hosts"]:
        assert host["ranks"] == 2
        # A host never had more than 400 MiB. Columns have a width of their own: where one covers the
        # moment of the change of both ranks, it is known less precisely.
        assert host["memory_bytes_max_at_least"] == pytest.approx(400 * MIB, rel=1e-6)
        assert host["memory_bytes_max_at_most"] == pytest.approx(400 * MIB, rel=1e-6)
        assert host["memory_bytes_sum_of_peaks"] == 600 * MIB
        assert host["cores_max"] == pytest.approx(2, rel=1e-3)
    assert found["together"]["memory_bytes_max_at_most"] == pytest.approx(800 * MIB, rel=1e-6)
    for used in (*found["hosts"], found["together"]):
        assert used["memory_bytes_max_at_least"] <= used["memory_bytes_max_at_most"]
    assert found["together"]["cores_max"] == pytest.approx(4, rel=1e-3)
    cpu = found["figures"]["cpu_seconds"]
    assert (cpu["min"], cpu["mean"], cpu["max"], cpu["sum"]) == (32, 32, 32, 128)
    assert found["figures"]["memory_peak_bytes"]["sum"] is None
    assert found["imbalance_ratio"] == 0
    # All CPU time is in the columns.
    width = found["together"]["column_seconds"]
    assert sum(found["together"]["cores_over_time"]) * width == pytest.approx(128, rel=1e-4)


def test_a_clock_that_is_fast_is_estimated_and_stated(job):
    found = report_of(job)
    assert [host["clock_aligned"] for host in found["hosts"]] == [False, True]
    assert found["hosts"][1]["clock_ahead_seconds"] == pytest.approx(45)
    assert (found["start_skew_seconds"], found["end_skew_seconds"]) == (0, 0)
    assert keys_of(found) == ["clock-offset"]
    text = toll("report", job, columns=100)[1]
    assert "node2 is 45.0 s fast" in " ".join(text.split()), text


@pytest.mark.parametrize("columns", [60, 100])
def test_text_in_ascii(tmp_path, pattern, columns):  # noqa: F811
    """No figure and no curve becomes a question mark, and the columns stay aligned."""
    for rank in range(3):
        write(tmp_path / f"{rank}.jsonl", pattern, rank, [(0.5 + rank, (rank + 1) * MIB)] * 20, world=3)
    shown = {locale: toll("report", tmp_path, columns=columns, locale=locale)[1].splitlines()
             for locale in ("C", "C.UTF-8")}
    assert "".join(shown["C"]).isascii() and "?" not in "".join(shown["C"]), shown["C"]
    assert [len(line) for line in shown["C"]] == [len(line) for line in shown["C.UTF-8"]]


def test_ranks_that_fail_are_named(tmp_path, pattern):  # noqa: F811
    for rank in (0, 1, 3, 4, 5, 8):
        write(tmp_path / f"{rank}.jsonl", pattern, rank,
              [(0.5 if rank else 2, 100 * MIB)] * (20 if rank == 4 else 10), world=9,
              end=("signaled", 9) if rank == 1 else ("exited", 0), cut=rank == 3)
    found = report_of(tmp_path)
    assert (found["ranks_missing"], found["missing"]) == (3, "2, 6-7")
    assert [rank["rank"] for rank in found["ranks"] if rank["failed"]] == ["1", "3"]
    assert [rank["rank"] for rank in found["ranks"] if rank["slow"]] == ["4"]
    assert [rank["ended"] for rank in found["ranks"][1:3]] == ["SIGKILL", "cut off"]
    assert keys_of(found) == ["rank-missing", "rank-failed", "rank-imbalance", "rank-slow"]
    cpu = found["figures"]["cpu_seconds"]
    assert (cpu["min_rank"], cpu["max_rank"], cpu["sum_is_lower_bound"]) == ("1", "0", True)
    assert found["imbalance_ratio"] == pytest.approx(cpu["max"] / cpu["mean"] - 1, abs=1e-6)
    assert found["ranks"][2]["cpu_seconds"]["value"] == pytest.approx(5), "up to its last sample"
    code, out, _ = toll("list", tmp_path)
    assert code == 0 and len(out.splitlines()) == 2
    assert "6 of 9" in out and "2 ranks: SIGKILL" in out and "0.jsonl + 5" in out
    assert "≥" in out and "100 MiB/rank" in out
    assert len(toll("list", "--ranks", tmp_path)[1].splitlines()) == 7
    assert len(json.loads(toll("list", "--json", tmp_path)[1])) == 6


def test_jobs_of_the_same_name_stay_apart(tmp_path, pattern):  # noqa: F811
    for launch in (1, 2):
        for rank in (0, 1):
            write(tmp_path / f"{launch}-{rank}.jsonl", pattern, rank, [(launch, MIB)] * 5, world=2,
                  launch=str(launch), start=START + launch, number=launch * 100 + rank)
    assert [line.split()[-5] for line in toll("list", tmp_path)[1].splitlines()[1:]] and \
        len(toll("list", tmp_path)[1].splitlines()) == 3
    assert report_of(tmp_path)["figures"]["cpu_seconds"]["sum"] == 20, "the newest"


def test_the_same_ids_again_are_another_job(tmp_path, pattern):  # noqa: F811
    """Started again in the same allocation, or beside it without an id of the launch."""
    for again in (0, 1):
        for rank in (0, 1):
            write(tmp_path / f"{again}-{rank}.jsonl", pattern, rank, [(1 + again, MIB)] * 5,
                  world=2, launch="", job="42", start=START + 3600 * again,
                  number=again * 100 + rank + 1)
    assert len(toll("list", tmp_path)[1].splitlines()) == 3
    found = report_of(tmp_path)
    assert (found["job_id"], found["ranks_recorded"]) == ("42", 2)
    assert found["figures"]["cpu_seconds"]["sum"] == 20


def test_one_rank_is_an_ordinary_run(tmp_path, pattern):  # noqa: F811
    write(tmp_path / "0.jsonl", pattern, 0, [(1, MIB)] * 5)
    write(tmp_path / "1.jsonl", pattern, 1, [(1, MIB)] * 5)
    code, out, err = toll("report", "--json", tmp_path / "1.jsonl")
    assert code == 0, err
    report = json.loads(out)
    assert len(report["runs"]) == 1 and "job" not in report
    assert report["runs"][0]["summary"]["rank"] == "1"
    report = json.loads(toll("report", "--json", "--all", tmp_path)[1])
    assert len(report["runs"]) == 2 and "job" not in report


def test_every_form(job, tmp_path):
    code, out, err = toll("report", job, "-o", tmp_path / "r.html", "-o", tmp_path / "r.md")
    assert code == 0, err
    page = page_of(tmp_path / "r.html")
    assert page.tags.count("svg") == 3 + 4, "cores, memory, imbalance, and one of each rank"
    text = (tmp_path / "r.md").read_text()
    assert text.startswith("### solver: 4 ranks on 2 hosts\n") and "| CPU time | 32.0 s |" in text
    code, out, _ = toll("report", job, columns=80)
    assert code == 0 and max(len(line) for line in out.splitlines()) <= 110
    assert "solver: 4 ranks on 2 hosts" in out and "node2" in out
    code, _, err = toll("report", "--format", "svg", job)
    assert code != 0 and "one run" in err


def test_hostile_names_do_not_reach_the_page(tmp_path, pattern):  # noqa: F811
    for rank in (0, 1):
        write(tmp_path / f"{rank}.jsonl", pattern, rank, [(1, MIB)] * 3, world=2,
              host="<script>\x1b[31m|*", name="<b>&\x1b]0;x\x07")
    for name in ("r.html", "r.md", "r.txt"):
        assert toll("report", tmp_path, "-o", tmp_path / name)[0] == 0
        assert "\x1b" not in (tmp_path / name).read_text()
    assert "<script>\x1b" not in (tmp_path / "r.html").read_text()
    page_of(tmp_path / "r.html")
    assert "\x1b" not in toll("list", tmp_path)[1]
