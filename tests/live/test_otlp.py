# SPDX-License-Identifier: MIT
"""What -o otlp: sends, against the published semantic conventions of OpenTelemetry; and its variables."""
import gzip
import json
import os
import pathlib
import shutil
import ssl

import pytest
from hostlib import needs

import fixturelib
import livelib
import sinklib

SCHEMA = "https://opentelemetry.io/schemas/1.40.0"

MODES = {"user", "system", "nice", "idle", "iowait", "interrupt", "steal",
         "guest"}  # a value of our own, which the conventions allow where none of theirs applies
READ_WRITE = {"disk.io.direction": {"read", "write"}}
DIRECTION = {"network.io.direction": {"receive", "transmit"}}
DISK = {"system.device": None}
FILESYSTEM = {"system.device": None, "system.filesystem.mountpoint": None,
              "system.filesystem.type": None, "system.filesystem.mode": None}
HW = {"hw.id": None, "hw.name": None, "hw.parent": None}
HW_TYPED = {**HW, "hw.type": {"cpu", "gpu", "memory"}}
HW_GPU = {**HW, "hw.model": None, "hw.vendor": None, "hw.driver_version": None,
          "hw.firmware_version": None, "hw.serial_number": None}

# Of the published tables, version 1.40: instrument, unit, attributes with the values they may have
# (None: any). What is marked "*" must be there.
CONVENTIONS = {
    "process.cpu.time": ("counter", "s", {"*cpu.mode": {"user", "system", "wait"}}),
    "process.cpu.utilization": ("gauge", "1", {"cpu.mode": {"user", "system", "wait"}}),
    "process.memory.usage": ("updowncounter", "By", {}),
    "process.memory.virtual": ("updowncounter", "By", {}),
    "process.disk.io": ("counter", "By", {"*disk.io.direction": {"read", "write"}}),
    "process.network.io": ("counter", "By", {"*network.io.direction": {"receive", "transmit"}}),
    "process.thread.count": ("updowncounter", "{thread}", {}),
    "process.unix.file_descriptor.count": ("updowncounter", "{file_descriptor}", {}),
    "process.context_switches": ("counter", "{context_switch}",
                                 {"*process.context_switch.type": {"voluntary", "involuntary"}}),
    "process.paging.faults": ("counter", "{fault}", {"*system.paging.fault.type": {"major", "minor"}}),
    "system.uptime": ("gauge", "s", {}),
    "system.cpu.time": ("counter", "s", {"*cpu.mode": MODES, "cpu.logical_number": None}),
    "system.cpu.logical.count": ("updowncounter", "{cpu}", {}),
    "system.cpu.frequency": ("gauge", "Hz", {"*cpu.logical_number": None}),
    "system.memory.limit": ("updowncounter", "By", {}),
    "system.memory.usage": ("updowncounter", "By",
                            {"*system.memory.state": {"used", "free", "buffers", "cached"}}),
    "system.memory.linux.available": ("updowncounter", "By", {}),
    "system.memory.linux.shared": ("updowncounter", "By", {}),
    "system.memory.linux.slab.usage": (
        "updowncounter", "By", {"*system.memory.linux.slab.state": {"reclaimable", "unreclaimable"}}),
    "system.paging.usage": ("updowncounter", "By",
                            {"*system.paging.state": {"used", "free"}, "system.device": None}),
    "system.paging.faults": ("counter", "{fault}", {"*system.paging.fault.type": {"major", "minor"}}),
    "system.process.count": ("updowncounter", "{process}", {"process.state": None}),
    "system.disk.io": ("counter", "By", {**DISK, **READ_WRITE}),
    "system.disk.operations": ("counter", "{operation}", {**DISK, **READ_WRITE}),
    "system.disk.operation_time": ("counter", "s", {**DISK, **READ_WRITE}),
    "system.disk.io_time": ("counter", "s", DISK),
    "system.disk.limit": ("updowncounter", "By", DISK),
    "system.filesystem.limit": ("updowncounter", "By", FILESYSTEM),
    "system.filesystem.usage": (
        "updowncounter", "By", {**FILESYSTEM, "*system.filesystem.state": {"used", "free", "reserved"}}),
    "system.network.io": ("counter", "By", {"*network.interface.name": None, **DIRECTION}),
    "system.network.packet.count": ("counter", "{packet}", {"*system.device": None, **DIRECTION}),
    "system.network.packet.dropped": ("counter", "{packet}",
                                      {"*network.interface.name": None, **DIRECTION}),
    "system.network.errors": ("counter", "{error}", {"*network.interface.name": None, **DIRECTION}),
    "hw.energy": ("counter", "J", {**HW_TYPED, "*hw.id": None, "*hw.type": HW_TYPED["hw.type"]}),
    "hw.power": ("gauge", "W", {**HW_TYPED, "*hw.id": None, "*hw.type": HW_TYPED["hw.type"]}),
    "hw.temperature": ("gauge", "Cel", {**HW, "*hw.id": None, "hw.sensor_location": None}),
    "hw.gpu.memory.usage": ("updowncounter", "By", {**HW_GPU, "*hw.id": None}),
    "hw.gpu.memory.limit": ("updowncounter", "By", {**HW_GPU, "*hw.id": None}),
    "hw.gpu.utilization": ("gauge", "1", {**HW_GPU, "*hw.id": None,
                                          "*hw.gpu.task": {"general", "encoder", "decoder"}}),
}


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch, here):
    for name in [n for n in os.environ if n.startswith("OTEL_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_STATE_HOME", str(here.directory / "state"))
    status, _, err = here.call([here.toll, "run", "-q", "-o", "otlp:http://127.0.0.1:9/,grace=0s",
                                "--", "true"])
    if b"libcurl" in err:
        pytest.skip("this toll has no HTTP")
    assert status == 0


def sent(server):
    """(resource, {(name, attributes): [(ns, start, value)]}, {name: (instrument, unit)})"""
    resources, found, kinds = [], {}, {}
    for request in server.taken():
        resource, urls, metrics = sinklib.otlp_request(request["body"])
        assert urls == [SCHEMA, SCHEMA]
        resources.append(resource)
        for m in metrics:
            assert kinds.setdefault(m["name"], (m["instrument"], m["unit"])) == (m["instrument"], m["unit"])
            for attributes, ns, start, value in m["points"]:
                found.setdefault((m["name"], attributes), []).append((ns, start, value))
    assert all(r == resources[0] for r in resources)
    return resources[0], found, kinds


def compare_with_conventions(found, kinds):
    known = {key.lstrip("*") for _, _, keys in CONVENTIONS.values() for key in keys}
    known.add("system.paging.direction")  # of system.paging.operations, which counts something else
    for name, (instrument, unit) in kinds.items():
        if not name.startswith("toll."):
            assert name in CONVENTIONS, f"{name} is not in the conventions"
            assert (instrument, unit) == CONVENTIONS[name][:2], name
    for name, attributes in found:
        attributes = dict(attributes)
        ours = {k for k in attributes if k.startswith("toll.")}
        if name.startswith("toll."):
            assert set(attributes) - ours <= known, (name, attributes)
            continue
        allowed = {k.lstrip("*"): v for k, v in CONVENTIONS[name][2].items()}
        needed = {k[1:] for k in CONVENTIONS[name][2] if k.startswith("*")}
        assert needed <= set(attributes) and set(attributes) - ours <= set(allowed), (name, attributes)
        for key in set(attributes) - ours:
            assert allowed[key] is None or attributes[key] in allowed[key], (name, key, attributes)


def total(found, name, **wanted):
    """{ns: sum} over all series of a name that have these attributes."""
    sums = {}
    for (n, attributes), points in found.items():
        if n == name and all(dict(attributes).get(k.replace("__", ".")) == v for k, v in wanted.items()):
            for ns, _, value in points:
                if value is not None:
                    sums[ns] = sums.get(ns, 0) + value
    return sums


def compare_wholes_with_parts(found):
    """Series of one name can be added up, and what contains them has another name."""
    for name in {n for n, _ in found if n.startswith("process.")} - {"process.cpu.utilization"}:
        part = name.replace("process.", "toll.part.", 1)
        main, others = total(found, part, toll__part="main"), total(found, part, toll__part="descendants")
        for ns, whole in total(found, name).items():
            if ns in main and ns in others:
                assert main[ns] + others[ns] == pytest.approx(whole), name
    limit = total(found, "system.memory.limit")
    for ns, used in total(found, "system.memory.usage").items():
        assert used <= limit[ns]
    filesystems = total(found, "system.filesystem.limit")
    assert total(found, "system.filesystem.usage") == filesystems
    for direction in ("read", "write"):
        disks = total(found, "system.disk.io", disk__io__direction=direction)
        whole = total(found, "toll.system.disk.io", disk__io__direction=direction)
        assert {ns: v for ns, v in disks.items() if ns in whole} == whole
    cores = total(found, "toll.core.cpu.time")
    assert cores == pytest.approx({ns: v for ns, v in total(found, "system.cpu.time").items()
                                   if ns in cores}, abs=0.011 * os.sysconf("SC_NPROCESSORS_CONF") * 8)
    energy = total(found, "hw.energy", hw__type="cpu"), total(found, "hw.energy", hw__type="memory")
    for ns, joules in total(found, "toll.system.energy").items():
        assert joules == pytest.approx(sum(e.get(ns, 0) for e in energy))


@pytest.mark.parametrize("fixture", ["machine-server", "machine-vm", "64-cores", "attach-nested",
                                     "attach-groups", "this-machine", "limits-cgroup2", "linux-4.4"])
def test_recorded_machines_follow_the_conventions(here, fixture):
    with sinklib.Server((200, b"", {})) as server:
        status, _, err = here.call([here.toll, "replay", "-q", fixturelib.runs() / fixture, "-o",
                                    f"otlp:{server.url},grace=60s"])
        assert status == 0, err
    _, found, kinds = sent(server)
    compare_with_conventions(found, kinds)
    compare_wholes_with_parts(found)
    if fixture == "machine-server":
        assert {"hw.energy", "hw.temperature", "toll.disk.stacked.io", "toll.disk.virtual.io"} <= set(kinds)
        assert not {dict(a)["system.device"] for n, a in found if n == "system.disk.io"} & {"md0", "dm-0"}
    if fixture == "attach-nested":
        assert total(found, "toll.target.cpu.total"), "each of several targets"


def test_a_run_follows_the_conventions(here):
    """The values are those of the record beside it."""
    with sinklib.Server((200, b"", {})) as server:
        r = here.run(["sh", "-c", "sleep 0.3; sleep 0.2"],
                     ["-i", "50ms", "-o", f"otlp:{server.url},every=100ms,grace=60s", "--system",
                      "-o", here.path("run.jsonl"), "--label", "deployment.environment.name=test",
                      "--label", "scope=mine", "--name", "otel"])
        assert r.status == 0 and r.summary["outputs"][0]["complete"], r.err
        assert {x["path"] for x in server.requests} == {"/v1/metrics"}
        assert server.requests[0]["headers"]["Content-Type"] == "application/x-protobuf"
        assert "Content-Encoding" not in server.requests[0]["headers"]
    resource, found, kinds = sent(server)
    compare_with_conventions(found, kinds)
    compare_wholes_with_parts(found)
    assert resource["service.name"] == "otel" and resource["scope"] == "mine"
    assert resource["deployment.environment.name"] == "test"
    assert resource["host.name"] and resource["os.type"] == "linux"
    samples = livelib.records(here.path("run.jsonl"), "sample")
    assert [v for _, _, v in found["toll.run.exit_code", ()]] == [0]
    assert kinds["toll.run.end_time"] == ("gauge", "s")
    for name, attributes, part, metric in [
        ("process.cpu.time", {"cpu.mode": "user"}, "combined", "cpu_user_seconds"),
        ("process.memory.usage", {}, "combined", "memory_rss_bytes"),
        ("process.thread.count", {}, "combined", "threads"),
        ("process.disk.io", {"disk.io.direction": "write"}, "combined", "storage_written_bytes"),
        ("toll.process.cpu.total", {}, "combined", "cpu_seconds"),
        ("toll.part.cpu.total", {"toll.part": "main"}, "main", "cpu_seconds"),
        ("toll.part.cpu.time", {"cpu.mode": "system", "toll.part": "descendants"}, "descendants",
         "cpu_system_seconds"),
        ("system.cpu.time", {"cpu.mode": "idle"}, None, "cpu_idle_seconds"),
        ("system.memory.usage", {"system.memory.state": "free"}, None, "memory_free_bytes"),
        ("toll.system.memory_cached", {}, None, "memory_cached_bytes"),
    ]:
        *points, end = found[name, tuple(sorted(attributes.items()))]
        expected = [(s["target"][part] if part else s["system"])[metric] for s in samples]
        assert [v for _, _, v in points] == [v for v in expected if v is not None], name
        assert end[2] is None, "its end is marked"
        assert [t for t, _, _ in points] == sorted({t for t, _, _ in points})
        assert all((start is not None) == (kinds[name][0] != "gauge") for _, start, _ in points)
    interrupt = [v for _, _, v in found["system.cpu.time", (("cpu.mode", "interrupt"),)]][:-1]
    assert interrupt == pytest.approx([s["system"]["cpu_irq_seconds"] + s["system"]["cpu_softirq_seconds"]
                                       for s in samples])
    cpus = len(os.sched_getaffinity(0))
    share = [v for _, _, v in found["process.cpu.utilization", ()]][:-1]
    cores = [s["target"]["combined"]["cpu_cores"] for s in samples]
    assert share == pytest.approx([c / cpus for c in cores if c is not None], abs=1e-6)


def test_gpus_follow_the_conventions(here, monkeypatch):
    """A fake driver: figures of a GPU have the attributes of hw.*."""
    fake = pathlib.Path(os.environ["TOLL_BUILD"]) / "tests/fakes/nvml/libnvidia-ml.so.1"
    if not fake.exists():
        pytest.skip("there is no fake driver")
    library, facts = here.path("lib"), here.path("facts")
    library.mkdir()
    shutil.copy(fake, library)
    facts.write_text("gpus 2\nutilization 63\nmemory_total 8589934592\nmemory_used 1073741824\n"
                     "power 250500\nenergy 123456789\ntemperature 71\nencoder 5\ndecoder 7\n")
    monkeypatch.setenv("FAKE_NVML", str(facts))
    monkeypatch.setenv("LD_LIBRARY_PATH", str(library))
    with sinklib.Server((200, b"", {})) as server:
        r = here.run(["sh", "-c", livelib.job_until(livelib.recorded(r'"gpus":\[', 3))],
                     ["-i", "100ms", "--gpus", "all", "-o", here.path("run.jsonl"), "-o",
                      f"otlp:{server.url},grace=60s"])
        assert r.status == 0, r.err
    _, found, kinds = sent(server)
    compare_with_conventions(found, kinds)
    assert {"hw.gpu.memory.usage", "hw.gpu.memory.limit", "hw.gpu.utilization", "hw.temperature",
            "hw.power", "hw.energy"} <= set(kinds), sorted(kinds)
    assert len({dict(a)["hw.id"] for n, a in found if n == "hw.gpu.memory.limit"}) == 2


def test_the_resource_describes_the_process(here, monkeypatch):
    monkeypatch.setenv("LC_ALL", "C")
    with sinklib.Server((200, b"", {})) as server:
        r = here.run(["sh", "-c", "readlink /proc/$$/exe; echo $$; id -un; sleep 0.1", "job",
                      "--password=hunter2", "caf\udce9"], ["-o", f"otlp:{server.url},grace=60s"])
    resource = sent(server)[0]
    program, pid, user = r.out.decode().split()
    assert resource["service.name"] == "sh"
    assert resource["process.pid"] == int(pid)
    assert resource["process.executable.name"] == os.path.basename(program)
    assert resource["process.owner"] == user
    assert resource["process.command"] == "sh"
    assert resource["process.command_args"][3:] == ["job", "--password=***", "café"]
    with sinklib.Server((200, b"", {})) as server:
        here.run(["true"], ["-o", f"otlp:{server.url},grace=60s,command=no"])
    assert not {"process.command", "process.command_args"} & set(sent(server)[0])


def test_two_runs_of_one_name(here):
    """Each is an instance of its own of the service, with all of its points."""
    with sinklib.Server((200, b"", {})) as server:
        both = [here.popen([here.toll, "run", "-q", "-i", "50ms", "--name", "twin", "-o",
                            f"otlp:{server.url},every=100ms,grace=60s", "-o", here.path(f"{i}.jsonl"),
                            "--", "sleep", "0.4"]) for i in range(2)]
        assert [p.wait(livelib.GUARD) for p in both] == [0, 0]
    found = {}
    for request in server.taken():
        resource, _, metrics = sinklib.otlp_request(request["body"])
        assert resource["service.name"] == "twin"
        points = found.setdefault(resource["service.instance.id"], {})
        for m in metrics:
            for attributes, _, _, value in m["points"]:
                points.setdefault((m["name"], attributes), []).append(value)
    for record in (here.path("0.jsonl"), here.path("1.jsonl")):
        (run,) = livelib.records(record, "run")
        own = found.pop(run["id"])
        samples = livelib.records(record, "sample")
        for name, attributes, metric in [
            ("toll.process.wall", (), "wall_seconds"), ("process.thread.count", (), "threads"),
            ("process.paging.faults", (("system.paging.fault.type", "minor"),), "faults_minor"),
        ]:
            expected = [s["target"]["combined"][metric] for s in samples]
            assert own[name, attributes] == [v for v in expected if v is not None] + [None], name
    assert not found


@pytest.mark.parametrize("rejected, number", [(1, b"\x01"), (2**20, b"\x80\x80\x40")])
def test_a_receiver_that_rejects_some(here, rejected, number):
    """Of one figure a sample lacks something; when none is taken all are lost."""
    said = b"\x08" + number + b"\x12\x03old"
    with sinklib.Server((200, b"\x0a" + bytes([len(said)]) + said, {})) as server:
        r = here.run(["sleep", "0.1"], ["-i", "20ms", "-o", f"otlp:{server.url}/my/path,every=1h,grace=60s"])
        assert {x["path"] for x in server.requests} == {"/my/path"}
    (output,) = r.summary["outputs"]
    lost = min(rejected, output["samples"])
    assert (output["dropped"], output["delivered"]) == (lost, output["samples"] - lost)
    assert output["samples"] > 1 and not output["complete"]
    figures = sum(len(points) for points in sent(server)[1].values())
    assert output["failure"] == f"server rejected {rejected} of {figures} figures: old"
    assert output["failure"].encode() in r.err


def points_of_a_run(here, server):
    """What was sent of a short run, and its output."""
    r = here.run(["sleep", "0.1"], ["-i", "20ms", "-o", here.path("run.jsonl"),
                                    "-m", "cpu_seconds,threads,wall_seconds,faults_minor",
                                    "-o", f"otlp:{server.url},every=1h,grace=60s"])
    (output, *_) = r.summary["outputs"]
    assert r.status == 0
    return sent(server)[1], output


def check_wall_and_threads(here, found):
    samples = livelib.records(here.path("run.jsonl"), "sample")
    for metric in ("wall_seconds", "threads"):
        expected = [s["target"]["combined"][metric] for s in samples]
        values = [[v for _, _, v in series] for series in found.values()]
        assert [v for v in expected if v is not None] + [None] in values, metric
    for name, series in found.items():
        times = [ns for ns, _, _ in series]
        assert times == sorted(set(times)), (name, "each once, in order")


@pytest.mark.parametrize("packed", ["none", "gzip"])
@pytest.mark.parametrize("limit", [1300, 4000])
def test_requests_that_are_too_large_are_split(here, limit, packed, monkeypatch):
    """By a server that counts what is not compressed; 1300 bytes are the resource and a few points."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", packed)

    def answer(request):
        if packed == "gzip":
            request["body"] = gzip.decompress(request["body"])
        return (413, b"too large", {}) if len(request["body"]) > limit else (200, b"", {})
    with sinklib.Server(answer) as server:
        found, output = points_of_a_run(here, server)
        refused = [r for r in server.requests if r["answer"][0] == 413]
    assert output["complete"] and output["delivered"] == output["samples"] > 3, output
    assert refused and len(server.taken()) > 1
    check_wall_and_threads(here, found)
    assert any(name == "toll.run.exit_code" for name, _ in found)


def test_figures_that_are_too_large_are_counted(here):
    """One metric can never be sent, the others arrive, also when a part has to be tried again."""
    again = []

    def answer(request):
        is_fine = b"paging" not in request["body"]
        if is_fine and any(r["answer"][0] == 413 for r in server.requests) and not again:
            again.append(request)
            return 503, b"", {}
        return (200, b"", {}) if is_fine else (413, b"too large", {})
    with sinklib.Server(answer) as server:
        found, output = points_of_a_run(here, server)
    assert again
    check_wall_and_threads(here, found)
    assert not any("paging" in name for name, _ in found)
    assert not output["complete"] and "413" in output["failure"]
    assert output["dropped"] == output["samples"] and not output["delivered"]


@pytest.mark.parametrize("kind", ["otlp", "prometheus"])
def test_a_server_that_takes_nothing_is_not_asked_for_ever(here, kind):
    """To whom everything is too large: each figure would be a request."""
    with sinklib.Server((413, b"too large", {})) as server:
        r = here.run(["sleep", "0.4"], ["-i", "10ms", "-o", f"{kind}:{server.url}/x,every=1h,grace=60s"])
    (output,) = r.summary["outputs"]
    assert output["dropped"] == output["samples"] > 10 and "413" in output["failure"]
    assert len(server.requests) < 200


# ---- The variables ---------------------------------------------------------------------------------


def run_with(here, monkeypatch, variables, destination="otlp:,grace=60s", answer=(200, b"", {})):
    """The requests and the summary of a run whose variables have the server's URL for URL."""
    with sinklib.Server(answer) as server:
        for name, value in variables.items():
            monkeypatch.setenv(name, value.replace("URL", server.url))
        r = here.run(["true"], ["-o", destination.replace("URL", server.url)])
        assert r.status == 0, r.err
    return server.requests, r


@pytest.mark.parametrize("variables, destination, path", [
    ({"ENDPOINT": "URL"}, "otlp:", "/v1/metrics"),
    ({"ENDPOINT": "URL/"}, "otlp:", "/v1/metrics"),
    ({"ENDPOINT": "URL/base/"}, "otlp:", "/base/v1/metrics"),
    ({"METRICS_ENDPOINT": "URL"}, "otlp:", "/"),
    ({"METRICS_ENDPOINT": "URL/my/metrics", "ENDPOINT": "http://127.0.0.1:9"}, "otlp:", "/my/metrics"),
    ({"METRICS_ENDPOINT": "http://127.0.0.1:9", "ENDPOINT": "http://127.0.0.1:9"}, "otlp:URL",
     "/v1/metrics"),
    ({"METRICS_ENDPOINT": "", "ENDPOINT": "URL"}, "otlp:", "/v1/metrics"),
])
def test_endpoints(here, monkeypatch, variables, destination, path):
    variables = {f"OTEL_EXPORTER_OTLP_{k}": v for k, v in variables.items()}
    requests, _ = run_with(here, monkeypatch, variables, destination + ",grace=60s")
    assert {r["path"] for r in requests} == {path}


def test_headers(here, monkeypatch):
    """Percent-decoded; those for metrics replace those for all signals, an option wins by its name."""
    variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": "URL",
                 "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20s%3Dx, x-tenant = a%2Cb ,"}
    requests, _ = run_with(here, monkeypatch, variables)
    got = {k.lower(): v for k, v in requests[0]["headers"].items()}
    assert (got["authorization"], got["x-tenant"]) == ("Bearer s=x", "a,b")
    variables["OTEL_EXPORTER_OTLP_METRICS_HEADERS"] = "x-tenant=metrics,x-other=1"
    requests, _ = run_with(here, monkeypatch, variables, "otlp:,grace=60s,header=X-Tenant: option")
    got = {k.lower(): v for k, v in requests[0]["headers"].items()}
    assert "authorization" not in got and got["x-tenant"] == "option" and got["x-other"] == "1"
    for bad in ("novalue", "x=%0d%0aInjected: 1", "x=%zz", "a b=1"):
        requests, r = run_with(here, monkeypatch, {"OTEL_EXPORTER_OTLP_METRICS_HEADERS": bad},
                               "otlp:URL,grace=60s")
        assert b"variable OTEL_EXPORTER_OTLP_METRICS_HEADERS is ignored" in r.err
        assert "injected" not in str(requests[0]["headers"]).lower()


