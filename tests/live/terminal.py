# SPDX-License-Identifier: MIT
"""A program on a terminal of its own, driven by keys."""
import os
import pty
import re
import select
import signal
import time

from livelib import GUARD


class Terminal:
    def __init__(self, command, environment, directory=None):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                if directory:
                    os.chdir(directory)
                os.execvpe(command[0], [str(c) for c in command],
                           {"PATH": os.environ["PATH"], **environment})
            finally:
                os._exit(127)
        self.text = ""
        self.status = None

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.close(self.fd)
            os.waitpid(self.pid, 0)

    def _read(self, seconds):
        if not select.select([self.fd], [], [], seconds)[0]:
            return None
        try:
            data = os.read(self.fd, 65536)
        except OSError:  # EIO: nobody holds the other side any more
            data = b""
        self.text += data.decode(errors="replace")
        return data

    def type(self, keys):
        os.write(self.fd, keys.encode())

    def expect(self, pattern):
        """Read until the pattern comes; what was read up to its end is consumed."""
        end = time.monotonic() + GUARD / 4
        while time.monotonic() < end:
            found = re.search(pattern, self.text)
            if found:
                self.text = self.text[found.end():]
                return found
            if self._read(0.2) == b"":
                break
        raise AssertionError(f"{pattern!r} did not come; there is {self.text!r}")

    def quiet(self, seconds):
        """What comes within some time, for what must not come."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self._read(0.05) == b"":
                break
        return self.text

    def rest(self):
        """Everything up to the end of the program."""
        end = time.monotonic() + GUARD / 4
        while self._read(0.5) != b"":
            assert time.monotonic() < end, f"it does not end; there is {self.text!r}"
        self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.fd)
        return self.text
