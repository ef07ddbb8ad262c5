# SPDX-License-Identifier: MIT
"""toll.compat.gpu_tracker where there are GPUs: the fake of NVIDIA's library has them."""

import json
import os


def test_gpus(python, tmp_path):
    """With the fake of NVIDIA's library, which has two: figures to the digit, and UUIDs."""
    facts = tmp_path / "facts"
    facts.write_text("gpus 2\nutilization 50\nmemory_total 2147483648\nmemory_used 1073741824\n")
    said = python(
        """
import json
from work import looked
from toll.compat import gpu_tracker as gput
with gput.Tracker(gpu_uuids={"GPU-fake-1"}, gpu_ram_unit="megabytes", sleep_time=0.1) as tracker:
    looked()
found = tracker.to_json()
print(json.dumps([found["max_gpu_ram"], found["gpu_utilization"]]))
for uuids in ({"GPU-none"}, set()):
    try:
        gput.Tracker(gpu_uuids=uuids)
    except ValueError as error:
        print(error)
""",
        FAKE_NVML=str(facts),
        FAKE_NVML_ASKED=f"{facts}.asked",
        LD_LIBRARY_PATH=os.path.join(os.environ["TOLL_BUILD"], "tests/fakes/nvml"),
    ).splitlines()
    ram, use = json.loads(said[0])
    # Memory is that of all, utilisation that of the chosen one, as in that tool.
    assert (ram["unit"], ram["system_capacity"], ram["system"]) == ("megabytes", 4096.0, 2048.0)
    assert (use["system_gpu_count"], use["n_expected_gpus"]) == (2, 1)
    assert use["gpu_percentages"]["max_sum_percent"] == 50.0
    assert said[1] == "GPU UUID of GPU-none is not valid. Available UUIDs are: GPU-fake-0, GPU-fake-1"
    assert said[2] == (
        "gpu_uuids is not None but the set is empty. Please provide a set of at least one GPU UUID."
    )


def test_a_brand(python, tmp_path):
    """Of the fake, which is NVIDIA's: those of one brand, and not a word of others."""
    facts = tmp_path / "facts"
    facts.write_text("gpus 2\nutilization 50\nmemory_total 2147483648\nmemory_used 1073741824\n")
    said = python(
        """
import json, logging, sys, time
from work import looked
logging.basicConfig(stream=sys.stdout, format="%(message)s")
from toll.compat import gpu_tracker as gput
for brand in ("nvidia", None, "amd"):
    with gput.Tracker(gpu_brand=brand, gpu_ram_unit="megabytes", sleep_time=0.1) as tracker:
        time.sleep(0.2) if brand == "amd" else looked()
    found = tracker.to_json()
    print(json.dumps([found["max_gpu_ram"]["system"], found["gpu_utilization"]["n_expected_gpus"]]))
""",
        FAKE_NVML=str(facts),
        FAKE_NVML_ASKED=f"{facts}.asked",
        LD_LIBRARY_PATH=os.path.join(os.environ["TOLL_BUILD"], "tests/fakes/nvml"),
    ).splitlines()
    assert said[:2] == ["[2048.0, 2]"] * 2
    assert said[2] == "gpu_brand: no GPU of amd was found"
    assert json.loads(said[-1])[0] in (0, None)
