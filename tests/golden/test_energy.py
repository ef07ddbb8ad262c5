# SPDX-License-Identifier: MIT
"""The job's share of energy, on recorded machines: by RAPL, per package, from a low to a high end."""

import csv
import json
import os
import shutil
import subprocess

import pytest
from hostlib import NOBODY, shared_place
from recorded import TOLL, replay

RANGE = 262_143_328_850
DENIED = "only root can read the energy counters"


class Run:
    """A machine of CPUs that are busy for so many seconds, a job, and zones of powercap."""

    def __init__(self, directory, packages=(0, 0), topology=True):
        self.directory, self.packages, self.topology, self.looks = directory, packages, topology, 0
        directory.mkdir()
        self.script = ["start 1795046400.000", "host box", "kernel 6.12.0",
                       f"cpus {len(packages)}", "command work", "tracker 99", "main 100",
                       "attach t000"]

    def at(self, seconds, job, busy, zones, word="tick"):
        """The job's CPU time and that of each CPU in seconds; zones: {"intel-rapl:0": (name, uj)}."""
        tree = self.directory / f"t{self.looks:03}"
        files = {"proc/loadavg": "0.00 0.00 0.00 1/9 100\n", "proc/uptime": "1000.00 1000.00\n"}
        lines = [(f"cpu{i}", round(s * 100)) for i, s in enumerate(busy)]
        files["proc/stat"] = "".join(
            f"{name} {ticks} 0 0 90000 0 0 0 0 0 0\n"
            for name, ticks in [("cpu ", sum(t for _, t in lines)), *lines]
        ) + "intr 1\nctxt 1\nbtime 1\nprocesses 1\nprocs_running 1\nprocs_blocked 0\n"
        ticks = round(job * 100)
        files["proc/100/stat"] = (f"100 (work) R 99 100 100 0 -1 0 10 0 0 0 {ticks} 0 0 0 20 0 1 0 500 "
                                  "1000000 250 18446744073709551615" + " 0" * 26 + "\n")
        files["proc/100/io"] = ("rchar: 0\nwchar: 0\nsyscr: 0\nsyscw: 0\nread_bytes: 0\n"
                                "write_bytes: 0\ncancelled_write_bytes: 0\n")
        for cpu, package in enumerate(self.packages if self.topology else ()):
            place = f"sys/devices/system/cpu/cpu{cpu}/topology"
            files |= {f"{place}/physical_package_id": f"{package}\n", f"{place}/die_id": "0\n"}
        for zone, (name, energy) in zones.items():
            place = f"sys/class/powercap/{zone}"
            files |= {f"{place}/name": f"{name}\n", f"{place}/energy_uj": f"{energy}\n",
                      f"{place}/max_energy_range_uj": f"{RANGE}\n"}
        (tree / "sys").mkdir(parents=True)
        for path, text in files.items():
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_text(text)
        self.script.append(f"{word} {seconds:.3f} t{self.looks:03}")
        self.looks += 1
        self.seconds = seconds

    def mark(self, seconds, text):
        self.script.append(f"mark {seconds:.3f} 100 {text}")

    def end(self, job):
        self.script += ["reaped 100 exit 0", f"usage {job} 0 10 0 1 1 1000", "io 0 0 0 0 0 0 0",
                        f"look {self.seconds:.3f} t{self.looks:03}"]
        shutil.copytree(self.directory / f"t{self.looks - 1:03}", self.directory / f"t{self.looks:03}")
        shutil.rmtree(self.directory / f"t{self.looks:03}/proc/100")
        (self.directory / "script").write_text("\n".join(self.script) + "\n")


def summary(run, *options, user=None):
    result = replay(run.directory, "--summary", "json", *options, user=user)
    assert result.returncode == 0, result.stderr.decode()
    return json.loads(result.stderr[result.stderr.index(b"{\n"):])


def one(energy, **more):
    return {"intel-rapl:0": ("package-0", energy)} | {
        f"intel-rapl:0:{i}": (name, value) for i, (name, value) in enumerate(more.items())}


def joules(read):
    energy = read["job_energy"]
    return energy["joules_low"], energy["joules_high"]


def whole(tmp_path, start=1_000_000):
    """Two CPUs, 10 s: 200 J by the package and 20 J by its memory; the cores are a part of it. The
    machine is busy for 10 s of 20, of which the job has 5."""
    run = Run(tmp_path / "run")
    for t in range(11):
        uj = (start + 20_000_000 * t) % RANGE
        run.at(t, t / 2, (t / 2, t / 2), one(uj, core=9 * t, dram=5 + 2_000_000 * t))
    run.end(5)
    return run


