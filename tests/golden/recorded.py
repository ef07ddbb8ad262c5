# SPDX-License-Identifier: MIT
"""Recorded runs, replayed through the real command."""

import contextlib
import json
import os
import pathlib
import resource
import shutil
import subprocess

import fixturelib
from hostlib import NOBODY, shared_copy, shared_place
from recordlib import read_record

TOP = pathlib.Path(__file__).resolve().parents[2]
FIXTURES = fixturelib.runs()
NAMES = sorted(path.parent.name for path in FIXTURES.glob("*/script"))
TOLL = os.environ.get("TOLL", str(TOP / "build/toll"))

# Runs that are replayed with options; the others are replayed plainly.
VARIANTS = {
    "attach-tree.since-start": ["--since-start"],
    "attach-tree.no-children": ["--no-children"],
    "this-machine.no-children": ["--no-children"],
    "this-machine.some-metrics": ["--metrics", "cpu_*,target_memory_rss*,processes"],
    "this-machine.rss-only": ["--memory", "rss", "--processes", "none"],
    "linux-4.9.all-processes": ["--processes", "all", "--name", "old", "--label", "team=a b"],
}
RUNS = {name: [] for name in NAMES} | VARIANTS | {"zombie-root": ["--wait", "all"]}


def fixture_of(run):
    name = run
    while name not in NAMES:
        name = name.rpartition(".")[0]
    return FIXTURES / name


def limit_memory():
    """A loop that eats memory must not take the machine along."""
    if not os.environ.get("TOLL_SANITIZED"):
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))


def toll_for(user):
    """The command where this user can run it."""
    return TOLL if user is None else shared_copy(TOLL)


def replay(directory, *options, user=None, cwd=None):
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LC_ALL": "C.UTF-8"}
    env |= {key: os.environ[key] for key in ("ASAN_OPTIONS", "UBSAN_OPTIONS") if key in os.environ}
    as_user = {"user": user, "group": user, "extra_groups": []} if user is not None else {}
    return subprocess.run(
        [toll_for(user), "replay", *options, directory],
        env=env,
        cwd=cwd,  # names of outputs are in the summary
        capture_output=True,
        timeout=60,
        check=False,
        preexec_fn=limit_memory,
        **as_user,
    )


def hide(source, directory):
    """A copy of a run in which the files it lists as denied cannot be read by an ordinary user."""
    shutil.copytree(source, directory)
    for line in (source / "denied").read_text().splitlines():
        (directory / line).chmod(0)


@contextlib.contextmanager
def readable(run, tmp_path):
    """The run, a place for what is made of it, and the user to be: one who cannot read what it
    lists as denied, where root could; None is the one that runs the tests."""
    source = fixture_of(run)
    if not (source / "denied").exists():
        yield source, tmp_path, None
        return
    with shared_place() as place:
        hide(source, place / "run")
        user = NOBODY if os.geteuid() == 0 else None
        if user is not None:
            os.chown(place, user, user)
        yield place / "run", place, user


def outputs(run, tmp_path):
    """Everything toll writes of a run: suffix -> bytes, and what it printed under `stderr`."""
    with readable(run, tmp_path) as (source, place, user):
        return outputs_of(run, source, place, user)


def outputs_of(run, source, place, user=None):
    into = place / "out"
    into.mkdir()
    if user is not None:
        os.chown(into, user, user)
    files = [into / f"run{suffix}" for suffix in (".csv", ".jsonl", ".json", ".txt")]
    options = [word for file in files for word in ("-o", file.name)]
    plain = replay(source, *options, "--summary", "none", *RUNS[run], user=user, cwd=into)
    assert plain.returncode == 0, plain.stderr.decode()
    verbose = into / "run.verbose.txt"
    options = ["-v", "-o", verbose.name, "--summary", "none", *RUNS[run]]
    again = replay(source, *options, user=user, cwd=into)
    assert again.returncode == 0, again.stderr.decode()
    found = {file.name.removeprefix("run"): file.read_bytes() for file in [*files, verbose]}
    return found | {"stderr": plain.stderr}


def records(text):
    return read_record(text.decode())


def metrics():
    done = subprocess.run([TOLL, "metrics", "--json"], capture_output=True, check=True)
    return json.loads(done.stdout)
