# SPDX-License-Identifier: MIT
"""GPUs through the real command, with a fake of NVIDIA's library that says what a file tells it to
(tests/fakes/nvml.c): toll must give those figures to the digit, and survive what drivers do."""
import base64
import concurrent.futures
import csv
import gzip
import json
import os
import pathlib
import re
import shutil
import signal
import time

import pytest
from conftest import make_place
from livelib import (GUARD, IS_ROOT, SANITIZED, job_until, job_until_more, noted, recorded, records,
                     until)

FAKES = pathlib.Path(os.environ["TOLL_BUILD"]) / "tests/fakes"
VISIBLE = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
           "HIP_VISIBLE_DEVICES", "ZE_AFFINITY_MASK", "SLURM_JOB_GPUS")

FIGURES = """\
utilization 63
memory_controller 21
memory_total 42949672960
memory_used 1073741824
memory_reserved 524288000
power 250500
power_limit 400000
energy 123456789
temperature 71
clock_sm 1410
clock_memory 1215
encoder 5
decoder 7
throttle 4
"""
SAID = {
    "utilization_ratio": 0.63, "memory_controller_ratio": 0.21, "memory_total_bytes": 42949672960,
    "memory_used_bytes": 1073741824, "memory_reserved_bytes": 524288000, "power_watts": 250.5, "power_limit_watts": 400,
    "temperature_celsius": 71, "clock_sm_hertz": 1410000000, "clock_memory_hertz": 1215000000,
    "encoder_ratio": 0.05, "decoder_ratio": 0.07, "throttled": 1,
}
# Every error of the published interface that a function may return.
CODES = [1, 2, 3, 4, 6, 7, 9, 12, 13, 15, 17, 18, 25, 27, 999]
# What one function tells.
TOGETHER = {
    "utilization": ("utilization_ratio", "memory_controller_ratio"),
    "memory_total": ("memory_total_bytes", "memory_used_bytes", "memory_reserved_bytes"),
}
# As long as two looks take, of which there are ten in a second at most; one asks for the memory once
# or twice.
LOOKED = job_until(recorded(r"^0\.memory_total", 3, "$FAKE_NVML_ASKED"))
JOB = ["sh", "-c", LOOKED]
FRAME = r'"gpus":\['
KNOWN = job_until(recorded(FRAME))


@pytest.fixture(scope="module")
def side_by_side(programs):
    """Calls run(place, case) for many cases, some at a time, since they mostly wait. The results are in
    the order of the cases."""
    places = []

    def run_all(run, cases):
        def run_one(case):
            place = make_place("root" if IS_ROOT else "nobody", programs)
            places.append(place)
            return run(place, case)
        with concurrent.futures.ThreadPoolExecutor(1 if SANITIZED else 6) as pool:
            return list(pool.map(run_one, cases))
    yield run_all
    for place in places:
        shutil.rmtree(place.directory, ignore_errors=True)


class Driver:
    """The fake library, and what it says."""

    def __init__(self, place, facts, variant="nvml"):
        self.place = place
        self.facts = place.path("nvml")
        library = place.path("lib")
        library.mkdir()
        shutil.copy(FAKES / variant / "libnvidia-ml.so.1", library)
        library.chmod(0o755)
        self.say(facts)
        self.env = {k: v for k, v in os.environ.items() if k not in VISIBLE}
        self.env.update(LD_LIBRARY_PATH=str(library), FAKE_NVML=str(self.facts),
                        FAKE_NVML_ASKED=f"{self.facts}.asked")

    def say(self, facts):
        """In one piece: the library never sees half a file."""
        new = self.facts.with_suffix(".new")
        new.write_text(facts)
        new.chmod(0o666)
        new.replace(self.facts)

    def run(self, *options, job=JOB, **variables):
        return self.place.run(job, options, env={**self.env, **variables})

    def record(self, script, *options, **variables):
        """The same with a record, for a job that waits until something is in it."""
        return self.run("--gpus", "all", "-o", "run.jsonl", *options, job=["sh", "-c", script],
                        **variables)


def say(facts):
    """For a job: the driver says something else, in one piece."""
    return f"printf '{facts}' $$ >$FAKE_NVML.job; mv $FAKE_NVML.job $FAKE_NVML"


def gpu(result, name="nvidia0"):
    return next(g for g in result.summary["gpus"] if g["name"] == name)


def names(result):
    return [g["name"] for g in result.summary.get("gpus", [])]


def test_every_figure_to_the_digit(place):
    driver = Driver(place, "gpus 1\n" + FIGURES)
    result = driver.record(job_until(recorded(FRAME, 3)))
    assert result.status == 0
    figures = gpu(result)
    labels = {k: figures[k] for k in ("index", "vendor", "model", "uuid", "pci")}
    assert labels == {"index": "0", "vendor": "nvidia", "model": "Fake GPU 0",
                      "uuid": "GPU-fake-0", "pci": "0000:3b:00.0"}
    for metric, value in SAID.items():
        assert figures[metric]["max"] == figures[metric]["min"] == value, metric
    assert figures["energy_joules"]["total"] == 0  # it did not move
    assert figures["idle_seconds"]["total"] == 0
    assert figures["processes"]["max"] == 0
    samples = [s for s in records(place.path("run.jsonl"), "sample") if "gpus" in s]
    assert 2 <= len(samples) <= 10 * result.summary["wall_seconds"] + 2  # at most ten in a second
    for sample in samples:  # the energy may be read ahead of the rest, and then nothing else is known
        figures = sample["gpus"][0]
        assert figures["power_watts"] == 250.5 if "power_watts" in figures else not SAID.keys() & figures


