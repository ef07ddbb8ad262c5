# SPDX-License-Identifier: MIT
"""run() against subprocess.run, and the figures against wait4."""

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time

import hostlib
import pytest
import toll
from toll._options import option_tuple, output_list
from toll._run_words import run_words
from work import until

PYTHON = [sys.executable, "-S", "-E", "-c"]


def both(*args, **kwargs):
    """What toll.run and subprocess.run give for the same."""
    return toll.run(*args, **kwargs), subprocess.run(*args, **kwargs)


@pytest.mark.parametrize(
    "args, kwargs",
    [
        (["true"], {}),
        (["false"], {}),
        (["sh", "-c", "exit 200"], {}),
        ("exit 7", {"shell": True}),
        (["sh", "-c", "kill -9 $$"], {}),
        (["sh", "-c", "kill -TERM $$"], {}),
        (["echo", "hello"], {"capture_output": True}),
        (["cat"], {"input": b"some\0bytes", "capture_output": True}),
        (["cat"], {"input": "äöü\n", "capture_output": True, "text": True}),
        ("echo out; echo err >&2", {"shell": True, "capture_output": True, "text": True}),
        ("echo err >&2", {"shell": True, "stdout": -1, "stderr": subprocess.STDOUT}),
        (["pwd"], {"cwd": "/usr", "capture_output": True}),
        (["sh", "-c", "echo $A"], {"env": {"A": "1", "PATH": os.environ["PATH"]}, "stdout": -1}),
        (["echo", "--", "-q", "--timeout"], {"capture_output": True}),
    ],
)
def test_it_is_subprocess_run(args, kwargs):
    mine, theirs = both(args, **kwargs)
    assert isinstance(mine, subprocess.CompletedProcess)
    for what in ("args", "returncode", "stdout", "stderr"):
        assert getattr(mine, what) == getattr(theirs, what), what
    assert mine.summary.wall_seconds > 0


@pytest.mark.parametrize(
    "args, kwargs",
    [
        (["no-such-command"], {}),
        (["/proc/no-such/command"], {}),
        (["/etc/passwd"], {}),
        (["/"], {}),
        (["true"], {"cwd": "/proc/no-such-directory"}),
        (["true"], {"cwd": "/etc/passwd"}),
        (["false"], {"check": True}),
        (["true"], {"capture_output": True, "stdout": 1}),
        (["cat"], {"input": b"", "stdin": 0}),
    ],
)
def test_it_raises_as_subprocess_run(args, kwargs, capfd):
    with pytest.raises(Exception) as theirs:
        subprocess.run(args, **kwargs)
    with pytest.raises(Exception) as mine:
        toll.run(args, **kwargs)
    assert mine.type is theirs.type
    assert str(mine.value) == str(theirs.value)
    assert capfd.readouterr() == ("", "")


def test_what_was_used_by_all_of_it():
    script = "import time\nwhile time.process_time() < 0.1: pass"
    job = f'{sys.executable} -S -c "{script}" & {sys.executable} -S -c "{script}"; wait'
    before = os.times()
    done = toll.run(job, shell=True)
    after = os.times()
    truth = after.children_user + after.children_system
    truth -= before.children_user + before.children_system
    # The measuring itself is in the truth as well, and times come in ticks.
    own = done.summary["self_cpu_seconds"].total
    figure = done.summary.target.cpu_seconds
    assert figure.quality == "exact if reaped"
    assert truth - own - 0.05 <= figure.total <= truth + 0.03
    assert done.summary.target.descendants.cpu_seconds.total >= 0.2


def test_bytes_written_are_exact(tmp_path):
    done = toll.run(["dd", "if=/dev/zero", f"of={tmp_path}/x", "bs=1M", "count=5"], stderr=-3)
    assert (tmp_path / "x").stat().st_size == 5 << 20
    assert done.summary.target.io_written_bytes.total == pytest.approx(5 << 20, abs=1000)


def test_errors_have_the_summary():
    with pytest.raises(subprocess.CalledProcessError) as failed:
        toll.run("exit 3", shell=True, check=True)
    assert failed.value.returncode == 3
    assert failed.value.summary.end.code == 3