def test_service_name_and_attributes(here, monkeypatch):
    """What the command line says wins over OTEL_SERVICE_NAME, and that over the attributes."""
    variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": "URL",
                 "OTEL_RESOURCE_ATTRIBUTES": "service.name=fromattributes,team=a%20b%2Cc,host.name=other"}

    def resource(*more):
        with sinklib.Server((200, b"", {})) as server:
            for name, value in variables.items():
                monkeypatch.setenv(name, value.replace("URL", server.url))
            assert here.run(["true"], ["-o", "otlp:,grace=60s", *more]).status == 0
        return sent(server)[0]

    found = resource()
    assert found["service.name"] == "fromattributes" and found["host.name"] == "other"
    assert found["team"] == "a b,c"
    variables["OTEL_SERVICE_NAME"] = "fromname"
    assert resource()["service.name"] == "fromname"
    found = resource("--name", "option", "--label", "team=mine")
    assert found["service.name"] == "option" and found["team"] == "mine"
    variables["OTEL_RESOURCE_ATTRIBUTES"] = "team=x,broken"
    assert "team" not in resource(), "all or nothing"


@pytest.mark.parametrize("name", ["OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL"])
def test_grpc_is_refused(here, monkeypatch, name):
    monkeypatch.setenv(name, "grpc")
    status, _, err = here.call([here.toll, "run", "-o", "otlp:http://127.0.0.1:9", "--", "touch", "ran"])
    assert status == 125 and not here.path("ran").exists()
    assert b"unsupported protocol 'grpc'" in err and name.encode() in err
    requests, _ = run_with(here, monkeypatch, {}, "otlp:URL,protocol=http/protobuf,grace=60s")
    assert requests
    monkeypatch.setenv(name, "http/json")
    status, _, err = here.call([here.toll, "run", "-o", "otlp:", "--", "true"])
    assert status == 125 and b"http/json" in err
    monkeypatch.setenv(name, "http/protobuf")
    assert run_with(here, monkeypatch, {}, "otlp:URL,grace=60s")[0]


