# SPDX-License-Identifier: MIT
"""Cgroups: limits as denominators, throttling, the end for want of memory; against the kernel's
own files."""
import json
import os
import re
import signal
import subprocess

import pytest
from cgrouplib import go, group, wait_in  # noqa: F401
from livelib import GUARD, IS_ROOT, PAGE, SANITIZED, exists, records, started, until

MIB = 1 << 20
pytestmark = pytest.mark.skipif(not IS_ROOT, reason="needs root, to make cgroups")


def things(summary, kind, name):
    found = [t for t in summary.get(kind, []) if t["name"] == name]
    assert len(found) == 1, summary.get(kind)
    return found[0]


def cgroup_of(summary, g):
    return things(summary, "cgroups", g.path("memory"))


class Attached:
    """toll attach that is ended by the test, when all is done; with its summary."""

    def __init__(self, place, *options):
        self.place = place
        self.path = place.path(f"attached-{id(self)}.json")
        self.series = place.path(f"attached-{id(self)}.jsonl")
        self.text = place.path(f"attached-{id(self)}.txt")
        self.p = place.popen([place.toll, "attach", "-q", "-o", self.path, "-o", self.series, "-o",
                              self.text, *options], stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE)
        until(lambda: self.p.poll() is not None or self.samples(), "the first sample")
        assert self.p.poll() is None, self.p.stderr.read()

    def samples(self):
        text = self.series.read_text() if self.series.exists() else ""
        return text.count('"type":"sample"')

    def end(self):
        self.p.send_signal(signal.SIGINT)
        return self.wait()

    def wait(self):
        self.p.wait(timeout=GUARD)
        self.p.stderr.close()
        return json.loads(self.path.read_text())


# ---- CPU -----------------------------------------------------------------------------------------

# So little, and wanted by so many threads, that others on the machine leave more than that: whatever
# else runs here, it is the quota that is met.
QUOTA, THREADS = 0.1, ["100", "3"]


def test_throttling_of_a_run_inside(here, group):
    """toll is in the cgroup too: what it does after its last look is not in its figures, so that
    the kernel's files at the end are a bound, and more than half of it must be there: the last
    look comes when the job is over."""
    group.set_quota(QUOTA)
    path = here.path("s.json")
    status, _, err = here.call(group.join([here.toll, "run", "--summary", "json", "--summary-to",
                                           path, "-o", here.path("s.txt"), "--",
                                           here.helper("burn"), *THREADS]))
    periods, throttled, seconds = group.throttling()
    assert status == 0, err
    summary = json.loads(path.read_text())
    found = cgroup_of(summary, group)
    assert throttled > 0 and seconds > 0, "the truth"
    assert seconds / 2 < found["cpu_throttled_seconds"]["total"] <= seconds
    assert 0 < found["cpu_throttled_periods"]["total"] <= throttled
    assert found["cpu_throttled_periods"]["total"] <= found["cpu_periods"]["total"] <= periods
    limit = summary["limits"]["cpus"]
    periods = cgroup_of(summary, group)["cpu_throttled_periods"]["total"]
    assert limit.pop("reached") == "CPU throttled" and limit.pop("reached_count") == periods > 0
    assert limit.pop("used") > 0 and not limit.pop("used_at_least")
    assert limit.pop("used_by") == "target"
    assert limit == {"value": QUOTA, "unlimited": False, "by": "cpu quota",
                                         "cgroup": group.path("cpu")}
    text = here.path("s.txt").read_text()
    assert re.search(r"\n  Limit hit  CPU limit of 0\.10 cores: throttled for [\d.]+ m?s, in [\d,]+ periods\n", text), text
    assert re.search(r"\n  CPU .* \d+ % of 0\.10 cores", text), text