def test_columns(here):
    """Of a CSV; the GPUs are known when its heading is written."""
    driver = Driver(here, "gpus 2\n" + FIGURES)
    result = driver.run("-m", "gpu_power_watts,target_gpu_memory_bytes", "--gpus", "0,1", "-o",
                        "run.csv")
    assert result.status == 0
    rows = list(csv.DictReader(here.path("run.csv").open()))
    assert {"gpu.nvidia0.power_watts", "gpu.nvidia1.power_watts",
            "target_gpu_memory_bytes"} <= set(rows[0])
    assert {r["gpu.nvidia1.power_watts"] for r in rows} <= {"250.5", ""}
    assert rows[0]["gpu.nvidia1.power_watts"] == "250.5"


@pytest.mark.parametrize("count", [0, 1, 8])
def test_number_of_gpus(here, count):
    driver = Driver(here, f"gpus {count}\n" + FIGURES)
    result = driver.record(KNOWN if count else job_until(noted("no GPU found")))
    assert result.status == 0
    assert names(result) == [f"nvidia{i}" for i in range(count)]
    told = [n for n in result.notes if "no GPU" in n]
    assert bool(told) == (count == 0)


def test_silent_unless_asked_for(here):
    """Without a sign of a driver the library is not even loaded."""
    result = Driver(here, "gpus 1\n" + FIGURES).run(job=["sleep", "0.2"])
    assert "gpus" not in result.summary
    assert not [m for m in result.summary["target"]["combined"] if "gpu" in m]
    assert not result.notes


def test_energy_grows(here):
    driver = Driver(here, "gpus 1\nenergy 5000000\n")
    script = [KNOWN, say(r"gpus 1\nenergy 5001234\n"), job_until(recorded('"energy_joules":1'))]
    assert gpu(driver.record("; ".join(script)))["energy_joules"]["total"] == 1.234


def test_energy_begins_anew(here):
    """The driver is loaded again: what was used before stays, and it counts on."""
    driver = Driver(here, "gpus 1\nenergy 5000000\n")
    script = "; ".join(
        f'printf "gpus 1\\nenergy {energy}\\n" >$FAKE_NVML.new; mv $FAKE_NVML.new $FAKE_NVML; '
        + job_until_more(f'"energy_joules":{joules}[,}}]', 3)
        for energy, joules in ((5002000, 2), (300, 2), (1300, 3)))
    result = driver.run("--gpus", "all", "-o", "run.jsonl", "-i", "100ms", job=["sh", "-c", script])
    assert gpu(result)["energy_joules"]["total"] == 3
    # What was used between the last reading and the end of the old counter is lost.
    assert gpu(result)["energy_joules"]["quality"] == "lower bound"


ENERGY = r"gpus 1\nenergy 5001000\nutilization 50\n"
USED = job_until(recorded('"energy_joules":1'))


@pytest.mark.parametrize("trouble", ["slow.energy 60000", "slow.utilization 60000",
                                     "error.energy 15", "error.energy 999"])
def test_energy_ends_before_the_run(here, trouble):
    """The driver hangs, or the GPU is lost, or its counter fails: what it used afterwards is not
    known, so the total is at least what was counted."""
    driver = Driver(here, "gpus 1\nenergy 5000000\nutilization 50\n")
    result = driver.record("; ".join([
        KNOWN, say(ENERGY), USED, say(ENERGY + trouble + r"\n"),
        job_until_more('"type":"sample"', 10), "sleep 0.3"]))
    energy = gpu(result)["energy_joules"]
    assert (energy["total"], energy["quality"]) == (1, "lower bound")
    assert result.summary["run_joules"]["quality"] == "lower bound"
    text = here.call([here.toll, "export", "-f", "text", "run.jsonl"])[1].decode()
    assert re.search(r"^  Energy +(≥ |>=)1.00 J GPUs", text, re.MULTILINE), text
    exported = here.call([here.toll, "export", "-f", "json", "run.jsonl"])[1]
    assert json.loads(exported)["run_joules"] == result.summary["run_joules"]


def test_energy_begins_after_the_run(here):
    """A driver that takes a second to begin does not know what was used in that second."""
    driver = Driver(here, "gpus 1\nslow.init 1200\nenergy 5000000\n")
    result = driver.record("; ".join([KNOWN, say(r"gpus 1\nenergy 5001000\n"), USED]))
    energy = gpu(result)["energy_joules"]
    assert (energy["total"], energy["quality"]) == (1, "lower bound")


def test_energy_of_the_whole_run(here):
    driver = Driver(here, "gpus 1\nenergy 5000000\n")
    result = driver.record("; ".join([KNOWN, say(r"gpus 1\nenergy 5001000\n")]))
    energy = gpu(result)["energy_joules"]
    samples = records(here.path("run.jsonl"), "sample")
    # A machine that is too busy to look at the beginning and at the end must say so.
    is_whole = "gpus" in samples[0] and "gpus" in samples[-1]
    qualities = ("exact", "sampled") if is_whole else ("lower bound",)
    assert energy["total"] == 1 and energy["quality"] in qualities
    assert result.summary["run_joules"]["gpu"] == 1
    assert result.summary["run_joules"]["quality"] == energy["quality"]


def test_idle_time(here):
    driver = Driver(here, "gpus 1\nutilization 0\n")
    result = driver.record("; ".join([
        job_until(recorded(r'"idle_seconds":(0\.[6-9]|[1-9])')),
        say(r"gpus 1\nutilization 50\n"), job_until(recorded('"utilization_ratio":0.5')), "sleep 0.6"]))
    idle = gpu(result)["idle_seconds"]["total"]
    assert 0.6 <= idle <= result.summary["wall_seconds"] - 0.6
    text = here.call([here.toll, "run", "-v", "--gpus", "all", "--", *JOB],
                      env={**driver.env})[2].decode()
    assert "nvidia0 idled 0 % of the time" in text


