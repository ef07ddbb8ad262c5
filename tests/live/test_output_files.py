# SPDX-License-Identifier: MIT
"""Files in directories that others may write to, links, pipes that are not read, limits of sizes: the
job goes on, its exit status is kept, and nothing is written where it does not belong."""
import csv
import fcntl
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import threading

import pytest
from livelib import GUARD, IS_ROOT, needs_root, records, until

NOBODY = 65534
FILES = ["csv", "jsonl", "json", "txt", "om", "prom", "sqlite", "sub-tracking.csv"]


def ends(p):
    """The status of something that must end by itself."""
    try:
        return p.wait(timeout=GUARD)
    except subprocess.TimeoutExpired:
        p.kill()
        raise


# ---- Sizes ---------------------------------------------------------------------------------------


def test_sizes_are_those_of_the_files(place):
    """The summary for people is written after the files are complete."""
    subprocess.run([place.toll, "run", "-q", "-o", "a.jsonl", "-o", "a.csv", "--summary", "json",
                    "--summary-to", "s.json", "--", "sleep", "0.1"], cwd=place.path("."), check=True)
    outputs = json.loads(place.path("s.json").read_text())["outputs"]
    assert {o["name"]: o["bytes"] for o in outputs} == {
        name: place.path(name).stat().st_size for name in ("a.jsonl", "a.csv")}


# ---- Readers that are slow -----------------------------------------------------------------------


def read_all(fd):
    with open(fd, "rb", closefd=False) as file:
        return file.read()


def small_pipe():
    """Both ends of a pipe that is full after some samples, and how much it takes."""
    read, write = os.pipe()
    return read, write, fcntl.fcntl(write, 1031, 8192)  # F_SETPIPE_SZ


def end_when_full(p, path, room):
    """toll measures until it is told to end: by then the pipe cannot have room for all."""
    until(lambda: (path.exists() and path.stat().st_size > 2 * room) or p.poll() is not None,
          "more samples than a pipe has room for")
    p.send_signal(signal.SIGTERM)


def test_pipe_that_is_never_read(place):
    """toll ends although nothing is taken out of the pipe; every sample is written or counted."""
    read, write, room = small_pipe()
    with place.popen([place.toll, "system", "-i", "1ms", "-o", "-", "-f", "csv", "-o", "all.csv",
                      "--summary", "json", "--summary-to", "s.json"], stdout=write,
                     stderr=subprocess.PIPE) as p:
        end_when_full(p, place.path("all.csv"), room)
        ends(p)
        err = p.stderr.read()
    assert not fcntl.fcntl(write, fcntl.F_GETFL) & os.O_NONBLOCK
    os.close(write)
    text = read_all(read).decode()
    os.close(read)
    summary = json.loads(place.path("s.json").read_text())
    output, = [o for o in summary["outputs"] if o["name"] == "stdout"]
    whole = text[:text.rindex("\n") + 1].count("\n") - 1  # without the heading
    assert output["delivered"] == whole < output["samples"]
    assert output["dropped"] == output["samples"] - output["delivered"]
    assert output["failure"] == "destination too slow"
    assert b"destination too slow" in err
    assert any("samples dropped" in note for note in summary["notes"])


def test_pipe_that_is_read_late(here):
    """What does not fit into the pipe waits in toll, in order, and nothing is lost."""
    read, write, room = small_pipe()
    path = here.path("all.csv")
    with here.popen([here.toll, "system", "-i", "1ms", "-o", "-", "-f", "csv", "-o", "all.csv",
                     "-q"], stdout=write) as p:
        os.close(write)
        end_when_full(p, path, room)
        text = read_all(read)
        assert ends(p) == 0
    os.close(read)
    assert text == path.read_bytes()


def test_pipe_of_another_user(here):
    """It cannot be opened a second time, and toll must not wait all the same."""
    if not IS_ROOT:
        pytest.skip("needs root")
    read, write, room = small_pipe()  # the record of two samples does not fit into it
    with here.popen(["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--",
                     here.toll, "system", "--for", "300ms", "-i", "1ms", "-f", "jsonl", "-q"],
                    stdout=write, cwd="/") as p:
        assert ends(p) == 125  # samples are missing
    os.close(write)
    assert 0 < len(read_all(read)) <= room
    os.close(read)


