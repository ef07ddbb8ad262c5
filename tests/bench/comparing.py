# SPDX-License-Identifier: MIT
"""What `toll compare` says of real runs, ten in each group, which take turns: of two groups of one job,
and of a job that computes and holds 5 % more. How much runs vary on this machine is part of the answer; where it is
allowed they come first, so that other work disturbs them less."""
import json
import shutil
import statistics
import subprocess
import sys

from measure import TOLL, WORK, headline, line, rounds

TRIALS, RUNS = 100, 10
MORE_EVERY = 2  # of the trials: as many have the larger job, too
MORE = 1.06  # of what the job does itself: the start of Python is the same, so that 5 % remain
# Half of its time it sleeps: a run of less than 50 ms has a lower bound of its memory only.
JOB = """
import sys, time
share = float(sys.argv[1])
kept = bytes([1]) * int(60_000_000 * share)
sum(i * i for i in range(int(1_200_000 * share)))
time.sleep(0.05 * share)
"""
FIRST = ["chrt", "--rr", "1"]
FIGURES = {"wall_seconds": "time", "cpu_seconds": "CPU time", "memory_peak_bytes": "peak memory"}


def measure_once(before, path, share):
    subprocess.run([*before, TOLL, "run", "-q", "-o", path, "--", sys.executable, "-ISc", JOB,
                    str(share)], check=True)


def compare(place, one, other):
    found = subprocess.run([TOLL, "compare", place / one, place / other, "--json"], check=True,
                           stdout=subprocess.PIPE)
    return {f["figure"]: f for f in json.loads(found.stdout)["comparisons"][0]["figures"]}


def run():
    trials = rounds(TRIALS)
    headline(f"compare: {trials} comparisons of real runs, {RUNS} in each group, in turn")
    place = WORK / "compare"
    may_be_first = shutil.which("chrt") and not subprocess.run([*FIRST, "true"], check=False,
                                                               capture_output=True).returncode
    before = FIRST if may_be_first else []
    alarms, pairs, spread = 0, 0, {figure: [] for figure in FIGURES}
    found, changes = dict.fromkeys(FIGURES, 0), {figure: [] for figure in FIGURES}
    for trial in range(trials):
        has_more = trial % MORE_EVERY == 0
        shares = {"a": 1, "b": 1, **({"more": MORE} if has_more else {})}
        for group in shares:
            (place / group).mkdir(parents=True)
        for i in range(RUNS):
            for group, share in shares.items():
                measure_once(before, place / group / f"{i}.jsonl", share)
        same = compare(place, "a", "b")
        alarms += any(f["result"] == "different" for f in same.values())
        for figure, values in spread.items():
            base = same[figure]["baseline"]
            values.append(base["sd"] / base["mean"])
        if has_more:
            pairs += 1
            more = compare(place, "a", "more")
            for figure in FIGURES:
                f = more[figure]
                changes[figure].append(f["change_ratio"])
                found[figure] += f["result"] == "different" and f["change"] > 0
        shutil.rmtree(place)
    quiet = trials - alarms
    line("no difference shown of one job, any figure", trials, f"{quiet}", "", f"{quiet / trials:.0%}", "≥ 95 %",
         quiet >= 0.95 * trials)
    for figure, name in FIGURES.items():
        deviation = statistics.median(spread[figure])
        line(f"5 % more found: {name}", pairs, f"{found[figure]}", "", f"{found[figure] / pairs:.0%}",
             note=f"in the median {statistics.median(changes[figure]):.1%} more; runs vary by {deviation:.1%}")
