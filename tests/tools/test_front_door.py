# SPDX-License-Identifier: MIT
"""What a newcomer types first: make help, make demo, make install."""

import os
import pathlib
import re
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
TOLL = os.environ["TOLL"]


def run(*command, **variables):
    # MAKEFLAGS: the tests may themselves be run by make.
    env = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    return subprocess.run(
        command,
        cwd=TOP,
        env={**env, **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_help_names_every_target():
    targets = re.findall(r"^make ([\w-]+)", run("make", "help").stdout, flags=re.MULTILINE)
    makefile = (TOP / "Makefile").read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY: ((?:.*\\\n)*.*)", makefile, flags=re.MULTILINE)[1]
    private = {"all", "bootstrap", "bootstrap-build", "bootstrap-wheel", "configured", "may-install"}
    assert sorted(targets) == sorted(set(phony.replace("\\\n", " ").split()) - private)


def test_demo_shows_the_command_as_a_shell_would_take_it():
    done = run(TOP / "tools/demo", TOLL, CMD="echo 'it is'")
    heading, said = done.stdout.splitlines()
    assert heading == r"$ toll run -- sh -c 'echo '\''it is'\'''"
    assert (said, done.returncode) == ("it is", 0)


def test_demo_of_a_command_that_fails_is_a_demo():
    done = run(TOP / "tools/demo", TOLL, CMD="exit 3")
    assert done.returncode == 0
    assert "exit 3 in" in done.stderr
    assert done.stdout.splitlines()[-1] == "The exit status is the command's: 3"


@pytest.mark.skipif(os.access("/", os.W_OK), reason="root may write anywhere")
def test_install_without_permission_is_told_in_a_sentence():
    done = run("make", "may-install", "PREFIX=/nowhere")
    assert done.returncode != 0
    assert done.stderr.startswith("make install: no permission to write to /;")


def test_uninstall_before_any_install(tmp_path):
    done = run("make", "uninstall", f"B={tmp_path}")
    assert done.returncode != 0
    assert done.stderr.startswith("make uninstall: nothing was installed from")


def test_uninstall_removes_what_was_installed(tmp_path):
    (tmp_path / "meson-logs").mkdir()
    (tmp_path / "share").mkdir()
    (tmp_path / "share/a file").touch()
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/other").touch()
    (tmp_path / "link").symlink_to("share")
    names = ["share/a file", "link", "share", "kept", "gone already"]
    log = "".join(f"{tmp_path}/{name}\n" for name in names)
    (tmp_path / "meson-logs/install-log.txt").write_text(f"# by Meson\n{log}")
    elsewhere = run("make", "uninstall", f"B={tmp_path}", "PREFIX=/nowhere")
    assert elsewhere.returncode != 0 and "did not go below /nowhere" in elsewhere.stderr
    assert run("make", "uninstall", f"B={tmp_path}", f"PREFIX={tmp_path}").returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept", "meson-logs"]


def test_a_build_directory_is_prepared_anew_after_packages_changed(tmp_path):
    """What meson did not find the first time may be there now: unit tests need cmocka."""
    calls, status, build = (tmp_path / name for name in ("calls", "status", "build"))
    meson = tmp_path / "bin/meson"
    meson.parent.mkdir()
    meson.write_text(f"#!/bin/sh\necho \"$1 $2\" >>{calls}\nmkdir -p {build}; : >{build}/build.ninja\n")
    meson.chmod(0o755)
    path = f"{meson.parent}:{os.environ['PATH']}"

    def configure():
        calls.write_text("")
        done = run(TOP / "tools/configure", build, "-Dx=y", PATH=path, DPKG_STATUS=str(status))
        assert done.returncode == 0, done.stderr
        return calls.read_text().splitlines()

    assert configure() == ["setup -Dx=y"]  # no packages are known on other systems
    assert configure() == []
    status.write_text("")
    later = (build / "build.ninja").stat().st_mtime_ns + 10**9
    os.utime(status, ns=(later, later))
    assert configure() == ["configure --clearcache", "setup --reconfigure"]
