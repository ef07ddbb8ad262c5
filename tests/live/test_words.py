# SPDX-License-Identifier: MIT
"""Words from outside: command lines, names, labels, marks, file names. Secrets among them are in no
output, and control characters reach no terminal."""
import json
import os
import pathlib
import re
import signal
import sqlite3
import subprocess

import pytest
from livelib import GUARD, until

SECRET = "hunter2-not-for-you"
SECRETS = ["--password", SECRET, f"--token={SECRET}", f"DB_PASSWORD={SECRET}",
           f"https://me:{SECRET}@example.org/", f"Authorization: Bearer {SECRET}"]
# ESC, CSI in both forms, DEL, overrides and isolates of writing direction, marks, a lone byte.
CONTROLS = ["\x1b[31m", "\x9b31m", "\x7f", "\u202e", "\u2066", "\u200f", "\u061c", "\x85"]
LONE = b"\x9b2J"
HARMFUL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def script(secret):
    return f"FOO_TOKEN={secret}; mysql() {{ :; }}; mysql -p{secret}; : --api-key '{secret}'"


def everything_in(directory):
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}


def check_hidden(place, *streams):
    for name, data in [*everything_in(place.directory).items(), *enumerate(streams)]:
        assert SECRET.encode() not in data, (name, data)


def test_no_output_has_a_secret(here):
    outputs = ["run.csv", "run.jsonl", "run.json", "run.txt", "run.sqlite", "run.om"]
    arguments = [word for name in outputs for word in ("-o", name)]
    command = ["sh", "-c", script(SECRET) + '; "$0" mark event "token=$FOO_TOKEN" "password=$FOO_TOKEN"',
               here.toll, *SECRETS]
    status, out, err = here.call(
        [here.toll, "run", "--name", f"n https://u:{SECRET}@h", "--label", f"db_password={SECRET}",
         *arguments, "--", *command])
    assert status == 0, err
    check_hidden(here, out, err)
    (run,) = [json.loads(line) for line in here.path("run.jsonl").read_text().splitlines()
              if '"type":"run"' in line]
    assert run["command"][0] == "sh" and "--password" in run["command"]
    assert run["labels"] == {"db_password": "***"}
    for record in ("run.jsonl", "run.sqlite"):
        assert SECRET.encode() not in here.call([here.toll, "list", record])[1]


def test_the_command_itself_gets_its_words(here):
    status, out, _ = here.call([here.toll, "run", "-q", "--", "printf", "%s\n", *SECRETS])
    assert status == 0 and out.decode().splitlines() == SECRETS


def test_secrets_are_shown_when_asked_for(here):
    here.call([here.toll, "run", "-q", "--show-secrets", "-o", "run.jsonl", "--", "true", *SECRETS])
    assert json.loads(here.path("run.jsonl").read_text().splitlines()[0])["command"] == [
        "true", *SECRETS]
    status, out, err = here.call([here.toll, "export", "run.jsonl", "-f", "jsonl"])
    assert status == 0 and SECRET.encode() not in out + err
    status, out, err = here.call([here.toll, "export", "--show-secrets", "run.jsonl", "-f", "jsonl"])
    assert status == 0 and SECRET.encode() in out
    assert SECRET.encode() not in here.call([here.toll, "list", "run.jsonl"])[1]


def test_no_arguments(here):
    status, _, err = here.call([here.toll, "run", "--no-args", "-o", "run.jsonl", "-o", "run.sqlite",
                                "--", "true", "plain-argument"])
    assert status == 0 and b"plain-argument" not in err
    assert json.loads(here.path("run.jsonl").read_text().splitlines()[0])["command"] == ["true"]
    for name, data in everything_in(here.directory).items():
        assert b"plain-argument" not in data, name
    here.call([here.toll, "run", "-q", "-o", "all.jsonl", "--", "true", "plain-argument"])
    _, out, _ = here.call([here.toll, "export", "--no-args", "all.jsonl", "-f", "jsonl"])
    assert b"plain-argument" not in out and b'"command":["true"]' in out


def test_a_match_sees_what_is_masked(here):
    with here.popen(["sh", "-c", "sleep 600; :", "x", f"--password={SECRET}"],
                    start_new_session=True) as job:
        until(lambda: SECRET in pathlib.Path(f"/proc/{job.pid}/cmdline").read_text(), "the job")
        try:
            status, out, err = here.call([here.toll, "attach", "-i", "10ms", "--for", "100ms",
                                          "--match", f"--password={SECRET}", "-o", "run.jsonl"])
        finally:
            os.killpg(job.pid, signal.SIGKILL)
    assert status == 0, err
    (run, *_) = here.path("run.jsonl").read_text().splitlines()
    assert json.loads(run)["attached_to"] and SECRET not in run
    check_hidden(here, out, err)


@pytest.mark.parametrize("words", [
    ["run", "--label", f"a=b", "-o", f"mlflow:ftp://u:{SECRET}@h/x", "true"],
    ["run", "-o", f"prometheus:http://u:{SECRET}@127.0.0.1:99999/", "true"],
    ["run", "--gpus", f"https://u:{SECRET}@h", "true"],
    [f"https://u:{SECRET}@h"],
    ["list", f"https://u:{SECRET}@h"],
    ["run", f"--nothing=https://u:{SECRET}@h", "true"],
    ["run", "--", f"/nowhere/https://u:{SECRET}@h"],
])
def test_no_error_has_a_secret(here, words):
    status, out, err = here.call([here.toll, *words])
    assert status in (125, 127) and err and SECRET.encode() not in out + err, err


def harmless(data):
    """Readable, and nothing in it does anything to a terminal."""
    text = data.decode()  # UTF-8 throughout
    assert not HARMFUL.search(text.replace("\n", "")), repr(text)
    return text


