# SPDX-License-Identifier: MIT
"""toll export --layout: from a record the same bytes as were written while the run was measured."""

import json
import re

import pytest

import recorded
from test_export import toll

# A name, and what is replayed; a name of a file where the layout gives it one.
WRITTEN = {
    "resource-tracker.csv": ("this-machine", "resource-tracker"),
    "resource-tracker-2.csv": ("this-machine", "resource-tracker,columns=v2"),
    "resource-tracker-0.4.csv": ("limits-cgroup2", "resource-tracker,columns=combined-0.4"),
    "resource-tracker-vm.csv": ("machine-vm", "resource-tracker"),
    "resource-tracker-server.csv": ("machine-server", "resource-tracker,columns=v2"),
    "resource-tracker-combined.csv": ("limits-cgroup2", "resource-tracker,columns=combined"),
    "resource-tracker-host-proc.csv": ("limits-cgroup2", "resource-tracker,columns=host-proc"),
    "gpu-tracker.json": ("this-machine", "gpu-tracker"),
    "gpu-tracker-limits.json": ("limits-cgroup2", "gpu-tracker,ram_unit=bytes"),
    "gpu-tracker.txt": ("this-machine", "gpu-tracker,ram_unit=megabytes,time_unit=seconds"),
    "gpu-tracker.csv": ("this-machine", "gpu-tracker"),
    "marks.csv": ("marks", "gpu-tracker"),
    "marks.sub-tracking.csv": ("marks", None),
    "spdl.jsonl": ("attach-groups", "spdl"),
    "spdl-all.jsonl": ("attach-groups", "spdl,columns=all"),
    "spdl-one.jsonl": ("this-machine", "spdl"),
    "process-metrics.jsonl": ("this-machine", "process-metrics,max_memory_megabytes=512"),
    "process-metrics-3.jsonl": ("this-machine", "process-metrics,samples=3"),
    "run_log.jsonl": ("marks", "sweep"),
    "cpu_metrics.csv": ("machine-vm", "sweep"),
    "hw_metrics.csv": ("machine-server", "sweep"),
    "nextflow.txt": ("this-machine", "nextflow"),
    "snakemake.csv": ("this-machine", "snakemake"),
    "snakemake.jsonl": ("limits-cgroup2", "snakemake,columns=extended"),
    "prmon.txt": ("limits-cgroup2", "prmon"),
    "prmon.json": ("this-machine", "prmon"),
    "gnu-time.txt": ("this-machine", "gnu-time,format=%e %U %S %M %F %R %w %c %x %C"),
    "benchmark.json": ("this-machine", "github-action-benchmark"),
    "gitlab.txt": ("this-machine", "gitlab"),
    "emissions.csv": ("limits-cgroup2", "codecarbon,carbon=300"),
}


def spoken(layout):
    return ["--layout", layout] if layout else []


def live(tmp_path, run, layout, file):
    """What is written while the run goes, and its record. Where both are .jsonl it goes twice."""
    record, source = tmp_path / "record.jsonl", recorded.fixture_of(run)
    words = ["replay", "-q", *spoken(layout), "-o", file]
    both = file.suffix != ".jsonl" and layout not in ("sweep", "snakemake")
    done = toll(*words, *(["-o", record] if both else []), source)
    assert (done.returncode, done.stderr) == (0, b"")
    if not both:
        assert toll("replay", "-q", "-o", record, source).returncode == 0
    return record


@pytest.mark.parametrize("name", WRITTEN)
def test_every_layout_again(name, tmp_path):
    run, layout = WRITTEN[name]
    (tmp_path / "again").mkdir()
    record = live(tmp_path, run, layout, tmp_path / name)
    done = toll("export", record, *spoken(layout), "-o", tmp_path / "again" / name)
    assert (done.returncode, done.stderr) == (0, b"")
    written = [path.read_bytes() if path.exists() else None
               for path in (tmp_path / "again" / name, tmp_path / name)]
    assert written[0] == written[1]
    assert (written[0] is None) == (name == "hw_metrics.csv")  # there are no GPUs: no file


@pytest.mark.parametrize("run", ["marks", "machine-vm"])
def test_a_directory_of_a_sweep(run, tmp_path):
    source, record = recorded.fixture_of(run), tmp_path / "record.jsonl"
    assert toll("replay", "-q", "-o", record, source).returncode == 0
    for words in (["replay", "-q", source], ["export", record]):
        into = tmp_path / words[0]
        done = toll(*words, "--layout", "sweep", "-o", f"{into}/")
        assert (done.returncode, done.stderr) == (0, b""), words
    found, again = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
                    for name in ("replay", "export"))
    assert found and again == found


