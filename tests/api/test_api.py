# SPDX-License-Identifier: MIT
"""The headers and the library agree: what is declared is exported, and nothing else is; what was
exported once stays."""

import os
import re
import subprocess

import hostlib
import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HEADERS = [os.path.join(TOP, "include", name) for name in ("toll.h", "toll_compat.h")]
BUILD = os.environ["TOLL_BUILD"]
SANITIZED = "TOLL_SANITIZED" in os.environ


def declared(headers=None):
    """The functions of the headers."""
    text = ""
    for header in headers or HEADERS:
        with open(header, encoding="utf-8") as file:
            text += file.read()
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"\\\n", " ", text)  # a macro is one line
    text = re.sub(r"^\s*#.*$", " ", text, flags=re.M)
    text = re.sub(r"\{[^{}]*\}", "{}", text)  # bodies of structs and enums
    names = set()
    for statement in text.split(";"):
        match = re.search(r"\b(\w+)\s*\((?:[^()]|\([^()]*\))*\)\s*$", statement)
        if match:
            names.add(match.group(1))
    return names


def defined(path, *options):
    """Names that a library defines for others, without the sanitizers'."""
    done = subprocess.run(
        ["nm", *options, "--defined-only", "--extern-only", path],
        capture_output=True,
        text=True,
        check=True,
    )
    names = set()
    for line in done.stdout.splitlines():
        words = line.split()
        if len(words) == 3 and words[1] != "A":  # A: the name of the version itself
            names.add(words[2].split("@")[0])
    return names


def test_header_declares_something():
    names = declared()
    assert "toll_tracker_new" in names and "toll_version" in names
    assert all(name.startswith("toll_") for name in names), names


def promised():
    """The names of src/libtoll.map with the version each belongs to: NAME@@VERSION."""
    with open(os.path.join(TOP, "src", "libtoll.map"), encoding="utf-8") as file:
        text = re.sub(r"#.*", "", file.read())
    found = []
    for version, names in re.findall(r"(\w+) \{\s*global:(.*?)(?:local:|\})", text, flags=re.DOTALL):
        found += [f"{name}@@{version}" for name in re.findall(r"(\S+);", names)]
    return found


@pytest.mark.parametrize("header, version", zip(HEADERS, ("TOLL_0", "TOLL_COMPAT_0")))
def test_every_name_is_promised_once(header, version):
    names = [name.split("@")[0] for name in promised() if name.endswith(f"@{version}")]
    assert names == sorted(set(names)), "src/libtoll.map is in alphabetical order"
    missing = sorted(declared([header]) - set(names))
    assert missing == [], f"{header} declares what src/libtoll.map does not list"
    gone = sorted(set(names) - declared([header]))
    assert gone == [], "programs are linked with these: they stay in the header"


def test_structs_that_grow_have_no_padding_at_their_end():
    """Each struct that begins with its size is in the list of assertions."""
    with open(os.path.join(TOP, "src/engine/api.c"), encoding="utf-8") as source:
        asserted = set(re.findall(r"HAS_NO_TAIL_PADDING\((\w+),", source.read()))
    headers = "".join(open(os.path.join(TOP, "include", name), encoding="utf-8").read()
                      for name in ("toll.h", "toll_compat.h"))
    assert asserted - {"type"} == set(re.findall(r"^struct (\w+) \{\n    size_t size;", headers, re.MULTILINE))


@pytest.mark.skipif(SANITIZED, reason="sanitizers export names of their own")
def test_shared_library_exports_the_header():
    assert defined(f"{BUILD}/libtoll.so", "--dynamic") == declared()


def dynamic_section():
    done = subprocess.run(["readelf", "--dynamic", "--wide", f"{BUILD}/libtoll.so"],
                          capture_output=True, text=True, check=True)
    return re.findall(r"\((\w+)\)[^[\n]*\[([^]]*)\]", done.stdout)