def test_throttling_seen_from_outside(here, group):
    """Nobody is in the cgroup when the figures are taken: they are equal to the kernel's."""
    group.set_quota(QUOTA)
    path = "cpu" if group.version == 1 else "memory"
    with wait_in(group, here, [here.helper("burn"), *THREADS]) as job:
        toll = Attached(here, "--cgroup", group.path(path), "--since-start", "-i", "200ms")
        go(job)
        job.wait(timeout=GUARD)
        until(lambda: not group.pids(), "an empty cgroup")
        summary = toll.end()
    periods, throttled, seconds = group.throttling()
    found = things(summary, "cgroups", group.path(path))
    assert throttled > 0
    assert found["cpu_throttled_periods"]["total"] == throttled
    assert found["cpu_throttled_seconds"]["total"] == pytest.approx(seconds, abs=1e-9)
    # The last period may end after toll has looked.
    assert periods - 1 <= found["cpu_periods"]["total"] <= periods
    assert found["cpu_throttled_seconds"]["quality"] == "exact"


def test_cpu_time_is_what_the_cgroup_grew_by(here, group):
    """Children that nobody saw count too: the kernel charges the cgroup. Nothing runs in it when
    toll begins and when it ends, so that the two readings are equal to toll's, to the nanosecond."""
    burn = here.helper("burn")
    script = f"for i in 1 2 3 4 5 6 7 8; do {burn} 5; done; {burn} 50"
    path = "cpuacct" if group.version == 1 else "memory"
    with wait_in(group, here, ["sh", "-c", script]) as job:
        toll = Attached(here, "--cgroup", group.path(path), "-i", "1s")
        before = group.cpu_seconds()
        go(job)
        job.wait(timeout=GUARD)
        until(lambda: not group.pids(), "an empty cgroup")
        summary = toll.end()
        after = group.cpu_seconds()
    cpu = summary["target"]["combined"]["cpu_seconds"]
    assert cpu["total"] == pytest.approx(after - before, abs=1e-9)
    assert (cpu["quality"], cpu["from"]) == ("exact", "cgroup")
    assert after - before > 0.09
    both = sum(summary["target"]["combined"][m]["total"]
               for m in ("cpu_user_seconds", "cpu_system_seconds"))
    assert both == pytest.approx(cpu["total"], abs=1e-5), "the parts are the whole"
    # Version 1 counts the parts in ticks, which only say how to divide the whole.
    quality = "sampled" if group.version == 1 else "exact"
    assert summary["target"]["combined"]["cpu_user_seconds"]["quality"] == quality


@pytest.mark.skipif(os.cpu_count() < 2, reason="needs two CPUs")
def test_cpuset_and_affinity(here, group):
    """Effective CPUs: of the machine, fewer by affinity, fewer by the cpuset."""
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        pytest.skip("the tests may use one CPU only")
    one = str(allowed[0])
    status, _, _ = here.call(["taskset", "-c", one, here.toll, "run", "-q", "-o", "a.json", "--",
                              "true"])
    assert status == 0
    limit = json.loads(here.path("a.json").read_text())["limits"]["cpus"]
    assert (limit["value"], limit["by"]) == (1, "affinity")
    group.set("cpus", one)
    status, _, _ = here.call(group.join([here.toll, "run", "-q", "-o", "c.json", "--", "true"]))
    assert status == 0
    limit = json.loads(here.path("c.json").read_text())["limits"]["cpus"]
    assert (limit["value"], limit["by"]) == (1, "cpuset")


