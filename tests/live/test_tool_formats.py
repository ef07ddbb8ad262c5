# SPDX-License-Identifier: MIT
"""Formats of other tools beside the tool itself, or beside what the kernel says of the same job."""
import base64
import gzip
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import xml.etree.ElementTree

import hostlib
import pytest
from livelib import PAGE

ROOT = pathlib.Path(__file__).parents[2]
CPUS = os.cpu_count()

# Holds 60 MiB, computes for 0.3 s, writes 1 MiB to a file.
JOB = ("import time, os\n"
       "data = b'x' * (60 << 20)\n"
       "end = time.process_time() + 0.3\n"
       "while time.process_time() < end: pass\n"
       "with open('data', 'wb') as file:\n"
       "    file.write(data[:1 << 20])\n"
       "    os.fsync(file.fileno())\n")

FIGURES = "U S M F R w O x".split()


def figures(path):
    lines = path.read_text().splitlines()
    return dict(zip(FIGURES, map(float, lines[-1].split())))


def test_toll_time_beside_gnu_time(place):
    """GNU time inside toll time: both measure one run of the job. toll's figures also have those of
    GNU time's own process: a few ms, some hundred page faults, one small file."""
    hostlib.skip_without("time")
    line = " ".join("%" + letter for letter in FIGURES)
    status, _, err = place.call([place.toll, "time", "-o", "ours", "-f", line,
                                 "/usr/bin/time", "-o", "theirs", "-f", line, sys.executable, "-c", JOB])
    assert (status, err) == (0, b"")
    ours, theirs = figures(place.path("ours")), figures(place.path("theirs"))
    # The kernel's mark of the largest process. A sample may have read it while it rose: then it is too
    # high by what the CPUs hold back, batches of pages for each of three counters.
    held_back = 3 * CPUS * max(32, 2 * CPUS) * PAGE >> 10
    assert 60 * 1024 < theirs["M"] <= ours["M"] <= theirs["M"] + held_back
    # Each is rounded down to 10 ms.
    assert -0.02 < ours["U"] + ours["S"] - theirs["U"] - theirs["S"] < 0.1
    assert theirs["R"] <= ours["R"] <= theirs["R"] + 1000
    assert theirs["F"] <= ours["F"]
    assert theirs["w"] <= ours["w"]
    assert theirs["O"] <= ours["O"] <= theirs["O"] + 64
    assert ours["x"] == theirs["x"] == 0


CALLS = [
    ["-f", "%x", "sh", "-c", "exit 3"],
    ["-q", "-f", "%x", "sh", "-c", "exit 3"],
    ["-f", "%x", "sh", "-c", "kill -TERM $$"],
    ["-q", "-f", "%x", "sh", "-c", "kill -KILL $$"],
    ["-f", r"%C|%%|%Q|\n\t\\\q|%Z", "echo", "a", "b c"],
    ["--format=%C", "--quiet", "true"],
    # What Linux does not count, and the size of a page.
    ["-f", "%D %I %K %W %X %Z %k %p %r %s %t", "true"],
    ["-v", "-q", "-f", "%C", "-o", "/dev/null", "sh", "-c", "exit 3"],
    ["-p", "-f", "%C", "true"],
    ["-f", "", "true"],
    # A percent sign at the end ends the line without a newline. What is no conversion or escape.
    *(["-f", line, "true"] for line in ("%", "a%", "%x%", "a%%", "%%%", r"\%", r"%\n", "%l%5b%,", r"\q\0\a\r", r"a\\b",
                                       r"\\", "tab\ttab", ",a,,b", "%C, %Z")),
]


@pytest.mark.parametrize("call", CALLS, ids=lambda call: " ".join(call))
def test_toll_time_writes_what_gnu_time_writes(here, call):
    """Exit status, stdout and stderr, byte for byte."""
    hostlib.skip_without("time")
    assert here.call([here.toll, "time", *call]) == here.call(["/usr/bin/time", *call])


def test_toll_time_has_the_lines_of_gnu_time(here):
    hostlib.skip_without("time")

    def shape(words):
        status, _, err = here.call([*words, "sleep", "0.01"])
        assert status == 0
        return re.sub(r"\?|\d[\d.:]*", "0", err.decode())  # memory may be unknown

    for options in ([], ["-p"], ["-v"]):
        assert shape([here.toll, "time", *options]) == shape(["/usr/bin/time", *options])


