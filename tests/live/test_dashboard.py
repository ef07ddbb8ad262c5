# SPDX-License-Identifier: MIT
"""The dashboard for Grafana and the alert rules for Prometheus, with a real Prometheus that has what toll
sent: a run as it is measured here, and written runs that go well and badly for 45 minutes."""
import itertools
import json
import re
import shutil
import subprocess
import time
import urllib.parse

import hostlib
import pytest
from hostlib import needs

import livelib
import sinklib
from conftest import make_place
from test_documented_queries import stamp
from test_metrics_servers import daemon, fetch, has_http, wait_for  # noqa: F401

yaml = hostlib.module("yaml")

TOP = hostlib.TOP
DASHBOARD = json.loads((TOP / "integrations/grafana/toll.json").read_text(encoding="utf-8"))
RULES_PATH = TOP / "integrations/prometheus/toll.rules.yml"
RULES = {rule["alert"]: rule
         for rule in yaml.safe_load(RULES_PATH.read_text(encoding="utf-8"))["groups"][0]["rules"]}
MINUTES, STEP = 45, 15  # of the written runs, seconds between samples
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
TARGETS = [(panel["title"], target) for panel in PANELS for target in panel["targets"]]

# What a machine may not have: an energy counter, a GPU, a limit, a kernel with pressure, disks, PSS within a
# second. Those panels are compared with the written runs alone. Without a limit the series is missing.
NOT_EVERYWHERE = re.compile(r"toll_(gpu|rapl|disk|mount|cgroup|netif)_|pressure|_pss_|network|exit_signal")


# ---- Runs ----------------------------------------------------------------------------------------


# Of each run: CPU seconds and waiting in a second, share of the memory limit, of the CPU periods that were
# throttled, OOM kills at the half, utilisation of the GPU, share of the disk, missed samples, its end.
RUNS = {
    "well": (0.5, 0.1, 0.5, 0.1, 0, 0.9, 0.5, 0, "exit 0"),
    "starved": (0.5, 0.9, 0.95, 0.8, 1, 0.9, 0.99, 0.5, "kill -9 $$"),
    "stuck": (0, 0, 0.5, 0, 0, 0, 0.5, 0, "exit 3"),
    "gone": (0.5, 0.1, 0.5, 0.1, 0, 0.9, 0.5, 0, None),
}
ALERTS = {
    "well": set(),
    "starved": {"TollWaitingForCpu", "TollMemoryNearLimit", "TollCpuThrottled", "TollOomKill", "TollDiskFull",
                "TollSamplesMissed", "TollRunKilled"},
    "stuck": {"TollRunIdle", "TollGpuIdle", "TollRunFailed"},
    "gone": {"TollRunLost"},
}
LIMIT = 1 << 30


