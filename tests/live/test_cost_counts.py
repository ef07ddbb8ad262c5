# SPDX-License-Identifier: MIT
"""What toll costs, in counts that do not depend on how busy the machine is: system calls and page
faults of a start with its end, bytes of a sample. `make bench` measures times."""
import json
import os
import platform
import re

import pytest

from hostlib import needs
from livelib import PAGE, not_sanitized

COMMAND = "/bin/true"
# No second sample: the number of them depends on how long the command takes.
RUN = ["run", "-q", "-i", "10s", "--", COMMAND]
# Measured: 250 calls on a machine with cgroups of version 1, which are more files than those of
# version 2, and 184 page faults more than `true` has by itself.
MOST_CALLS = 280
MOST_FAULTS = 210
# Measured: 11,450 with one process that sleeps and no outputs; more where a busy machine skips samples,
# because members are looked at between them.
MOST_INSTRUCTIONS = 14000


def environment(place):
    """Its socket has a directory of its own: beside the sockets of others it would look at those. Meson
    names directories in which each library is looked up, and lets malloc fill what it gives."""
    return {name: value for name, value in os.environ.items()
            if name not in ("LD_LIBRARY_PATH", "MALLOC_PERTURB_")} | {"XDG_RUNTIME_DIR": str(place.path("."))}


def faults(*words, env):
    """Minor page faults of a command and all that it waited for."""
    pid = os.posix_spawnp(words[0], words, env)
    _, status, usage = os.wait4(pid, 0)
    assert status == 0
    return usage.ru_minflt


@not_sanitized
@needs("strace")
def test_system_calls(place):
    status, _, err = place.call(["strace", "-o", place.path("calls"), place.toll, *RUN],
                                env=environment(place))
    if status != 0 and b"ptrace" in err:
        pytest.skip("strace may not trace here")
    assert status == 0
    calls = re.findall(r"^(\w+)\(", place.path("calls").read_text(), re.M)
    assert 100 < len(calls) <= MOST_CALLS, f"{len(calls)} calls"


@not_sanitized
@pytest.mark.skipif(PAGE != 4096 or platform.machine() != "x86_64",
                    reason="the number of page faults is known for pages of 4 KiB")
def test_page_faults(place):
    env = environment(place)
    more = min(faults(str(place.toll), *RUN, env=env) - faults(COMMAND, env=env)
               for _ in range(3))
    assert 50 < more <= MOST_FAULTS, f"{more} page faults"


@not_sanitized
@needs("readelf")
@pytest.mark.skipif(platform.machine() != "x86_64", reason="others need libm for a square root")
def test_libraries(place):
    """A library takes 20 us to load."""
    _, out, _ = place.call(["readelf", "-d", place.toll])
    assert b"libc.so" in out and b"libm.so" not in out


def counted_run(place, seconds):
    """Instructions in user mode and samples of a whole run."""
    place.call(["valgrind", "--tool=callgrind", f"--callgrind-out-file={place.path('counted')}",
                place.toll, "run", "-i", "10ms", "--memory", "rss", "--summary", "json",
                "--summary-to", place.path("summary"), "--", "sleep", str(seconds)],
               env=environment(place))
    total = re.search(r"^(?:summary|totals): (\d+)", place.path("counted").read_text(), re.M)
    return int(total[1]), json.loads(place.path("summary").read_text())["self"]["ticks"]["total"]


@not_sanitized
@needs("valgrind")
@pytest.mark.skipif(platform.machine() != "x86_64", reason="others have other instructions")
def test_instructions_of_a_sample(place):
    """Of the steady state: the difference of two runs. Without the memory page tables are read for."""
    (few, few_samples), (many, many_samples) = counted_run(place, 0.5), counted_run(place, 2)
    assert many_samples >= few_samples + 20
    assert (many - few) / (many_samples - few_samples) <= MOST_INSTRUCTIONS


MOST_BYTES = 1500


def test_bytes_of_a_sample(place):
    """Of a command without descendants, in the steady state: all metrics, without single processes."""
    place.run(["sleep", "1"], ["-i", "50ms", "--processes", "none", "-o", "run.jsonl"])
    samples = [line for line in place.path("run.jsonl").read_text().splitlines()
               if '"type":"sample"' in line]
    assert len(samples) >= 5
    assert sum(map(len, samples)) / len(samples) <= MOST_BYTES


def test_parts_come_with_the_first_descendant(place):
    """Then all three are there, also in the last sample, and `combined` is their sum."""
    place.run(["sh", "-c", "sleep 0.4; exit 3"], ["-i", "20ms", "-o", "run.jsonl"])
    targets = [json.loads(line)["target"] for line in place.path("run.jsonl").read_text().splitlines()
               if '"type":"sample"' in line]
    full = [target for target in targets if "main" in target]
    assert full and full == targets[-len(full):]
    assert all(set(target) == {"combined", "main", "descendants"} for target in full)
    cpu = [full[-1][part]["cpu_seconds"] for part in ("combined", "main", "descendants")]
    assert cpu[0] == pytest.approx(cpu[1] + cpu[2], abs=2e-6)
