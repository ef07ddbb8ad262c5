# SPDX-License-Identifier: MIT
"""toll doctor on this machine: what it promises holds when something is measured, and what it
advises helps. The truth is toll itself in the same place, and the kernel's own files."""
import contextlib
import errno
import json
import os
import pathlib
import select
import shlex
import signal
import subprocess
import time

import hostlib
import pytest
from livelib import GUARD, needs_root, until

jsonschema = hostlib.module("jsonschema")

TOP = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = json.loads((TOP / "docs/schema/doctor.schema.json").read_text())


def checks(place, *words, command=None):
    """The checks by name, as this user sees them; the command is put in front of toll."""
    status, out, err = place.call([*(command or []), place.toll, "doctor", "--json", *words])
    assert (status, err) == (0, b"")
    document = json.loads(out)
    jsonschema.Draft202012Validator(SCHEMA).validate(document)
    return {check["name"]: check for check in document["checks"]}


def check(place, name, command=None):
    return checks(place, name, command=command)[name]


def is_ok(place, name, command=None):
    return check(place, name, command)["state"] == "ok"


def is_known(figure):
    return figure["quality"] != "unknown" and figure.get("total", figure.get("max")) is not None


# ---- The command ---------------------------------------------------------------------------------


def test_text(place):
    """With -v a line for each check, in 80 columns, without colours where there is no terminal."""
    status, out, err = place.call([place.toll, "doctor", "-v"])
    assert (status, err) == (0, b"")
    verdict, *lines = out.decode().splitlines()
    assert place.call([place.toll, "doctor"])[1].decode().splitlines()[0] == verdict
    assert b"\033" not in out
    assert [line.split()[1] for line in lines if not line.startswith(" ")] == list(checks(place))
    remedies = " ".join(str(c["remedy"]) for c in checks(place).values())
    for line in lines:  # only a path that cannot be broken may be longer
        assert len(line) <= 80 or line.split()[-1] in remedies, line


def test_strict(place):
    found = checks(place)
    for name, one in found.items():
        status, _, _ = place.call([place.toll, "doctor", "--strict", name])
        assert status == (0 if one["state"] == "ok" else 1), name
    all_ok = all(one["state"] == "ok" for one in found.values() if one["essential"])
    assert place.call([place.toll, "doctor", "--strict"])[0] == (0 if all_ok else 1)


def test_unknown_name(place):
    status, out, err = place.call([place.toll, "doctor", "--strict", "cpu", "gravity"])
    assert (status, out) == (125, b"")
    assert err.startswith(b"toll: ") and err.count(b"\n") == 1
    assert b"'gravity'" in err and b"own-cgroup" in err


def test_leaves_no_process(place):
    """The child it learns from is gone before it ends, and no signal told of it."""
    script = 'trap "echo child" CHLD; exec "$TOLL" run -q -o s.json -- "$TOLL" doctor cpu ends'
    status, out, _ = place.shell(script)
    assert status == 0 and b"child" not in out
    assert json.loads(place.path("s.json").read_text())["still_running_count"] == 0


# ---- What is promised holds ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, metrics",
    [
        ("cpu", ["cpu_seconds"]),
        ("memory", ["memory_rss_bytes"]),
        ("pss", ["memory_pss_bytes", "memory_uss_bytes"]),
        ("io", ["io_read_bytes", "storage_read_bytes"]),
        ("waits", ["cpu_wait_seconds"]),
        ("network", ["network_received_bytes", "network_sent_bytes"]),
    ],
)
def test_figures_of_a_job(place, name, metrics):
    # Packets of a cgroup of its own are a better source than the sockets that "network" asks for.
    done = place.run([place.helper("burn"), "150", "0", "0", "0"],
                     ["--network", "--own-cgroup", "never", "--memory", "pss", "-i", "10ms"])
    assert done.status == 0
    promised = check(place, name)
    for metric in metrics:
        figure = done.figure(metric)
        assert is_known(figure) == (promised["state"] == "ok"), figure
        if promised["state"] == "ok":
            assert figure["quality"].replace("_", " ").startswith(promised["quality"]), figure


def test_figures_of_the_machine(place):
    mounts = select.poll()
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        mounts.register(file, select.POLLPRI)
        figures_of_the_machine(place, mounts_changed=lambda: mounts.poll(0))