@pytest.mark.parametrize("variables, option, packed", [
    ({}, "", False), ({}, ",compression=gzip", True),
    ({"OTEL_EXPORTER_OTLP_COMPRESSION": "gzip"}, "", True),
    ({"OTEL_EXPORTER_OTLP_COMPRESSION": "gzip", "OTEL_EXPORTER_OTLP_METRICS_COMPRESSION": "none"}, "",
     False),
    ({"OTEL_EXPORTER_OTLP_METRICS_COMPRESSION": "gzip"}, ",compression=none", False),
])
def test_gzip(here, monkeypatch, variables, option, packed):
    status, _, err = here.call([here.toll, "run", "-q", "-o",
                                "otlp:http://127.0.0.1:9,grace=0s,compression=gzip", "--", "true"])
    if b"zlib" in err:
        pytest.skip("this toll has no gzip")
    requests, r = run_with(here, monkeypatch, variables, f"otlp:URL,grace=60s{option}")
    for request in requests:
        assert (request["headers"].get("Content-Encoding") == "gzip") == packed
        body = gzip.decompress(request["body"]) if packed else request["body"]
        assert sinklib.otlp_request(body)[2]
        assert not packed or len(request["body"]) < len(body)
    assert sum(len(q["body"]) for q in requests) == r.summary["outputs"][0]["bytes"]


