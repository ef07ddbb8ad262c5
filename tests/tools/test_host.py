# SPDX-License-Identifier: MIT
"""What the tests expect of the machine they run on: signals, places for every user, and skips that
name the package that is missing."""

import os
import signal
import subprocess
import sys

import hostlib
import pytest

RUN_PYTEST = hostlib.TOP / "tests/run_pytest.py"
IGNORED = [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1]


def run_tests(tmp_path, text, *options, **how):
    """A file of tests, run as meson would, with the conftest.py of all tests."""
    (tmp_path / "conftest.py").write_text((hostlib.TOP / "tests/conftest.py").read_text())
    (tmp_path / "hostlib.py").write_text((hostlib.TOP / "tests/hostlib.py").read_text())
    (tmp_path / "test_it.py").write_text(text)
    return subprocess.run(
        [sys.executable, "-B", *options, RUN_PYTEST, "-q", "-rs", "-p", "no:cacheprovider",
         "--rootdir", tmp_path, tmp_path / "test_it.py"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False, **how)


def ignore_and_block():
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    os.umask(0o077)


def test_programs_start_with_default_signals(tmp_path):
    """Whatever this was started by: below nohup and a shell's `&` some are ignored."""
    text = (
        "import signal, subprocess\n"
        # The C library keeps two for itself, which no program can set.
        "ALL = sum(1 << (number - 1) for number in signal.valid_signals())\n"
        "def test_signals():\n"
        "    status = subprocess.run(['cat', '/proc/self/status'], capture_output=True, text=True).stdout\n"
        "    fields = dict(line.split(':\\t', 1) for line in status.splitlines())\n"
        "    assert int(fields['SigIgn'], 16) & ALL == 0, status\n"
        "    assert int(fields['SigBlk'], 16) & ALL == 0, status\n"
        "    assert int(fields['Umask'], 8) == 0o022\n"
    )
    done = run_tests(tmp_path, text, preexec_fn=ignore_and_block)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("text", [
    "@hostlib.needs('toll-none')\ndef test_it(): raise OSError",
    "def test_it(): hostlib.skip_without('toll-none')",
    "import subprocess\ndef test_it(): subprocess.run(['toll-none'])",
    "import pytest, subprocess\n@pytest.fixture\ndef it(): subprocess.run(['toll-none'])\n"
    "def test_it(it): raise OSError",
    "hostlib.MODULES['toll_none'] = 'none-such'\nhostlib.module('toll_none')",
])
def test_what_is_missing_is_named(tmp_path, text):
    done = run_tests(tmp_path, "import hostlib\nhostlib.PROGRAMS['toll-none'] = 'none-such'\n" + text)
    assert "1 skipped" in done.stdout and "needs the Debian package none-such" in done.stdout
    # Of a file in which nothing could run meson is to know it, too.
    assert done.returncode == (77 if "module(" in text else 0)


def test_other_files_that_are_missing_are_failures(tmp_path):
    done = run_tests(tmp_path, "def test_it(): open('/none/strace2')")
    assert done.returncode == 1 and "1 failed" in done.stdout


def test_without_pytest(tmp_path):
    done = run_tests(tmp_path, "def test_it(): pass", "-S")  # no packages of Debian
    assert done.returncode == 77
    assert done.stdout == "skipped: needs the Debian package python3-pytest\n"


def test_a_shared_copy_can_be_reached(tmp_path):
    closed = tmp_path / "home"
    closed.mkdir(mode=0o700)
    program = closed / "program"
    program.write_text("#!/bin/sh\necho runs\n")
    program.chmod(0o700)
    assert not hostlib.everyone_may_enter(closed)
    with hostlib.shared_place() as place:
        copy = hostlib.share(closed, place) / "program"
        assert hostlib.everyone_may_enter(copy)
        command = [copy] if os.geteuid() else ["setpriv", f"--reuid={hostlib.NOBODY}",
                                               f"--regid={hostlib.NOBODY}", "--clear-groups", copy]
        assert subprocess.check_output(command, cwd="/") == b"runs\n"
    assert not place.exists()
