# SPDX-License-Identifier: MIT
"""toll under the name of gpu-tracker: its commands, its output, its mistakes. The templates are the
shapes that the users of that tool know: keys, order, labels, kinds of values."""
import csv
import json
import os
import pathlib
import pickle
import re
import shutil
import signal
import sqlite3
import subprocess

import pytest
from conftest import make_place
from livelib import IS_ROOT, SANITIZED, job_until, started, until
from test_gpus import LOOKED

FAKES = pathlib.Path(os.environ["TOLL_BUILD"]) / "tests/fakes"

RSS = {"total_rss": float, "private_rss": float, "shared_rss": float}
PERCENTAGES = {f"{what}_{of}_percent": float for what in ("max", "mean") for of in ("sum", "hardware")}
JSON = {
    "max_ram": {"unit": str, "system_capacity": float, "system": float,
                "main": RSS, "descendants": RSS, "combined": RSS},
    "max_gpu_ram": {"unit": str, "system_capacity": float, "system": float, "main": float,
                    "descendants": float, "combined": float},
    "cpu_utilization": {
        "system_core_count": int, "n_expected_cores": int, "system": PERCENTAGES,
        "main": PERCENTAGES, "descendants": PERCENTAGES, "combined": PERCENTAGES,
        "main_n_threads": int, "descendants_n_threads": int, "combined_n_threads": int},
    "gpu_utilization": {"system_gpu_count": int, "n_expected_gpus": int, "gpu_percentages": PERCENTAGES},
    "compute_time": {"unit": str, "time": float},
}
LABELS = {
    "max_ram": "Max RAM", "max_gpu_ram": "Max GPU RAM", "cpu_utilization": "CPU utilization",
    "gpu_utilization": "GPU utilization", "compute_time": "Compute time", "unit": "Unit",
    "system_capacity": "System capacity", "system": "System", "main": "Main",
    "descendants": "Descendants", "combined": "Combined", "total_rss": "Total RSS",
    "private_rss": "Private RSS", "shared_rss": "Shared RSS", "system_core_count": "System core count",
    "n_expected_cores": "Number of expected cores", "max_sum_percent": "Max sum percent",
    "max_hardware_percent": "Max hardware percent", "mean_sum_percent": "Mean sum percent",
    "mean_hardware_percent": "Mean hardware percent", "main_n_threads": "Main number of threads",
    "descendants_n_threads": "Descendants number of threads",
    "combined_n_threads": "Combined number of threads", "system_gpu_count": "System GPU count",
    "n_expected_gpus": "Number of expected GPUs", "gpu_percentages": "GPU percentages", "time": "Time",
}
STATUS = "Resource tracking complete. Process completed with status code: {}\n"
STATIC = ["ram_unit", "gpu_ram_unit", "time_unit", "ram_system_capacity", "gpu_ram_system_capacity",
          "system_core_count", "n_expected_cores", "system_gpu_count", "n_expected_gpus"]
POINTS = [
    "main_ram", "descendants_ram", "combined_ram", "system_ram",
    "main_gpu_ram", "descendants_gpu_ram", "combined_gpu_ram", "system_gpu_ram",
    "gpu_sum_utilization_percent", "gpu_hardware_utilization_percent",
    "main_n_threads", "descendants_n_threads", "combined_n_threads",
    *(f"cpu_{of}_{how}_utilization_percent" for of in ("system", "main", "descendants", "combined")
      for how in ("sum", "hardware")),
    "timestamp",
]


class Tracker:
    """The command under its other name, for somebody."""

    def __init__(self, place):
        self.place = place
        self.command = str(place.path("gpu-tracker"))
        os.symlink(place.toll, self.command)
        self.env = dict(os.environ)
        script = place.path("example-script.sh")
        script.write_text("sleep 0.5\necho from the script\n")  # samples see the descendant
        script.chmod(0o644)

    def __call__(self, *words, **kw):
        kw.setdefault("env", self.env)
        status, out, err = self.place.call([self.command, *words], **kw)
        return status, out.decode(), err.decode()

    def files(self):
        return sorted(p.name for p in self.place.directory.iterdir()
                      if p.name not in ("gpu-tracker", "example-script.sh", "nvml", "nvml.asked", "looked.sh", "lib"))


@pytest.fixture
def tracker(place):
    return Tracker(place)


@pytest.fixture
def one(programs):
    """For tests of many cases, of which one user will do."""
    place = make_place("root" if IS_ROOT else "nobody", programs)
    yield Tracker(place)
    shutil.rmtree(place.directory, ignore_errors=True)


def assert_like(got, template):
    """The same keys in the same order, and values of their kinds."""
    if isinstance(template, dict):
        assert list(got) == list(template)
        for key, kind in template.items():
            assert_like(got[key], kind)
    else:
        assert type(got) is template, (got, template)