def test_a_disabled_sdk_sends_nothing(here, monkeypatch):
    requests, r = run_with(here, monkeypatch, {"OTEL_SDK_DISABLED": "True"}, "otlp:URL")
    (output,) = r.summary["outputs"]
    assert not requests and output["complete"] and output["samples"] == 0
    assert b"otlp: nothing is sent: OTEL_SDK_DISABLED is true" in r.err
    assert run_with(here, monkeypatch, {"OTEL_SDK_DISABLED": "no"}, "otlp:URL,grace=60s")[0]


def test_timeout_interval_and_nonsense(here, monkeypatch):
    variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": "URL", "OTEL_EXPORTER_OTLP_TIMEOUT": "100",
                 "OTEL_METRIC_EXPORT_INTERVAL": "50"}
    _, r = run_with(here, monkeypatch, variables, "otlp:,grace=2s", answer="hang")
    assert r.summary["outputs"][0]["failure"].endswith("no response in time")
    with sinklib.Server((200, b"", {})) as server:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.url)
        monkeypatch.delenv("OTEL_EXPORTER_OTLP_TIMEOUT")
        p = here.popen([here.toll, "run", "-q", "-i", "20ms", "-o", "otlp:,grace=60s", "--", "sh", "-c",
                        livelib.job_until("[ -e over ]")])
        livelib.until(lambda: len(server.requests) >= 3, "requests while it runs, not every 10 s")
        here.path("over").touch()
        assert p.wait(livelib.GUARD) == 0
    monkeypatch.delenv("OTEL_METRIC_EXPORT_INTERVAL")
    for name in ("OTEL_EXPORTER_OTLP_TIMEOUT", "OTEL_METRIC_EXPORT_INTERVAL",
                 "OTEL_EXPORTER_OTLP_COMPRESSION"):
        with monkeypatch.context() as one:
            _, r = run_with(here, one, {name: "soon"}, "otlp:URL,grace=60s")
        assert f"otlp: variable {name} is ignored (expected".encode() in r.err
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4317")
    status, _, err = here.call([here.toll, "run", "-o", "otlp:", "--", "true"])
    assert status == 125 and b"invalid URL in OTEL_EXPORTER_OTLP_ENDPOINT" in err


@needs("openssl")
def test_a_certificate(here, monkeypatch):
    key, certificate = sinklib.certificate(here.directory, "server")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", str(certificate))
    with sinklib.Server((200, b"", {}), context=context) as server:
        r = here.run(["true"], ["-o", f"otlp:{server.url},grace=60s"])
        assert r.status == 0 and r.summary["outputs"][0]["complete"], r.err
    assert json.dumps(r.summary)


@needs("openssl")
def test_a_certificate_of_the_client(here, monkeypatch):
    key, certificate = sinklib.certificate(here.directory, "server")
    own_key, own = sinklib.certificate(here.directory, "client")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", str(certificate))
    with sinklib.Server((200, b"", {}), context=sinklib.strict(key, certificate, own)) as server:
        r = here.run(["true"], ["-o", f"otlp:{server.url},grace=200ms"])
        assert r.status == 0 and r.summary["outputs"][0]["kept"], "it is asked for one"
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", str(own))
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_METRICS_CLIENT_KEY", str(own_key))
        r = here.run(["true"], ["-o", f"otlp:{server.url},grace=60s"])
        assert r.status == 0 and r.summary["outputs"][0]["complete"], r.err
    assert server.taken()
