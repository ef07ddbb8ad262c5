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
import textwrap
import typing

import hostlib
import pytest
import toll

TOP = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = TOP / "python/toll"
BUILT = pathlib.Path(toll.__file__).resolve().parent  # with the stubs that the build writes


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    """Run mypy; its output. Its cache is shared: most of the time goes into the standard library."""
    hostlib.skip_without("mypy")
    cache = tmp_path_factory.mktemp("mypy")

    def run(*args):
        command = ["mypy", "--strict", "--python-version", "3.8", "--cache-dir", cache, *args]
        variables = {**os.environ, "MYPYPATH": str(BUILT.parent)}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=variables)
        return done.stdout

    return run


def test_the_package_is_typed(mypy):
    assert "Success" in mypy("-p", "toll")


def test_programs_are_checked(mypy, tmp_path):
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
    said = mypy(program)
    assert "Found 2 errors" in said
    assert re.search(r'program.py:15: error: Argument 1 to "work" has incompatible type', said)
    assert re.search(r'program.py:16: error: .*"intervall"', said)


def test_compat_is_checked(mypy, tmp_path):
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
    said = mypy(program)
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


FIGURES = """\
from typing import List, Optional
import toll

with toll.track(system=True) as t:
    pass
s = t.summary
seconds: Optional[float] = s.cpu_seconds
peak: Optional[int] = s.peak_memory
code: Optional[int] = s.exit_code
word: str = s.quality("peak_memory")
figure: toll.Figure = s.target.memory_pss_bytes
total: Optional[float] = s.target.main.cpu_user_seconds.total
load: Optional[float] = s.system.load_1m.max
used: List[Optional[float]] = [gpu.memory_used_bytes.max for gpu in s.gpus]
phase: Optional[float] = s.phase("x").figures.cpu_seconds.total
first = s.largest_processes[0]
largest: Optional[int] = first.peak_memory
frame = t.frames[0]
rss: Optional[int] = frame.memory_rss_bytes
cpu: Optional[float] = frame.cpu_seconds
read: Optional[int] = frame.rows[0].read_bytes
limit = s.limits.memory_bytes.value
s.target.cpu_secnds
s.peak_memroy
s.target.cpu_seconds.totel
frame.memory_rss
frame.rows[0].nonsense
s.gpus[0].load_1m
int(s.peak_memory)
toll.trak()
"""


def test_figures_have_types(mypy, tmp_path):
    """Every figure is known to editors and type checkers; a name that does not exist is an error."""
    program = tmp_path / "program.py"
    program.write_text(FIGURES, encoding="utf-8")
    said = mypy(program)
    wrong = [int(number) for number in re.findall(r"program.py:(\d+): error", said)]
    lines = FIGURES.splitlines()
    assert sorted(set(wrong)) == list(range(lines.index("s.target.cpu_secnds") + 1, len(lines) + 1)), said
    assert '"TargetFigures" has no attribute "cpu_secnds"' in said or '"Target" has' in said
    assert 'Optional[int]' in said  # what is not known is None


def stub_classes(name):
    """{class: {property: (annotation, documentation)}} of a stub in the built package."""
    tree = ast.parse((BUILT / name).read_text(encoding="utf-8"))
    return {
        node.name: {
            one.name: (ast.unparse(one.returns), ast.get_docstring(one))
            for one in node.body
            if isinstance(one, ast.FunctionDef) and one.decorator_list
        }
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    }


def test_stubs_are_of_the_table_of_metrics():
    """Names, types and documentation of the stubs are those of the library."""
    table = toll.metrics()
    declared = stub_classes("_entities.pyi")
    made = importlib.import_module("toll._entities").CLASSES
    assert {one.__name__ for one in made.values()} == set(declared)
    for entity, kind in made.items():
        known = {m.name: ("Figure", m.description) for m in table if m.entity == entity}
        assert declared[kind.__name__] == known
        assert {n: p.__doc__ for n, p in vars(kind).items() if isinstance(p, property)} == {
            name: text for name, (_, text) in known.items()
        }
    native = stub_classes("_toll.pyi")
    for name, entities in (("Frame", ("process", "system")), ("Row", list(made))):
        kind = getattr(toll, name)
        own = {n for n, p in vars(kind).items() if inspect.isgetsetdescriptor(p)}
        assert own == set(native[name])
        for metric in table:
            if metric.entity in entities:
                whole = metric.unit == "bytes" or (metric.unit == "" and "load" not in metric.name)
                annotation, text = native[name][metric.name]
                assert annotation == ("Optional[int]" if whole else "Optional[float]"), metric
                assert text == getattr(kind, metric.name).__doc__