def test_timeout():
    begin = time.monotonic()
    with pytest.raises(subprocess.TimeoutExpired) as over:
        toll.run("echo before; sleep 60 & sleep 60", shell=True, timeout=0.3, capture_output=True)
    assert time.monotonic() - begin < 20
    assert over.value.output == b"before\n"
    assert over.value.timeout == 0.3
    assert over.value.summary.end.timed_out is True
    assert over.value.summary.to_dict()["still_running_count"] == 0


def test_a_timeout_without_output():
    for options in ({}, {"capture_output": True}):
        with pytest.raises(subprocess.TimeoutExpired) as over:
            toll.run(["sleep", "60"], timeout=0.05, **options)
        assert (over.value.output, over.value.stderr) == (None, None)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("user", ["nobody", 65534])
def test_another_user(user, monkeypatch):
    """toll runs as that user, too, and its summary arrives."""
    monkeypatch.setenv("TOLL", hostlib.shared_copy(os.environ["TOLL"]))
    done = toll.run(["id", "-u"], user=user, cwd="/", capture_output=True)
    assert done.stdout == subprocess.run(["id", "-u"], user=user, cwd="/", capture_output=True).stdout
    assert done.summary.processes_started == 1
    for wrong in ("no such user", -5):
        with pytest.raises(Exception) as theirs:
            subprocess.run(["true"], user=wrong)
        with pytest.raises(theirs.type):
            toll.run(["true"], user=wrong)


def test_timeout_of_one_that_does_not_listen():
    job = 'trap "" TERM; echo ready; while :; do sleep 0.05; done'
    for timeout in (0.5, 5, 50):  # until it was ready when its time was over
        with pytest.raises(subprocess.TimeoutExpired) as over:
            toll.run(job, shell=True, timeout=timeout, grace=0.1, stdout=subprocess.PIPE)
        if over.value.output:
            break
    assert over.value.summary.end.signal == signal.SIGKILL


def test_a_timeout_that_is_not_needed():
    assert toll.run(["true"], timeout=60).returncode == 0


def test_an_interrupt_is_handed_on_and_waited_for(tmp_path):
    """Of this process alone, as from a debugger; the command ends its work first."""
    job = (f'trap "sleep 0.2; echo done >{tmp_path}/end; exit 0" INT; : >{tmp_path}/ready; '
           "while :; do sleep 0.05; done")

    def interrupt():
        until((tmp_path / "ready").exists)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        toll.run(job, shell=True)
    assert (tmp_path / "end").read_text() == "done\n"


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_interrupt_while_the_command_is_started(tmp_path, monkeypatch, when):
    """It is heard once the command can be told, which ends its work first; nothing is left."""

    class Popen(subprocess.Popen):
        def __init__(self, *args, **kwargs):
            if when == "before":
                os.kill(os.getpid(), signal.SIGINT)
            super().__init__(*args, **kwargs)
            until((tmp_path / "ready").exists)
            if when == "after":
                os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(subprocess, "Popen", Popen)
    job = (f'trap "echo done >{tmp_path}/end; exit 0" INT; : >{tmp_path}/ready; '
           "while :; do sleep 0.05; done")
    with pytest.raises(KeyboardInterrupt):
        toll.run(job, shell=True)
    assert (tmp_path / "end").read_text() == "done\n"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_no_interrupt_is_held_when_nothing_starts():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(TypeError):
        toll.run(["true"], bufsize="no number")
    assert signal.getsignal(signal.SIGINT) is before


