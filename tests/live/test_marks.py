# SPDX-License-Identifier: MIT
"""Marks of a job: phases against what was done in them, and a socket that harms nobody."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest

import livelib
from livelib import records, until

TOP = pathlib.Path(__file__).resolve().parents[2]
SEND = ("import os, socket, sys; s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); "
        "s.connect(os.environ['TOLL_SOCKET']); ")


def measure(place, script, options=(), **kw):
    """A shell script under toll run, in which $TOLL and $HELPERS are set."""
    environment = dict(kw.pop("env", os.environ))
    environment.update(TOLL=place.toll, HELPERS=place.helper(""), PYTHON=sys.executable)
    return place.run(["sh", "-c", script], options, env=environment, **kw)


def phase(result, name):
    found = [p for p in result.summary["phases"] if p["name"] == name]
    assert len(found) == 1, result.summary.get("phases")
    return found[0]


def total(result, name, metric="cpu_seconds"):
    return phase(result, name)["figures"][metric]["total"]


def check(result, name, least, most, metric="cpu_seconds"):
    """A look that comes late, on a busy machine, has missed something, and the figure says so."""
    figure = phase(result, name)["figures"][metric]
    assert figure["total"] < most, figure
    assert figure["total"] >= least or figure["quality"] == "lower bound", figure


MARK = "$TOLL mark phase"


# ---- Phases --------------------------------------------------------------------------------------


def test_phases_have_what_was_used_in_them(place):
    """Each phase does one thing, of which it is known how much. toll mark and the shell use some
    milliseconds of their own; the burner stops at its CPU time, so nothing can be less. Eight
    megabytes are written in no time: not before toll has looked at the beginning."""
    looked = livelib.job_until_more('"type":"sample"', 2)
    r = measure(place, f"""
        {MARK} begin burn; $HELPERS/burn 400; {MARK} end burn
        {MARK} begin write; {looked}; head -c 8388608 /dev/zero > file; {MARK} end write
        {MARK} begin sleep; sleep 0.3; {MARK} end sleep""", ["-o", "run.jsonl"])
    assert r.status == 0, r.err
    check(r, "burn", 0.36, 0.6)
    assert total(r, "write") < 0.2 and total(r, "sleep") < 0.1
    check(r, "write", 8388608, 9000000, "io_written_bytes")
    assert total(r, "burn", "io_written_bytes") < 100000
    assert total(r, "sleep", "io_written_bytes") < 100000
    assert phase(r, "sleep")["total_seconds"] >= 0.29
    assert phase(r, "burn")["figures"]["memory_rss_bytes"]["max"] > 100000
    assert phase(r, "burn")["figures"]["cpu_cores"]["mean"] > 0
    assert all(p["count"] == 1 and not p["not_ended_count"] for p in r.summary["phases"])
    assert sum(total(r, n) for n in ("burn", "write", "sleep")) <= r.total("cpu_seconds") + 0.02


def test_nested_phases(here):
    r = measure(here, f"""
        {MARK} begin outer; $HELPERS/burn 100
        {MARK} begin inner; $HELPERS/burn 200; {MARK} end inner
        $HELPERS/burn 100; {MARK} end outer""")
    check(r, "inner", 0.18, 0.32)
    check(r, "outer", 0.36, 0.6)
    assert phase(r, "outer")["total_seconds"] > phase(r, "inner")["total_seconds"]


def test_overlapping_phases(here):
    r = measure(here, f"""
        {MARK} begin one; $HELPERS/burn 100
        {MARK} begin two; $HELPERS/burn 100
        {MARK} end one; $HELPERS/burn 100; {MARK} end two""")
    check(r, "one", 0.17, 0.32)
    check(r, "two", 0.17, 0.32)


def test_a_phase_in_itself_is_one(here):
    r = measure(here, f"""
        {MARK} begin again; {MARK} begin again; sleep 0.1; {MARK} end again; sleep 0.2
        {MARK} end again""")
    assert phase(r, "again")["count"] == 1 and phase(r, "again")["total_seconds"] >= 0.29


def test_the_same_phase_again_and_again(here):
    r = measure(here, f"for i in 1 2 3 4; do {MARK} begin step; sleep 0.05; {MARK} end step; done")
    p = phase(r, "step")
    assert p["count"] == 4 and p["min_seconds"] >= 0.049 and p["total_seconds"] >= 0.199
    assert p["min_seconds"] <= p["mean_seconds"] <= p["max_seconds"]
    assert abs(p["mean_seconds"] * 4 - p["total_seconds"]) < 1e-6


def test_processes_in_parallel_have_their_own(place):
    """Both processes stay after the end of their phase, so that it can be seen what they had."""
    r = measure(place, f"""
        (sleep 0.1; {MARK} begin busy; {MARK} begin same; $HELPERS/burn 500; {MARK} end same
         {MARK} end busy; sleep 0.3) &
        (sleep 0.1; {MARK} begin idle; {MARK} begin same; sleep 0.7; {MARK} end same
         {MARK} end idle; sleep 0.3) &
        wait""", ["-o", place.path("run.jsonl")])
    busy, idle = phase(r, "busy"), phase(r, "idle")
    assert busy["of"] == idle["of"] == "process"
    # Each phase has the three or four marks that are said in it, which cost more with sanitizers.
    marks = 4 * (0.1 if os.environ.get("TOLL_SANITIZED") else 0.025)
    assert 0.45 <= total(r, "busy") <= 0.6 + marks and total(r, "idle") < marks
    same = phase(r, "same")
    assert same["count"] == 2 and same["of_several_processes"]
    assert 0.45 <= same["figures"]["cpu_seconds"]["total"] <= 0.6 + 2 * marks
    lines = [line for line in records(place.path("run.jsonl"), "phase") if line["name"] == "same"]
    assert len({line["pid"] for line in lines}) == 2
    assert sorted(line["figures"]["cpu_seconds"]["total"] >= 0.45 for line in lines) == [False, True]


def test_begun_and_ended_by_different_shells(place):
    """As in a recipe of make: each line has a shell of its own, which is gone when the next comes.
    Then the phase has what the job used."""
    r = measure(place, f"""
        sh -c '{MARK} begin build; :'; sh -c '$HELPERS/burn 300; :'; sh -c '{MARK} end build; :'""")
    build = phase(r, "build")
    assert build["of"] == "target" and build["count"] == 1 and not build["not_ended_count"]
    check(r, "build", 0.27, 0.5)
    assert r.summary["marks"]["unmatched"] == 0


def test_shells_that_become_their_last_mark(here):
    """Shells execute their last command in their own place: it says the end for their parent."""
    worker = f"({MARK} begin same; $HELPERS/burn 40; {MARK} end same)"
    r = measure(here, f"{MARK} begin same; {worker} & {worker} & wait; {MARK} end same")
    p = phase(r, "same")
    assert p["count"] == 3 and not p["not_ended_count"] and "widened" not in p
    assert not r.summary["marks"]["unmatched"]


def test_what_is_not_ended_is_told(here):
    r = measure(here, f"{MARK} end never; {MARK} begin left; sleep 0.2")
    assert phase(r, "left")["not_ended_count"] == 1 and phase(r, "left")["total_seconds"] >= 0.19
    assert r.summary["marks"]["unmatched"] == 1
    assert any("phase 'never' ended without a begin" in note for note in r.notes)


def test_one_end_too_many_ends_nothing_else(here):
    r = measure(here, f"""
        sh -c '{MARK} begin work; sleep 0.8; {MARK} end work; :' &
        sleep 0.2
        sh -c '{MARK} begin work; {MARK} end work; {MARK} end work; :'
        wait""")
    work = phase(r, "work")
    assert work["count"] == 2 and work["max_seconds"] >= 0.79 and not work["not_ended_count"]
    assert r.summary["marks"]["unmatched"] == 1


def test_a_process_that_died_in_its_phase(here):
    """It has what was seen of it, not what the job did until its end."""
    r = measure(here, f"""
        (sh -c '{MARK} begin work; sleep 0.2; kill -9 $$') 2>/dev/null
        $HELPERS/burn 500; :""")
    work = phase(r, "work")
    assert work["not_ended_count"] == 1 and work["total_seconds"] < 0.6
    if work["of"] == "process":  # seen before it died
        cpu = work["figures"]["cpu_seconds"]
        assert cpu["quality"] == "unknown" or (cpu["quality"] == "lower bound"
                                               and cpu["total"] < 0.2)


def test_short_phases_are_not_invented(here):
    """Many more phases than can be looked at: all are counted, and what was used in those that were
    looked at is no more than the job used."""
    here.path("loop.py").write_text(SEND + """
