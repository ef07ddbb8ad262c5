# SPDX-License-Identifier: MIT
"""GPUs of two vendors in one machine, of which NVIDIA's driver (tests/fakes/nvml.c) hangs: that costs
its own figures and what is added up over all, never AMD's (written files, as in test_gpu_files)."""
import os
import pathlib
import shlex
import subprocess
import time

from livelib import job_until, job_until_more, noted, recorded, records
from test_gpu_files import AMD, GUARD, TOLL, UNSHARE, gpu, pytestmark, run, write  # noqa: F401

LIBRARY = str(pathlib.Path(os.environ["TOLL_BUILD"]) / "tests/fakes/nvml")
HANGS = 60000  # milliseconds
UNKNOWN = r'"combined":\{[^}]*"gpu_memory_bytes":null'  # of the whole job
BUSY = '"$D/class/drm/card0/device/gpu_busy_percent"'


def run_both(tmp_path, said, script, **options):
    facts = tmp_path / "nvml"
    facts.write_text(said)
    return run(tmp_path, AMD, script, "amdgpu", FAKE_NVML=str(facts), LD_LIBRARY_PATH=LIBRARY,
               **options)


def figures(sample, name):
    return next((g for g in sample.get("gpus", []) if g["name"] == name), None)


def test_hangs_in_the_middle(tmp_path):
    """AMD's figures go on, and the job's engine time on it; sums over both end."""
    script = rf"""
open_card 'drm-memory-vram: 1024 KiB' 'drm-engine-gfx: 5000000 ns'
{job_until(recorded('"gpu_memory_bytes":1048576'))}
echo 'slow.utilization {HANGS}' >>"$FAKE_NVML"
{job_until(noted("do not respond in time"))}
{job_until_more(UNKNOWN, 2)}
echo 81 >{BUSY}
say 'drm-memory-vram: 1024 KiB' 'drm-engine-gfx: 905000000 ns'
{job_until(recorded('"utilization_ratio":0.81', 2))}
"""
    began = time.monotonic()
    summary = run_both(tmp_path, "gpus 1\nutilization 10\n", script)
    assert time.monotonic() - began < HANGS / 1000
    assert sorted(g["name"] for g in summary["gpus"]) == ["amd0", "nvidia0"]
    assert gpu(summary, "nvidia0")["utilization_ratio"]["last"] == 0.1
    assert gpu(summary, "amd0")["utilization_ratio"]["min"] == 0.37
    assert gpu(summary, "amd0")["utilization_ratio"]["last"] == 0.81
    assert summary["target"]["main"]["gpu_seconds"]["total"] == 0.905
    samples = records(tmp_path / "run.jsonl", "sample")
    late = [s for s in samples if (figures(s, "amd0") or {}).get("utilization_ratio") == 0.81]
    assert not any(figures(s, "nvidia0") for s in late)
    assert late[0]["target"]["combined"]["gpu_memory_bytes"] is None
    late = [n for n in summary["notes"] if "in time" in n]
    assert late == ["NVIDIA GPUs (NVML) do not respond in time; their figures and "
                    "totals of all GPUs are unknown until they do"]


def test_never_begins(tmp_path):
    """The others are there all the time; nothing pretends to be of all GPUs."""
    summary = run_both(tmp_path, f"gpus 1\nslow.init {HANGS}\n",
                       job_until(noted("is slow to start")))
    assert [g["name"] for g in summary["gpus"]] == ["amd0"]
    samples = records(tmp_path / "run.jsonl", "sample")
    told = [figures(s, "amd0") for s in samples if figures(s, "amd0")]
    assert len(told) > 2 and all(g["power_watts"] == 68.25 for g in told)
    assert not any("gpu_count" in s for s in samples)
    assert summary["target"]["combined"]["gpu_memory_bytes"]["quality"] == "unknown"
    assert summary["run_joules"]["gpu"] is None
    late = [n for n in summary["notes"] if "slow" in n]
    assert late == ["the driver of NVIDIA GPUs (NVML) is slow to start; figures of these GPUs "
                    "and totals of all GPUs are unknown until it has started"]


def test_begins_late(tmp_path):
    """Its GPUs come behind those that are there, and then all is added up."""
    script = rf"""
open_card 'drm-memory-vram: 1024 KiB' 'drm-engine-gfx: 5000000 ns'
echo "0.compute $$ 300" >>"$FAKE_NVML"
{job_until(recorded('"gpu_memory_bytes":1048876', 2))}
"""
    summary = run_both(tmp_path, "gpus 2\nslow.init 1200\n", script)
    assert [g["name"] for g in summary["gpus"]] == ["amd0", "nvidia0", "nvidia1"]
    samples = records(tmp_path / "run.jsonl", "sample")
    assert samples[0]["target"]["combined"]["gpu_memory_bytes"] is None
    whole = [s for s in samples
             if s["target"]["combined"]["gpu_memory_bytes"] == (1 << 20) + 300]
    assert whole and all(s["target"]["combined"]["gpus"] == 2 for s in whole)
    assert all(s["gpu_count"] == 3 for s in whole)


def test_named_ones_do_not_wait_for_others(tmp_path):
    """Nobody asked for those that hang: what the job has is known."""
    began = time.monotonic()
    summary = run_both(tmp_path, f"gpus 1\nslow.init {HANGS}\n", "sleep 0.4", gpus="amd0")
    assert time.monotonic() - began < 8  # it would be ten seconds to the error
    assert summary["target"]["combined"]["gpu_memory_bytes"]["max"] == 0


def test_doctor(tmp_path):
    write(tmp_path / "class", AMD)
    (tmp_path / "nvml").write_text(f"gpus 1\nslow.init {HANGS}\n")
    script = (f"mount --bind {shlex.quote(str(tmp_path / 'class'))} /sys/class && "
              f"exec {shlex.quote(TOLL)} doctor gpus")
    done = subprocess.run([*UNSHARE, "sh", "-c", script], capture_output=True, text=True,
                          timeout=GUARD, env={**os.environ, "FAKE_NVML": str(tmp_path / "nvml"),
                                              "LD_LIBRARY_PATH": LIBRARY})
    text = " ".join(done.stdout.split())
    assert "amd0 AMD GPU 1002:73bf (amdgpu)" in text
    assert "NVIDIA GPUs (NVML) have not answered for 5 s" in text
