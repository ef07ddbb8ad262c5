# SPDX-License-Identifier: MIT
"""toll doctor on written machines, byte for byte; `make golden-update` writes what is expected."""

import contextlib
import json
import os
import pathlib
import pty
import re
import shutil
import subprocess

import fixturelib
import hostlib
import packed
import pytest

import recorded

jsonschema = hostlib.module("jsonschema")

EXPECTED = pathlib.Path(__file__).parent / "expected/doctor.txt"
MACHINES_AT = fixturelib.machines()
MACHINES = sorted(path.name for path in MACHINES_AT.iterdir())
SCHEMA = json.loads((recorded.TOP / "docs/schema/doctor.schema.json").read_text())


def doctor(*words):
    done = subprocess.run(
        [recorded.TOLL, "doctor", *words],
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
        capture_output=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def checks(machine, *words):
    status, out, err = doctor("--root", MACHINES_AT / machine, "--json", *words)
    assert (status, err) == (0, "")
    return {check["name"]: check for check in json.loads(out)["checks"]}


@pytest.mark.parametrize("machine", MACHINES)
def test_as_expected(machine, request):
    status, problems, err = doctor("--root", MACHINES_AT / machine)
    assert (status, err) == (0, "")
    status, out, err = doctor("--root", MACHINES_AT / machine, "-v")
    assert (status, err) == (0, "") and out.splitlines()[0] == problems.splitlines()[0]
    out = problems + "\n" + out
    # The output types are those of the build, which no machine decides.
    out = re.sub(r"(?m)^\S+ +outputs .*\n( .*\n)*", "", out)
    if request.config.getoption("--update"):
        packed.write(EXPECTED, packed.read(EXPECTED) | {machine: out.encode()})
    assert out == packed.read(EXPECTED)[machine].decode()


@pytest.mark.parametrize("machine", MACHINES)
def test_lines_fit_a_terminal(machine):
    for words in ([], ["-v"]):
        _, out, _ = doctor("--root", MACHINES_AT / machine, *words)
        assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize("machine", MACHINES)
def test_json_follows_its_schema(machine):
    _, out, _ = doctor("--root", MACHINES_AT / machine, "--json")
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(out))


@pytest.mark.parametrize("machine", MACHINES)
def test_text_and_json_agree(machine):
    """Every check has its line, with its mark; and what would help stands below."""
    words = {"ok": "ok", "partly": "partly", "missing": "no", "unknown": "?"}
    _, out, _ = doctor("--root", MACHINES_AT / machine, "-v")
    shown = [tuple(line.split()[:2]) for line in out.splitlines()[1:] if not line.startswith(" ")]
    found = checks(machine)
    assert shown == [(words[check["state"]], name) for name, check in found.items()]
    joined = " ".join(out.replace("\\\n", " ").split())
    for check in found.values():
        assert not check["remedy"] or f"→ {check['remedy']}" in joined


@pytest.mark.parametrize("machine", MACHINES)
def test_strict_tells_what_is_not_ok(machine):
    found = checks(machine)
    wanted = [check for check in found.values() if check["essential"]]
    status, _, err = doctor("--root", MACHINES_AT / machine, "--strict")
    assert err == ""
    assert status == (0 if all(check["state"] == "ok" for check in wanted) else 1)
    for name, check in found.items():
        status, out, _ = doctor("--root", MACHINES_AT / machine, "--strict", name)
        assert status == (0 if check["state"] == "ok" else 1)
        assert out.splitlines()[1].split()[1] == name


@pytest.mark.parametrize("machine", MACHINES)
def test_problems_only(machine):
    """The verdict comes first; each problem is named once, and no fix is repeated."""
    found = checks(machine)
    problems = [check for check in found.values() if check["state"] != "ok"]
    _, out, _ = doctor("--root", MACHINES_AT / machine)
    verdict, *lines = out.splitlines()
    assert lines.pop() == "'toll doctor -v' lists all checks."
    if not problems:
        assert verdict == "All checks passed." and not lines
        return
    where = "only in part here" if any(check["essential"] for check in problems) else "here"
    assert verdict == (f"toll can measure jobs {where}. {len(problems)} of {len(found)} checks found "
                       "a limitation:")
    heads = []
    for line in lines:
        if not line.startswith("    "):
            heads.append(line.strip())
        elif "→" not in line and not heads[-1].count(": "):
            heads[-1] += " " + line.strip()
    heads = [head.split(": ")[0] for head in heads]
    for check in found.values():
        named = [head for head in heads if re.search(rf"(^|, ){re.escape(check['title'])}(, |$)", head)]
        assert len(named) == (check in problems), check
    fixes = [line.strip() for line in lines if line.startswith("    → ")]
    assert len(fixes) == len(set(fixes)) <= len(problems)


def test_one_fix_for_what_needs_root(tmp_path):
    """Two checks that root would pass have one fix; each has its own with -v."""
    root = tmp_path / "machine"
    shutil.copytree(MACHINES_AT / "desktop", root, symlinks=True)
    setting = root / "proc/sys/kernel/perf_event_paranoid"
    setting.chmod(0o644)
    setting.write_text("4\n")
    _, out, _ = doctor("--root", root)
    lines = out.splitlines()
    first = lines.index("  Exact process counts: perf_event_paranoid is 4")
    assert lines[first + 1:first + 3] == ["  Other users' processes: no I/O, PSS, network",
                                          "    → as root: sudo toll …"]
    _, out, _ = doctor("--root", root, "-v")
    assert "→ sysctl kernel.perf_event_paranoid=2" in out and "→ sudo toll attach …" in out


