# SPDX-License-Identifier: MIT
"""The machine: its counters between two readings of the test's own, its gauges near them."""
import csv
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

import pytest
from livelib import GUARD, IS_ROOT, exists, needs_root, records, until
from machinelib import figure, measured, meminfo, read_counters

MIB = 1 << 20


def disk_of(path):
    """The name of the device a file is on, as /proc/diskstats has it; None: on none."""
    number = os.stat(path).st_dev
    for line in pathlib.Path("/proc/diskstats").read_text().splitlines():
        major, minor, name, *_ = line.split()
        if (int(major), int(minor)) == (os.major(number), os.minor(number)):
            return name
    return None


def write_to_disk(path, megabytes):
    with open(path, "wb") as f:
        f.write(os.urandom(megabytes * MIB))
        f.flush()
        os.fsync(f.fileno())


def over_loopback(kilobytes):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("127.0.0.1", 0))
        for _ in range(kilobytes):
            s.sendto(bytes(1024), s.getsockname())
            s.recv(2048)


def test_counters_lie_between_two_readings(place):
    """Disks, interfaces, CPU modes, context switches, forks, interrupts, stalls."""
    with measured(place) as m:
        write_to_disk(place.path("big"), 16)
        over_loopback(1000)
        for _ in range(20):
            subprocess.run(["true"], check=True)
        time.sleep(0.5)  # so that every mode has a chance to count
    checked = m.check()
    for key in (("system", "context_switches"), ("system", "forks"),
                ("system", "cpu_user_seconds"), ("system", "cpu_idle_seconds"),
                ("netifs", "lo", "sent_bytes"), ("netifs", "lo", "received_bytes")):
        assert key in checked
    assert checked["system", "forks"] >= 20
    assert checked["netifs", "lo", "sent_bytes"] >= 1000 * 1024
    disk = disk_of(place.directory)
    if disk and ("disks", disk, "written_bytes") in checked:
        assert checked["disks", disk, "written_bytes"] >= 16 * MIB


def test_since_the_machine_was_started(place):
    with measured(place, ["system", "--since-start"]) as m:
        over_loopback(10)
    checked = m.check(since_start=True)
    assert ("system", "context_switches") in checked and ("netifs", "lo", "sent_bytes") in checked


def test_cores_make_the_whole(place):
    """Line by line the kernel rounds each CPU down to a hundredth, and the sum by itself: a tick
    for each CPU, at both ends."""
    with measured(place, ["system", "--since-start"]) as m:
        pass
    summary = m.summary
    cores = summary["cores"]
    online = [d for d in pathlib.Path("/sys/devices/system/cpu").glob("cpu[0-9]*")
              if not (d / "online").exists() or (d / "online").read_text().strip() == "1"]
    assert {c["name"] for c in cores} == {d.name[3:] for d in online}
    for metric in ("cpu_seconds", "cpu_user_seconds", "cpu_system_seconds", "cpu_idle_seconds"):
        whole = summary["system"][metric]["total"]
        parts = sum(c[metric]["total"] for c in cores)
        assert whole == pytest.approx(parts, abs=0.01 * (2 * len(cores) + 2)), metric


def test_memory(place):
    """The whole is equal; what moves, within a twentieth of it of the test's own reading, because
    others come and go."""
    with measured(place) as m:
        truth = meminfo()
    system = m.summary["system"]
    assert system["memory_total_bytes"]["last"] == truth["MemTotal"]
    assert system["swap_total_bytes"]["last"] == truth["SwapTotal"]
    near = truth["MemTotal"] / 20
    for metric, key in (("memory_free_bytes", "MemFree"), ("memory_available_bytes", "MemAvailable"),
                        ("memory_cached_bytes", "Cached"), ("memory_anon_bytes", "AnonPages")):
        assert system[metric]["last"] == pytest.approx(truth[key], abs=near), metric
        assert system[metric]["quality"] == "sampled"
    used = system["memory_total_bytes"]["last"] - system["memory_available_bytes"]["last"]
    assert system["memory_used_bytes"]["last"] == pytest.approx(used, abs=near)


