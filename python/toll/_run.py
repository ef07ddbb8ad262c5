# SPDX-License-Identifier: MIT
"""run: subprocess.run with a summary. It starts the command `toll`, so that the accounting is exact
and the children of this program are left alone."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import tempfile
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from . import _toll
from ._command import find_command
from ._interrupts import HeldInterrupts
from ._options import Destination, Globs, Gpus, Interval, Output, Path, option_tuple, output_list
from ._run_words import run_words, time_word
from ._summary import Summary
from ._warn import warn

Words = Union[str, bytes, "os.PathLike[str]", Sequence[Union[str, bytes, "os.PathLike[str]"]]]
NOT_FOUND, NOT_EXECUTABLE, FAILED = 127, 126, 125
# How long an interrupted command may take to end by itself before it gets a signal again.
PATIENCE_SECONDS = 0.25


class Completed(subprocess.CompletedProcess):  # type: ignore[type-arg]
    """A subprocess.CompletedProcess with a `summary` of what the command and its descendants used."""

    def __init__(
        self, args: Any, returncode: int, stdout: Any, stderr: Any, summary: Optional[Summary]
    ) -> None:
        super().__init__(args, returncode, stdout, stderr)
        self.summary = summary

    def __repr__(self) -> str:
        """<Completed make -j8: exit 0 in 1m 12s, 4m 31s CPU, 1.82 GiB peak>"""
        code = self.returncode
        ended = f"exit {code}" if code >= 0 else f"killed by signal {-code}"
        if self.summary is None:
            return f"<Completed {self.args!r}: {ended}, no summary>"
        try:
            seconds = _toll.number_text(self.summary.wall_seconds, "seconds")
            figures = [one for one in self.summary._headline() if one != self.summary.outcome()]
            ended = self.summary.outcome() or ended
            return f"<Completed {self.summary.title()}: {', '.join([f'{ended} in {seconds}', *figures])}>"
        except Exception:  # a repr never raises
            return f"<Completed {self.args!r}: {ended}>"


def _words(args: Words, shell: bool) -> List[Any]:
    if isinstance(args, (str, bytes, os.PathLike)):
        args = [args]
    words = [os.fspath(word) for word in args]
    if not words:
        raise ValueError("run: args is empty (expected a command)")
    return ["/bin/sh", "-c", *words] if shell else words


def _why_not(path: str) -> int:
    """Why a file cannot be executed; 0 when it can."""
    try:
        is_program = not os.path.isdir(path) and os.stat(path) and os.access(path, os.X_OK)
    except OSError as error:
        return error.errno or errno.EACCES
    return 0 if is_program else errno.EACCES


def _check_command(
    word: Union[str, bytes], cwd: Optional[Path], env: Optional[Mapping[str, str]]
) -> None:
    """Raise as subprocess does, before toll reports the same on stderr."""
    name = os.fsdecode(word)
    if cwd is not None and not os.path.isdir(cwd):
        code = errno.ENOTDIR if os.path.exists(cwd) else errno.ENOENT
        raise OSError(code, os.strerror(code), os.fspath(cwd))
    places = [""] if "/" in name else os.get_exec_path(env)
    reasons = [_why_not(os.path.join(cwd or "", place, name)) for place in places]
    if 0 in reasons:
        return
    # As execvp: a file that may not be executed is a better reason than those that are missing.
    nowhere = (errno.ENOENT, errno.ENOTDIR)
    code = next((one for one in reasons if one not in nowhere), errno.ENOENT)
    if "/" in name:
        code = reasons[0]
    raise OSError(code, os.strerror(code), name)


class _Place:
    """The directory that toll writes into. The files exist before, with a time that no file has:
    toll writes them at the end of a command, and never when it could not start it."""

    FILES = ("summary.json", "summary.txt")

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self.why = ""  # reason for a missing summary
        for name in self.FILES:
            with open(self.path(name), "wb"):
                pass
            os.utime(self.path(name), (0, 0))

    def path(self, name: str) -> str:
        return os.path.join(self._directory, name)

    def give_to(self, user: Union[str, int]) -> None:
        """toll runs as the user that Popen was asked for."""
        import shutil

        for path in (self._directory, *map(self.path, self.FILES)):
            try:
                shutil.chown(path, user)
            except (LookupError, OSError, OverflowError, TypeError):
                return  # Popen raises the same

    @property
    def outputs(self) -> List[Destination]:
        return output_list([(kind, self.path(name)) for kind, name in zip(("json", "text"), self.FILES)])

    def refused(self) -> bool:
        """The command was never started."""
        try:
            return all(os.stat(self.path(name)).st_mtime == 0 for name in self.FILES)
        except OSError:
            return False  # the command has removed them

    def read(self) -> Optional[Summary]:
        text = None
        try:
            with open(self.path("summary.json"), encoding="utf-8") as file:
                document: Dict[str, Any] = json.load(file)
        except OSError as error:
            self.why = f"cannot be read: {error.strerror}"
            return None
        except ValueError:
            self.why = "not written completely"
            return None
        try:
            with open(self.path("summary.txt"), encoding="utf-8", errors="replace") as file:
                text = file.read()
        except OSError:
            pass  # str() of it is shorter then
        return Summary(document, text)


def _returncode(status: int, summary: Optional[Summary]) -> int:
    """As subprocess gives it: minus the signal's number."""
    if summary is not None:
        end = summary.to_dict()["end"]
        if end["status"] == "signaled":
            return -int(end["signal"])
        if end["status"] == "exited":
            return int(end["code"])
    return status


