# SPDX-License-Identifier: MIT
"""The machine that the tests run on: which programs and modules it has, places that every user can
reach, and the signals of whatever started the tests."""

import atexit
import contextlib
import functools
import importlib
import os
import pathlib
import shutil
import signal
import stat
import tempfile

import pytest

TOP = pathlib.Path(__file__).resolve().parents[1]
NOBODY = 65534

# What the tests and tools call, and the Debian package it comes from. Programs that every Debian
# has (packages that are essential or of priority "required") are not listed.
# tests/tools/test_programs.py compares this with what is called and with tools/bootstrap.
PROGRAMS = {
    "abidiff": "abigail-tools",
    "abidw": "abigail-tools",
    "ar": "binutils",
    "bash": "bash",
    "c++": "g++",
    "cc": "gcc",
    "chromium": "chromium",
    "clang": "clang",
    "clang++": "clang",
    "clang-format": "clang-format",
    "clang-tidy": "clang-tidy",
    "debootstrap": "debootstrap",
    "fish": "fish",
    "g++": "g++",
    "gcc": "gcc",
    "git": "git",
    "gnuplot": "gnuplot-nox",
    "hyperfine": "hyperfine",
    "ip": "iproute2",
    "jq": "jq",
    "kill": "procps",
    "ld": "binutils",
    "less": "less",
    "make": "make",
    "man": "man-db",
    "mandoc": "mandoc",
    "mariadbd": "mariadb-server-core",
    "meson": "meson",
    "mpiexec.hydra": "mpich",
    "mpirun.openmpi": "openmpi-bin",
    "munged": "munge",
    "mypy": "mypy",
    "ninja": "ninja-build",
    "nm": "binutils",
    "objcopy": "binutils",
    "openssl": "openssl",
    "parallel": "parallel",
    "pgrep": "procps",
    "pidstat": "sysstat",
    "pkg-config": "pkg-config",
    "prometheus": "prometheus",
    "prometheus-node-exporter": "prometheus-node-exporter",
    "prometheus-pushgateway": "prometheus-pushgateway",
    "promtool": "prometheus",
    "ps": "procps",
    "python3": "python3",
    "readelf": "binutils",
    "sbatch": "slurm-client",
    "shellcheck": "shellcheck",
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "slurmdbd": "slurmdbd",
    "sqlite3": "sqlite3",
    "srun": "slurm-client",
    "strace": "strace",
    "strip": "binutils",
    "time": "time",
    "tmux": "tmux",
    "valgrind": "valgrind",
    "victoria-metrics": "victoria-metrics",
    "zsh": "zsh",
}
MODULES = {
    "IPython": "python3-ipython",
    "jsonschema": "python3-jsonschema",
    "pandas": "python3-pandas",
    "psutil": "python3-psutil",
    "pytest": "python3-pytest",
    "xdist": "python3-pytest-xdist",
    "yaml": "python3-yaml",
}
# Tested where they are, but too large for bootstrap.
OPTIONAL_MODULES = {"matplotlib": "python3-matplotlib"}
OPTIONAL_PROGRAMS = {"snakemake": "snakemake"}


def lacking(*programs):
    """Why a test cannot run, for a skip; None when all of the programs are there."""
    known = {**PROGRAMS, **OPTIONAL_PROGRAMS}
    packages = {known[program] for program in programs if not shutil.which(program)}
    return "needs the Debian package " + ", ".join(sorted(packages)) if packages else None


def needs(*programs):
    """A mark: the test is skipped, with the name of the package, where a program is missing."""
    why = lacking(*programs)
    return pytest.mark.skipif(why is not None, reason=why or "nothing is missing")


def skip_without(*programs):
    """The same inside of a test."""
    why = lacking(*programs)
    if why:
        pytest.skip(why)


def module(name):
    """A module of Python; what asks for it is skipped, with the name of the package, where it is
    missing."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as missing:
        if missing.name != name:
            raise
        package = MODULES.get(name) or OPTIONAL_MODULES[name]
        pytest.skip(f"needs the Debian package {package}", allow_module_level=True)


def set_signals():
    """As a shell starts a program. Below nohup and a shell's `&` some signals are ignored, which is
    inherited; what the tests start is to begin with none of that. Python ignores two itself, and
    gives them back to what it starts."""
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for number in signal.valid_signals() - {signal.SIGPIPE, signal.SIGXFSZ}:
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) == signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)


# ---- Places for every user -----------------------------------------------------------------------


def everyone_may_enter(directory):
    """Whether every user can reach it: one closed directory on the way, such as a home, is enough."""
    path = pathlib.Path(directory).resolve()
    return all(step.stat().st_mode & stat.S_IXOTH for step in (path, *path.parents))


def shared_directory(prefix="toll-test-"):
    """A new directory that every user may enter; its maker removes it. pytest's own are closed to
    others, and $TMPDIR may be."""
    parents = [tempfile.gettempdir(), "/tmp", "/var/tmp"]
    parent = next((p for p in parents if os.path.isdir(p) and everyone_may_enter(p)), parents[0])
    directory = pathlib.Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    directory.chmod(0o755)
    return directory


@contextlib.contextmanager
def shared_place(prefix="toll-test-"):
    """The same for a block, which removes it."""
    directory = shared_directory(prefix)
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@functools.cache
def shared_copy(path):
    """A copy of a file that every user may read, or run, until the tests are over: a checkout below
    a home is closed to others."""
    directory = shared_directory()
    maker = os.getpid()
    atexit.register(lambda: os.getpid() == maker and shutil.rmtree(directory, ignore_errors=True))
    return str(share(path, directory))


def share(source, directory, name=None):
    """A copy of a file or a directory, in a shared directory, that every user may read, and run
    where its owner may. A link is copied as what it points to."""
    source = pathlib.Path(source)
    target = pathlib.Path(directory) / (name or source.name)
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copy(source, target)
    for path in [target, *target.rglob("*")] if target.is_dir() else [target]:
        mode = path.stat().st_mode
        path.chmod(0o755 if path.is_dir() or mode & stat.S_IXUSR else 0o644)
    return target
