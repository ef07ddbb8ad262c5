# SPDX-License-Identifier: MIT
"""--watch-exits: every process that starts and ends, by the kernel's records."""
import subprocess

import pytest

DISCARDS = """
use POSIX;
my $nowait = POSIX::SigAction->new(sub {}, POSIX::SigSet->new, SA_NOCLDWAIT);
sigaction(SIGCHLD, $nowait);
for (1 .. 50) { if (!fork) { exec "true" } select undef, undef, undef, 0.004 }
select undef, undef, undef, 0.3;
"""


@pytest.fixture(autouse=True)
def is_allowed(place):
    """A sandbox may refuse it: then there is the note, and nothing else to test."""
    result = place.run(["true"], ["--watch-exits"])
    assert result.status == 0
    if any("--watch-exits" in note for note in result.notes):
        pytest.skip(result.notes[0])


def started(result):
    figure = result.figure("processes_started")
    return figure["total"], figure["quality"], figure.get("from")


def test_every_process_is_counted(place):
    """Most of them live and die between two looks; the test knows how many it starts."""
    loop = "i=0; while [ $i -lt 300 ]; do i=$((i+1)); (:); env true; done"
    result = place.run(["sh", "-c", loop], ["--watch-exits", "-i", "1s"])
    assert started(result) == (601, "exact", "task records")
    assert result.quality("cpu_seconds") == "exact if reaped"
    assert not result.notes


def test_spawned_by_vfork(place):
    code = "import os\nfor i in range(100): os.waitpid(os.posix_spawnp('true', ['true'], {}), 0)"
    result = place.run(["/usr/bin/python3", "-c", code], ["--watch-exits", "-i", "1s"])
    assert started(result) == (101, "exact", "task records")
    assert result.quality("cpu_seconds") == "exact if reaped"


def test_discarded_children_that_no_look_saw(place):
    """SA_NOCLDWAIT, and children of some milliseconds."""
    result = place.run(["perl", "-e", DISCARDS], ["--watch-exits", "-i", "1s"])
    assert started(result) == (51, "exact", "task records")
    assert result.quality("cpu_seconds") == "lower bound"
    assert any("does not wait" in note for note in result.notes)


def test_another_group_is_not_recorded(place):
    """The kernel stops recording at a setgid program: what it starts would be missing."""
    if subprocess.run(["chage", "--help"], capture_output=True, check=False).returncode:
        pytest.skip("no chage here (package passwd)")
    result = place.run(["sh", "-c", "chage --help >/dev/null; true"], ["--watch-exits"])
    assert result.quality("processes_started") == "lower bound"


def test_the_job_sees_nothing_of_it(place):
    plain = place.run(["ls", "/proc/self/fd"])
    watched = place.run(["ls", "/proc/self/fd"], ["--watch-exits"])
    assert plain.out == watched.out