def figures_of_the_machine(place, mounts_changed):
    found = checks(place)
    path = place.path("system.json")
    status, _, err = place.call([place.toll, "system", "--for", "300ms", "-i", "100ms",
                                 "--summary", "json", "--summary-to", path])
    assert status == 0, err
    summary = json.loads(path.read_text())
    for name, metric in [("system", "cpu_seconds"), ("system", "memory_used_bytes"),
                         ("pressure", "cpu_pressure_some_seconds"),
                         ("sensors", "temperature_celsius"), ("energy", "energy_joules")]:
        figure = summary["system"].get(metric)
        known = figure is not None and is_known(figure)
        assert known == (found[name]["state"] == "ok"), name
    shown = {name: summary.get(name, []) for name in ("disks", "mounts", "netifs")}
    for name, kind in [("disks", "disks"), ("filesystems", "mounts"), ("interfaces", "netifs")]:
        if found[name]["state"] != "ok":
            continue
        assert shown[kind], name
        # What came or went meanwhile is not judged. Devices that were never used are left out,
        # and a filesystem that does not answer in time: never more than were counted.
        changed = check(place, name) != found[name] or name == "filesystems" and mounts_changed()
        if not changed:
            assert len(shown[kind]) <= sum(numbers(found[name])), (name, shown[kind])


def interfaces():
    lines = pathlib.Path("/proc/net/dev").read_text().splitlines()[2:]
    return [line.split(":")[0].strip() for line in lines]


def numbers(one):
    return [int(word) for word in one["detail"].split() if word.isdigit()]


def test_interfaces_are_those_of_the_kernel(place):
    """Looked at until none came or went meanwhile: others may make some."""
    def look():
        before, one = interfaces(), check(place, "interfaces")
        return (before, one) if interfaces() == before else None
    listed, one = until(look, "a moment in which no interface comes or goes")
    assert one["state"] == "ok"
    assert sum(numbers(one)) == len(listed)


def test_limits_are_those_of_the_place(place):
    """Bound to one CPU, it says so."""
    cpu = str(min(os.sched_getaffinity(0)))
    one = check(place, "limits", ["taskset", "-c", cpu])
    assert one["state"] == "ok"
    if os.cpu_count() > 1:
        assert one["detail"].startswith("1 CPU (affinity), ")


def test_ends_of_attached_processes(place):
    """With the exit status where that is promised, without it elsewhere."""
    promised = check(place, "ends")
    path = place.path("attach.json")
    with place.popen(["sh", "-c", "read x; exit 7"], stdin=subprocess.PIPE) as job:
        with place.popen([place.toll, "attach", str(job.pid), "-q", "-o", "a.jsonl", "-i", "50ms",
                          "--summary", "json", "--summary-to", path]) as toll:
            until(lambda: place.path("a.jsonl").exists()
                  and '"sample"' in place.path("a.jsonl").read_text(), "a sample")
            job.stdin.close()
            job.wait(timeout=GUARD)
            toll.wait(timeout=GUARD)
    end = json.loads(path.read_text())["end"]
    assert end["code"] == (7 if promised["state"] == "ok" else None), end


def test_open_files(place):
    low = check(place, "open-files", ["prlimit", "--nofile=100:100"])
    assert (low["state"], low["remedy"]) == ("partly", "ulimit -Hn 65536")
    assert check(place, "open-files", ["prlimit", "--nofile=1024:4096"])["detail"] == "4096" or \
        not place.privileged and check(place, "open-files")["state"] == "ok"


# ---- What is advised helps -----------------------------------------------------------------------


def test_ignored_sigchld(place):
    """The advice is followed to the letter, but for the command that is run."""
    ignoring = ["env", "--ignore-signal=CHLD"]
    one = check(place, "unwaited", ignoring)
    assert (one["state"], one["quality"]) == ("partly", "lower bound")
    cure = shlex.split(one["remedy"])
    assert cure[-3:] == ["toll", "run", "…"]
    assert is_ok(place, "unwaited", [*ignoring, *cure[:-3]])