@pytest.mark.parametrize("options", [[], ["-p"], ["-v"], ["-p", "-v"], ["-p", "-f", "%e"], ["-f", "%e", "-p"]],
                         ids=" ".join)
@pytest.mark.parametrize("end", ["exit 3", "kill -TERM $$"])
def test_toll_time_reports_a_failure_as_gnu_time_does(here, options, end):
    """In a line before the times, but in the form of POSIX."""
    hostlib.skip_without("time")

    def shape(*words):
        status, out, err = here.call([*words, *options, "sh", "-c", end])
        return status, out, re.sub(r"\?|\d[\d.:]*", "0", err.decode())

    assert shape(here.toll, "time") == shape("/usr/bin/time")


@pytest.mark.parametrize("letter", "CDEFIKMOPRSUWXZcekprstwx")
def test_toll_time_has_every_letter_of_gnu_time(here, letter):
    """Each in the same form: with a colon, with decimals, with a percent sign."""
    hostlib.skip_without("time")

    def shape(*words):
        status, out, err = here.call([*words, "-f", f"<%{letter}>", sys.executable, "-S", "-c",
                                      "import time; time.sleep(0.1)"])
        assert (status, out) == (0, b"")
        return re.sub(r"\d+", "0", err.decode())

    assert shape(here.toll, "time") == shape("/usr/bin/time")


@pytest.mark.parametrize("options", [["-p", "-f", "%e"], ["-f", "%e", "-p"], ["-v", "-p"], ["-f", "%e", "-v"],
                                     ["-v", "-f", "%e"], ["--portability", "--format=%e", "-p"]])
def test_toll_time_takes_the_format_that_gnu_time_takes(here, options):
    """The last one, but for --verbose."""
    hostlib.skip_without("time")

    def shape(*words):
        status, _, err = here.call([*words, *options, "sleep", "0.01"])
        assert status == 0
        return re.sub(r"\?|\d[\d.:]*", "0", err.decode())

    assert shape(here.toll, "time") == shape("/usr/bin/time")


@pytest.mark.parametrize("options", [["--help"], ["--version"], ["-V"], ["-V", "-o", "made", "false"], [], ["-f"],
                                     ["-q"], ["--no-such-option"]], ids=" ".join)
def test_toll_time_describes_itself_where_gnu_time_does(here, options):
    """The same exit status on the same stream; the text is of each program. No command is run, no file made."""
    hostlib.skip_without("time")

    def shape(*words):
        status, out, err = here.call([*words, *options])
        return status, bool(out), bool(err), here.path("made").exists()

    assert shape(here.toll, "time") == shape("/usr/bin/time")
    if "-V" in options:
        assert here.call([here.toll, "time", *options]) == here.call([here.toll, "--version"])


def test_toll_time_ends_with_a_backslash(here):
    """GNU time prints what follows its format in memory."""
    hostlib.skip_without("time")
    assert here.call([here.toll, "time", "-f", "a\\", "true"]) == (0, b"", b"a?\\\n")
    assert here.call(["/usr/bin/time", "-f", "a\\", "true"])[2].startswith(b"a?\\")


def test_toll_time_cannot_run(here):
    here.path("data").write_text("no program")
    assert here.call([here.toll, "time", "/nonexistent/program"])[0] == 127
    assert here.call([here.toll, "time", here.path("data")])[0] == 126
    assert here.call([here.toll, "time", "-o", "/nonexistent/file", "true"])[0] == 125
    assert here.call([here.toll, "time"])[0] == 125


def test_toll_time_appends_and_takes_the_format_of_the_environment(here):
    env = {**os.environ, "TIME": "%x"}
    for options in (["-o", "t"], ["-a", "-o", "t"], ["-a", "-o", "t", "-f", "last"]):
        assert subprocess.run([here.toll, "time", *options, "true"], cwd=here.path("."),
                              env=env).returncode == 0
    assert here.path("t").read_text() == "0\n0\nlast\n"