@pytest.mark.skipif(SANITIZED, reason="sanitizers export names of their own")
def test_names_have_the_version_they_were_promised_with():
    command = ["nm", "--dynamic", "--with-symbol-versions", "--defined-only", "--extern-only"]
    done = subprocess.run([*command, f"{BUILD}/libtoll.so"], capture_output=True, text=True,
                          check=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    assert sorted(row[2] for row in rows if row[1] != "A") == sorted(promised())


@pytest.mark.skipif(SANITIZED, reason="sanitizers are libraries too")
def test_shared_library_is_called_and_needs_what_it_says():
    """docs/library.md: the soname, and nothing but the C library."""
    entries = dynamic_section()
    assert [value for key, value in entries if key == "SONAME"] == ["libtoll.so.0"]
    needed = {value for key, value in entries if key == "NEEDED"}
    assert needed <= {"libc.so.6", "libpthread.so.0", "ld-linux-x86-64.so.2"}, needed


@pytest.mark.skipif(SANITIZED, reason="sanitizers export names of their own")
def test_static_library_shows_the_header():
    assert defined(f"{BUILD}/libtoll.a") == declared()


def compile_header(tmp_path, compiler, suffix, options):
    source = tmp_path / f"alone{suffix}"
    # Twice: it is guarded. Every function is named, so that each declaration is used.
    uses = "".join(f"    (void)&{name};\n" for name in sorted(declared()))
    source.write_text(
        f'#include "toll.h"\n#include "toll_compat.h"\n#include "toll.h"\nint main()\n{{\n{uses}    return 0;\n}}\n'
        if suffix == ".cc"
        else f'#include "toll.h"\n#include "toll_compat.h"\n#include "toll.h"\nint main(void)\n{{\n{uses}    return 0;\n}}\n'
    )
    command = [*compiler, *options, f"-I{TOP}/include", "-fsyntax-only", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


WARNINGS = ["-Wall", "-Wextra", "-Werror", "-pedantic"]


# sigset_t and pid_t are POSIX's.
C_OPTIONS = ["-D_POSIX_C_SOURCE=200809L", "-Wstrict-prototypes", *WARNINGS]


@pytest.mark.parametrize("standard", ["c99", "c11", "c17", "gnu17"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_header_alone_as_c(tmp_path, compiler, standard):
    hostlib.skip_without(compiler)
    compile_header(tmp_path, [compiler], ".c", [f"-std={standard}", *C_OPTIONS])


@pytest.mark.parametrize("standard", ["c++11", "c++17", "c++20"])
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_header_alone_as_cpp(tmp_path, compiler, standard):
    hostlib.skip_without(compiler)
    compile_header(tmp_path, [compiler], ".cc", [f"-std={standard}", *WARNINGS])


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_header_is_clean_to_those_who_ask_for_more(tmp_path, compiler):
    """A program may have these warnings on, and headers that are not the system's get them too."""
    hostlib.skip_without(compiler)
    more = ["-Wshadow", "-Wundef", "-Wredundant-decls", "-Wmissing-prototypes", "-Wconversion",
            "-Wc++-compat"]
    compile_header(tmp_path, [compiler], ".c", ["-std=c11", *C_OPTIONS, *more])


@pytest.mark.skipif(SANITIZED, reason="a program without sanitizers cannot load it")
def test_program_links_and_runs(tmp_path):
    """The library as others use it: the shared one, found by its name."""
    source = tmp_path / "use.c"
    source.write_text(
        '#include "toll.h"\n#include <string.h>\n'
        "int main(void)\n{\n    size_t n = 0;\n"
        "    while (toll_metric_at(n))\n        n++;\n"
        "    return !(n > 20 && toll_format_at(0) && !strcmp(toll_version(), TOLL_VERSION));\n}\n"
    )
    program = tmp_path / "use"
    command = ["cc", "-std=c11", "-D_POSIX_C_SOURCE=200809L", *WARNINGS, f"-I{TOP}/include"]
    command += [str(source), "-o", str(program), f"-L{BUILD}", "-ltoll"]
    subprocess.run(command, check=True)
    env = {**os.environ, "LD_LIBRARY_PATH": BUILD}
    assert subprocess.run([str(program)], env=env, check=False).returncode == 0


# A program with a child of its own that has ended: whoever attaches leaves it to the program.
HOST = r"""
#include "toll.h"
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int others; /* children that are none of the program's, while it measures */

static int measure(void)
{
    struct toll_options o = {.size = sizeof o, .interval_ns = 50000000, .system = true};
    struct toll_target self = {.size = sizeof self, .id = getppid()};
    struct toll_tracker *t;
    struct toll_error e;
    if (toll_tracker_new(&t, &o, &e) < 0 || toll_tracker_add_target(t, &self, &e) < 0 ||
        toll_tracker_attach(t, &e) < 0)
        return fprintf(stderr, "%s\n", e.message), 1;
    for (int i = 0; i < 6 && toll_tracker_step(t) > 0; i++) {
        struct pollfd fd = {.fd = toll_tracker_fd(t), .events = POLLIN};
        poll(&fd, 1, 1000);
    }
    char path[64], text[256] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *f = fopen(path, "r");
    if (f && fgets(text, sizeof text, f))
        for (char *at = text; (at = strchr(at, ' ')); at++)
            others++;
    struct toll_end end = {.size = sizeof end};
    toll_tracker_finish(t, &end);
    toll_tracker_free(t);
    return 0;
}

int main(void)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(7);
    if (measure())
        return 1;
    if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7)
        return 2;
    if (waitpid(-1, &status, 0) != -1 || errno != ECHILD)
        return 3; /* something of toll's was left behind */
    printf("%d\n", others - 1);
    return 0;
}
"""

# A filesystem that never answers needs a helper of toll's: FUSE whose server does not listen.
SILENT = ('exec 9<>/dev/fuse && '
          'mount -i -t fuse -o fd=9,rootmode=40000,user_id=0,group_id=0 silent "$1" || exit 99; '
          'shift; exec "$@"')


@pytest.mark.skipif(SANITIZED, reason="the program is built without sanitizers")
@pytest.mark.parametrize("filesystem", ["usual", "silent"])
def test_attach_leaves_children_alone(tmp_path, filesystem):
    (tmp_path / "host.c").write_text(HOST)
    subprocess.run(["cc", f"-I{TOP}/include", "-o", tmp_path / "host", tmp_path / "host.c",
                    f"-L{BUILD}", "-ltoll", f"-Wl,-rpath,{BUILD}"], check=True)
    command = [tmp_path / "host"]
    if filesystem == "silent":
        (tmp_path / "silent").mkdir()
        command = ["unshare", "-m", "sh", "-c", SILENT, "sh", tmp_path / "silent", *command]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if filesystem == "silent" and done.returncode in (1, 99) and "perm" in done.stderr.lower():
        pytest.skip("no filesystem without an answer can be made here")
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == (1 if filesystem == "silent" else 0), "helpers"