def test_options(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = toll.run(
        ["sleep", "0.1"],
        cwd="/",
        interval=0.01,
        metrics=["cpu_seconds", "memory_rss_bytes"],
        name="nap",
        labels={"team": "blue"},
        outputs=["run.csv", ("jsonl", "record")],
    )
    document = done.summary.to_dict()
    assert (document["name"], document["labels"]) == ("nap", {"team": "blue"})
    assert document["interval_seconds"] == 0.01
    assert set(document["target"]["combined"]) == {"cpu_seconds", "memory_rss_bytes"}
    assert (tmp_path / "run.csv").read_text().startswith("time,")
    assert json.loads((tmp_path / "record").read_text().splitlines()[0])["name"] == "nap"


def test_outputs_that_name_their_format(tmp_path, monkeypatch):
    """Files are those of this directory, whatever the command's is; servers are where they are."""
    monkeypatch.chdir(tmp_path)
    toll.run(["true"], cwd="/", outputs=["csv:rows", "a:b.json", ("json", "own")])
    assert (tmp_path / "rows").read_text().startswith("time,")
    assert (tmp_path / "own").exists() and (tmp_path / "a:b.json").exists()
    servers = ["prometheus:http://host:9090/write", "mlflow:", "openmetrics::9464", "otlp:https://h"]
    words = run_words(option_tuple(), output_list([*servers, ("pushgateway", "http://host:1")]))
    asked = [after for word, after in zip(words, words[1:]) if word == "-o"]
    assert asked == [*servers, "pushgateway:http://host:1"]


def test_a_directory_that_is_gone(python, tmp_path):
    """subprocess.run does not mind."""
    script = """
import os, toll
gone = os.environ["GONE"]
os.chdir(gone)
os.rmdir(gone)
print(toll.run(["true"]).summary.end.code)
"""
    (tmp_path / "gone").mkdir()
    assert python(script, GONE=str(tmp_path / "gone")) == "0\n"


def test_outputs_of_other_tools(tmp_path):
    """Beside our own; the summary stays what it is."""
    done = toll.run(
        ["sleep", "0.25"],
        interval=0.1,
        outputs=[
            (None, tmp_path / "rows.csv", "resource-tracker"),
            ("json", tmp_path / "usage", "gpu-tracker,time_unit=seconds"),
            ("csv", f"{tmp_path}/monitors/", "sweep"),
            tmp_path / "own.csv",
        ],
    )
    assert done.summary.wall_seconds >= 0.25
    assert (tmp_path / "rows.csv").read_text().startswith('"timestamp","pid","children"')
    usage = json.loads((tmp_path / "usage").read_text())
    assert usage["compute_time"]["unit"] == "seconds" and usage["compute_time"]["time"] >= 0.25
    assert (tmp_path / "monitors/cpu_metrics.csv").exists()
    assert (tmp_path / "own.csv").read_text().startswith("time,")


@pytest.mark.parametrize(
    "options, error, says",
    [
        ({"metrics": "nonsense"}, ValueError, "unknown metric 'nonsense'"),
        ({"interval": 0}, ValueError, "interval: invalid value 0"),
        ({"executable": "/bin/sh"}, TypeError, "executable and preexec_fn are not supported"),
        ({"outputs": [("csv", "a.csv", "nothing")]}, ValueError, "unknown layout 'nothing'"),
        ({"outputs": [("jsonl", "a", "process-metrics,prefix=a:b")]}, ValueError, "expected no ':' in toll.run()"),
    ],
)
def test_mistakes_are_told(options, error, says, capfd):
    with pytest.raises(error, match=says):
        toll.run(["true"], **options)
    assert capfd.readouterr() == ("", "")


def test_an_output_that_cannot_be_made():
    with pytest.raises(OSError, match="cannot start '.*': toll: .*"):
        toll.run(["true"], outputs="/nowhere/run.csv", capture_output=True)
    with pytest.raises(ValueError, match="run: args is empty"):
        toll.run([])


@pytest.mark.parametrize("code", [0, 125, 126, 127])
def test_a_summary_that_is_gone(code, tmp_path, monkeypatch):
    """The command ran: what it returned is what counts."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    job = f"rm -r {tmp_path}/toll-run-*; exit {code}"
    says = "run: no summary of '/bin/sh': cannot be read: No such file or directory"
    with pytest.warns(RuntimeWarning, match=says) as told:
        done = toll.run(job, shell=True, stderr=subprocess.DEVNULL)
    assert (done.returncode, done.summary) == (code, None)
    assert [one.filename for one in told] == [__file__]


def test_a_summary_that_was_not_written(monkeypatch, tmp_path):
    """As on a full disk: the file is there, and empty."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        with pytest.warns(RuntimeWarning, match="not written completely"):
            done = toll.run("exit 127", shell=True, capture_output=True, restore_signals=False)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (done.returncode, done.summary) == (127, None)


def test_a_script_without_its_interpreter(tmp_path, capfd):
    """Only the kernel knows that it cannot be started."""
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    with pytest.raises(FileNotFoundError):
        toll.run([str(script)])
    capfd.readouterr()


def test_nothing_is_left_behind(tmp_path):
    before = set(os.listdir("/proc/self/fd"))
    toll.run(["true"], env={**os.environ, "TMPDIR": str(tmp_path)})
    assert set(os.listdir("/proc/self/fd")) == before
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_the_module_is_the_command(python):
    script = "import runpy, sys; sys.argv[1:] = ['--version']; runpy.run_module('toll', run_name='__main__')"
    assert toll.__version__ in python(script)


@pytest.mark.parametrize("option", ["watch_exits", "exact"])
def test_every_process_is_counted(option):
    words = ["sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do env true; done"]
    done = toll.run(words, interval=1, **{option: True})
    started = done.summary.to_dict()["target"]["combined"]["processes_started"]
    if any("--" + option.replace("_", "-") + ": " in note for note in done.summary.to_dict()["notes"]):
        assert started["quality"] == "lower bound"  # the kernel refuses here
    else:
        assert (started["total"], started["quality"]) == (10, "exact")


def test_secrets_of_a_command():
    """Masked in the summary, not for the command; the words are subprocess.run's."""
    words = ["echo", "--password", "hunter2", "API_KEY=hunter2"]
    done = toll.run(words, capture_output=True, text=True, labels={"token": "hunter2"})
    assert done.stdout == "--password hunter2 API_KEY=hunter2\n" and done.args == words
    assert done.summary.to_dict()["command"] == ["echo", "--password", "***", "API_KEY=***"]
    assert done.summary.to_dict()["labels"] == {"token": "***"}
    assert "hunter2" not in str(done.summary)
    shown = toll.run(words, capture_output=True, show_secrets=True)
    assert shown.summary.to_dict()["command"] == words
    alone = toll.run(words, capture_output=True, no_args=True)
    assert alone.summary.to_dict()["command"] == ["echo"]


def test_secrets_of_a_block():
    with toll.track(labels={"db_password": "hunter2"}) as t:
        t.event("a", token="hunter2")
    assert t.summary.to_dict()["labels"] == {"db_password": "***"}
    with toll.track(labels={"db_password": "hunter2"}, show_secrets=True) as t:
        pass
    assert t.summary.to_dict()["labels"] == {"db_password": "hunter2"}


def test_errors_are_harmless_to_a_terminal():
    with pytest.raises((ValueError, OSError)) as error:
        toll.track(outputs=["/nowhere/\x1b[1m\u202ehttps://u:hunter2@h.csv"]).start()
    assert not {"\x1b", "\u202e"} & set(str(error.value)) and "hunter2" not in str(error.value)


@pytest.mark.parametrize(
    "command",
    [
        ["true"],
        ["sleep", "0.03"],
        ["sleep", "0.1"],
        [sys.executable, "-c", "x = bytearray(50_000_000)"],
        ["sh", "-c", f"for i in 1 2 3; do {sys.executable} -c 'x = b\"x\" * 40000000'; done"],
    ],
    ids=["nothing", "short", "long", "grows", "children"],
)
def test_peak_memory_is_that_of_toll_list(command, tmp_path):
    """The figure and its quality: both follow one rule, of the same run. A document does not have
    what was sampled where the kernel's own mark is a little higher: then Python says less."""
    summary = toll.run(command, outputs=tmp_path / "run.jsonl").summary
    words = [os.environ["TOLL"], "list", "--json", tmp_path / "run.jsonl"]
    listed = json.loads(subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout)[0]
    assert summary.peak_memory == listed["memory_peak_bytes"]
    quality = summary.quality("peak_memory")
    is_mark = summary.peak_memory and summary.target.memory_rss_bytes.max_at_seconds is None
    if quality != listed["memory_quality"]:
        assert is_mark and (quality, listed["memory_quality"]) == ("lower bound", "sampled")
