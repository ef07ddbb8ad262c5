# SPDX-License-Identifier: MIT
"""Scarce resources: few descriptors, little memory, no room in files, no more processes."""
import errno
import json
import os
import re

import pytest
from livelib import IS_ROOT, SANITIZED, not_sanitized, records

LONELY = 64321  # a user whom nobody knows


def status_of(place, script, **kw):
    """Of `toll run`, told by the shell; with what it said."""
    status, out, err = place.shell(script, **kw)
    return status, out.decode(), err.decode()


@pytest.mark.parametrize("limit", [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 20, 40])
@pytest.mark.parametrize("outputs", ["", "-o x.jsonl -o x.csv -o x.json -o x.txt"])
def test_few_descriptors(here, limit, outputs):
    """Either toll says before anything runs that it cannot (125), or the command runs and its
    status is passed on; never anything between."""
    if SANITIZED and limit < 6:
        pytest.skip("the leak sanitizer needs descriptors of its own")
    job = "$HELPERS/burn 10 0 0 7"  # needs one descriptor, for its libraries
    status, _, err = status_of(here, f"ulimit -n {limit}; exec $TOLL run {outputs} -- {job}")
    if status == 125:
        assert err.startswith("toll: ") and err.count("\n") == 1, err
        assert not list(here.directory.glob("x.*")), "nothing is left behind"
        assert limit < (16 if outputs else 12)
        return
    assert status == 7, err


@pytest.mark.parametrize("limit", range(6, 16))
def test_rates_with_few_descriptors(here, limit):
    """Samples that could not read anything leave the mean what it is: total over time."""
    status, _, err = here.shell(f"ulimit -n {limit}; exec $TOLL run -i 10ms --summary json "
                                "--summary-to s.json -- $HELPERS/burn 50 0 0 7")
    if status == 125:
        pytest.skip("too few to begin")
    assert status == 7, err
    if not here.path("s.json").read_text():
        assert b"toll: cannot begin to measure" in err
        return
    combined = json.loads(here.path("s.json").read_text())["target"]["combined"]
    product = combined["cpu_cores"]["mean"] * combined["wall_seconds"]["total"]
    assert product == pytest.approx(combined["cpu_seconds"]["total"], abs=1e-6)


def test_ten_descriptors_are_enough_for_a_total(place):
    """wait4 needs no descriptor: CPU time is right where /proc cannot be read."""
    script = "ulimit -n 10; exec $TOLL run --summary json --summary-to s.json -- $HELPERS/burn 200"
    status, _, err = place.shell(script)
    assert status == 0, err
    cpu = json.loads(place.path("s.json").read_text())["target"]["combined"]["cpu_seconds"]
    assert cpu["total"] == pytest.approx(0.2, abs=0.02)


@not_sanitized
@pytest.mark.parametrize("kib", [3000, 5000, 8000, 12000, 20000])
def test_little_address_space(here, kib):
    """As above: told before anything runs, or the status is the command's."""
    status, _, err = status_of(here, f"ulimit -v {kib}; exec $TOLL run -o x.jsonl -- "
                               "sh -c 'echo > began; exit 7'")
    if here.path("began").exists():
        assert status == 7, err
    else:
        # 127: the loader itself found no memory for toll or for the shell.
        assert status in (125, 126, 127), err


def test_no_room_in_files(place):
    """`ulimit -f 0`: writing raises SIGXFSZ, which is toll's affair; the command's status counts."""
    script = "ulimit -f 0; exec $TOLL run -i 10ms -o x.jsonl -o x.csv -- $HELPERS/burn 50 0 100 7"
    status, _, err = place.shell(script)
    assert status == 7, err
    assert b"x.jsonl" in err and b"x.csv" in err
    assert place.path("x.jsonl").read_bytes() == b""


def test_room_for_some_lines(place):
    """`ulimit -f 40` of 512 bytes: what is there are whole lines."""
    script = ("ulimit -f 40; exec $TOLL run -i 1ms --processes all -o x.jsonl -o x.csv -- "
              "$HELPERS/burn 100 0 100 7")
    status, _, err = place.shell(script)
    assert status == 7, err
    lines = records(place.path("x.jsonl"))
    assert lines and lines[0]["type"] == "run"
    assert place.path("x.jsonl").stat().st_size <= 40 * 512
    assert place.path("x.csv").read_text().endswith("\n")


def limit_processes(place, count):
    """As a user who has no other process: the limit counts them all."""
    if not IS_ROOT:
        pytest.skip("other processes of this user would be limited too")
    os.chown(place.directory, LONELY, LONELY)
    place.prefix = ["setpriv", f"--reuid={LONELY}", f"--regid={LONELY}", "--clear-groups", "--",
                    "prlimit", f"--nproc={count}:{count}", "--"]


