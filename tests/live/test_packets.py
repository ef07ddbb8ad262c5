# SPDX-License-Identifier: MIT
"""Packets of a command's own cgroup, counted in the kernel, against what the two ends themselves have
sent and received over a virtual cable between two network namespaces."""
import json
import pathlib
import socket
import subprocess

import pytest
from hostlib import needs
from livelib import GUARD, bpf_links, cable, needs_root, until

MIB = 1 << 20
TCP_BYTES, DATAGRAMS, DATAGRAM_BYTES = 200 * MIB, 50_000, 400
CONNECTIONS, AT_A_TIME, LIFE_SECONDS = 2000, 20, 0.01
WITHIN = 0.01  # segments that were sent again count again; on a cable without loss there are none

# The other end, in a namespace of its own: TCP gets back as much as it sent, datagrams are counted.
SERVER = """
import socket, sys, threading
address = sys.stdin.readline().strip()
family = socket.AF_INET6 if ":" in address else socket.AF_INET
listener = socket.create_server((address, 0), family=family, backlog=128)
udp = socket.socket(family, socket.SOCK_DGRAM)
udp.bind((address, 0))
print(listener.getsockname()[1], udp.getsockname()[1], flush=True)
def echo(connection):
    with connection:
        while data := connection.recv(1 << 18):
            connection.sendall(data)
while True:
    threading.Thread(target=echo, args=(listener.accept()[0],)).start()
"""

JOB = """
import json, socket, sys, threading, time
address, tcp, udp, size, datagrams, length, connections, at_a_time, life = json.loads(sys.argv[1])

def echo(bytes, life):
    with socket.create_connection((address, tcp)) as s:
        def send():
            s.sendall(b"x" * bytes)
            time.sleep(life)
            s.shutdown(socket.SHUT_WR)
        sender = threading.Thread(target=send)
        sender.start()
        received = 0
        while data := s.recv(1 << 18):
            received += len(data)
        sender.join()
        assert received == bytes

def echo_some():
    for _ in range(connections // at_a_time):
        echo(100, life)

echo(size, 0)
threads = [threading.Thread(target=echo_some) for _ in range(at_a_time)]
for t in threads:
    t.start()
for t in threads:
    t.join()
with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM) as s:
    for _ in range(datagrams):
        s.sendto(b"x" * length, (address, udp))
"""


def needs_packets(here):
    """Skips the test, with the reason, where toll cannot count packets."""
    check = json.loads(here.call([here.toll, "doctor", "--json", "bpf"])[1])["checks"][0]
    if check["state"] != "ok":
        pytest.skip(check["detail"])
    if labels(here.run(["true"], ["--network"]), "sent_udp_bytes") != EXACT:
        pytest.skip("no cgroup of its own for a command here")


def figures(result, *names):
    return [result.total(f"network_{name}") for name in names]


def labels(result, name="sent_bytes"):
    figure = result.figure(f"network_{name}")
    return figure["quality"], figure["from"]


EXACT = ("exact", "packets of the cgroup")


def other_end(family, server, ours, address):
    """Its address, on the cable."""
    if family == "ipv4":
        return address[:-1] + "2"
    inside = ["nsenter", "-t", str(server), "-n"]
    theirs = subprocess.run([*inside, "ip", "-o", "link"], capture_output=True, text=True, check=True)
    device = next(word for word in theirs.stdout.replace("@", " ").replace(":", " ").split()
                  if word == ours[:-1] + "b")
    for prefix, name, last in (([], ours, "1"), (inside, device, "2")):
        if subprocess.run([*prefix, "ip", "-6", "addr", "add", f"fd99::{last}/64", "dev", name, "nodad"],
                          capture_output=True, check=False).returncode:
            pytest.skip("no IPv6 here")
    return "fd99::2"


