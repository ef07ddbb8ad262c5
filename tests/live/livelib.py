# SPDX-License-Identifier: MIT
"""What the live tests share: running toll as somebody, reading its figures, knowing the truth."""
import contextlib
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

import fixturelib
from recordlib import read_record

SANITIZED = os.environ.get("TOLL_SANITIZED") == "1"
IS_ROOT = os.geteuid() == 0
TICK = 1 / os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGESIZE")
GUARD = 120  # seconds after which a test hangs; no statement about speed

needs_root = pytest.mark.skipif(not IS_ROOT, reason="needs root")
not_sanitized = pytest.mark.skipif(
    SANITIZED, reason="sanitizers change what toll costs or the memory it needs")


class Result:
    """One ended `toll run`: its status, its streams and its figures."""

    def __init__(self, status, out, err, summary_path):
        self.status, self.out, self.err = status, out, err
        self._path = summary_path

    @property
    def summary(self):
        return json.loads(self._path.read_text())

    def figure(self, metric, part="combined"):
        return self.summary["target"][part][metric]

    def total(self, metric, part="combined"):
        return self.figure(metric, part)["total"]

    def largest(self, metric, part="combined"):
        return self.figure(metric, part)["max"]

    def quality(self, metric, part="combined"):
        return self.figure(metric, part)["quality"]

    @property
    def notes(self):
        return self.summary["notes"]


class Process(subprocess.Popen):
    """A started command that ends with its `with`: a test that failed does not wait for it."""

    def __exit__(self, kind, value, traceback):
        if kind is not None:
            self.kill()
        super().__exit__(kind, value, traceback)


class Place:
    """A user, a directory that is his, and the programs he may run."""

    def __init__(self, user, toll, helpers, directory):
        self.user, self.toll, self.directory = user, str(toll), directory
        self._helpers = helpers
        self.prefix = []
        if user == "nobody" and IS_ROOT:
            self.prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
            os.chown(directory, 65534, 65534)

    @property
    def uid(self):
        return 65534 if self.prefix else os.geteuid()

    @property
    def privileged(self):
        return self.user == "root"

    def helper(self, name):
        return str(self._helpers / name)

    def path(self, name):
        return self.directory / name

    def popen(self, command, **kw):
        """Start a command as this user; setpriv becomes it, so the pid is the command's."""
        kw.setdefault("cwd", self.directory)
        return Process(self.prefix + [str(c) for c in command], **kw)

    def call(self, command, **kw):
        """Run to the end; streams are bytes."""
        kw.setdefault("stdin", subprocess.DEVNULL)
        kw.setdefault("stdout", subprocess.PIPE)
        kw.setdefault("stderr", subprocess.PIPE)
        limit = kw.pop("timeout", GUARD)
        given = kw.pop("input", None)
        if given is not None:
            kw["stdin"] = subprocess.PIPE
        with self.popen(command, **kw) as p:
            try:
                out, err = p.communicate(given, timeout=limit)
            except subprocess.TimeoutExpired:
                p.kill()
                raise
        return p.returncode, out, err

    def shell(self, script, **kw):
        """A script in which $TOLL and $HELPERS are set."""
        environment = dict(kw.pop("env", os.environ))
        environment.update(TOLL=self.toll, HELPERS=str(self._helpers))
        return self.call(["sh", "-c", script], env=environment, **kw)

    def run(self, command, options=(), before=(), **kw):
        """`toll run`, with the figures of its summary. before: a command that runs toll."""
        with tempfile.NamedTemporaryFile(dir=self.directory, suffix=".json", delete=False) as f:
            path = pathlib.Path(f.name)
        path.chmod(0o666)
        status, out, err = self.call(
            [*before, self.toll, "run", "--summary", "json", "--summary-to", path, *options, "--", *command],
            **kw)
        return Result(status, out, err, path)


def records(path, kind=None):
    """The lines of a .jsonl, all of them whole."""
    text = pathlib.Path(path).read_text()
    assert text == "" or text.endswith("\n"), "the last line is cut"
    return [line for line in read_record(text) if kind is None or line["type"] == kind]


def until(condition, what):
    """Wait for something that is bound to happen; the time it takes is not judged."""
    end = time.monotonic() + GUARD
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.005)
    raise AssertionError(f"never happened: {what}")


def job_until(condition):
    """The same for a job, in words of a shell: a minute at most, and then the test will see."""
    return f"n=0; until {condition} || [ $n -ge 1200 ]; do n=$((n + 1)); sleep 0.05; done"


def recorded(pattern, count=1, path="run.jsonl"):
    """A condition for a job: so many lines of a file, as toll's own record, have it. Then toll has
    seen what the job did, however late this machine let it. It writes nothing, which would count."""
    return f"awk '/{pattern}/ {{ n++ }} END {{ exit n < {count} }}' {path}"