def test_toll_time_counts_what_was_not_waited_for(place):
    """An orphan: GNU time does not see what it used, toll time does. The command ends after the
    orphan, when the pipe between them is closed, and never waits for it as a parent."""
    orphan = "end = __import__('time').process_time() + 0.2\nwhile __import__('time').process_time() < end: pass"
    script = 'mkfifo pipe; "$1" -c "$2" > pipe & exec cat pipe'
    status, _, err = place.call([place.toll, "time", "-f", "%U %S", "sh", "-c", script, "sh", sys.executable,
                                 orphan])
    assert status == 0 and sum(map(float, err.split())) >= 0.18  # each is rounded down


def test_nextflow_recipe(place):
    """The wrapper of a task as Nextflow writes it, with both ways in which releases start their
    tracer: the trace of toll stays, has the task alone, and the status of the task is kept."""
    shell = ROOT / "integrations/nextflow/toll-bash"
    task = place.path(".command.sh")
    task.write_text(f"{sys.executable} job.py\nexit $((RANDOM * 0 + 3))\n")
    place.path("job.py").write_text(JOB)
    for launcher in ("/bin/bash", str(shell)):
        place.path(".command.run").write_text(f"""
nxf_trace() {{
    {shell} .command.sh &
    wait $! || ret=$?
    printf 'nextflow.trace/v2\\nrealtime=1\\n' > .command.trace
    {sys.executable} -c 'bytearray(120 << 20)'
    return $ret
}}
nxf_main() {{
    {launcher} .command.run nxf_trace || ret=$?
    mv -f .command.toll .command.trace
    exit $ret
}}
${{1:-nxf_main}}
""")
        env = {**os.environ, "TOLL": place.toll}
        done = subprocess.run(["/bin/bash", ".command.run"], cwd=place.path("."), env=env, capture_output=True)
        assert (done.returncode, done.stdout, done.stderr) == (3, b"", b"")
        first, *lines = place.path(".command.trace").read_text().splitlines()
        trace = dict(line.split("=") for line in lines)
        assert first == "nextflow.trace/v2"
        assert list(trace) == ("realtime %cpu rchar wchar syscr syscw read_bytes write_bytes %mem vmem rss "
                               "peak_vmem peak_rss vol_ctxt inv_ctxt").split()
        assert all(re.fullmatch(r"\d+", value) for value in trace.values())
        assert 60 << 10 <= int(trace["peak_rss"]) < 100 << 10  # not that of the tracer
        assert 1 << 20 <= int(trace["wchar"]) < 2 << 20
        cpu_ms = int(trace["%cpu"]) * int(trace["realtime"]) / 1000
        assert 290 <= cpu_ms < 1500


def test_the_benchmark_of_snakemake(here):
    """The rule is measured by Snakemake, and its command by toll. Snakemake also counts toll and the
    shell, and misses what comes after its last reading: they are 0.5, 1, 1.5 … s apart."""
    hostlib.skip_without("snakemake")
    here.path("job.py").write_text("import time\ndata = b'x' * (100 << 20)\nend = time.process_time() + 0.5\n"
                                   "while time.process_time() < end: pass\ntime.sleep(4)\n")
    here.path("Snakefile").write_text(
        f"rule job:\n    output: 'out'\n    benchmark: 'theirs.tsv'\n    shell: \"{here.toll} run -q -o "
        f"@snakemake:ours.tsv -o run.jsonl -- {sys.executable} job.py > {{output}}\"\n")
    status, _, err = here.call(["snakemake", "-c1", "--nolock"], env={**os.environ, "HOME": str(here.directory)})
    assert status == 0, err

    def figures_of(name):
        heading, row = (line.split("\t") for line in here.path(name).read_text().splitlines())
        return heading, dict(zip(heading, row))

    (heading, theirs), (ours_heading, ours) = figures_of("theirs.tsv"), figures_of("ours.tsv")
    assert heading == ours_heading
    assert re.sub(r"\d+", "0", str(theirs)) == re.sub(r"\d+", "0", str(ours)), "the same form"
    assert 4.5 <= float(ours["s"]) <= float(theirs["s"])
    summary = json.loads(here.path("run.jsonl").read_text().splitlines()[-1])
    own_mib = summary["self"]["memory_rss_bytes"]["max"] / 2**20
    assert 100 <= float(ours["max_rss"]) <= float(theirs["max_rss"]) + 2
    assert float(theirs["max_rss"]) <= float(ours["max_rss"]) + own_mib + 10, "two shells"
    assert 0.5 <= float(ours["cpu_time"])
    assert float(theirs["cpu_time"]) <= float(ours["cpu_time"]) + summary["self"]["cpu_seconds"]["total"] + 0.2