def fill(fd):
    """Everything the pipe takes."""
    flags = fcntl.fcntl(fd, fcntl.F_GETFL)
    fcntl.fcntl(fd, fcntl.F_SETFL, flags | os.O_NONBLOCK)
    for size in (65536, 1):
        try:
            while os.write(fd, b"x" * size):
                pass
        except BlockingIOError:
            pass
    fcntl.fcntl(fd, fcntl.F_SETFL, flags)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_summary_to_a_full_pipe(place, number):
    """The wait ends with a signal, and the status is the job's."""
    read, write = os.pipe()
    fill(write)
    with place.popen([place.toll, "run", "--", "sh", "-c", "exit 7"], stderr=write,
                     preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as p:
        # Since toll waits it takes signals again; before, they are for the job.
        until(lambda: not signal_is_blocked(p.pid, number), "a wait that can be ended")
        p.send_signal(number)
        assert ends(p) == 7
    os.close(read)
    os.close(write)


def signal_is_blocked(pid, number):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("SigBlk:"):
            blocked = int(line.split()[1], 16)
        if line.startswith("SigCgt:"):
            caught = int(line.split()[1], 16)
    bit = 1 << (number - 1)
    return bool(blocked & bit) or not caught & bit


def test_summary_to_a_pipe_that_is_read_late(here):
    """A person before a full page of `less`: the summary comes when there is room."""
    read, write = os.pipe()
    fill(write)
    with here.popen([here.toll, "run", "--", "sh", "-c", "exit 7"], stderr=write) as p:
        os.close(write)
        until(lambda: not signal_is_blocked(p.pid, signal.SIGTERM), "toll waits")
        text = read_all(read)
        assert ends(p) == 7
    os.close(read)
    assert b"\n  CPU  " in text


def test_notes_to_a_full_pipe_do_not_stop_the_sampler(here):
    """An output fails while stderr is full: the sampler goes on and the other output is whole."""
    read, write = os.pipe()
    fill(write)
    here.path("full.csv").symlink_to("/dev/full")
    with here.popen([here.toll, "run", "-i", "10ms", "--summary", "none", "-o", "full.csv", "-o",
                     "good.jsonl", "--", "sh", "-c", "sleep 1; exit 7"], stderr=write) as p:
        assert ends(p) == 7
    os.close(read)
    os.close(write)
    assert len(records(here.path("good.jsonl"), "sample")) > 20


# ---- Links ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", FILES)
def test_link_stays_a_link(here, suffix):
    """As with `>`: the link stays, what it leads to has the content."""
    directory = here.path("elsewhere")
    directory.mkdir()
    link, target = here.path(f"link.{suffix}"), directory / f"target.{suffix}"
    link.symlink_to(f"elsewhere/target.{suffix}")
    for _ in range(2):  # to a file that is not there, and to one that is
        status, _, err = here.call([here.toll, "run", "-q", "-i", "10ms", "-o", link, "--", "sh",
                                    "-c", "exit 7"])
        assert status == 7, err
        assert link.is_symlink() and target.is_file() and not target.is_symlink()
        assert target.stat().st_size > 0
    assert [p.name for p in directory.iterdir()] == [target.name]


def test_link_of_an_export(here):
    here.call([here.toll, "run", "-q", "-o", "run.jsonl", "--", "true"])
    for name, command in [("e.csv", ["export", "run.jsonl"]), ("a.txt", ["sub-tracking", "analyze",
                                                                        "run.jsonl"])]:
        here.path(name).symlink_to("target-" + name)
        status, _, err = here.call([here.toll, *command, "-o", name])
        assert status == 0, err
        assert here.path(name).is_symlink() and here.path("target-" + name).stat().st_size


def test_files_of_the_user_are_left_alone(here):
    """Names that toll used for its own purposes are those of the user."""
    own = ["x.om.order", "x.om.new", "x.prom.new", "x.json.tmp"]
    for name in own:
        here.path(name).write_text("mine")
    status, _, _ = here.call([here.toll, "run", "-q", "-i", "10ms", "-o", "x.om", "-o", "x.prom",
                              "-o", "x.json", "--", "sh", "-c", "exit 7"])
    assert status == 7
    assert [here.path(name).read_text() for name in own] == ["mine"] * len(own)
    assert sorted(p.name for p in here.directory.iterdir()) == sorted(
        own + ["x.om", "x.prom", "x.json"])


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "json", "txt", "om", "prom", "sqlite"])
@pytest.mark.parametrize("umask,mode", [(0o077, 0o600), (0o022, 0o644)])
def test_mode_of_new_files(here, suffix, umask, mode):
    path = here.path(f"x.{suffix}")
    here.call([here.toll, "run", "-q", "-o", path, "--", "true"], umask=umask)
    assert path.stat().st_mode & 0o777 == (0o644 if suffix == "prom" else mode)