def test_the_stub_is_the_module():
    stub = (BUILT / "_toll.pyi").read_text(encoding="utf-8")
    declared = set(re.findall(r"^(?:def|class) (\w+)", stub, re.MULTILINE))
    there = {name for name in dir(toll._toll) if not name.startswith("_")} - {"version"}
    assert declared == there
    for kind in ("Tracker", "Translator", "Frame", "Row"):
        body = re.search(rf"^class {kind}:.*?(?=^\w|\Z)", stub, re.DOTALL | re.MULTILINE)[0]
        named = {n for n in re.findall(r"def (\w+)", body) if not n.startswith("_")}
        assert named == {n for n in vars(getattr(toll._toll, kind)) if not n.startswith("_")}, kind


HEAVY = ("asyncio concurrent json logging subprocess tempfile inspect typing threading html "
         "functools collections ssl socket pandas").split()


def test_import_is_light(python):
    """`import toll` loads the extension and nothing else; each part comes when it is used."""
    script = """
import sys
before = set(sys.modules)
import toll
print(sorted(set(sys.modules) - before))
toll.track
print([name for name in {} if name in set(sys.modules) - before])
"""
    heavy = [name for name in HEAVY if name not in ("typing", "threading", "functools", "collections")]
    first, second = python(script.format(heavy)).splitlines()
    assert first == "['toll', 'toll._toll']"
    assert second == "[]"


def test_every_name_can_be_imported(python):
    script = "from toll import *\nprint(*sorted(n for n in dir() if not n.startswith('__')))"
    assert python(script).split() == sorted(set(toll.__all__) - {"__version__"})
    assert set(dir(toll)) >= set(toll.__all__)
    with pytest.raises(AttributeError, match="module 'toll' has no attribute 'trak'"):
        toll.trak
    assert {type(getattr(toll, name)).__name__ for name in toll.__all__} >= {"type", "function"}


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
    assert re.search(r"resident memory \(RSS\): .* \(bytes\)", frame)


def test_no_file_is_large():
    """A file is a concept: complete enough to be read from top to bottom, in one sitting."""
    for path in [*PACKAGE.rglob("*.py*"), *(TOP / "python/src").glob("*.[ch]")]:
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 700, path


def test_every_file_is_in_the_wheel_and_the_build():
    for path in [*PACKAGE.rglob("*.py*"), PACKAGE / "py.typed"]:
        listed = (path.parent / "meson.build").read_text(encoding="utf-8")
        assert f"'{path.name}'" in listed
    assert sys.version_info >= (3, 8)


def examples():
    """The first example in the documentation of each public function."""
    for name in toll.__all__:
        function = getattr(toll, name)
        if not callable(function) or inspect.isclass(function):
            continue
        lines = inspect.getdoc(function).splitlines()
        start = next((i for i, line in enumerate(lines) if line.startswith("    ")), len(lines))
        end = start
        while end < len(lines) and (not lines[end] or lines[end].startswith("    ")):
            end += 1
        yield pytest.param(textwrap.dedent("\n".join(lines[start:end])), id=name)


@pytest.mark.parametrize("example", examples())
def test_examples_of_functions_run(example, tmp_path, monkeypatch):
    assert "toll." in example
    example = example.replace("1234", str(os.getpid()))  # a process that there is
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Makefile").write_text("all:\n")
    (tmp_path / "runs").mkdir()
    for branch in ("main", "new"):
        toll.run(["true"], name="train", labels={"branch": branch}, outputs=f"runs/{branch}.jsonl")
    for name in ("run", "before", "after"):
        (tmp_path / f"{name}.jsonl").write_bytes((tmp_path / "runs/main.jsonl").read_bytes())
    with toll.track() as t:
        pass
    exec(compile(example, "example", "exec"), {"toll": toll, "t": t, "work": lambda: None, "os": os})
