# SPDX-License-Identifier: MIT
"""GPUs of AMD and Intel through the real command: in a mount namespace of its own, written files
stand in the place of /sys/class and of /proc/PID/fdinfo. toll gives what is written, to the digit."""
import json
import os
import pathlib
import shlex
import subprocess

import pytest
from livelib import job_until, job_until_more, noted, recorded

TOLL = os.environ["TOLL"]
GUARD = 120
VISIBLE = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
           "SLURM_JOB_GPUS")
UNSHARE = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
PCI = "0000:03:00.0"

# open_card VALUES…: this shell has the card open as client 1, and the kernel says so.
# say VALUES…: what it says of the client from now on; with TWICE set, behind two descriptors.
PRELUDE = r"""
say() {
    printf 'pos:\t0\ndrm-driver:\t%s\ndrm-client-id:\t1\ndrm-pdev:\t0000:03:00.0\n' "$DRIVER" >"$D/new"
    printf '%s\n' "$@" >>"$D/new"
    [ -z "$TWICE" ] || cp "$D/new" "$D/fdinfo/8"
    mv "$D/new" "$D/fdinfo/7"
}
open_card() {
    mkdir -p "$D/dri" "$D/fdinfo"
    : >"$D/dri/renderD128"
    exec 7<"$D/dri/renderD128"
    [ -z "$TWICE" ] || exec 8<&7
    say "$@"
    mount --bind "$D/fdinfo" "/proc/$$/fdinfo"
}
"""


def can_mount():
    probe = [*UNSHARE, "mount", "--bind", "/tmp", "/sys/class"]
    return subprocess.run(probe, capture_output=True, timeout=GUARD).returncode == 0


pytestmark = pytest.mark.skipif(not can_mount(), reason="no mount namespaces for this user")


def write(top, files):
    for name, text in files.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")


def card(driver, number=0, pci=PCI):
    return {f"drm/card{number}/device/uevent":
            f"DRIVER={driver}\nPCI_ID=1002:73BF\nPCI_SLOT_NAME={pci}"}


