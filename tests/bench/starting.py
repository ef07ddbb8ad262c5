# SPDX-License-Identifier: MIT
"""What it costs to start: `toll run -- true` against /usr/bin/time true; and, by a job that does nothing but
start processes, the records of their ends, with --watch-exits, with --exact and without. All in turn."""
import json

from measure import TOLL, WORK, headline, line, median, ns, output_of, program, quartiles, rounds


# ---- toll itself ----------------------------------------------------------------------------------

TARGET = 1.25
LAPS = 400
WALL, CPU = 1, 4  # the medians among the figures of laps


def starting():
    headline("Starting and ending: the command `true`")
    out = output_of(program("laps"), str(rounds(LAPS)), "/bin/true", "--", "/usr/bin/time",
                    "/bin/true", "--", TOLL, "run", "/bin/true", "--", TOLL, "run", "-q",
                    "/bin/true")
    bare, timed, toll, quiet = ([float(q) for q in row.split()] for row in out.splitlines())
    for name, of in ("wall", WALL), ("CPU", CPU):
        ratio = toll[of] / timed[of]
        line("toll run -- true", name, ns(toll[of]), f"{ns(timed[of])} /usr/bin/time",
             f"{ratio:.2f} ×", f"≤ {TARGET} ×", ratio <= TARGET,
             f"quartiles {ns(toll[of - 1])} and {ns(toll[of + 1])}")
        line("toll run -q -- true", name, ns(quiet[of]), f"{ns(timed[of])} /usr/bin/time",
             f"{quiet[of] / timed[of]:.2f} ×")
        line("toll run -- true", name, ns(toll[of]), f"{ns(bare[of])} bare",
             f"{toll[of] / bare[of]:.2f} ×")


# ---- The processes of the job ---------------------------------------------------------------------

COUNTS = {"vfork": 4000, "fork": 3000, "exec": 600}
NAMES = {"vfork": "vfork, ends at once", "fork": "fork, ends at once", "exec": "posix_spawn of true"}
SUMMARY = WORK / "exits.json"


# A record of each end is an allowance of three parts in a hundred.
SLOWDOWN = 1.03


def storm(way, *options):
    """What one process took, (wall, CPU) in ns, as the job itself measures it."""
    out = output_of(TOLL, "run", "-q", "-i", "100ms", "-o", str(SUMMARY), *options, "--",
                    program("storm"), way, str(COUNTS[way]))
    started = json.loads(SUMMARY.read_text())["target"]["combined"]["processes_started"]
    if options and (started["quality"], started["total"]) != ("exact", 1 + COUNTS[way]):
        raise RuntimeError(f"the kernel's records are not complete here: {started}")
    return [int(word) for word in out.split()]


def watching_exits():
    headline("A process started with --watch-exits or --exact, and without")
    for way, name in NAMES.items():
        storm(way)
        found = [[storm(way), storm(way, "--watch-exits"), storm(way, "--exact")]
                 for _ in range(rounds(11))]
        for k, option in ((1, "--watch-exits"), (2, "--exact")):
            for i, what in enumerate(("wall time", "CPU time")):
                plain, watched = (median([turn[j][i] for turn in found]) for j in (0, k))
                ratios = [turn[k][i] / turn[0][i] for turn in found]
                low, high = quartiles(ratios)
                is_target = option == "--exact" and what == "CPU time"
                met = median(ratios) < SLOWDOWN if is_target else None
                if is_target and not met and low < SLOWDOWN:
                    met = "noise"
                line(f"{name}, {what}, {option}", "", ns(watched), f"{ns(plain)} without",
                     f"{median(ratios):.2f} ×", f"< {SLOWDOWN} ×" if is_target else "", met,
                     note=f"half of the {len(found)} turns: {low:.2f} to {high:.2f}")
