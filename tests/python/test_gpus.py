# SPDX-License-Identifier: MIT
"""gpus= of track(), run() and snapshot(), with the fake of NVIDIA's library (tests/fakes/nvml.c)."""

import os
import pathlib

import pytest
import toll

FAKES = pathlib.Path(os.environ["TOLL_BUILD"]).resolve() / "tests/fakes"
FACTS = "gpus 3\nutilization 63\nmemory_total 42949672960\nmemory_used 1073741824\npower 250500\n"


@pytest.fixture
def with_gpus(python, tmp_path):
    """Run a script where there are three GPUs."""
    if not (FAKES / "nvml/libnvidia-ml.so.1").exists():
        pytest.skip("built without the fakes")
    facts = tmp_path / "facts"
    facts.write_text(FACTS, encoding="ascii")

    def run(script):
        return python(
            "import toll\n" + script,
            LD_LIBRARY_PATH=str(FAKES / "nvml"),
            FAKE_NVML=str(facts),
            FAKE_NVML_ASKED=f"{facts}.asked",
            CUDA_VISIBLE_DEVICES="",
        )

    return run


def test_a_block(with_gpus):
    script = """
from work import looked
with toll.track(gpus=[0, 2], interval=0.05) as t:
    looked()
gpus = [r for r in t.frames[-1].rows if r.entity == "gpu"]
print([r.name for r in gpus], gpus[0].utilization_ratio)
"""
    assert with_gpus(script) == "['nvidia0', 'nvidia2'] 0.63\n"


def test_memory_that_a_helper_shares(with_gpus):
    """The library of the driver is called in a copy of the program: what the kernel then says of
    PSS and USS is at most half of it, and no figure of the program."""
    script = """
from work import looked
memory = bytearray(b"x") * (64 << 20)
for gpus in ("none", "all"):
    with toll.track(gpus=gpus, interval=0.05, memory="pss") as t:
        looked() if gpus == "all" else __import__("time").sleep(0.2)
    figures = t.summary.to_dict()["target"]["combined"]
    print([figures[f"memory_{kind}_bytes"]["quality"] for kind in ("rss", "pss", "uss")],
          figures["memory_rss_bytes"]["max"] > 64 << 20)
"""
    assert with_gpus(script) == (
        "['sampled', 'sampled', 'sampled'] True\n"
        "['sampled', 'lower bound', 'lower bound'] True\n"
    )


def test_a_command(with_gpus):
    script = """
done = toll.run(["sleep", "0.4"], gpus=1)
print([g["name"] for g in done.summary.to_dict()["gpus"]])
done = toll.run(["sleep", "0.1"], gpus="none")
print(done.summary.to_dict().get("gpus"))
"""
    assert with_gpus(script) == "['nvidia1']\nNone\n"


def test_one_look(with_gpus):
    script = """
frame = toll.snapshot(gpus="0,2")
gpus = [r for r in frame.rows if r.entity == "gpu"]
print([r.name for r in gpus], gpus[1].memory_used_bytes, gpus[0].power_watts, gpus[0].energy_joules)
print(frame.memory_rss_bytes > 1 << 20, {r.entity for r in toll.snapshot(gpus="none").rows})
"""
    assert with_gpus(script) == (
        "['nvidia0', 'nvidia2'] 1073741824 250.5 None\nTrue {'target'}\n"
    )


def test_one_that_is_not_there(with_gpus):
    script = """
for call in (lambda: toll.track(gpus=7).start(), lambda: toll.snapshot(gpus="7")):
    try:
        call()
    except (ValueError, OSError) as error:
        print(error)
"""
    said = with_gpus(script).splitlines()
    assert len(said) == 2 and all("7" in line for line in said)


def test_mistakes():
    with pytest.raises(TypeError, match="gpus is 1.5; it takes 'all', 'none', 'visible', or"):
        toll.snapshot(gpus=1.5)
    with pytest.raises(TypeError, match="gpus is"):
        toll.track(gpus=[True])
    with pytest.raises(ValueError, match="names no GPUs: accepted are"):
        toll.track(gpus="some?")


def test_none_of_them(with_gpus):
    script = """
with toll.track(gpus=[]) as t:
    pass
print({r.entity for r in t.frames[-1].rows} & {"gpu"})
"""
    assert with_gpus(script) == "set()\n"
