# SPDX-License-Identifier: MIT
"""A report of a million samples: what it takes, and that its memory does not grow with the record."""
import json
import shutil
import subprocess

from measure import TOLL, WORK, headline, line, ns, program, rounds

FEW, MANY = 10_000, 1_000_000
TARGET = 1.25  # of the peak memory with the few


def report(count, place, name):
    """Figures of `toll export`, by toll; the record comes through a pipe, and is nowhere whole."""
    figures, page = place / "figures.json", place / name
    with subprocess.Popen([program("samples"), str(count), "-"], stdout=subprocess.PIPE) as record:
        subprocess.run([TOLL, "run", "-q", "-o", figures, "--", TOLL, "export", "-q", "-", "-o", page],
                       stdin=record.stdout, check=True)
    used = json.loads(figures.read_text())["target"]["combined"]
    figures.unlink()
    return (used["cpu_seconds"]["total"] * 1e9, used["wall_seconds"]["total"] * 1e9,
            used["memory_peak_bytes"]["max"], page.stat().st_size)


def run():
    many = rounds(MANY)
    headline(f"report: a page of {many} samples of a job with its parts, eight metrics")
    place = WORK / "report"
    place.mkdir()
    try:
        for name in ("x.html", "x.md"):
            _, _, small, _ = report(FEW, place, f"few-{name}")
            cpu, wall, memory, size = report(many, place, name)
            line(f"CPU time of a sample, {name[1:]}", "", ns(cpu / many), "", note=
                 f"{ns(cpu)} in all, {ns(wall)} with the program that writes the record, {size / 1e3:.0f} kB")
            line(f"peak memory, {name[1:]}", "", f"{memory / 2**20:.1f} MiB",
                 f"{small / 2**20:.1f} MiB of {FEW}", f"{memory / small:.2f} ×", f"≤ {TARGET} ×",
                 memory <= TARGET * small)
    finally:
        shutil.rmtree(place, ignore_errors=True)
