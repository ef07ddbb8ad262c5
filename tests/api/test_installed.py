# SPDX-License-Identifier: MIT
"""What is installed serves a program outside: header, libraries, pkg-config, and nothing else."""

import os
import pathlib
import re
import subprocess

import hostlib
import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["TOLL_BUILD"])
SOURCES = sorted([*(TOP / "examples").glob("*.c"), *(TOP / "examples").glob("*.cc")])
STRICT = ["-O1", "-Wall", "-Wextra", "-Werror", "-pedantic"]

pytestmark = [
    pytest.mark.skipif("TOLL_SANITIZED" in os.environ, reason="nobody installs it so"),
    pytest.mark.skipif(not os.access(BUILD / "meson-logs", os.W_OK), reason="not our build"),
]


class Installed:
    """A tree that packagers would make: everything below a directory that stands for the root."""

    def __init__(self, root):
        self.root = root
        found = list(root.rglob("toll.pc"))
        assert len(found) == 1, found
        self.library = found[0].parents[1]
        self.environment = {
            **os.environ,
            "PKG_CONFIG_LIBDIR": str(found[0].parent),
            "PKG_CONFIG_SYSROOT_DIR": str(root),
            # Below /usr the paths are those that a compiler has anyway, but not below this root.
            "PKG_CONFIG_ALLOW_SYSTEM_CFLAGS": "1",
            "PKG_CONFIG_ALLOW_SYSTEM_LIBS": "1",
        }

    def flags(self, *options):
        done = subprocess.run(["pkg-config", *options, "toll"], env=self.environment,
                              capture_output=True, text=True, check=True)
        return done.stdout.split()

    def run(self, program, *arguments):
        environment = {**os.environ, "LD_LIBRARY_PATH": str(self.library)}
        return subprocess.run([program, *arguments], env=environment, capture_output=True,
                              text=True, timeout=60, check=False)


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    root = tmp_path_factory.mktemp("root")
    log = BUILD / "meson-logs/install-log.txt"
    before = log.read_bytes() if log.exists() else None  # make uninstall goes by it
    try:
        done = subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", root],
                              capture_output=True, text=True, timeout=120, check=False)
    finally:
        if before is not None:
            log.write_bytes(before)
        elif log.exists():
            log.unlink()
    assert done.returncode == 0, done.stdout + done.stderr
    return Installed(root)


def compiler_of(source):
    compiler = "c++" if source.suffix == ".cc" else "cc"
    hostlib.skip_without(compiler)
    return [compiler, "-std=c++11"] if source.suffix == ".cc" else [compiler]


def build(tmp_path, words):
    program = tmp_path / "program"
    done = subprocess.run([*words, "-o", program], capture_output=True, text=True, timeout=60,
                          check=False)
    assert done.returncode == 0, done.stderr
    return program


def test_all_of_it_is_there(installed):
    names = {path.name for path in installed.root.rglob("*") if not path.is_dir()}
    assert {"toll", "toll.h", "toll.pc", "libtoll.a", "libtoll.so", "libtoll.so.0"} <= names
    assert not [name for name in names if "toll_core" in name]
    headers = [path.name for path in installed.root.rglob("*.h")]
    assert headers == ["toll.h", "toll_compat.h"]
    assert (installed.library / "libtoll.so.0").is_symlink()
    assert os.access(installed.library / "toll/toll-gpu", os.X_OK)
    [link] = installed.root.rglob("bin/gpu-tracker")
    assert os.readlink(link) == "toll" and (link.parent / "toll").exists()
    assert [path.name for path in installed.root.rglob("gpu-tracker.1")] == ["gpu-tracker.1"]
    for command in ("toll", "gpu-tracker"):
        for name in (f"bash-completion/completions/{command}", f"site-functions/_{command}",
                     f"vendor_completions.d/{command}.fish"):
            assert len(list(installed.root.rglob(name))) == 1, name
    (share,) = installed.root.rglob("share/toll")
    for place in ("integrations", "examples/python"):
        expected = {path.relative_to(TOP) for path in (TOP / place).rglob("*") if path.suffix != ".pyc"
                    and path.is_file()}
        assert {path.relative_to(share) for path in (share / place).rglob("*") if path.is_file()} == expected
    assert os.access(share / "integrations/nextflow/toll-bash", os.X_OK)


def test_pkg_config_tells_the_version_and_the_threads(installed):
    header = (TOP / "include/toll.h").read_text(encoding="utf-8")
    version = re.search(r'TOLL_VERSION +"(.+)"', header)[1]
    assert installed.flags("--modversion") == [version]
    assert "-pthread" not in installed.flags("--libs")
    assert "-pthread" in installed.flags("--libs", "--static")


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_examples_compile_outside(installed, tmp_path, source):
    words = [*compiler_of(source), *STRICT, str(source), *installed.flags("--cflags", "--libs")]
    program = build(tmp_path, words)
    done = subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True)
    assert "[libtoll.so.0]" in done.stdout
    linked = installed.run("ldd", program).stdout
    assert str(installed.library) in linked


