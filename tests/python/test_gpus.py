# SPDX-License-Identifier: MIT
"""gpus= of track(), run() and snapshot(), with the fake of NVIDIA's library (tests/fakes/nvml.c)."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys

import pytest
import toll
from work import until

FAKES = pathlib.Path(os.environ["TOLL_BUILD"]).resolve() / "tests/fakes"
FACTS = "gpus 3\nutilization 63\nmemory_total 42949672960\nmemory_used 1073741824\npower 250500\n"


@pytest.fixture
def with_gpus(python, tmp_path):
    """Run a script where there are three GPUs."""
    if not (FAKES / "nvml/libnvidia-ml.so.1").exists():
        pytest.skip("built without the fakes")
    facts = tmp_path / "facts"
    facts.write_text(FACTS, encoding="ascii")

    def run(script, **variables):
        return python("import toll\n" + script, **{**run.variables, **variables})

    run.variables = {
        "LD_LIBRARY_PATH": str(FAKES / "nvml"),
        "FAKE_NVML": str(facts),
        "FAKE_NVML_ASKED": f"{facts}.asked",
        "CUDA_VISIBLE_DEVICES": "",
    }
    return run


def test_a_block(with_gpus):
    script = """
from work import looked
with toll.track(gpus=[0, 2], interval=0.05) as t:
    looked()
gpus = [[r for r in frame.rows if r.entity == "gpu"] for frame in t.frames]
gpus = [rows for rows in gpus if rows][-1]  # a frame has rows of GPUs when they were read anew
print([r.name for r in gpus], gpus[0].utilization_ratio)
"""
    assert with_gpus(script) == "['nvidia0', 'nvidia2'] 0.63\n"


MEMORY = """
from work import looked
memory = bytearray(b"x") * (64 << 20)
for gpus in ("none", "all"):
    with toll.track(gpus=gpus, interval=0.05, memory="pss") as t:
        looked() if gpus == "all" else __import__("time").sleep(0.2)
    figures = t.summary.to_dict()["target"]["combined"]
    print([figures[f"memory_{kind}_bytes"]["quality"] for kind in ("rss", "pss", "uss")],
          [figures[f"memory_{kind}_bytes"]["max"] > 64 << 20 for kind in ("rss", "pss", "uss")][:last])
gpus = {r.name for frame in t.frames for r in frame.rows if r.entity == "gpu"}
print(sorted(gpus) == ["nvidia0", "nvidia1", "nvidia2"])
"""
SHARES_NOTHING = "['sampled', 'sampled', 'sampled']"


def test_memory_beside_a_helper(with_gpus):
    """The library of the driver is called in a program of its own: it shares nothing with the one
    that is measured."""
    assert with_gpus("last = 3\n" + MEMORY) == (
        2 * f"{SHARES_NOTHING} [True, True, True]\n" + "True\n"
    )


def another_build(program):
    program.write_text("#!/bin/sh\nexit 2\n", encoding="ascii")


def made_for_another_machine(program):
    program.write_bytes(b"\x7fELF nothing that could be run")


def stuck_until_killed(program):
    program.write_text("#!/bin/sh\nkill -9 $$\n", encoding="ascii")


@pytest.mark.parametrize(
    "spoil", [pathlib.Path.unlink, another_build, made_for_another_machine, stuck_until_killed]
)
def test_memory_that_a_helper_shares(with_gpus, tmp_path, spoil):
    """Where that program is not there, or does not run, the library is called in a copy of the
    program that is measured: what the kernel then says of PSS and USS is at most half of it, and no
    figure of the program."""
    package = tmp_path / "package"
    shutil.copytree(pathlib.Path(toll.__file__).parent, package / "toll")
    spoil(package / "toll/toll-gpu")
    assert with_gpus(
        "last = 1\n" + MEMORY, PYTHONPATH=f"{package}:{os.path.dirname(__file__)}"
    ) == f"{SHARES_NOTHING} [True]\n['sampled', 'lower bound', 'lower bound'] [True]\nTrue\n"


def test_descriptors_of_the_program(with_gpus):
    """The helper holds none of them open."""
    script = """
import os
from work import looked
end, other = os.pipe()
os.set_inheritable(other, True)
with toll.track(gpus="all", interval=0.05) as t:
    looked()
    os.close(other)
    print(os.read(end, 1))
"""
    assert with_gpus(script) == "b''\n"


def test_a_library_that_crashes(with_gpus):
    facts = pathlib.Path(with_gpus.variables["FAKE_NVML"])
    facts.write_text(FACTS + "crash.init 1\n", encoding="ascii")
    script = """
from work import until
with toll.track(gpus="all", interval=0.02) as t:
    until(lambda: any("crashed" in note for note in t.summary.notes))
print([note for note in t.summary.notes if "NVML" in note])
"""
    assert with_gpus(script) == (
        "['NVIDIA library (NVML) crashed; its GPUs are not read']\n"
    )


def helpers_of(session):
    """The processes of that session that call a driver: whoever has no parent any more is found."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, rest = entry.read_text().split(" (", 1)
        except (FileNotFoundError, ProcessLookupError):
            continue
        name, fields = rest.rsplit(") ", 1)
        if name == "toll-gpu" and fields.split()[3] == str(session) and fields[0] != "Z":
            found.append(int(pid))
    return found


@pytest.mark.parametrize("then", ["", "slow.utilization 60000\n"], ids=["idle", "in a call that hangs"])
def test_the_helper_ends_with_the_program(with_gpus, then):
    """Also when the program is killed, and whatever the driver does."""
    script = """
import toll
from work import looked
with toll.track(gpus="all", interval=0.05) as t:
    looked()
    print("looked", flush=True)
    input()
"""
    facts = pathlib.Path(with_gpus.variables["FAKE_NVML"])
    asked = pathlib.Path(with_gpus.variables["FAKE_NVML_ASKED"])
    path = os.pathsep.join([str(pathlib.Path(toll.__file__).parents[1]), os.path.dirname(__file__)])
    with subprocess.Popen(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": path, **with_gpus.variables},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as program:
        try:
            assert program.stdout.readline() == b"looked\n"
            helpers = helpers_of(program.pid)
            assert len(helpers) == 1
            command = pathlib.Path(f"/proc/{helpers[0]}/cmdline").read_bytes()
            assert command.startswith(b"toll-gpu\0")
            if then:
                new = facts.with_name("facts.new")
                new.write_text(FACTS + then, encoding="ascii")
                size = asked.stat().st_size  # any call after this may be the one that hangs
                new.rename(facts)
                until(lambda: asked.read_text()[size:].endswith(".utilization\n"))
        finally:
            program.send_signal(signal.SIGKILL)
    until(lambda: not helpers_of(program.pid))


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
    with pytest.raises(TypeError, match="gpus: invalid value 1.5 .expected 'all', 'none', 'visible', or"):
        toll.snapshot(gpus=1.5)
    with pytest.raises(TypeError, match="gpus: invalid value"):
        toll.track(gpus=[True])
    with pytest.raises(ValueError, match="invalid GPUs"):
        toll.track(gpus="some?")


def test_none_of_them(with_gpus):
    script = """
with toll.track(gpus=[]) as t:
    pass
print({r.entity for r in t.frames[-1].rows} & {"gpu"})
"""
    assert with_gpus(script) == "set()\n"