for i in range(3000):
    s.send(b"phase begin step"); s.send(b"phase end step")
""")
    r = measure(here, "$PYTHON loop.py")
    step, marks = phase(r, "step"), r.summary["marks"]
    assert marks["taken"] == 6000 and marks["ignored"] == 0
    assert step["count"] == 3000 and step["measured_count"] <= 3000
    cpu = step["figures"]["cpu_seconds"]
    assert cpu["quality"] == "unknown" or cpu["total"] <= r.total("cpu_seconds")


# ---- Events and gauges ---------------------------------------------------------------------------


def test_events_and_gauges(here):
    r = measure(here, """
        $TOLL mark event start 'who=a b%c' x= 'é=ü'
        $TOLL mark gauge loss 0.5; $TOLL mark gauge loss -1e-3; $TOLL mark gauge loss 0.25""",
                ["-o", here.path("run.jsonl")])
    event, = [e for e in records(here.path("run.jsonl"), "event") if e["name"] == "start"]
    assert event["attributes"] == {"who": "a b%c", "x": "", "é": "ü"}
    assert [g["value"] for g in records(here.path("run.jsonl"), "gauge")] == [0.5, -0.001, 0.25]
    gauge, = r.summary["gauges"]
    assert (gauge["name"], gauge["count"], gauge["last"]) == ("loss", 3, 0.25)
    assert (gauge["min"], gauge["max"]) == (-0.001, 0.5)
    assert abs(gauge["mean"] - 0.749 / 3) < 1e-12
    assert r.summary["events"] == 1 and r.summary["marks"]["taken"] == 4


def test_the_time_is_when_it_was_said(here):
    """Not when toll came to read it: the mark is sent while toll is stopped."""
    r = measure(here, """
        toll=$(ps -o ppid= -p $$); kill -STOP $toll; $TOLL mark event early; sleep 0.3
        kill -CONT $toll; $TOLL mark event late""", ["-o", here.path("run.jsonl")])
    early, late = [e["elapsed_seconds"] for e in records(here.path("run.jsonl"), "event")
                   if e["name"] in ("early", "late")]
    assert r.status == 0 and late - early >= 0.25


# ---- The socket ----------------------------------------------------------------------------------


def test_garbage_is_counted_and_ignored(here):
    here.path("garbage.py").write_text(SEND + r"""