def _refused(status: int, word: Any, stderr: Any) -> Exception:
    """toll could not start the command; the reason is on the command's stderr."""
    code = {NOT_FOUND: errno.ENOENT, NOT_EXECUTABLE: errno.EACCES}.get(status)
    if code is not None:
        return OSError(code, os.strerror(code), os.fsdecode(word))
    reason = os.fsdecode(stderr).strip() if stderr else "the reason is on stderr"
    return OSError(f"run: cannot start {os.fsdecode(word)!r}: {reason}")


def _wait_interrupted(process: "subprocess.Popen[Any]") -> None:
    """Ctrl-C reaches the command by itself; an interrupt for this process alone is passed on. A
    second one ends it with SIGTERM. It is waited for in any case."""
    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            process.wait(PATIENCE_SECONDS)
            return
        except subprocess.TimeoutExpired:
            process.send_signal(number)
        except KeyboardInterrupt:
            process.send_signal(signal.SIGTERM)
        try:
            process.wait()
            return
        except KeyboardInterrupt:
            continue
    process.wait()


def run(
    args: Words,
    *,
    stdin: Any = None,
    input: Any = None,
    stdout: Any = None,
    stderr: Any = None,
    capture_output: bool = False,
    shell: bool = False,
    cwd: Optional[Path] = None,
    timeout: Optional[float] = None,
    grace: float = 0.001,
    check: bool = False,
    encoding: Optional[str] = None,
    errors: Optional[str] = None,
    text: Optional[bool] = None,
    env: Optional[Mapping[str, str]] = None,
    interval: Interval = None,
    metrics: Globs = None,
    children: bool = True,
    system: bool = False,
    network: bool = False,
    gpus: Gpus = None,
    name: Optional[str] = None,
    labels: Optional[Mapping[str, object]] = None,
    outputs: Union[Path, Iterable[Output]] = (),
    memory: str = "auto",
    processes: Optional[str] = "top",
    no_args: bool = False,
    show_secrets: bool = False,
    watch_exits: bool = False,
    exact: bool = False,
    threads: bool = False,
    **popen: Any,
) -> Completed:
    """subprocess.run, and what the command with all its descendants used.

        done = toll.run(["make", "-j4"], check=True)
        done.summary.cpu_seconds, done.summary.peak_memory

    Arguments up to `env` are the same as for subprocess.run, as are exceptions; other arguments of
    subprocess.Popen can follow by name. CalledProcessError and TimeoutExpired have the `summary`
    too. On a timeout the command ends with all its descendants: SIGTERM, then SIGKILL after `grace`
    seconds. The other arguments are the same as for toll.track(), and:

    no_args      keep only the program's name of the command in the summary and the outputs
    show_secrets keep what looks like a secret in the command (--password X, API_KEY=X); "***"
                 replaces it otherwise
    watch_exits  let the kernel record every process that starts or ends: they are counted exactly,
                 and children that were not waited for are noticed; starting a process takes longer
    exact        record every process, however short it lives, and count CPU time and I/O exactly, as
                 root (see `toll doctor exact`); otherwise `summary.notes` has the reason
    threads      measure the threads of the processes that use most CPU time: `summary.threads`

    If the command ran and its summary could not be kept, as on a full disk, `summary` is None and a
    RuntimeWarning has the reason; the return code is the command's.
    """
    words = _words(args, shell)
    if "executable" in popen or "preexec_fn" in popen:
        raise TypeError("run: executable and preexec_fn are not supported (they would apply to toll)")
    if capture_output:
        if stdout is not None or stderr is not None:
            raise ValueError("stdout and stderr arguments may not be used with capture_output.")
        stdout = stderr = subprocess.PIPE
    if input is not None:
        if stdin is not None:
            raise ValueError("stdin and input arguments may not both be used.")
        stdin = subprocess.PIPE
    options = option_tuple(
        interval=interval,
        metrics=metrics,
        name=name,
        labels=labels,
        memory=memory,
        processes=processes,
        children=children,
        system=system,
        network=network,
        show_secrets=show_secrets,
        gpus=gpus,
    )
    _toll.tracker(*options).close()  # raises for a mistake in them
    _check_command(words[0], cwd, env)
    with tempfile.TemporaryDirectory(prefix="toll-run-") as directory:
        place = _Place(directory)
        if popen.get("user") is not None:
            place.give_to(popen["user"])
        command = [find_command(), *run_words(options, [*place.outputs, *output_list(outputs)])]
        if no_args:
            command.append("--no-args")
        if watch_exits:
            command.append("--watch-exits")
        if exact:
            command.append("--exact")
        if threads:
            command.append("--threads")
        if timeout is not None:
            command += ["--timeout", time_word(timeout), "--grace", time_word(grace)]
        interrupts = HeldInterrupts()  # one in between would leave the command running
        try:
            process = subprocess.Popen(
                [*command, "--", *words],
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                cwd=cwd,
                encoding=encoding,
                errors=errors,
                text=text,
                env=env,
                **popen,
            )
        except BaseException:
            interrupts.release()
            raise
        out, err = _communicate(process, input, interrupts)
        summary = place.read()
        refused = summary is None and place.refused()
    status = process.returncode
    if refused and status in (NOT_FOUND, NOT_EXECUTABLE, FAILED):
        raise _refused(status, words[0], err)
    if summary is None:
        warn(f"run: no summary of {os.fsdecode(words[0])!r}: {place.why}")
    return _finish(Completed(args, _returncode(status, summary), out, err, summary), timeout, check)


def _communicate(
    process: "subprocess.Popen[Any]", input: Any, interrupts: HeldInterrupts
) -> Tuple[Any, Any]:
    try:
        interrupts.release()
        return process.communicate(input)
    except KeyboardInterrupt:
        _wait_interrupted(process)
        raise
    except BaseException:
        process.terminate()  # toll passes it on
        process.wait()
        raise


def _finish(done: Completed, timeout: Optional[float], check: bool) -> Completed:
    end = done.summary.to_dict()["end"] if done.summary is not None else {}
    error: Optional[subprocess.SubprocessError] = None
    if timeout is not None and end.get("timed_out"):
        error = subprocess.TimeoutExpired(done.args, timeout, done.stdout or None, done.stderr or None)
    elif check and done.returncode:
        error = subprocess.CalledProcessError(
            done.returncode, done.args, done.stdout, done.stderr
        )
    if error is not None:
        error.summary = done.summary  # type: ignore[attr-defined]
        raise error
    return done