# ---- Memory --------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["run", "attach"])
def test_memory_limit_is_the_denominator(here, group, way):
    """The tightest counts, also when it is an ancestor's."""
    inner = group.child("inner")
    group.set("memory", 256 * MIB)
    inner.set("memory", 512 * MIB)
    if way == "run":
        status, _, err = here.call(inner.join([here.toll, "run", "-q", "-o", "s.json", "-o",
                                               "s.txt", "--", here.helper("fill"), "64", "200"]))
        assert status == 0, err
        summary = json.loads(here.path("s.json").read_text())
        text = here.path("s.txt").read_text()
    else:
        with here.popen(inner.join([here.helper("fill"), "64", "100000"])) as job:
            until(lambda: job.pid in inner.pids(), "the job in its cgroup")
            until(lambda: os.readlink(f"/proc/{job.pid}/exe").endswith("fill"), "the job itself")
            until(lambda: rss_of(job.pid) > 64 * MIB, "memory in use")
            toll = Attached(here, str(job.pid), "-i", "50ms")
            until(lambda: toll.samples() > 3, "some samples")
            summary = toll.end()
            text = toll.text.read_text()
            job.kill()
    limit = summary["limits"]["memory_bytes"]
    assert limit.items() >= {"value": 256 * MIB, "unlimited": False, "by": "memory limit",
                             "cgroup": group.path("memory")}.items()
    assert limit["used_by"] == "target" and limit["used_at_least"], "not read above the job's own"
    found = cgroup_of(summary, inner)
    assert found["memory_limit_bytes"]["max"] == 256 * MIB
    rss = summary["target"]["combined"]["memory_rss_bytes"]["max"]
    assert 64 * MIB <= rss < 80 * MIB
    share = re.search(r"\n  Memory .* (\d+) % of 256 MiB, cgroup limit", text)
    assert share and int(share[1]) == round(rss / (256 * MIB) * 100), text


def rss_of(pid):
    with open(f"/proc/{pid}/statm") as f:
        return int(f.read().split()[1]) * PAGE


def test_page_cache_is_not_the_jobs_memory(here, group):
    """128 MiB of a file that the job reads are charged to the cgroup; none of it is the job's."""
    big = here.path("big")
    with open(big, "wb") as f:
        f.write(bytes(128 * MIB))
        f.flush()
        os.fsync(f.fileno())
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    status, _, err = here.call(group.join([
        here.toll, "run", "-q", "-o", "s.json", "--", "dd", f"if={big}", "of=/dev/null",
        "bs=1M"]))
    assert status == 0, err
    if group.cache_bytes() < 64 * MIB:
        pytest.skip("the file was in somebody else's cache")
    summary = json.loads(here.path("s.json").read_text())
    found = cgroup_of(summary, group)
    assert found["memory_file_bytes"]["max"] >= 64 * MIB
    assert found["memory_bytes"]["max"] >= found["memory_file_bytes"]["max"]
    assert found["memory_anon_bytes"]["max"] < 16 * MIB
    for metric in ("memory_rss_bytes", "memory_peak_bytes"):
        assert summary["target"]["combined"][metric]["max"] < 16 * MIB, metric


# ---- The end -------------------------------------------------------------------------------------


def test_oom_kill_of_the_command(here, group):
    group.set("memory", 64 * MIB)
    status, _, err = here.call(group.join([here.toll, "run", "-o", "s.json", "--",
                                           here.helper("fill"), "256"]))
    assert status == 128 + signal.SIGKILL, err
    summary = json.loads(here.path("s.json").read_text())
    assert summary["end"]["oom_killed"] is True
    assert b"killed by the OOM killer after" in err
    assert cgroup_of(summary, group)["oom_kills"]["total"] == 1
    assert any("OOM killer killed" in note for note in summary["notes"])


@pytest.mark.parametrize("peak_before", [2, 48])
def test_oom_kill_says_that_the_limit_was_reached(here, group, peak_before):
    """Whatever the cgroup had before, and whenever samples were taken: it was all of it."""
    group.set("memory", 64 * MIB)
    here.call(group.join([here.helper("fill"), str(peak_before)]))
    status, _, err = here.call(group.join([here.toll, "run", "-i", "1s", "-o", "s.json", "-o",
                                           "r.jsonl", "--", here.helper("fill"), "256"]))
    assert status == 128 + signal.SIGKILL, err
    limit = json.loads(here.path("s.json").read_text())["limits"]["memory_bytes"]
    assert limit["value"] == 64 * MIB and limit["cgroup"] == group.path("memory")
    assert limit["reached"] == "OOM killer" and limit["used"] == 64 * MIB
    assert limit["used_at_least"] is False and limit["used_by"] == "cgroup"
    text = " ".join(err.decode().split())
    assert "Limit hit memory limit of 64.0 MiB: OOM killer" in text, text
    _, out, _ = here.call([here.toll, "export", "-f", "text", "r.jsonl"])
    assert b"Limit hit memory limit of 64.0 MiB: OOM killer" in b" ".join(out.split())


