# SPDX-License-Identifier: MIT
"""Each privilege taken away, one at a time: a job that knows what it uses runs the same, less of it may
be known, and whatever is reported is right for the quality that it is given."""
import collections
import errno
import json

import pytest
from hostlib import lacking
from livelib import IS_ROOT, not_sanitized, records

MIB = 1 << 20
CHILDREN, CHILD_CPU = 6, 0.03
WRITTEN, PEAK = 5 * MIB, 60 * MIB
SENT, DATAGRAM_BYTES = 4 * MIB, 1000
STATUS = 3

# Beside its own start and end, which are not in what it reports: the interpreter, the report itself.
CPU_MORE, WRITTEN_MORE, PEAK_MORE = 0.06, 64 << 10, 40 * MIB
# Segments that are sent again count again.
NETWORK_MORE = 0.01

# It says what it used, and what a tool could have changed: whether it is traced, signals, limits, its
# cgroup as it sees it, its priority. Careless, it does not wait for its children.
JOB = """
import json, os, resource, signal, socket, sys, time
children, child_cpu, written, peak, sent, datagram, status, careless, report, works = json.loads(sys.argv[1])
lines = dict(line.split(":", 1) for line in open("/proc/self/status"))
view = {key: lines.get(key, "").strip() for key in
        ("TracerPid", "SigBlk", "SigIgn", "SigCgt", "CapEff", "NoNewPrivs", "Seccomp", "Cpus_allowed")}
view["limits"] = [resource.getrlimit(i) for i in range(16)]
view["priority"] = os.getpriority(os.PRIO_PROCESS, 0)
view["descriptors"] = sorted(map(int, os.listdir("/proc/self/fd")))[:3]
if not works:
    with open(report, "w") as f:
        json.dump({"view": view}, f)
    os._exit(status)
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
if careless:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
ready, say = os.pipe()
for _ in range(children):
    if os.fork() == 0:
        burn(child_cpu)
        time.sleep(0.1)
        os.write(say, f"{time.process_time()}\\n".encode())
        os._exit(0)
os.close(say)
used = sum(map(float, os.fdopen(ready).read().split()))
while True:
    try:
        os.wait()
    except ChildProcessError:
        break
memory = bytearray(peak)
for i in range(0, peak, 4096):
    memory[i] = 1
time.sleep(0.15)
del memory
with open("written", "wb", buffering=0) as f:
    for _ in range(written >> 20):
        f.write(bytes(1 << 20))
moved = 0
try:
    listener = socket.create_server(("127.0.0.1", 0))
    one = socket.create_connection(listener.getsockname())
    other, _ = listener.accept()
    while moved < sent:
        left = one.send(bytes(65536))
        moved += left
        while left:
            left -= len(other.recv(65536))
    receiver, sender = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    receiver.bind(("127.0.0.1", 0))
    sender.sendto(bytes(datagram), receiver.getsockname())
    receiver.recv(datagram)
    time.sleep(0.12)
    for s in (one, other, listener, receiver, sender):
        s.close()
except OSError:
    moved = None
print("the job's own words", flush=True)
me, them = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
own = me.ru_utime + me.ru_stime
truth = {"cpu": own + (used if careless else them.ru_utime + them.ru_stime), "network": moved,
         "view": view}
with open(report, "w") as f:
    json.dump(truth, f)
os._exit(status)
"""

# What the note about --exact must name, if it is the reason for it.
WHY = {"no BTF": "BTF", "own pid namespace": "pid namespace", "no cgroups": "no separate cgroup",
       "cgroups read-only": "no separate cgroup", "cap bpf": "CAP_BPF", "cap perfmon and sys_admin": "CAP_PERFMON",
       "bpf EPERM": "CAP_BPF"}
Case = collections.namedtuple("Case", "name before lost")


def without_caps(*names):
    listed = ",".join(f"-{name}" for name in names)
    return ["setpriv", f"--bounding-set={listed}", f"--inh-caps={listed}", "--"]


def masked(*commands):
    """In a mount namespace of its own, where something of the kernel is hidden. Nothing is mounted
    again with other options: that could change the machine's own."""
    script = " && ".join(commands) + ' && exec "$@"'
    return ["unshare", "-m", "--", "sh", "-c", script, "sh"]


