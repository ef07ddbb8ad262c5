# SPDX-License-Identifier: MIT
"""The action of GitHub and the template of GitLab: their shell steps run as the runner of each would."""
import json
import os
import pathlib
import re
import shutil
import subprocess

import hostlib
import pytest
from hostlib import needs
from livelib import GUARD

yaml = hostlib.module("yaml")

TOP = hostlib.TOP
ACTION = yaml.safe_load((TOP / "integrations/github/action.yml").read_text(encoding="utf-8"))
GITLAB = yaml.safe_load((TOP / "integrations/gitlab/toll.yml").read_text(encoding="utf-8"))[".toll"]
BUILD, MEASURE, KEEP = ACTION["runs"]["steps"]
# Memory, held long enough to be sampled.
HOLD = "/usr/bin/python3 -c 'import time; x = b\"x\" * ({} << 20); time.sleep(0.1)'"
# Each would leave a file of its own where a shell or a template evaluated it.
HOSTILE = """a  "b" '$(touch injected-1)' `touch injected-2`; touch injected-3; ${{ touch }} \\ %j %% $HOME *"""


class Github:
    """A checkout, the files of a runner, and `uses:` with inputs."""

    def __init__(self, directory, toll):
        self.directory = directory
        self.work = directory / "work"
        self.work.mkdir()
        (directory / "bin").mkdir()
        (directory / "bin/toll").symlink_to(toll)
        self.path = f"{directory}/bin:{os.environ['PATH']}"
        for name in ("output", "path", "summary"):
            (directory / name).touch()

    def value(self, text, inputs):
        """Expressions of values, as the runner evaluates them."""
        return re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: inputs[found[1]], text)

    def step(self, step, inputs, **variables):
        script = self.directory / "step.sh"
        script.write_text(step["run"], encoding="utf-8")
        environment = {"PATH": self.path, "HOME": str(self.directory), "GITHUB_JOB": "build",
                       "LC_ALL": "C.UTF-8", "XDG_STATE_HOME": os.environ["XDG_STATE_HOME"],
                       **{f"GITHUB_{name.upper() if name != 'summary' else 'STEP_SUMMARY'}":
                          str(self.directory / name) for name in ("output", "path", "summary")},
                       **{name: self.value(text, inputs) for name, text in step.get("env", {}).items()},
                       **variables}
        place = self.value(step.get("working-directory", "."), inputs)
        return subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", script],
                              cwd=self.work / place, env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=GUARD, check=False)

    def measure(self, **inputs):
        """Exit status, outputs, standard error."""
        (self.directory / "output").write_text("")
        given = {name.replace("_", "-"): value for name, value in inputs.items()}
        assert set(given) <= set(ACTION["inputs"])
        defaults = {name: one.get("default", "") for name, one in ACTION["inputs"].items()}
        assert defaults["name"] == "${{ github.job }}"
        done = self.step(MEASURE, {**defaults, "name": "build", **given})
        lines = (self.directory / "output").read_text().splitlines()
        return done.returncode, dict(line.split("=", 1) for line in lines), done


@pytest.fixture
def github(programs):
    with hostlib.shared_place("toll-github-") as place:
        yield Github(place, programs[0])


def records_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def none_was_evaluated(directory):
    assert [path for path in directory.rglob("*") if path.name.startswith("injected")] == []


# ---- GitHub --------------------------------------------------------------------------------------


def test_the_action_is_well_formed():
    assert ACTION["runs"]["using"] == "composite"
    for step in (BUILD, MEASURE):
        assert step["shell"] == "bash" and "${{" not in step["run"], "inputs are variables, not text of a script"
    assert set(re.findall(r"INPUT_\w+", MEASURE["run"])) == set(MEASURE["env"])
    named = set(re.findall(r"inputs\.([\w-]+)", str(ACTION["runs"])))
    assert named == set(ACTION["inputs"])
    written = set(re.findall(r'echo "([\w-]+)=', MEASURE["run"]))
    assert written == {re.search(r"outputs\.([\w-]+)", one["value"])[1] for one in ACTION["outputs"].values()}
    assert KEEP["if"].startswith("always()") and KEEP["with"]["path"] == "${{ steps.measure.outputs.directory }}"


