# SPDX-License-Identifier: MIT
"""Types and texts of the package."""

import ast
import dataclasses
import importlib
import inspect
import os
import pathlib
import pydoc
import re
import subprocess
import sys
import typing

import hostlib
import pytest
import toll

TOP = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = TOP / "python/toll"


def mypy(*args, **kwargs):
    hostlib.skip_without("mypy")
    command = ["mypy", "--strict", "--python-version", "3.8", "--cache-dir", os.devnull, *args]
    done = subprocess.run(command, capture_output=True, text=True, check=False, **kwargs)
    return done.stdout


def test_the_package_is_typed():
    assert "Success" in mypy(PACKAGE)


def test_programs_are_checked(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        """\
import toll
from typing import Optional

with toll.track(interval=0.1) as t, t.phase("load"):
    pass
seconds: float = t.summary.wall_seconds
rss: Optional[float] = toll.snapshot().memory_rss_bytes
done: toll.Completed = toll.run(["true"], check=True)

@toll.tracked(name="x")
def work(n: int) -> str:
    return str(n)

text: str = work(3)
work("3")
toll.track(intervall=1)
""",
        encoding="utf-8",
    )
    said = mypy(program, env={**os.environ, "MYPYPATH": str(TOP / "python")})
    assert "Found 2 errors" in said
    assert re.search(r'program.py:15: error: Argument 1 to "work" has incompatible type', said)
    assert re.search(r'program.py:16: error: .*"intervall"', said)


def test_compat_is_checked(tmp_path):
    """The data classes that are made of tables have types, too."""
    program = tmp_path / "program.py"
    program.write_text(
        """\
from typing import Optional
from toll.compat import gpu_tracker as gput
from toll.compat.spdl import ProcessGroupResourceUsage
from toll.compat.sweep import ResourceSummary

with gput.Tracker(sleep_time=0.1) as tracker:
    pass
usage = tracker.resource_usage
assert usage is not None
rss: Optional[float] = usage.max_ram.main.total_rss
record = ProcessGroupResourceUsage(1, 2, cpu_percent=50.0)
procs: Optional[int] = record.num_procs
peak: float = ResourceSummary(1.0).peak_vram_mb
usage.max_ram.mian
ProcessGroupResourceUsage(pid=1)
""",
        encoding="utf-8",
    )
    said = mypy(program, env={**os.environ, "MYPYPATH": str(TOP / "python")})
    assert "Found 2 errors" in said, said
    assert re.search(r'program.py:14: error: "MaxRAM" has no attribute "mian"', said)
    assert re.search(r'program.py:15: error: Missing positional argument "pgid"', said)


def test_declared_classes_are_those_that_are_made():
    """Names, order, defaults and types of the fields."""
    tree = ast.parse((PACKAGE / "compat/_shapes.pyi").read_text(encoding="utf-8"))
    modules = [importlib.import_module(f"toll.compat.{name}") for name in ("gpu_tracker", "spdl", "sweep")]
    declared = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    assert len(declared) == 11
    for node in declared:
        (made,) = {getattr(m, node.name) for m in modules if hasattr(m, node.name)}
        fields = [one for one in node.body if isinstance(one, ast.AnnAssign)]
        bases = [one for one in made.__bases__ if dataclasses.is_dataclass(one)]
        inherited = {f.name for base in bases for f in dataclasses.fields(base)}
        there = {f.name: f for f in dataclasses.fields(made) if f.name not in inherited}
        assert [f.target.id for f in fields] == list(there), node.name
        for field in fields:
            real = there[field.target.id]
            has_default = (real.default, real.default_factory) != (dataclasses.MISSING,) * 2
            assert (field.value is not None) == has_default
            if isinstance(field.value, ast.Constant) and field.value.value is not ...:
                assert field.value.value == real.default
            shown = ast.unparse(field.annotation).replace("Optional[", "").rstrip("]")
            kind = real.type
            if typing.get_origin(kind) is typing.Union:
                kind = next(one for one in typing.get_args(kind) if one is not type(None))
            assert kind.__name__ == shown, (node.name, field.target.id)


def test_the_stub_is_the_module():
    stub = (PACKAGE / "_toll.pyi").read_text(encoding="utf-8")
    declared = set(re.findall(r"^(?:def|class) (\w+)", stub, re.MULTILINE))
    there = {name for name in dir(toll._toll) if not name.startswith("_")} - {"version"}
    assert declared == there
    for kind in ("Tracker", "Translator", "Frame", "Row"):
        body = re.search(rf"^class {kind}:.*?(?=^\w|\Z)", stub, re.DOTALL | re.MULTILINE)[0]
        named = {n for n in re.findall(r"def (\w+)", body) if not n.startswith("_")}
        metrics = {metric.name for metric in toll.metrics()}
        own = {n for n in vars(getattr(toll._toll, kind)) if not n.startswith("_")}
        assert named == own - (metrics - named), kind


def test_everything_public_is_described():
    for name in set(toll.__all__) - {"__version__"}:
        thing = getattr(toll, name)
        assert thing.__doc__, name
        for inner, member in inspect.getmembers(thing):
            if inspect.isclass(thing) and not inner.startswith("_") and inner in vars(thing):
                assert inspect.getdoc(member) or not callable(member), f"{name}.{inner}"


def test_help_reads_well():
    text = pydoc.plain(pydoc.render_doc(toll))
    assert "with toll.track() as t:" in text
    frame = pydoc.plain(pydoc.render_doc(toll.Frame))
    assert "resident memory (RSS), in bytes" in frame


def test_no_file_is_large():
    """A file is a concept: complete enough to be read from top to bottom, in one sitting."""
    for path in [*PACKAGE.rglob("*.py*"), *(TOP / "python/src").glob("*.[ch]")]:
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 700, path


def test_every_file_is_in_the_wheel_and_the_build():
    for path in [*PACKAGE.rglob("*.py*"), PACKAGE / "py.typed"]:
        listed = (path.parent / "meson.build").read_text(encoding="utf-8")
        assert f"'{path.name}'" in listed
    assert sys.version_info >= (3, 8)
