# SPDX-License-Identifier: MIT
"""A class for each kind of thing that is measured, with a property for each of its figures. They are
made of libtoll's table of metrics; the build writes the stub next to this file from the same table."""

from __future__ import annotations

from typing import Any, Dict

from ._figures import Figure, metrics
from ._parts import Part, usage_words


def _figure_property(name: str, text: str) -> property:
    def get(self: Any) -> Figure:
        try:
            figure: Figure = self._get(name)
        except KeyError:
            raise AttributeError(name) from None  # __getattr__ has the sentence
        return figure

    return property(get, doc=text)


def _class_name(entity: str) -> str:
    if entity == "process":
        return "TargetFigures"
    return "".join(word.capitalize() for word in entity.split("_")) + "Figures"


def _make_classes() -> Dict[str, type]:
    members: Dict[str, Dict[str, Any]] = {}
    for metric in metrics():
        body = members.setdefault(metric.entity, {"__slots__": (), "__module__": __name__})
        body[metric.name] = _figure_property(metric.name, metric.description)
    made = {}
    for entity, body in members.items():
        name = _class_name(entity)
        what = "target, or a part of one" if entity == "process" else entity.replace("_", " ")
        if entity == "process":
            body["_headline"] = usage_words
        body["__doc__"] = f"The figures of a {what}. What was not measured is an AttributeError."
        made[entity] = type(name, (Part,), body)
    return made


CLASSES = _make_classes()
globals().update({made.__name__: made for made in CLASSES.values()})