def test_shared_runs(installed, tmp_path):
    source = TOP / "examples/frames.c"
    flags = installed.flags("--cflags", "--libs")
    done = installed.run(build(tmp_path, ["cc", *STRICT, str(source), *flags]))
    assert done.returncode == 0 and "target_cpu_seconds " in done.stdout, done.stderr


READS_GPUS = """
#include <stdio.h>
#include <toll.h>
int main(void)
{
    struct toll_tracker *t;
    struct toll_options o = {.size = sizeof o, .gpus = "0", .system = true};
    if (toll_tracker_new(&t, &o, NULL) < 0 || toll_tracker_attach(t, NULL) < 0)
        return 1;
    puts("reads");
    fflush(stdout);
    getchar();
    toll_tracker_free(t);
    return 0;
}
"""


@pytest.mark.parametrize("is_shared", [True, False], ids=["shared", "archive"])
def test_the_program_that_calls_a_driver(installed, tmp_path, is_shared):
    """The shared library finds it; a program with the archive has a copy of itself do the same."""
    source, facts = tmp_path / "reads.c", tmp_path / "facts"
    source.write_text(READS_GPUS, encoding="ascii")
    facts.write_text("gpus 1\n", encoding="ascii")
    library = "-ltoll" if is_shared else "-l:libtoll.a"
    flags = [*installed.flags("--cflags", "--libs-only-L"), library, "-pthread"]
    program = build(tmp_path, ["cc", *STRICT, "-Wno-missing-field-initializers", str(source), *flags])
    paths = f"{installed.library}:{BUILD.resolve()}/tests/fakes/nvml"
    with subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
            env={**os.environ, "LD_LIBRARY_PATH": paths, "FAKE_NVML": str(facts)}) as reads:
        assert reads.stdout.readline() == b"reads\n"
        helpers = []
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                name, fields = (entry / "stat").read_text().split(" (", 1)[1].rsplit(") ", 1)
                if name == "toll-gpu" and fields.split()[3] == str(reads.pid):
                    helpers.append((entry / "cmdline").read_bytes().split(b"\0")[0])
            except (FileNotFoundError, ProcessLookupError):
                continue
        reads.stdin.close()
        assert reads.wait(60) == 0
    assert helpers == [b"toll-gpu" if is_shared else bytes(program)]


def test_static_runs_without_the_library(installed, tmp_path):
    """The archive in a program that is otherwise dynamic, as docs/library.md says."""
    source = TOP / "examples/frames.c"
    flags = [*installed.flags("--cflags", "--libs-only-L"), "-l:libtoll.a", "-pthread"]
    program = build(tmp_path, ["cc", *STRICT, str(source), *flags])
    done = subprocess.run([program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and "target_cpu_seconds " in done.stdout, done.stderr


def test_everything_static_runs(installed, tmp_path):
    source = TOP / "examples/frames.c"
    flags = installed.flags("--cflags", "--libs", "--static")
    words = ["cc", "-static", "-O1", str(source), *flags]
    done = subprocess.run([*words, "-o", tmp_path / "program"], capture_output=True, text=True,
                          check=False)
    if "cannot find -lc" in done.stderr:
        pytest.skip("no static C library")
    assert done.returncode == 0, done.stderr
    done = subprocess.run([tmp_path / "program"], capture_output=True, text=True, timeout=60,
                          check=False)
    assert done.returncode == 0 and "target_cpu_seconds " in done.stdout, done.stderr


def test_names_of_a_program_are_its_own(installed, tmp_path):
    """Inside, the library has functions of these names; a program that links the archive too."""
    source = tmp_path / "own.c"
    source.write_text(
        "#include <toll.h>\n#include <stdio.h>\n"
        "int buf_put(void);\nint buf_put(void)\n{\n    return 7;\n}\n"
        "int tick(void);\nint tick(void)\n{\n    return 8;\n}\n"
        "int main(void)\n{\n    struct toll_frame *frame;\n"
        "    if (toll_snapshot(&frame, 0, 0, 0) < 0)\n        return 1;\n"
        "    toll_frame_free(frame);\n"
        '    printf("%d\\n", buf_put() + tick());\n    return 0;\n}\n')
    flags = [*installed.flags("--cflags", "--libs-only-L"), "-l:libtoll.a", "-pthread"]
    done = installed.run(build(tmp_path, ["cc", *STRICT, str(source), *flags]))
    assert (done.returncode, done.stdout) == (0, "15\n")
