# SPDX-License-Identifier: MIT
"""GPUs through the real command where only the vendor's own command is there (tests/fakes/smi): toll
gives what it prints, to the digit, and the job never notices it."""
import os
import pathlib
import shutil

import pytest
from livelib import job_until, recorded

FAKES = pathlib.Path(__file__).parent.parent / "fakes"
VISIBLE = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
           "SLURM_JOB_GPUS")
MIB = 1 << 20
def job(*patterns):
    """It tells the command its pid, and waits until the record has what the command said then."""
    waits = (job_until(recorded(pattern)) for pattern in patterns)
    return ["sh", "-c", "; ".join(["echo $$ >pid.new; mv pid.new pid", *waits])]


def run(place, command, job, **variables):
    """With that command in front of PATH, where every user can run it."""
    folder = place.path("bin")
    folder.mkdir()
    folder.chmod(0o755)
    shutil.copy(FAKES / command, folder)
    env = {k: v for k, v in os.environ.items() if k not in VISIBLE}
    env.update(PATH=f"{folder}:{env['PATH']}", FAKE_SMI_PIDFILE=str(place.path("pid")), **variables)
    return place.run(job, ["--gpus", "all", "-o", "run.jsonl"], env=env)


def gpu(result, name):
    return next(g for g in result.summary["gpus"] if g["name"] == name)


@pytest.mark.parametrize("driver", ["545", "550", "560"])
def test_nvidia_smi(here, driver):
    both = f'"main":\\{{[^}}]*"gpu_memory_bytes":{1024 * MIB},"gpu_utilization_ratio":0.45'
    result = run(here, "smi/nvidia-smi", job(both), FAKE_SMI_DRIVER=driver)
    assert result.status == 0
    first, second = gpu(result, "nvidia0"), gpu(result, "nvidia1")
    assert first["pci"] == "0000:3b:00.0"
    assert first["uuid"] == "GPU-5a1c0000-1111-2222-3333-444455556666"
    for name, value in {"utilization_ratio": 0.37, "memory_used_bytes": 1517 * MIB,
                        "memory_total_bytes": 40960 * MIB, "power_watts": 61.25,
                        "temperature_celsius": 41, "clock_sm_hertz": 1410000000}.items():
        assert first[name]["max"] == first[name]["min"] == value, name
    for name in ("utilization_ratio", "memory_used_bytes", "power_watts"):
        assert second[name]["quality"] == "unknown", name
    assert second["memory_total_bytes"]["max"] == 40960 * MIB
    main = result.summary["target"]["main"]
    assert main["gpu_memory_bytes"]["max"] == 1024 * MIB
    assert main["gpu_utilization_ratio"]["max"] == 0.45
    assert main["gpus"]["max"] == 1


def test_the_job_does_not_pay(here):
    """Commands come and go while it runs; they are no processes of the job, nor is their work."""
    script = ["sh", "-c", "sleep 2.5; read all </proc/$PPID/task/$PPID/children; "
              "for p in $all; do read name </proc/$p/comm && echo $name; done >children"]
    result = run(here, "smi/nvidia-smi", script, FAKE_SMI_TROUBLE="burn")
    assert result.total("processes_started") <= 2  # sh, sleep
    # Each command takes some tenths of a second, and the job some thousandths.
    assert result.total("cpu_seconds") < 0.1
    assert result.quality("cpu_seconds") == "exact if reaped"
    children = here.path("children").read_text().split()
    assert "sh" in children and "nvidia-smi" not in children


def test_one_that_hangs(here):
    """The run is as long as the job, and the report says why there is nothing."""
    result = run(here, "smi/nvidia-smi", ["sleep", "0.3"], FAKE_SMI_TROUBLE="hang")
    assert result.status == 0
    assert result.summary["wall_seconds"] < 5  # the command would take 1000 s
    assert not result.summary.get("gpus")


def test_nothing_to_be_had(here):
    result = run(here, "smi/nvidia-smi", ["sleep", "0.5"], FAKE_SMI_TROUBLE="mismatch")
    assert result.status == 0
    assert not result.summary.get("gpus")


@pytest.mark.parametrize("command", ["smi/amd-smi", "smi-rocm/rocm-smi"])
def test_amd(here, command):
    result = run(here, command, job(r'"gpus":\['))
    device = gpu(result, "amd0")
    assert device["utilization_ratio"]["max"] == 0.37
    assert device["temperature_celsius"]["max"] == 41
    used = 1811 * MIB if command == "smi/amd-smi" else 1811939328
    assert device["memory_used_bytes"]["max"] == used
    assert result.summary["target"]["combined"]["gpu_memory_bytes"]["quality"] == "unknown"
