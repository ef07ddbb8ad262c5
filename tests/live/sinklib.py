# SPDX-License-Identifier: MIT
"""Servers that take what toll sends, and misbehave when told to; and readers of what they got."""
import http.server
import itertools
import os
import socket
import ssl
import struct
import subprocess
import threading
import time

END_BITS = 0x7FF0000000000002


def patient(destination):
    """For servers that answer: a busy machine is no dead server."""
    return destination if "grace=" in destination else destination + ",grace=60s"


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def unsnap(block):
    """A block of snappy: literals and copies."""
    length, at = varint(block, 0)
    out = bytearray()
    while at < len(block):
        tag = block[at]
        at += 1
        kind = tag & 3
        if kind == 0:
            size = tag >> 2
            if size >= 60:
                extra = size - 59
                size = int.from_bytes(block[at:at + extra], "little")
                at += extra
            out += block[at:at + size + 1]
            at += size + 1
            continue
        if kind == 1:
            size, offset = (tag >> 2 & 7) + 4, (tag >> 5) << 8 | block[at]
            at += 1
        else:
            width = 2 if kind == 2 else 4
            size, offset = (tag >> 2) + 1, int.from_bytes(block[at:at + width], "little")
            at += width
        for _ in range(size):
            out.append(out[-offset])
    assert len(out) == length
    return bytes(out)


def fields(message):
    """(number, value) of a protocol buffer: ints, floats' bits as ints, bytes."""
    at = 0
    while at < len(message):
        key, at = varint(message, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(message, at)
        elif kind == 1:
            value, at = int.from_bytes(message[at:at + 8], "little"), at + 8
        elif kind == 2:
            size, at = varint(message, at)
            value, at = message[at:at + size], at + size
        else:
            raise AssertionError(f"wire type {kind}")
        yield key >> 3, value


def number(bits):
    return struct.unpack("<d", bits.to_bytes(8, "little"))[0]


def write_request(body):
    """[(labels as a tuple of pairs, [(ms, bits)])] of a remote write request, checked."""
    series = []
    for field, timeseries in fields(unsnap(body)):
        assert field in (1, 3)
        if field == 3:  # what a metric means
            continue
        labels, samples = [], []
        for part, value in fields(timeseries):
            inner = dict(fields(value))
            if part == 1:
                labels.append((inner[1].decode(), inner[2].decode()))
            else:
                assert part == 2
                samples.append((inner[2], inner[1]))
        names = [name for name, _ in labels]
        assert names == sorted(names) and len(set(names)) == len(names)
        assert all(value for _, value in labels)
        times = [ms for ms, _ in samples]
        assert times == sorted(set(times)), "timestamps rise"
        series.append((tuple(labels), samples))
    assert len({labels for labels, _ in series}) == len(series), "each series once"
    return series


METADATA_TYPES = {1: "counter", 2: "gauge"}


def metadata(server):
    """{name: (type, help, unit)} of all remote write requests that were taken."""
    found = {}
    for request in server.taken():
        for field, message in fields(unsnap(request["body"])):
            if field == 3:
                inner = dict(fields(message))
                found[inner[2].decode()] = (METADATA_TYPES[inner[1]], inner[4].decode(),
                                            inner.get(5, b"").decode())
    return found


def grouped(message):
    """{field: [values]} of a protocol buffer."""
    found = {}
    for number_, value in fields(message):
        found.setdefault(number_, []).append(value)
    return found


def otlp_value(message):
    """An AnyValue: text, a whole number, or a list."""
    (field, value), = fields(message)
    if field == 5:
        return [otlp_value(v) for v in grouped(value).get(1, [])]
    return value.decode() if field == 1 else value


def otlp_attributes(pairs):
    found = {}
    for pair in map(grouped, pairs):
        (key,), (value,) = pair[1], pair[2]
        assert key.decode() not in found, "each key once"
        found[key.decode()] = otlp_value(value)
    return found


def otlp_request(body):
    """(resource, schema URLs, [metric]) of a request, checked. A metric has name, unit, description,
    instrument, and points: (attributes as a sorted tuple, ns, start ns, value or None at its end)."""
    (resource_metrics,) = grouped(body)[1]
    parts = grouped(resource_metrics)
    (scope_metrics,) = parts[2]
    scope = grouped(scope_metrics)
    assert grouped(scope[1][0])[1] == [b"toll"]
    metrics, points = [], set()
    for metric in map(grouped, scope[2]):
        (name,), (description,), (unit,) = metric[1], metric[2], metric[3]
        assert description, name
        (kind,) = set(metric) & {5, 7}
        data = grouped(metric[kind][0])
        if kind == 5:
            instrument = "gauge"
            assert set(data) == {1}
        else:
            assert data[2] == [2], "cumulative"
            instrument = {1: "counter", 0: "updowncounter"}[data[3][0]]
        found = []
        for point in map(grouped, data[1]):
            attributes = tuple(sorted(otlp_attributes(point.get(7, [])).items()))
            value = number(point[4][0]) if 4 in point else point.get(6, [None])[0]
            assert (value is None) == (point.get(8) == [1])
            found.append((attributes, point[3][0], point.get(2, [None])[0], value))
            assert (name, attributes, point[3][0]) not in points, "each point once"
            points.add((name, attributes, point[3][0]))
        metrics.append({"name": name.decode(), "unit": unit.decode(), "instrument": instrument,
                        "description": description.decode(), "points": found})
    names = [m["name"] for m in metrics]
    assert len(set(names)) == len(names), "each metric once in a request"
    urls = [u.decode() for u in parts.get(3, []) + scope.get(3, [])]
    return otlp_attributes(grouped(parts[1][0])[1]), urls, metrics


class Server:
    """Takes requests on loopback. answer: what to do with the next ones, (status, body, headers),
    "hang" (read, then say nothing), "close" (read, then close), "deaf" (accept and read nothing)
    or a function of the request that returns one of them."""

    def __init__(self, answer=(204, b"", {}), port=0, context=None):
        self.answer, self.requests, self._sockets = answer, [], []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # head and body of an answer are two writes

            def handle_any(self):
                length = int(self.headers.get("Content-Length", 0))
                body = self.rfile.read(length)
                request = {"method": self.command, "path": self.path, "body": body,
                           "headers": dict(self.headers), "time": time.monotonic()}
                answer = outer.answer(request) if callable(outer.answer) else outer.answer
                request["answer"] = answer
                outer.requests.append(request)
                if answer == "hang":
                    outer.released.wait(60)
                if answer in ("hang", "close"):
                    self.close_connection = True
                    return
                status, text, headers = answer
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(text)

            do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = handle_any

            def log_message(self, *args):
                pass

        class Quiet(http.server.ThreadingHTTPServer):
            daemon_threads = True
            allow_reuse_address = True

            def get_request(self):
                connection = super().get_request()
                outer._sockets.append(connection[0])
                return connection

            def handle_error(self, request, client_address):
                pass  # clients may go away

        self.released = threading.Event()
        self._server = Quiet(("127.0.0.1", port), Handler)
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        if context:  # of ssl
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True,
                                                      do_handshake_on_connect=False)
            self.url = f"https://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.stop()

    def stop(self):
        """As if it was killed: connections are cut."""
        self.released.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        for connection in self._sockets:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def taken(self):
        return [r for r in self.requests if isinstance(r["answer"], tuple) and r["answer"][0] < 300]