def test_the_peak_of_what_is_charged_is_the_kernels(here, group):
    """However rarely the cgroup was read: where the kernel's peak is of this run, the gauge has it."""
    group.set("memory", 64 * MIB)
    here.call(group.join([here.toll, "run", "-q", "-i", "1s", "-o", "s.json", "--",
                          here.helper("fill"), "256"]))
    figures = cgroup_of(json.loads(here.path("s.json").read_text()), group)
    assert figures["memory_bytes"]["max"] == figures["memory_peak_bytes"]["max"] > 60 * MIB


def test_limits_that_are_none_are_not_unknown(here, group):
    status, _, err = here.call(group.join([here.toll, "run", "-v", "-o", "s.json", "-o", "r.jsonl",
                                           "--", "sleep", "0.1"]))
    assert status == 0
    unlimited = "^memory allowed +no limit$"
    figure = cgroup_of(json.loads(here.path("s.json").read_text()), group)["memory_limit_bytes"]
    if "max" in figure or "unlimited" not in figure:
        pytest.skip("the cgroups above have a limit, or are not seen")
    assert re.search(unlimited, err.decode(), re.MULTILINE), err
    _, out, _ = here.call([here.toll, "export", "-v", "-f", "text", "r.jsonl"])
    assert re.search(unlimited, out.decode(), re.MULTILINE), out


def test_an_old_peak_is_not_the_jobs(here, group):
    """A cgroup that once had more than the job ever used: what is known of the job is a lower
    bound; of a new peak it is the kernel's figure."""
    group.set("memory", 256 * MIB)
    here.call(group.join([here.helper("fill"), "128"]))
    command = [here.toll, "run", "-q", "-o", "s.json", "--"]
    here.call(group.join([*command, here.helper("fill"), "16"]))
    limit = json.loads(here.path("s.json").read_text())["limits"]["memory_bytes"]
    assert limit["used_at_least"] is True and limit["used"] < 100 * MIB and "reached" not in limit
    here.call(group.join([*command, here.helper("fill"), "192"]))
    limit = json.loads(here.path("s.json").read_text())["limits"]["memory_bytes"]
    assert limit["used_at_least"] is False and 192 * MIB <= limit["used"] <= 256 * MIB
    assert "reached" not in limit or limit["used"] == 256 * MIB


def test_oom_kill_of_an_attached_command(here, group):
    group.set("memory", 64 * MIB)
    with wait_in(group, here, [here.helper("fill"), "256"]) as job:
        toll = Attached(here, str(job.pid), "-i", "50ms")
        go(job)
        job.wait(timeout=GUARD)
        summary = toll.wait()
    assert job.returncode == -signal.SIGKILL
    assert any("OOM killer killed" in note for note in summary["notes"])
    if summary["end"]["status"] == "signaled":  # older kernels do not tell how it ended
        assert summary["end"]["oom_killed"] is True


def test_oom_kill_of_a_child_is_a_note(here, group):
    """The command lives on and ends as it likes."""
    group.set("memory", 64 * MIB)
    status, _, err = here.call(group.join([here.toll, "run", "-o", "s.json", "--", "sh", "-c",
                                           f"{here.helper('fill')} 256; exit 5"]))
    assert status == 5, err
    summary = json.loads(here.path("s.json").read_text())
    assert summary["end"]["oom_killed"] is False and summary["end"]["code"] == 5
    assert any("killed 1 process of cgroup" in note for note in summary["notes"])