def sample(tick, start, figures):
    cpu, wait, memory, throttled, kills, busy, disk, missed, _ = figures
    t = (tick + 1) * STEP
    target = {"wall_seconds": t, "cpu_seconds": cpu * t, "cpu_cores": cpu, "cpu_user_seconds": cpu * t,
              "cpu_system_seconds": 0, "cpu_wait_seconds": wait * t, "memory_rss_bytes": 100 << 20,
              "memory_pss_bytes": 90 << 20, "memory_swap_bytes": 0, "faults_major": t, "threads": 4,
              "storage_read_bytes": 10 * t, "storage_written_bytes": 20 * t, "io_read_bytes": 30 * t,
              "io_written_bytes": 40 * t, "processes": 2, "open_files": 9,
              "network_received_bytes": 50 * t, "network_sent_bytes": 60 * t}
    page_cache = 100 << 20  # does not count, tmpfs in it does
    cgroup = {"name": "/job", "memory_bytes": memory * LIMIT + page_cache, "memory_limit_bytes": LIMIT,
              "memory_file_bytes": page_cache + (50 << 20), "memory_shmem_bytes": 50 << 20,
              "cpu_limit_cores": 2, "cpu_periods": 10 * t, "cpu_throttled_periods": 10 * t * throttled,
              "oom_kills": kills * (t > MINUTES * 30)}
    machine = {"cpu_cores": 1, "cpus_online": 2, "memory_used_bytes": 1 << 30, "memory_total_bytes": 4 << 30,
               "cpu_pressure_some_seconds": 0.1 * t, "memory_pressure_some_seconds": 0,
               "io_pressure_some_seconds": 0.2 * t}
    return {"type": "sample", "tick": tick, "time": stamp(start + t), "unix_seconds": start + t,
            "elapsed_seconds": t, "interval_seconds": STEP, "target": {"combined": target, "main": {}, "descendants": {}},
            "cgroups": [cgroup], "system": machine,
            "gpus": [{"name": "0", "utilization_ratio": busy, "memory_used_bytes": 1 << 30,
                      "memory_total_bytes": 8 << 30, "power_watts": 70}],
            "rapl": [{"name": "package-0", "energy_joules": 20 * t}],
            "disks": [{"name": "vda", "class": "disk", "busy_ratio": 0.5}],
            "netifs": [{"name": "eth0", "class": "physical", "received_bytes": 70 * t, "sent_bytes": 80 * t}],
            "mounts": [{"name": "/scratch", "size_bytes": 1000, "available_bytes": 1000 * (1 - disk),
                        "used_ratio": disk}],
            "self": {"cpu_seconds": 0.001 * t, "ticks": tick + 1, "ticks_missed": int(missed * tick)}}


