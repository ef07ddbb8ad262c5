# SPDX-License-Identifier: MIT
"""Reading records (docs/formats.md), independently of toll."""
import json


def fill_parts(target):
    """A command without descendants has only `combined`: main is the same, descendants are none."""
    if "main" in target or "descendants" in target:
        return
    combined = target["combined"]
    target["main"] = dict(combined)
    target["descendants"] = {
        name: None if value is None or name == "memory_peak_bytes"
        else value if name == "wall_seconds" else 0
        for name, value in combined.items()}


def read_record(text, parse=json.loads):
    """The lines of a record, with all parts in every sample of a run that has them."""
    lines = [parse(line) for line in text.splitlines()]
    run = {}
    for line in lines:
        if line["type"] == "run":
            run = line
        if line["type"] != "sample" or not run.get("children"):
            continue
        targets = line.get("targets", [])
        for target, of_run in zip(targets, run.get("attached_to", [])):
            if of_run.get("pid"):
                fill_parts(target)
        if run.get("pid") and "target" in line and not targets:
            fill_parts(line["target"])
    return lines
