# SPDX-License-Identifier: MIT
"""tools/bootstrap with a package manager that only writes down what it is asked."""

import pathlib
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = TOP / "tools/bootstrap"
# What the script itself and the fakes are made of.
NEEDED = ("sh", "cat", "chmod", "id", "rm")


@pytest.fixture
def fake(tmp_path):
    """A PATH with nothing in it but NEEDED; add() puts a script there."""

    class Fake:
        bin = tmp_path / "bin"
        log = tmp_path / "log"
        policy = tmp_path / "policy-rc.d"

        def add(self, name, body):
            path = self.bin / name
            path.unlink(missing_ok=True)
            path.write_text(f"#!/bin/sh\n{body}\n")
            path.chmod(0o755)

        def run(self, *arguments):
            return subprocess.run(
                [SCRIPT, *arguments],
                env={"PATH": str(self.bin), "POLICY_RC_D": str(self.policy)},
                capture_output=True,
                text=True,
                check=False,
            )

        def calls(self):
            return self.log.read_text().splitlines() if self.log.exists() else []

        def debian(self, missing=(), user=0, apt_status="exit 0"):
            lacking = "|".join(missing) or "none"
            self.add(
                "dpkg-query",
                'shift 3; for p; do case $p in %s) s=not-installed ;; *) s=installed ;; esac; '
                'echo "$s $p"; done; exit 1' % lacking,
            )
            self.add("apt-get", f'echo "$*" >>{self.log}; {apt_status}')
            self.add("id", f"echo {user}")

    made = Fake()
    made.bin.mkdir()
    for name in NEEDED:
        (made.bin / name).symlink_to(f"/usr/bin/{name}")
    return made


def test_nothing_missing_does_nothing(fake):
    fake.debian()
    done = fake.run()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert fake.calls() == []


def test_root_installs_what_is_missing(fake):
    fake.debian(missing=["meson", "zsh"])
    assert fake.run().returncode == 0
    assert fake.calls() == ["install -qq -y --no-install-recommends meson zsh"]


def test_no_server_starts_meanwhile(fake):
    """Debian asks policy-rc.d before it starts a server; one that is there already is kept."""
    fake.debian(missing=["prometheus"], apt_status=f"{fake.policy}; [ $? -eq 101 ]")
    done = fake.run()
    assert (done.returncode, done.stderr) == (0, "")
    assert not fake.policy.exists()
    fake.policy.write_text("#!/bin/sh\nexit 101\n# of the machine\n")
    fake.policy.chmod(0o755)
    assert fake.run().returncode == 0
    assert "of the machine" in fake.policy.read_text()


def test_build_only(fake):
    fake.debian(missing=["meson", "zsh"])
    assert fake.run("--build-only").returncode == 0
    assert fake.calls() == ["install -qq -y --no-install-recommends meson"]


def test_wheel(fake):
    fake.debian(missing=["meson", "python3-dev", "zsh"])
    assert fake.run("--wheel").returncode == 0
    assert fake.calls() == ["install -qq -y --no-install-recommends meson python3-dev"]


def test_lists_are_refreshed_when_the_first_try_fails(fake):
    tried = fake.log.with_name("tried")
    fake.debian(missing=["zsh"], apt_status=f"[ $1 = update ] || [ -e {tried} ] || {{ : >{tried}; exit 100; }}")
    assert fake.run().returncode == 0
    assert [call.split()[0] for call in fake.calls()] == ["install", "update", "install"]


def test_failed_install_is_told(fake):
    fake.debian(missing=["zsh"], apt_status="[ $1 = update ] || { echo no zsh >&2; exit 100; }")
    done = fake.run()
    assert done.returncode != 0
    assert "no zsh" in done.stderr


def test_ordinary_user_is_told_the_command(fake):
    fake.debian(missing=["meson", "zsh"], user=1000)
    done = fake.run()
    assert done.returncode == 1
    assert "    sudo apt-get install -y --no-install-recommends meson zsh\n" in done.stderr
    assert fake.calls() == []


def test_other_system_with_the_tools(fake):
    for tool in ("cc", "make", "meson", "ninja", "pkg-config", "python3"):
        fake.add(tool, "")
    done = fake.run()
    assert done.returncode == 0
    assert "not Debian" in done.stderr and "libcmocka-dev" in done.stderr


def test_other_system_without_them(fake):
    fake.add("cc", "")
    done = fake.run()
    assert done.returncode == 1
    assert "not found in PATH: make meson ninja pkg-config python3" in done.stderr


def test_unknown_option(fake):
    assert fake.run("--all").returncode == 2


def test_list(fake):
    fake.debian(missing=["meson", "zsh"])
    done = fake.run("--list")
    assert {"meson", "python3-dev", "zsh"} <= set(done.stdout.split())
    assert (done.returncode, fake.calls()) == (0, [])