def test_a_command_is_measured(github):
    (github.directory / "summary").write_text("# Before\n")
    script = "! env | grep ^INPUT_\nprintf '%s\\n' \"$GITHUB_JOB\" >here\nfalse | true || echo stopped by pipefail"
    status, outputs, done = github.measure(run=script, options="--label\nteam=a b\n")
    assert (status, outputs["exit-status"]) == (0, "0"), done.stderr
    assert done.stdout == "stopped by pipefail\n" and (github.work / "here").read_text() == "build\n"
    assert "  CPU " in done.stderr, "the log has the summary"
    directory = github.work / "toll"
    assert outputs["directory"] == str(directory)
    run = records_of(directory / "run.jsonl")[0]
    assert run["name"] == "build" and run["labels"] == {"team": "a b"}
    assert json.loads((directory / "summary.json").read_text())["end"]["code"] == 0
    assert (directory / "report.html").read_text().startswith("<!DOCTYPE html>")
    summary = (github.directory / "summary").read_text()
    assert summary.startswith("# Before\n### build") and "| CPU time |" in summary
    assert summary == "# Before\n" + (directory / "report.md").read_text() + "\n"


@pytest.mark.parametrize(("script", "conditions", "expected", "message"), [
    ("exit 3", "cpu > 100s", 3, ""),
    ("false\ntouch later", "", 1, ""),
    ("false | cat\ntouch later", "", 1, ""),
    ("kill -TERM $$", "", 143, ""),
    ("true", "processes < 1\n\n  cpu >= 0s  \n", 1, "toll: failed: cpu was"),
    ("true", "cpu > fast", 125, "invalid limit"),
    ("true", "cpu > +5%", 125, "no baseline given"),
    ("true", "$(touch injected) > 1", 125, "$(touch injected)"),
])
def test_the_exit_status(github, script, conditions, expected, message):
    status, outputs, done = github.measure(run=script, fail_if=conditions)
    assert (status, outputs["exit-status"]) == (expected, str(expected)) and message in done.stderr
    assert not (github.work / "later").exists()
    none_was_evaluated(github.directory)
    has_report = (github.directory / "summary").read_text() != ""
    assert has_report == (expected != 125), "a run that failed is shown, too"


def test_hostile_inputs(github):
    (github.work / "a place; touch injected-4").mkdir()
    status, outputs, done = github.measure(
        run="printf '%s\\n' '$(touch \"injected-5\")' \"$PWD\"", name=HOSTILE, directory=f"../{HOSTILE.replace('/', '')}",
        options=f"--label\nhostile={HOSTILE}", baseline=HOSTILE, fail_if="cpu > +5%",
        working_directory="a place; touch injected-4")
    assert status == 0, done.stderr
    assert done.stdout == f"$(touch \"injected-5\")\n{github.work}/a place; touch injected-4\n"
    directory = github.work / HOSTILE
    assert outputs["directory"] == str(directory) and (directory / "report.md").exists()
    run = records_of(directory / "run.jsonl")[0]
    assert run["name"] == HOSTILE and run["labels"] == {"hostile": HOSTILE}
    assert f"not checked, no baseline yet in {HOSTILE}: cpu > +5%" in done.stderr
    assert [p for p in github.directory.rglob("injected*") if p.name != github.work.name] == []
    for wrong in ("", "a\nexit-status=0"):
        status, outputs, done = github.measure(run="true", directory=wrong)
        assert status == 125 and outputs == {} and "input directory" in done.stderr


def test_the_summary_of_the_job_has_a_limit(github):
    path = github.directory / "summary"
    full = "x" * (1024 * 1024 - 100)
    path.write_text(full)
    status, _, done = github.measure(run="true")
    assert status == 0 and path.read_text() == full and "too large for the summary" in done.stderr
    path.unlink()
    assert github.measure(run="true")[0] == 0 and "### build" in path.read_text()


