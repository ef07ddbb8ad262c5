# SPDX-License-Identifier: MIT
"""toll compare and --fail-if with a real job: 5 % more memory is found with ten runs each."""

import json
import os
import subprocess
import sys

import pytest

TOLL = os.environ["TOLL"]

JOB = "import sys; data = b'x' * (int(sys.argv[1]) << 20); sys.stdin.read()"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Ten runs of a job with 100 MiB, ten with 5 % more, one after the other in turns."""
    where = tmp_path_factory.mktemp("runs")
    for i in range(10):
        for size in (100, 106):
            where.joinpath(str(size)).mkdir(exist_ok=True)
            subprocess.run([TOLL, "run", "-q", "--name", "job", "-o", where / f"{size}/{i}.jsonl",
                            "--", sys.executable, "-S", "-c", JOB, str(size)],
                           stdin=subprocess.DEVNULL, check=True, timeout=60)
    return where


def test_five_percent_more_memory(runs):
    done = subprocess.run([TOLL, "compare", "--json", runs / "100", runs / "106"],
                          capture_output=True, text=True, check=True, timeout=60)
    comparison, = json.loads(done.stdout)["comparisons"]
    memory, = (f for f in comparison["figures"] if f["figure"] == "memory_peak_bytes")
    assert memory["result"] == "different", comparison["sentence"]
    assert 0.04 < memory["change_ratio"] < 0.07
    assert 0 < memory["interval"]["low"] < memory["interval"]["high"]
    assert "more memory" in comparison["sentence"]


@pytest.mark.parametrize("limit, code, status", [
    ("memory_peak > +3%", 0, 1),
    ("memory_peak > +10%", 0, 0),
    ("memory_peak > +3%", 3, 3),  # the job's own
])
def test_gate_of_a_run(runs, limit, code, status):
    job = f"{JOB}; print('out'); sys.exit({code})"
    done = subprocess.run([TOLL, "run", "-q", "--baseline", runs / "100", "--fail-if", limit, "--",
                           sys.executable, "-S", "-c", job, "106"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (status, "out\n"), done.stderr
    assert ("from the baseline of" in done.stderr) == ("+3%" in limit)


def test_a_baseline_by_name(runs):
    """With a name a run is judged by those of that name; a name that no run has is not a silent pass."""
    (runs / "both").mkdir()
    for name, size in (("small", 20), ("large", 90)):
        subprocess.run([TOLL, "run", "-q", "--name", name, "-o", runs / f"both/{name}.jsonl", "--",
                        sys.executable, "-S", "-c", JOB, str(size)], check=True, timeout=60)

    def gate(*words):
        done = subprocess.run([TOLL, "run", "-q", "--fail-if", "memory_peak > +10%", *words, "--",
                               sys.executable, "-S", "-c", JOB, "90"], cwd=runs / "both", check=False,
                              capture_output=True, text=True, timeout=60)
        return done.returncode, done.stderr

    assert gate("--baseline", ".", "--name", "large") == (0, "")
    status, err = gate("--baseline", ".", "--name", "small")
    assert status == 1 and "from the baseline of" in err
    assert gate("--baseline", "smal") == (0, (
        "toll: --baseline: no run has the name 'smal' here: changes from it are not checked\n"))