for text in (b"", b"x", b"phase", b"phase begin", b"phase begin ", b"phase stop a", b"gauge a",
             b"gauge a b", b"gauge a nan", b"event a b", b"event a  k=v", b"event \xff",
             b"event a%zz", b"event a @pid=0", b"event a @time=x", b"\0" * 100, os.urandom(4000),
             b"event " + b"a" * 129, b"event a " + b"k=v" * 2000, b"phase end a k=v"):
    s.send(text)
s.send(b"event good\n")
""")
    r = measure(here, "$PYTHON garbage.py", ["-o", here.path("run.jsonl")])
    assert r.status == 0 and r.err == b"", r.err
    assert r.summary["marks"]["ignored"] == 20 and r.summary["marks"]["taken"] == 1
    assert [e["name"] for e in records(here.path("run.jsonl"), "event")] == ["good"]


@livelib.needs_root
def test_another_user_is_not_heard(here):
    """He cannot enter the directory; where somebody lets him in, his marks are ignored."""
    r = measure(here, """
        as() { setpriv --reuid=65534 --regid=65534 --clear-groups -- "$@"; }
        as $TOLL mark -v event outside 2>&1
        chmod 755 $(dirname $TOLL_SOCKET); chmod 777 $TOLL_SOCKET
        as $TOLL mark -v event inside 2>&1; $TOLL mark event own""",
                ["-o", here.path("run.jsonl")], stdout=subprocess.PIPE)
    assert r.out.count(b"not running under 'toll run'") == 1
    assert r.summary["marks"]["ignored"] == 1 and r.summary["marks"]["taken"] == 1
    assert [e["name"] for e in records(here.path("run.jsonl"), "event")] == ["own"]


def test_directory_is_the_users_alone(place):
    r = measure(place, "stat -c %a.%u $(dirname $TOLL_SOCKET); stat -c %F $TOLL_SOCKET; id -u")
    mode, kind, uid = r.out.decode().split("\n")[:3]
    assert mode == f"700.{uid}" and kind == "socket"


def gone(path):
    return not os.path.lexists(path) and not os.path.lexists(os.path.dirname(path))


def test_nothing_stays_behind(place):
    r = measure(place, "cd /; echo $TOLL_SOCKET; exit 3")
    assert r.status == 3 and gone(r.out.decode().strip())


def test_nothing_stays_after_a_failed_launch(here):
    where = here.path("tmp")
    where.mkdir()
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(where)}
    status, _, _ = here.call([here.toll, "run", "--", "/no/such/command"], env=environment)
    assert status == 127 and list(where.iterdir()) == []
    status, _, _ = here.call([here.toll, "run", "-q", "true"], env=environment)
    assert status == 0 and list(where.iterdir()) == []


def test_what_a_killed_run_left_is_removed(here):
    where = here.path("tmp")
    where.mkdir()
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(where)}
    p = here.popen([here.toll, "run", "-q", "--", "sleep", "1"], env=environment)
    until(lambda: list(where.glob("toll-*/marks")), "there is a socket")
    p.kill()
    p.wait(livelib.GUARD)
    assert list(where.iterdir())
    here.call([here.toll, "run", "-q", "true"], env=environment)
    assert list(where.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_nothing_stays_after_a_signal(here, number):
    path = here.path("socket")
    p = here.popen([here.toll, "run", "-q", "--", "sh", "-c",
                    f"echo $TOLL_SOCKET > {path}; sleep 60 & wait"], start_new_session=True)
    socket = until(lambda: path.exists() and path.read_text().strip(), "the job runs")
    p.send_signal(number)
    assert p.wait(livelib.GUARD) != 0 and gone(socket)
    os.killpg(p.pid, signal.SIGKILL) if children_left(p.pid) else None


def children_left(session):
    return subprocess.run(["pgrep", "-s", str(session)], stdout=subprocess.DEVNULL,
                          check=False).returncode == 0


def test_place_for_the_socket(here):
    """The first directory that is there and whose name is short enough; in memory if possible."""
    runtime, long = here.path("runtime"), here.path("d" * 90)
    runtime.mkdir(mode=0o700), long.mkdir()
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else "/tmp"
    for given, expected in ((runtime, runtime), (long, memory), ("/no/such", memory),
                            ("relative", memory), ("", memory)):
        environment = {**os.environ, "XDG_RUNTIME_DIR": str(given)}
        environment.pop("TMPDIR", None)
        r = measure(here, "echo $TOLL_SOCKET; $TOLL mark event x", env=environment)
        assert r.out.decode().startswith(f"{expected}/toll-"), given
        assert r.summary["marks"]["taken"] == 1


def test_the_inner_run_has_the_marks_of_its_job(here):
    inner = here.path("inner.json")
    r = measure(here, f"""
        $TOLL run -q -o {inner} -- sh -c '$TOLL mark event inner'; $TOLL mark event outer
        $TOLL run -q --no-marks -- sh -c '$TOLL mark event through'""")
    assert json.loads(inner.read_text())["marks"]["taken"] == 1
    assert r.summary["marks"]["taken"] == 2


def test_no_marks(here):
    r = measure(here, "echo socket=$TOLL_SOCKET; $TOLL mark event x", ["--no-marks"],
                env={k: v for k, v in os.environ.items() if k != "TOLL_SOCKET"})
    assert r.out == b"socket=\n" and "marks" not in r.summary


# ---- toll mark -----------------------------------------------------------------------------------


def test_mark_without_a_listener(here):
    for value in (None, "", "/no/such/socket", "/etc/passwd", "x" * 300):
        environment = {k: v for k, v in os.environ.items() if k != "TOLL_SOCKET"}
        if value is not None:
            environment["TOLL_SOCKET"] = value
        assert here.call([here.toll, "mark", "event", "x"], env=environment) == (0, b"", b"")
        status, out, err = here.call([here.toll, "mark", "-v", "event", "x"], env=environment)
        assert (status, out) == (0, b"") and b"not running under 'toll run'" in err


@pytest.mark.parametrize("words, said", [
    ([], "missing arguments (expected"),
    (["fase", "begin", "x"], "unknown kind 'fase'"),
    (["phase", "start", "x"], "unknown word 'start' after 'phase' (expected begin or end)"),
    (["phase", "begin"], "missing argument"),
    (["phase", "end", "x", "k=v"], "unexpected argument 'k=v'"),
    (["event"], "missing argument"),
    (["event", "x", "y"], "invalid attribute 'y' (expected KEY=VALUE)"),
    (["event", "x", "=y"], "invalid attribute '=y' (expected KEY=VALUE)"),
    (["event", ""], "a name of 1 to 128 bytes"),
    (["event", "x" * 129], "a name of 1 to 128 bytes"),
    (["event", "a\nb"], "a name of 1 to 128 bytes"),
    (["event", "x", "k=" + "v" * 5000], "4000 bytes at most"),
    (["gauge", "x"], "missing argument"),
    (["gauge", "x", "many"], "invalid value 'many'"),
    (["gauge", "x", "1e999"], "invalid value '1e999'"),
    (["gauge", "x", "1", "2"], "unexpected argument '2'"),
    (["--quick", "event", "x"], "mark: unknown option '--quick'"),
])
def test_bad_words(here, words, said):
    """Said also under a listener, and where there is none."""
    for environment in (os.environ, {**os.environ, "TOLL_SOCKET": "/no/such"}):
        status, out, err = here.call([here.toll, "mark", *words], env=environment)
        assert (status, out) == (125, b"") and said in err.decode(), err
        assert err.count(b"\n") == 1


def test_marks_never_change_how_the_job_ends(here):
    r = measure(here, "rm -r $(dirname $TOLL_SOCKET); $TOLL mark event x || exit 9; exit 4")
    assert r.status == 4 and r.err == b""


def test_text_summary_has_tables(here):
    script = f"{MARK} begin load; sleep 0.05; {MARK} end load; $TOLL mark gauge loss 0.5"
    environment = {**os.environ, "TOLL": here.toll}
    _, _, err = here.call([here.toll, "run", "--", "sh", "-c", script], env=environment)
    assert re.search(r"^  Phase +time +peak RSS +CPU\n    load +[\d.]+ m?s +\S", err.decode(), re.M), err
    _, _, err = here.call([here.toll, "run", "-v", "--", "sh", "-c", script], env=environment)
    text = err.decode()
    assert re.search(r"^phase +times +time +cpu +cores +RSS +read +write$", text, re.M)
    assert re.search(r"^load +1 ", text, re.M) and re.search(r"^loss +1 +0.5 ", text, re.M)
    assert all(len(line) <= 80 for line in text.splitlines()[1:])
    _, _, err = here.call([here.toll, "run", "--", "true"])
    assert b"phase" not in err and b"gauge" not in err


# ---- From a program ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def marker(tmp_path_factory):
    """The library as a program uses it."""
    if livelib.SANITIZED:
        pytest.skip("a program without sanitizers cannot link the library")
    directory = tmp_path_factory.mktemp("marker")
    program = directory / "marker"
    subprocess.run(["cc", "-O1", "-Wall", "-pthread", f"-I{TOP}/include", "-o", program,
                    TOP / "tests/live/library/marker.c",
                    pathlib.Path(os.environ["TOLL_BUILD"]) / "libtoll.a", "-lm"], check=True)
    return program


def test_a_flood_is_taken_or_told_as_lost(here, marker):
    r = here.run([marker, "flood", "5000"], ["-o", here.path("run.jsonl")])
    marks, (not_taken, count) = r.summary["marks"], map(int, r.out.split())
    assert r.status == 0
    assert marks["taken"] + marks["lost"] == count >= 10001 and marks["lost"] == not_taken
    assert marks["ignored"] == 0
    values = [g["value"] for g in records(here.path("run.jsonl"), "gauge")]
    assert values == sorted(values) and len(set(values)) == len(values)
    assert len(records(here.path("run.jsonl"), "sample")) >= 1


def test_without_a_listener_a_mark_costs_next_to_nothing(here, marker):
    """Compared with a system call that does nothing, which takes a tenth of a microsecond to one
    with mitigations: a mark makes none."""
    environment = {k: v for k, v in os.environ.items() if k != "TOLL_SOCKET"}
    status, out, _ = here.call([marker, "cost", "20000"], env=environment)
    mark, call = map(float, out.split())
    assert status == 0 and mark < 10 * call, (mark, call)


def test_marks_of_the_program_itself(here, marker):
    status, out, _ = here.call([marker, "threads", "500"])
    summary = json.loads(out)
    assert status == 0
    assert summary["marks"]["taken"] == 2002 and summary["gauges"][0]["count"] == 2000
    assert [p["name"] for p in summary["phases"]] == ["all"]


def test_phases_of_the_program_itself(here, marker):
    status, out, _ = here.call([marker, "phases", "300"])
    cpu = {p["name"]: p["figures"]["cpu_seconds"]["total"] for p in json.loads(out)["phases"]}
    assert status == 0 and 0.25 <= cpu["busy"] <= 0.35 and cpu["idle"] < 0.05


def test_a_forked_child_has_no_tracker(here, marker):
    assert here.call([marker, "forked"])[0] == 0


def test_a_full_queue_is_told(here, marker):
    status, out, err = here.call([marker, "full", "5000"])
    marks = json.loads(out)["marks"]
    assert status == 0 and marks["lost"] == int(err) and marks["taken"] + marks["lost"] == 5000
    assert marks["lost"] > 0
