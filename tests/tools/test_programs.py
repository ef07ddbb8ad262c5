# SPDX-License-Identifier: MIT
"""Every program that the tests and tools call comes with a package that tools/bootstrap installs, or
that every Debian has.

Calls are found by reading, not by running: a name that stands first in a list of strings or follows
`--` in one, the arguments of shutil.which and of hostlib, words in the place of a command in shell
scripts, in the Makefile and in strings with more than one shell command, and what C tests give to
system(). Words are taken for programs if a package has them that bootstrap brings or that is common
on Debian: what else was installed on this machine must not decide. `make test-fresh` finds the rest."""

import ast
import functools
import pathlib
import re
import shutil
import subprocess

import hostlib
import pytest

TOP = hostlib.TOP
PYTHON = sorted([*TOP.glob("tests/**/*.py"), *TOP.glob("tests/**/write-*"),
                 *(p for p in TOP.glob("tools/*") if p.read_text().startswith("#!/usr/bin/python3"))])
SHELL = sorted([*(p for p in TOP.glob("tools/*") if p.read_text().startswith("#!/bin/")),
                TOP / ".ci/run", TOP / "Makefile"])
C = sorted(TOP.glob("tests/**/*.c"))

NAME = re.compile(r"[a-z][a-z0-9._+-]*\+*")
# A command begins a line, or follows what ends or introduces another one.
COMMAND = re.compile(r"(?:^|[;|&({`!]|\$\(|--[ \t]|\b(?:then|do|else|exec|if|until|while)[ \t])[ \t]*@?"
                     r"(?:(?:then|do|else|exec|if|until|while|!|\w+=\S*)[ \t]+)*"
                     r"(/usr/bin/[\w.+-]+|[a-z][\w.+-]*)(?=[\s;|&)`]|$)", re.M)
# Programs of those names are not what is meant where the words are found.
WORDS = {"as", "at", "c99", "column", "comm", "cut", "dir", "expect", "factor", "file", "fold", "free",
         "from", "groups", "host", "init", "install", "join", "last", "link", "look", "node", "pr",
         "python", "reset", "rev", "screen", "script", "size", "split", "sum", "top", "tree", "ts",
         "users", "w", "wall", "who", "write", "zip"}


@functools.cache
def place_of(program):
    """Where Debian has it, whatever else is in PATH."""
    return shutil.which(program, path="/usr/sbin:/usr/bin:/sbin:/bin")


@functools.cache
def is_program(word):
    name = word.removeprefix("/usr/bin/")
    return name in hostlib.PROGRAMS or (
        name not in WORDS and NAME.fullmatch(name) and place_of(name) is not None)


def in_shell(text):
    for word in COMMAND.findall(text):
        if is_program(word):
            yield word.removeprefix("/usr/bin/")


def text_of(node):
    """A string, or what an f-string begins with; None for other things."""
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "\0" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def in_python(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.List):
            words = [text_of(element) or "\0" for element in node.elts]
            yield from (word.removeprefix("/usr/bin/") for before, word in zip(["--", *words], words)
                        if before == "--" and is_program(word))
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in ("shutil.which", "hostlib.needs", "needs", "hostlib.skip_without"):
                words = [text_of(argument) or "\0" for argument in node.args]
                yield from (word for word in words if "\0" not in word)
        else:
            said = text_of(node)
            if said and re.search(r"[;|&]|\$\(|\bexec\b", said):
                yield from in_shell(said)


def in_c(text):
    for call in re.findall(r'\b(?:system|popen)\("([^"]*)"|\bexec[lv]p?\("([^"]*)"', text):
        yield from in_shell(call[0] or call[1])


@functools.cache
def called():
    """Program -> the files that call it."""
    found = {}
    for paths, finder in ((PYTHON, in_python), (SHELL, in_shell), (C, in_c)):
        for path in paths:
            text = path.read_text(encoding="utf-8")
            if finder is in_shell:
                text = re.sub(r"^\s*#.*", "", text, flags=re.M)
            for name in finder(text):
                found.setdefault(name, set()).add(str(path.relative_to(TOP)))
    return found


# ---- Packages ------------------------------------------------------------------------------------


def dpkg(*words):
    return subprocess.run(["dpkg-query", *words], capture_output=True, text=True, check=False).stdout


