# SPDX-License-Identifier: MIT
"""CPU time and I/O against a truth taken in the same run.

CPU: root asks a cgroup of the job's own, which toll is outside of; anybody else asks wait4 of a
wrapper between toll and the load. The tolerance is 1 %, or two ticks of 10 ms for short loads:
toll's total is the sum of what wait4 says, exact to the microsecond, but the start of the job (the
fork, and the program that joins the cgroup or becomes the wrapper) is inside it and outside of the
truth, and that is a few milliseconds of a cold cache.
"""
import itertools
import json
import os
import re

import pytest
from livelib import PAGE, TICK, cpu_cgroup, in_cgroup, needs_root, not_sanitized, records

INTERVALS = ["1s", "100ms", "10ms"]
FORKS = 3000
FORK_LOOP = ["sh", "-c", f"i=0; while [ $i -lt {FORKS} ]; do /bin/true; i=$((i+1)); done"]


def near(measured, truth):
    return abs(measured - truth) <= max(truth * 0.01, 2 * TICK)


def with_truth(place, load, options, **kw):
    """The result, and the seconds of CPU time that the load really used."""
    if place.privileged:
        with cpu_cgroup() as (procs, seconds):
            result = place.run(in_cgroup(procs, load), options, **kw)
            return result, seconds()
    file = place.path("truth.json")
    result = place.run([place.helper("truth"), file, *load], options, **kw)
    truth = json.loads(file.read_text())
    return result, truth["child"]["cpu"] + truth["self"]["cpu"]


@pytest.mark.parametrize("interval", INTERVALS)
def test_cpu_of_3000_short_processes(place, interval):
    result, truth = with_truth(place, FORK_LOOP, ["-i", interval])
    assert result.status == 0
    assert near(result.total("cpu_seconds"), truth)
    assert result.quality("cpu_seconds") == "exact if reaped"
    # Most of them live shorter than any interval: what was seen is a lower bound, and says so.
    assert result.quality("processes_started") == "lower bound"
    assert 1 <= result.total("processes_started") <= FORKS + 2


@pytest.fixture
def makefile(place):
    for i in range(200):
        place.path(f"f{i}.c").write_text(f"int f{i}(int x) {{ return x * {i}; }}\n")
    place.path("Makefile").write_text(
        "objects = $(patsubst %.c,%.o,$(wildcard *.c))\nall: $(objects)\n"
        "%.o: %.c\n\t@cc -c -o $@ $<\n")
    return place


@not_sanitized
@pytest.mark.parametrize("interval", INTERVALS)
def test_cpu_of_a_build(makefile, interval):
    result, truth = with_truth(makefile, ["make", "-s", "-j2"], ["-i", interval])
    assert result.status == 0, result.err
    assert near(result.total("cpu_seconds"), truth)
    user, system = result.total("cpu_user_seconds"), result.total("cpu_system_seconds")
    assert user + system == pytest.approx(result.total("cpu_seconds"), abs=1e-6)


def test_cpu_of_threads_that_exit(place):
    """80 threads of 10 ms: none is there any more when the process ends."""
    result, truth = with_truth(place, [place.helper("burn"), "10", "80"], ["-i", "1s"])
    assert truth >= 0.8
    assert near(result.total("cpu_seconds"), truth)


def test_main_and_descendants(place):
    """Each part has its own CPU time: 300 ms in the command, 200 ms in a child of it."""
    burn = place.helper("burn")
    result = place.run(["sh", "-c", f"{burn} 200; exec {burn} 300"], ["-i", "100ms"])
    # 2 ticks: what main has of its own is told in ticks of 10 ms until it is reaped; the start of
    # two programs and of a shell adds a few milliseconds.
    assert result.total("cpu_seconds", "main") == pytest.approx(0.3, abs=2 * TICK)
    assert result.total("cpu_seconds", "descendants") == pytest.approx(0.2, abs=2 * TICK)