def test_no_more_processes(nobody):
    """`ulimit -u`: the fork fails; 125, one sentence, no file left."""
    if SANITIZED:
        pytest.skip("sanitizers start a thread")
    limit_processes(nobody, 1)
    status, _, err = nobody.call([nobody.toll, "run", "-o", "x.jsonl", "--", "true"])
    if status == 0:
        pytest.skip("the limit of processes does not bind this user")
    assert status == 125
    assert err.startswith(b"toll: ") and err.count(b"\n") == 1
    assert not nobody.path("x.jsonl").exists()


@not_sanitized  # the leak checker wants a thread at the end, and dies without
def test_command_that_cannot_fork_keeps_its_status(nobody):
    limit_processes(nobody, 3)
    result = nobody.run([nobody.helper("tree"), "5", "5", "10"])
    assert result.status in (0, 3)


def test_cpu_limit_of_the_command(place):
    """`ulimit -t 1` is the command's to meet: toll gets SIGXCPU of its own never, passes 128+N on."""
    status, _, _ = place.shell("ulimit -t 1; exec $TOLL run -q -- $HELPERS/burn 5000")
    assert status in (128 + 24, 128 + 9)


def test_long_arguments_and_names(place):
    """Arguments up to the kernel's limit, names with everything but a slash."""
    words = ["x" * 100_000, "", "new\nline", 'quo"te', "back\\slash", "\x01\x7f", "é", "\t"]
    result = place.run(["sh", "-c", 'printf "%s|" "$@"', "sh", *words])
    assert result.out == "".join(w + "|" for w in words).encode()
    assert result.summary["command"] == ["sh", "-c", 'printf "%s|" "$@"', "sh", *words]


def test_argument_that_is_not_utf8(here):
    """JSON has no bytes: whatever stands for it, the document is valid."""
    status, out, err = here.shell("exec $TOLL run --summary json --summary-to s.json -- "
                                  "printf '%s' \"$(printf '\\377\\376')\"")
    assert (status, out) == (0, b"\xff\xfe"), err
    json.loads(here.path("s.json").read_text())


def test_deep_tree(place):
    """A chain of 300 shells, each the only child of the one before."""
    place.path("deep").write_text(
        'if [ "$1" -gt 0 ]; then sh deep $(($1 - 1)); exit $?; fi; exit 11\n')
    result = place.run(["sh", "deep", "300"], ["-i", "10ms"])
    assert result.status == 11
    assert result.notes == []


def test_cpu_limit_is_named_as_it_was_set(here):
    """With SIGXCPU the kernel raises the soft limit by a second; the user's is the one that counts."""
    status, _, err = here.shell("ulimit -St 1; exec $TOLL run -o s.json -- $HELPERS/burn 9000")
    assert status == 128 + 24, err
    summary = json.loads(here.path("s.json").read_text())
    assert summary["limits"]["cpu_time_seconds"]["value"] == 1
    assert any("limit on CPU time of 1 s reached" in note for note in summary["notes"])


def test_calls_that_a_container_refuses(place):
    """Without set_robust_list nothing says when the command runs: toll must find out, and be there
    for its signals. Without kcmp memory that is shared is found by figures, and counters are read
    once: with many children that are waited for nothing is lost or counted twice."""
    def without(call):
        return [place.helper("deny"), call, str(errno.EPERM), place.toll]
    if place.call([*without("kcmp")[:-1], "true"])[0] == 77:
        pytest.skip("no filter of system calls can be set up here")
    status, out, err = place.call([*without("set_robust_list"), "run", "-o", "s.json", "-i",
                                   "20ms", "--", "sh", "-c", "sleep 0.5; echo done; exit 3"])
    assert (status, out) == (3, b"done\n"), err
    assert json.loads(place.path("s.json").read_text())["self"]["ticks"]["total"] > 5
    status, _, err = place.call([*without("set_robust_list"), "run", "--", "/not/there"])
    assert status == 127 and b"No such file" in err
    loop = f"(for i in $(seq 30); do {place.helper('burn')} 5; done; :) &"
    status, out, err = place.call(
        [*without("kcmp"), "run", "-o", "s.json", "-i", "20ms", "--", "bash", "-c",
         f"for k in $(seq 30); do (sleep 0.05; :) & done; {4 * loop} wait; times"])
    assert status == 0, err
    minutes = re.findall(rb"(\d+)m([\d.]+)s", out)
    truth = sum(60 * int(m) + float(s) for m, s in minutes)
    summary = json.loads(place.path("s.json").read_text())
    assert not [note for note in summary["notes"] if "wait for" in note]
    # bash rounds four times down to a millisecond, and ends after it has printed.
    assert truth - 0.004 <= summary["target"]["combined"]["cpu_seconds"]["total"] <= truth + 0.1