def test_a_plain_kill_is_not_called_oom(here, group):
    """Even after a child was killed for want of memory: the kernel's log has the pids."""
    group.set("memory", 64 * MIB)
    script = f"{here.helper('fill')} 256; kill -9 $$"
    status, _, err = here.call(group.join([here.toll, "run", "-o", "s.json", "--", "sh", "-c",
                                           script]))
    assert status == 128 + signal.SIGKILL, err
    summary = json.loads(here.path("s.json").read_text())
    assert summary["end"]["signal"] == signal.SIGKILL
    assert summary["end"]["oom_killed"] is False
    assert b"killed by the OOM killer" not in err and b"killed by SIGKILL" in err


def test_task_limit_reached(here, group):
    """As often as the kernel counted it."""
    group.set("tasks", 4)
    script = "for i in 1 2 3 4 5 6; do sleep 0.3 & done 2>/dev/null; wait"
    status, _, err = here.call(group.join([here.toll, "run", "-o", "s.json", "--", "sh", "-c",
                                           script]))
    summary = json.loads(here.path("s.json").read_text())
    refused = group.task_refusals()
    assert refused > 0, "the truth"
    assert status != 0
    assert cgroup_of(summary, group)["tasks_limit_events"]["total"] == refused
    assert any("limit on tasks" in note for note in summary["notes"]), summary["notes"]
    limit = summary["limits"]["tasks"]
    assert (limit["value"], limit["by"], limit["cgroup"]) == (4, "task limit", group.path("pids"))
    times = f" {refused} times" if refused > 1 else ""
    assert f"\n  Limit hit  limit on tasks of 4: reached{times}\n" in err.decode(), err


# ---- Moving and going ----------------------------------------------------------------------------


def test_target_moves_to_another_cgroup(here, group):
    """A command that goes into a cgroup after its start, as under many batch systems: that cgroup
    and its limits count from then on."""
    group.set("memory", 128 * MIB)
    result = here.run(["sh", "-c", "sleep 0.3; exec \"$@\"", "sh",
                       *group.join([here.helper("burn"), "50", "0", "2500"])])
    assert result.status == 0
    found = cgroup_of(result.summary, group)
    assert found["memory_limit_bytes"]["max"] == 128 * MIB
    assert result.summary["limits"]["memory_bytes"]["value"] == 128 * MIB


def test_cgroup_is_removed_while_measuring(here, group):
    """A target that has ended; the figures are those last seen, and not said to be exact."""
    inner = group.child("inner")
    path = inner.path("cpuacct" if group.version == 1 else "memory")
    with wait_in(inner, here, [here.helper("burn"), "50"]) as job:
        toll = Attached(here, "--cgroup", path, "-i", "50ms")
        go(job)
        job.wait(timeout=GUARD)
        inner.remove()
        summary = toll.wait()
    assert toll.p.returncode == 0
    assert summary["end"]["status"] == "unknown"
    cpu = summary["target"]["combined"]["cpu_seconds"]
    assert 0 < cpu["total"] < 1
    assert cpu["quality"] == "lower bound"


def test_cgroups_that_were_left_are_not_held_open(here, group):
    """Each keeps some ten descriptors while a target is in it, and none afterwards."""
    inner = [group.child(f"inner-{i}") for i in range(6)]
    jobs = [wait_in(g, here, ["true"]) for g in inner]
    toll = Attached(here, "-i", "50ms", *(str(job.pid) for job in jobs))

    def descriptors():
        return len(os.listdir(f"/proc/{toll.p.pid}/fd"))

    many = descriptors()
    for job, g in zip(jobs[1:], inner[1:]):
        go(job)
        job.wait(timeout=GUARD)
        g.remove()
    until(lambda: descriptors() < many - 5 * 6, "closed descriptors")
    go(jobs[0])
    jobs[0].wait(timeout=GUARD)
    summary = toll.wait()
    assert len([c for c in summary["cgroups"] if "/inner-" in c["name"]]) == 6
    inner[0].remove()