PARTS = ("combined", "main", "descendants")
KINDS = ("cpu_seconds", "cpu_user_seconds", "cpu_system_seconds")
# A command that computes, and a child that is in the kernel most of its time.
UNLIKE = "i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done; head -c 3000000 /dev/urandom >u.bin"


def test_parts_make_the_whole(place):
    """User and system time make the CPU time of each part, and the parts make the whole."""
    for _ in range(5):
        result = place.run(["sh", "-c", UNLIKE + "; exit 0"])
        cpu, user, system = ({part: result.total(kind, part) for part in PARTS} for kind in KINDS)
        for part in PARTS:
            # The kernel cuts user and system time to a microsecond each.
            assert user[part] + system[part] == pytest.approx(cpu[part], abs=2e-6), part
        for kind in (cpu, user, system):
            assert kind["main"] + kind["descendants"] == pytest.approx(kind["combined"], abs=2e-6)
            assert min(kind.values()) >= 0
        for kind in KINDS[1:]:
            assert result.quality(kind) == "exact if reaped"
            assert [result.quality(kind, part) for part in PARTS[1:]] == ["sampled"] * 2


def test_the_table_says_which_parts_are_sampled(place):
    status, _, err = place.call([place.toll, "run", "-v", "--", "sh", "-c", UNLIKE + "; exit 0"])
    assert status == 0
    lines = err.decode().splitlines()
    line = next(line for line in lines if line.startswith("CPU time, system"))  # of the target
    assert line.count("~") == 2 and not line.endswith("sampled")


def test_a_child_that_was_not_seen_is_proven(place):
    """Page faults that are not the command's: at least one process besides it, seen or not."""
    for _ in range(5):
        result = place.run(["sh", "-c", "/bin/true; exit 0"], ["-i", "10s"])
        assert result.total("faults_minor", "descendants") > 0
        assert result.total("processes_started") == 2
        assert result.total("processes_started", "descendants") == 1
        assert result.quality("processes_started", "descendants") == "lower bound"
    result = place.run(["/bin/true"])
    assert result.total("processes_started") == 1


def test_no_sample_has_toll_before_exec(here):
    """Until exec is over, the process of the command has the name and the open files of toll. With
    one CPU for both, it often loses it at that moment."""
    one_cpu = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
    for _ in range(25):
        status, _, err = here.call([*one_cpu, here.toll, "run", "-q", "-o", "run.jsonl", "--", "sleep", "0.01"])
        assert status == 0, err
        lines = [json.loads(line) for line in here.path("run.jsonl").read_text().splitlines()]
        names = {process["name"] for line in lines for process in line.get("processes", [])}
        assert names <= {"sleep"}, names


def test_time_waited_of_children_is_a_lower_bound(place):
    """Most of them were never seen: what is known of the others is no better than the whole."""
    loop = "i=0; while [ $i -lt 200 ]; do /bin/true; i=$((i+1)); done"
    result = place.run(["sh", "-c", loop])
    for part in PARTS:
        assert result.quality("cpu_wait_seconds", part) == "lower bound", part


def test_no_counter_falls(place):
    """Not when children are reaped, nor at the end: to a server it would have begun again at 0."""
    metrics = json.loads(place.call([place.toll, "metrics", "--json"])[1])
    counters = [m["name"] for m in metrics if (m["entity"], m["kind"]) == ("process", "counter")]
    job = "for i in 1 2 3 4; do head -c 6000000 /dev/zero | od >/dev/null; done; head -c 9 /dev/zero"
    for _ in range(8):
        place.run(["sh", "-c", job], ["-i", "10ms", "-o", "run.jsonl"])
        samples = records(place.path("run.jsonl"), "sample")
        for before, after in zip(samples, samples[1:]):
            for part, name in itertools.product(("combined", "main", "descendants"), counters):
                old, new = (sample["target"][part].get(name) for sample in (before, after))
                assert old is None or new is None or new >= old, (part, name)


# ---- Children that the kernel discards ------------------------------------------------------------