def text_of(result, depth=0):
    """How that tool prints a result: labels, three spaces a level, three decimals at most."""
    lines = []
    for key, value in result.items():
        if isinstance(value, dict):
            lines += [f"{'   ' * depth}{LABELS[key]}:", *text_of(value, depth + 1)]
        else:
            shown = float(f"{value:.3f}") if isinstance(value, float) else value
            lines.append(f"{'   ' * depth}{LABELS[key]}: {shown}")
    return lines


def shape(lines):
    """Lines with their figures taken out."""
    return [re.sub(r": -?\d+\.\d{1,3}$", ": float", re.sub(r": \d+$", ": int", line)) for line in lines]


def template_of_text(ram, gpu_ram, time):
    kinds = {float: 0.5, int: 1}

    def fill(template, unit=None):
        return {k: fill(v, unit) if isinstance(v, dict) else unit if v is str else kinds[v]
                for k, v in template.items()}
    return text_of({"max_ram": fill(JSON["max_ram"], ram), "max_gpu_ram": fill(JSON["max_gpu_ram"], gpu_ram),
                    **{k: fill(JSON[k]) for k in ("cpu_utilization", "gpu_utilization")},
                    "compute_time": fill(JSON["compute_time"], time)})


# ---- The commands that its documentation shows ---------------------------------------------------

@pytest.mark.parametrize("words, units", [
    (["--st=0.3"], ("gigabytes", "gigabytes", "hours")),
    (["--tu=seconds", "--gru=megabytes", "--ru=megabytes", "--st=0.2"], ("megabytes", "megabytes", "seconds")),
])
def test_text_on_the_screen(tracker, words, units):
    status, out, _ = tracker("-e", "bash example-script.sh", *words)
    assert status == 0
    assert out.startswith("from the script\n" + STATUS.format(0))
    lines = out.split("\n")[2:]
    assert lines.pop() == ""
    assert shape(lines) == shape(template_of_text(*units))


def test_text_in_a_file(tracker):
    status, out, _ = tracker("-e", "bash example-script.sh", "-o", "out.txt", "--st=0.2")
    assert (status, out) == (0, "from the script\n" + STATUS.format(0))
    lines = tracker.place.path("out.txt").read_text().split("\n")
    assert shape(lines) == shape(template_of_text("gigabytes", "gigabytes", "hours"))
    assert tracker.files() == ["out.txt"]


def test_a_file_that_is_there_is_written_to(tracker):
    """Through a link, and where no other can be made beside it."""
    closed = tracker.place.path("closed")
    closed.mkdir()
    for name in ("out.txt", "led.txt"):
        (closed / name).touch()
        (closed / name).chmod(0o666)
    tracker.place.path("link.txt").symlink_to("closed/led.txt")
    closed.chmod(0o555)
    try:
        for output, file in (("closed/out.txt", "out.txt"), ("link.txt", "led.txt")):
            status, _, err = tracker("-e", "true", "--disable-logs", "-o", output)
            assert (status, err) == (0, "")
            assert (closed / file).read_text().startswith("Max RAM:\n")
        assert tracker.place.path("link.txt").is_symlink()
        assert sorted(path.name for path in closed.iterdir()) == ["led.txt", "out.txt"]
    finally:
        closed.chmod(0o777)


def test_json_on_the_screen(tracker):
    status, out, _ = tracker("-e", "bash example-script.sh", "-f", "json", "--st=0.2")
    head = "from the script\n" + STATUS.format(0)
    assert status == 0 and out.startswith(head)
    result = json.loads(out[len(head):])
    assert_like(result, JSON)
    assert out[len(head):] == json.dumps(result, indent=1) + "\n"  # numbers as Python prints them


def test_json_in_a_file(tracker):
    status, out, _ = tracker("-e", "bash example-script.sh", "-f", "json", "-o", "out.json", "--st=0.3")
    assert (status, out) == (0, "from the script\n" + STATUS.format(0))
    text = tracker.place.path("out.json").read_text()
    assert text == json.dumps(json.loads(text), indent=1)
    assert_like(json.loads(text), JSON)


def test_pickle_in_a_file(tracker):
    status, out, _ = tracker("-e", "bash example-script.sh", "--format=pickle", "--output=out.pkl",
                             "--st=0.2")
    assert (status, out) == (0, "from the script\n" + STATUS.format(0))
    assert_like(pickle.loads(tracker.place.path("out.pkl").read_bytes()), JSON)


