# SPDX-License-Identifier: MIT
"""What the tests of `toll attach` share: a toll that is attached, and processes to attach to."""
import contextlib
import json
import os
import signal
import subprocess

import livelib
from livelib import until
from recordlib import read_record

# User and system time are told in whole ticks, each rounded down: a figure that was subtracted may
# have lacked both.
ROUNDING = 2 * livelib.TICK


class Attached:
    """A running `toll attach`; ends with end(), or by itself with its targets."""

    def __init__(self, place, words, **kw):
        self.path = place.path(f"attached-{livelib.time.monotonic_ns()}.json")
        self.samples = self.path.with_suffix(".jsonl")
        command = [place.toll, "attach", "-o", self.samples, "--summary", "json", "--summary-to",
                   self.path, *words]
        self.process = place.popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, **kw)
        until(lambda: self.is_ready() or self.process.poll() is not None, "the attach")

    def is_ready(self):
        """The head of the samples is written once the baseline is taken."""
        return self.samples.exists() and self.samples.stat().st_size > 0

    def wait(self):
        self.out, self.err = self.process.communicate(timeout=livelib.GUARD)
        self.status = self.process.returncode
        return self

    def end(self, number=signal.SIGINT):
        self.process.send_signal(number)
        return self.wait()

    @property
    def summary(self):
        assert self.path.exists(), (self.status, self.err)
        return json.loads(self.path.read_text())

    def figure(self, metric, target=None, part="combined"):
        """Of all together, or of one of several targets."""
        s = self.summary
        if target is None:
            return s["target"][part][metric]
        return next(t for t in s["targets"] if t["name"] == target)[part][metric]

    def total(self, metric, target=None, part="combined"):
        return self.figure(metric, target, part)["total"]

    def rows(self):
        """The samples so far; a line that is being written does not count yet."""
        text = self.samples.read_text() if self.samples.exists() else ""
        lines = read_record(text[:text.rfind("\n") + 1])
        return [line for line in lines if line["type"] == "sample"]


def attach(place, *words, **kw):
    return Attached(place, [str(w) for w in words], **kw)


@contextlib.contextmanager
def running(place, *command, **kw):
    """A process of the place that is ended with the test, if it has not ended before."""
    kw.setdefault("stdin", subprocess.PIPE)
    kw.setdefault("stdout", subprocess.PIPE)
    p = place.popen([str(c) for c in command], **kw)
    try:
        yield p
    finally:
        for pid in [*livelib.children_of(p.pid), p.pid]:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if p.poll() is None:
                    os.kill(pid, signal.SIGKILL)
        p.communicate()


def say(p):
    p.stdin.write(b"go\n")
    p.stdin.flush()


def cpu_of(pid):
    """Seconds by the CPU clock of a process, which has no ticks."""
    return livelib.time.clock_gettime(~pid << 3 | 2)


def used(pid, seconds):
    return until(lambda: cpu_of(pid) >= seconds, f"{seconds} s of CPU time in {pid}")


def leader(p):
    """It has a session and a group of its own by now."""
    until(lambda: os.getsid(p.pid) == p.pid, f"a session of {p.pid}")
    return p.pid