# The interval of the output says nothing about how often processes are looked at.
EVERY = [["-i", "1s"], ["-i", "100ms"], []]
EVERY_NAMES = ["1s", "100ms", "auto"]


def with_group_truth(place, load, options):
    """As with_truth, but the truth is a cgroup's also for an ordinary user: wait4 does not have what
    is discarded."""
    with cpu_cgroup() as (procs, seconds):
        if not place.privileged:
            for path in (procs.parent, procs):
                os.chown(path, 65534, 65534)
            if place.call(in_cgroup(procs, ["true"]))[0]:
                pytest.skip("an ordinary user cannot join a cgroup here")
        result = place.run(in_cgroup(procs, load), options)
        return result, seconds()


def check_label(result, truth):
    """Never above the truth; below it only as a lower bound. Tolerances: near()."""
    measured = result.total("cpu_seconds")
    assert measured <= truth + max(truth * 0.01, 2 * TICK)
    if not near(measured, truth):
        assert result.quality("cpu_seconds") == "lower bound", (measured, truth)


@pytest.mark.parametrize("options", EVERY, ids=EVERY_NAMES)
def test_namespace_whose_init_ends_first(place, options):
    """The kernel kills what is left in a pid namespace with its init, and discards what it used."""
    unshare = ["unshare", "--pid", "--fork"]
    if not place.privileged:
        unshare[1:1] = ["--user", "--map-root-user"]
    if place.call([*unshare, "true"])[0]:
        pytest.skip("no pid namespace can be made here")
    burn = place.helper("burn")
    job = f"{burn} 60000 & {burn} 60000 & exec {burn} 400"
    result, truth = with_group_truth(place, [*unshare, "sh", "-c", job], options)
    assert result.status == 0, result.err
    check_label(result, truth)
    # Two burners beside one of 400 ms: on two CPUs or one, most of the truth is theirs.
    assert result.quality("cpu_seconds") == "lower bound"
    assert any("init of a pid namespace" in note for note in result.notes), result.notes
    assert result.quality("io_read_bytes") == "lower bound"


def test_namespace_that_ends_in_order(place):
    """An init that waits for its children loses nothing, and is not suspected of it."""
    unshare = ["unshare", "--pid", "--fork"]
    if not place.privileged:
        unshare[1:1] = ["--user", "--map-root-user"]
    if place.call([*unshare, "true"])[0]:
        pytest.skip("no pid namespace can be made here")
    burn = place.helper("burn")
    result, truth = with_group_truth(
        place, [*unshare, "sh", "-c", f"{burn} 100 & {burn} 150; wait; true"], ["-i", "1s"])
    assert near(result.total("cpu_seconds"), truth)
    assert result.quality("cpu_seconds") == "exact if reaped"
    assert result.notes == []


@pytest.mark.parametrize("options", EVERY, ids=EVERY_NAMES)
def test_children_discarded_at_any_interval(place, options):
    """SA_NOCLDWAIT shows in no file of the parent: only that it inherits nothing."""
    load = [place.helper("nowait"), "nocldwait", "truth", "20", "50"]
    result, truth = with_group_truth(place, load, options)
    assert result.status == 0
    check_label(result, truth)
    assert result.quality("cpu_seconds") == "lower bound"
    assert any("does not wait" in note for note in result.notes), result.notes


SUBPROCESSES = "import subprocess\nfor i in range(150): subprocess.run(['true'])"


@pytest.mark.parametrize("load", [
    FORK_LOOP,
    ["python3", "-c", SUBPROCESSES],
    ["sh", "-c", "(sleep 0.2; true) & sh -c 'sh -c \"sleep 0.3; true\"; true' & wait; true"],
    ["setsid", "-w", "sh", "-c", "for i in 1 2 3; do (sleep 0.1 &); done; sleep 0.3; true"],
], ids=["shell", "python", "tree", "orphans"])
@pytest.mark.parametrize("options", [["-i", "1s"], ["-i", "1ms"]], ids=["1s", "1ms"])
def test_no_loss_is_claimed_where_all_wait(here, load, options):
    result = here.run(load, ["--wait", "all", *options])
    assert result.status == 0, result.err
    assert result.notes == []
    assert result.quality("cpu_seconds") == "exact if reaped"