def test_a_cgroup_that_empties_is_waited_for_at_rest(here, group):
    """Nobody is left to watch: toll sleeps. Woken without end it would use most of the second."""
    path = group.path("cpuacct" if group.version == 1 else "memory")
    with here.popen(group.join(["sleep", "0.3"])) as job:
        until(lambda: job.pid in group.pids(), "the job in its cgroup")
        status, _, err = here.call([here.toll, "attach", "-q", "-o", "s.json", "-i", "1s",
                                    "--cgroup", path, "--for", "1300ms"])
    assert status == 0, err
    own = json.loads(here.path("s.json").read_text())["self"]
    assert own["cpu_seconds"]["total"] < 0.3, own


def test_an_empty_cgroup_is_no_error(here, group):
    path = group.path("cpuacct" if group.version == 1 else "memory")
    status, out, err = here.call([here.toll, "attach", "--cgroup", path, "--for", "200ms"])
    assert status == 0, err


def test_a_cgroup_that_is_not_there(here):
    status, _, err = here.call([here.toll, "attach", "--cgroup", "/toll-live-nowhere"])
    assert status == 125
    assert b"/toll-live-nowhere" in err and err.count(b"\n") == 1


# ---- Resource limits -----------------------------------------------------------------------------


@pytest.mark.parametrize("limit, command, number, words", [
    ("-t 1", "$HELPERS/burn 5000", signal.SIGXCPU, "RLIMIT_CPU"),
    ("-f 8", "dd if=/dev/zero of=big bs=64K count=4", signal.SIGXFSZ, "RLIMIT_FSIZE"),
])
def test_a_resource_limit_ends_the_command(place, limit, command, number, words):
    """The limit is toll's too; a pipe for the summary has no size."""
    status, out, err = place.shell(f"ulimit -S {limit}; "
                                   f"exec $TOLL run --summary json --summary-to 3 -- {command} "
                                   "3>&1 >/dev/null")
    assert status == 128 + number, err
    summary = json.loads(out)
    assert summary["end"]["signal"] == number
    assert any(words in note for note in summary["notes"]), summary["notes"]


def test_resource_limits_are_told(place):
    status, _, err = place.shell(
        "ulimit -S -n 99; ulimit -S -t 1000; ulimit -S -v unlimited; ulimit -S -f unlimited; "
        "exec $TOLL run -q -o s.json -- sleep 0.1")
    assert status == 0, err
    limits = json.loads(place.path("s.json").read_text())["limits"]
    files = {k: v for k, v in limits["open_files"].items() if not k.startswith("used")}
    assert files == {"value": 99, "unlimited": False, "by": "resource limit"}
    assert limits["cpu_time_seconds"]["value"] == 1000
    assert limits["file_size_bytes"] == {"value": None, "unlimited": True, "by": "resource limit"}


def run_limited(place, script, *options):
    status, _, err = place.shell(f"exec $TOLL run -o s.json {' '.join(options)} -- {script}")
    return status, json.loads(place.path("s.json").read_text()), " ".join(err.decode().split())


@pytest.mark.parametrize("inside", [False, True])
def test_limit_of_file_size_that_was_reached(place, inside):
    """Set before the job or by the job itself, moments before it dies of it."""
    write = "head -c 4194304 /dev/zero > big"
    if inside:
        status, summary, err = run_limited(place, f"bash -c 'ulimit -f 1024; exec {write}'")
    else:
        status, _, err = place.shell(f"ulimit -f 2048; exec $TOLL run -o s.json -- bash -c 'exec {write}'")
        summary, err = json.loads(place.path("s.json").read_text()), " ".join(err.decode().split())
    assert status == 128 + signal.SIGXFSZ and place.path("big").stat().st_size == 1 << 20
    limit = summary["limits"]["file_size_bytes"]
    assert limit["value"] == 1 << 20 and limit["reached"] == "SIGXFSZ"
    assert "limit on file size of 1048576 bytes reached (RLIMIT_FSIZE)" in summary["notes"]
    assert "Limit hit limit on file size (ulimit -f) of 1.00 MiB: SIGXFSZ CPU" in err  # said once