def test_a_baseline_of_earlier_runs(github):
    base = github.work / "earlier runs"
    gate = {"baseline": base.name, "update_baseline": "true", "fail_if": "memory_peak > +30%\nmemory_peak > 1G"}
    status, _, done = github.measure(run=HOLD.format(60), **gate)
    assert status == 0 and "not checked, no baseline yet in earlier runs: memory_peak > +30%" in done.stderr and len(list(base.iterdir())) == 1
    status, _, done = github.measure(run=HOLD.format(60), **gate)
    assert status == 0 and "no baseline" not in done.stderr and len(list(base.iterdir())) == 2
    before = sorted(base.iterdir())
    status, _, done = github.measure(run=HOLD.format(120), **gate)
    assert status == 1 and "from the baseline of" in done.stderr
    assert sorted(base.iterdir()) == before, "a run that failed is no baseline"
    for i in range(12):
        shutil.copy(before[0], base / f"2001010{i:02}.jsonl")
    assert github.measure(run="true", **{**gate, "fail_if": ""})[0] == 0
    kept = sorted(base.iterdir())
    assert len(kept) == 10 and set(before) < set(kept), "the newest are kept"
    path = str(before[0].relative_to(github.work))
    status, _, done = github.measure(run=HOLD.format(120), baseline=path, fail_if="memory_peak > +30%")
    assert status == 1, "a file is a baseline, too"


def test_toll_is_built_if_it_is_not_there(github, programs):
    """From the checkout of the action, which is one of this repository."""
    assert github.step(BUILD, {}).returncode == 0 and (github.directory / "path").read_text() == ""
    checkout = github.directory / "a checkout"
    action = checkout / "integrations/github"
    action.mkdir(parents=True)
    (checkout / "tools").mkdir()
    (checkout / "tools/bootstrap").write_text('#!/bin/sh\necho "$@" >>"$HOME/bootstrap"\n')
    (checkout / "tools/bootstrap").chmod(0o755)
    (checkout / "Makefile").write_text(
        "configured:\n\tmkdir -p $(B)\n\tprintf 'rule cp\\n command = cp $$in $$out\\n"
        f"build toll: cp {programs[0]}\\n' >$(B)/build.ninja\n")
    (github.directory / "bin/toll").unlink()
    (github.directory / "bin/sudo").write_text('#!/bin/sh\nexec "$@"\n')
    (github.directory / "bin/sudo").chmod(0o755)
    github.path = f"{github.directory}/bin:/usr/bin:/bin"
    done = github.step(BUILD, {}, GITHUB_ACTION_PATH=str(action), RUNNER_TEMP=str(github.directory / "temp"))
    assert done.returncode == 0, done.stderr
    assert (github.directory / "bootstrap").read_text() == "--build-only\n"
    (added,) = (github.directory / "path").read_text().splitlines()
    assert subprocess.run([f"{added}/toll", "version"], check=True, capture_output=True).stdout.startswith(b"toll ")
    # What the step calls is there in the real one.
    assert re.search(r"^configured:", (TOP / "Makefile").read_text(), re.MULTILINE)
    assert "--build-only)" in (TOP / "tools/bootstrap").read_text()


# ---- GitLab --------------------------------------------------------------------------------------


class Gitlab:
    def __init__(self, directory, toll):
        self.directory, self.bin = directory / "work", directory / "bin"
        self.directory.mkdir()
        self.bin.mkdir()
        (self.bin / "toll").symlink_to(toll)
        self.path = f"{self.bin}:{os.environ['PATH']}"
        self.shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"]

    def run(self, **variables):
        (script,) = GITLAB["script"]
        environment = {"PATH": self.path, "HOME": str(self.directory), "LC_ALL": "C.UTF-8",
                       "XDG_STATE_HOME": os.environ["XDG_STATE_HOME"],
                       "CI_JOB_NAME": "unit tests", "CI_JOB_ID": "17", "CI_COMMIT_BRANCH": "topic",
                       "CI_DEFAULT_BRANCH": "main", **GITLAB["variables"], **variables}
        done = subprocess.run([*self.shell, script], cwd=self.directory, env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=GUARD, check=False)
        return done