def make_wild_program(place):
    """A process whose name, of which 15 bytes are kept, does all of it."""
    program = os.fsencode(place.directory) + b"/" + b"w\x1b[1m\x9b\xe2\x80\xae\xc2\x9b"
    os.symlink("/bin/sleep", program)
    return program


def test_no_control_character_reaches_a_terminal(here):
    program = make_wild_program(here)
    wild = "".join(CONTROLS)
    # It ends after the program was executed: before, the process left is a shell.
    shell = (b"(\"$0\" 600 > /dev/null 2>&1 & echo $! > pid; name=sh; "
             b"while [ \"$name\" = sh ]; do read -r name < /proc/$!/comm; done)")
    words = [os.fsencode(here.toll), b"run", b"--processes", b"all",
             b"--name", wild.encode() + LONE, b"--label", b"k=" + wild.encode() + LONE,
             b"-o", b"run.jsonl", b"-o", b"run.txt", b"-o", b"run.sqlite",
             b"-o", b"out-" + wild.encode() + b".csv",
             b"--", b"sh", b"-c", shell, program, wild.encode() + LONE]
    # Bytes as words: Place.call makes text of them.
    done = subprocess.run(words, cwd=here.directory, stdin=subprocess.DEVNULL, capture_output=True,
                          check=False, timeout=GUARD)
    os.kill(int(here.path("pid").read_text()), signal.SIGKILL)
    assert done.returncode == 0
    text = harmless(done.stderr)
    assert "1 process left: " in text and "w?[1m" in text
    harmless(here.path("run.txt").read_bytes())
    for record in ("run.jsonl", "run.sqlite"):
        harmless(here.call([here.toll, "list", record])[1])
        harmless(here.call([here.toll, "export", "-f", "text", record])[1])
        _, out, _ = here.call([here.toll, "list", "--json", record])
        assert not HARMFUL.search(out.decode().replace("\n", "")) and json.loads(out)


def test_lines_of_a_terminal(here):
    """Live lines have the names of targets, padded by what a terminal shows."""
    name = "\u202e日本\x9b"
    with here.popen(["sleep", "600"]) as a, here.popen(["sleep", "600"]) as b:
        try:
            status, out, err = here.call([here.toll, "attach", "-i", "10ms", "--for", "500ms",
                                          f"{name}={a.pid}", f"b={b.pid}"])
        finally:
            a.kill()
            b.kill()
    assert status == 0, err
    lines = harmless(out).splitlines()
    harmless(err)
    (wide, *_) = [line for line in lines if "日本" in line]
    (plain, *_) = [line for line in lines if " b " in line]
    assert "?日本?" in wide
    # Two letters are two columns wide each: as many characters fewer.
    assert len(wide) + 2 == len(plain)


@pytest.mark.parametrize("words", [
    ["run", "--interval", "x{}", "true"], ["run", "--x{}", "true"], ["x{}"], ["list", "x{}"],
    ["export", "x{}"], ["attach", "x{}"], ["doctor", "x{}"], ["run", "x{}"], ["mark", "x{}"],
    ["run", "--config", "x{}", "true"], ["run", "-o", "/nowhere/x{}.csv", "true"],
    ["sub-tracking", "analyze", "x{}"], ["sub-tracking", "x{}"], ["resend", "x{}"], ["outputs", "x{}"],
    ["layouts", "x{}"], ["help", "x{}"], ["run", "-f", "x{}", "true"],
])
def test_errors_quote_harmlessly(here, words):
    for control in CONTROLS:
        status, out, err = here.call([here.toll, *(w.format(control) for w in words)])
        assert status and harmless(err), err
        harmless(out)


def test_a_record_from_elsewhere(here):
    """What others have written into a record is for a terminal, too."""
    here.call([here.toll, "run", "-q", "--label", "a=LABEL", "--name", "NAME", "-o", "run.jsonl", "--",
               "sh", "-c", ":", "WORD"])
    text = here.path("run.jsonl").read_text()
    wild = json.dumps("".join(c for c in CONTROLS if c not in "\x9b31m\x85"))[1:-1] + "\xc2\x9b"[1:]
    text = text.replace("NAME", "n" + wild).replace("LABEL", "l" + wild).replace("WORD", "w" + wild)
    text = text.replace('"notes":[]', '"notes":["note ' + wild + '"]')
    here.path("wild.jsonl").write_text(text)
    status, out, err = here.call([here.toll, "export", "-f", "text", "wild.jsonl"])
    assert status == 0 and "n?[31m" in harmless(out), err
    assert "note ?[31m" in harmless(out)
    assert "n?[31m" in harmless(here.call([here.toll, "list", "wild.jsonl"])[1])


def test_code_blocks_of_a_file(here):
    """toll sub-tracking prints names that stand in a file."""
    wild = "b\x1b[1m\u202e\x9b"
    here.call([here.toll, "run", "-q", "-o", "run.jsonl", "--", "sh", "-c",
               f"{here.toll} mark phase begin load; {here.toll} mark phase end load"])
    path = here.path("run.jsonl")
    escaped = json.dumps("b\u202e")[1:-1]
    path.write_text(path.read_text().replace('"load"', f'"{escaped}"'))
    status, out, err = here.call([here.toll, "sub-tracking", "analyze", "run.jsonl"])
    assert status == 0, err
    assert "b?" in harmless(out.replace(b"\t", b" ")), wild


def test_sqlite_has_no_secret_in_any_table(here):
    here.call([here.toll, "run", "-q", "-o", "run.sqlite", "--", "true", *SECRETS])
    with sqlite3.connect(here.path("run.sqlite")) as base:
        assert SECRET not in "\n".join(base.iterdump())
