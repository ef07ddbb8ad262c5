# SPDX-License-Identifier: MIT
"""Network bytes of a target, against what the test itself has sent; on loopback, or on a virtual
cable of the test's own."""
import json
import os
import pathlib
import signal
import socket
import subprocess
import threading

import pytest
from livelib import GUARD, cable, children_of, needs_root, records, until

MIB = 1 << 20
SENT_MIB = 200
SENT = SENT_MIB * MIB
# Bytes are counted per socket, without headers, and a socket's last words are heard: only what is
# acknowledged after the last look can be missing, far less than this.
WITHIN = 0.02


class Attached:
    def __init__(self, place, *options):
        self.path, self.series = place.path("a.json"), place.path("a.jsonl")
        self.p = place.popen([place.toll, "attach", "-q", "-o", self.path, "-o", self.series,
                              *options], stdout=subprocess.DEVNULL)
        until(lambda: self.p.poll() is not None or self.samples(), "the first sample")
        assert self.p.poll() is None

    def samples(self):
        text = self.series.read_text() if self.series.exists() else ""
        return text.count('"type":"sample"')

    def end(self):
        if self.p.poll() is None:
            self.p.send_signal(signal.SIGINT)
        self.p.wait(timeout=GUARD)
        return json.loads(self.path.read_text())["target"]["combined"]


def is_label_of_sockets(figure):
    return (figure["quality"], figure["from"]) == ("lower bound", "TCP sockets, sampled")


def test_tcp_between_two_processes_of_a_job(place):
    """Both ends are the job's: what is sent is received."""
    result = place.run([place.helper("tcp"), str(SENT_MIB)],
                       ["--network", "--own-cgroup", "never", "-o", "x.jsonl"])
    assert result.status == 0
    for metric in ("network_sent_bytes", "network_received_bytes"):
        assert result.total(metric) == pytest.approx(SENT, rel=WITHIN), metric
        assert is_label_of_sockets(result.figure(metric))
        series = [s["target"]["combined"][metric] for s in records(place.path("x.jsonl"), "sample")]
        known = [value for value in series if value is not None]
        assert known == sorted(known), "a counter never falls"
        assert known[-1] == result.total(metric)


@pytest.mark.parametrize("options", [[], ["--no-children"]])
def test_tcp_of_an_attached_process(place, options):
    """From the attach on; without the child there is one end only."""
    with place.popen([place.helper("tcp"), str(SENT_MIB), "wait"], stdin=subprocess.PIPE) as job:
        until(lambda: pathlib.Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text(),
              "its child")
        toll = Attached(place, "--network", "-i", "100ms", *options, str(job.pid))
        job.stdin.write(b"\n")
        job.stdin.close()
        assert job.wait(timeout=GUARD) == 0
        combined = toll.end()
    assert combined["network_sent_bytes"]["total"] == pytest.approx(SENT, rel=WITHIN)
    assert is_label_of_sockets(combined["network_sent_bytes"])
    received = combined["network_received_bytes"]["total"]
    if options:
        assert received <= 1, "the kernel counts the end of the other side as a byte"
    else:
        assert received == pytest.approx(SENT, rel=WITHIN)


def test_not_asked_for(place):
    """No figure, and nothing that it would cost: no netlink socket is ever opened."""
    result = place.run([place.helper("tcp"), "1"])
    assert result.status == 0
    assert not [m for m in result.summary["target"]["combined"] if m.startswith("network")]
    status, _, err = place.call(["strace", "-f", "-e", "trace=socket", "-o", place.path("calls"),
                                 place.toll, "run", "-q", "--", "true"])
    if status == 0:
        assert "NETLINK" not in place.path("calls").read_text()


def test_asked_for_by_name(place):
    result = place.run([place.helper("tcp"), str(SENT_MIB)], ["-m", "network_sent_bytes"])
    assert result.status == 0
    assert list(result.summary["target"]["combined"]) == ["network_sent_bytes"]
    assert result.total("network_sent_bytes") == pytest.approx(SENT, rel=WITHIN)


# ---- A namespace of its own ----------------------------------------------------------------------


class Sink(threading.Thread):
    """Listens on the cable, reads all, closes."""

    def __init__(self, address):
        super().__init__()
        self.socket = socket.create_server((address, 0))
        self.socket.settimeout(GUARD)
        self.port = self.socket.getsockname()[1]
        self.received = 0
        self.start()

    def run(self):
        with self.socket, self.socket.accept()[0] as connection:
            while data := connection.recv(1 << 16):
                self.received += len(data)


def counters(interface):
    base = pathlib.Path(f"/sys/class/net/{interface}/statistics")
    return [int((base / name).read_text()) for name in ("rx_bytes", "tx_bytes")]