def test_share_is_between_idle_to_nobody_and_idle_to_those_that_ran(tmp_path):
    read = summary(whole(tmp_path), "--energy")
    low, high = joules(read)
    assert low == pytest.approx(220 * 5 / 20)
    assert high == pytest.approx(220 * 5 / 10)
    assert read["job_energy"]["quality"] == "sampled"
    assert read["job_energy"]["from"] == "RAPL"
    assert "why" not in read["job_energy"]
    combined = read["target"]["combined"]
    assert combined["energy_cpu_low_joules"]["total"] == pytest.approx(low)
    assert combined["energy_cpu_high_joules"]["total"] == pytest.approx(high)


def test_counter_that_wraps_goes_on(tmp_path):
    low, high = joules(summary(whole(tmp_path, RANGE - 50_000_000), "--energy"))
    assert (low, high) == (pytest.approx(55), pytest.approx(110))


def test_prices(tmp_path):
    read = summary(whole(tmp_path), "--carbon", "300", "--price", "0.40EUR", "--price-hour", "3.60",
                   "--pue", "1.5")["job_energy"]
    kwh = 55 * 1.5 / 3.6e6
    assert read["kwh_low"] == pytest.approx(kwh, abs=1e-9)
    assert read["kwh_high"] == pytest.approx(2 * kwh, abs=1e-9)
    assert read["co2e_grams_low"] == pytest.approx(300 * kwh, abs=1e-9)
    assert read["cost_low"] == pytest.approx(0.01 + 0.4 * kwh, abs=1e-9)
    assert read["cost_high"] == pytest.approx(0.01 + 0.8 * kwh, abs=1e-9)
    assert (read["currency"], read["pue"]) == ("EUR", 1.5)


@pytest.mark.parametrize("options, energy", [(("--energy", "--pue", "1.5"), 110), ((), 200)])
def test_emissions_of_codecarbon_include_the_pue(tmp_path, options, energy):
    """Energy and what comes from it, but not power, in both of its modes."""
    pue = "" if options else ",pue=1.5"
    summary(whole(tmp_path), "--system", *options, "-o", f"@codecarbon,carbon=300{pue}:{tmp_path}/e.csv")
    [row] = csv.DictReader((tmp_path / "e.csv").read_text().splitlines())
    kwh = energy * 1.5 / 3.6e6
    assert row["tracking_mode"] == ("process" if options else "machine") and row["pue"] == "1.5"
    assert float(row["cpu_energy"]) == float(row["energy_consumed"]) == pytest.approx(kwh)
    assert float(row["emissions"]) == pytest.approx(0.3 * kwh)
    assert float(row["emissions_rate"]) == pytest.approx(0.03 * kwh)
    assert float(row["cpu_power"]) == pytest.approx(energy / 10)


def test_carbon_of_a_file_changes_with_time(tmp_path):
    # The run begins at 2026-11-19T00:00:00Z and has 11 J a second at least.
    steps = tmp_path / "carbon"
    steps.write_text("# g/kWh\n2026-11-18T12:00Z 100\n2026-11-19T00:00:05.500Z 400\n")
    run = whole(tmp_path)
    read = summary(run, "--carbon", str(steps))["job_energy"]
    assert read["co2e_grams_low"] == pytest.approx((27.5 * 100 + 27.5 * 400) / 3.6e6, abs=1e-9)
    steps.write_text("2026-11-19T00:00:05.500Z 400\n")  # nothing is known before
    read = summary(run, "--carbon", str(steps))["job_energy"]
    assert read["co2e_grams_low"] == pytest.approx(27.5 * 400 / 3.6e6, abs=1e-9)
    assert read["co2e_grams_high"] is None


def test_two_packages_bracket_where_the_job_ran(tmp_path):
    """CPU 0 on a package of 20 W, CPU 1 on one of 10 W; each half busy, and the job has half of
    what is busy: on the first it would have 50 to 100 J, on the second 25 to 50 J."""
    run = Run(tmp_path / "run", packages=(0, 1))
    for t in range(11):
        run.at(t, t / 2, (t / 2, t / 2),
               {"intel-rapl:0": ("package-0", 20_000_000 * t),
                "intel-rapl:1": ("package-1", 10_000_000 * t)})
    run.end(5)
    low, high = joules(summary(run, "--energy"))
    assert low == pytest.approx(10 * 10 * 0.5)
    assert high == pytest.approx(200)


def test_idle_package_is_not_the_jobs(tmp_path):
    run = Run(tmp_path / "run", packages=(0, 1))
    for t in range(11):
        run.at(t, t, (t, 0), {"intel-rapl:0": ("package-0", 20_000_000 * t),
                              "intel-rapl:1": ("package-1", 10_000_000 * t)})
    run.end(10)
    assert joules(summary(run, "--energy")) == (pytest.approx(200), pytest.approx(200))


def test_missing_package_makes_it_unknown(tmp_path):
    """CPU 1 is on a package without a counter: nothing is known of what the job used there."""
    run = Run(tmp_path / "run", packages=(0, 1))
    for t in range(11):
        run.at(t, t, (t, 0), {"intel-rapl:0": ("package-0", 20_000_000 * t)})
    run.end(10)
    read = summary(run, "--energy")
    assert joules(read) == (None, None)
    assert read["job_energy"]["quality"] == "unknown"
    assert "processors" in read["job_energy"]["why"]