def job_until_more(pattern, count):
    """For a job: wait until the record has so many lines with it more than by now."""
    lines = f"$(grep -Ec '{pattern}' run.jsonl || :)"
    return f"before={lines}; " + job_until(f"[ {lines} -ge $((before + {count})) ]")


@contextlib.contextmanager
def small_disk(place, size):
    """A filesystem that is soon full; as root, where one can be mounted."""
    small = place.path("small")
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", small],
                      check=False).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        yield small
    finally:
        subprocess.run(["umount", small], check=True)


def noted(text, count=1, path="run.jsonl"):
    """The same of toll's notes; the quotes keep it from finding the job's own command."""
    return recorded(f'"name":"note".*{text}', count, path)


def exists(pid):
    """A zombie does not count: nobody may be there to reap an orphan."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rsplit(")", 1)[1].split()[0] not in "ZX"


def state_of(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def children_of(pid):
    """Pids of the children of a single-threaded process."""
    try:
        return [int(p) for p in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def bpf_links(pid, kind):
    """How many links of that kind ("cgroup", "iter") a process holds. Descriptors come and go meanwhile."""
    count = 0
    for fd in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        with contextlib.suppress(OSError):
            count += f"link_type:\t{kind}" in fd.read_text()
    return count


def started(path):
    """The pid a helper wrote, once it is there."""
    def read():
        text = path.read_text() if path.exists() else ""
        return int(text) if text.endswith("\n") else 0
    return until(read, f"a pid in {path}")


@contextlib.contextmanager
def cpu_cgroup():
    """A fresh cgroup whose CPU time is the truth: yields (file to join by, function to read)."""
    for mount, group in _cgroup_mounts():
        directory = mount / f"toll-live-{os.getpid()}-{time.monotonic_ns()}"
        try:
            directory.mkdir()
        except OSError:
            continue
        try:
            yield directory / "cgroup.procs", lambda: _cgroup_seconds(directory, group)
        finally:
            until(lambda: not (directory / "cgroup.procs").read_text(), "an empty cgroup")
            directory.rmdir()
        return
    pytest.skip("no cgroup can be made here")


def _cgroup_mounts():
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        left, right = line.split(" - ")
        kind, _, options = right.split(" ", 2)
        mount = pathlib.Path(left.split()[4])
        if kind == "cgroup" and "cpuacct" in options.split(","):
            yield mount, 1
        elif kind == "cgroup2" and (mount / "cpu.stat").exists():
            yield mount, 2


def _cgroup_seconds(directory, version):
    if version == 1:
        return int((directory / "cpuacct.usage").read_text()) / 1e9
    return int(re.search(r"usage_usec (\d+)", (directory / "cpu.stat").read_text())[1]) / 1e6


def in_cgroup(procs, command):
    """The command, joining a cgroup before it begins; toll itself stays outside."""
    return ["sh", "-c", f'echo $$ > {procs}; exec "$@"', "sh", *map(str, command)]


def signal_number(name):
    return int(getattr(signal, name))


HELPERS = sorted((pathlib.Path(__file__).parent / "helpers").glob("*.c"))
HELPER_OPTIONS = ["-O1", "-Wall", "-Wextra", "-D_GNU_SOURCE", "-pthread"]


def compiled_helpers():
    """The directory of the small programs that tests run, compiled once for all files of tests."""
    digest = hashlib.sha256(" ".join(HELPER_OPTIONS).encode())
    for source in HELPERS:
        digest.update(source.name.encode() + source.read_bytes())
    return fixturelib.kept_in_build(f"helpers-{digest.hexdigest()[:16]}", compile_helpers)


def compile_helpers(directory):
    for source in HELPERS:
        static = ["-static"] if source.stem == "tiny" else []
        subprocess.run(["cc", *HELPER_OPTIONS, *static, "-o", directory / source.stem, source], check=True)


def ip(*words, check=True):
    return subprocess.run(["ip", *words], check=check, capture_output=True)


@contextlib.contextmanager
def cable(pid):
    """A virtual cable from here into the namespace of a process: 10.99.x.1 to 10.99.x.2."""
    ours, theirs = f"tl{os.getpid() % 100000}a", f"tl{os.getpid() % 100000}b"
    if not shutil.which("ip"):
        pytest.skip("no ip here (package iproute2)")
    if ip("link", "add", ours, "type", "veth", "peer", "name", theirs, check=False).returncode:
        pytest.skip("no virtual cable can be made here")
    net = f"10.99.{os.getpid() % 250}"
    inside = ["nsenter", "-t", str(pid), "-n", "ip"]
    try:
        ip("link", "set", theirs, "netns", str(pid))
        ip("addr", "add", f"{net}.1/24", "dev", ours)
        ip("link", "set", ours, "up")
        subprocess.run([*inside, "addr", "add", f"{net}.2/24", "dev", theirs], check=True)
        subprocess.run([*inside, "link", "set", theirs, "up"], check=True)
        yield ours, f"{net}.1"
    finally:
        ip("link", "del", ours, check=False)
