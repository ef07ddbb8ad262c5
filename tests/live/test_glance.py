# SPDX-License-Identifier: MIT
"""The summary at a glance: short, as wide as the terminal, with the largest processes."""
import json
import re

import pytest
from terminal import Terminal

# Allocates, then prints what the kernel says of its own memory: the truth for its line.
HOG = """
import time
memory = bytearray(150 << 20)
time.sleep(0.3)
print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))
"""
PYTHON = "/usr/bin/python3"
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def summary_on_terminal(here, columns, environment, *options):
    """The lines of the summary of a job with many processes, a note and a failing exit code."""
    job = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do /bin/sleep 0.3 & done; wait; exit 3"
    with Terminal(["sh", "-c", f"stty cols {columns}; exec \"$0\" \"$@\"", here.toll, "run", *options,
                   "--label", "a=b", "--", "sh", "-c", job], environment, here.directory) as t:
        text = t.rest()
        assert t.status == 3
    return text.replace("\r", "").rstrip("\n").split("\n")


@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_fits_the_terminal(here, columns, locale):
    lines = summary_on_terminal(here, columns, {"LC_ALL": locale, "TERM": "dumb"})
    assert len(lines) <= 16 + (columns < 80), lines  # a narrow one may break the last sentences
    assert all(len(line) <= columns for line in lines), lines
    assert re.match(r"toll: sh -c .* exit 3 in \S+ m?s$", lines[0]), lines
    assert lines[1] == "  Labels     a=b"
    assert lines[2].startswith("  CPU  ") and lines[3].startswith("  Memory  ")
    # On a busy machine too few of the processes may have been sampled to group them.
    heading = r"  (Programs by CPU time|Largest processes) +peak RSS +CPU$"
    assert any(re.match(heading, line) for line in lines), lines
    text = "\n".join(lines)
    assert text.isascii() == (locale == "C"), text


@pytest.mark.parametrize("environment, options, colored", [
    ({"TERM": "xterm"}, [], True),
    ({"TERM": "xterm"}, ["--color", "never"], False),
    ({"TERM": "dumb"}, [], False),
    ({"TERM": "dumb"}, ["--color", "always"], True),
    ({"TERM": "xterm", "NO_COLOR": "1"}, [], False),
    ({"TERM": "xterm", "NO_COLOR": "1"}, ["--color=always"], True),
    ({"TERM": "dumb", "CLICOLOR_FORCE": "1"}, [], True),
])
def test_color(here, environment, options, colored):
    lines = summary_on_terminal(here, 80, {"LC_ALL": "C.UTF-8", **environment}, *options)
    assert bool(ESCAPE.search("\n".join(lines))) == colored
    plain = [ESCAPE.sub("", line) for line in lines]
    assert all(len(line) <= 80 for line in plain), plain


def test_largest_process(here):
    """With its command line, in which a secret is masked; its peak is what the kernel told itself."""
    status, out, err = here.call(
        [here.toll, "run", "-o", "run.json", "-o", "run.jsonl", "--", "sh", "-c",
         '"$0" -c "$1" --password hunter2; sleep 0.2', PYTHON, HOG], cwd=here.directory)
    assert status == 0, err
    truth = int(out) * 1024
    summary = json.loads(here.path("run.json").read_text())
    largest = summary["largest_processes"][0]
    assert largest["name"].startswith("python3") and largest["command"].startswith(PYTHON + " -c")
    assert 150 << 20 <= largest["peak_rss_bytes"] <= truth
    assert largest["command"].endswith("--password ***"), largest
    assert summary["processes_seen"] >= 2
    line = next(line for line in err.decode().splitlines() if "python3 -c" in line)
    assert re.search(r"(≥ |>=)?1[5-9]\d MiB", line), line
    for text in (err, here.path("run.json").read_bytes(), here.path("run.jsonl").read_bytes()):
        assert b"hunter2" not in text
    # A record says the same.
    status, again, err = here.call([here.toll, "export", "-f", "json", "run.jsonl"], cwd=here.directory)
    assert (status, err) == (0, b"")
    assert json.loads(again)["largest_processes"] == summary["largest_processes"]


def test_largest_by_memory_among_many(here):
    """What waits has little CPU time: with many processes its program has a line all the same."""
    for name in ("alpha", "beta", "gamma"):
        (here.directory / name).symlink_to(PYTHON)
    (here.directory / "large").symlink_to(PYTHON)
    burn = "import time\nwhile time.process_time() < 0.2: pass"
    job = (f"./large -S -c \"$1\" & for i in 1 2 3 4; do for p in alpha beta gamma; do ./$p -S -c '{burn}' & done; done; "
           "wait; /bin/true; /bin/true")
    hold = "import time\nmemory = bytearray(b'x') * (150 << 20)\ntime.sleep(1)"
    status, _, err = here.call([here.toll, "run", "--", "sh", "-c", job, "sh", hold],
                               cwd=here.directory)
    err = err.decode()
    lines = err.split("\n")
    assert status == 0 and len(lines) <= 17, err
    start = next(i for i, line in enumerate(lines) if line.startswith("  Programs by CPU time"))
    table = lines[start + 1:start + 4]
    assert [line.split()[0] for line in table][2] == "large", err
    assert "large (most memory)" in table[2] and re.search(r"1[45]\d MiB", table[2]), err
    assert not any("(most memory)" in line for line in table[:2])