@pytest.mark.parametrize("stride", [16, 24, 32])
def test_processes(place, stride):
    """The job tells the driver its own pid and its child's, each in two lists."""
    driver = Driver(place, f"gpus 2\nstride {stride}\n")
    script = f"""
        sleep 100 & child=$!
        {{ printf 'gpus 2\\nstride {stride}\\n'
           echo 0.compute $$ 1000000; echo 0.graphics $$ 1000000; echo 0.compute 1 77
           echo 1.compute $child 2000000; echo 0.compute $child 500000
           echo 0.sample $$ 40 1000; echo 1.sample $child 25 1000
        }} >$FAKE_NVML.job; mv $FAKE_NVML.job $FAKE_NVML
        {job_until(recorded('"gpu_memory_bytes":3500000'))}; kill $child"""
    result = driver.record(script)
    assert result.status == 0
    assert result.largest("gpu_memory_bytes") == 3500000
    assert result.largest("gpu_memory_bytes", "main") == 1000000
    assert result.largest("gpu_memory_bytes", "descendants") == 2500000
    assert result.largest("gpu_utilization_ratio") == pytest.approx(0.65)
    assert result.largest("gpu_utilization_ratio", "main") == 0.40
    assert result.largest("gpus") == 2
    assert result.largest("gpus", "main") == 1
    assert result.largest("gpus", "descendants") == 2
    assert gpu(result)["processes"]["max"] == 3  # not only the job's
    assert result.quality("gpu_memory_bytes") == "sampled"


def test_memory_not_available_is_unknown(here):
    """2^64-1 is no number."""
    driver = Driver(here, "gpus 1\n0.compute 1 5\n")
    result = driver.record("; ".join([
        say(r"gpus 1\n0.compute 1 5\n0.compute %d none\n"),
        job_until(recorded(f'"gpu_memory_bytes":null.*{FRAME}', 3))]))
    assert result.largest("gpus") == 1
    last = [s for s in records(here.path("run.jsonl"), "sample") if "gpus" in s][-2]
    assert last["target"]["combined"]["gpu_memory_bytes"] is None
    # It had none while that was known, and then nothing is known: 0 would be invented.
    assert result.summary["target"]["combined"]["gpu_memory_bytes"] == UNKNOWN


UNKNOWN = {"quality": "unknown", "from": ""}
NO_MEMORY = '"gpu_memory_bytes":null'


def test_memory_that_becomes_unknown_is_a_lower_bound(here):
    driver = Driver(here, "gpus 1\n0.compute 1 5\n")
    result = driver.record("; ".join([
        say(r"gpus 1\n0.compute %d 4294967296\n"),
        job_until(recorded('"gpu_memory_bytes":4294967296', 3)),
        say(r"gpus 1\n0.compute %d none\n"), job_until(recorded(f"{NO_MEMORY}.*{FRAME}", 8)),
        "sleep 0.5"]))
    figures = result.summary["target"]["combined"]["gpu_memory_bytes"]
    assert (figures["max"], figures["quality"]) == (4294967296, "lower bound")
    text = here.call([here.toll, "export", "-f", "text", "run.jsonl"])[1].decode()
    assert "≥ 4.00 GiB" in text


def test_figures_that_become_unknown_are_lower_bounds(here):
    """Of the device: each stops to answer in the middle, and what was seen before stays a bound."""
    driver = Driver(here, "gpus 1\n" + FIGURES)
    result = driver.record("; ".join([
        KNOWN, say(r"gpus 1\nerror.utilization 3\nerror.temperature 999\npower 250500\n"),
        job_until(recorded('"driver":"[^"]*","idle_seconds"', 3))]))
    figures = gpu(result)
    for metric in ("utilization_ratio", "temperature_celsius", "memory_used_bytes"):
        assert figures[metric]["quality"] == "lower bound", metric
        assert figures[metric]["max"] == SAID[metric]
    assert figures["power_watts"]["quality"] == "sampled"
    assert figures["idle_seconds"] == UNKNOWN  # at least 0 seconds says nothing
    exported = here.call([here.toll, "export", "-f", "json", "run.jsonl"])[1]
    assert json.loads(exported)["gpus"] == result.summary["gpus"]
    text = " ".join(here.call([here.toll, "export", "-f", "text", "run.jsonl"])[1].decode().split())
    assert re.search(r"nvidia0 63 % busy, memory ≥ 1.00 of 40.0 GiB, 251 of 400 W, throttled, "
                     r"watched (\d+ %|a part) of the time", text), text


def test_many_of_which_some_become_unknown(here):
    facts = r"gpus 4\nutilization 63\nmemory_total 42949672960\nmemory_used 1073741824\n"
    driver = Driver(here, facts.replace(r"\n", "\n"))
    silent = r"2.error.utilization 3\n2.error.memory_total 3\n"
    result = driver.record("; ".join([KNOWN, say(facts + silent), job_until_more(FRAME, 8)]))
    assert gpu(result, "nvidia2")["memory_used_bytes"]["quality"] == "lower bound"
    assert gpu(result, "nvidia3")["memory_used_bytes"]["quality"] == "sampled"
    text = " ".join(here.call([here.toll, "export", "-f", "text", "run.jsonl"])[1].decode().split())
    assert "4, 63 % busy, memory up to ≥ 1.00 of 40.0 GiB" in text, text
    assert "1 of 4 watched a part of the time" in text, text


BEGINNINGS = [(call, code) for call in ("init", "count") for code in CODES]


