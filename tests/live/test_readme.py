# SPDX-License-Identifier: MIT
"""A reader who has only README.md: each question of its table is answered by the command beside it."""
import json
import re
import subprocess
import time

import fixturelib
import hostlib
import pytest
from livelib import GUARD

TEXT = (hostlib.TOP / "README.md").read_text(encoding="utf-8")
TABLE = re.search(r"^\| question \| command \|\n\|---\|---\|\n(.*?)\n\n", TEXT, re.DOTALL | re.MULTILINE)[1]
COMMANDS = {question.strip(): re.findall(r"`([^`]+)`", answer)
            for question, answer in re.findall(r"^\| ([^|]+)\| ([^|]+)\|$", TABLE, re.MULTILINE)}
MESH = 96 << 20  # bytes that ./solver holds at its peak, in its child mesh


@pytest.fixture
def desk(programs):
    """A function that runs a command line in a directory with the jobs and gives its streams."""
    with hostlib.shared_place("toll-readme-") as place:
        directory = place / "jobs"
        fixturelib.write_jobs(directory)
        (directory / "runs").mkdir()

        def run(command, status=0):
            done = subprocess.run(
                ["sh", "-c", command], cwd=directory, capture_output=True, text=True, check=False,
                env={"PATH": f"{programs[0].parent}:/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
                stdin=subprocess.DEVNULL, timeout=GUARD)
            assert done.returncode == status, done.stderr
            return done

        run.directory = directory
        yield run


def command(question, number=0):
    """What the table has beside the question."""
    (found,) = [commands for asked, commands in COMMANDS.items() if asked.startswith(question)]
    return found[number]


def solving(summary):
    """The command of a table row, with a job whose figures are known in place of the build."""
    assert summary.endswith("-- make"), summary
    return summary.removesuffix("make") + "./solver"


def test_the_table_has_the_questions():
    assert len(COMMANDS) >= 5
    for answer in COMMANDS.values():
        assert answer, "a command for each"


def test_what_did_my_build_use(desk):
    hostlib.skip_without("cc", "make")
    said = desk(command("What did my build use")).stderr
    assert re.search(r"^toll: make .* exit 0 in ", said, re.MULTILINE)
    for figure in ("CPU", "Memory", "Disk", "Processes"):
        assert re.search(rf"^  {figure} .*\d", said, re.MULTILINE), figure


def test_which_process_was_the_largest(desk):
    row = TABLE.splitlines()[1]
    (heading,) = re.findall(r"`(Largest [^`]+)`", row)
    said = desk(solving(command("What did my build use"))).stderr
    first = said[said.index(heading):].splitlines()[1]
    assert re.match(r" +\d+ .*mesh +(≥ )?\d+ MiB", first), first


def test_how_much_memory_to_request(desk):
    said = desk(solving(command("What did my build use"))).stderr
    peak = float(re.search(r"^  Memory +(?:≥ )?([\d.]+) MiB at peak", said, re.MULTILINE)[1])
    assert MESH <= peak * (1 << 20) <= MESH + (32 << 20)
    desk("toll run -q -o runs/1.jsonl -- ./solver; toll run -q -o runs/2.jsonl -- ./solver")
    advice = desk(command("How much memory")).stdout
    asked = float(re.match(r"Ask for .*? ([\d.]+) MiB of memory", advice)[1])
    assert 1.5 * MESH <= asked * (1 << 20) <= 2.5 * MESH + (64 << 20), advice


def test_did_it_hit_a_limit(desk):
    (words,) = [answer for question, answer in COMMANDS.items() if question.startswith("Did it hit")]
    run = command("What did my build use").replace("make", "head -c 1000000 /dev/zero >zeros")
    said = desk(f"ulimit -f 8; {run}", status=128 + 25).stderr.splitlines()  # SIGXFSZ
    place = [number for number, line in enumerate(said) if line.startswith("toll: head")][0]
    assert said[place + 1].split("  ")[1] == words[0] == "Limit hit"
    assert "file size" in said[place + 1]
    said = desk(solving(command("What did my build use"))).stderr
    assert words[0] not in said


def test_where_is_the_run_of_last_week(desk):
    asked = command("Where is last week")
    label = re.search(r"--label (\S+)", asked)[1]
    days = {"today": 0, "week": 6, "older": 20}
    for name, age in days.items():
        desk(f"toll run -q -o runs/{name}.jsonl --label {label} -- true")
        path = desk.directory / f"runs/{name}.jsonl"
        start = time.time() - age * 86400
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for line in lines:
            if "start" in line:
                line["start"] = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(start))
            if line["type"] == "run":
                line["unix_seconds"] = start
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    desk("toll run -q -o runs/other.jsonl --label model=other -- true")
    listed = desk(asked).stdout.splitlines()
    assert [line.split()[-1] for line in listed[1:]] == ["today.jsonl", "week.jsonl"]


def test_machine_and_doctor(desk):
    shown = desk(command("What is the machine doing") + " --for 100ms -i 50ms").stdout
    assert len(shown.splitlines()) >= 2
    assert desk(command("What can be measured here")).stdout
