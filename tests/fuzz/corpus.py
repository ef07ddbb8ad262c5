#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Corpora of the fuzz targets, in the format of tests/packed.py: corpus/texts.txt has the inputs of
all targets of texts.c, each as a part TARGET/INPUT.

usage: corpus.py unpack DIRECTORY    write every input to DIRECTORY/TARGET/INPUT, list how many
       corpus.py add TARGET FILE...  add inputs to the corpus of TARGET, named after their files
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import packed  # noqa: E402


def of_target(parts, target):
    return {name.split("/")[1]: data for name, data in parts.items() if name.split("/")[0] == target}


def path_of(target):
    """The file that has inputs of a target already, or a new one."""
    for path in sorted((HERE / "corpus").glob("*.txt")):
        if of_target(packed.read(path), target):
            return path
    return HERE / "corpus" / f"fuzz_{target}.txt"


def read(target):
    """The inputs of a target: bytes by their names."""
    return of_target(packed.read(path_of(target)), target)


def unpack(directory):
    for path in sorted((HERE / "corpus").glob("*.txt")):
        parts = packed.read(path)
        for target in dict.fromkeys(name.split("/")[0] for name in parts):
            inputs = of_target(parts, target)
            place = directory / target
            place.mkdir(parents=True, exist_ok=True)
            for old in place.iterdir():
                if old.name not in inputs:
                    old.unlink()
            for name, data in inputs.items():
                (place / name).write_bytes(data)
            print(target, len(inputs))


def main():
    if sys.argv[1:2] == ["unpack"] and len(sys.argv) == 3:
        unpack(pathlib.Path(sys.argv[2]))
    elif sys.argv[1:2] == ["add"] and len(sys.argv) > 3:
        path = path_of(sys.argv[2])
        inputs = packed.read(path) if path.exists() else {}
        inputs |= {f"{sys.argv[2]}/{file.name}": file.read_bytes()
                   for file in map(pathlib.Path, sys.argv[3:])}
        packed.write(path, inputs)
    else:
        sys.exit(__doc__.strip())


if __name__ == "__main__":
    main()
