# SPDX-License-Identifier: MIT
"""A report of the ranks of a job: what 10,000 of them take for an hour at one sample a second.

Such a job has 36 million samples. Its records are not written here: one part has all ranks and a
hundredth of the hour, which shows what a rank takes, the other a few ranks and the whole hour, which
shows what a sample takes and that memory does not grow with it."""
import json
import shutil
import subprocess

from measure import TOLL, WORK, headline, line, ns, rounds

RANKS, HOUR, SHORT, FEW, PER_HOST = 10_000, 3600, 36, 10, 128
RANK_BYTES = 16 * 1024  # of memory, for a rank
TARGET = 1.25           # of the peak memory with a hundredth of the samples


def pattern(place):
    """The lines of a real record: of the run, of a sample, of the summary."""
    path = place / "pattern.jsonl"
    subprocess.run([TOLL, "run", "-q", "-i", "50ms", "-o", path, "--", "sleep", "0.3"], check=True)
    lines = [json.loads(text) for text in path.read_text().splitlines()]
    path.unlink()
    return lines[0], [line for line in lines if line["type"] == "sample"][-1], lines[-1]


def write(directory, ranks, samples, lines):
    """Records of all ranks; a twentieth of them computed twice as much. The size of them all."""
    run, sample, summary = (json.loads(json.dumps(line)) for line in lines)
    start = run["unix_seconds"]
    directory.mkdir()
    body = []
    for i in range(1, samples + 1):
        sample.update(tick=i, unix_seconds=start + i, elapsed_seconds=i, interval_seconds=1)
        sample["target"]["combined"].update(wall_seconds=i, cpu_seconds=i * 0.97,
                                            memory_rss_bytes=2**30 + i * 2**16)
        body.append(json.dumps(sample, separators=(",", ":")))
    body, size = "\n".join(body), 0
    for rank in range(ranks):
        for part in (run, summary):
            part.update(rank=str(rank), world_size=str(ranks), launcher="Slurm", launch="1.0",
                        local_rank=str(rank % PER_HOST), host=f"node{rank // PER_HOST}",
                        id=f"01a1ec5b-ade4-7e9b-b144-{rank:012x}")
        summary["wall_seconds"] = samples
        summary["target"]["combined"]["cpu_seconds"]["total"] = samples * (1.9 if rank % 20 == 0 else 0.97)
        path = directory / f"{rank}.jsonl"
        path.write_text("\n".join((json.dumps(run), body, json.dumps(summary), "")))
        size += path.stat().st_size
    return size


def measured(directory, place, *command):
    """CPU time, time and peak memory of a command of toll, by toll."""
    figures = place / "figures.json"
    subprocess.run([TOLL, "run", "-q", "-o", figures, "--", TOLL, *command, directory], check=True,
                   stdout=subprocess.DEVNULL)
    used = json.loads(figures.read_text())["target"]["combined"]
    figures.unlink()
    return (used["cpu_seconds"]["total"] * 1e9, used["wall_seconds"]["total"] * 1e9,
            used["memory_peak_bytes"]["max"])


def run():
    ranks = rounds(RANKS)
    headline(f"ranks: a report of {ranks} ranks, and of an hour")
    place = WORK / "ranks"
    place.mkdir()
    try:
        lines = pattern(place)
        bytes_short = write(place / "short", FEW, SHORT, lines)
        bytes_long = write(place / "long", FEW, HOUR, lines)
        cpu_short, _, memory_short = measured(place / "short", place, "report", "--json")
        cpu_long, _, memory_long = measured(place / "long", place, "report", "--json")
        more = FEW * (HOUR - SHORT)
        per_sample, per_bytes = (cpu_long - cpu_short) / more, (bytes_long - bytes_short) / more
        line("CPU time of a sample", FEW, ns(per_sample), "", note=f"{per_bytes:.0f} bytes of record")
        line("peak memory, an hour", FEW, f"{memory_long / 2**20:.1f} MiB",
             f"{memory_short / 2**20:.1f} MiB of {SHORT} s", f"{memory_long / memory_short:.2f} ×",
             f"≤ {TARGET} ×", memory_long <= TARGET * memory_short)
        shutil.rmtree(place / "long")
        size = write(place / "all", ranks, SHORT, lines)
        for command in (("report", "--json"), ("report", "--format", "html"), ("list",)):
            cpu, wall, memory = measured(place / "all", place, *command)
            per_rank = (memory - memory_short) / ranks
            line(f"peak memory of a rank, {' '.join(command)}", ranks, f"{per_rank / 1024:.1f} KiB", "", "",
                 f"≤ {RANK_BYTES // 1024} KiB", per_rank <= RANK_BYTES, note=
                 f"{memory / 2**20:.0f} MiB, {ns(cpu)} of CPU time in {ns(wall)}, {size / 1e6:.0f} MB of records")
            if command == ("report", "--json"):
                hour = cpu + ranks * (HOUR - SHORT) * per_sample
                line("CPU time of an hour of all ranks, from these", ranks, ns(hour), "", note=
                     f"{(size + ranks * (HOUR - SHORT) * per_bytes) / 1e9:.1f} GB of records, {memory / 2**20:.0f} MiB")
    finally:
        shutil.rmtree(place, ignore_errors=True)