def test_what_a_record_does_not_tell_is_unknown(tmp_path):
    """Records of before have nothing of toll's pid, groups, CPUs and GPUs."""
    record = live(tmp_path, "attach-groups", "spdl,columns=all", tmp_path / "live.jsonl")
    bare = []
    for line in map(json.loads, record.read_text().splitlines()):
        for key in ("unix_seconds", "toll_pid", "group", "online_cpus", "reads_gpus"):
            line.pop(key, None)
        for target in line.get("attached_to", []):
            target.pop("group", None)
        bare.append(json.dumps(line))
    text = "\n".join(bare).encode() + b"\n"
    whole, rows = ([json.loads(line) for line in lines.splitlines()] for lines in (
        (tmp_path / "live.jsonl").read_bytes(),
        toll("export", "-", "--layout", "spdl,columns=all", "-f", "jsonl", stdin=text).stdout))
    assert len(rows) == len(whole) and {row["pgid"] for row in whole} != {None}
    for row, told in zip(rows, whole):
        assert row["pid"] is None and row["pgid"] is None
        assert abs(row.pop("timestamp") - told.pop("timestamp")) <= 0.001
        assert {**row, "pid": 0, "pgid": 0} == {**told, "pid": 0, "pgid": 0}
    text = toll("export", "-", "--layout", "gpu-tracker", "-f", "json", stdin=text).stdout
    assert json.loads(text)["gpu_utilization"]["system_gpu_count"] is None


def test_the_pid_is_that_of_the_toll_that_measured(tmp_path):
    """… which a replay is told by its script, not that of the one that exports."""
    record = live(tmp_path, "marks", "spdl", tmp_path / "live.jsonl")
    script = (recorded.fixture_of("marks") / "script").read_text()
    [pid] = re.findall(r"^tracker (\d+)$", script, re.M)
    assert json.loads(record.read_text().splitlines()[0])["toll_pid"] == int(pid)
    rows = toll("export", record, "--layout", "spdl", "-f", "jsonl").stdout.splitlines()
    assert {json.loads(row)["pid"] for row in rows} == {int(pid)}


# ---- Several runs in a record --------------------------------------------------------------------


@pytest.fixture
def two_runs(tmp_path):
    both = tmp_path / "both.jsonl"
    for run in ("marks", "this-machine"):
        one = tmp_path / f"{run}.jsonl"
        assert toll("replay", "-q", "-o", one, recorded.fixture_of(run)).returncode == 0
        with open(both, "ab") as file:
            file.write(one.read_bytes())
    return both


@pytest.mark.parametrize("name, layout", [
    ("rows.csv", "resource-tracker"), ("all.sub-tracking.csv", None)])
def test_several_runs_have_one_heading(name, layout, two_runs, tmp_path):
    def lines(*words):
        done = toll("export", two_runs, *spoken(layout), *words, "-o", tmp_path / name)
        assert (done.returncode, done.stderr) == (0, b"")
        return (tmp_path / name).read_bytes().splitlines(True)

    first, second = lines("--run", "1"), lines("--run", "2")
    assert lines() == first + second[1:] and len(first + second) > 2


def test_a_tracking_file_holds_one_run(two_runs, tmp_path):
    """What stands in front of its rows is of one session."""
    done = toll("export", two_runs, "--layout", "gpu-tracker", "-o", tmp_path / "points.csv")
    assert done.returncode == 125 and b"csv holds one run" in done.stderr
    assert b"--run 1" in done.stderr and not (tmp_path / "points.csv").exists()


def test_cpus_of_a_run_without_the_machine(tmp_path):
    """How many there are stands in the first line of every record."""
    record = tmp_path / "record.jsonl"
    assert toll("replay", "-q", "-o", record, recorded.fixture_of("this-machine")).returncode == 0
    head, rest = record.read_text().split("\n", 1)
    head = {**json.loads(head), "online_cpus": 4}
    record.write_text(json.dumps(head) + "\n" + rest)
    done = toll("export", record, "--layout", "gpu-tracker", "-f", "json")
    use = json.loads(done.stdout)["cpu_utilization"]
    assert (use["system_core_count"], use["n_expected_cores"]) == (4, 4)
    assert use["combined"]["max_hardware_percent"] == use["combined"]["max_sum_percent"] / 4 > 0