def test_counter_that_stops_leaves_a_lower_bound(tmp_path):
    run = Run(tmp_path / "run")
    for t in range(11):
        run.at(t, t, (t, 0), one(20_000_000 * t) if t <= 5 else {})
    run.end(10)
    read = summary(run, "--energy")
    assert joules(read) == (pytest.approx(50), None)
    assert read["job_energy"]["quality"] == "lower bound"
    assert read["target"]["combined"]["energy_cpu_low_joules"]["quality"] == "lower bound"
    assert read["target"]["combined"]["energy_cpu_high_joules"]["quality"] == "unknown"
    text = replay(run.directory, "--price", "0.3").stderr.decode()
    assert "Job energy ≥ 50" in text and "part of the run is missing" in text


def test_machine_without_counters(tmp_path):
    run = Run(tmp_path / "run")
    for t in range(3):
        run.at(t, t, (t, 0), {})
    run.end(2)
    read = summary(run, "--carbon", "300", "--price", "0.3", "--price-hour", "1.8")
    assert joules(read) == (None, None)
    assert read["job_energy"]["co2e_grams_low"] is None
    assert read["job_energy"]["cost_low"] == pytest.approx(0.001)  # the hours are certain
    assert read["job_energy"]["cost_high"] is None
    text = replay(run.directory, "--carbon", "300").stderr.decode()
    assert "Job energy unknown" in text and "toll doctor" in text and "CO2e unknown" in text


def test_short_run_is_unknown(tmp_path):
    run = Run(tmp_path / "run")
    for t in (0, 0.5, 0.9):
        run.at(t, t, (t, 0), one(round(20_000_000 * t)))
    run.end(0.9)
    read = summary(run, "--energy")
    assert joules(read) == (None, None)
    assert "shorter than 1 s" in read["job_energy"]["why"]
    assert read["target"]["combined"]["energy_cpu_low_joules"]["quality"] == "unknown"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it makes files for another user")
def test_root_only_counters_are_unknown_to_others(tmp_path):
    with shared_place() as place:
        run = whole(place)
        for file in run.directory.rglob("energy_uj"):
            file.chmod(0o400)
        read = summary(run, "--energy", user=NOBODY)
    assert joules(read) == (None, None)
    assert any(DENIED in note for note in read["notes"])


def test_nothing_without_the_option(tmp_path):
    read = summary(whole(tmp_path))
    assert "job_energy" not in read
    assert not [name for name in read["target"]["combined"] if "energy" in name]


def test_metrics_by_name_measure_energy(tmp_path):
    read = summary(whole(tmp_path), "--metrics", "energy_cpu_*")
    assert set(read["target"]["combined"]) == {"energy_cpu_low_joules", "energy_cpu_high_joules"}


def test_phases_have_their_own(tmp_path):
    run = Run(tmp_path / "run")
    for t in range(11):
        run.at(t, t, (t, 0), one(20_000_000 * t if t < 4 else 60_000_000 + 40_000_000 * (t - 3)))
        if t == 3:
            run.mark(3, "phase begin heavy")
        if t == 8:
            run.mark(8, "phase end heavy")
    run.end(10)
    phases = summary(run, "--energy")["phases"]
    figures = {phase["name"]: phase["figures"] for phase in phases}["heavy"]
    assert figures["energy_cpu_low_joules"]["total"] == pytest.approx(100)
    assert figures["energy_cpu_high_joules"]["total"] == pytest.approx(200)


def test_record_and_sqlite_keep_it(tmp_path):
    run = whole(tmp_path)
    for name in ("run.jsonl", "run.sqlite"):
        result = replay(run.directory, "-q", "--price", "0.3EUR", "-o", tmp_path / name)
        assert result.returncode == 0, result.stderr.decode()
        exported = subprocess.run([TOLL, "export", tmp_path / name, "-q", "-o", tmp_path / "back.json"],
                                  capture_output=True, check=False)
        assert exported.returncode == 0, exported.stderr.decode()
        energy = json.loads((tmp_path / "back.json").read_text())["job_energy"]
        (tmp_path / "back.json").unlink()
        assert energy["joules_low"] == pytest.approx(55)
        assert energy["currency"] == "EUR"


@pytest.mark.parametrize("option", [
    ("--price", "cheap"), ("--price", "1EUR", "--price-hour", "1USD"), ("--pue", "0.5"),
    ("--carbon", "/no/such/file"), ("--price-hour", "-1"),
])
def test_wrong_values_are_refused(tmp_path, option):
    result = replay(whole(tmp_path).directory, *option)
    assert result.returncode == 125
    assert f"toll: {option[-2]}: ".encode() in result.stderr and b"expected" in result.stderr
