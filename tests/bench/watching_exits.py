# SPDX-License-Identifier: MIT
"""What --watch-exits costs a job that does nothing but start processes: with and without, in turn."""
import json

from measure import TOLL, WORK, headline, line, median, ns, output_of, program, quartiles, rounds

COUNTS = {"vfork": 4000, "fork": 3000, "exec": 600}
NAMES = {"vfork": "vfork, ends at once", "fork": "fork, ends at once", "exec": "posix_spawn of true"}
SUMMARY = WORK / "exits.json"


def storm(way, *options):
    """What one process took, (wall, CPU) in ns, as the job itself measures it."""
    out = output_of(TOLL, "run", "-q", "-i", "100ms", "-o", str(SUMMARY), *options, "--",
                    program("storm"), way, str(COUNTS[way]))
    started = json.loads(SUMMARY.read_text())["target"]["combined"]["processes_started"]
    if options and (started["quality"], started["total"]) != ("exact", 1 + COUNTS[way]):
        raise RuntimeError(f"the kernel's records are not complete here: {started}")
    return [int(word) for word in out.split()]


def run():
    headline("A process started with --watch-exits and without")
    for way, name in NAMES.items():
        storm(way)
        pairs = [(storm(way, "--watch-exits"), storm(way)) for _ in range(rounds(11))]
        for i, what in enumerate(("wall time", "CPU time")):
            watched, plain = (median([pair[k][i] for pair in pairs]) for k in (0, 1))
            ratios = [a[i] / b[i] for a, b in pairs]
            low, high = quartiles(ratios)
            line(f"{name}, {what}", "", ns(watched), f"{ns(plain)} without",
                 f"{median(ratios):.2f} ×",
                 note=f"half of the {len(pairs)} pairs: {low:.2f} to {high:.2f}")