def arrived(server):
    """{labels: {ms: bits}} of all remote write requests that were taken; no sample twice."""
    found = {}
    for request in server.taken():
        for labels, samples in write_request(request["body"]):
            series = found.setdefault(labels, {})
            for ms, bits in samples:
                assert ms not in series, "a sample came twice"
                assert not series or ms > max(series), "a sample came too late"
                series[ms] = bits
    return found


def free_port():
    """For a program that wants to be told its port. Not one of those that the kernel gives to whoever
    asks for any, of whom there are many between now and then; tests that run beside this one begin
    elsewhere."""
    begin, end = 10000, 30000  # ip_local_port_range begins at 32768
    for i in range(end - begin):
        port = begin + (os.getpid() * 37 + next(_ports) + i) % (end - begin)
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("no port is free")


_ports = itertools.count()


def certificate(directory, name):
    """(key, certificate), for 127.0.0.1 and signed by itself, as files that anybody may read."""
    key, own = directory / f"{name}-key.pem", directory / f"{name}.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                    "-keyout", key, "-out", own, "-subj", f"/CN={name}", "-addext",
                    "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    for path in (key, own):
        path.chmod(0o644)
    return key, own


def strict(key, own, trusted):
    """A context of ssl that takes clients with that certificate only."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own, key)
    context.load_verify_locations(trusted)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def silent():
    """A socket that accepts connections, by its backlog, and never says a word."""
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    s.listen(8)
    return s
