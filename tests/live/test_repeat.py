# SPDX-License-Identifier: MIT
"""toll run --runs: each run is a run of its own, and the result is that of all of them."""
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess

import hostlib
import pytest
from livelib import records, until
from terminal import Terminal

jsonschema = hostlib.module("jsonschema")
SCHEMA = json.loads(
    (pathlib.Path(__file__).parents[2] / "docs/schema/repeat.schema.json").read_text())

# A job that keeps its own time: a line for each run.
CLOCK = ["python3", "-S", "-c", "import time; a = time.monotonic(); time.sleep(0.02);"
         "open('times', 'a').write(f'{time.monotonic() - a}\\n')"]


def repeat(place, options, command, **kw):
    """The exit status, stdout, stderr and the result as JSON."""
    path = place.path("result.json")
    status, out, err = place.call(
        [place.toll, "run", *options, "-o", path, "--", *command], **kw)
    if not path.exists():
        return status, out.decode(), err.decode(), None
    document = json.loads(path.read_text())
    jsonschema.validate(document, SCHEMA)
    return status, out.decode(), err.decode(), document["results"]


def test_figures_are_those_of_the_runs(place):
    status, out, err, result = repeat(place, ["-n", "6", "-o", "runs.jsonl"], CLOCK)
    assert (status, out) == (0, "")
    truth = [float(line) for line in place.path("times").read_text().split()]
    time = result[0]["figures"]["wall_seconds"]
    assert len(truth) == result[0]["runs"] == len(time["values"]) == 6
    assert all(measured >= own for measured, own in zip(time["values"], truth))
    assert time["mean"] == pytest.approx(statistics.mean(time["values"]), rel=1e-9)
    assert time["stddev"] == pytest.approx(statistics.stdev(time["values"]), rel=1e-6)
    assert time["median"] == pytest.approx(statistics.median(time["values"]), rel=1e-9)
    assert (time["min"], time["max"]) == (min(time["values"]), max(time["values"]))
    # The same in the record, and nothing of a run in the next: its CPU time is its own.
    ends = records(place.path("runs.jsonl"), "summary")
    totals = [e["target"]["combined"]["cpu_seconds"]["total"] for e in ends]
    assert totals == pytest.approx(result[0]["figures"]["cpu_seconds"]["values"])
    assert "6 runs" in err and " ± " in err
    assert len(err.splitlines()) <= 16 and all(len(line) <= 80 for line in err.splitlines())


def test_each_run_is_in_the_records(place):
    options = ["-n", "3", "-o", "runs.jsonl", "-o", "runs.sqlite", "-o", "run-{run}.csv",
               "--parameter", "what", "a,b", "--label", "team=blue", "-q"]
    for again in range(2):  # a .jsonl is replaced by the next command, runs are added to .sqlite
        status, out, err, _ = repeat(place, options, ["echo", "{what}"])
        assert (status, out, err) == (0, "a\n" * 3 + "b\n" * 3, "")
        starts = records(place.path("runs.jsonl"), "run")
        wanted = [{"team": "blue", "repeat": str(n), "what": what} for what in "ab"
                  for n in (1, 2, 3)]
        assert [s["labels"] for s in starts] == wanted
        assert [s["command"] for s in starts] == [["echo", w["what"]] for w in wanted]
        assert len({s["id"] for s in starts}) == 6
        assert len(records(place.path("runs.jsonl"), "summary")) == 6
        listed = json.loads(place.call([place.toll, "list", "--json", "runs.sqlite"])[1])
        assert len(listed["runs"] if isinstance(listed, dict) else listed) == 6 * (again + 1)
    assert sorted(p.name for p in place.directory.glob("run-*.csv")) == [
        f"run-{n}.csv" for n in range(1, 7)]


def test_warmup_and_prepare(place):
    """Each run, warm-ups included, is prepared; what prepares is not measured and not the job."""
    status, out, err, result = repeat(
        place, ["-n", "2", "--warmup", "2", "--parameter", "x", "7,8", "-o", "runs.jsonl",
                "--prepare", "echo prepare {x} >> log; echo said; cat"],
        ["sh", "-c", "echo run {x} >> log; cat"], input=b"of the job")
    assert status == 0 and out == "of the job"  # the first run has read it; nothing else is there
    log = place.path("log").read_text().splitlines()
    assert log == [line for x in (7, 8) for _ in range(4)
                   for line in (f"prepare {x}", f"run {x}")]
    assert err.count("said\n") == 8
    assert [r["runs"] for r in result] == [2, 2]
    assert len(records(place.path("runs.jsonl"), "run")) == 4