@pytest.fixture(scope="module")
def beginnings(side_by_side):
    def run(place, case):
        driver = Driver(place, "gpus 1\nerror.%s %d\n" % case)
        return driver.record(job_until(noted(f"error {case[1]},")))
    return side_by_side(run, BEGINNINGS)


@pytest.mark.parametrize("case", range(len(BEGINNINGS)), ids=["%s-%d" % b for b in BEGINNINGS])
def test_errors_of_the_beginning(beginnings, case):
    code, result = BEGINNINGS[case][1], beginnings[case]
    assert result.status == 0
    assert "gpus" not in result.summary
    assert [n for n in result.notes if f"error {code}," in n], result.notes


def test_one_of_several_does_not_answer(here):
    result = Driver(here, f"gpus 3\n{FIGURES}1.error.handle 15\n").run("--gpus", "all")
    assert names(result) == ["nvidia0", "nvidia2"]
    assert [n for n in result.notes if "GPU 1 does not respond (error 15" in n]


ERRORS = {
    "utilization": "utilization_ratio", "memory_total": "memory_used_bytes", "power": "power_watts",
    "energy": "energy_joules", "temperature": "temperature_celsius", "clock_sm": "clock_sm_hertz",
    "clock_memory": "clock_memory_hertz", "encoder": "encoder_ratio", "decoder": "decoder_ratio",
    "throttle": "throttled", "compute": "processes"}


@pytest.fixture(scope="module")
def with_errors(side_by_side):
    def run(place, key):
        facts = "".join(f"{i}.error.{key} {code}\n" for i, code in enumerate(CODES))
        driver = Driver(place, f"once 1\ngpus {len(CODES) + 1}\n{FIGURES}{facts}")
        return driver.record(job_until(recorded(FRAME, 3)))
    return dict(zip(ERRORS, side_by_side(run, ERRORS)))


@pytest.mark.parametrize("key, metric", ERRORS.items())
def test_errors_of_a_figure(with_errors, key, metric):
    """Each GPU fails with another code: that figure is unknown, all others are as they were told;
    but code 15 means that all of the GPU is gone."""
    result = with_errors[key]
    lost = CODES.index(15)
    left = [f"nvidia{i}" for i in range(len(CODES) + 1) if i != lost]
    assert [name for name in names(result) if name != f"nvidia{lost}"] == left
    assert [n for n in result.notes if f"GPU {lost} (GPU-fake-{lost}) is lost" in n]
    if f"nvidia{lost}" in names(result):  # its energy was read ahead, before it was lost
        assert all(gpu(result, f"nvidia{lost}")[m]["quality"] == "unknown" for m in SAID)
    for name in left:
        known = name == f"nvidia{len(CODES)}"
        figures = gpu(result, name)
        if not known:
            assert figures[metric] == {"quality": "unknown", "from": ""}, name
        for other, value in SAID.items():
            if known or other not in TOGETHER.get(key, (metric,)):
                assert figures[other]["max"] == value, (name, other)


def test_errors_are_noted_once(here):
    """That a figure fails is said, with the error; that a board does not have it is not."""
    facts = f"gpus 2\n{FIGURES}error.temperature 999\nerror.power 4\nerror.encoder 3\n"
    result = Driver(here, facts).record(job_until(recorded(FRAME, 4)))
    noted_errors = sorted(n for n in result.notes if "cannot read" in n)
    assert len(noted_errors) == 2, result.notes
    assert "cannot read power (error 4, an error of the fake)" in noted_errors[0] + noted_errors[1]
    assert "cannot read temperature (error 999, " in noted_errors[0] + noted_errors[1]


def test_files_have_the_number_of_the_gpu(here):
    """As the machine counts them, when only one of them is measured."""
    result = Driver(here, "gpus 3\n2.utilization 60\n" + FIGURES).run(
        "--gpus", "2", "-o", "jobstats:js", "-o", "run.jsonl", "-o", "@sweep:hw_dmon.csv", job=["sh", "-c", job_until(recorded(FRAME))])
    assert result.status == 0
    text = gzip.decompress(base64.b64decode(here.path("js").read_text()[len("JS1:"):]))
    [node] = json.loads(text)["nodes"].values()
    assert set(node["gpu_utilization"]) == set(node["gpu_total_memory"]) == {"2"}
    rows = [line for line in here.path("hw_dmon.csv").read_text().splitlines() if not line.startswith("#")]
    assert rows and {row.split()[0] for row in rows} == {"2"}


def test_memory_of_the_machine(here):
    """A GPU without memory of its own has 0 of 0: that is unknown."""
    result = Driver(here, "gpus 1\nutilization 5\nmemory_total 0\n").run("--gpus", "all")
    for metric in ("memory_total_bytes", "memory_used_bytes", "memory_reserved_bytes"):
        assert gpu(result)[metric] == UNKNOWN


def test_legacy_names_of_instances(here):
    facts = ("gpus 1\n0.mig 2\n0:0.gpu_instance 7\n0:1.gpu_instance 9\n0:1.compute_instance 1\n"
             "memory_total 10\n")
    driver = Driver(here, facts)
    result = driver.run("--gpus", "visible", CUDA_VISIBLE_DEVICES="MIG-GPU-fake-0/9/1")
    assert names(result) == ["nvidia0:1"]


def test_every_lost_gpu_is_told(here):
    place = here
    driver = Driver(place, "gpus 3\nutilization 50\n")
    result = driver.record("; ".join([
        KNOWN, say(r"gpus 3\nutilization 50\n0.error.utilization 15\n2.error.utilization 15\n"),
        job_until(noted("is lost", 2))]))
    told = sorted(n.split("(")[0] for n in result.notes if "is lost" in n)
    assert told == ["NVIDIA GPU 0 ", "NVIDIA GPU 2 "]
    assert gpu(result, "nvidia0")["utilization_ratio"]["last"] == 0.5


