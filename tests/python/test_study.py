# SPDX-License-Identifier: MIT
"""report(), compare() and recommend(): what the commands of the same name find, of records and of summaries."""

import json
import os
import pickle
import subprocess
import sys

import pytest
import toll
from work import frames

GROWS = "x = b'x' * {}; import time; time.sleep(0.1)"


def run(megabytes, name, **options):
    return toll.run([sys.executable, "-S", "-c", GROWS.format(megabytes * 10**6)], name=name, **options)


def toll_command(*words):
    done = subprocess.run(
        [os.environ["TOLL"], *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, text=True
    )
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two records of three runs each, and their summaries: the second uses more memory."""
    place = tmp_path_factory.mktemp("runs")
    made = {}
    for name, megabytes in (("small", 20), ("large", 60)):
        path = place / f"{name}.sqlite"
        made[name] = [run(megabytes, name, outputs=path).summary for _ in range(3)]
        made[f"{name} path"] = path
    made["place"] = place
    return made


# ---- report -------------------------------------------------------------------------------------


def test_report_is_what_the_command_finds(runs, tmp_path):
    path = runs["large path"]
    found = toll.report(path, tmp_path / "page.html")
    assert found.to_dict() == toll_command("report", path, "--json")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == found.html
    assert found.html.startswith("<!DOCTYPE html>")
    last = runs["large"][-1]
    assert found.summary.target == last.target and found.summary.end == last.end
    assert found.findings == [one["sentence"] for one in found.to_dict()["runs"][0]["findings"]]
    assert repr(found).startswith("<Report large: ")
    assert [one["run"] for one in found.to_dict()["history"]] == [1, 2, 3]


def test_report_of_a_block(tmp_path):
    with toll.track(name="<b>block</b>", interval=0.005) as t, t.phase("load"):
        frames(t, 12)
    found = t.summary.report(tmp_path / "page.md")
    assert found.summary.cpu_seconds == t.summary.cpu_seconds
    assert found.summary.peak_memory == t.summary.peak_memory
    assert [one.name for one in found.summary.phases] == ["load"]
    document = found.to_dict()["runs"][0]
    assert document["samples"] == len(t.frames)
    memory = next(one for one in document["charts"] if one["name"] == "memory")
    drawn = t.frames.plot("memory", backend="svg").to_dict()["charts"][0]
    assert memory["series"][0]["max"] == drawn["series"][0]["max"]
    assert "<b>block" not in found.html and "&lt;b&gt;block" in found.html
    assert "measured for" in str(found) and "still running" not in str(found)
    html = found._repr_html_()
    assert html.startswith('<iframe sandbox="allow-scripts" srcdoc="&lt;!DOCTYPE')
    assert html.count("<") == 2  # nothing of the page is markup outside of the frame
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == found._repr_markdown_() == found.markdown
    assert toll.report(t).summary.cpu_seconds == t.summary.cpu_seconds


def test_reports_choose_runs(runs):
    assert toll.report(runs["place"], name="small").summary.name == "small"
    first = runs["small"][0].to_dict()["id"]
    assert toll.report(runs["place"], run=first[-12:]).summary.to_dict()["id"] == first
    assert toll.report(runs["small path"], run=1).summary.to_dict()["id"] == first
    assert len(toll.report(runs["place"], all=True).to_dict()["runs"]) == 6


def test_mistakes_in_a_report(runs, tmp_path):
    path = runs["small path"]
    for run in (True, 1.5):
        with pytest.raises(TypeError, match="run: invalid value"):
            toll.report(path, run=run)
    with pytest.raises(ValueError, match="run: invalid value 0"):
        toll.report(path, run=0)
    with pytest.raises(FileNotFoundError, match="none of 3 runs"):
        toll.report(path, run=9)
    with pytest.raises(FileNotFoundError):
        toll.report(tmp_path / "none.jsonl")
    with pytest.raises(ValueError, match=r"save: cannot write 'x\.png': expected "):
        toll.report(path, "x.png")


# ---- compare ------------------------------------------------------------------------------------


def test_compare_is_what_the_command_finds(runs):
    paths = [runs["small path"], runs["large path"]]
    compared = toll.compare(*paths, fail_if=["memory_peak > +5%", "time > 1h"])
    words = ["--fail-if", "memory_peak > +5%", "--fail-if", "time > 1h", "--json"]
    assert compared.to_dict() == toll_command("compare", *paths, *words)
    assert compared.verdict == compared.to_dict()["comparisons"][0]["sentence"]
    assert repr(compared) == f"<Comparison {compared.verdict} (1 condition failed)>"
    assert [one.state for one in compared.conditions] == ["failed", "passed"]
    assert not compared.passed and len(compared.failures) == 1
    assert "memory_peak" in compared.failures[0]


def test_summaries_compare_as_their_records_do(runs):
    by_path = toll.compare(runs["small path"], runs["large path"])
    by_summary = toll.compare(runs["small"], runs["large"])
    for name in ("wall_seconds", "cpu_seconds", "memory_peak_bytes", "storage_read_bytes"):
        one, other = by_path[name], by_summary[name]
        assert (one.result, one.change, one.interval) == (other.result, other.change, other.interval)
        assert one.baseline.quality == other.baseline.quality
    wall = by_summary["wall_seconds"]
    expected = [sum(s.wall_seconds for s in runs[key]) / 3 for key in ("small", "large")]
    assert [wall.baseline.mean, wall.group.mean] == pytest.approx(expected)
    assert wall.change == pytest.approx(expected[1] - expected[0])
    assert wall.change_ratio == pytest.approx(expected[1] / expected[0] - 1)
    assert wall.interval.low <= wall.change <= wall.interval.high
    assert [group.name for group in by_summary.groups] == ["small", "large"]
    assert not os.path.exists(by_summary.groups[0].group)  # it was written for the comparison alone


def test_a_change_shows_itself(runs):
    compared = toll.compare(runs["small"][0], runs["large"][0])
    memory = compared["memory_peak_bytes"]
    assert memory.result in ("one run each", "lower bound") and not memory.is_shown
    assert memory.interval is None
    assert repr(memory).startswith("<Change memory_peak_bytes: ")
    assert repr(memory).endswith(f", {memory.result}>")
    assert compared.differences == []
    assert memory in compared.changes
    with pytest.raises(KeyError, match="figure 'colour': not compared"):
        compared["colour"]


def test_blocks_compare_with_their_phases():
    tracks = []
    for name in ("before", "after"):
        with toll.track(name=name, interval=0.01) as t, t.phase("load"):
            pass
        tracks.append(t)
    compared = toll.compare(*tracks)
    phases = {(one.figure, one.phase) for one in compared.changes}
    assert ("wall_seconds", "load") in phases and ("wall_seconds", None) in phases
    assert "of phase load" in repr([one for one in compared.changes if one.phase])


def test_groups_by_name(runs):
    compared = toll.compare("name=small", "name=large", within=runs["place"])
    assert [len(group.runs) for group in compared.groups] == [3, 3]
    three = toll.compare("name=small", "name=large", runs["small"], within=str(runs["place"]))
    assert len(three.groups) == 3 and len(three.verdict.splitlines()) == 2


def test_forms_of_a_comparison(runs, tmp_path):
    compared = toll.compare(runs["small"], runs["large"])
    assert " ".join(str(compared).split()).startswith(compared.verdict)
    assert compared._repr_markdown_().startswith("**")
    html = compared._repr_html_()
    assert html.startswith('<iframe sandbox="allow-scripts" srcdoc="&lt;!')
    assert "<style" not in html  # it stays in the frame
    for suffix in ("html", "md", "json", "txt"):
        compared.save(tmp_path / f"c.{suffix}")
    assert json.loads((tmp_path / "c.json").read_text()) == compared.to_dict()
    assert (tmp_path / "c.txt").read_text() == str(compared)
    with pytest.raises(ValueError, match=r"save: cannot write '.*c\.png': expected \.html, "):
        compared.save(tmp_path / "c.png")
    assert pickle.loads(pickle.dumps(compared)).to_dict() == compared.to_dict()


def test_mistakes_in_a_comparison(runs, tmp_path):
    path = runs["small path"]
    with pytest.raises(ValueError, match="compare: one group of runs"):
        toll.compare(path)
    with pytest.raises(TypeError, match="runs: invalid value 3"):
        toll.compare(path, 3)
    with pytest.raises(TypeError, match="compare: invalid run None"):
        toll.compare(path, [None])
    with pytest.raises(TypeError, match="compare: invalid group"):
        toll.compare(path, [path, path])
    with pytest.raises(FileNotFoundError):
        toll.compare(path, tmp_path / "none.jsonl")
    with pytest.raises(ValueError, match="condition 'memry > 3': unknown figure"):
        toll.compare(path, path, fail_if="memry > 3")


# ---- recommend ----------------------------------------------------------------------------------


def test_recommend_is_what_the_command_finds(runs):
    found = toll.recommend(runs["place"], name="large")
    assert found.to_dict() == toll_command("recommend", runs["place"], "--name", "large", "--json")
    job = found.to_dict()["jobs"][0]
    assert found.cpus == job["cpus"]["request"]
    assert found.memory_bytes == job["memory"]["request_bytes"]
    assert found.seconds == job["time"]["request_seconds"] == 900
    assert found.gpus == job["gpus"]["request"]
    assert not found.weak and found.jobs[0].runs == 3
    assert max(s.peak_memory for s in runs["large"]) <= found.memory_bytes
    assert repr(found).startswith("<Recommendation large: 1 CPU, ")
    assert repr(found).endswith(", 15m 00s, 3 runs>")


def test_several_jobs(runs):
    found = toll.recommend(runs["place"])
    assert [job.name for job in found.jobs] == ["large", "small"]
    assert "large: " in repr(found) and "; small: " in repr(found)
    with pytest.raises(ValueError, match=r"recommend: runs of 2 names \('large', 'small'\): choose one"):
        found.cpus  # noqa: B018


def test_recommend_of_summaries(runs):
    found = toll.recommend(runs["large"])
    assert (found.jobs[0].name, found.jobs[0].runs) == ("large", 3)
    weak = toll.recommend(run(5, "one"))
    assert weak.weak and repr(weak).endswith(", weak: 1 run>")
    assert weak.jobs[0].lower_bounds == [
        key for key in ("cpus", "memory", "time") if weak.to_dict()["jobs"][0][key]["lower_bound"]
    ]


def test_lines_to_paste(runs):
    found = toll.recommend(runs["large path"])
    assert "#SBATCH --cpus-per-task=1\n" in found.lines("sbatch")
    for tool in "kubernetes docker systemd nextflow snakemake cwl condor".split():
        assert found.lines(tool)
    with pytest.raises(ValueError, match="lines: invalid tool 'slurm' .expected one of sbatch, "):
        found.lines("slurm")
    assert str(found).startswith("Ask for 1 CPU, ")
    assert found._repr_html_().startswith("<pre")


def test_labels_choose(tmp_path):
    for branch in ("main", "new"):
        toll.run(["true"], name="job", labels={"branch": branch}, outputs=tmp_path / f"{branch}.jsonl")
    assert toll.recommend(tmp_path).jobs[0].runs == 2
    for labels in ({"branch": "main"}, "branch=main", ["branch=main", "branch"], {"branch": "main"}):
        assert toll.recommend(tmp_path, labels=labels).jobs[0].runs == 1


def test_what_cannot_be_read(tmp_path):
    with pytest.raises(FileNotFoundError):
        toll.recommend(tmp_path / "none")
    with pytest.raises(OSError, match="no records in"):
        toll.recommend(tmp_path)
    (tmp_path / "bad.jsonl").write_text("no record\n")
    toll.run(["true"], name="job", outputs=tmp_path / "good.jsonl")
    found = toll.recommend(tmp_path)
    assert found.jobs[0].runs == 1
    assert len(found.notes) == 1 and "bad.jsonl" in found.notes[0]