@pytest.mark.parametrize("error", ["EPERM", "EACCES", "ENOSYS"])
def test_records_that_a_sandbox_refuses(place, error):
    """What doctor says is what a run finds: without the records it goes on, with a note, and no
    figure gets better than it is."""
    number = str(getattr(errno, error))
    no_perf = [place.helper("deny"), "perf_event_open", number]
    sandbox = [*no_perf, place.helper("deny"), "bind", number]
    if place.call([*sandbox, "true"])[0] == 77:
        pytest.skip("no filter of system calls can be set up here")
    one = check(place, "watch-exits", sandbox)
    assert (one["state"], one["quality"]) == ("missing", None)
    assert one["remedy"]
    summary = place.path("s.json")
    command = [place.toll, "run", "--watch-exits", "--summary", "json", "--summary-to", summary,
               "--", "sh", "-c", "(:); exit 7"]
    status, _, err = place.call([*sandbox, *command])
    assert status == 7
    found = json.loads(summary.read_text())
    assert err.count(b"--watch-exits: ") == 1
    assert [note for note in found["notes"] if note.startswith("--watch-exits: ")]
    assert found["target"]["combined"]["processes_started"]["quality"] == "lower bound"
    # With one of both refused there is the other.
    result = place.run(["sh", "-c", "(:); exit 7"], ["--watch-exits"], before=no_perf)
    is_noted = any(note.startswith("--watch-exits: ") for note in result.notes)
    assert is_noted != is_ok(place, "watch-exits", no_perf)


def test_records_that_are_allowed(place):
    """Without a sandbox both agree too, whatever is allowed here."""
    result = place.run(["true"], ["--watch-exits"])
    is_noted = any(note.startswith("--watch-exits: ") for note in result.notes)
    assert is_noted != is_ok(place, "watch-exits")


@needs_root
@pytest.mark.parametrize("capabilities", ["", "+sys_ptrace", "+dac_read_search",
                                          "+sys_ptrace,+dac_read_search"])
def test_processes_of_others(nobody, capabilities):
    """What is said of others' processes is what attaching to one gives: the I/O of a process of
    root's, for an ordinary user with this or that capability."""
    user = ["--reuid=65534", "--regid=65534", "--clear-groups"]
    given = [f"--inh-caps={capabilities}", f"--ambient-caps={capabilities}"] if capabilities else []
    nobody.prefix = ["setpriv", *user, *given, "--"]
    path = nobody.path("other.json")
    with subprocess.Popen(["sleep", str(GUARD)]) as job:
        try:
            one = check(nobody, "others")
            status, _, err = nobody.call(
                [nobody.toll, "attach", str(job.pid), "--for", "200ms", "-i", "50ms",
                 "--since-start", "--summary", "json", "--summary-to", path])
        finally:
            job.kill()
    assert status == 0, err
    combined = json.loads(path.read_text())["target"]["combined"]
    assert is_known(combined["cpu_seconds"])
    known = is_known(combined["io_read_bytes"])
    assert known == ("," in capabilities)
    assert one["state"] == ("ok" if known else "partly")
    assert one["remedy"] == (None if known else "sudo toll attach …")


@needs_root
@pytest.mark.parametrize("options, who", [("hidepid=1", 65534), ("hidepid=2", 65534),
                                          ("hidepid=2,gid=4321", 4321)])
def test_hidden_processes(here, options, who):
    """In a mount namespace of its own, with another /proc: what is hidden, and the way out."""
    script = f"mount -t proc -o {options} proc /proc || exit 99; " \
             'as() { setpriv --reuid=65534 --regid="$1" --clear-groups -- "$TOLL" doctor --json ' \
             "others; }; as 65534; echo ,; " \
             f"if [ {who} = 65534 ]; then $CURE || exit 98; fi; as {who}"
    cure = "mount -o remount,hidepid=0 /proc"
    environment = {**os.environ, "TOLL": here.toll, "CURE": cure}
    # A pid namespace too: /proc mounted anew would otherwise be the one everybody has.
    done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "sh", "-c", script],
                          env=environment, stdout=subprocess.PIPE, timeout=GUARD, check=False)
    if done.returncode == 99 or not done.stdout:
        pytest.skip("/proc cannot be mounted here")
    before, after = (one["checks"][0] for one in json.loads(b"[" + done.stdout + b"]"))
    assert before["state"] == "missing" and "hidepid=" in before["detail"]
    assert before["remedy"] == ("a user of group 4321 (gid= of /proc)" if "gid" in options else cure)
    assert after["state"] == "partly"  # they are seen now; their I/O is still their own