def test_prepare_that_fails(place):
    status, out, err, result = repeat(
        place, ["-n", "3", "--prepare", "test ! -e done"], ["sh", "-c", "echo ran; touch done"])
    assert (status, out) == (125, "ran\n")
    assert "toll: --prepare: 'test ! -e done' failed: exit 1 (expected exit 0)\n" in err
    assert result[0]["runs"] == 1


def test_result_that_cannot_be_written(place):
    _, _, err, _ = repeat(place, ["-n", "2", "-o", "json:/dev/full"], ["true"])
    assert "toll: cannot write the result to '/dev/full': No space left on device\n" in err


def test_parameters_are_compared(place):
    status, _, err, result = repeat(
        place, ["-n", "2", "--parameter", "t", "0.3,0.01", "--parameter=v=x,y"],
        ["sh", "-c", "sleep {t}; : {v} {unknown} '{}'"])
    assert status == 0
    # All combinations, the last parameter changes first; braces of others stay.
    assert [r["parameters"] for r in result] == [
        {"t": t, "v": v} for t in ("0.3", "0.01") for v in "xy"]
    assert result[0]["command"] == ["sh", "-c", "sleep 0.3; : x {unknown} '{}'"]
    rows = re.findall(r"^  t=([\d.]+), v=(.) .* (1\.00|\d+\.\d\d ± \d+\.\d\d) ", err, re.M)
    assert [t for t, _, _ in rows] == ["0.01", "0.01", "0.3", "0.3"]  # the fastest first
    assert rows[0][2] == "1.00"


def test_failing_run_stops(place):
    job = ["sh", "-c", "echo ran >> log; test $(wc -l < log) -lt 3 || exit 7"]
    status, _, err, result = repeat(place, ["-n", "5", "-o", "runs.jsonl"], job)
    assert status == 7 and result[0]["runs"] == 2  # the one that failed does not count
    assert "toll: run 3 of 5 failed: exit 7; stopped (--ignore-failure continues)\n" in err
    assert len(records(place.path("runs.jsonl"), "summary")) == 3  # but it is in the record
    place.path("log").unlink()
    status, _, err, result = repeat(place, ["-n", "5", "--ignore-failure"], job)
    assert status == 7  # of the first that failed
    assert (result[0]["runs"], result[0]["failed"]) == (5, 3)
    assert result[0]["exit_statuses"] == [0, 0, 7, 7, 7]
    assert "5 runs, 3 failed" in err
    before = place.path("result.json").read_bytes()
    status, _, err, _ = repeat(place, ["-n", "2"], ["sh", "-c", "exit 4"])
    assert status == 4 and "run 1 of 2 failed" in err
    assert place.path("result.json").read_bytes() == before  # no run counts: nothing to replace it


def test_command_that_is_not_there(place):
    status, out, err, result = repeat(place, ["-n", "3", "-o", "runs.jsonl"], ["./nothing"])
    assert (status, result) == (127, None) and err.count("cannot run './nothing'") == 1
    assert not place.path("runs.jsonl").exists()