def test_no_thread_waits_more_than_all_the_time(here):
    """schedstat is read about once a second: what has come together by then was not waited for in
    one sample. One CPU for three threads: each waits most of the time."""
    job = ["taskset", "-c", "0", "sh", "-c", "{0} 700 & {0} 700 & {0} 700; wait".format(here.helper("burn"))]
    result = here.run(job, ["-i", "10ms", "-o", "x.jsonl"])
    assert result.status == 0, result.err
    waited = result.figure("cpu_wait_seconds")
    assert waited["total"] > 0
    assert waited["rate_max"] <= result.largest("threads")
    main = result.figure("cpu_wait_seconds", "main")
    if "rate_max" in main:
        assert main["rate_max"] <= 1


BYTES = 100 << 20


def test_bytes_written_by_a_grandchild(place):
    """Call bytes to the byte: dd writes 100 MiB and nothing else, the shells write nothing."""
    write = f"dd if=/dev/zero of=data bs=1M count={BYTES >> 20} conv=fsync status=none"
    result = place.run(["sh", "-c", f"sh -c '{write}; :'; :"], ["-i", "10ms"])
    assert result.status == 0, result.err
    assert result.total("io_written_bytes") == BYTES
    assert result.quality("io_written_bytes") == "exact if reaped"
    # The kernel counts a page when it is made dirty, whole pages, each once; metadata of the file
    # (its extent tree, its inode) is dirtied by the same process: at most 64 pages for one file
    # of one or a few extents. Counted twice it would be 200 MiB.
    assert BYTES <= result.total("storage_written_bytes") <= BYTES + 64 * PAGE


def test_direct_writes_of_a_grandchild(place):
    """O_DIRECT bytes go to storage as they are, past the cache."""
    write = f"dd if=/dev/zero of=data bs=1M count={BYTES >> 20} oflag=direct status=none"
    if place.call(["sh", "-c", write])[0] != 0:
        pytest.skip("the filesystem of the temporary directory has no O_DIRECT")
    result = place.run(["sh", "-c", f"sh -c '{write} conv=notrunc; :'; :"], ["-i", "10ms"])
    assert BYTES <= result.total("storage_written_bytes") <= BYTES + 64 * PAGE


@pytest.mark.parametrize("options", EVERY, ids=EVERY_NAMES)
def test_bytes_written_by_threads_that_nobody_saw(place, options):
    """The kernel mixes what ended threads wrote with what children did that were reaped: main has a
    lower bound, or all of it. Whether a thread is seen is chance, so it is tried several times."""
    for _ in range(4):
        result = place.run([place.helper("threads"), "write", "data"], options)
        assert result.status == 0, result.err
        size = place.path("data").stat().st_size
        assert result.total("io_written_bytes") == size
        main = result.figure("io_written_bytes", "main")
        if main["quality"] == "unknown":  # an ordinary user's, which ended before it was looked at
            continue
        assert main["total"] <= size
        if main["total"] < size:
            assert main["quality"] == "lower bound"
            assert result.quality("io_written_bytes", "descendants") == "sampled"


@needs_root  # an ordinary user may not read the io file of a process that has ended
def test_bytes_written_without_threads(here):
    """No thread ever ran beside the main one, and the clocks prove it: told apart to the byte."""
    result = here.run(["sh", "-c", "head -c 5000 /dev/zero; echo hello"], ["-i", "1s"])
    assert result.out == b"\0" * 5000 + b"hello\n"
    assert result.total("io_written_bytes", "main") == 6
    assert result.quality("io_written_bytes", "main") == "exact"


