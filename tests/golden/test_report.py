# SPDX-License-Identifier: MIT
"""Reports of recorded runs: whole pages without network or foreign markup, the same whether they are
made with the record or from it."""

import base64
import hashlib
import html.parser
import json
import pathlib
import random
import re
import unicodedata
import xml.dom.minidom

import jsonschema
import packed
import pytest

import recorded
from test_export import record_of, toll
from test_list import toll as list_toll
from test_list import write

VOID = {"meta", "br", "hr", "img", "input", "link"}
KEYS = set(re.findall(r"^\| `([a-z-]+)` \|", (recorded.TOP / "docs/report.md").read_text(), re.M))


class Page(html.parser.HTMLParser):
    """The elements of a page, each closed in its order, and its text."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.attributes, self.text = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID and not self.get_starttag_text().endswith("/>"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, tag

    def handle_data(self, data):
        self.text.append(data)


def scripts_of(text):
    """The data of the charts, after checking that the only script is the one the policy allows."""
    policy = re.search(r'<meta http-equiv="Content-Security-Policy" content="(.*?)">', text)[1]
    assert policy.startswith("default-src 'none'; ")
    elements = re.findall(r"<script([^>]*)>(.*?)</script>", text, re.S)
    assert text.count("<script") == len(elements)
    data = [json.loads(body) for kind, body in elements if "application/json" in kind]
    code = [body for kind, body in elements if not kind]
    assert len(data) + len(code) == len(elements)
    hashes = [base64.b64encode(hashlib.sha256(body.encode()).digest()).decode() for body in code]
    assert re.findall(r"'sha256-(.*?)'", policy) == hashes and len(hashes) <= 1
    return data


def page_of(path):
    text = path.read_text()
    assert text.startswith("<!DOCTYPE html>") and text.endswith("</html>\n")
    return Page(text)


@pytest.mark.parametrize("run", recorded.RUNS)
def test_a_whole_page(run, tmp_path):
    record = record_of(run, tmp_path, *recorded.RUNS[run])
    outputs = [word for name in ("r.html", "r.md", "r.svg") for word in ("-o", tmp_path / name)]
    assert toll("export", record, *outputs).returncode == 0
    page = page_of(tmp_path / "r.html")
    scripts_of((tmp_path / "r.html").read_text())
    assert "iframe" not in page.tags
    assert not [a for a in page.attributes if a[1] in ("src", "href") or a[1].startswith("on")]
    assert {value for _, name, value in page.attributes if name == "data-finding"} <= KEYS
    assert all(value for tag, name, value in page.attributes if (tag, name) == ("svg", "aria-label"))
    words = " ".join(page.text)
    assert "nan" not in words.lower().split() and "inf" not in words.split()
    assert "≥" not in [text.strip() for text in page.text], "a bound without a figure"
    text = (tmp_path / "r.html").read_text()
    assert not re.search(r"</th></tr>\s*<tr><th class=\"lead\"[^>]*>Others", text), "others than none"
    peak = re.search(r"<dt>Peak memory</dt><dd>(.*?)<", text)
    for used in re.findall(r"Memory, peak<small>machine<.*?<td class=\"n\">(.*?) of ", text, re.S):
        assert used == peak[1]
    xml.dom.minidom.parse(str(tmp_path / "r.svg"))
    assert (tmp_path / "r.md").read_text().startswith("### ")


def test_a_machine_without_a_job(tmp_path):
    """The answer is what the machine did; nothing is judged, and so nothing stands out or does not."""
    record = record_of("machine-server", tmp_path, *recorded.RUNS["machine-server"])
    assert toll("export", record, "-o", tmp_path / "r.html").returncode == 0
    words = " ".join(page_of(tmp_path / "r.html").text)
    text = toll("report", record).stdout.decode()
    for shown in (words, text):
        assert "Cores busy" in shown and "Memory in use" in shown and "Load" in shown
        assert "Findings" not in shown and "stands out" not in shown
    assert re.search(r"Memory in use *6\.68 GiB", text), text


def test_with_the_record_and_from_it(tmp_path):
    """The page of a run, and of its record."""
    done = toll("replay", "-q", "-o", tmp_path / "live.html", "-o", tmp_path / "run.jsonl",
                recorded.fixture_of("marks"))
    assert (done.returncode, done.stderr) == (0, b"")
    assert toll("export", tmp_path / "run.jsonl", "-o", tmp_path / "again.html").returncode == 0
    assert (tmp_path / "again.html").read_text() == (tmp_path / "live.html").read_text()


def test_every_finding_is_documented():
    source = "".join((recorded.TOP / f"src/sink/report/{name}.c").read_text()
                     for name in ("findings", "job"))
    calls = re.findall(r"finding_add\((.*?)\)", source, re.S)
    assert KEYS == {key for call in calls for key in re.findall(r'"([a-z-]+)"', call)}


# ---- toll report ---------------------------------------------------------------------------------

EXPECTED = pathlib.Path(__file__).parent / "expected/report.txt"


@pytest.fixture(scope="module")
def builds(tmp_path_factory):
    """A directory with five builds and another run; the second build failed, the third lacks its
    memory, and of the fourth it is a lower bound of CPU time."""
    where = tmp_path_factory.mktemp("builds")
    done = recorded.replay(recorded.fixture_of("marks"), "-q", "-o", where / "live.jsonl")
    assert done.returncode in (0, 3, 7), done.stderr
    pattern = [json.loads(line) for line in (where / "live.jsonl").read_text().splitlines()]
    (where / "live.jsonl").unlink()
    runs = where / "runs"
    runs.mkdir()
    write(runs / "a.jsonl", pattern, hours=50, name="build", number=1, wall=100.0, cpu=50.0)
    write(runs / "a.jsonl", pattern, hours=40, name="build", number=2, wall=10.0, cpu=5.0,
          end=("exited", 2), add=True)
    write(runs / "b.jsonl", pattern, hours=30, name="build", number=3, wall=110.0, memory=None)
    write(runs / "c.jsonl", pattern, hours=20, name="build", number=4, wall=1500.0,
          quality="lower bound")
    write(runs / "c.jsonl", pattern, hours=15, name="test", number=5, add=True)
    write(runs / "d.jsonl", pattern, hours=10, name="build", number=6, wall=110.05, cpu=33.0,
          memory=3 * 2**29, end=("signaled", 9))
    (runs / "no-record.jsonl").write_text("hello\n")
    return where


def report(where, *words, columns=80, locale="C.UTF-8"):
    status, out, err = list_toll("report", *words, columns=columns, locale=locale, cwd=where)
    assert status == 0, err
    return out


def test_reports_of_several_runs(builds, request):
    """Text in three widths and in ASCII, and Markdown."""
    texts = [(f"{columns}-columns", report(builds, "runs", columns=columns)) for columns in (60, 80, 120)]
    texts += [("ascii", report(builds, "runs", locale="C")),
              ("colours", report(builds, "--color", "always", "runs", "--name", "test").replace("\x1b", "<")),
              ("markdown", report(builds, "-f", "markdown", "runs")),
              ("all", report(builds, "-f", "markdown", "--all", "runs/a.jsonl"))]
    for name, text in texts:
        if name != "markdown" and name != "all" and name != "colours":
            width = int(name.split("-")[0]) if name != "ascii" else 80
            assert [line for line in text.splitlines() if columns_of(line) > width] == []
    assert texts[3][1].isascii()
    now = {name: text.encode() for name, text in texts}
    if request.config.getoption("update"):
        packed.write(EXPECTED, now)
    assert now == packed.read(EXPECTED)


def test_an_overview_of_several_jobs_has_their_names(builds):
    for columns in (60, 80, 120):
        rows = report(builds, "--all", "runs", columns=columns).split("\n\n")[0].splitlines()[2:]
        assert {"build", "test"} <= {row.split()[0 if columns == 60 else -1] for row in rows}, rows
        assert all(columns_of(row) <= columns for row in rows)
        one = report(builds, "--all", "--name", "build", "runs", columns=columns).split("\n\n")[0]
        assert "build" not in one


def test_overview_begins_with_its_heading(builds):
    assert report(builds, "--all", "runs/a.jsonl").startswith("Runs, with the change")


def columns_of(line):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def test_json_is_what_the_schema_has(builds):
    schema = json.loads((recorded.TOP / "docs/schema/report.schema.json").read_text())
    summary = json.loads((recorded.TOP / "docs/schema/summary.schema.json").read_text())
    document = json.loads(report(builds, "--json", "runs"))
    jsonschema.Draft202012Validator(schema).validate(document)
    [run] = document["runs"]
    jsonschema.Draft202012Validator(summary).validate(run["summary"])
    assert run["summary"]["name"] == "build" and run["summary"]["end"]["signal"] == 9
    history = document["history"]
    assert [past["id"][-1] for past in history] == ["1", "2", "3", "4", "6"]
    assert [past["ended"] for past in history] == ["exit 0", "exit 2", "exit 0", "exit 0", "SIGKILL"]
    assert [past["wall_seconds"]["change"] for past in history[:3]] == [None, -0.9, 10]
    assert history[2]["memory_peak_bytes"] == {"value": None, "quality": "unknown", "change": None}
    assert history[4]["cpu_seconds"]["change"] is None  # the one before is a lower bound
    every = json.loads(report(builds, "--json", "--all", "runs"))
    jsonschema.Draft202012Validator(schema).validate(every)
    assert [run["summary"]["id"][-1] for run in every["runs"]] == ["6", "5", "4", "3", "2", "1"]


def test_runs_are_chosen(builds):
    def chosen(*words):
        return [run["summary"]["id"][-1] for run in json.loads(report(builds, "--json", *words))["runs"]]

    assert chosen("runs") == ["6"]
    assert chosen("runs/a.jsonl") == ["2"]
    assert chosen("runs/a.jsonl", "--run", "1") == ["1"]
    assert chosen("runs", "--run", "b144-000000000004") == ["4"]
    assert chosen("runs", "--name", "te*") == ["5"]
    assert chosen("--all", "runs/c.jsonl", "runs/a.jsonl", "runs/a.jsonl") == ["5", "4", "2", "1"]
    status, out, err = list_toll("report", "runs", "--name", "nothing", cwd=builds)
    assert (status, out) == (125, "") and "none of 6 runs in " in err
    status, out, err = list_toll("report", "nowhere.jsonl", cwd=builds)
    assert (status, out) == (125, "") and "nowhere.jsonl" in err
    status, out, err = list_toll("report", "runs", "-o", "x.xyz", cwd=builds)
    assert status == 125 and "unknown suffix" in err
    before = (builds / "runs/a.jsonl").read_bytes()
    status, out, err = list_toll("report", "runs/a.jsonl", "-f", "html", "-o", "runs/../runs/a.jsonl",
                                 cwd=builds)
    assert status == 125 and "it is the record being read" in err
    for words in ([], ["."], ["../runs", "b.jsonl"]):  # nor one of a directory
        status, out, err = list_toll("report", *words, "-f", "json", "-o", "a.jsonl", cwd=builds / "runs")
        assert status == 125 and "it is the record being read" in err
    assert (builds / "runs/a.jsonl").read_bytes() == before


def test_pages_of_several_runs(builds, tmp_path):
    one, every = tmp_path / "one.html", tmp_path / "all.html"
    report(builds, "runs", "-o", one, "-o", tmp_path / "one.md")
    report(builds, "runs", "--all", "-o", every)
    page = page_of(one)
    words = " ".join(page.text)
    assert "Earlier runs of this name" in words and "OOM" not in words and "(this run)" in words
    assert page.tags.count("article") == 1
    assert page.tags.count("main") == 1
    page = page_of(every)
    assert page.tags.count("article") == 6
    ids = [value for _, name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    links = [value for tag, name, value in page.attributes if (tag, name) == ("a", "href")]
    assert len(links) == 6 and {link[1:] for link in links} <= set(ids)
    assert (tmp_path / "one.md").read_text().startswith("### build")


def test_a_day_of_noise_is_small_and_keeps_its_peaks(tmp_path):
    """A day at a second, of which nothing repeats: eight GPUs, the machine, phases, processes. The page
    stays below 2 MB, and the one sample of each figure that is above all others is in its chart."""
    seconds, at = 86400, 54321
    drawn = random.Random(1)
    noise = [drawn.random() for _ in range(10007)]
    sample = ('{"type":"sample","tick":%d,"elapsed_seconds":%d,"interval_seconds":1,"target":{"combined":{'
              '"cpu_seconds":%d,"cpu_cores":%.6f,"memory_rss_bytes":%d,"memory_pss_bytes":%d,'
              '"memory_shared_bytes":%d,"memory_swap_bytes":%d,"storage_read_bytes":%d,'
              '"storage_written_bytes":%d,"network_received_bytes":%d,"network_sent_bytes":%d,"threads":%d,'
              '"processes":%d}},"system":{"cpu_cores":%.6f,"memory_used_bytes":%d,"power_watts":%.3f},"gpus":[%s]}\n')
    gpu = '{"name":"%d","utilization_ratio":%.4f,"memory_used_bytes":%d,"power_watts":%.3f}'
    record = tmp_path / "day.jsonl"
    with record.open("w") as f:
        f.write(json.dumps({"type": "run", "schema": "toll.record/1", "name": "day", "command": ["day"], "pid": 5,
                            "start": "2026-11-07T17:20:00.000Z", "cpus": 64}) + "\n")
        for t in range(1, seconds + 1):
            x = [noise[(t * 31 + k * 977) % 10007] + (1 if t == at else 0) for k in range(8)]
            f.write(sample % (t, t, 16 * t, 32 * x[0], 64e9 * x[1], 32e9 * x[2], 8e9 * x[3] / 2, 4e9 * x[4],
                              t * 50e6 + 1e7 * x[5], t * 20e6 + 1e6 * x[6], t * 9e6 + 4e6 * x[7],
                              t * 3e6 + 2e6 * x[0], 400 * x[1], 200 * x[2], 64 * x[3], 99e9 * x[4], 400 * x[5],
                              ",".join(gpu % (k, x[k] / 2, 80e9 * x[k] / 2, 350 * x[k]) for k in range(8))))
        for i in range(200):
            f.write(json.dumps({"type": "phase", "elapsed_seconds": 400 * i + 300, "name": f"phase {i}", "pid": 5,
                                "attributes": {}, "begin_seconds": 400 * i, "end_seconds": 400 * i + 300,
                                "ended": True, "of": "target", "looks": 0, "figures": {}}) + "\n")
            f.write(json.dumps({"type": "process", "pid": 100 + i, "parent": 5, "name": f"worker {i}",
                                "elapsed_seconds": 400 * i + 390, "wall_seconds": 380, "cpu_seconds": 1 + i}) + "\n")
    done = toll("report", "day.jsonl", "-o", "day.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "day.html").stat().st_size < 2e6
    # How many processes there were is unknown, so those of a program are a lower bound.
    assert set(re.findall(r'data-is="processes">(\S+) ', (tmp_path / "day.html").read_text())) == {"≥"}
    done = toll("report", "day.jsonl", "-o", "day.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    run = json.loads((tmp_path / "day.json").read_text())["runs"][0]
    charts = {chart["name"]: chart["series"] for chart in run["charts"]}
    gauges = [s for name in ("cpu", "memory", "gpu", "gpu_memory", "gpu_power", "machine_cpu") for s in charts[name]]
    assert len(gauges) >= 4 + 8 * 3
    for series in gauges:
        assert max(filter(None, series["max"])) == series["peak"], series["name"]
        if not series["name"].startswith("anonymous"):
            assert series["peak_at_seconds"] == pytest.approx(at, abs=1), series["name"]