def test_filesystems(place):
    """Each once, with what statvfs says to the test; others may write in between: 256 MiB."""
    with measured(place) as m:
        pass
    mounts = m.summary["mounts"]
    points = [mount["name"] for mount in mounts]
    assert len(points) == len(set(points)) and "/" in points
    devices = [os.stat(p).st_dev for p in points if os.path.exists(p)]
    assert len(devices) == len(set(devices)), "a filesystem that is mounted twice counts once"
    for mount in mounts:
        try:
            st = os.statvfs(mount["name"])
        except OSError:
            continue
        assert mount["size_bytes"]["last"] == st.f_blocks * st.f_frsize
        for metric, blocks in (("used_bytes", st.f_blocks - st.f_bfree),
                               ("available_bytes", st.f_bavail)):
            assert mount[metric]["last"] == pytest.approx(blocks * st.f_frsize, abs=256 * MIB)


def test_load_processes_uptime(place):
    with measured(place) as m:
        loads = [float(w) for w in pathlib.Path("/proc/loadavg").read_text().split()[:3]]
        uptime = float(pathlib.Path("/proc/uptime").read_text().split()[0])
        processes = sum(name.isdigit() for name in os.listdir("/proc"))
        until(lambda: pathlib.Path("/proc/uptime").read_text().split()[0] != str(uptime), "time")
    system = m.summary["system"]
    # The kernel moves the averages every five seconds; by 8 % for the shortest.
    for metric, load in zip(("load_1m", "load_5m", "load_15m"), loads):
        assert system[metric]["last"] == pytest.approx(load, rel=0.2, abs=1)
    assert uptime - 1 <= system["uptime_seconds"]["last"]
    assert system["processes"]["last"] == pytest.approx(processes, rel=0.2, abs=20)
    assert system["threads"]["last"] >= system["processes"]["last"] * 0.9


# ---- Beside a target -----------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["run", "attach"])
def test_beside_a_target(place, way):
    """In every format, with the same totals in each."""
    outputs = [f"x.{suffix}" for suffix in ("csv", "jsonl", "json", "txt")]
    options = [word for o in outputs for word in ("-o", place.path(o))]
    if way == "run":
        status, _, err = place.call([place.toll, "run", "-q", "--system", "-i", "50ms", *options,
                                     "--", "sleep", "0.3"])
    else:
        with place.popen(["sleep", "100"]) as job:
            status, _, err = place.call([place.toll, "attach", "-q", "--system", "--for", "300ms",
                                         "-i", "50ms", *options, str(job.pid)])
            job.kill()
    assert status == 0, err
    summary = json.loads(place.path("x.json").read_text())
    assert summary["target"]["combined"]["cpu_seconds"]["quality"] != "unknown"
    switches = figure(summary, ("system", "context_switches"))["total"]
    last = records(place.path("x.jsonl"), "sample")[-1]
    assert last["system"]["context_switches"] == switches
    # Others may come and go meanwhile; the summary tells of all.
    assert {d["name"] for d in last["netifs"]} <= {d["name"] for d in summary["netifs"]}
    with open(place.path("x.csv"), newline="") as f:
        rows = list(csv.DictReader(f))
    column = [c for c in rows[-1] if c.endswith("context_switches") and c.startswith("system")]
    assert len(column) == 1, list(rows[-1])
    assert int(rows[-1][column[0]]) == switches
    text = place.path("x.txt").read_text()
    assert re.search(r"\n  Machine +[0-9.]+ cores busy on average, .* of memory used at peak\n", text)


def test_nobody_asked_for_the_machine(place):
    result = place.run(["true"])
    for key in ("system", "cores", "disks", "mounts", "netifs"):
        assert key not in result.summary


# ---- Faults and odd cases ------------------------------------------------------------------------


def in_own_mounts(place, preparation, command):
    """In a mount namespace of its own, where files can be hidden from toll."""
    return place.call(["unshare", "-m", "sh", "-c", f'{preparation} && exec "$@"', "sh", *command])


@needs_root
def test_no_pressure_files(here):
    """A kernel without them: not known, never 0."""
    if not os.path.isdir("/proc/pressure"):
        pytest.skip("this kernel has none")
    status, _, err = in_own_mounts(here, "mount -t tmpfs none /proc/pressure",
                                   [here.toll, "system", "-q", "--for", "200ms", "-o",
                                    here.path("s.json"), "-o", here.path("s.txt"), "-v"])
    assert status == 0, err
    system = json.loads(here.path("s.json").read_text())["system"]
    assert system["cpu_pressure_some_seconds"] == {"quality": "unknown", "from": ""}
    assert system["context_switches"]["total"] > 0
    text = " ".join(here.path("s.txt").read_text().split())
    assert re.search(r"not available: [^()]*stalled for a CPU", text), text