def test_signal_alone_is_no_limit(place):
    status, summary, err = run_limited(place, "sh -c 'kill -XFSZ $$'")
    assert status == 128 + signal.SIGXFSZ and "RLIMIT" not in err
    assert "reached" not in summary["limits"]["file_size_bytes"]


def test_limit_of_cpu_time_that_was_reached(place):
    """The kernel raises the soft limit by a second when it sends the signal."""
    status, summary, err = run_limited(
        place, f"bash -c 'ulimit -S -t 1; exec {place.helper('burn')} 60000'")
    assert status == 128 + signal.SIGXCPU
    limit = summary["limits"]["cpu_time_seconds"]
    assert limit["value"] == 1 and limit["reached"] == "SIGXCPU"
    assert "limit on CPU time of 1 s reached (RLIMIT_CPU)" in summary["notes"]
    assert "Limit hit limit on CPU time (ulimit -t) of 1.00 s: SIGXCPU CPU" in err


def test_hard_limit_of_cpu_time(place):
    """SIGKILL, by ticks that the kernel counted: reached is said only of what was used for sure."""
    status, summary, err = run_limited(
        place, f"bash -c 'ulimit -t 1; exec {place.helper('burn')} 60000'")
    assert status == 128 + signal.SIGKILL
    limit = summary["limits"]["cpu_time_seconds"]
    assert limit["value"] == 1 and limit["used_by"] == "main process"
    assert ("reached" in limit) == (limit["used"] >= 1) == ("Limit hit limit on CPU time" in err)


@pytest.mark.skipif(SANITIZED, reason="before exec the command has the address space of the sanitizers")
def test_limit_of_address_space_that_was_nearly_used_up(place):
    """That a call failed leaves no trace; how near it was is shown, as a lower bound."""
    code = ("import mmap, resource, time; mib = 1 << 20; "
            "size = int(open(\"/proc/self/statm\").read().split()[0]) * mmap.PAGESIZE; "
            "resource.setrlimit(resource.RLIMIT_AS, (size + 512 * mib,) * 2); "
            "kept = mmap.mmap(-1, 500 * mib); time.sleep(1.5)")
    status, summary, err = run_limited(place, f"python3 -S -c '{code}'", "-i", "50ms")
    assert status == 0, err
    limit = summary["limits"]["address_space_bytes"]
    assert limit["value"] > 512 * MIB and "reached" not in limit
    assert limit["used_by"] == "main process" and limit["used_at_least"] is True
    assert 500 * MIB <= limit["used"] <= limit["value"]
    assert re.search(r"Near limit ≥ \S+ MiB of \S+ [MG]iB of address space \(ulimit -v\)", " ".join(err.split())), err


def test_a_kill_by_another_limit_is_not_the_jobs_own(here, group):
    """The cgroup above runs full by a neighbour, and the kernel kills the job: the job's own limit was
    not reached."""
    group.set("memory", 96 * MIB)
    job, neighbour = group.child("job"), group.child("neighbour")
    job.set("memory", 90 * MIB)
    with here.popen(job.join([here.toll, "run", "-q", "-o", "s.json", "--", "sh", "-c",
                              f"echo 1000 >/proc/$$/oom_score_adj; {here.helper('fill')} 16 60000"])) as p:
        until(lambda: job.used_memory() >= 16 * MIB, "the job's memory")
        here.call(neighbour.join([here.helper("fill"), "90"]))
        p.wait(GUARD)
    limit = json.loads(here.path("s.json").read_text())["limits"]["memory_bytes"]
    assert limit["cgroup"] == job.path("memory") and "reached" not in limit
    assert limit["used"] < 64 * MIB
