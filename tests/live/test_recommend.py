# SPDX-License-Identifier: MIT
"""toll recommend: a job fits into what it recommends, and not into less than its peak."""
import json
import signal

import pytest
from cgrouplib import group  # noqa: F401
from livelib import IS_ROOT

MIB = 1 << 20
JOB_MIB = 300
pytestmark = pytest.mark.skipif(not IS_ROOT, reason="needs root, to make cgroups")


def recommended(place):
    status, out, err = place.call([place.toll, "recommend", "--json", "runs"])
    assert (status, err) == (0, b"")
    (job,) = json.loads(out)["jobs"]
    return job


def test_a_job_fits_into_what_is_recommended(here, group):
    here.path("runs").mkdir()

    def run(number, joined):
        command = [here.toll, "run", "-q", "-o", f"runs/{number}.jsonl", "--",
                   here.helper("fill"), JOB_MIB, "200"]
        return here.call(joined(list(map(str, command))))[0]

    for number in range(3):
        assert run(number, lambda command: command) == 0
        job = recommended(here)
        assert job["weak"] is (number < 2)
        assert job["memory"]["factor"] == (1.5 if number < 2 else 1.2)
    memory = job["memory"]
    assert JOB_MIB * MIB <= memory["peak_most_bytes"] < (JOB_MIB + 32) * MIB
    assert memory["request_bytes"] >= 1.2 * memory["peak_most_bytes"] + memory["rise_bytes"]

    group.set("memory", memory["request_bytes"])
    assert run(3, group.join) == 0
    again = recommended(here)
    assert again["runs"]["finished"] == 4 and again["runs"]["oom_killed"] == 0

    limit = JOB_MIB * 3 // 4 * MIB
    group.set("memory", limit)
    assert run(4, group.join) == 128 + signal.SIGKILL
    after = recommended(here)
    assert after["runs"]["finished"] == 4 and after["runs"]["oom_killed"] == 1
    assert after["memory"]["oom_limit_bytes"] == limit
    assert after["memory"]["request_bytes"] >= max(1.2 * limit, limit + 100 * MIB)


def test_after_an_oom_kill_alone(here, group):
    """Nothing has finished: the limit that was too low is all that is known."""
    here.path("runs").mkdir()
    group.set("memory", 64 * MIB)
    status, _, _ = here.call(group.join([here.toll, "run", "-q", "-o", "runs/1.jsonl", "--",
                                         here.helper("fill"), "256"]))
    assert status == 128 + signal.SIGKILL
    job = recommended(here)
    assert job["runs"]["finished"] == 0 and job["runs"]["oom_killed"] == 1
    assert job["memory"]["lower_bound"] is True
    assert job["memory"]["request_bytes"] == 170 * MIB  # 164, rounded up
    assert job["time"]["request_seconds"] is job["cpus"]["request"] is None