def test_lost_in_the_middle(here):
    driver = Driver(here, "gpus 1\nutilization 50\n")
    result = driver.record("; ".join([KNOWN, say(r"gpus 1\nerror.utilization 15\n"),
                                      job_until(noted("is lost")), "sleep 0.2; exit 3"]))
    assert result.status == 3
    assert gpu(result)["utilization_ratio"]["last"] == 0.5
    assert len([n for n in result.notes if "is lost" in n]) == 1


def test_slow_to_begin_costs_figures_alone(here):
    driver = Driver(here, "gpus 1\nslow.init 1600\nutilization 50\n")
    result = driver.record(KNOWN)
    told = ["gpus" in s for s in records(here.path("run.jsonl"), "sample")]
    assert told.index(True) > 3  # sampling went on
    assert [n for n in result.notes if "driver of NVIDIA GPUs (NVML) is slow to start" in n]


def test_a_driver_that_hangs(place):
    """Neither the job nor toll's end waits for it."""
    driver = Driver(place, "gpus 1\nutilization 50\nslow.utilization 60000\n")
    began = time.monotonic()
    result = driver.record(job_until(noted("do not respond in time")) + "; exit 4")
    assert time.monotonic() - began < 30  # the call takes a minute
    assert result.status == 4
    assert "gpus" not in result.summary
    assert [n for n in result.notes if "NVIDIA GPUs (NVML) do not respond in time" in n]
    assert len(records(place.path("run.jsonl"), "sample")) > 5


def test_hangs_in_the_middle(here):
    """What was known before is no answer for later."""
    driver = Driver(here, "gpus 1\nutilization 50\n0.compute 1 5\n")
    unknown = r'"combined":\{[^}]*"gpu_memory_bytes":null'
    result = driver.record("; ".join([
        KNOWN, say(r"gpus 1\nutilization 50\n0.compute 1 5\nslow.utilization 60000\n"),
        job_until(noted("do not respond in time")), job_until_more(unknown, 5)]))
    assert result.status == 0
    samples = records(here.path("run.jsonl"), "sample")
    figures = [s["target"]["combined"]["gpu_memory_bytes"] for s in samples]
    assert 0 in figures  # the job had none, while that was known …
    assert figures[-6:-1] == [None] * 5


def test_slow_calls(here):
    """A frame that takes a third of a second is one of every few samples, which go on."""
    place = here
    driver = Driver(place, "gpus 1\nutilization 50\nslow.power 350\npower 1000\n")
    result = driver.record(job_until(recorded(FRAME, 3)), "-i", "50ms")
    samples = records(place.path("run.jsonl"), "sample")
    told = [s for s in samples if "gpus" in s]
    assert 3 <= len(told) <= result.summary["wall_seconds"] / 0.35 + 2
    assert len(samples) > 2 * len(told)
    assert gpu(result)["power_watts"]["max"] == 1
    assert not result.notes


@pytest.mark.parametrize("call", ["init", "utilization"])
def test_a_library_that_crashes(place, call):
    """It costs its figures, not the job nor the account of it."""
    driver = Driver(place, f"gpus 1\n{FIGURES}crash.{call} 1\n")
    result = driver.record("; ".join([
        "head -c 70000 /dev/zero >out", job_until(noted("library .NVML. crashed")),
        job_until(recorded('"type":"sample"', 6)), "exit 3"]))
    assert result.status == 3
    for figures in result.summary.get("gpus", []):  # its energy may have been read before
        assert all(f == UNKNOWN for f in figures.values() if isinstance(f, dict))
    assert result.total("io_written_bytes") == 70000
    assert result.quality("io_written_bytes") == "exact if reaped"
    assert result.summary["target"]["combined"]["gpu_memory_bytes"]["quality"] == "unknown"
    assert len(records(place.path("run.jsonl"), "sample")) > 5
    assert len([n for n in result.notes if "crashed" in n]) == 1


def test_crashes_in_the_middle(here):
    place = here
    driver = Driver(place, "gpus 1\nutilization 50\nenergy 5000000\n")
    result = driver.record("; ".join([
        KNOWN, say(ENERGY), USED, say(ENERGY + r"crash.utilization 1\n"),
        job_until(noted("crashed; figures of its GPUs end here")),
        job_until(recorded(NO_MEMORY + f".*{NO_MEMORY}", 3)), "exit 5"]))
    assert result.status == 5
    assert gpu(result)["utilization_ratio"]["last"] == 0.5
    energy = gpu(result)["energy_joules"]
    assert (energy["total"], energy["quality"]) == (1, "lower bound")


def test_a_library_that_prints(here):
    """What a program writes is what its readers get: nothing of the driver's is in it."""
    driver = Driver(here, f"gpus 1\n{FIGURES}print unwanted words\n")
    command = [here.toll, "run", "--gpus", "all", "--summary", "none", "--", "echo", "wanted"]
    assert here.call(command, env=driver.env)[1:] == (b"wanted\n", b"")


def test_a_library_that_uses_cpu_time(here):
    """It is part of what measuring took, and not of the job."""
    driver = Driver(here, "gpus 1\nutilization 50\nburn.utilization 30\n")
    result = driver.record(job_until(recorded(FRAME, 2)))
    assert result.quality("cpu_seconds") == "exact if reaped"
    assert result.summary["self"]["cpu_seconds"]["total"] >= 2 * 0.03
    truth = driver.run("--gpus", "all", job=["sleep", "0.5"])  # which uses next to nothing itself
    assert truth.summary["self"]["cpu_seconds"]["total"] >= 0.03
    assert truth.total("cpu_seconds") < 0.03


