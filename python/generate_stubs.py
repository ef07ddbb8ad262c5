#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Write the type stubs of the Python package that have an attribute for each metric.

usage: generate_stubs.py METRICS_DEF TEMPLATE TOLL_PYI ENTITIES_PYI

METRICS_DEF is src/metric/metrics.def. TOLL_PYI is the template, python/toll/_toll.pyi.in, with the
metrics of a target and the machine in place of the line "@FRAME@", and those of every entity in
place of "@ROW@". ENTITIES_PYI declares the classes that python/toll/_entities.py makes of the same
table when it is imported.
"""

import pathlib
import re
import sys

ENTITY = re.compile(r'^ENTITY\(\w+, (\w+), "\w+", "([^"]*)"\)', re.MULTILINE)
METRIC = re.compile(
    r'^METRIC\((\w+),\s*(\w+),\s*(\w+),\s*(\w+),.*,\s*"([^"]*)",\s*"([^"]*)"\)$', re.MULTILINE
)


def read_metrics(text):
    """{entity: [(name, type, documentation), …]}"""
    found = {name: [] for name, _ in ENTITY.findall(text)}
    rows = METRIC.findall(text)
    assert len(rows) == len(re.findall(r"^METRIC\(", text, re.MULTILINE)), "a row cannot be read"
    for entity, stem, _, unit, title, help_text in rows:
        has_no_unit = unit in ("count", "number")
        name = stem if has_no_unit else f"{stem}_{unit}"
        kind = "int" if unit in ("count", "bytes") else "float"
        in_unit = "" if has_no_unit else f" ({unit})"
        found[entity].append((name, kind, f"{title}: {help_text}{in_unit}"))
    return found


def properties(metrics, result, taken=()):
    """One property for each name; the first of several metrics of a name."""
    seen = set(taken)
    lines = []
    for name, kind, text in metrics:
        if name in seen:
            continue
        seen.add(name)
        lines += [
            "    @property",
            f"    def {name}(self) -> {result.format(kind)}:",
            f'        """{text}"""',
            "",
        ]
    return "\n".join(lines)


def fill(template, marker, metrics):
    """The template with properties in the place of a line; names that the class has stay its own."""
    before, _, after = template.partition(f"    {marker}\n")
    own = re.findall(r"def (\w+)", before[before.rindex("\nclass ") :])
    return f"{before}{properties(metrics, 'Optional[{}]', own)}{after}"


def class_name(entity):
    """As python/toll/_entities.py names it."""
    if entity == "process":
        return "TargetFigures"
    return "".join(word.capitalize() for word in entity.split("_")) + "Figures"


def main():
    definitions, template, toll_pyi, entities_pyi = map(pathlib.Path, sys.argv[1:])
    found = read_metrics(definitions.read_text(encoding="utf-8"))
    text = template.read_text(encoding="utf-8")
    text = fill(text, "@FRAME@", found["process"] + found["system"])
    text = fill(text, "@ROW@", [one for metrics in found.values() for one in metrics])
    toll_pyi.write_text(text, encoding="utf-8")

    parts = [
        "# SPDX-License-Identifier: MIT",
        "from typing import Dict, Type",
        "",
        "from ._figures import Figure",
        "from ._parts import Part",
        "",
        "CLASSES: Dict[str, Type[Part]]",
    ]
    for entity, metrics in found.items():
        parts += ["", f"class {class_name(entity)}(Part):", properties(metrics, "Figure").rstrip()]
    entities_pyi.write_text("\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
