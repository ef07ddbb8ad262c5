# SPDX-License-Identifier: MIT
"""ResourceUsage and its parts: data classes made of the keys that the layout has."""

from __future__ import annotations

import dataclasses
from typing import Any, Dict, List, Optional, Tuple

from .._layouts import layout_columns, layouts
from ._records import TYPES, make_record

LAYOUT = "gpu-tracker"
_NEEDED = (
    "unit",
    "system_capacity",
    "system_core_count",
    "n_expected_cores",
    "system_gpu_count",
    "n_expected_gpus",
)
_CAPITALS = ("ram", "gpu", "cpu")
# Of the parts of parts, in the order in which the table has them.
_INNER = ["RSSValues", "ProcessingUnitPercentages"]


def _tree() -> Dict[str, Any]:
    """The keys as they are nested, with the type of each."""
    root: Dict[str, Any] = {}
    for column in layout_columns(LAYOUT, format="json"):
        *path, key = column.name.split(".")
        inside = root
        for part in path:
            inside = inside.setdefault(part, {})
        inside[key] = TYPES[column.type]
    return root


def _class_name(key: str) -> str:
    words = key.split("_")
    return "".join(word.upper() if word in _CAPITALS else word.capitalize() for word in words)


def check_units(units: Dict[str, str]) -> None:
    """ValueError in the words of that tool: ram_unit, gpu_ram_unit, time_unit."""
    (options,) = (one.options for one in layouts() if one.name == LAYOUT)
    accepted = {option.name: sorted(option.accepted.split()) for option in options}
    for name, unit in units.items():
        kind = name[: -len("_unit")].replace("_", " ")
        kind = kind if kind == "time" else kind.upper()
        if unit not in accepted[name]:
            raise ValueError(
                f'"{unit}" is not a valid {kind} unit. Valid values are {", ".join(accepted[name])}'
            )


class Usage:
    """The classes, and how a document becomes one."""

    def __init__(self) -> None:
        self.classes: Dict[str, Any] = {}
        self._inner: Dict[Tuple[str, ...], Any] = {}
        self._tree = _tree()
        fields: List[Any] = []
        for key, value in self._tree.items():
            fields.append((key, self._make(_class_name(key), value)))
        self.root = make_record("ResourceUsage", "What was used, part by part.", fields)
        self.classes["ResourceUsage"] = self.root

    def _make(self, name: str, tree: Dict[str, Any]) -> Any:
        """Facts of the machine and units are required, all else is 0 at first, as in that tool."""
        fields: List[Any] = []
        for key, value in tree.items():
            if isinstance(value, dict):
                kind = self._make_inner(value)
                fields.append((key, kind, dataclasses.field(default_factory=kind)))
            elif key in _NEEDED:
                fields.append((key, Optional[value]))
            else:
                fields.append((key, Optional[value], dataclasses.field(default=value())))
        self.classes[name] = made = make_record(name, f"{name}, in the unit that it tells.", fields)
        return made

    def _make_inner(self, tree: Dict[str, Any]) -> Any:
        keys = tuple(tree)
        if keys not in self._inner:
            name = _INNER[len(self._inner)]
            self._inner[keys] = self._make(name, tree)
        return self._inner[keys]

    def fill(self, document: Dict[str, Any], made: Any = None) -> Any:
        """The data classes with what a report says."""
        made = made or self.root
        kinds = {field.name: field.type for field in dataclasses.fields(made)}
        return made(
            **{
                key: self.fill(value, kinds[key]) if isinstance(value, dict) else value
                for key, value in document.items()
            }
        )
