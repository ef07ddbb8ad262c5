# SPDX-License-Identifier: MIT
"""Wall time of `toll run -- true` against /usr/bin/time true, in turn."""
from measure import TOLL, headline, line, ns, output_of, program, rounds

TARGET = 1.5
LAPS = 400


def run():
    headline("Starting and ending: wall time of the command `true`")
    out = output_of(program("laps"), str(rounds(LAPS)), "/bin/true", "--", "/usr/bin/time",
                    "/bin/true", "--", TOLL, "run", "/bin/true", "--", TOLL, "run", "-q",
                    "/bin/true")
    bare, timed, toll, quiet = ([float(q) for q in row.split()] for row in out.splitlines())
    ratio = toll[1] / timed[1]
    line("toll run -- true", "", ns(toll[1]), f"{ns(timed[1])} /usr/bin/time", f"{ratio:.2f} ×",
         f"≤ {TARGET} ×", ratio <= TARGET, f"quartiles {ns(toll[0])} and {ns(toll[2])}")
    line("toll run -q -- true", "", ns(quiet[1]), f"{ns(timed[1])} /usr/bin/time",
         f"{quiet[1] / timed[1]:.2f} ×")
    line("toll run -- true", "", ns(toll[1]), f"{ns(bare[1])} bare", f"{toll[1] / bare[1]:.2f} ×")