def test_files_of_one_run_agree(place):
    """Each beside the summary of the same run."""
    result = place.run([sys.executable, "-c", JOB],
                       ["-o", "@snakemake:s.tsv", "-o", "@snakemake:s.jsonl", "-o", "@gitlab:metrics.txt", "-o", "jobstats:js",
                        "-o", "@github-action-benchmark:b.json", "-o", "junit:j.xml", "-o", "@prmon:prmon.json",
                        "-o", "@prmon:prmon.txt", "-o", "@codecarbon,carbon=400:e.csv"])
    assert result.status == 0
    cpu, wall = result.total("cpu_seconds"), result.total("wall_seconds")
    written = result.total("storage_written_bytes")

    heading, row = (line.split("\t") for line in place.path("s.tsv").read_text().splitlines())
    snakemake = dict(zip(heading, row))
    assert heading == "s h:m:s max_rss max_vms max_uss max_pss io_in io_out mean_load cpu_time".split()
    assert snakemake["s"] == f"{wall:.4f}" and snakemake["cpu_time"] == f"{cpu:.2f}"
    assert snakemake["io_out"] == f"{written / 2**20:.2f}"
    assert float(snakemake["max_rss"]) >= 60
    line = json.loads(place.path("s.jsonl").read_text())  # all digits; the seconds are a text there
    assert list(line) == heading and line["s"] == snakemake["s"] and line["cpu_time"] == pytest.approx(cpu, rel=1e-6)
    assert {key: f"{value:.2f}" for key, value in line.items() if isinstance(value, float)} | \
        {key: value for key, value in line.items() if isinstance(value, str)} == snakemake

    report = dict(line.split(" ") for line in place.path("metrics.txt").read_text().splitlines())
    assert report["toll_cpu_seconds"] == f"{cpu:.1f}" and report["toll_exit_status"] == "0"

    text = place.path("js").read_text()
    assert text.startswith("JS1:")
    job = json.loads(gzip.decompress(base64.b64decode(text[4:])))
    [node] = job["nodes"].values()
    assert node["total_time"] == round(cpu, 1) and job["total_time"] == round(wall, 1)
    assert node["used_memory"] >= 60 << 20 and job["gpus"] == 0

    benchmark = {entry["name"].split(": ")[1]: entry for entry in json.loads(place.path("b.json").read_text())}
    assert benchmark["CPU time"]["value"] == round(cpu, 3) and benchmark["CPU time"]["unit"] == "s"
    assert all(set(entry) == {"name", "unit", "value"} for entry in benchmark.values())

    case = xml.etree.ElementTree.parse(place.path("j.xml")).getroot().find("testsuite/testcase")
    properties = {p.get("name"): p.get("value") for p in case.find("properties")}
    assert float(properties["target_cpu_seconds"]) == pytest.approx(cpu)
    assert case.find("failure") is None

    prmon = json.loads(place.path("prmon.json").read_text())
    assert prmon["Max"]["wchar"] == result.total("io_written_bytes") and prmon["Max"]["rss"] >= 60 << 10
    heading, *rows = (line.split("\t") for line in place.path("prmon.txt").read_text().splitlines())
    assert dict(zip(heading, rows[-1]))["wchar"] == str(prmon["Max"]["wchar"])
    heading, row = place.path("e.csv").read_text().splitlines()
    assert heading.count(",") == row.count(",") == 37


def test_a_failed_run_is_a_failed_test_case(here):
    assert here.run(["sh", "-c", "exit 3"], ["-o", "junit:j.xml", "--name", "a <b> & \"c\""]).status == 3
    suite = xml.etree.ElementTree.parse(here.path("j.xml")).getroot().find("testsuite")
    case = suite.find("testcase")
    assert (suite.get("failures"), case.get("name")) == ("1", 'a <b> & "c"')
    assert case.find("failure").get("message").startswith("exit 3")
