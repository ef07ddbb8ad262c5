# SPDX-License-Identifier: MIT
"""Every recipe of docs/cookbook.md is run as it is written, and what it claims is checked.

A recipe runs in a directory with the jobs of tests/docs/jobs.txt, whose figures are known. Stand-ins take
the place of what a machine for tests does not have (Docker, Slurm, Kubernetes, sudo, curl, Jupyter):
they run the part that toll executes, with the variables, mounts and users of the real ones."""
import ast
import json
import os
import pathlib
import pwd
import re
import sqlite3
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree

import fixturelib
import hostlib
import pytest
import sinklib
from livelib import GUARD, IS_ROOT

TOP = hostlib.TOP
TEXT = (TOP / "docs/cookbook.md").read_text(encoding="utf-8")
MESH = 96 << 20  # bytes that ./solver holds at its peak, beside an interpreter
INTERPRETER = 32 << 20  # more than one needs
RECIPES = {name: block for name, block in
           re.findall(r"<!-- recipe: ([\w-]+) -->\n```\w+\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)}


class Kitchen:
    """A directory with the jobs, and the stand-ins first in PATH."""

    def __init__(self, directory, toll):
        self.directory = directory / "jobs"
        self.bin = directory / "bin"
        fixturelib.write_jobs(self.directory)
        self.bin.mkdir()
        (self.bin / "toll").symlink_to(toll)
        self.environment = {**os.environ, "PATH": f"{self.bin}:/usr/bin:{os.environ['PATH']}",
                            "USER": pwd.getpwuid(os.geteuid()).pw_name}

    def path(self, name):
        return self.directory / name

    def json(self, name):
        return json.loads(self.path(name).read_text(encoding="utf-8"))

    def lines(self, name):
        return [json.loads(line) for line in self.path(name).read_text(encoding="utf-8").splitlines()]

    def stand_in(self, name, text, shell="/bin/sh"):
        path = self.bin / name
        path.write_text(f"#!{shell}\n{text}", encoding="utf-8")
        path.chmod(0o755)

    def run(self, script, check=True, **variables):
        done = subprocess.run(["sh", "-eu", "-c", script], cwd=self.directory, capture_output=True,
                              text=True, env={**self.environment, **variables}, check=False,
                              stdin=subprocess.DEVNULL, timeout=GUARD)
        assert not check or done.returncode == 0, done.stderr
        return done


@pytest.fixture
def kitchen(programs):
    with hostlib.shared_place("toll-cookbook-") as place:
        yield Kitchen(place, programs[0])


def peak(summary, metric="memory_rss_bytes"):
    return summary["target"]["combined"][metric]["max"]


def is_peak_of_solver(size):
    return MESH <= size <= MESH + INTERPRETER


def test_every_recipe_is_tested():
    source = pathlib.Path(__file__).read_text(encoding="utf-8")
    assert sorted(RECIPES) == sorted(set(re.findall(r'RECIPES\["([\w-]+)"\]', source)))
    assert len(re.findall(r"^## ", TEXT, re.MULTILINE)) >= 13


def test_every_block_is_a_recipe_or_part_of_one():
    fences = re.findall(r"^```(\w+)$", TEXT, re.MULTILINE)
    assert len(fences) == len(RECIPES) + fences.count("sql")
    for block in RECIPES.values():
        assert 1 <= len(block.splitlines()) <= 10


# ---- Memory --------------------------------------------------------------------------------------


def test_memory_to_request(kitchen):
    said = kitchen.run(RECIPES["slurm-memory"]).stdout
    assert re.search(r"^# weak: from 1 run of", said, re.MULTILINE)
    assert re.search(r"^#SBATCH --cpus-per-task=\d+$", said, re.MULTILINE)
    assert re.search(r"^#SBATCH --time=00:15:00$", said, re.MULTILINE)
    request = int(re.search(r"^#SBATCH --mem=(\d+)M$", said, re.MULTILINE)[1]) << 20
    job, = json.loads(kitchen.run("toll recommend --json runs/").stdout)["jobs"]
    most = job["memory"]["peak_most_bytes"]
    assert is_peak_of_solver(most)
    assert request == job["memory"]["request_bytes"] >= 1.5 * most + job["memory"]["rise_bytes"]


@pytest.mark.parametrize("limit, status", [("2G", 0), ("1M", 1)])
def test_gate(kitchen, limit, status):
    hostlib.skip_without("cc")
    recipe = RECIPES["ci-gate"]
    assert "> 2G" in recipe and recipe.strip() in (TOP / "README.md").read_text(encoding="utf-8")
    done = kitchen.run(recipe.replace("2G", limit), check=False)
    assert done.returncode == status, done.stderr
    assert kitchen.path("program").exists()
    assert ("above the limit of 1.00 MiB" in done.stderr) == (status == 1)


def test_gate_does_not_hide_a_build_that_fails(kitchen):
    kitchen.path("Makefile").write_text("all:\n\tfalse\n")
    assert kitchen.run(RECIPES["ci-gate"], check=False).returncode == 2


def test_gate_with_a_baseline(kitchen):
    """The first build passes and is the baseline of the second; a smaller limit fails."""
    hostlib.skip_without("cc")
    recipe = RECIPES["ci-gate-baseline"].replace("-q ", "")
    first = kitchen.run(recipe, check=False)
    assert first.returncode == 0 and "the baseline has no runs" in first.stderr
    kitchen.path("program").unlink()
    done = kitchen.run(recipe.replace("+10%", "-99%"), check=False)
    assert done.returncode == 1 and "from the baseline of " in done.stderr, done.stderr


@hostlib.needs("jq")
def test_child_that_used_the_memory(kitchen):
    done = kitchen.run(RECIPES["which-child"])
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert 2 <= len(rows) <= 5
    assert [row[2] for row in rows[:2]] == ["mesh", "solve"]
    assert is_peak_of_solver(int(rows[0][0]))
    assert re.search(r"^ +\d+ .*mesh .*MiB", done.stderr, re.MULTILINE), "the summary names it too"


def test_report(kitchen):
    kitchen.run(RECIPES["report"])
    page = kitchen.path("report.html").read_text(encoding="utf-8")
    assert page.count("<svg") >= 1 and "./solver" in page
    assert not re.search(r"<script[^>]* src|<img|<link|@import|url\(", page)
    short = kitchen.path("report.md").read_text(encoding="utf-8")
    assert len(short) < 4096
    megabytes = float(re.search(r"^\| Peak memory \| ([\d.]+) MiB", short, re.MULTILINE)[1])
    assert is_peak_of_solver(megabytes * (1 << 20))
    (later,) = re.findall(r"`(toll export run.jsonl -o report.html)`", TEXT)
    kitchen.run(f"rm report.html; toll run -q -o run.jsonl -- ./solver; {later}")
    assert "<svg" in kitchen.path("report.html").read_text(encoding="utf-8")


@hostlib.needs("gnuplot")
def test_plot(kitchen):
    kitchen.run(RECIPES["plot"])
    root = ElementTree.parse(kitchen.path("memory.svg")).getroot()
    samples = len(kitchen.path("run.csv").read_text().splitlines()) - 1
    lines = [path.get("d") for path in root.iter("{http://www.w3.org/2000/svg}path")]
    curve = max(lines, key=len)
    assert len(re.findall(r"[\d.]+,[\d.]+", curve)) >= samples / 2
    assert "RSS" in kitchen.path("memory.svg").read_text()


def test_size_of_a_record(kitchen):
    """In ratios: what a sample takes is within a factor of two of what the table states."""
    kitchen.run(RECIPES["size"])
    samples = [line for line in kitchen.lines("run.jsonl") if line["type"] == "sample"]
    full = len(samples) - 1
    small = sum(line["type"] == "sample" for line in kitchen.lines("small.jsonl"))
    assert 50 < full <= 210
    record, fixed, rows = (kitchen.path(name).stat().st_size for name in ("run.jsonl", "runs.sqlite", "run.csv"))
    head = len(kitchen.path("run.csv").read_text().splitlines()[0])
    lines = kitchen.path("run.jsonl").read_text().splitlines()
    others = sum(len(line) for line in lines if not line.startswith('{"type":"sample"'))
    measured = {".jsonl": (record - others) / full, ".csv": (rows - head) / full,
                "small": kitchen.path("small.jsonl").stat().st_size / small}
    stated = [int(number) for number in re.findall(r"^\| `\.\w+`[^|]*\| (\d+)[^|]*\|", TEXT, re.MULTILINE)]
    hours = [float(number) for number in re.findall(r"\| ([\d.]+) MB \|$", TEXT, re.MULTILINE)]
    assert len(stated) == len(hours) == 5
    for name, number in zip((".jsonl", ".csv", "small"), (stated[0], stated[2], stated[4])):
        assert 0.5 <= measured[name] / number <= 2, (name, measured)
    assert 0.5 <= fixed / (160_000 + full * stated[3]) <= 2
    for number, size in zip(stated, hours):
        assert size * 1e6 == pytest.approx(number * 3600, rel=0.15)
    # A further process: of ten as long as the first, each has about the same share.
    kitchen.run("toll run -q -i 20ms --processes all -o ten.jsonl -- "
                "sh -c 'for i in 1 2 3 4 5 6 7 8 9; do sleep 2 & done; sleep 2'")
    most = max(len(line) for line in kitchen.path("ten.jsonl").read_text().splitlines()
               if line.startswith('{"type":"sample"'))
    ((parts, share),) = re.findall(r"takes (\d+) bytes more.*?largest processes adds (\d+) bytes", TEXT, re.DOTALL)
    assert 0.5 <= (most - measured[".jsonl"] - int(parts)) / 9 / int(share) <= 2


# ---- Clusters and containers ---------------------------------------------------------------------


def test_ranks(kitchen):
    """srun stands for itself: it starts the command twice, with the variables that Slurm sets."""
    kitchen.stand_in("srun", "for rank in 0 1; do\n"
                     "SLURM_JOB_ID=4242 SLURM_STEP_ID=0 SLURM_PROCID=$rank "
                     "SLURM_NTASKS=2 \"$@\" & done; wait\n")
    listed = kitchen.run(RECIPES["slurm-ranks"]).stdout
    for rank in "01":
        run = kitchen.lines(f"runs/4242/{rank}.jsonl")[0]
        assert (run["job_id"], run["rank"]) == ("4242", rank)
        assert is_peak_of_solver(peak(kitchen.lines(f"runs/4242/{rank}.jsonl")[-1]))
    assert "0.jsonl + 1" in listed, "the ranks of a job are one line"
    readme = (TOP / "README.md").read_text(encoding="utf-8")
    assert RECIPES["slurm-ranks"].splitlines()[0] in readme, "README.md shows the same command"


DOCKER = """
import json, os, sys
words = sys.argv[1:]
with open(os.environ["DOCKER_LOG"], "w") as file:
    json.dump(words, file)
if words[0] == "inspect":
    assert words[1:] == ["-f", "{{.State.Pid}}", "web"], words
    print(os.environ["CONTAINER"])
    sys.exit()
assert words.pop(0) == "run"
mounts, place = {}, "/"
while words[0].startswith("-"):
    option = words.pop(0)
    if option == "-v":
        outside, inside = words.pop(0).split(":")[:2]
        mounts[inside] = outside
    elif option == "-w":
        place = words.pop(0)
    else:
        assert option == "--rm", option
words.pop(0)  # the image
os.chdir(mounts[place])
program = mounts["/usr/local/bin/" + words[0]]
os.execv(program, words)
"""


def test_docker(kitchen):
    """What the container runs: the program that is mounted, in the directory that is mounted."""
    kitchen.stand_in("docker", DOCKER, "/usr/bin/python3")
    log = kitchen.path("docker.json")
    kitchen.run(RECIPES["docker"], DOCKER_LOG=str(log))
    words = json.loads(log.read_text())
    assert f"{kitchen.directory}:/work" in words and "debian:12" in words
    assert is_peak_of_solver(peak(kitchen.json("run.json")))


def test_docker_from_outside(kitchen):
    kitchen.stand_in("docker", DOCKER, "/usr/bin/python3")
    with subprocess.Popen(["/usr/bin/python3", "server.py"], cwd=kitchen.directory) as server:
        try:
            wait_until(lambda: kitchen.path("server.pid").exists())
            done = kitchen.run(RECIPES["docker-attach"], CONTAINER=str(server.pid),
                               DOCKER_LOG=str(kitchen.path("docker.json")))
            assert server.poll() is None
        finally:
            server.kill()
    assert f"process {server.pid} " in done.stderr and "still running" in done.stderr


def test_kubernetes(kitchen):
    """The command of the container, with a file for the termination message. As root that is mounted,
    as a kubelet does it, so it can be written to and not replaced."""
    command, arguments = (ast.literal_eval(re.search(rf"^  {key}: (\[.*\])$", RECIPES["kubernetes"], re.M)[1])
                          for key in ("command", "args"))
    place = command.index("/dev/termination-log")
    message, target = kitchen.path("message"), kitchen.path("termination-log")
    message.touch()
    target.touch()
    command[place] = str(target)
    words = [*command, *arguments]
    if IS_ROOT:
        mount = 'mount --bind "$0" "$1" && shift && exec "$@"'
        words = ["unshare", "--mount", "--propagation", "private", "sh", "-c", mount, message, target, *words]
    else:
        message = target
    done = subprocess.run(words, cwd=kitchen.directory, env=kitchen.environment, capture_output=True,
                          text=True, check=False, timeout=GUARD)
    assert (done.returncode, done.stderr) == (0, "")
    said = message.read_text(encoding="utf-8")
    assert said.startswith("toll: ./solver") and len(said.encode()) <= 4096
    assert "  Memory " in said and "mesh" in said


# ---- Shells, users, terminals --------------------------------------------------------------------


@hostlib.needs("sqlite3")
def test_top_by_label(kitchen):
    (query,) = re.findall(r"^```sql\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
    kitchen.path("top5.sql").write_text(query)
    shown = kitchen.run(RECIPES["sql"]).stdout.splitlines()
    assert [tuple(line.split()[:2]) for line in shown[2:]] == [("blue", "1"), ("red", "1")]
    kitchen.run("for n in 1 2 3 4 5 6; do toll run -q -o runs.sqlite --label team=t$n -- true; done;"
                "toll run -q -o runs.sqlite --label team=blue -- ./solver")
    base = sqlite3.connect(kitchen.path("runs.sqlite"))
    rows = base.execute(query).fetchall()
    truth = dict(base.execute(
        "SELECT r.run, s.total FROM runs r JOIN summary s USING (run) WHERE s.metric = 'cpu_seconds' AND s.entity = 1"))
    base.close()
    assert len(rows) == 5 and rows[0][:2] == ("blue", 2)
    assert rows[0][2] == pytest.approx(truth[1] + truth[9])
    assert [row[2] for row in rows] == sorted((row[2] for row in rows), reverse=True)


def test_pipelines(kitchen):
    count = subprocess.run("sort words.txt | uniq -c | sort -rn", shell=True, cwd=kitchen.directory,
                           capture_output=True, text=True, check=True).stdout
    done = kitchen.run(RECIPES["pipelines"])
    assert done.stdout == 3 * count
    assert done.stderr.count("toll: ") == 3
    commands = [kitchen.json(f"{name}.json")["command"][0] for name in ("pipeline", "stage", "function")]
    assert commands == ["sh", "uniq", "sh"]
    # Three programs read the words or what comes of them in a pipeline, one in a stage.
    read = [kitchen.json(f"{name}.json")["target"]["combined"]["io_read_bytes"]["total"]
            for name in ("pipeline", "stage", "function")]
    size = kitchen.path("words.txt").stat().st_size
    assert read[0] >= 2 * size and read[2] >= 2 * size and read[1] >= size


def test_functions_of_bash(kitchen):
    done = kitchen.run("bash -c 'f() { echo from a function; }; export -f f; toll run -q -- bash -c f'")
    assert done.stdout == "from a function\n" and "`export -f`" in TEXT


def test_sudo(kitchen):
    """sudo stands for what it does to users: as root it runs the command, as the user it names."""
    user = "nobody" if IS_ROOT else kitchen.environment["USER"]
    kitchen.stand_in("sudo", 'if [ "$1" = -u ]; then user=$2; shift 2\n'
                     '    [ "$(id -u)" -ne 0 ] || exec setpriv --reuid="$user" --clear-groups -- "$@"\nfi\n'
                     'exec "$@"\n')
    kitchen.run(RECIPES["sudo"], USER=user)
    summary = kitchen.json("run.json")
    assert is_peak_of_solver(peak(summary))
    for metric in ("memory_pss_bytes", "storage_written_bytes", "io_read_bytes", "open_files"):
        assert summary["target"]["combined"][metric]["quality"] != "unknown", metric
    assert kitchen.path("run.json").stat().st_uid == os.geteuid()


def test_no_terminal(kitchen):
    kitchen.run(RECIPES["no-terminal"])
    assert kitchen.path("nightly.txt").read_text(encoding="utf-8").startswith("toll: nightly")
    assert "toll:" not in kitchen.path("nightly.log").read_text(encoding="utf-8")
    listed = kitchen.run("toll list runs.sqlite").stdout
    assert "exit 0" in listed


# ---- Servers and notebooks -----------------------------------------------------------------------


def wait_until(holds):
    end = time.monotonic() + GUARD / 4
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


CURL = """
import sys, urllib.request
assert sys.argv[1] == "-s", sys.argv
sys.stdout.buffer.write(urllib.request.urlopen(sys.argv[2], timeout=30).read())
"""


def test_server(kitchen):
    """Any client does for curl. The port is one that is free, and the pause lasts until it answers."""
    recipe, port = RECIPES["server"], sinklib.free_port()
    assert recipe.count("9464") == 2 and "sleep 2\n" in recipe
    kitchen.stand_in("curl", CURL, "/usr/bin/python3")
    (ask,) = re.findall(r"^(.*/metrics) \| ", recipe, re.MULTILINE)
    pause = f"until {ask} 2>/dev/null | grep -q _rss_; do sleep 0.1; done\n"
    script = recipe.replace("sleep 2\n", pause).replace("9464", str(port))
    with subprocess.Popen(["/usr/bin/python3", "server.py"], cwd=kitchen.directory) as server:
        try:
            wait_until(lambda: kitchen.path("server.pid").exists() and kitchen.path("server.pid").read_text())
            shown = kitchen.run(f"{script}kill $! && wait $!").stdout
            resident = resident_bytes(server.pid)
        finally:
            server.kill()
    figures = {scope: float(value) for scope, value in
               re.findall(r'toll_target_memory_rss_bytes\{[^}]*run="web"[^}]*scope="(\w+)"[^}]*\} (\S+)', shown)}
    assert figures["combined"] == pytest.approx(resident, rel=0.2)


def resident_bytes(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(re.search(r"^VmRSS:\s+(\d+) kB", status, re.MULTILINE)[1]) * 1024


@pytest.mark.skipif(not os.path.exists(f"{os.environ['TOLL_BUILD']}/python/toll"),
                    reason="needs the Debian package python3-dev")
def test_ci_github(programs):
    """The step, as its action runs it."""
    yaml = hostlib.module("yaml")
    from test_ci import Github

    with hostlib.shared_place("toll-cookbook-") as place:
        runner = Github(place, programs[0])
        fixturelib.write_jobs(runner.work)
        (step,) = yaml.safe_load(RECIPES["ci-github"])
        directory = re.fullmatch(r"OWNER/toll/(.*)@main", step["uses"])[1]
        assert (TOP / directory / "action.yml").exists()
        status, _, done = runner.measure(**{name.replace("-", "_"): text for name, text in step["with"].items()})
        assert status == 0 and "not checked, no baseline yet" in done.stderr
        assert (runner.work / "program").exists() and (runner.work / "toll/run.jsonl").exists()
        assert "| Peak memory |" in (place / "summary").read_text(encoding="utf-8")


def test_ci_gitlab(programs):
    yaml = hostlib.module("yaml")
    from test_ci import Gitlab

    with hostlib.shared_place("toll-cookbook-") as place:
        runner = Gitlab(place, programs[0])
        fixturelib.write_jobs(runner.directory)
        file = yaml.safe_load(RECIPES["ci-gitlab"])
        assert (TOP / file["include"][0]["file"]).exists() and file["build"]["extends"] == ".toll"
        done = runner.run(**file["build"]["variables"])
        assert done.returncode == 0, done.stderr
        assert (runner.directory / "program").exists() and (runner.directory / "toll/report.md").exists()


def test_jupyter(kitchen):
    """A notebook runs the lines, then shows the last one by _repr_html_."""
    hostlib.module("pandas")
    body = ast.parse(RECIPES["jupyter"])
    last = ast.unparse(body.body.pop())
    cell = ast.unparse(body)
    (more,) = re.findall(r"`(t\.to_pandas\(\)\[[^`]*\])\.plot\(\)`", TEXT)
    script = f"{cell}\nprint(({last})._repr_html_())\ncurve = {more}\nassert len(curve) and curve.max() > 50e6\n"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": f"{os.environ['TOLL_BUILD']}/python"})
    assert done.returncode == 0, done.stderr
    assert "<table" in done.stdout
