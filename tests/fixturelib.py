# SPDX-License-Identifier: MIT
"""Recorded runs and written machines, and the jobs of the documents, as trees of files.

Runs and machines are made when they are needed: written ones by their generators, recorded ones unpacked from one
archive each. What was made once is kept in the build directory, under a name that follows from
everything it is made of, so that a change to a story makes new trees.
"""

import atexit
import functools
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

import packed

HERE = pathlib.Path(__file__).resolve().parent
FIXTURES = HERE / "fixtures"
WRITERS = {"runs": FIXTURES / "write-fixtures", "machines": HERE / "golden/write-machines"}
RECORDED = sorted(FIXTURES.glob("*.tar.gz"))


def version():
    digest = hashlib.sha256()
    for path in [*sorted(FIXTURES.glob("*.py")), *WRITERS.values(), *RECORDED]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def unpack(archive, directory):
    with tarfile.open(archive) as tar:
        for member in filter(tarfile.TarInfo.isfile, tar):
            path = directory / member.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(tar.extractfile(member).read())


def make(directory):
    for kind, writer in WRITERS.items():
        (directory / kind).mkdir()
        subprocess.run([sys.executable, "-B", writer, directory / kind], check=True)
    for archive in RECORDED:
        unpack(archive, directory / "runs")


def kept_in_build(name, make_in):
    """A directory of this name in the build directory, filled by `make_in` when it is not there yet. The
    name follows from everything that it is made of. Tests that begin together may both make it."""
    build = pathlib.Path(os.environ.get("TOLL_BUILD", HERE.parent / "build"))
    kept = build / name
    if kept.is_dir():
        return kept
    try:
        new = pathlib.Path(tempfile.mkdtemp(prefix=f"new-{name}-", dir=build))
    except OSError:  # no build directory of ours
        new = pathlib.Path(tempfile.mkdtemp(prefix=f"toll-{name}-"))
        atexit.register(shutil.rmtree, new, ignore_errors=True)
        make_in(new)
        return new
    make_in(new)
    new.chmod(0o755)
    try:
        new.rename(kept)
    except OSError:  # another test was faster
        shutil.rmtree(new)
    return kept


@functools.lru_cache(maxsize=None)
def made():
    """The directory that has all of them."""
    return kept_in_build(f"fixtures-{version()}", make)


def runs():
    return made() / "runs"


def machines():
    return made() / "machines"


def write_jobs(directory):
    """Small jobs with known figures, which README.md and docs/cookbook.md run where a reader has a build, a
    training job, a solver or a server of their own:

        Makefile      writes, compiles and links N small C files, by default 8
        train.py      loads data, then trains three epochs, as phases
        solver        a shell script: mesh holds 96 MiB, then solve uses CPU time and 16 MiB
        server.py     uses a little CPU time until it is ended; writes server.pid
        functions.sh  two shell functions
        words.txt     text for pipelines"""
    directory.mkdir(exist_ok=True)
    for name, data in packed.read(HERE / "docs/jobs.txt").items():
        path = directory / name
        path.write_bytes(data)
        path.chmod(0o755 if data.startswith(b"#!") else 0o644)