@pytest.fixture(params=["bash", "sh"])
def gitlab(request, programs):
    """In an image with bash, and in one without it."""
    with hostlib.shared_place("toll-gitlab-") as place:
        one = Gitlab(place, programs[0])
        if request.param == "sh":
            for name in ("sh", "mkdir", "rm", "find", "cp", "date", "env", "grep", "cat", "touch", "tr"):
                (one.bin / name).symlink_to(shutil.which(name))
            one.path, one.shell = str(one.bin), [str(one.bin / "sh"), "-e", "-c"]
        yield one


def test_a_job_of_gitlab(gitlab):
    done = gitlab.run(MEASURE_COMMAND="env | grep MEASURE_ && exit 9\necho '$(touch injected-1)' \"$HOME\"",
                      MEASURE_NAME=HOSTILE, MEASURE_OPTIONS=f"--label\nhostile={HOSTILE}\n",
                      MEASURE_FAIL_IF="time > 1h\n\ncpu > +5%")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"$(touch injected-1) {gitlab.directory}\n"
    assert "not checked, no baseline yet: cpu > +5%" in done.stderr and "  CPU " in done.stderr
    run = records_of(gitlab.directory / "toll/run.jsonl")[0]
    assert run["name"] == HOSTILE and run["labels"] == {"hostile": HOSTILE}
    assert GITLAB["artifacts"]["paths"] == ["toll/"] and GITLAB["artifacts"]["when"] == "always"
    metrics = (gitlab.directory / GITLAB["artifacts"]["reports"]["metrics"]).read_text()
    assert re.search(r"^toll_exit_status\S* 0$", metrics, re.MULTILINE)
    assert (gitlab.directory / "toll/report.md").exists() and (gitlab.directory / "toll/report.html").exists()
    none_was_evaluated(gitlab.directory)


@pytest.mark.parametrize(("variables", "expected", "message"), [
    ({"MEASURE_COMMAND": "exit 3"}, 3, ""),
    ({"MEASURE_COMMAND": "false\ntouch later"}, 1, ""),
    ({"MEASURE_COMMAND": "true", "MEASURE_FAIL_IF": "cpu >= 0s"}, 1, "toll: failed: cpu was"),
    ({"MEASURE_COMMAND": "true", "MEASURE_FAIL_IF": "$(touch injected) > 1"}, 125, "$(touch injected)"),
    ({"MEASURE_COMMAND": "true", "MEASURE_FAIL_IF": "cpu > +5%", "MEASURE_BASELINE": ""}, 125, "no baseline given"),
    ({}, 125, "MEASURE_COMMAND is empty"),
])
def test_the_exit_status_of_gitlab(gitlab, variables, expected, message):
    done = gitlab.run(**variables)
    assert done.returncode == expected and message in done.stderr and not (gitlab.directory / "later").exists()
    none_was_evaluated(gitlab.directory)


def test_the_baseline_of_the_default_branch(gitlab):
    base = gitlab.directory / "toll-baseline"
    assert GITLAB["cache"]["paths"] == ["toll-baseline/"] == [GITLAB["variables"]["MEASURE_BASELINE"] + "/"]
    gate = {"MEASURE_FAIL_IF": "memory_peak > +30%"}
    assert gitlab.run(MEASURE_COMMAND=HOLD.format(60), **gate).returncode == 0 and not base.exists()
    done = gitlab.run(MEASURE_COMMAND=HOLD.format(60), CI_COMMIT_BRANCH="main", **gate)
    (first,) = base.iterdir()
    done = gitlab.run(MEASURE_COMMAND=HOLD.format(120), CI_COMMIT_BRANCH="main", **gate)
    assert done.returncode == 1 and "from the baseline of" in done.stderr
    for i in range(12):
        shutil.copy(first, base / f"200101{i:02}.jsonl")
    assert gitlab.run(MEASURE_COMMAND="true", CI_COMMIT_BRANCH="main").returncode == 0
    assert len(list(base.iterdir())) == 10 and first.exists()


# ---- Both ----------------------------------------------------------------------------------------


@needs("shellcheck")
@pytest.mark.parametrize(("shell", "script"), [
    ("bash", BUILD["run"]), ("bash", MEASURE["run"]), ("sh", GITLAB["script"][0])])
def test_the_scripts_are_clean(shell, script):
    done = subprocess.run(["shellcheck", f"--shell={shell}", "--exclude=SC2153", "-"], input=script,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
