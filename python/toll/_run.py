# SPDX-License-Identifier: MIT
"""run: subprocess.run with a summary. The command `toll` does the work, so that the accounting is
exact and the children of this program are left alone."""

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
# How long a command that was interrupted may take to end by itself before it is told again.
PATIENCE_SECONDS = 0.25


class Completed(subprocess.CompletedProcess):  # type: ignore[type-arg]
    """A subprocess.CompletedProcess with a `summary` of what the command and all it started used."""

    def __init__(
        self, args: Any, returncode: int, stdout: Any, stderr: Any, summary: Optional[Summary]
    ) -> None:
        super().__init__(args, returncode, stdout, stderr)
        self.summary = summary


def _words(args: Words, shell: bool) -> List[Any]:
    if isinstance(args, (str, bytes, os.PathLike)):
        args = [args]
    words = [os.fspath(word) for word in args]
    if not words:
        raise ValueError("there is no command to run")
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
    """Raise as subprocess does, before toll is asked to say the same on stderr."""
    name = os.fsdecode(word)
    if cwd is not None and not os.path.isdir(cwd):
        code = errno.ENOTDIR if os.path.exists(cwd) else errno.ENOENT
        raise OSError(code, os.strerror(code), os.fspath(cwd))
    places = [""] if "/" in name else os.get_exec_path(env)
    reasons = [_why_not(os.path.join(cwd or "", place, name)) for place in places]
    if 0 in reasons:
        return
    # As execvp: a file that may not be executed says more than those that are not there.
    nowhere = (errno.ENOENT, errno.ENOTDIR)
    code = next((one for one in reasons if one not in nowhere), errno.ENOENT)
    if "/" in name:
        code = reasons[0]
    raise OSError(code, os.strerror(code), name)


class _Place:
    """The directory that toll writes into. The files are there before, with a time that no file has:
    toll touches them at the end of a command, and never when it could not start it."""

    FILES = ("summary.json", "summary.txt")

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self.why = ""  # there is no summary
        for name in self.FILES:
            with open(self.path(name), "wb"):
                pass
            os.utime(self.path(name), (0, 0))

    def path(self, name: str) -> str:
        return os.path.join(self._directory, name)

    @property
    def outputs(self) -> List[Destination]:
        return output_list([(kind, self.path(name)) for kind, name in zip(("json", "text"), self.FILES)])

    def refused(self) -> bool:
        """The command was never started."""
        try:
            return all(os.stat(self.path(name)).st_mtime == 0 for name in self.FILES)
        except OSError:
            return False  # the command has cleaned up

    def read(self) -> Optional[Summary]:
        text = None
        try:
            with open(self.path("summary.json"), encoding="utf-8") as file:
                document: Dict[str, Any] = json.load(file)
        except OSError as error:
            self.why = f"it cannot be read: {error.strerror}"
            return None
        except ValueError:
            self.why = "it was not written completely"
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
    """toll could not start the command; it has said why on the command's stderr."""
    code = {NOT_FOUND: errno.ENOENT, NOT_EXECUTABLE: errno.EACCES}.get(status)
    if code is not None:
        return OSError(code, os.strerror(code), os.fsdecode(word))
    said = os.fsdecode(stderr).strip() if stderr else "toll has said why on stderr"
    return OSError(f"the command could not be started: {said}")


def _wait_interrupted(process: "subprocess.Popen[Any]") -> None:
    """Ctrl-C reaches the command by itself; an interrupt for this process alone is handed on. A
    second one ends it with SIGTERM; it is waited for in any case."""
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
    **popen: Any,
) -> Completed:
    """subprocess.run, with what the command and everything it started used.

        done = toll.run(["make", "-j4"], check=True)
        done.summary.target.cpu_seconds.total

    Arguments up to env are those of subprocess.run, and so is what is raised; more of those of
    subprocess.Popen may follow by name. A CalledProcessError and a TimeoutExpired have the
    `summary` too. On a timeout the command ends with all it started: SIGTERM, and after `grace`
    seconds SIGKILL. The rest is as for toll.track().

    In the summary and in outputs, what looks like a secret in the command (--password X, API_KEY=X)
    is "***" unless show_secrets is True; with no_args only the program's name is kept.

    With watch_exits the kernel records every process that starts or ends: they are counted exactly,
    and children that were discarded unseen are noticed; starting a process takes longer.

    When the command ran and its summary could not be kept, as on a full disk, `summary` is None and
    a RuntimeWarning says why; the return code is the command's.
    """
    words = _words(args, shell)
    if "executable" in popen or "preexec_fn" in popen:
        raise TypeError("executable and preexec_fn would be toll's, not the command's")
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
    _toll.tracker(*options).close()  # a mistake in them is told here
    _check_command(words[0], cwd, env)
    with tempfile.TemporaryDirectory(prefix="toll-run-") as directory:
        place = _Place(directory)
        command = [find_command(), *run_words(options, [*place.outputs, *output_list(outputs)])]
        if no_args:
            command.append("--no-args")
        if watch_exits:
            command.append("--watch-exits")
        if timeout is not None:
            command += ["--timeout", time_word(timeout), "--grace", time_word(grace)]
        interrupts = HeldInterrupts()  # one that comes in between would leave the command behind
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
        warn(f"there is no summary of {os.fsdecode(words[0])!r}: {place.why}")
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
        process.terminate()  # toll hands it on
        process.wait()
        raise


def _finish(done: Completed, timeout: Optional[float], check: bool) -> Completed:
    end = done.summary.to_dict()["end"] if done.summary is not None else {}
    error: Optional[subprocess.SubprocessError] = None
    if timeout is not None and end.get("timed_out"):
        error = subprocess.TimeoutExpired(done.args, timeout, done.stdout, done.stderr)
    elif check and done.returncode:
        error = subprocess.CalledProcessError(
            done.returncode, done.args, done.stdout, done.stderr
        )
    if error is not None:
        error.summary = done.summary  # type: ignore[attr-defined]
        raise error
    return done