def test_timeout_is_of_each_run(place):
    status, _, err, result = repeat(
        place, ["-n", "3", "--timeout", "200ms", "--ignore-failure"], ["sleep", "60"])
    assert status == 128 + signal.SIGTERM and result[0]["exit_statuses"] == [143] * 3


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_the_repetition(place, number):
    """It reaches the command of now; what was measured before is printed."""
    with place.popen([place.toll, "run", "-n", "50", "-o", "result.json", "--ignore-failure", "--",
                      "sh", "-c", "echo $$; test -e wait || { touch wait; exit; }; exec sleep 60"],
                     stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
        assert p.stdout.readline() and p.stdout.readline()
        until(lambda: place.path("wait").exists(), "the second run")
        p.send_signal(number)
        out, err = p.communicate(timeout=60)
    assert p.returncode == 128 + number and out == b""
    assert json.loads(place.path("result.json").read_text())["results"][0]["runs"] == 1
    assert b"1 run" in err


def test_ctrl_c_at_a_terminal(here):
    script = "test -e first && { echo waiting; exec sleep 60; }; touch first"
    with Terminal([here.toll, "run", "-n", "9", "--", "sh", "-c", script],
                  {"TERM": "xterm", "LC_ALL": "C.UTF-8"}, here.directory) as t:
        t.expect(r"toll: run 1 of 9: [\d.]+ m?s")
        t.expect("waiting")
        t.type("\x03")
        rest = t.rest()
    assert t.status == -signal.SIGINT
    assert "1 run" in rest and "run 2 of 9 was killed by SIGINT" in rest and "run 3" not in rest


def test_ctrl_c_during_prepare(here):
    with Terminal([here.toll, "run", "-n", "9", "--prepare", "echo preparing; exec sleep 60", "--",
                   "true"], {"TERM": "xterm", "LC_ALL": "C.UTF-8"}, here.directory) as t:
        t.expect("preparing")
        t.type("\x03")
        rest = t.rest()
    assert t.status == -signal.SIGINT and "failed" not in rest


def test_quiet_and_json(place):
    status, out, err, _ = repeat(place, ["-n", "2", "-q"], ["true"])
    assert (status, out, err) == (0, "", "")
    status, out, err = place.call([place.toll, "run", "-n", "2", "--json", "true"])
    document = json.loads(err)
    assert document["schema"] == "toll.repeat/1" and document["results"][0]["runs"] == 2
    status, out, err = place.call(
        [place.toll, "run", "-n", "2", "--summary-to", "-", "echo", "hi"])
    assert out.startswith(b"hi\nhi\ntoll: echo hi ") and err == b""


@pytest.mark.parametrize("output", ["runs.csv", "runs.html", "runs-{repeat}.csv", "@spdl:r.jsonl"])
def test_outputs_that_hold_one_run(here, output):
    """A file that would be overwritten by the next run is refused before anything runs."""
    options = ["-n", "2", "--parameter", "x", "1,2", "-o", output]
    status, out, err = here.call([here.toll, "run", *options, "echo", "{x}"])
    assert (status, out) == (125, b"")
    assert err.startswith(b"toll: --output: cannot write several runs to '" + output.encode())
    assert not list(here.directory.glob("r*"))


@pytest.mark.parametrize("options,message", [
    (["-n", "0"], "-n: invalid value '0' (expected a number from 1 to 1000000)"),
    (["--warmup", "x"], "--warmup: invalid value 'x' (expected a number from 0 to 1000000)"),
    (["--parameter", "n"], "--parameter: value missing after 'n' (expected NAME VALUE,…)"),
    (["--parameter", "n", "1,,2", "true"], "--parameter: invalid value 'n=1,,2' (expected "
     "comma-separated values that are not empty: --parameter threads 1,2,4)"),
    (["--parameter", "a b", "1", "true"], "--parameter: invalid value 'a b=1' (expected a name of "
     "letters, digits, _ and -, and its values: --parameter threads 1,2,4)"),
    (["--parameter", "run", "1", "true"],
     "--parameter: invalid value 'run=1' (expected a name other than run and repeat)"),
    (["--parameter", "n", "1", "--parameter", "n", "2", "true"],
     "--parameter: invalid value 'n=2' (expected each name once)"),
    (["--parameter", "n", "1", "true"], "--parameter: no {n} in the command (expected where the "
     "values of n go)"),
    (["-n", "2", "-o", "json:-", "true"],
     "--output: stdout belongs to the command (expected a file name)"),
    (["--ignore-failure", "true"],
     "--ignore-failure: no effect without repeated runs (add --runs N)"),
])
def test_mistakes(here, options, message):
    status, out, err = here.call([here.toll, "run", *options])
    assert (status, out, err.decode()) == (125, b"", f"toll: {message}\n")


@pytest.mark.parametrize("runs,output", [(200, "runs.jsonl"), (20, "runs.sqlite")])
def test_nothing_is_left_by_a_run(here, runs, output):
    """Before each run toll has the same descriptors, one thread and no child but this."""
    count = ("set -- /proc/$PPID/fd/*; f=$#; set -- /proc/$PPID/task/*; "
             "echo $f $# $(ulimit -n) >> counts; read c < /proc/$PPID/task/$PPID/children; "
             "[ $c = $$ ]")
    status, out, err = here.shell(
        f'ulimit -S -n 256; exec $TOLL run -q -n {runs} -o {output} --prepare "$COUNT" -- true',
        env={**os.environ, "COUNT": count})
    assert (status, out, err) == (0, b"", b"")
    counts = here.path("counts").read_text().splitlines()
    assert len(counts) == runs and len(set(counts)) == 1, sorted(set(counts))
    assert counts[0].endswith(" 1 256")


def test_each_run_finds_the_same(here):
    """Limits, signals, descriptors: the second run is no child of a program that measured."""
    job = "ulimit -n; ls /proc/self/fd | wc -l; grep -E 'Sig(Blk|Ign|Cgt)' /proc/self/status; env"
    status, out, _ = here.shell(
        'ulimit -S -n 256; exec $TOLL run -q -n 3 --no-marks -- sh -c "$JOB"',
        env={**os.environ, "JOB": job})
    lines = out.decode().splitlines()
    third = len(lines) // 3
    assert status == 0 and lines[0] == "256"
    assert lines[:third] == lines[third:2 * third] == lines[2 * third:]


def test_process_left_behind_is_not_of_the_next_run(here):
    """The first run leaves a process that uses half a second and ends during the second."""
    burn = "import time\nwhile time.process_time() < 0.5: pass"
    job = (f"if mkdir left 2>/dev/null; then python3 -S -c '{burn}' & echo $! > pid; "
           "else while kill -0 $(cat pid) 2>/dev/null; do sleep 0.1; done; fi")
    status, _, err, result = repeat(here, ["-n", "2"], ["sh", "-c", job])
    assert status == 0, err
    assert result[0]["figures"]["cpu_seconds"]["values"][1] < 0.4


HYPERFINE = {
    "command": str, "mean": float, "stddev": float, "median": float, "user": float,
    "system": float, "min": float, "max": float, "times": list, "exit_codes": list,
    "parameters": dict,
}


def shape(value):
    if isinstance(value, list):
        return [shape(value[0])]
    if isinstance(value, dict):
        return {key: shape(v) for key, v in value.items()}
    return type(value)


def test_json_of_hyperfine(here):
    """The keys and types of the real one, where it is installed, in its order."""
    job = "sleep 0.0{t}"
    status, _, _ = here.call([here.toll, "run", "-q", "-n", "3", "--parameter", "t", "1,2", "-o",
                              "hyperfine:ours.json", *job.split()])
    ours = json.loads(here.path("ours.json").read_text())
    assert status == 0 and list(ours) == ["results"]
    for result, t in zip(ours["results"], "12"):
        known = {k: v for k, v in result.items() if k != "memory_usage_byte"}
        assert {k: type(v) for k, v in known.items()} == HYPERFINE
        assert list(known) == list(HYPERFINE)
        assert result["command"] == f"sleep 0.0{t}" and result["parameters"] == {"t": t}
        assert result["exit_codes"] == [0, 0, 0]
        assert result["mean"] == pytest.approx(statistics.mean(result["times"]))
        assert result["stddev"] == pytest.approx(statistics.stdev(result["times"]), rel=1e-6)
    hostlib.skip_without("hyperfine")
    here.call(["hyperfine", "-N", "-r", "3", "-L", "t", "1,2", job, "--export-json", "real.json"])
    real = json.loads(here.path("real.json").read_text())
    assert [shape(r) for r in real["results"]] == [
        shape({k: v for k, v in r.items() if k != "memory_usage_byte"}) for r in ours["results"]]


def test_json_of_hyperfine_for_one_run(here):
    status, _, _ = here.call([here.toll, "run", "-q", "-o", "hyperfine:one.json", "false"])
    result = json.loads(here.path("one.json").read_text())["results"][0]
    assert status == 1 and result["exit_codes"] == [1] and result["stddev"] is None
    assert result["times"] == [result["mean"]] == [result["median"]]


def test_conditions_are_judged_by_the_mean(here):
    """Of each combination of parameters; runs that do not count are not judged."""
    condition = ["--fail-if", "io_written > 1M"]
    status, _, err, _ = repeat(
        here, ["-n", "2", "-q", *condition, "--fail-if", "time > 1h", "--parameter", "n",
               "10,3145728"], ["sh", "-c", "head -c {n} /dev/zero > written"])
    assert status == 1
    assert re.fullmatch(r"toll: n=3145728: failed: io_written was 3.00 MiB \(mean of 2 runs\), above "
                        r"the limit of 1.00 MiB\n", err), err
    status, _, err, _ = repeat(here, ["-n", "2", *condition], ["sh", "-c", "exit 4"])
    assert status == 4 and err.count("\n") == 1