@functools.cache
def installed():
    """Package -> (whether every Debian has it, what it depends on)."""
    fields = "${Package}\t${Essential}\t${Priority}\t${Pre-Depends}, ${Depends}\t${Provides}\n"
    found, provided = {}, {}
    for line in dpkg("-W", "-f", fields).splitlines():
        name, essential, priority, depends, provides = line.split("\t")
        # Of alternatives the first one is installed, where no other is there.
        first = {part.split("|")[0].split("(")[0].split(":")[0].strip() for part in depends.split(",")}
        found[name] = (essential == "yes" or priority == "required", first - {""})
        for virtual in provides.split(","):
            provided.setdefault(virtual.split("(")[0].strip(), name)
    return {name: (base, {provided.get(d, d) if d not in found else d for d in needed})
            for name, (base, needed) in found.items()}


def with_dependencies(packages):
    table, seen, ahead = installed(), set(), list(packages)
    while ahead:
        package = ahead.pop()
        if package not in seen:
            seen.add(package)
            ahead += table.get(package, (False, ()))[1]
    return seen


def names_of(program):
    """A program's path and what it is a link to, in both names of a merged /usr."""
    place = place_of(program)
    names = {place, str(pathlib.Path(place).resolve())} if place else set()
    return names | {name.removeprefix("/usr") for name in names}


@functools.cache
def owners():
    """Path -> package, of every program here."""
    names = set().union(*(names_of(program) for program in {*called(), *hostlib.PROGRAMS}))
    lines = [line.rsplit(": ", 1) for line in dpkg("-S", *sorted(names)).splitlines()]
    return {path: package.split(",")[0].split(":")[0] for package, path in lines}


def packages_of(program):
    return {owners()[name] for name in names_of(program) if name in owners()}


@functools.cache
def common():
    """Packages that Debian's own installer installs, but for the smallest system."""
    fields = "${Package}\t${Priority}\n"
    lines = [line.split("\t") for line in dpkg("-W", "-f", fields).splitlines()]
    return {name for name, priority in lines if priority in ("important", "standard")}


def bootstrap():
    return set(subprocess.run([TOP / "tools/bootstrap", "--list"], capture_output=True, text=True,
                              check=True).stdout.split())


on_debian = pytest.mark.skipif(not shutil.which("dpkg-query"), reason="not Debian")


def test_calls_are_found():
    """In each of the ways that are read."""
    found = called()
    assert "tests/live/test_network.py" in found["strace"]
    assert "tests/unit/source/net/interfaces.c" in found["ip"]
    assert ".ci/run" in found["make"]
    assert {"Makefile", "tools/run-tests"} <= found["ninja"]
    assert set(in_python('run(["a", "--", "tmux"]); f("x; exec sleep 1 | tar")')) == {
        "tmux", "sleep", "tar"}


@on_debian
def test_every_program_comes_with_a_package_of_bootstrap():
    base = {name for name, (is_base, _) in installed().items() if is_base}
    brought = with_dependencies(bootstrap())
    wrong = []
    for program, files in sorted(called().items()):
        package = hostlib.PROGRAMS.get(program)
        owned = packages_of(program)
        if package is None and owned & (brought | common()) and not owned & base:
            wrong.append(f"{program} ({', '.join(sorted(files))}): not in hostlib.PROGRAMS")
        elif package is not None and package not in brought | base:
            wrong.append(f"{program}: tools/bootstrap does not install {package}")
    assert wrong == []


@on_debian
def test_the_packages_of_programs_are_right():
    wrong = {program: package for program, package in hostlib.PROGRAMS.items()
             if place_of(program) and not with_dependencies({package}) & packages_of(program)}
    assert wrong == {}


def test_skips_for_modules_name_their_package():
    """hostlib.module() does, pytest.importorskip() does not."""
    wrong = [f"{path.relative_to(TOP)}: {name}" for path in PYTHON for name in hostlib.MODULES
             if f'importorskip("{name}"' in path.read_text(encoding="utf-8")]
    assert wrong == []


def test_modules_come_with_bootstrap():
    assert set(hostlib.MODULES.values()) <= bootstrap()


def test_every_package_of_bootstrap_has_a_reason():
    rows = re.findall(r"^\| `([^`]+)` \|", (TOP / "docs/dependencies.md").read_text(), flags=re.M)
    assert sorted(rows) == sorted(bootstrap())


def test_no_test_installs_anything():
    """Only tools/bootstrap does, and it is tried with a package manager that only writes down."""
    found = called()
    assert found.get("apt-get", set()) <= {"tools/bootstrap"}
    assert not {"apt", "dpkg", "aptitude"} & set(found)