def test_config_file(tracker):
    tracker.place.path("config.json").write_text(
        '{"sleep_time": 0.2, "ram_unit": "megabytes", "gpu_ram_unit": "megabytes", "time_unit": "seconds"}')
    status, out, _ = tracker("-e", "bash example-script.sh", "--tconfig=config.json", "--tu=days")
    assert status == 0
    assert shape(out.split("\n")[2:-1]) == shape(template_of_text("megabytes", "megabytes", "days"))


def test_help_and_version(tracker):
    status, out, err = tracker("-h")
    assert (status, err) == (0, "") and tracker("--help") == (status, out, err)
    for option in ("-e --execute", "-o --output", "-f --format", "--st", "--ru", "--gru", "--tu", "--nec",
                   "--guuids", "--disable-logs", "--gb", "--tf", "--overwrite", "--tconfig", "--stf",
                   "--cconfig", "-m", "-p", "--stat"):
        assert re.search(rf"^    {option}[= ]", out, re.M), option
    assert "gpu-tracker sub-track compare" in out
    status, out, err = tracker("-v")
    assert (status, err) == (0, "") and re.fullmatch(r"\d+\.\d+\.\d+\n", out)


# ---- The command that is run ---------------------------------------------------------------------

@pytest.mark.parametrize("command, printed", [
    ("""sh -c 'echo "a  b" $0' x\\ y""", "a  b x y\n"),
    ("echo 'one two'  \"three \\\"four\\\"\" $HOME *", "one two three \"four\" $HOME *\n"),
    ("printf %s|%s a ''", "a|"),
])
def test_words_are_those_of_a_shell(one, command, printed):
    status, out, _ = one("-e", command, "-o", "out.txt")
    assert (status, out) == (0, printed + STATUS.format(0))


@pytest.mark.parametrize("command, code, status", [
    ("sh -c 'exit 7'", 7, 7), ("false", 1, 1), ("sh -c 'kill -TERM $$'", -15, 143),
    ("sh -c 'kill -KILL $$'", -9, 137),
])
def test_exit_status_is_the_commands(one, command, code, status):
    got, out, _ = one("-e", command, "-o", "out.txt")
    assert (got, out) == (status, STATUS.format(code))
    assert one.files() == ["out.txt"]


def test_stdout_is_the_jobs_and_then_ours(one):
    data = bytes(range(256)) * 400
    one.place.path("data").write_bytes(data)
    done = subprocess.run([one.command, "-e", "cat data", "-o", "out.txt"], cwd=one.place.directory,
                          capture_output=True, timeout=60, check=False)
    assert done.stdout == data + STATUS.format(0).encode()