@contextlib.contextmanager
def memory_cgroup():
    """A fresh cgroup with the memory controller, or of version 2: the directory."""
    for mount in ("/sys/fs/cgroup/memory", "/sys/fs/cgroup"):
        directory = pathlib.Path(mount) / f"toll-doctor-{os.getpid()}-{time.monotonic_ns()}"
        if not (pathlib.Path(mount) / "cgroup.procs").exists():
            continue
        try:
            directory.mkdir()
        except OSError:
            continue
        try:
            yield directory
        finally:
            for below in directory.glob("*/"):
                below.rmdir()
            until(lambda: not (directory / "cgroup.procs").read_text(), "an empty cgroup")
            directory.rmdir()
        return
    pytest.skip("no cgroup can be made here")


@needs_root
def test_delegation(nobody):
    """Not delegated: no directory can be made. After the advice was followed, one can."""
    with memory_cgroup() as directory:
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
        join = ["sh", "-c", f'echo $$ >{directory}/cgroup.procs; exec "$@"', "sh", *command]

        def inside(*words):
            done = subprocess.run([*join, *words], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, cwd=nobody.directory, check=False)
            return done.returncode, done.stdout

        _, out = inside(nobody.toll, "doctor", "--json", "own-cgroup")
        one = json.loads(out)["checks"][0]
        assert one["state"] == "missing"
        assert inside("mkdir", directory / "job")[0] != 0
        if "systemd" in one["remedy"]:
            pytest.skip("systemd is to be asked")
        subprocess.run(one["remedy"], shell=True, check=True)
        _, out = inside(nobody.toll, "doctor", "--json", "own-cgroup")
        assert json.loads(out)["checks"][0]["state"] == "ok"
        assert inside("mkdir", directory / "job")[0] == 0


@needs_root
def test_cgroup_without_figures(here):
    """What is advised is done, in bash as it is written, with another name than job."""
    one = check(here, "cgroup")
    if one["state"] == "ok" or not one["remedy"].startswith("mkdir /sys/fs/cgroup/"):
        pytest.skip("there is nothing to advise, or systemd is to be asked")
    name = f"toll-doctor-{os.getpid()}-{time.monotonic_ns()}"
    remedy = one["remedy"].replace("/job", f"/{name}")
    try:
        done = subprocess.run(["bash", "-c", f'{remedy} >/dev/null && "$0" doctor --json cgroup',
                               here.toll], stdout=subprocess.PIPE, check=True)
        assert json.loads(done.stdout)["checks"][0]["state"] == "ok"
    finally:
        for directory in pathlib.Path("/sys/fs/cgroup").glob(f"**/{name}"):
            until(lambda d=directory: not (d / "cgroup.procs").read_text(), "an empty cgroup")
            directory.rmdir()


def test_kernel_log(place):
    """The log counts as a means exactly where it can be read and speaks of our pids."""
    readable = place.call(["dd", "if=/dev/kmsg", "of=/dev/null", "bs=8192", "count=1",
                           "iflag=nonblock"])[0]
    first = os.readlink("/proc/self/ns/pid") == "pid:[4026531836]"
    one = check(place, "oom")
    said = one["state"] == "ok" and "log" in one["means"]
    assert said == (readable == 0 and first)


@needs_root
def test_without_sys(here):
    """No /sys: said, with the way to get it."""
    script = 'umount -l /sys || exit 99; exec "$TOLL" doctor --json'
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script],
                          env={**os.environ, "TOLL": here.toll}, stdout=subprocess.PIPE,
                          timeout=GUARD, check=False)
    if done.returncode == 99:
        pytest.skip("/sys cannot be taken away here")
    found = {one["name"]: one for one in json.loads(done.stdout)["checks"]}
    for name in ("disks", "interfaces"):
        assert (found[name]["state"], found[name]["remedy"]) == \
            ("partly", "mount -t sysfs sysfs /sys")
    assert found["cgroup"]["state"] == "missing"
    assert found["cpu"]["state"] == "ok"


def test_signals_do_not_disturb(place):
    """Whatever is ignored when it starts."""
    for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGTERM):
        assert is_ok(place, "cpu", ["env", f"--ignore-signal={signal.Signals(number).name[3:]}"])
