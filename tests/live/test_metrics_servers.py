# SPDX-License-Identifier: MIT
"""Real servers on loopback: Prometheus, VictoriaMetrics, Pushgateway, the node exporter. What they
say when asked is what the record of the same run has, to the digit."""
import contextlib
import datetime
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest
from hostlib import needs

import livelib
import sinklib
from sinklib import free_port

JOB = ["sh", "-c", "i=0; while [ $i -lt 15 ]; do i=$((i+1)); sleep 0.05; done; exit 3"]


def fetch(url, headers=None):
    request = urllib.request.Request(url, headers=headers or {})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return answer.read().decode()


def wait_for(question, seconds=60):
    """The first answer that is something."""
    until = time.monotonic() + seconds
    while True:
        with contextlib.suppress(urllib.error.URLError, ConnectionError, FileNotFoundError,
                                 socket.timeout):
            answer = question()
            if answer:
                return answer
        assert time.monotonic() < until, "the server does not come to it"
        time.sleep(0.05)


@contextlib.contextmanager
def daemon(command, ready):
    """A server as long as it is needed; ready: a URL that answers when it is up."""
    with tempfile.TemporaryFile() as log:
        p = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                             start_new_session=True)
        try:
            def is_up():
                if p.poll() is not None:
                    log.seek(0)
                    raise AssertionError(log.read().decode()[-2000:])
                return fetch(ready) or True
            wait_for(is_up)
            yield p
        finally:
            if p.poll() is None:
                p.send_signal(signal.SIGTERM)
                try:
                    p.wait(20)
                except subprocess.TimeoutExpired:
                    p.kill()
                    p.wait()


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory):
    directory = tmp_path_factory.mktemp("prometheus")
    port, scraped = free_port(), free_port()
    (directory / "prometheus.yml").write_text(
        "global: {scrape_interval: 500ms, scrape_timeout: 500ms}\n"
        "scrape_configs:\n"
        "- job_name: toll\n"
        "  honor_labels: true\n"
        f"  static_configs: [{{targets: ['127.0.0.1:{scraped}']}}]\n")
    url = f"http://127.0.0.1:{port}"
    with daemon(["prometheus", f"--config.file={directory}/prometheus.yml",
                 f"--storage.tsdb.path={directory}/data", "--web.enable-remote-write-receiver",
                 f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"], url + "/-/ready"):
        yield url, scraped, directory / "data"


@pytest.fixture
def has_http(here):
    status, _, err = here.call([here.toll, "run", "-q", "-o",
                                "prometheus:http://127.0.0.1:9/,grace=0s,spool=none", "--", "true"])
    if b"libcurl" in err:
        pytest.skip("this toll has no HTTP")


def milliseconds(text):
    moment = datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ")
    return round((moment - datetime.datetime(1970, 1, 1)).total_seconds() * 1000)


def record_of(path, metric, part="combined"):
    """[(ms, value)] of a target's metric, with the times that are sent: they rise, so that of two
    samples within a millisecond the later one is a millisecond late."""
    found, last = [], 0
    for s in livelib.records(path, "sample"):
        last = max(milliseconds(s["time"]), last + 1)
        if s["target"][part][metric] is not None:
            found.append((last, s["target"][part][metric]))
    return found


def ask(url, selector, first_ms, last_ms):
    """All samples of the one series that a selector finds, as a server of Prometheus' API has
    them: [(ms, value)]."""
    span = (last_ms - first_ms) // 1000 + 3
    query = urllib.parse.urlencode({"query": f"{selector}[{span}s]", "time": last_ms / 1000 + 1})
    answer = json.loads(fetch(f"{url}/api/v1/query?{query}"))
    assert answer["status"] == "success"
    series = answer["data"]["result"]
    if not series:
        return []
    assert len(series) == 1, [s["metric"] for s in series]
    return [(round(t * 1000), float(v)) for t, v in series[0]["values"]]


CHECKED = {
    "toll_target_cpu_seconds_total": "cpu_seconds",
    "toll_target_wall_seconds_total": "wall_seconds",
    "toll_target_memory_rss_bytes": "memory_rss_bytes",
    "toll_target_threads": "threads",
    "toll_target_faults_minor_total": "faults_minor",
}


def id_of(record):
    (run,) = livelib.records(record, "run")
    return run["id"]


def check_served(url, name, record):
    """What the server has of a run is what the record has."""
    run_id = id_of(record)
    times = [ms for ms, _ in record_of(record, "wall_seconds")]
    for series, metric in CHECKED.items():
        for part in ("combined", "main"):
            expected = record_of(record, metric, part)
            selector = f'{series}{{run="{name}",id="{run_id}",scope="{part}"}}'
            got = wait_for(lambda: len(ask(url, selector, times[0], times[-1])) >= len(expected)
                           and ask(url, selector, times[0], times[-1]))
            assert got == expected, (series, part)


def run_to(here, destination, name, interval="100ms"):
    record = here.path(name.replace("/", "-") + ".jsonl")
    r = here.run(JOB, ["-i", interval, "-o", sinklib.patient(destination), "-o", record, "--name", name])
    assert r.status == 3, r.err
    (output, *_) = r.summary["outputs"]
    assert output["complete"], output
    assert output["delivered"] == output["samples"]
    return record


def run_two_at_once(here, destination, name):
    """Two commands of one name on one machine, each of which ends only after both have been sampled
    for a while. Their records."""
    both, records = [], []
    for own, other in (("one", "two"), ("two", "one")):
        records.append(here.path(f"{name}-{own}.jsonl"))
        job = (f"sleep 0.4; touch {name}-{own}; "
               f"until [ -e {name}-{other} ]; do sleep 0.05; done; sleep 0.2")
        both.append(here.popen([here.toll, "run", "-q", "-i", "50ms", "--name", name,
                                "--summary-to", here.path(f"{own}.json"),
                                "-o", sinklib.patient(destination), "-o", records[-1],
                                "--", "sh", "-c", job]))
    for p in both:
        assert p.wait(livelib.GUARD) == 0
    for own in ("one", "two"):
        (output, *_) = json.loads(here.path(f"{own}.json").read_text())["outputs"]
        assert output["complete"] and output["delivered"] == output["samples"], output
    spans = [(times[0], times[-1]) for times in
             ([ms for ms, _ in record_of(r, "wall_seconds")] for r in records)]
    assert max(s[0] for s in spans) < min(s[1] for s in spans), "they ran at the same time"
    assert id_of(records[0]) != id_of(records[1])
    return records


@needs("prometheus")
def test_what_was_put_aside_for_prometheus(here, has_http, prometheus):
    """Away for longer than the grace; then all points are there, and those of the spool once."""
    url, _, _ = prometheus
    spool, name = here.path("kept.spool"), "spooled"
    r = here.run(JOB, ["-i", "50ms", "-o", f"prometheus:http://127.0.0.1:9/,every=50ms,grace=100ms,"
                       f"spool={spool}", "-o", here.path("run.jsonl"), "--name", name])
    assert r.status == 3 and r.summary["outputs"][0]["kept"] == r.summary["outputs"][0]["samples"]
    status, out, err = here.call([here.toll, "resend", spool, f"prometheus:{url}/api/v1/write"])
    assert status == 0 and not spool.exists(), err
    check_served(url, name, here.path("run.jsonl"))


@needs("prometheus")
def test_two_runs_of_one_name_in_prometheus(here, has_http, prometheus):
    url, _, _ = prometheus
    records = run_two_at_once(here, f"prometheus:{url}/api/v1/write,every=100ms", "python")
    for record in records:
        check_served(url, "python", record)
    # … and are put together again by the question of the document.
    (together,), *_ = documented_queries()
    assert 'run="train"' in together
    moment = min(record_of(record, "cpu_seconds")[-1][0] for record in records)
    ((labels, total),) = query(url, together.replace('run="train"', 'run="python"'), moment)
    rates = query(url, 'rate(toll_target_cpu_seconds_total{run="python",scope="combined"}[1m])',
                  moment)
    assert "id" not in labels and labels["run"] == "python"
    assert {found["id"] for found, _ in rates} == {id_of(record) for record in records}
    assert total == pytest.approx(sum(rate for _, rate in rates)) and total > 0


@needs("prometheus-pushgateway")
def test_two_runs_of_one_name_in_a_pushgateway(here, has_http):
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with daemon(["prometheus-pushgateway", f"--web.listen-address=127.0.0.1:{port}",
                 "--persistence.file=", "--log.level=error"], url + "/-/ready"):
        records = run_two_at_once(here, f"pushgateway:{url},every=50ms", "python")
        groups = json.loads(fetch(url + "/api/v1/metrics"))["data"]
        assert {g["labels"]["id"] for g in groups} == {id_of(r) for r in records}
        text = fetch(url + "/metrics")
        for record in records:
            own = "\n".join(line for line in text.splitlines() if f'id="{id_of(record)}"' in line)
            check_newest(own, record, "python")
        # Without it, the next run takes the place of the one before.
        for _ in range(2):
            assert here.run(["true"], ["--name", "alone", "-o",
                                       f"pushgateway:{url},id=no,grace=60s"]).status == 0
        groups = json.loads(fetch(url + "/api/v1/metrics"))["data"]
        (alone,) = [g for g in groups if g["labels"]["run"] == "alone"]
        assert "id" not in alone["labels"]


@needs("prometheus")
def test_remote_write_to_prometheus(here, has_http, prometheus):
    url, _, _ = prometheus
    record = run_to(here, f"prometheus:{url}/api/v1/write,every=200ms", "written")
    check_served(url, "written", record)
    # Its end is marked: it is gone at once, not after five minutes.
    last = record_of(record, "wall_seconds")[-1][0]
    query = urllib.parse.urlencode({"query": 'toll_target_threads{run="written"}',
                                    "time": last / 1000 + 0.5})
    assert json.loads(fetch(f"{url}/api/v1/query?{query}"))["data"]["result"] == []
    # … and how it ended is not.
    query = urllib.parse.urlencode({"query": 'toll_run_exit_code{run="written"}',
                                    "time": last / 1000 + 0.5})
    (series,) = json.loads(fetch(f"{url}/api/v1/query?{query}"))["data"]["result"]
    assert series["value"][1] == "3"


def documented_queries():
    """What docs/outputs.md says one can ask: of several runs of a name, of one that goes on, those that
    look back, and whether a run is over; with those within the text."""
    text = (pathlib.Path(__file__).parents[2] / "docs/outputs.md").read_text()
    blocks = re.findall(r"^```promql\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    together, now, back, over = (block.splitlines() for block in blocks)
    return together, now, back, over + re.findall(r"`(last_over_time\(.*?\))`", text)


def query(url, text, time_ms):
    words = urllib.parse.urlencode({"query": text, "time": time_ms / 1000})
    answer = json.loads(fetch(f"{url}/api/v1/query?{words}"))
    assert answer["status"] == "success", text
    return [(series["metric"], float(series["value"][1])) for series in answer["data"]["result"]]


@needs("prometheus")
def test_the_documented_queries(here, has_http, prometheus):
    url = prometheus[0]
    record = run_to(here, f"prometheus:{url}/api/v1/write,every=100ms", "train")
    check_served(url, "train", record)
    _, now, back, over = documented_queries()
    memory, cpu, written = (record_of(record, metric) for metric in (
        "memory_rss_bytes", "cpu_seconds", "storage_written_bytes"))
    rate, last = (query(url, text, memory[-1][0]) for text in now)
    assert [value > 0 for labels, value in rate if labels == {"run": "train"}] == [True]
    assert [value for _, value in last] == [memory[-1][1]]
    later = cpu[-1][0] + 3600_000
    assert query(url, now[1], later) == [], "the run has ended"
    most, all_cpu, of_machines = (query(url, text, later) for text in back)
    assert [value for _, value in most] == [max(value for _, value in memory)]
    assert [value for _, value in all_cpu] == [cpu[-1][1]]
    ((labels, value),) = of_machines
    assert set(labels) == {"instance"} and value >= written[-1][1]

    def of_this_run(text, time_ms):
        return [value for labels, value in query(url, text, time_ms)
                if labels["id"] == id_of(record)]
    since, failed, failed_before = over
    at = cpu[-1][0] + 10_000
    (end,) = of_this_run("toll_run_end_time_seconds", at)
    assert of_this_run(since, at) == [pytest.approx(at / 1000 - end)] and at / 1000 - end > 5
    assert of_this_run(failed, at) == [3] and of_this_run(failed, later) == []
    assert of_this_run(failed_before, later) == [3]


@needs("prometheus")
def test_prometheus_refuses_what_is_too_old(here, has_http, prometheus):
    """The same times again are refused, which is final and told."""
    url, _, _ = prometheus
    path = "/api/v1/write"
    sent = []

    def forward(request):
        ask_real = urllib.request.Request(url + path, data=request["body"], method="POST")
        for name in ("Content-Type", "Content-Encoding", "X-Prometheus-Remote-Write-Version"):
            ask_real.add_header(name, request["headers"][name])
        try:
            with urllib.request.urlopen(ask_real, timeout=20) as answer:
                sent.append(answer.status)
        except urllib.error.HTTPError as e:
            return e.code, e.read(), {}
        # It was taken, and nobody hears of it: the next attempt is one too many.
        return "close" if len(sent) == 1 else (200, b"", {})

    with sinklib.Server(forward) as between:
        record = run_to(here, f"prometheus:{between.url}{path},every=200ms", "twice")
    assert len(sent) > 1
    check_served(url, "twice", record)


@needs("victoria-metrics")
def test_remote_write_to_victoria_metrics(here, has_http, tmp_path):
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with daemon(["victoria-metrics", f"-storageDataPath={tmp_path}", "-retentionPeriod=100y",
                 f"-httpListenAddr=127.0.0.1:{port}", "-loggerLevel=ERROR",
                 "-search.latencyOffset=0s", "-search.disableCache"], url + "/health"):
        records = run_two_at_once(here, f"prometheus:{url}/api/v1/write,every=200ms", "victoria")
        for record, (series, metric) in itertools.product(records, CHECKED.items()):
            selector = urllib.parse.quote(
                f'{series}{{run="victoria",id="{id_of(record)}",scope="main"}}')
            expected = record_of(record, metric, "main")

            def stored():
                fetch(url + "/internal/force_flush")
                text = fetch(f"{url}/api/v1/export?match[]={selector}")
                found = [(t, v) for line in map(json.loads, text.splitlines())
                         for t, v in zip(line["timestamps"], line["values"]) if v is not None]
                return len(found) >= len(expected) and sorted(found)
            assert wait_for(stored) == expected, series


@needs("victoria-metrics")
@pytest.mark.parametrize("options, copies", [([], 2), (["-dedup.minScrapeInterval=1ms"], 1)])
def test_an_answer_that_is_lost_and_victoria_metrics(here, has_http, tmp_path, options, copies):
    """It keeps what is sent again beside what it has, unless it is told not to."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    sent = []

    def forward(request):
        ask_real = urllib.request.Request(url + "/api/v1/write", data=request["body"], method="POST")
        for name in ("Content-Type", "Content-Encoding", "X-Prometheus-Remote-Write-Version"):
            ask_real.add_header(name, request["headers"][name])
        with urllib.request.urlopen(ask_real, timeout=20) as answer:
            sent.append(answer.status)
        return "close" if len(sent) == 1 else (204, b"", {})

    with daemon(["victoria-metrics", f"-storageDataPath={tmp_path}", "-retentionPeriod=100y",
                 f"-httpListenAddr=127.0.0.1:{port}", "-loggerLevel=ERROR", *options], url + "/health"):
        with sinklib.Server(forward) as between:
            record = run_to(here, f"prometheus:{between.url}/w,every=1h", "again")
        expected = record_of(record, "wall_seconds")
        words = urllib.parse.urlencode({
            "match[]": 'toll_target_wall_seconds_total{scope="combined"}',
            "end": expected[-1][0] / 1000 + 60})

        def stored():
            fetch(url + "/internal/force_flush")
            return sorted((t, v) for line in map(json.loads, fetch(
                f"{url}/api/v1/export?{words}").splitlines())
                for t, v in zip(line["timestamps"], line["values"]) if v is not None)
        assert wait_for(lambda: len(stored()) >= copies * len(expected) and stored()) == sorted(
            expected * copies)


@needs("victoria-metrics")
def test_requests_that_are_too_large_for_victoria_metrics(here, has_http, tmp_path):
    """It has a limit that can be set, and says so with 400."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with daemon(["victoria-metrics", f"-storageDataPath={tmp_path}", "-retentionPeriod=100y",
                 f"-httpListenAddr=127.0.0.1:{port}", "-loggerLevel=ERROR",
                 "-maxInsertRequestSize=5000"], url + "/health"):
        r = here.run(JOB, ["-i", "50ms", "-o", f"prometheus:{url}/api/v1/write,every=1h,grace=60s"])
    (output,) = r.summary["outputs"]
    assert output["complete"] and output["delivered"] == output["samples"] > 3, output


@needs("prometheus")
def test_scraped_by_prometheus(here, prometheus):
    url, port, _ = prometheus
    with here.popen([here.toll, "run", "-q", "-i", "50ms", "--name", "scraped",
                     "--summary-to", here.path("s.json"),
                     "-o", f"openmetrics::{port}", "-o", here.path("scraped.jsonl"),
                     "--", "sh", "-c", "until [ -e scraped ]; do sleep 0.1; done"]) as p:
        query = urllib.parse.urlencode({"query": 'toll_target_cpu_seconds_total{run="scraped"}[1m]'})

        def got():
            found = json.loads(fetch(f"{url}/api/v1/query?{query}"))["data"]["result"]
            return {s["metric"]["scope"]: {float(v) for _, v in s["values"]} for s in found}
        found = wait_for(got)
        here.path("scraped").touch()
        assert p.wait(livelib.GUARD) == 0
    assert set(found) == {"combined", "main", "descendants"}
    for part, values in found.items():
        assert values <= {v for _, v in record_of(here.path("scraped.jsonl"), "cpu_seconds", part)}
    endpoint, file = json.loads(here.path("s.json").read_text())["outputs"]
    assert (endpoint["way"], file["way"]) == ("scraped", "file")
    assert 1 <= endpoint["delivered"] <= endpoint["scrapes"]
    assert endpoint["samples"] == file["samples"] == file["delivered"]


@needs("promtool", "prometheus")
def test_backfill(here, prometheus):
    """A file with all samples, made into blocks, put under a server that runs: found by a query."""
    url, _, data = prometheus
    r = here.run(JOB, ["-i", "50ms", "-o", here.path("run.om"), "-o", here.path("run.jsonl"),
                       "--system", "--name", "filed"])
    assert r.status == 3 and r.summary["outputs"][0]["complete"]
    subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", here.path("run.om"),
                    data], check=True, capture_output=True)
    # A server finds new blocks once a minute by itself; one that starts finds them at once.
    port = free_port()
    other = f"http://127.0.0.1:{port}"
    copy = here.path("tsdb")
    copy.mkdir()
    for block in data.glob("01*"):
        shutil.copytree(block, copy / block.name)
    config = here.path("prometheus.yml")
    config.write_text("{}\n")
    with daemon(["prometheus", f"--config.file={config}", f"--storage.tsdb.path={copy}",
                 f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"], other + "/-/ready"):
        check_served(other, "filed", here.path("run.jsonl"))


@needs("promtool")
def test_a_file_that_was_cut_by_a_kill(here):
    """Whole lines, which load once the end is added."""
    with here.popen([here.toll, "run", "-q", "-i", "20ms", "-o", f"{here.path('run.om')},every=50ms",
                     "--", "sleep", "20"], start_new_session=True) as p:
        wait_for(lambda: here.path("run.om").stat().st_size > 20000)
        os.killpg(p.pid, signal.SIGKILL)
    text = here.path("run.om").read_text()
    assert text.endswith("\n") and "# EOF" not in text
    here.path("run.om").write_text(text + "# EOF\n")
    done = subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics",
                           here.path("run.om"), here.path("tsdb")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert list(here.path("tsdb").glob("01*"))


@needs("promtool", "prometheus-node-exporter")
def test_textfile_collector(here):
    directory = here.path("textfiles")
    directory.mkdir()
    directory.chmod(0o777)
    r = here.run(JOB, ["-i", "50ms", "-o", f"openmetrics:{directory}/toll.prom,every=50ms",
                       "-o", here.path("run.jsonl"), "--name", 'a "quoted\\" name', "--system",
                       "--label", "ü=8"])  # a name of no letters: the collector fell over "__"
    assert r.status == 3
    assert [f.name for f in directory.iterdir()] == ["toll.prom"], "nothing is left beside it"
    text = (directory / "toll.prom").read_text()
    lint = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True,
                          text=True)
    assert lint.returncode == 0 and not lint.stderr, lint.stdout + lint.stderr
    port = free_port()
    url = f"http://127.0.0.1:{port}/metrics"
    with daemon(["prometheus-node-exporter", "--collector.disable-defaults", "--collector.textfile",
                 f"--collector.textfile.directory={directory}",
                 f"--web.listen-address=127.0.0.1:{port}"], url):
        served = fetch(url)
    assert 'node_textfile_scrape_error 0' in served
    check_newest(served, here.path("run.jsonl"), 'a "quoted\\" name')


def check_newest(text, record, name):
    """An exposition has what the last sample counted, and no figure of a moment that is over."""
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    for series, metric in CHECKED.items():
        lines = [line for line in text.splitlines()
                 if line.startswith(series + "{") and 'scope="main"' in line]
        if not series.endswith("_total"):
            assert not lines, series
            continue
        assert len(lines) == 1, series
        assert f'run="{quoted}"' in lines[0]
        assert float(lines[0].rsplit(" ", 1)[1]) == record_of(record, metric, "main")[-1][1]


@needs("prometheus-pushgateway")
def test_pushgateway(here, has_http):
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with daemon(["prometheus-pushgateway", f"--web.listen-address=127.0.0.1:{port}",
                 "--persistence.file=", "--log.level=error"], url + "/-/ready"):
        record = run_to(here, f"pushgateway:{url},every=100ms", "a/b c")
        text = fetch(url + "/metrics")
        check_newest(text, record, "a/b c")
        (group,) = json.loads(fetch(url + "/api/v1/metrics"))["data"]
        assert group["labels"]["job"] == "toll" and group["labels"]["run"] == "a/b c"
        assert group["labels"]["instance"]
        for name in ("..", "."):
            run_to(here, f"pushgateway:{url}", name)
        groups = json.loads(fetch(url + "/api/v1/metrics"))["data"]
        assert {g["labels"]["run"] for g in groups} == {"a/b c", "..", "."}
        assert all(g["labels"]["instance"] for g in groups)
        r = here.run(JOB, ["-o", f"pushgateway:{url}/metrics/job/mine,grace=60s", "--name", "x"])
        assert r.summary["outputs"][0]["complete"]
        jobs = {g["labels"]["job"] for g in json.loads(fetch(url + "/api/v1/metrics"))["data"]}
        assert jobs == {"toll", "mine"}
        for job in ("7", "8"):
            here.run(JOB, ["-o", f"pushgateway:{url},grace=60s", "--name", "x", "--label", f"job={job}",
                           "--label", "scope=q", "--label", "ü=8"])
        text = fetch(url + "/metrics")
        for job in ("7", "8"):
            (line,) = [line for line in text.splitlines() if line.startswith("toll_run_exit_code")
                       and f'job="{job}"' in line]
            assert line.endswith(" 3") and 'label_scope="q"' in line
        assert 'label_scope="q"' in [line for line in text.splitlines() if 'scope="main"' in line
                                     and 'job="7"' in line][0]