def write_record(here, name, start):
    """A record of toll itself with other samples and times in it."""
    end = RUNS[name][-1]
    path = here.path(f"{name}.jsonl")
    job = f"{here.toll} mark gauge loss 0.5; {here.toll} mark phase begin load; {here.toll} mark phase end load"
    here.run(["sh", "-c", f"{job}; {end or 'exit 0'}"], ["--name", name, "-o", path])
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    run, summary = lines[0], lines[-1]
    assert (run["type"], summary["type"]) == ("run", "summary")
    run.update(start=stamp(start), unix_seconds=start, interval_seconds=STEP, reads_gpus=True)
    summary.update(start=stamp(start), wall_seconds=MINUTES * 60)
    marks = [{**line, "elapsed_seconds": 30, **({"begin_seconds": 10, "end_seconds": 30, "seconds": 20}
                                                if line["type"] == "phase" else {})}
             for line in lines if line["type"] in ("event", "phase", "gauge")]
    samples = [sample(tick, start, RUNS[name]) for tick in range(MINUTES * 60 // STEP)]
    samples[-1]["last"] = True
    if end is None:  # toll was killed, and its machine too
        del samples[-1]["last"]
        summary = None
    path.write_text("".join(json.dumps(line) + "\n" for line in
                            [run, *samples[:2], *marks, *samples[2:], *([summary] if summary else [])]))
    return path, run["id"]


class Store:
    """A Prometheus with all of the runs."""

    def __init__(self, url, start, ids):
        self.url, self.start, self.end, self.ids = url, start, start + MINUTES * 60, ids

    def ask(self, path, **words):
        answer = json.loads(fetch(f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(words)}"))
        assert answer["status"] == "success", words
        return answer["data"]

    def query(self, text, moment):
        return [(one["metric"], float(one["value"][1]))
                for one in self.ask("query", query=text, time=moment)["result"]]


@pytest.fixture(scope="module")
def store(tmp_path_factory, programs):
    hostlib.skip_without("prometheus")
    here = make_place("root" if livelib.IS_ROOT else "nobody", programs)
    directory = tmp_path_factory.mktemp("prometheus")
    (directory / "prometheus.yml").write_text(f"global: {{evaluation_interval: 1s}}\nrule_files: ['{RULES_PATH}']\n")
    port = sinklib.free_port()
    url = f"http://127.0.0.1:{port}"
    start = int(time.time()) - MINUTES * 60 - 400  # "gone" has been silent for longer than five minutes
    with daemon(["prometheus", f"--config.file={directory}/prometheus.yml",
                 f"--storage.tsdb.path={directory}/data", "--web.enable-remote-write-receiver",
                 f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"], url + "/-/ready"):
        write = sinklib.patient(f"prometheus:{url}/api/v1/write,spool=none")
        ids = {}
        for name in RUNS:
            record, ids[name] = write_record(here, name, start)
            status, _, err = here.call([here.toll, "export", record, "-o", write])
            if b"libcurl" in err:
                pytest.skip("this toll has no HTTP")
            assert status == 0, err
        one = Store(url, start, ids)
        here.run(["sh", "-c", f"{here.toll} mark gauge loss 1; {here.toll} mark phase begin a; "
                  f"{here.toll} mark phase end a; sleep 0.7; exit 4"],
                 ["--system", "--name", "live", "-i", "100ms", "-o", write])
        ended = 'last_over_time(toll_run_exit_code{run="live"}[1h])'
        ((labels, _),) = wait_for(lambda: one.query(ended, time.time()))
        one.ids["live"] = labels["id"]
        # Its last sample but one: the last has no gauges.
        last = 'timestamp(toll_target_memory_rss_bytes{run="live",scope="combined"})'
        ((_, one.live),) = one.query(f"max_over_time(({last})[1m:100ms])", time.time())
        yield one
    shutil.rmtree(here.directory, ignore_errors=True)


# ---- The dashboard ---------------------------------------------------------------------------------


def test_the_dashboard_is_well_formed():
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    taken = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        cells = set(itertools.product(range(place["x"], place["x"] + place["w"]),
                                      range(place["y"], place["y"] + place["h"])))
        assert place["x"] + place["w"] <= 24 and not cells & taken, panel["title"]
        taken |= cells
    known = {variable["name"] for variable in DASHBOARD["templating"]["list"]}
    for title, target in TARGETS:
        assert target["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        used = set(re.findall(r"\$(?!__)(\w+)", target["expr"]))
        assert used == {"run", "instance", "id"} <= known, title
    for panel in PANELS:
        references = [target["refId"] for target in panel["targets"]]
        assert len(set(references)) == len(references), panel["title"]
    table = next(panel for panel in PANELS if panel["type"] == "table")
    renamed = table["transformations"][1]["options"]["renameByName"]
    assert set(renamed) == {f"Value #{target['refId']}" for target in table["targets"]}


def filled_in(text, run_id):
    for name, value in (("$__rate_interval", "1m"), ("$__range", "1h"), ("$run", ".*"), ("$instance", ".*"),
                        ("$id", run_id)):
        text = text.replace(name, value)
    return text


@needs("prometheus")
def test_every_query_of_the_dashboard(store):
    """Of a run in the middle of it, and of all that has ended; of one that was measured here."""
    for title, target in TARGETS:
        text = target["expr"]
        if "exit_signal{" in text and "exit_code{" not in text:
            found = store.query(filled_in(text, store.ids["starved"]), store.end + 60)
            assert [value for _, value in found] == [9], title
            continue
        over = "$__range" in text
        moment = store.end + 60 if over else store.start + (60 if "toll_mark" in text else 1000)
        found = store.query(filled_in(text, store.ids["well"]), moment)
        assert found, (title, text)
        for labels, _ in found:
            wanted = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            assert wanted <= set(labels), (title, labels)
        if not NOT_EVERYWHERE.search(text):
            moment = time.time() if over else store.live
            assert store.query(filled_in(text, store.ids["live"]), moment), (title, text, "as measured here")


@needs("prometheus")
def test_figures_of_the_dashboard(store):
    """What they show of a run is what its record has."""
    expressions = {(title, target["refId"]): target["expr"] for title, target in TARGETS}

    def shown(title, reference, name, moment):
        found = store.query(filled_in(expressions[title, reference], store.ids.get(name, name)), moment)
        return [value for _, value in found]

    during, after = store.start + 1000, store.end + 60
    assert shown("CPU time by mode", "A", "well", during) == [pytest.approx(0.5)]
    assert shown("Waiting for a core", "A", "starved", during) == [pytest.approx(0.9)]
    assert shown("Disk", "B", "well", during) == [pytest.approx(20)]
    assert shown("Network", "A", "well", during) == [pytest.approx(50)]
    assert shown("Power", "A", "well", during) == [70] and shown("Power", "B", "well", during) == [pytest.approx(20)]
    assert shown("Filesystems in use", "A", "starved", during) == [0.99]
    assert shown("Values of the job", "A", "well", store.start + 60) == [0.5]
    assert shown("Time in phases", "A", "well", store.start + 60) == [20]
    assert shown("Running", "A", ".*", during) == [4] and shown("Running", "A", ".*", after) == [0]
    assert shown("Failed", "A", "well", after) == [0]
    assert shown("Failed", "A", ".*", after) == [2]
    columns = [target["refId"] for target in next(p for p in PANELS if p["type"] == "table")["targets"]]
    row = [shown("Runs in the time shown", column, "well", after) for column in columns]
    assert row == [[2700], [1350], [100 << 20], [27000], [54000], [0], []]
    for variable in DASHBOARD["templating"]["list"][1:]:
        text = filled_in(variable["definition"], ".*")
        assert text == filled_in(variable["query"]["query"], ".*")
        selector, label = re.fullmatch(r"label_values\((.*), (\w+)\)", text).groups()
        values = store.ask(f"label/{label}/values", **{"match[]": selector})
        assert set(store.ids.values()) <= set(values) or label != "id"
        assert {*RUNS, "live"} <= set(values) or label != "run"
        assert values
    (annotation,) = DASHBOARD["annotations"]["list"]
    ((labels, ended),) = store.query(filled_in(annotation["expr"], store.ids["well"]), after)
    assert ended == pytest.approx(store.end * 1000, abs=1) and {"run", "instance", "id"} <= set(labels)


# ---- The rules -----------------------------------------------------------------------------------


def seconds(text):
    return int(text[:-1]) * {"s": 1, "m": 60, "h": 3600}[text[-1]]


def fired(store, rule):
    """The runs for which it holds for long enough, as Prometheus would look every 15 seconds."""
    series = store.ask("query_range", query=rule["expr"], start=store.start, end=store.end + 390, step=15)["result"]
    runs = set()
    for one in series:
        times = [moment for moment, _ in one["values"]]
        since = times[0]
        for before, now in itertools.pairwise([times[0], *times]):
            since = now if now - before > 15 else since
            if now - since >= seconds(rule.get("for", "0s")):
                runs.add(one["metric"]["run"])
    return runs


@needs("prometheus")
def test_rules_fire_on_bad_runs_only(store):
    assert set(RULES) == set().union(*ALERTS.values()), "a rule without a run that makes it fire"
    found = {name: fired(store, rule) & set(RUNS) for name, rule in RULES.items()}
    assert found == {name: {run for run in RUNS if name in ALERTS[run]} for name in RULES}


@needs("prometheus")
def test_prometheus_loads_the_rules(store):
    """They are evaluated, and the sentence of an alert that fires now names the run."""
    done = subprocess.run(["promtool", "check", "rules", RULES_PATH], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and f"{len(RULES)} rules found" in done.stdout, done.stdout + done.stderr

    def loaded():
        (group,) = store.ask("rules")["groups"]
        return group["lastEvaluation"] > "1970" and group["rules"]

    rules = wait_for(lambda: all(rule["health"] == "ok" for rule in loaded()) and loaded())
    assert [rule["name"] for rule in rules] == list(RULES)
    (labels, _), = store.query('last_over_time(toll_run_exit_code{run="live"}[1h])', time.time())

    def alert():
        return [one for one in store.ask("alerts")["alerts"]
                if one["labels"]["alertname"] == "TollRunFailed" and one["labels"]["run"] == "live"]

    (one,) = wait_for(alert)
    assert one["state"] == "firing" and one["labels"]["severity"] == "warning"
    assert one["annotations"]["summary"] == f"live on {labels['instance']} ended with exit status 4"