def test_a_slow_driver(here):
    """Each call takes 50 ms, and there are 16 GPUs: their energy is read first, side by side, and
    alone at the end. A job of two looks has all of it."""
    slow = "".join(f"slow.{key} 50\n" for key in (
        "energy", "utilization", "memory_total", "power", "temperature", "clock_sm", "clock_memory",
        "encoder", "decoder", "throttle", "list_v3", "compute", "graphics", "mps", "sample"))
    driver = Driver(here, f"gpus 16\nenergy 5000000\nutilization 50\n{slow}")
    result = driver.record("; ".join([
        job_until(recorded('"utilization_ratio":0.5', 1)),
        "sed s/5000000/8868750/ $FAKE_NVML >$FAKE_NVML.job", "mv $FAKE_NVML.job $FAKE_NVML"]))
    assert result.summary["run_joules"]["gpu"] in (16 * 3868.75, None)
    energy = [g["energy_joules"] for g in result.summary["gpus"]]
    # A machine too busy to wait for the last counters must say that something is missing.
    assert all(e.get("total") == 3868.75 or e["quality"] in ("lower bound", "unknown")
               for e in energy)


@pytest.mark.parametrize("options", [["--gpus", "all"], ["--gpus", "all", "-q"]])
def test_a_library_that_cannot_be_loaded_in_time(here, options):
    """While it is loaded a lock of the program is held, which its end must not wait for."""
    place = here
    driver = Driver(place, "gpus 1\nslow.load 60000\n")
    began = time.monotonic()
    result = driver.run(*options, job=["sh", "-c", "sleep 0.3; exit 4"])
    assert time.monotonic() - began < 30
    assert result.status == 4


@pytest.mark.skipif(SANITIZED, reason="sanitizers have a hand in these signals")
@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGUSR1])
def test_signals_reach_the_job(here, number):
    """Also those that a fault in the thread that reads GPUs would raise; not those of the job."""
    place = here
    driver = Driver(place, "gpus 1\nutilization 50\n")
    script = (f"trap 'exit 7' {int(number)}; kill -{int(number)} $PPID; sleep 0.5; : >ready; "
              "while :; do sleep 0.1; done")
    with place.popen([place.toll, "run", "-q", "--gpus", "all", "--", "sh", "-c", script],
                     env=driver.env) as toll:
        while not place.path("ready").exists():
            assert toll.poll() is None
            time.sleep(0.01)
        toll.send_signal(number)
        assert toll.wait(60) == 7


def test_the_job_inherits_nothing(here):
    """Not what the library has opened without thinking of children."""
    place = here
    plain = Driver(place, "gpus 1\nleak 1\n")
    job = ["sh", "-c", "ls /proc/self/fd | wc -l >count"]
    plain.run("--gpus", "none", job=job)
    without = place.path("count").read_text()
    plain.run("--gpus", "all", job=job)
    assert place.path("count").read_text() == without


def test_old_driver(here):
    result = Driver(here, "gpus 1\n" + FIGURES, "nvml-old").run("--gpus", "all")
    figures = gpu(result)
    assert figures["utilization_ratio"]["max"] == 0.63
    assert figures["energy_joules"]["quality"] == "unknown"


def test_stub_library(here):
    driver = Driver(here, "gpus 1\n", "nvml-stub")
    result = driver.record(job_until(noted("stub")))
    assert [n for n in result.notes if "stub" in n]


def test_divided_gpu(here):
    facts = """\
gpus 1
0.mig 2
energy 5000
power 100000
0:1.compute 1 7000
0.compute 1 7000
utilization 0
0:0.memory_total 21474836480
0:0.memory_used 5000
0:1.memory_total 21474836480
0:1.memory_used 7000
"""
    result = Driver(here, facts).run("--gpus", "all")
    assert names(result) == ["nvidia0", "nvidia0:0", "nvidia0:1"]
    assert gpu(result)["utilization_ratio"]["quality"] == "unknown"  # and not 0
    assert gpu(result, "nvidia0:1")["memory_used_bytes"]["max"] == 7000
    assert gpu(result, "nvidia0:1")["instance"] == "1"
    assert gpu(result, "nvidia0:1")["uuid"] == "MIG-fake-0:1"
    assert gpu(result)["power_watts"]["max"] == 100
    for instance in ("nvidia0:0", "nvidia0:1"):  # the board's is not theirs once more
        assert gpu(result, instance)["power_watts"]["quality"] == "unknown"
        assert gpu(result, instance)["energy_joules"]["quality"] == "unknown"
    assert gpu(result, "nvidia0:1")["processes"]["max"] == 1
    assert result.summary["run_joules"]["gpu"] == 0
    assert result.largest("gpu_memory_bytes") == 0  # known: instances tell of the job's processes


def test_processes_of_instances(here):
    place = here
    driver = Driver(place, "gpus 1\n0.mig 2\n")
    script = f"""printf 'gpus 1\\n0.mig 2\\n0:0.compute %d 3000\\n0:1.compute %d 40\\n0.compute %d 3040\\n' \
                       $$ $$ $$ >$FAKE_NVML.job; mv $FAKE_NVML.job $FAKE_NVML
                 {job_until(recorded('"gpu_memory_bytes":3040'))}"""
    result = driver.record(script)
    assert result.largest("gpu_memory_bytes") == 3040
    assert result.largest("gpus") == 2


# ---- Which ones -------------------------------------------------------------------------------