@needs_root
@pytest.mark.parametrize("file, metric", [
    ("/proc/stat", "context_switches"), ("/proc/meminfo", "memory_total_bytes"),
    ("/proc/diskstats", "disk_written_bytes"),
    ("/proc/vmstat", "faults_major"), ("/proc/loadavg", "load_1m"),
])
def test_a_file_that_is_empty(here, file, metric):
    """Whatever the kernel does not tell is not known; the rest is."""
    status, _, err = in_own_mounts(
        here, f"mount --bind /dev/null $(realpath {file})",
        [here.toll, "system", "-q", "--for", "200ms", "-o", here.path("s.json")])
    assert status == 0, err
    summary = json.loads(here.path("s.json").read_text())
    assert summary["system"][metric] == {"quality": "unknown", "from": ""}
    other = "forks" if file != "/proc/stat" else "memory_total_bytes"
    assert summary["system"][other]["quality"] != "unknown"


def helpers_of(pid):
    """The process that asks filesystems of the network."""
    found = []
    for directory in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            stat = (directory / "stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        name, rest = stat.split("(", 1)[1].rsplit(")", 1)
        if name == "toll-statvfs" and int(rest.split()[1]) == pid:
            found.append(int(directory.name))
    return found


def with_slow_filesystem(here, command, **kw):
    """A mount whose type may never answer; FUSE without a server is one."""
    return here.popen(["unshare", "-m", "sh", "-c", SLOW, "sh", here.path("slow"), *command], **kw)


# `fd=` must name an open descriptor of /dev/fuse: nobody reads it, so nobody answers. It stays open
# in the command, so that the mount goes with it.
SLOW = ('mkdir -p "$1" && exec 9<>/dev/fuse && '
        'mount -i -t fuse -o fd=9,rootmode=40000,user_id=0,group_id=0 toll-test "$1" || exit 99; '
        'shift; exec "$@"')


def can_be_slow(here):
    with with_slow_filesystem(here, ["true"], stderr=subprocess.DEVNULL) as p:
        return p.wait(timeout=GUARD) == 0


@needs_root
@pytest.mark.parametrize("way", ["end", "kill"])
def test_helper_for_filesystems_that_do_not_answer(here, way):
    """toll goes on, says which one is silent, and the helper is gone with toll, however it goes."""
    if not can_be_slow(here):
        pytest.skip("no filesystem without an answer can be made here")
    with with_slow_filesystem(here, [here.toll, "system", "-q", "-i", "100ms", "-o",
                                     here.path("s.json"), "-o", here.path("s.jsonl")],
                              stdout=subprocess.DEVNULL) as p:
        helper = until(lambda: helpers_of(p.pid), "a helper")[0]
        until(lambda: here.path("s.jsonl").exists() and
              here.path("s.jsonl").read_text().count('"type":"sample"') > 35, "three seconds")
        p.send_signal(signal.SIGINT if way == "end" else signal.SIGKILL)
        p.wait(timeout=GUARD)
    until(lambda: not exists(helper), "the end of the helper")
    if way == "kill":
        return
    summary = json.loads(here.path("s.json").read_text())
    slow = [m for m in summary["mounts"] if m["name"] == str(here.path("slow"))]
    assert len(slow) == 1
    assert slow[0]["size_bytes"] == {"quality": "unknown", "from": ""}
    assert any("does not respond" in note for note in summary["notes"])


@needs_root
def test_helper_is_not_the_jobs(here):
    """Beside a command it is neither counted nor waited for, and not left as a zombie."""
    if not can_be_slow(here):
        pytest.skip("no filesystem without an answer can be made here")
    with with_slow_filesystem(here, [here.toll, "run", "-q", "--system", "--wait", "all", "-i",
                                     "50ms", "-o", here.path("s.json"), "--", "sleep", "1.5"]) as p:
        helper = until(lambda: helpers_of(p.pid), "a helper")[0]
        assert p.wait(timeout=GUARD) == 0
    until(lambda: not exists(helper), "the end of the helper")
    summary = json.loads(here.path("s.json").read_text())
    combined = summary["target"]["combined"]
    assert combined["processes_started"]["total"] == 1
    assert combined["processes"]["max"] == 1
    assert summary["still_running_count"] == 0