@pytest.mark.parametrize("variable, colours", [({}, True), ({"NO_COLOR": "1"}, False),
                                               ({"TERM": "dumb"}, False)])
def test_colours_on_a_terminal(variable, colours):
    """Only what has a problem is coloured; without the colours it is the same text."""
    root = ["--root", str(MACHINES_AT / "hidepid")]
    ours, theirs = pty.openpty()
    env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TERM": "xterm"} | variable
    text = b""
    with subprocess.Popen([recorded.TOLL, "doctor", *root], env=env, stdout=theirs) as toll:
        os.close(theirs)
        with contextlib.suppress(OSError):  # how a terminal says that nobody has it any more
            while piece := os.read(ours, 4096):
                text += piece
        assert toll.wait() == 0
    os.close(ours)
    shown = text.decode().replace("\r\n", "\n")
    assert ("\033[31mTemperature\033[0m:" in shown) == colours
    assert re.sub(r"\033\[\d+m", "", shown) == doctor(*root)[1]


def test_order_of_words_does_not_matter():
    root = ["--root", MACHINES_AT / "desktop"]
    first = doctor(*root, "--json", "io", "cpu")
    assert first == doctor("cpu", "--json", "io", *root)
    assert [check["name"] for check in json.loads(first[1])["checks"]] == ["cpu", "io"]


@pytest.mark.parametrize("words", [["cpus"], ["cpu", ""], ["--json", "CPU"], ["cpu\033[31m"]])
def test_unknown_name(words):
    status, out, err = doctor(*words)
    assert (status, out) == (125, "")
    assert err.startswith("toll: doctor: unknown check '") and err.count("\n") == 1
    assert ("did you mean 'cpu'?" in err) == (words[-1] in ("cpus", "CPU"))
    assert "did you mean" in err or "cpu, memory, pss" in err
    assert "\033" not in err


@pytest.mark.parametrize("words", [["--jsno"], ["-x", "cpu"], ["--root"], ["cpu", "--strict=x"]])
def test_unknown_option(words):
    status, out, err = doctor(*words)
    assert (status, out, err.count("\n")) == (125, "", 1)
    assert "toll help doctor" in err or "did you mean" in err or "did you mean '--json'" in err or "--root: value missing" in err or "expected yes or no" in err


def test_help_lists_every_check():
    done = subprocess.run([recorded.TOLL, "help", "doctor"], capture_output=True, text=True,
                          check=True)
    found = checks("desktop")
    listed = [line.split() for line in done.stdout.partition("\nChecks\n")[2].partition("\n\n")[0].splitlines()]
    assert [words[1] if words[0] == "*" else words[0] for words in listed] == list(found)
    assert [words[0] == "*" for words in listed] == [c["essential"] for c in found.values()]
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert done.stdout == doctor("--help")[1]


def test_no_machine(tmp_path):
    status, out, err = doctor("--root", tmp_path)
    assert (status, out, err.count("\n")) == (125, "", 1)
    assert f"{tmp_path}/proc" in err


def test_nothing_but_an_empty_proc(tmp_path):
    (tmp_path / "proc").mkdir()
    status, out, err = doctor("--root", tmp_path, "--strict", "--json")
    assert (status, err) == (1, "")
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(out))


def test_files_that_are_no_files(tmp_path):
    """Directories where files are expected, and garbage in files, are said, not stumbled over."""
    for name in ("self/status", "stat", "self/mountinfo", "self/cgroup", "diskstats"):
        (tmp_path / "proc" / name).mkdir(parents=True)
    for name in ("self/stat", "self/io", "self/limits", "meminfo", "loadavg", "net/dev"):
        file = tmp_path / "proc" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"\xff\x00 garbage \n" * 9)
    status, out, err = doctor("--root", tmp_path, "--json")
    assert (status, err) == (0, "")
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(out))


def test_output_that_cannot_be_written():
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [recorded.TOLL, "doctor"], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, done.stderr) == (125, b"toll: cannot write to stdout: No space left on device\n")


@pytest.mark.parametrize("words", [["--version"], ["--help"], ["help", "run"], ["doctor"], ["list", "RECORD"],
                                   ["report", "RECORD"], ["export", "RECORD"],
                                   ["export", "RECORD", "-o", "json:-"], ["completion", "bash"]],
                         ids=" ".join)
def test_stdout_that_is_closed(tmp_path, words):
    done = recorded.replay(recorded.fixture_of("marks"), "-q", "-o", tmp_path / "live.jsonl")
    assert done.returncode in (0, 3, 7), done.stderr
    words = [str(tmp_path / "live.jsonl") if word == "RECORD" else word for word in words]
    done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", recorded.TOLL, *words], stdin=subprocess.DEVNULL,
                          capture_output=True, check=False)
    prefix = b"export: " if words[0] == "export" else b""
    assert (done.returncode, done.stderr) == (
        125, b"toll: " + prefix + b"cannot write to stdout: Bad file descriptor\n")