# ---- Directories that others may write to --------------------------------------------------------


@pytest.fixture(params=[0o1777, 0o777])
def shared(here, request):
    """A directory of root's in which everybody may make files."""
    if not IS_ROOT:
        pytest.skip("needs root")
    directory = here.path("shared")
    directory.mkdir()
    directory.chmod(request.param)
    return directory


def plant(path, target=None):
    """A link or a pipe that another user has made."""
    if target:
        path.symlink_to(target)
    else:
        os.mkfifo(path, 0o666)
    os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    return path


@pytest.mark.parametrize("suffix", FILES)
def test_planted_link(here, shared, suffix):
    victim = here.path("victim")
    victim.write_text("precious")
    link = plant(shared / f"x.{suffix}", victim)
    status, _, err = here.call([here.toll, "run", "-q", "-o", link, "--", "touch", "ran"])
    assert status == 125 and b"file of another user" in err
    assert err.count(b"\n") == 1
    assert victim.read_text() == "precious" and not here.path("ran").exists()
    # A link of our own is what it always was.
    own = shared / f"own.{suffix}"
    own.symlink_to(here.path(f"mine.{suffix}"))
    assert here.call([here.toll, "run", "-q", "-o", own, "--", "true"])[0] == 0
    assert own.is_symlink() and here.path(f"mine.{suffix}").exists()


def test_planted_link_and_what_is_written_afterwards(here, shared):
    """Results of toll export and toll sub-tracking, and the name of the link on the way."""
    here.call([here.toll, "run", "-q", "-o", "run.jsonl", "--", "true"])
    victim = here.path("victim")
    victim.write_text("precious")
    plant(shared / "x.csv", victim)
    plant(shared / "way", here.directory)
    for output in ["shared/x.csv", "shared/way/victim"]:
        for command in [["export", "run.jsonl", "-f", "csv"], ["sub-tracking", "analyze", "run.jsonl"]]:
            status, _, err = here.call([here.toll, *command, "-o", output])
            assert status == 125 and b"file of another user" in err, command
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("suffix", FILES)
def test_planted_pipe(here, shared, suffix):
    """At the name itself: nothing hangs, whether somebody reads from it or not."""
    pipe = plant(shared / f"x.{suffix}")
    command = [here.toll, "run", "-q", "-o", pipe, "--", "touch", "ran"]
    assert here.call(command)[0] == 125
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert here.call(command)[0] == 125
    os.close(reader)
    assert not here.path("ran").exists()


@pytest.mark.parametrize("suffix,beside", [
    ("om", "x.om.order"), ("prom", "x.prom.new"), ("sqlite", "x.sqlite-journal"),
    ("sqlite", "x.sqlite-wal"), ("sqlite", "x.sqlite-shm")])
def test_planted_pipe_beside_it(here, shared, suffix, beside):
    """toll either does not need the name, or refuses it before the job."""
    plant(shared / beside)
    status, _, err = here.call([here.toll, "run", "-q", "-i", "10ms", "-o", shared / f"x.{suffix}",
                                "--", "sh", "-c", "exit 7"])
    assert status == (125 if suffix == "sqlite" else 7), err


@pytest.mark.parametrize("suffix", ["json", "txt", "om", "prom", "sqlite"])
def test_pipe_planted_while_the_job_runs(here, shared, suffix):
    """The job removes the file and puts a pipe there: its status is kept, and toll ends."""
    path = shared / f"x.{suffix}"
    status, _, _ = here.call(
        [here.toll, "run", "-q", "-i", "10ms", "-o", path, "--", "sh", "-c",
         f"sleep 0.2; rm -f {path}; mkfifo {path}; chown -h {NOBODY} {path}; exit 7"])
    assert status == 7


def test_file_of_another_user_in_tmp(here, shared):
    """As the kernel has it where fs.protected_regular is set: with the sticky bit only."""
    path = shared / "x.csv"
    path.write_text("")
    os.chown(path, NOBODY, NOBODY)
    status, _, err = here.call([here.toll, "run", "-q", "-o", path, "--", "true"])
    is_sticky = bool(shared.stat().st_mode & 0o1000)
    assert status == (125 if is_sticky else 0), err


@needs_root
def test_file_of_another_user_keeps_its_owner(here):
    path = here.path("x.om")
    path.write_text("old")
    path.chmod(0o640)
    os.chown(path, NOBODY, NOBODY)
    assert here.call([here.toll, "run", "-q", "-o", path, "--", "true"])[0] == 0
    st = path.stat()
    assert (st.st_uid, st.st_gid, st.st_mode & 0o777) == (NOBODY, NOBODY, 0o640)
    assert path.read_text().endswith("# EOF\n")