CGROUPS = "$(grep -E ' cgroup2? ' /proc/mounts | cut -d' ' -f2)"
NO_CGROUPS = f"for m in {CGROUPS}; do umount -l $m; done"
READ_ONLY = f"for m in {CGROUPS}; do mount -o remount,ro,bind $m; done"
# What is lost with it: metrics that must not be exact any more, by the privilege.
PACKETS = ("network_sent_udp_bytes",)
CASES = [
    Case("nothing", [], ()),
    *(Case(f"cap {name}", without_caps(name), ()) for name in
      ("perfmon", "sys_ptrace", "dac_override", "dac_read_search", "sys_resource", "syslog", "kill",
       "net_raw", "sys_nice", "setuid", "setpcap", "sys_admin", "ipc_lock", "chown", "fowner")),
    Case("cap bpf", without_caps("bpf", "sys_admin"), PACKETS),
    Case("cap net_admin", without_caps("net_admin", "sys_admin"), PACKETS),
    Case("cap perfmon and sys_admin", without_caps("perfmon", "sys_admin"), ()),
    Case("all caps", without_caps("all"), PACKETS),
    *(Case(f"{call} {name}", ["DENY", call, str(getattr(errno, name))],
           PACKETS if call == "bpf" else ())
      for call in ("bpf", "clone3", "kcmp", "perf_event_open", "pidfd_open", "sched_getaffinity")
      for name in ("EPERM", "ENOSYS")),
    Case("no BTF", masked("mount -t tmpfs none /sys/kernel/btf"), ()),
    Case("no /sys", masked("mount -t tmpfs none /sys"), PACKETS),
    Case("no cgroups", masked(NO_CGROUPS), PACKETS),
    Case("cgroups read-only", masked(READ_ONLY), PACKETS),
    Case("hidepid", masked("mount -t proc -o hidepid=2 none /proc"), ()),
    Case("own network", ["unshare", "-n", "--"], ()),
    Case("own pid namespace", ["unshare", "-p", "-f", "--mount-proc", "--"], ()),
]


def hinders(place, before):
    """Why this case cannot be made here; None: it can."""
    if before and before[0] == "DENY":
        probe = [place.helper("deny"), *before[1:], "true"]
    else:
        probe = [*before, "true"]
    if lacking(*{"setpriv", "unshare"} & set(probe[:1])):
        return f"no {probe[0]} here"
    status, _, err = place.call(probe)
    return (err.decode().strip() or f"status {status}") if status else None


def command_of(place, before, is_careless, report, works=True):
    before = [place.helper("deny"), *before[1:]] if before and before[0] == "DENY" else before
    words = json.dumps([CHILDREN, CHILD_CPU, WRITTEN, PEAK, SENT, DATAGRAM_BYTES, STATUS, is_careless,
                        str(report), works])
    return before, ["/usr/bin/python3", "-c", JOB, words]


def view_without_toll(place, before):
    """What the job sees of itself; it does nothing else."""
    report = place.path("view.json")
    before, job = command_of(place, before, False, report, works=False)
    status, _, err = place.call([*before, *job])
    assert status == STATUS, err.decode()
    return json.loads(report.read_text())["view"]


def run_job(place, before, is_careless, options):
    report, summary, lines = (place.path(name) for name in ("report.json", "summary.json", "run.jsonl"))
    for path in (report, lines):
        path.unlink(missing_ok=True)
    before, job = command_of(place, before, is_careless, report)
    status, out, err = place.call([*before, place.toll, "run", "-i", "50ms", *options, "-o", lines, "--summary",
                                   "json", "--summary-to", summary, "--", *job])
    assert status == STATUS, err.decode()
    assert out == b"the job's own words\n"
    truth = json.loads(report.read_text())
    truth["lines"] = records(lines, "process")
    return truth, json.loads(summary.read_text())


def check_figure(name, figure, key, least, most, wrong):
    """A figure against what is true: not less if it claims to be complete, never more."""
    value = figure.get(key)
    if figure["quality"] == "unknown":
        if value is not None:
            wrong.append(f"{name} is unknown and has a value: {figure}")
        return
    if value is None:
        wrong.append(f"{name} has a quality and no value: {figure}")
    elif value > most:
        wrong.append(f"{name}: more than the {most} there can be: {figure}")
    elif figure["quality"] in ("exact", "exact if reaped") and value < least:
        wrong.append(f"{name}: less than the {least} there are: {figure}")


