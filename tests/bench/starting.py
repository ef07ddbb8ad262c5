# SPDX-License-Identifier: MIT
"""Wall and CPU time of `toll run -- true` against /usr/bin/time true, in turn."""
from measure import TOLL, headline, line, ns, output_of, program, rounds

TARGET = 1.25
LAPS = 400
WALL, CPU = 1, 4  # the medians among the figures of laps


def run():
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