def gpu_tracker(here):
    link = here.path("gpu-tracker")
    link.symlink_to(here.toll)
    return link


def test_planted_names_of_gpu_tracker(here, shared):
    victim = here.path("victim")
    victim.write_text("precious")
    for name, option in [("t.sqlite", "--tracking-file"), ("t.csv", "--tracking-file"),
                         ("o.txt", "--output")]:
        plant(shared / name, victim)
    tracker = gpu_tracker(here)
    for option in ["--tracking-file=shared/t.sqlite", "--tracking-file=shared/t.csv"]:
        status, _, err = here.call([tracker, "--execute", "sh -c 'exit 7'", option])
        assert status != 7 and err
    status, _, err = here.call([tracker, "--execute", "sh -c 'exit 7'", "--output=shared/o.txt"])
    assert err
    assert victim.read_text() == "precious"


def test_output_of_gpu_tracker_is_a_pipe_without_a_reader(here):
    """The job has ended: its status is kept."""
    os.mkfifo(here.path("o.txt"))
    status, _, err = here.call([gpu_tracker(here), "--execute", "sh -c 'exit 7'",
                                "--output=o.txt"])
    assert err and status == 7


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stdout_of_gpu_tracker_is_a_full_pipe(here, number):
    read, write = os.pipe()
    fill(write)
    with here.popen([gpu_tracker(here), "--execute", "sh -c 'exit 7'", "-o", "r.txt"], stdout=write,
                    stderr=subprocess.DEVNULL,
                    preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as p:
        until(lambda: not signal_is_blocked(p.pid, number) and waits(p.pid), "toll waits")
        p.send_signal(number)
        assert ends(p) == 7
    os.close(read)
    os.close(write)
    assert here.path("r.txt").stat().st_size, "the other output is written all the same"


def waits(pid):
    return "poll" in pathlib.Path(f"/proc/{pid}/wchan").read_text()


# ---- Pipes and devices that are meant ------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "om"])
def test_pipe_with_a_reader(here, suffix):
    pipe = here.path(f"x.{suffix}")
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    got = []
    os.set_blocking(reader, True)
    thread = threading.Thread(target=lambda: got.append(read_all(reader)))
    with here.popen([here.toll, "run", "-q", "-i", "10ms", "-o", pipe, "--", "sh", "-c",
                     "sleep 0.2; exit 7"]) as p:
        until(lambda: has_open(p.pid, pipe) or p.poll() is not None, "toll writes to the pipe")
        thread.start()
        status = ends(p)
    thread.join(GUARD)
    os.close(reader)
    assert status == 7 and got and got[0].endswith(b"\n")


def has_open(pid, path):
    there = os.stat(path)
    for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            st = fd.stat()
        except OSError:
            continue
        if (st.st_dev, st.st_ino) == (there.st_dev, there.st_ino):
            return True
    return False


def test_devices(here):
    """/dev/null and the standard streams are written as they are."""
    assert here.call([here.toll, "run", "-q", "-o", "csv:/dev/null", "--", "true"])[0] == 0
    here.call([here.toll, "run", "-q", "-o", "run.jsonl", "--", "true"])
    status, out, err = here.call([here.toll, "export", "run.jsonl", "-f", "csv", "-o",
                                  "/dev/stdout"])
    assert status == 0 and out.startswith(b"time,"), err
    assert pathlib.Path("/dev/stdout").is_symlink()


# ---- What others read ----------------------------------------------------------------------------


def test_names_that_a_spreadsheet_would_run(here):
    """Names of the job in a sub-tracking file; toll finds them again as they were."""
    names = ["=HYPERLINK(1)", "+1", "-1", "@x", "'=1", "plain", "it's"]
    script = "; ".join(f'"$TOLL" mark phase begin "{n}"; sleep 0.05; "$TOLL" mark phase end "{n}"'
                       for n in names)
    status, _, err = here.call(
        [here.toll, "run", "-q", "-i", "10ms", "--layout", "gpu-tracker", "-o", "points.csv", "-o",
         "b.sub-tracking.csv", "-o", "run.jsonl", "--", "sh", "-c", script],
        env={**os.environ, "TOLL": here.toll})
    assert status == 0, err
    with open(here.path("b.sub-tracking.csv"), newline="") as file:
        written = [row["code_block_name"] for row in csv.DictReader(file)]
    assert written[::2] == ["'=HYPERLINK(1)", "'+1", "'-1", "'@x", "''=1", "plain", "it's"]
    for command in [["points.csv", "b.sub-tracking.csv"], ["run.jsonl"]]:
        _, out, err = here.call([here.toll, "sub-tracking", "analyze", *command, "-f", "json"])
        assert {b["name"] for b in json.loads(out)["code_block_results"]} == set(names), err
    # Combined, nothing is added a second time.
    assert here.call([here.toll, "sub-tracking", "combine", "-o", "all.csv", "b.sub-tracking.csv"])[0] == 0
    with open(here.path("all.csv"), newline="") as file:
        assert [row["code_block_name"] for row in csv.DictReader(file)] == written


@pytest.mark.parametrize("address,is_open", [("0.0.0.0:0", True), ("[::]:0", True), (":0", False),
                                             ("127.0.0.1:0", False), ("localhost:0", False)])
def test_endpoint_that_other_machines_can_reach(here, address, is_open):
    """Every test listens on loopback; this one has a network of its own, without interfaces."""
    if not IS_ROOT:
        pytest.skip("needs root")
    status, _, err = here.call(
        ["unshare", "-n", "sh", "-c", 'ip link set lo up 2>/dev/null; exec "$0" "$@"', here.toll,
         "run", "--summary", "json", "--summary-to", "s.json", "-o", f"openmetrics:{address}", "--",
         "sh", "-c", "exit 7"])
    if status == 125 and b"cannot listen" in err:
        pytest.skip("no such addresses here")
    notes = [n for n in json.loads(here.path("s.json").read_text())["notes"] if "password" in n]
    assert status == 7
    assert len(notes) == is_open and (b"other machines" in err) == is_open


# ---- Limits of file sizes ------------------------------------------------------------------------


def limited(size):
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.mark.parametrize("size", [0, 4096, 40000])
def test_size_limit_and_sqlite(place, size):
    """At its schema, or later: a sentence, no signal, and the job's status when it ran."""
    status, _, err = place.call([place.toll, "run", "-i", "1ms", "-o", "x.sqlite", "--", "sh", "-c",
                                 "sleep 0.3; exit 7"], preexec_fn=limited(size))
    assert status in (7, 125) and b"x.sqlite" in err, (status, err)


@pytest.mark.parametrize("suffix", FILES)
def test_size_limit(here, suffix):
    """Every format, with a limit that is reached while the job runs or before."""
    for size in (0, 512):
        status, _, err = here.call(
            [here.toll, "run", "-i", "1ms", "-o", f"x{size}.{suffix}", "--", "sh", "-c",
             "sleep 0.1; exit 7"], preexec_fn=limited(size))
        assert status in (7, 125), (status, err)


def test_size_limit_without_a_command(here):
    """Here most signals are not blocked."""
    for output in ["x.sqlite", "x.jsonl"]:
        status, _, err = here.call([here.toll, "system", "--for", "200ms", "-i", "1ms", "-o",
                                    output], preexec_fn=limited(40000))
        assert status in (0, 125), (status, err)


def test_size_limit_is_the_jobs_too(here):
    """The job meets the limit as it would without toll: by the signal."""
    job = [sys.executable, "-c", "import signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_DFL);"
           "f = open('big', 'wb'); f.write(b'x' * 100000)"]
    status, _, _ = here.call([here.toll, "run", "-q", "-o", "x.sqlite", "--", *job],
                             preexec_fn=limited(65536))
    alone, _, _ = here.call(job, preexec_fn=limited(65536))
    assert alone == -signal.SIGXFSZ
    assert status in (128 + signal.SIGXFSZ, 125)
    ignored = "grep -E '^Sig(Ign|Blk):' /proc/self/status"
    _, out, _ = here.call([here.toll, "run", "-q", "-o", "y.jsonl", "--", "sh", "-c", ignored])
    _, plain, _ = here.call(["sh", "-c", ignored])
    assert out == plain


def test_size_limit_and_phases(here):
    """Code blocks are copied into SQLite without a signal."""
    blocks = here.path("b.csv")
    with open(blocks, "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["process_id", "code_block_name", "position", "timestamp"])
        for i in range(5000):
            rows.writerow([1, f"block {i}", i % 2, 1746129778.5 + i])
    status, _, err = here.call([here.toll, "sub-tracking", "combine", "-o", "all.csv", blocks],
                               preexec_fn=limited(20000))
    assert status == 125 and b"all.csv" in err, (status, err)
    assert not here.path("all.csv").exists()
    assert sorted(p.name for p in here.directory.iterdir()) == ["b.csv"]