def check_lines(truth, summary, wrong):
    """Of processes that ended: all of them, and what they used and sent, if the kernel recorded them."""
    recorded = [line for line in truth["lines"] if line.get("recorded")]
    is_on = not any(note.startswith("--exact: ") for note in summary["notes"])
    if len(truth["lines"]) > 1 + CHILDREN:
        wrong.append(f"more processes have ended than there were: {truth['lines']}")
    if not is_on:
        if recorded:
            wrong.append("ends are called recorded that were not")
        return
    if len(recorded) != 1 + CHILDREN:
        wrong.append(f"{len(recorded)} processes were recorded")
    used = sum(line["cpu_seconds"] for line in recorded)
    if not truth["cpu"] - 0.002 <= used <= truth["cpu"] + CPU_MORE:
        wrong.append(f"the processes have {used} s together, not {truth['cpu']}")
    for key in ("socket_sent_bytes", "socket_received_bytes"):
        moved = [line[key] for line in recorded if key in line]
        if truth["network"] and moved and sum(moved) != SENT + DATAGRAM_BYTES:
            wrong.append(f"{key}: {moved}")


def check(case, truth, summary, is_careless):
    combined = summary["target"]["combined"]
    wrong = []
    cpu = truth["cpu"]
    check_figure("CPU time", combined["cpu_seconds"], "total", cpu - 0.002, cpu + CPU_MORE, wrong)
    check_figure("written", combined["io_written_bytes"], "total", WRITTEN, WRITTEN + WRITTEN_MORE, wrong)
    check_figure("RSS", combined["memory_rss_bytes"], "max", PEAK, PEAK + PEAK_MORE * (1 + CHILDREN), wrong)
    check_figure("largest", combined["memory_peak_bytes"], "max", PEAK, PEAK + PEAK_MORE, wrong)
    check_figure("started", combined["processes_started"], "total", 1 + CHILDREN, 1 + CHILDREN, wrong)
    if truth["network"]:
        more = 1 + NETWORK_MORE
        both = SENT + DATAGRAM_BYTES
        check_figure("TCP", combined["network_sent_tcp_bytes"], "total", SENT, SENT * more, wrong)
        check_figure("UDP", combined["network_sent_udp_bytes"], "total", DATAGRAM_BYTES, DATAGRAM_BYTES,
                     wrong)
        for way in ("sent", "received"):
            least = SENT if combined[f"network_{way}_bytes"]["from"].startswith("TCP") else both
            check_figure(way, combined[f"network_{way}_bytes"], "total", least, both * more, wrong)
    check_lines(truth, summary, wrong)
    why = [note for note in summary["notes"] if note.startswith("--exact: ")]
    if IS_ROOT and case.name in WHY and not any(WHY[case.name] in note for note in why):
        wrong.append(f"no reason is given for what --exact lacks: {why}")
    if is_careless and combined["cpu_seconds"]["quality"] == "exact if reaped":
        wrong.append("CPU time of children that no process waited for is called complete")
    for name in case.lost:
        if combined[name]["quality"] == "exact":
            wrong.append(f"{name} is exact without what it needs: {combined[name]}")
    assert not wrong, "\n".join(wrong + summary["notes"])


OPTIONS = ["--network", "--watch-exits", "--exact", "--threads", "--memory", "pss"]


@not_sanitized
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_without(here, case):
    if not IS_ROOT and case.before and not case.before[0] == "DENY":
        pytest.skip("needs root: privileges are taken away from it")
    why = hinders(here, case.before)
    if why:
        pytest.skip(f"{case.name}: {why}")
    view = view_without_toll(here, case.before)
    for is_careless in (False, True):
        truth, summary = run_job(here, case.before, is_careless, OPTIONS)
        assert truth["view"] == view
        check(case, truth, summary, is_careless)


@not_sanitized
def test_as_an_ordinary_user(nobody):
    for is_careless in (False, True):
        truth, summary = run_job(nobody, [], is_careless, OPTIONS)
        check(Case("nobody", [], PACKETS), truth, summary, is_careless)