SELECTIONS = [
    (["--gpus", "all"], {"CUDA_VISIBLE_DEVICES": "1"}, [0, 1, 2]),
    (["--gpus", "visible"], {}, [0, 1, 2]),
    (["--gpus", "visible"], {"CUDA_VISIBLE_DEVICES": "2,0"}, [0, 2]),
    (["--gpus", "visible"], {"CUDA_VISIBLE_DEVICES": ""}, []),
    (["--gpus", "visible"], {"CUDA_VISIBLE_DEVICES": "GPU-fake-1"}, [1]),
    (["--gpus", "visible"], {"CUDA_VISIBLE_DEVICES": "2,-1,0"}, [2]),
    (["--gpus", "visible"], {"NVIDIA_VISIBLE_DEVICES": "all"}, [0, 1, 2]),
    (["--gpus", "visible"], {"NVIDIA_VISIBLE_DEVICES": "7"}, [0, 1, 2]),
    (["--gpus", "visible"], {"NVIDIA_VISIBLE_DEVICES": "2,3"}, [0, 1, 2]),
    (["--gpus", "visible"], {"NVIDIA_VISIBLE_DEVICES": "void"}, [0, 1, 2]),
    (["--gpus", "visible"], {"CUDA_VISIBLE_DEVICES": "1,5,0"}, [1]),
    (["--gpus", "visible"], {"SLURM_JOB_GPUS": "1,2"}, [1, 2]),
    (["--gpus", "visible"], {"ROCR_VISIBLE_DEVICES": "1"}, [0, 1, 2]),
    (["--gpus", "1"], {"CUDA_VISIBLE_DEVICES": "0"}, [1]),
    (["--gpus", "GPU-fake-2,0"], {}, [0, 2]),
    (["--gpus", "nvidia1"], {}, [1]),
    (["--gpus", "none"], {}, []),
    (["-m", "gpu_*"], {}, [0, 1, 2]),
]


@pytest.fixture(scope="module")
def selections(side_by_side):
    def run(place, case):
        options, variables, expected = case
        driver = Driver(place, "gpus 3\n" + FIGURES)
        job = KNOWN if expected else "sleep 0.2"
        return driver.run(*options, "-o", "run.jsonl", job=["sh", "-c", job], **variables)
    return side_by_side(run, SELECTIONS)


@pytest.mark.parametrize("case", range(len(SELECTIONS)),
                         ids=["-".join([*o[1:], *map("=".join, v.items())]) for o, v, _ in SELECTIONS])
def test_selection(selections, case):
    assert names(selections[case]) == [f"nvidia{i}" for i in SELECTIONS[case][2]]


@pytest.mark.parametrize("which, words", [
    ("GPU-unknown", ["GPU-unknown", "nvidia0 (GPU-fake-0)", "nvidia1 (GPU-fake-1)"]),
    ("0,5", ["'5'", "nvidia0 (GPU-fake-0)"]),
    ("some", ["'some'", "'all', 'none', 'visible'"]),
    ("", ["all", "none", "visible"]),
    (",", ["all", "none", "visible"]),
    ("all,0", ["'all,0'", "'all', 'none', 'visible'"]),
])
def test_unknown_gpu(here, which, words):
    driver = Driver(here, "gpus 2\n" + FIGURES)
    mark = here.path("mark")
    result = driver.run("--gpus", which, job=["touch", mark])
    assert result.status == 125
    assert not mark.exists()  # nothing ran
    for word in words:
        assert word in result.err.decode()


def test_named_without_any(here):
    result = Driver(here, "gpus 0\n").run("--gpus", "0")
    assert result.status == 125
    assert "no GPU found" in result.err.decode()


# ---- What must not change -----------------------------------------------------------------------


def test_accounts_stay_exact(place):
    """The thread that reads GPUs reads files: none of that is the job's."""
    driver = Driver(place, "gpus 4\n" + FIGURES)
    job = ["sh", "-c", "head -c 300000 /dev/zero >out; sleep 0.6; head -c 100000 out >/dev/null"]
    plain = driver.run("--gpus", "none", job=job)
    read = driver.run("--gpus", "all", job=job)
    for metric in ("io_read_bytes", "io_written_bytes", "io_read_calls", "io_write_calls"):
        assert read.total(metric) == plain.total(metric), metric
        assert read.quality(metric) == "exact if reaped"


@pytest.mark.skipif(not IS_ROOT, reason="a pid namespace needs root")
def test_in_a_pid_namespace(here):
    """The driver counts as the machine does; toll in a namespace cannot tell whose pid it is."""
    place = here
    driver = Driver(place, "gpus 1\nutilization 50\n0.compute 3 1000\n")
    status, _, err = place.call(
        ["unshare", "--pid", "--fork", "--mount-proc", place.toll, "run", "--gpus", "all",
         "--summary", "none", "-o", place.path("run.json"), "--", *JOB], env=driver.env)
    assert status == 0, err
    summary = json.loads(place.path("run.json").read_text())
    assert summary["gpus"][0]["scope"] == "device"
    assert summary["gpus"][0]["utilization_ratio"]["max"] == 0.5
    assert summary["target"]["combined"]["gpu_memory_bytes"]["quality"] == "unknown"
    assert [n for n in summary["notes"] if "scope: device" in n]