@needs_root
@needs("ip", "nsenter", "unshare")
@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_between_two_namespaces(here, family):
    needs_packets(here)
    with here.popen(["unshare", "-n", "/usr/bin/python3", "-c", SERVER], stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE, text=True) as server:
        try:
            until(lambda: pathlib.Path(f"/proc/{server.pid}/comm").read_text() == "python3\n",
                  "the namespace")
            with cable(server.pid) as (device, address):
                theirs = other_end(family, server.pid, device, address)
                server.stdin.write(theirs + "\n")
                server.stdin.flush()
                tcp, udp = server.stdout.readline().split()
                words = json.dumps([theirs, int(tcp), int(udp), TCP_BYTES, DATAGRAMS, DATAGRAM_BYTES,
                                    CONNECTIONS, AT_A_TIME, LIFE_SECONDS])
                result = here.run(["/usr/bin/python3", "-c", JOB, words], ["--network"])
        finally:
            server.kill()
    assert result.status == 0, result.err
    assert labels(result) == labels(result, "sent_udp_bytes") == EXACT
    payload = TCP_BYTES + CONNECTIONS * 100
    for name in ("sent_tcp_bytes", "received_tcp_bytes"):
        assert result.total(f"network_{name}") == pytest.approx(payload, rel=WITHIN), name
        assert result.total(f"network_{name}") >= payload, name
    assert result.total("network_sent_udp_bytes") == DATAGRAMS * DATAGRAM_BYTES
    assert result.total("network_received_udp_bytes") == 0
    sent, wire, packets = figures(result, "sent_bytes", "sent_wire_bytes", "packets_sent")
    assert sent == result.total("network_sent_tcp_bytes") + DATAGRAMS * DATAGRAM_BYTES
    # A packet has at least 28 bytes of headers, at most 140; a datagram of 400 fits into one.
    assert sent + 28 * packets <= wire <= sent + 140 * packets
    assert packets >= DATAGRAMS + CONNECTIONS * 3


def test_loopback_counts_once_each_way(here):
    """As the ordinary user or without the capabilities, the sockets that were seen are a lower
    bound; nothing else is said."""
    result = here.run([here.helper("tcp"), "10"], ["--network"])
    assert result.status == 0
    if labels(result) != EXACT:
        assert labels(result) == ("lower bound", "TCP sockets, sampled")
        return
    for name in ("sent_tcp_bytes", "received_tcp_bytes"):
        total = result.total(f"network_{name}")
        assert 10 * MIB <= total <= 10 * MIB * (1 + WITHIN) + MIB, name  # loopback may repeat some


@needs_root
def test_inherited_socket_is_a_lower_bound(here):
    needs_packets(here)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver, \
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        receiver.bind(("127.0.0.1", 0))
        sender.connect(receiver.getsockname())
        sender.set_inheritable(True)
        code = f"import os; os.write({sender.fileno()}, b'hello')"
        result = here.run(["/usr/bin/python3", "-c", code], ["--network"],
                          pass_fds=[sender.fileno()])
        assert receiver.recv(10) == b"hello"
    assert labels(result) == ("lower bound", "packets of the cgroup")
    assert any("inherits a network socket" in note for note in result.notes)


@needs_root
@needs("setpriv")
@pytest.mark.parametrize("lacking", ["bpf", "net_admin", "all"])
def test_without_a_capability(here, lacking):
    """Less is known, and is labelled so; the command does not notice."""
    caps = "-all" if lacking == "all" else f"-sys_admin,-{lacking}"
    status, _, err = here.call(
        ["setpriv", f"--bounding-set={caps}", f"--inh-caps={caps}", here.toll, "run", "-q",
         "--network", "-o", "s.json", "--", here.helper("tcp"), "10"])
    assert status == 0, err
    combined = json.loads(here.path("s.json").read_text())["target"]["combined"]
    sent = combined["network_sent_bytes"]
    assert (sent["quality"], sent["from"]) == ("lower bound", "TCP sockets, sampled")
    assert combined["network_sent_udp_bytes"] == {"quality": "unknown", "from": ""}


@needs_root
def test_nothing_is_left_attached(here):
    """A program that stays attached would count on for ever: none is loaded afterwards, even if toll
    is killed. Programs of others are not looked at."""
    needs_packets(here)
    with here.popen([here.toll, "run", "-q", "--network", "--", "sleep", "100"]) as toll:
        until(lambda: bpf_links(toll.pid, "cgroup") == 2, "both links")
        toll.terminate()
        toll.wait(timeout=GUARD)