def test_signals_reach_the_command(one):
    script = "trap 'echo caught; exit 9' TERM; echo $$ > pid; while :; do sleep 0.02; done"
    with one.place.popen([one.command, "-e", f'sh -c "{script.replace("$$", chr(92) + "$$")}"', "-o", "out.txt"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
        started(one.place.path("pid"))
        p.send_signal(signal.SIGTERM)
        out, _ = p.communicate(timeout=60)
    assert p.returncode == 9
    assert out.decode() == "caught\n" + STATUS.format(9)
    assert one.place.path("out.txt").read_text().startswith("Max RAM:")


def test_figures_agree_with_toll_run(one):
    """A job that holds what it has, so that sampling does not matter."""
    hold = "/usr/bin/python3 -c 'b=bytearray(b\"x\")*50000000; import time; time.sleep(0.3)'"
    status, out, _ = one("-e", hold, "-f", "json", "--st=0.05", "--ru=bytes", "--tu=seconds", "-o", "r.json")
    assert status == 0
    result = json.loads(one.place.path("r.json").read_text())
    ram, time = result["max_ram"], result["compute_time"]["time"]
    assert 50e6 < ram["main"]["private_rss"] <= ram["main"]["total_rss"] < 90e6
    assert ram["combined"] == ram["main"]
    assert ram["descendants"] == {"total_rss": 0.0, "private_rss": 0.0, "shared_rss": 0.0}
    assert time > 0.3
    meminfo = dict(re.findall(r"^(\w+):\s+(\d+) kB", pathlib.Path("/proc/meminfo").read_text(), re.M))
    assert ram["system_capacity"] == int(meminfo["MemTotal"]) * 1024
    cpu = result["cpu_utilization"]
    assert cpu["system_core_count"] == cpu["n_expected_cores"] == os.cpu_count()
    assert cpu["main_n_threads"] == cpu["combined_n_threads"] == 1
    assert cpu["main"]["max_hardware_percent"] == pytest.approx(
        cpu["main"]["max_sum_percent"] / os.cpu_count())


def test_means_are_of_what_maxima_are_of(one):
    """However short it was: ticks of the kernel made the machine busier than its CPUs can be."""
    status, out, _ = one.place.call([one.place.toll, "layouts", "gpu-tracker", "--json"])
    columns = {c["name"]: c["terms"] for c in json.loads(out)[0]["columns"] if c["format"] == "json"}
    means = {name: terms for name, terms in columns.items() if ".mean_" in name}
    assert len(means) == 10
    assert means == {name: columns[name.replace(".mean_", ".max_")] for name in means}
    for _ in range(4):
        one("-e", "bash nosuch.sh", "-f", "json", "-o", "r.json")
        cpu = json.loads(one.place.path("r.json").read_text())["cpu_utilization"]
        for part in ("system", "main", "descendants", "combined"):
            most, mean = cpu[part]["max_sum_percent"], cpu[part]["mean_sum_percent"]
            assert (most is None) == (mean is None), (part, cpu[part])
            assert most is None or mean <= most, (part, cpu[part])
        system = cpu["system"]["mean_hardware_percent"]
        assert system is None or system <= 100


# ---- Units, to the digit -------------------------------------------------------------------------

BYTES = {"bytes": 1.0, "kilobytes": 1e-3, "megabytes": 1e-6, "gigabytes": 1e-9, "terabytes": 1e-12}
MEGABYTES = {"bytes": 1e6, "kilobytes": 1e3, "megabytes": 1.0, "gigabytes": 1e-3, "terabytes": 1e-6}
GPUS = """gpus 2
memory_total 17171480576
0.memory_used 1073741824
1.memory_used 3145728
0.utilization 63
1.utilization 10
"""


def with_gpus(tracker, facts=GPUS):
    library = tracker.place.path("lib")
    library.mkdir()
    shutil.copy(FAKES / "nvml/libnvidia-ml.so.1", library)
    library.chmod(0o755)
    tracker.place.path("nvml").write_text(facts)
    tracker.place.path("nvml").chmod(0o644)
    tracker.place.path("looked.sh").write_text(LOOKED)
    tracker.place.path("looked.sh").chmod(0o644)
    tracker.env.update(LD_LIBRARY_PATH=str(library), FAKE_NVML=str(tracker.place.path("nvml")),
                       FAKE_NVML_ASKED=str(tracker.place.path("nvml.asked")))
    return tracker


@pytest.mark.parametrize("unit", BYTES)
def test_every_unit(one, unit):
    """Time units go through with them: each is met with several others."""
    with_gpus(one)
    memory = int(re.search(r"MemTotal:\s+(\d+)", pathlib.Path("/proc/meminfo").read_text())[1]) * 1024
    for time in ("seconds", "minutes", "hours", "days"):
        gpu_unit = list(BYTES)[(list(BYTES).index(unit) + len(time)) % 5]
        one.place.path("nvml.asked").unlink(missing_ok=True)
        status, _, err = one("-e", "sh looked.sh", "--ru", unit, "--gru", gpu_unit, "--tu", time, "-f", "json", "-o", "r.json")
        assert status == 0, err
        result = json.loads(one.place.path("r.json").read_text())
        assert_like(result, JSON)
        assert (result["max_ram"]["unit"], result["max_gpu_ram"]["unit"], result["compute_time"]["unit"]) == (unit, gpu_unit, time)
        assert result["max_ram"]["system_capacity"] == pytest.approx(memory * BYTES[unit], rel=1e-15)
        gpu = result["max_gpu_ram"]
        assert gpu["system_capacity"] == pytest.approx(2 * 16376 * MEGABYTES[gpu_unit], rel=1e-15)
        assert gpu["system"] == pytest.approx((1024 + 3) * MEGABYTES[gpu_unit], rel=1e-15)
        use = result["gpu_utilization"]
        assert (use["system_gpu_count"], use["n_expected_gpus"]) == (2, 2)
        assert use["gpu_percentages"] == {"max_sum_percent": 73.0, "max_hardware_percent": 36.5,
                                          "mean_sum_percent": pytest.approx(73), "mean_hardware_percent": pytest.approx(36.5)}
        seconds = result["compute_time"]["time"] * {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400}[time]
        assert 0.2 < seconds < 100


def test_chosen_gpus(one):
    with_gpus(one)
    status, _, err = one("-e", "sh looked.sh", "--guuids=GPU-fake-1", "-f", "json", "-o", "r.json")
    assert status == 0, err
    result = json.loads(one.place.path("r.json").read_text())
    use, ram = result["gpu_utilization"], result["max_gpu_ram"]
    assert (use["system_gpu_count"], use["n_expected_gpus"]) == (2, 1)
    assert use["gpu_percentages"]["max_sum_percent"] == use["gpu_percentages"]["max_hardware_percent"] == 10.0
    # Memory is that of all GPUs, as in that tool.
    assert ram["system_capacity"] == pytest.approx(2 * 16.376) and ram["system"] == pytest.approx(1.027)


def test_several_chosen_gpus(one):
    """What is expected of them together; one that is named twice counts once."""
    with_gpus(one, GPUS.replace("gpus 2", "gpus 3") + "2.utilization 40\n2.memory_used 1048576\n")
    status, _, err = one("-e", "sh looked.sh", "--guuids=GPU-fake-1,GPU-fake-2,GPU-fake-1", "-f", "json", "-o", "r.json",
                         "--tf=points.csv")
    assert status == 0, err
    use = json.loads(one.place.path("r.json").read_text())["gpu_utilization"]
    assert (use["system_gpu_count"], use["n_expected_gpus"]) == (3, 2)
    assert (use["gpu_percentages"]["max_sum_percent"], use["gpu_percentages"]["max_hardware_percent"]) == (50.0, 25.0)
    names, static, columns, rows = read_points(one.place.path("points.csv"))
    assert static[names.index("n_expected_gpus")] == "2"
    at = columns.index("gpu_hardware_utilization_percent")
    assert {row[at] for row in rows} <= {"25.0", ""}


def test_a_brand_leaves_no_gpu_out(one):
    with_gpus(one)
    status, _, err = one("-e", "sh looked.sh", "--gb=amd", "-f", "json", "-o", "r.json")
    assert status == 0, err
    use = json.loads(one.place.path("r.json").read_text())["gpu_utilization"]
    assert (use["n_expected_gpus"], use["gpu_percentages"]["max_sum_percent"]) == (2, 73.0)


def test_chosen_gpus_where_there_are_none(one):
    """A warning, and no use of any, as in that tool."""
    status, out, err = one("-e", "true", "--guuids=GPU-fake-1", "-f", "json")
    assert status == 0
    assert err.startswith("WARNING:root:no GPU found") and err.count("\n") == 1
    result = json.loads(out[len(STATUS.format(0)):])
    use = result["gpu_utilization"]
    assert (use["system_gpu_count"], use["n_expected_gpus"]) == (0, 0)
    assert set(use["gpu_percentages"].values()) == {0.0}


def test_expected_cores(one):
    status, _, _ = one("-e", "sh -c 'i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done'", "--nec=4", "-f", "json", "-o", "r.json")
    assert status == 0
    cpu = json.loads(one.place.path("r.json").read_text())["cpu_utilization"]
    assert cpu["n_expected_cores"] == 4
    assert cpu["main"]["max_sum_percent"] > 0
    for part in ("main", "combined"):
        for which in ("max", "mean"):
            assert cpu[part][f"{which}_hardware_percent"] == pytest.approx(cpu[part][f"{which}_sum_percent"] / 4)


# ---- What a crash leaves -------------------------------------------------------------------------

class AsDictionaries(pickle.Unpickler):
    """Makes a dictionary of each data class; nothing else."""

    def find_class(self, module, name):
        assert module == "toll.compat.gpu_tracker.tracker"
        return type(name, (dict,), {"__setstate__": dict.update})


def test_a_crash_leaves_a_backup(one):
    """The file that the original has too: results so far, from the start on."""
    hold = ("/usr/bin/python3 -c 'import os, time; b=bytearray(b\"x\")*30000000; "
            "print(os.getpid(), file=open(\"held\", \"w\")); time.sleep(600)'")
    with one.place.popen([one.command, "-e", hold, "--ru=bytes", "--st=0.05", "--disable-logs"]) as p:
        job = 0
        try:
            job = started(one.place.path("held"))
            found = until(lambda: [path for path in one.place.directory.glob(".gpu-tracker_*.pkl")], "a backup")
            assert re.fullmatch(r"\.gpu-tracker_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.pkl", found[0].name)

            def holds():
                with open(found[0], "rb") as file:
                    return (AsDictionaries(file).load()["max_ram"]["main"]["total_rss"] or 0) > 30e6
            until(holds, "a backup with the memory of the command")
            p.kill()
            p.wait(60)
        finally:
            p.kill()
            if job:
                os.kill(job, signal.SIGKILL)
    with open(found[0], "rb") as file:
        assert_like(AsDictionaries(file).load(), JSON)


def test_no_backup_is_left_behind(one):
    """Nor is one tried where none can be; a name that was asked for is used."""
    one.place.path("c.json").write_text('{"resource_usage_file": "mine.pkl"}')
    status, _, err = one("-e", f"sh -c '{job_until('[ -e mine.pkl ]')}; [ -e mine.pkl ]'", "--tconfig=c.json",
                         "-o", "r.txt", "--disable-logs")
    assert (status, err) == (0, "")
    assert one.files() == ["c.json", "r.txt"]
    closed = one.place.path("closed")
    closed.mkdir()
    closed.chmod(0o555)
    status, _, err = one("-e", "true", "--disable-logs", cwd=closed)
    assert (status, err) == (0, "")


# ---- The tracking file ---------------------------------------------------------------------------

def read_points(path):
    if path.suffix == ".csv":
        text = path.read_bytes().decode()
        assert text.count("\r\n") == text.count("\n")
        rows = list(csv.reader(text.splitlines()))
        return rows[0], rows[1], rows[2], rows[3:]
    with sqlite3.connect(path) as db:
        static = db.execute("SELECT * FROM static_data")
        names = [c[0] for c in static.description]
        data = db.execute("SELECT * FROM data")
        result = (names, [str(v) for v in static.fetchone()], [c[0] for c in data.description],
                  [["" if v is None else str(v) for v in row] for row in data])
    db.close()
    return result


@pytest.mark.parametrize("suffix", ["csv", "sqlite"])
def test_tracking_file(tracker, suffix):
    # The rows come when they are measured; those of SQLite into a CSV beside it, until the end.
    tracker.place.path("example-script.sh").write_text(job_until("[ $(cat points.csv .points.*.csv 2>&- | wc -l) -ge 6 ]"))
    status, _, err = tracker("-e", "bash example-script.sh", f"--tf=points.{suffix}", "--st=0.05", "--ru=megabytes",
                             "-f", "json", "-o", "r.json", "--disable-logs")
    assert (status, err) == (0, "")
    names, static, columns, rows = read_points(tracker.place.path(f"points.{suffix}"))
    assert names == STATIC and columns == POINTS
    assert static[:3] == ["megabytes", "gigabytes", "hours"]
    assert static[5:] == [str(os.cpu_count())] * 2 + ["0", "0"]
    assert len(rows) >= 3
    result = json.loads(tracker.place.path("r.json").read_text())
    largest = {name: max(float(row[i] or 0) for row in rows) for i, name in enumerate(columns)}
    assert largest["main_n_threads"] == result["cpu_utilization"]["main_n_threads"]
    # The result has the look at the very start, too, which is no time point; what else runs on the machine may
    # have had more memory then.
    assert result["max_ram"]["system"] / 2 < largest["system_ram"] <= result["max_ram"]["system"]
    assert largest["main_ram"] <= result["max_ram"]["main"]["total_rss"] * (1 + 1e-9)
    times = [float(row[-1]) for row in rows]
    assert times == sorted(times)
    assert tracker.files() == [f"points.{suffix}", "r.json"]
    # … and the analysis reads it.
    begin, end = times[0] - 1e-3, (times[1] + times[2]) / 2
    tracker.place.path("b.csv").write_text(
        f"process_id,code_block_name,position,timestamp\n1,all,0,{begin!r}\n1,all,1,{end!r}\n")
    status, out, err = tracker("sub-track", "analyze", f"--tf=points.{suffix}", "--stf=b.csv", "-f", "json")
    assert (status, err) == (0, "")
    analysis = json.loads(out)
    assert list(analysis["overall"]) == POINTS[:-1]
    assert analysis["overall"]["system_ram"]["max"] == pytest.approx(largest["system_ram"])
    assert analysis["code_block_results"][0]["num_timepoints"] == 2


@pytest.mark.parametrize("suffix", ["csv", "sqlite"])
def test_tracking_file_that_is_there(one, suffix):
    path = one.place.path(f"points.{suffix}")
    path.write_text("precious")
    for words, sentence in ((["true"], "already exists. Set overwrite to True to overwrite the existing file."),):
        status, out, err = one("-e", *words, f"--tf={path}")
        assert (status, out) == (1, "") and err.startswith("FileExistsError: File ") and sentence in err
        assert path.read_text() == "precious"
    status, _, err = one("-e", "no-such-command", f"--tf={path}", "--overwrite")
    assert status == 1 and "Command not found" in err
    assert path.read_text() == "precious"
    status, _, err = one("-e", "sleep 0.05", f"--tf={path}", "--overwrite", "--disable-logs", "-o", "r.txt")
    assert (status, err) == (0, "")
    assert read_points(path)[2] == POINTS
    assert one.files() == [path.name, "r.txt"]


def test_tracking_file_that_somebody_makes_meanwhile(one):
    """It is left alone, and the rows are not lost."""
    path = one.place.path("points.sqlite")
    status, _, err = one("-e", "cp example-script.sh points.sqlite", "--tf=points.sqlite", "--disable-logs",
                         "-o", "r.txt")
    said = re.fullmatch("FileExistsError: File points.sqlite was made by another process meanwhile; its rows "
                        r"are in (/.*/\.points\.sqlite\.[0-9a-f]+\.csv)\n", err)
    assert status == 0 and said, err
    assert path.read_text() == one.place.path("example-script.sh").read_text()
    assert read_points(pathlib.Path(said[1]))[2] == POINTS


def test_marks_are_code_blocks(one):
    """The layout's samples and the phases of the job, analyzed together."""
    # The rows of this layout come when they are measured.
    rows = "[ $(wc -l <points.csv) -ge $((before + 3)) ]"
    script = ('"$TOLL" mark phase begin load; before=$(wc -l <points.csv); sleep 0.12; '
              f'{job_until(rows)}; "$TOLL" mark phase end load')
    status, _, err = one.place.call(
        [one.place.toll, "run", "-q", "-i", "20ms", "--layout", "gpu-tracker,ram_unit=megabytes",
         "-o", "points.csv", "-o", "run.sub-tracking.csv", "--", "sh", "-c", script],
        env={**os.environ, "TOLL": one.place.toll})
    assert (status, err) == (0, b"")
    status, out, _ = one.place.call([one.place.toll, "sub-tracking", "analyze", "points.csv", "run.sub-tracking.csv", "-f", "json"])
    assert status == 0
    [block] = json.loads(out)["code_block_results"]
    assert (block["name"], block["num_calls"], block["num_non_empty_calls"]) == ("load", 1, 1)
    assert block["num_timepoints"] >= 2
    assert 0.12 <= block["compute_time"]["total"] < 30


# ---- Code blocks ---------------------------------------------------------------------------------

def test_sub_track(one):
    points = "main_ram,timestamp\n1.0,10.0\n3.0,11.0\n5.0,12.0\n"
    one.place.path("points.csv").write_text(points)
    heading = "process_id,code_block_name,position,timestamp\n"
    one.place.path("1.csv").write_text(heading + "1,f,0,9.5\n1,f,1,11.5\n")
    one.place.path("2.csv").write_text(heading + "2,f,0,12.0\n2,f,1,13.0\n")
    assert one("sub-track", "combine", "--stf=all.csv", "-p", "1.csv", "-p", "2.csv") == (0, "", "")
    for name, blocks in (("A", "all.csv"), ("B", "1.csv")):
        assert one("sub-track", "analyze", "--tf=points.csv", f"--stf={blocks}", "--format=pickle",
                   f"--output={name}.pkl") == (0, "", "")
    status, out, err = one("sub-track", "compare", "-m", "A=A.pkl", "-m", "B=B.pkl", "--stat=max")
    assert (status, err) == (0, "")
    assert out == ("Overall Resource Usage:\n\tMain Ram:\n\t\t   A   B\n\t\t 5.0 5.0\n"
                   "Code Block Resource Usage:\n\tMain Ram:\n\t\tf:\n\t\t\t   B   A\n\t\t\t 3.0 5.0\n"
                   "Code Block Compute Time:\n\tf:\n\t\t   A   B\n\t\t 2.0 2.0\n\n")
    one.place.path("c.json").write_text('{"file_path_map": {"A": "A.pkl"}, "statistic": "min"}')
    status, out, err = one("sub-track", "compare", "--cconfig=c.json", "-m", "B=B.pkl", "--stat", "max", "-f", "json")
    assert (status, err) == (0, "")
    assert json.loads(out)["code_block_resource_usage"] == {"main_ram": {"f": {"B": 3.0, "A": 5.0}}}
    assert one("sub-track", "combine", "--stf=all.csv", "-p", "1.csv") == (
        1, "", "FileExistsError: Cannot create sub-tracking file all.csv. File already exists.\n")


# ---- Mistakes ------------------------------------------------------------------------------------

UNITS = "bytes, gigabytes, kilobytes, megabytes, terabytes"


@pytest.mark.parametrize("words, says", [
    (["-e", ""], "ERROR:root:Empty command provided."),
    (["-e", " \t "], "ERROR:root:Empty command provided."),
    (["-e", "no-such-command -x"], 'ERROR:root:Command not found: "no-such-command"'),
    (["-e", "echo 'open"], "ValueError: No closing quotation"),
    (["-e", "touch ran", "--ru=parsecs"], f'ValueError: "parsecs" is not a valid RAM unit. Valid values are {UNITS}'),
    (["-e", "touch ran", "--gru=x"], f'ValueError: "x" is not a valid GPU RAM unit. Valid values are {UNITS}'),
    (["-e", "touch ran", "--tu=years"], 'ValueError: "years" is not a valid time unit. Valid values are days, hours, minutes, seconds'),
    (["-e", "touch ran", "-f", "xml"], 'ERROR:root:"xml" is not a valid format. Valid values are "json" or "text".\n'),
    (["-e", "touch ran", "--st=soon"], "ValueError: could not convert string to float: 'soon'"),
    (["-e", "touch ran", "--st=0"], "ValueError: Sleep time of 0 is invalid."),
    (["-e", "touch ran", "--nec=two"], "ValueError: invalid literal for int() with base 10: 'two'"),
    (["-e", "touch ran", "--nec=0"], "ValueError: The number of expected cores"),
    (["-e", "touch ran", "--guuids="], "ValueError: gpu_uuids is not None but the set is empty."),
    (["-e", "touch ran", "--guuids=GPU-nobody"], "ValueError: GPU UUID of GPU-nobody is not valid. Available UUIDs are: GPU-fake-0, GPU-fake-1\n"),
    (["-e", "touch ran", "--gb=matrox"], 'ValueError: "matrox" is not a valid GPU brand. Supported values are "nvidia" and "amd".'),
    (["-e", "touch ran", "--tf=points.txt"], 'ValueError: Invalid file name: "points.txt". Valid file extensions are ".csv" and ".sqlite".'),
    (["-e", "touch ran", "-o", "no/such/out.txt"], "FileNotFoundError: no/such/out.txt: No such file or directory"),
    (["-e", "touch ran", "--tf=no/such.sqlite"], "FileNotFoundError: no/such.sqlite: No such file or directory"),
    (["-e", "touch ran", "--tconfig=nowhere.json"], "FileNotFoundError: nowhere.json: No such file or directory"),
    (["-e", "touch ran", "--tconfig=bad.json"], "ValueError: bad.json: malformed JSON"),
    (["-e", "touch ran", "--tconfig=odd.json"], "ValueError: odd.json: Tracker.__init__() got an unexpected keyword argument 'colour'"),
    (["-e", "touch ran", "--tconfig=type.json"], 'ValueError: type.json: the value of "ram_unit" has the wrong type'),
    (["sub-track", "analyze", "--tf=a.csv", "--stf=b.csv"], "FileNotFoundError: b.csv: No such file or directory"),
    (["sub-track", "compare", "-m", "A=bad.json"], "ValueError: bad.json: not the results"),
    (["sub-track", "compare"], "ERROR:root:A mapping of tracking session name to file path must be provided either "
     "through the -m option or a config file.\n"),
    (["sub-track", "compare", "-m", "A=bad.json", "-f", "xml"], 'ERROR:root:"xml" is not a valid format.'),
])
def test_mistakes_are_a_line_and_nothing_else(one, words, says):
    with_gpus(one)
    one.place.path("bad.json").write_text("{")
    one.place.path("odd.json").write_text('{"colour": 1}')
    one.place.path("type.json").write_text('{"ram_unit": 1}')
    before = one.files()
    status, out, err = one(*words)
    assert (status, out) == (1, "")
    assert err.startswith(says) and err.count("\n") == 1
    assert one.files() == before  # the command was not run, and nothing was written


@pytest.mark.parametrize("words, says", [
    ([], "--execute=<command> is missing"),
    (["-o", "x"], "--execute=<command> is missing"),
    (["-e"], "-e: value missing"),
    (["--execute"], "--execute: value missing"),
    (["-e", "true", "--stf=x"], "these options cannot be combined"),
    (["-e", "true", "more"], "unexpected argument 'more' (a command is one argument after -e)"),
    (["bash", "script.sh"], "unexpected argument 'bash' (a command is one argument after -e)"),
    (["--never"], "unknown option '--never'"),
    (["--help-me"], "unknown option '--help-me'"),
    (["-x"], "unknown option '-x'"),
    (["--help=me"], "--help=me: no value expected"),
    (["sub-track"], "sub-track: expected combine, analyze or compare"),
    (["sub-track", "dance"], "sub-track: expected combine, analyze or compare, not dance"),
    (["sub-track", "combine", "x"], "sub-track: expected combine, analyze or compare, not x"),
    (["sub-track", "analyze", "--tf=x.csv"], "--stf=<sub-track-file> is missing"),
    (["sub-track", "analyze", "--stf=x.csv"], "--tf=<tracking-file> is missing"),
    (["sub-track", "combine"], "--stf=<sub-track-file> is missing"),
    (["sub-track", "combine", "--stf=x.csv", "--stat=max"], "these options cannot be combined"),
    (["-e", "true", "--overwrite=yes"], "--overwrite=yes: no value expected"),
])
def test_wrong_words_are_named_and_show_the_usage(one, words, says):
    status, out, err = one(*words)
    assert (status, out) == (1, "")
    assert err.startswith(f"{says}\nUsage:\n    gpu-tracker -h | --help\n") and one.files() == []


def test_command_that_cannot_be_executed(one):
    one.place.path("plain").write_text("no program")
    status, out, err = one("-e", "./plain --now")
    assert (status, out) == (1, "[Errno 13] Permission denied: './plain'\n")
    assert err.endswith('ERROR:root:The following error occurred when starting the command "./plain":\n')