@needs_root
@pytest.mark.parametrize("way", ["run", "attach"])
def test_namespace_of_its_own(here, way):
    """The other end of the cable, which stays here, is the truth: what came out of the namespace
    and what went in, headers and all. Nothing else runs over it; neighbour discovery of the kernel
    does, so that toll's total lies between the bytes sent and what the cable has at the end."""
    script = 'echo $$ > pid.part; mv pid.part pid; read where port && exec "$0" 20 to $where $port'
    command = ["unshare", "-n", "sh", "-c", script, here.helper("tcp")]
    if way == "run":
        command = [here.toll, "run", "-q", "--network", "-i", "20ms", "-o", here.path("s.json"),
                   "-o", here.path("s.jsonl"), "--", *command]
    toll = None
    with here.popen(command, stdin=subprocess.PIPE) as job:
        try:
            until(here.path("pid").exists, "the job")
            pid = int(here.path("pid").read_text())
            if way == "attach":
                toll = Attached(here, "--network", "-i", "50ms", str(pid))
            else:
                until(lambda: here.path("s.jsonl").exists() and
                      len(records_so_far(here.path("s.jsonl"))) > 20, "some looks")
            # Held, the namespace keeps its end of the cable when the job is gone.
            with open(f"/proc/{pid}/ns/net", "rb"), cable(pid) as (ours, address):
                sink = Sink(address)
                job.stdin.write(f"{address} {sink.port}\n".encode())
                job.stdin.close()
                status = job.wait(timeout=GUARD)
                sink.join(GUARD)
                combined = toll.end() if toll else json.loads(
                    here.path("s.json").read_text())["target"]["combined"]
                came_out, went_in = counters(ours)
        finally:
            job.kill()
    assert status == 0 and sink.received == 20 * MIB
    sent = combined["network_sent_bytes"]
    assert (sent["quality"], sent["from"]) == ("exact", "network namespace"), sent
    assert sent["total"] >= 20 * MIB
    assert sent["total"] <= came_out
    received = combined["network_received_bytes"]["total"]
    assert 0 < received <= went_in


def records_so_far(path):
    return [line for line in path.read_text().splitlines() if '"type":"sample"' in line]


@needs_root
def test_namespace_counts_in_the_union(here):
    """Bytes of one of two targets are bytes of both together."""
    script = 'echo $$ > pid.part; mv pid.part pid; read where port && exec "$0" 2 to $where $port'
    with here.popen(["unshare", "-n", "sh", "-c", script, here.helper("tcp")],
                    stdin=subprocess.PIPE) as job, here.popen(["sleep", "100"]) as other:
        try:
            until(here.path("pid").exists, "the job")
            toll = Attached(here, "--network", "-i", "50ms", str(job.pid), str(other.pid))
            with cable(job.pid) as (_, address):
                sink = Sink(address)
                job.stdin.write(f"{address} {sink.port}\n".encode())
                job.stdin.close()
                assert job.wait(timeout=GUARD) == 0
                sink.join(GUARD)
                sent = toll.end()["network_sent_bytes"]
        finally:
            job.kill()
            other.kill()
    assert sent["quality"] == "lower bound" and 2 * MIB <= sent["total"] < 3 * MIB


@needs_root
def test_namespace_that_is_shared(here):
    """Bytes of the others are not the target's, and 0 would be invented: not known."""
    script = "sleep 100 & echo $! > one; sleep 100 & echo $! > two; wait"
    with here.popen(["unshare", "-n", "sh", "-c", script]) as job:
        try:
            until(lambda: here.path("two").exists() and here.path("two").read_text(), "both")
            one = here.path("one").read_text().strip()
            status, _, err = here.call([here.toll, "attach", "-q", "--network", "--for", "300ms",
                                        "-o", "s.json", one])
            assert status == 0, err
            summary = json.loads(here.path("s.json").read_text())
            sent = summary["target"]["combined"]["network_sent_bytes"]
            assert sent == {"quality": "unknown", "from": ""}
            assert any("network namespace" in note for note in summary["notes"])
        finally:
            for name in ("one", "two"):
                os.kill(int(here.path(name).read_text()), signal.SIGKILL)


def namespace(pid):
    return os.readlink(f"/proc/{pid}/ns/net")


@needs_root
@pytest.mark.parametrize("who", ["member", "other"])
def test_namespace_that_is_not_the_targets_alone(here, who):
    """A member that is elsewhere makes it a lower bound; somebody who comes in later, unknown."""
    script = "echo > ready; read go; unshare -n sleep 100 & wait"
    with here.popen(["unshare", "-n", "sh", "-c", script], stdin=subprocess.PIPE) as job:
        other = None
        try:
            until(here.path("ready").exists, "the job")
            toll = Attached(here, "--network", "-i", "50ms", str(job.pid))
            if who == "member":
                job.stdin.write(b"\n")
                job.stdin.flush()
                member = until(lambda: children_of(job.pid), "the member")[0]
                until(lambda: namespace(member) != namespace(job.pid), "the member elsewhere")
            else:
                other = here.popen(["nsenter", "-t", str(job.pid), "-n", "sleep", "100"])
                until(lambda: namespace(other.pid) == namespace(job.pid), "the other one")
            before = toll.samples()
            until(lambda: toll.samples() > before + 10, "some looks")
            sent = toll.end()["network_sent_bytes"]
        finally:
            children = pathlib.Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text()
            for pid in (job.pid, *map(int, children.split())):
                os.kill(pid, signal.SIGKILL)
            if other:
                other.kill()
                other.wait()
    assert sent["quality"] == ("lower bound" if who == "member" else "unknown"), sent


@needs_root
def test_namespace_goes_with_its_last_process(here):
    """toll keeps no namespace: the cable is gone a moment after the job, while toll goes on."""
    with here.popen(["unshare", "-n", "sh", "-c", "echo > ready; read go"],
                    stdin=subprocess.PIPE) as job, here.popen(["sleep", "100"]) as other:
        try:
            until(here.path("ready").exists, "the job")
            toll = Attached(here, "--network", "-i", "50ms", str(job.pid), str(other.pid))
            with cable(job.pid) as (ours, _):
                until(lambda: toll.samples() > 4, "some looks")
                job.stdin.close()
                job.wait(timeout=GUARD)
                until(lambda: not pathlib.Path(f"/sys/class/net/{ours}").exists(),
                      "the end of the cable")
            assert toll.p.poll() is None
            toll.end()
        finally:
            other.kill()