@pytest.mark.skipif(not IS_ROOT, reason="a pid namespace needs root")
@pytest.mark.parametrize("listed", ["0.compute 999983 4294967296", "# nothing"])
def test_unknown_in_a_pid_namespace(here, listed):
    """The job opens the GPU after a while. The driver lists a pid that nobody here has, or, as
    some do in a container, nothing at all: what the job has is unknown, not the 0 of before."""
    place = here
    driver = Driver(place, "gpus 1\nutilization 50\n0.sample 1 5 1\n")
    job = "; ".join([
        job_until(recorded('"gpu_memory_bytes":0', 3)), "exec 3</dev/nvidia0",
        say(r"gpus 1\nutilization 50\n" + listed + r"\n0.sample 999983 37 90000000\n"),
        job_until(recorded(f"{NO_MEMORY}.*{FRAME}", 8)), "sleep 0.5"])
    inner = " ".join(map(str, [
        place.toll, "run", "--gpus", "all", "--summary", "none", "-o", place.path("run.json"), "-o",
        "run.jsonl", "--", "sh", place.path("job.sh")]))
    place.path("job.sh").write_text(job)
    setup = ("mkdir dev && mount -t tmpfs tmpfs dev && cp -a /dev/null /dev/zero dev && "
             ": >dev/nvidia0 && mount --move dev /dev && ")
    status, _, err = place.call(
        ["unshare", "--pid", "--mount", "--fork", "--mount-proc", "sh", "-c", setup + inner],
        env=driver.env)
    assert status == 0, err
    summary = json.loads(place.path("run.json").read_text())
    assert summary["target"]["combined"]["gpu_memory_bytes"] == UNKNOWN
    assert summary["target"]["combined"]["gpu_utilization_ratio"] == UNKNOWN
    assert summary["gpus"][0]["scope"] == "device"


@pytest.mark.skipif(not IS_ROOT, reason="a pid namespace needs root")
def test_pids_of_a_namespace_below(here):
    """The driver calls the job by a number that NSpid has beside the one that toll sees."""
    place = here
    driver = Driver(place, "gpus 1\n0.compute 1 4000\n")
    inner = ["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c",
             job_until(recorded('"gpu_memory_bytes":4000'))]
    status, _, err = place.call(
        ["unshare", "--pid", "--fork", "--mount-proc", place.toll, "run", "--gpus", "all",
         "--summary", "none", "-o", place.path("run.json"), "-o", "run.jsonl", "--", *inner],
        env=driver.env)
    assert status == 0, err
    summary = json.loads(place.path("run.json").read_text())
    assert summary["target"]["combined"]["gpu_memory_bytes"]["max"] == 4000
    assert summary["target"]["descendants"]["gpu_memory_bytes"]["max"] == 4000


def test_attached(place):
    driver = Driver(place, "gpus 1\n" + FIGURES)
    with place.popen(["sleep", "60"]) as job:
        try:
            driver.say(f"gpus 1\n{FIGURES}0.compute {job.pid} 4096\n")
            record = place.path("run.jsonl")
            with place.popen([place.toll, "attach", "--gpus", "all", "-i", "100ms", "-q", "-o",
                              record, "-o", place.path("run.json"), str(job.pid)],
                             env=driver.env) as toll:
                until(lambda: record.exists() and '"gpu_memory_bytes":4096' in record.read_text(),
                      "a sample with the GPU")
                toll.send_signal(signal.SIGINT)
                assert toll.wait(GUARD) == 0
        finally:
            job.kill()
    combined = json.loads(place.path("run.json").read_text())["target"]["combined"]
    assert combined["gpu_memory_bytes"]["max"] == 4096


@pytest.mark.parametrize("then", ["", "slow.utilization 60000\n"], ids=["idle", "in a driver that hangs"])
def test_the_helper_ends_with_toll(place, then):
    """Nothing of toll stays when toll itself is killed: the process that calls the driver ends as
    well, whatever the driver does."""
    def helpers_of(pid):
        children = [int(child) for task in pathlib.Path(f"/proc/{pid}/task").iterdir()
                    for child in (task / "children").read_text().split()]
        return [c for c in children if pathlib.Path(f"/proc/{c}/comm").read_text() == "toll-gpu\n"]

    def lives(pid):
        try:
            return "\nState:\tZ" not in pathlib.Path(f"/proc/{pid}/status").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return False
    driver = Driver(place, "gpus 1\n" + FIGURES)
    with place.popen(["sleep", "60"]) as job:
        record = place.path("run.jsonl")
        with place.popen([place.toll, "attach", "--gpus", "all", "-i", "100ms", "-q", "-o", record,
                          str(job.pid)], env=driver.env) as toll:
            until(lambda: record.exists() and '"gpus":[' in record.read_text(), "a sample")
            helpers = helpers_of(toll.pid)
            assert len(helpers) == 1
            asked = pathlib.Path(driver.env["FAKE_NVML_ASKED"])
            size = asked.stat().st_size  # any call after this may be the one that hangs
            driver.say(f"gpus 1\n{FIGURES}{then}")
            if then:
                until(lambda: asked.read_text()[size:].endswith("0.utilization\n"),
                      "a call that hangs")
            toll.kill()
        until(lambda: not lives(helpers[0]), "the end of the helper")
        job.kill()


def test_system(here):
    driver = Driver(here, "gpus 2\n" + FIGURES)
    printed, summary = here.path("printed"), here.path("summary")
    with printed.open("wb") as out, summary.open("wb") as err, here.popen(
            [here.toll, "system", "--gpus", "all", "-i", "100ms"], stdout=out, stderr=err,
            env=driver.env) as toll:
        until(lambda: "nvidia1  busy 63%  memory busy 21%  memory 1.00 GiB  251W  71°C  1.4GHz" in printed.read_text(),
              "a line with the figures of a GPU")
        toll.send_signal(signal.SIGINT)
        assert toll.wait(GUARD) == 0, summary.read_text()
    assert "nvidia0" in summary.read_text() and "nvidia1" in summary.read_text()
    lines = printed.read_text()
    assert max(len(line) for line in lines.splitlines() if "nvidia" in line) <= 80
