# SPDX-License-Identifier: MIT
"""Put the wheel together from a build directory: the extension, the command, the package.

usage: build_wheel.py BUILD DIRECTORY

A wheel is a zip file with a list of its files; no other tool is needed, and the same build gives
the same bytes. `make wheel` calls this; `pip install ./python` finds the function build_wheel.
"""

import base64
import hashlib
import os
import pathlib
import platform
import re
import stat
import subprocess
import sys
import tempfile
import zipfile

TOP = pathlib.Path(__file__).resolve().parents[1]
SUMMARY = "Measures what a job uses: CPU, memory, storage, network, GPUs, as exactly as the kernel accounts it"
# A wheel has no links: this name of the program is a script that becomes it.
ENTRY_POINTS = """\
[console_scripts]
gpu-tracker = toll.__main__:gpu_tracker

[pytest11]
toll = toll.pytest_plugin
"""
# 1980 is the first year that a zip file knows.
NO_TIME = (1980, 1, 1, 0, 0, 0)


def version():
    header = (TOP / "include/toll.h").read_text(encoding="utf-8")
    return re.search(r'^#define TOLL_VERSION\s+"([^"]+)"', header, re.MULTILINE)[1]


def tag():
    return f"cp38-abi3-linux_{platform.machine()}"


def metadata():
    guide = (TOP / "docs/python.md").read_text(encoding="utf-8")
    return f"""\
Metadata-Version: 2.1
Name: toll
Version: {version()}
Summary: {SUMMARY}
License: MIT
License-File: LICENSE
Requires-Python: >=3.8
Classifier: License :: OSI Approved :: MIT License
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: C
Classifier: Programming Language :: Python :: 3
Classifier: Topic :: System :: Monitoring
Classifier: Typing :: Typed
Description-Content-Type: text/markdown

{guide}"""


def wheel_facts():
    return f"""\
Wheel-Version: 1.0
Generator: toll
Root-Is-Purelib: false
Tag: {tag()}
"""


def stripped(path):
    """A program or a library without its symbols for debuggers."""
    with tempfile.TemporaryDirectory() as directory:
        copy = os.path.join(directory, "copy")
        subprocess.run(["strip", "--strip-unneeded", "-o", copy, path], check=True)
        return pathlib.Path(copy).read_bytes()


def contents(build):
    """(name in the wheel, bytes, is a program) of every file but the list of them."""
    info = f"toll-{version()}.dist-info"
    package = build / "python/toll"
    for path in sorted(package.rglob("*")):
        if path.suffix in (".py", ".pyi") or path.name == "py.typed":
            yield f"toll/{path.relative_to(package)}", path.read_bytes(), False
    extension = package / "_toll.abi3.so"
    yield f"toll/{extension.name}", stripped(extension), True
    command = stripped(build / "toll")
    yield "toll/bin/toll", command, True
    yield "toll/bin/toll-gpu", stripped(build / "toll-gpu"), True
    # In the PATH of an environment it is the program itself, which starts in a millisecond.
    yield f"toll-{version()}.data/scripts/toll", command, True
    yield f"{info}/entry_points.txt", ENTRY_POINTS.encode(), False
    yield f"{info}/LICENSE", (TOP / "LICENSE").read_bytes(), False
    yield f"{info}/METADATA", metadata().encode(), False
    yield f"{info}/WHEEL", wheel_facts().encode(), False


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def assemble(build, directory):
    """The path of the wheel that was written."""
    name = f"toll-{version()}-{tag()}.whl"
    path = pathlib.Path(directory) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    listed = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:

        def add(inner, data, is_program):
            entry = zipfile.ZipInfo(inner, NO_TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (stat.S_IFREG | (0o755 if is_program else 0o644)) << 16
            wheel.writestr(entry, data)

        for inner, data, is_program in contents(build):
            add(inner, data, is_program)
            listed.append(f"{inner},sha256={digest(data)},{len(data)}\n")
        record = f"toll-{version()}.dist-info/RECORD"
        add(record, ("".join(listed) + f"{record},,\n").encode(), False)
    return path


# ---- What pip calls -------------------------------------------------------------------------------


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """Without it pip would build all twice."""
    info = pathlib.Path(metadata_directory) / f"toll-{version()}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(metadata(), encoding="utf-8")
    return info.name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    with tempfile.TemporaryDirectory(prefix="toll-wheel-") as directory:
        build = pathlib.Path(directory) / "build"
        options = ["--buildtype=release", "-Dpython=enabled"]
        subprocess.run(["meson", "setup", *options, build, TOP], check=True)
        subprocess.run(["ninja", "-C", build, "python-package"], check=True)
        return assemble(build, wheel_directory).name


def main():
    if len(sys.argv) != 3:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    build = pathlib.Path(sys.argv[1])
    if not (build / "python/toll/_toll.abi3.so").exists():
        print(
            f"build_wheel: {build} has no Python package; it takes the headers of Python "
            "(python3-dev), then: meson setup --wipe",
            file=sys.stderr,
        )
        return 1
    print(assemble(build, sys.argv[2]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