def run(tmp_path, files, script, driver="", gpus="all", **variables):
    """The summary of a job in a machine with these files below /sys/class."""
    write(tmp_path / "class", files)
    job = tmp_path / "job"
    job.write_text(PRELUDE + script)
    summary = tmp_path / "run.json"
    toll = [TOLL, "run", "-q", "-i", "100ms", "-o", str(summary), "-o", str(tmp_path / "run.jsonl"),
            "--gpus", gpus, "--", "sh", "-e", str(job)]
    outer = (f"mount --bind {shlex.quote(str(tmp_path / 'class'))} /sys/class && "
             f"exec {shlex.join(toll)}")
    env = {k: v for k, v in os.environ.items() if k not in VISIBLE}
    env.update(D=str(tmp_path), DRIVER=driver, **variables)
    done = subprocess.run([*UNSHARE, "sh", "-c", outer], env=env, timeout=GUARD,
                          cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(summary.read_text())


def seen(pattern, count=1):
    """For a job: wait until a sample has it."""
    return job_until(recorded(pattern, count))


FRAME = r'"gpus":\['
KNOWN = seen(FRAME)


def gpu(summary, name):
    return next(g for g in summary["gpus"] if g["name"] == name)


AMD = {
    **card("amdgpu"),
    "drm/card0/device/unique_id": "7f9c3a5d1e2b4c68",
    "drm/card0/device/gpu_busy_percent": "37",
    "drm/card0/device/mem_busy_percent": "4",
    "drm/card0/device/mem_info_vram_total": "17163091968",
    "drm/card0/device/mem_info_vram_used": "1811939328",
    "drm/card0/device/hwmon/hwmon3/name": "amdgpu",
    "drm/card0/device/hwmon/hwmon3/power1_average": "68250000",
    "drm/card0/device/hwmon/hwmon3/temp1_input": "51000",
    "drm/card0/device/hwmon/hwmon3/freq1_input": "2310000000",
}


def test_amd_device(tmp_path):
    summary = run(tmp_path, AMD, seen(FRAME, 3))
    device = gpu(summary, "amd0")
    assert device["uuid"] == "7f9c3a5d1e2b4c68"
    assert device["pci"] == PCI
    for name, value in {"utilization_ratio": 0.37, "memory_controller_ratio": 0.04,
                        "memory_total_bytes": 17163091968, "memory_used_bytes": 1811939328,
                        "power_watts": 68.25, "temperature_celsius": 51,
                        "clock_sm_hertz": 2310000000}.items():
        assert device[name]["min"] == device[name]["max"] == value, name
    combined = summary["target"]["combined"]
    assert combined["gpu_memory_bytes"]["max"] == 0  # nobody has it open, which is known
    assert combined["gpus"]["max"] == 0


def test_asleep_is_not_woken(tmp_path):
    """What a look would find in its files is not looked for."""
    files = {**AMD, "drm/card0/device/power/runtime_status": "suspended"}
    device = gpu(run(tmp_path, files, seen(FRAME, 3)), "amd0")
    assert device["utilization_ratio"]["quality"] == "unknown"
    assert device["power_watts"]["quality"] == "unknown"


def test_client_in_two_processes(tmp_path):
    """Memory and engine time of a client count once, though a child has inherited it."""
    script = f"""
open_card 'drm-memory-vram: 8192 KiB' 'drm-engine-gfx: 250000000 ns' 'drm-engine-dec: 5 ns'
sh -c 'mount --bind "$D/fdinfo" "/proc/$$/fdinfo"; : >ready; read x <end; :' &
{job_until("[ -e ready ]")}
{seen('"gpu_memory_bytes":8388608')}
say 'drm-memory-vram: 4096 KiB' 'drm-engine-gfx: 1250000000 ns' 'drm-engine-dec: 5 ns'
{seen('"gpu_seconds":1.25')}
say 'drm-memory-vram: 4096 KiB' 'drm-engine-gfx: 1249000000 ns' 'drm-engine-dec: 5 ns'
{job_until_more(FRAME, 2)}
echo >end
wait
"""
    os.mkfifo(tmp_path / "end")
    summary = run(tmp_path, AMD, script, "amdgpu")
    target = summary["target"]
    assert target["combined"]["gpu_memory_bytes"]["max"] == 8192 * 1024
    assert target["combined"]["gpu_seconds"]["total"] == 1.25  # it stepped back at the end
    assert target["combined"]["gpus"]["max"] == 1
    assert target["main"]["gpu_seconds"]["total"] == 1.25
    assert target["descendants"]["gpu_seconds"]["total"] == 0


def test_rocm(tmp_path):
    """Of a process that computes, KFD tells the memory and the compute units."""
    files = {**AMD,
             "kfd/kfd/topology/nodes/1/gpu_id": "53458",
             "kfd/kfd/topology/nodes/1/properties":
             "simd_count 416\nsimd_per_cu 4\nlocation_id 768\ndomain 0"}
    script = r"""
mkdir -p "$D/class/kfd/kfd/proc/$$/stats_53458"
echo 26 >"$D/class/kfd/kfd/proc/$$/stats_53458/cu_occupancy"
echo 1073741824 >"$D/class/kfd/kfd/proc/$$/vram_53458"
""" + seen(f'"gpu_memory_bytes":{1 << 30},"gpu_utilization_ratio":0.25')
    main = run(tmp_path, files, script)["target"]["main"]
    assert main["gpu_memory_bytes"]["max"] == 1 << 30
    assert main["gpu_utilization_ratio"]["max"] == 0.25
    # How long its queues ran is told nowhere: 0 it was not.
    assert main["gpu_seconds"]["quality"] in ("lower bound", "unknown")


def test_rocm_on_two_gpus(tmp_path):
    """What KFD and fdinfo both tell counts once; each GPU for itself."""
    files = {**AMD, **card("amdgpu", 1, "0000:83:00.0"),
             "kfd/kfd/topology/nodes/0/gpu_id": "0",
             "kfd/kfd/topology/nodes/0/properties": "simd_count 0\nlocation_id 0",
             "kfd/kfd/topology/nodes/1/gpu_id": "11",
             "kfd/kfd/topology/nodes/1/properties":
             "simd_count 416\nsimd_per_cu 4\nlocation_id 768\ndomain 0",
             "kfd/kfd/topology/nodes/2/gpu_id": "22",
             "kfd/kfd/topology/nodes/2/properties":
             "simd_count 416\nsimd_per_cu 4\nlocation_id 33536\ndomain 0"}
    script = r"""
mkdir -p "$D/class/kfd/kfd/proc/$$"
echo 3000000 >"$D/class/kfd/kfd/proc/$$/vram_11"
echo 40000 >"$D/class/kfd/kfd/proc/$$/vram_22"
open_card 'drm-memory-vram: 1024 KiB' 'drm-engine-gfx: 5 ns'
""" + seen('"gpu_memory_bytes":3040000')
    main = run(tmp_path, files, script, "amdgpu")["target"]["main"]
    assert main["gpu_memory_bytes"]["max"] == 3040000
    assert main["gpus"]["max"] == 2


def test_card_that_is_taken_out(tmp_path):
    script = f"""
{KNOWN}
mv "$D/class/drm/card0" "$D/gone"
{job_until(noted("is lost"))}
sleep 0.2
"""
    summary = run(tmp_path, AMD, script)
    assert gpu(summary, "amd0")["utilization_ratio"]["last"] == 0.37
    assert len([n for n in summary["notes"] if "AMD GPU 0 (" in n and "is lost" in n]) == 1


@pytest.mark.parametrize("driver, values", [
    ("amdgpu", ["drm-memory-vram: 2048 KiB", "drm-engine-gfx: 70000000 ns"]),
    ("i915", ["drm-resident-local0: 2 MiB", "drm-engine-render: 70000000 ns",
              "drm-engine-capacity-render: 1"]),
    ("xe", ["drm-resident-vram0: 2 MiB", "drm-cycles-rcs: 5", "drm-total-cycles-rcs: 100"]),
])
def test_client_behind_two_descriptors(tmp_path, driver, values):
    """A descriptor that was duplicated is the same client."""
    said = " ".join(f"'{v}'" for v in values)
    script = f"open_card {said}\n" + seen(f'"gpu_memory_bytes":{2 << 20}', 2)
    target = run(tmp_path, card(driver), script, driver, TWICE="1")["target"]
    assert target["combined"]["gpu_memory_bytes"]["max"] == 2 << 20
    assert target["combined"]["gpus"]["max"] == 1
    if driver != "xe":  # whose cycles stand still here: how long one is cannot be told
        assert target["combined"]["gpu_seconds"]["total"] == 0.07


def test_two_vendors(tmp_path):
    """Side by side; what the job has is the sum, unless one of them does not tell."""
    library = tmp_path / "nvml"
    library.write_text("gpus 1\nutilization 10\n")
    script = r"""
open_card 'drm-memory-vram: 1024 KiB' 'drm-engine-gfx: 5000000 ns'
printf 'gpus 1\nutilization 10\n0.compute %d 300\n' $$ >"$FAKE_NVML.new"; mv "$FAKE_NVML.new" "$FAKE_NVML"
""" + seen(f'"gpu_memory_bytes":{(1 << 20) + 300}') + r"""
printf 'gpus 1\nutilization 10\nerror.compute 4\nerror.sample 4\n' >"$FAKE_NVML.new"; mv "$FAKE_NVML.new" "$FAKE_NVML"
""" + seen(r'"main":\{[^}]*"gpu_memory_bytes":null', 2)
    summary = run(tmp_path, AMD, script, "amdgpu", FAKE_NVML=str(library),
                  LD_LIBRARY_PATH=str(pathlib.Path(os.environ["TOLL_BUILD"]) / "tests/fakes/nvml"))
    assert sorted(g["name"] for g in summary["gpus"]) == ["amd0", "nvidia0"]
    main = summary["target"]["main"]
    assert main["gpu_memory_bytes"]["max"] == (1 << 20) + 300
    assert main["gpus"]["max"] == 2
    # What it had of NVIDIA's GPU is counted by nobody: AMD's alone is a lower bound at best.
    assert main["gpu_seconds"]["quality"] in ("lower bound", "unknown")


def test_energy_of_the_run(tmp_path):
    """GPUs and processors, each by its own counter."""
    files = {**card("xe"),
             "drm/card0/device/hwmon/hwmon4/name": "xe",
             "drm/card0/device/hwmon/hwmon4/energy1_input": "5000000",
             "powercap/intel-rapl:0/name": "package-0",
             "powercap/intel-rapl:0/energy_uj": "1000000",
             "powercap/intel-rapl:0/max_energy_range_uj": "262143328850"}
    script = KNOWN + r"""
echo 7500000 1<>"$D/class/drm/card0/device/hwmon/hwmon4/energy1_input"  # never empty
echo 2250000 1<>"$D/class/powercap/intel-rapl:0/energy_uj"
""" + seen('"energy_joules":2.5')
    summary = run(tmp_path, files, script)
    quality = summary["run_joules"].pop("quality")
    assert quality in ("exact", "lower bound")  # where this machine let the first look be late
    assert summary["run_joules"] == {"gpu": 2.5, "processor": 1.25, "total": 3.75}


def test_gpu_inside_of_a_processor(tmp_path):
    """It has no counter: its energy is the package's, and known all the same."""
    files = {**card("i915", pci="0000:00:02.0"), **card("xe", 1, "0000:03:00.0"),
             "drm/card1/device/hwmon/hwmon4/name": "xe",
             "drm/card1/device/hwmon/hwmon4/energy1_input": "5000000"}
    assert run(tmp_path, files, seen(FRAME, 2))["run_joules"]["gpu"] == 0


def test_intel(tmp_path):
    files = {**card("i915"),
             "drm/card0/gt_act_freq_mhz": "1300",
             "drm/card0/device/hwmon/hwmon4/name": "i915",
             "drm/card0/device/hwmon/hwmon4/energy1_input": "5000000"}
    script = r"""
open_card 'drm-resident-local0: 16 MiB' 'drm-engine-render: 1000 ns' 'drm-engine-capacity-render: 1'
""" + seen(f'"gpu_memory_bytes":{16 << 20}') + r"""
echo 7500000 1<>"$D/class/drm/card0/device/hwmon/hwmon4/energy1_input"
say 'drm-resident-local0: 16 MiB' 'drm-engine-render: 300001000 ns'
""" + seen('"gpu_seconds":0.300001') + "\n" + seen('"energy_joules":2.5')
    summary = run(tmp_path, files, script, "i915")
    device = gpu(summary, "intel0")
    assert device["clock_sm_hertz"]["max"] == 1300000000
    assert device["energy_joules"]["total"] == 2.5
    assert device["utilization_ratio"]["quality"] == "unknown"
    main = summary["target"]["main"]
    assert main["gpu_memory_bytes"]["max"] == 16 << 20
    assert main["gpu_seconds"]["total"] == 0.300001


def test_xe(tmp_path):
    """Cycles become time by how many go by in a second. What is written here moves in steps, so that
    the time is known roughly."""
    script = r"""
mkdir -p "$D/fdinfo"
say
open_card "drm-resident-vram0: 2 MiB"
i=0
while [ $i -lt 25 ]; do
    total=$((i * 1920000))
    say "drm-resident-vram0: 2 MiB" "drm-cycles-rcs: $((total / 2))" "drm-total-cycles-rcs: $total"
    i=$((i + 1))
    sleep 0.1
done
sleep 0.3
"""
    main = run(tmp_path, card("xe"), script, "xe")["target"]["main"]
    assert main["gpu_memory_bytes"]["max"] == 2 << 20
    assert 0.3 < main["gpu_seconds"]["total"] < 12  # 1.2 s on a machine that does nothing else
