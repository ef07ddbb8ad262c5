# SPDX-License-Identifier: MIT
"""The ABI of the library is the stored one, tests/api/libtoll.abi: programs that were linked with
an earlier library of the same soname go on working."""

import os
import pathlib
import platform
import re
import shutil
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["TOLL_BUILD"])
STORED = TOP / "tests/api/libtoll.abi"

pytestmark = [
    pytest.mark.skipif("TOLL_SANITIZED" in os.environ, reason="the library of a normal build counts"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="the stored ABI is that of x86-64"),
    pytest.mark.skipif(not shutil.which("abidiff"), reason="abidiff is not here: install abigail-tools"),
]


def compare(build):
    return subprocess.run([TOP / "tools/abi", build], capture_output=True, text=True, check=False)


def has_debugging_information():
    shown = subprocess.run(["readelf", "--sections", "--wide", BUILD / "libtoll.so"],
                           capture_output=True, text=True, check=True).stdout
    return ".debug_info" in shown


def test_the_abi_is_the_stored_one():
    if not has_debugging_information():
        pytest.skip("the library is stripped: abidiff reads its debugging information")
    done = compare(BUILD)
    assert done.returncode in (0, 4), f"programs would break:\n{done.stdout}{done.stderr}"
    assert done.returncode == 0, f"'make abi-update' stores what is new:\n{done.stdout}"


def test_the_stored_one_is_that_of_the_stable_header():
    promised = (TOP / "src/libtoll.map").read_text("utf-8").split("TOLL_COMPAT_0")[0]
    stored = set(re.findall(r"<elf-symbol name='(\w+)'", STORED.read_text("utf-8")))
    assert stored == set(re.findall(r"\b(toll_\w+);", promised))


def test_a_change_is_seen(tmp_path):
    """A library whose struct toll_end has another field in the middle."""
    header = (TOP / "include/toll.h").read_text("utf-8")
    assert "bool core_dumped;" in header
    (tmp_path / "toll.h").write_text(header.replace("bool core_dumped;", "int core_dumped;"))
    (tmp_path / "one.c").write_text(
        '#include "toll.h"\nint toll_tracker_finish(struct toll_tracker *t, struct toll_end *ret_end)\n'
        "{\n    (void)t;\n    return ret_end->status;\n}\n")
    subprocess.run(["cc", "-g", "-shared", "-fPIC", f"-I{tmp_path}", "-Wl,-soname,libtoll.so.0",
                    f"-Wl,--version-script={TOP}/src/libtoll.map", "-o", tmp_path / "libtoll.so",
                    tmp_path / "one.c"], check=True)
    done = compare(tmp_path)
    assert done.returncode & 8 and "toll_end" in done.stdout, done.stdout