def test_no_memory_that_is_obviously_wrong(here):
    """A program of a few milliseconds is sampled before it has its memory, if at all."""
    for _ in range(5):
        status, _, err = here.call([here.toll, "run", "--", "true"])
        memory = re.search(rb"^  Memory +(.*)$", err, re.MULTILINE)[1].decode()
        elapsed = re.search(rb"exit 0 in ([\d.]+) ms", err)
        assert status == 0
        if elapsed and float(elapsed[1]) < 49:
            assert re.match(r"unknown \(too short to be sampled\)|(≥ |>=)?[\d.]+ MiB at peak", memory), memory


def test_short_runs_do_not_claim_to_be_sampled(here):
    """Nor is a peak that was not read 0."""
    for _ in range(5):
        status, _, err = here.call([here.toll, "run", "-q", "-o", "run.json", "--", "true"],
                                   cwd=here.directory)
        assert (status, err) == (0, b"")
        summary = json.loads(here.path("run.json").read_text())
        if summary["wall_seconds"] < 0.05:
            quality = summary["target"]["combined"]["memory_rss_bytes"]["quality"]
            assert quality in ("unknown", "lower bound"), quality
        assert all(program["peak_rss_bytes"] != 0 for program in summary["programs"]), summary


def test_limit_that_was_hit_comes_first(here):
    """Before all figures: it explains them."""
    status, _, err = here.call(["bash", "-c", 'ulimit -S -f 8; exec "$0" "$@"', here.toll, "run", "--",
                                "dd", "if=/dev/zero", "of=file", "bs=4096", "count=100"],
                               cwd=here.directory)
    assert status != 0
    lines = [line for line in err.decode().splitlines() if line.startswith(("toll:", "  "))]
    first = next(i for i, line in enumerate(lines) if line.startswith("toll: dd"))
    assert lines[first + 1].startswith("  Limit hit  limit on file size (ulimit -f) of 8.00 KiB"), lines



SECRET_CHILD = 'exec "$0" -S -c "import time; kept = bytearray(20 << 20); time.sleep(0.4)" --password hunter2'


def test_commands_are_those_after_exec_and_masked(here):
    """Of a child that replaced itself, with a secret among its arguments, and of the command itself, which
    became another program: in the record, in JSON and in SQLite."""
    status, _, err = here.call(
        [here.toll, "run", "-o", "run.json", "-o", "run.jsonl", "-o", "run.sqlite", "--", "sh", "-c",
         'sh -c "$1" "$0" & exec "$0" -S -c "import time; kept = bytearray(40 << 20); time.sleep(0.6)"',
         PYTHON, SECRET_CHILD], cwd=here.directory)
    assert status == 0, err
    summary = json.loads(here.path("run.json").read_text())
    main, child = summary["largest_processes"][:2]
    assert main["pid"] == summary["pid"] and "40 << 20" in main["command"]
    for process in (main, child):
        assert process["name"].startswith("python3") and process["command"].startswith(f"{PYTHON} -S -c ")
    assert child["command"].endswith(" --password ***"), child
    for name in ("run.jsonl", "run.sqlite"):
        status, again, err = here.call([here.toll, "export", "-f", "json", name], cwd=here.directory)
        assert status == 0, err
        assert json.loads(again)["largest_processes"] == summary["largest_processes"], name
    for path in map(here.path, ("run.json", "run.jsonl", "run.sqlite")):
        assert b"hunter2" not in path.read_bytes(), path


def test_a_small_command_that_became_another(here):
    """It used too little for its command line to be read: it is not shown as what it was."""
    status, _, err = here.call([here.toll, "run", "--", "sh", "-c", "sleep 0.3 & exec sleep 0.4"])
    assert status == 0, err
    table = err.decode().partition("Largest processes")[2]
    assert "sleep" in table and "sh -c" not in table, err


def test_secrets_in_scripts_within_scripts(here):
    script = 'true; sh -c "exec true -c \\"a b\\" --password hunter2; true"; exec true'
    status, _, err = here.call([here.toll, "run", "-o", "run.json", "--", "sh", "-c", script], cwd=here.directory)
    assert status == 0, err
    assert "--password ***" in json.loads(here.path("run.json").read_text())["command"][2]
    assert b"hunter2" not in here.path("run.json").read_bytes() + err