@needs_root
def test_bytes_written_by_a_child_without_page_faults(here):
    """It has the memory of its parent, and calls no exec: nothing but its I/O and CPU time shows it."""
    result = here.run([here.helper("onemem"), "write", "3"], ["-i", "10ms"])
    assert result.status == 0, result.err
    assert result.err == b"0 faults\n"
    assert result.total("io_written_bytes") == (3 << 20) + len(result.err)
    assert result.total("io_written_bytes", "main") == len(result.err)
    assert result.quality("io_written_bytes", "main") == "exact"
    assert result.total("io_written_bytes", "descendants") == 3 << 20


def test_removed_before_it_was_written_is_cancelled(place):
    write = "dd if=/dev/zero of=data bs=1M count=20 status=none; rm data"
    result = place.run(["sh", "-c", f"sh -c '{write}'; :"])
    written = result.total("storage_written_bytes")
    assert 20 << 20 <= written <= (20 << 20) + 64 * PAGE
    # What writeback took to storage before the file was removed is not cancelled; the rest is.
    assert result.total("storage_cancelled_bytes") <= written


def test_cancelled_writes_are_in_the_line(place):
    write = "dd if=/dev/zero of=data bs=1M count=20 status=none; rm data"
    status, _, err = place.call([place.toll, "run", "-o", "run.jsonl", "--", "sh", "-c", write])
    assert status == 0
    part = records(place.path("run.jsonl"), "summary")[0]["target"]["combined"]
    share = part["storage_cancelled_bytes"]["total"] / part["storage_written_bytes"]["total"]
    if share > 0.2:  # otherwise the disk already had most of it
        assert re.search(r"Disk .* written, .* of it cancelled\n", err.decode()), err


def test_bytes_read_through_a_pipe(place):
    """Calls count whatever they read; a pipe is no storage."""
    count = 5_000_000
    result = place.run(["sh", "-c", f"head -c {count} /dev/zero | cat >/dev/null"])
    bare = place.run(["sh", "-c", "head -c 0 /dev/zero | cat >/dev/null"])
    # head and cat each read the bytes once and write them once; what the loader reads is in both.
    assert result.total("io_written_bytes") == 2 * count
    extra = result.total("io_read_bytes") - bare.total("io_read_bytes")
    assert 2 * count <= extra <= 2 * count + 8192  # head reads its last block whole
    assert result.total("storage_written_bytes") == 0


def test_only_the_command_with_no_children(place):
    burn = place.helper("burn")
    result = place.run(["sh", "-c", f"{burn} 300; dd if=/dev/zero of=x bs=1M count=5 status=none"],
                       ["--no-children", "-i", "10ms"])
    assert result.status == 0
    # The shell forks twice and reads a line: some milliseconds.
    assert result.total("cpu_seconds") < 0.05
    assert result.total("io_written_bytes") == 0
    assert result.total("processes_started") == 1
    assert result.summary["children"] is False


@not_sanitized
def test_toll_is_never_counted(place):
    """At 1 ms toll works hard while the job sleeps: all of it is toll's."""
    result = place.run(["sleep", "1"], ["-i", "1ms", "-o", "x.jsonl", "--processes", "all"])
    own = result.summary["self"]["cpu_seconds"]["total"]
    # sleep costs what starting a program costs, 1 to 3 ms on a slow day; toll ticks 1000 times and
    # writes two megabytes.
    assert result.total("cpu_seconds") < 0.01 < own
    assert result.total("io_written_bytes") == 0
    assert result.total("processes_started") == 1


def test_children_reaped_before_toll_do_not_count(place):
    """A shell that becomes toll brings what it reaped along, in rusage and in io."""
    file = place.path("s.json")
    status, _, err = place.shell(
        "$HELPERS/burn 400; dd if=/dev/zero of=x bs=1M count=5 status=none; "
        f"exec $TOLL run --summary json --summary-to {file} -- true")
    assert status == 0, err
    combined = json.loads(file.read_text())["target"]["combined"]
    assert combined["cpu_seconds"]["total"] < 0.05
    assert combined["io_written_bytes"]["total"] == 0
    assert combined["storage_written_bytes"]["total"] == 0
