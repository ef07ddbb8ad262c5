#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Corpora of the fuzz targets: tests/fuzz/corpus/TARGET.txt, each in the format of tests/packed.py.

usage: corpus.py unpack DIRECTORY    write every input to DIRECTORY/TARGET/INPUT, list how many
       corpus.py add TARGET FILE...  add inputs to the corpus of TARGET, named after their files
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import packed  # noqa: E402


def path_of(target):
    return HERE / "corpus" / f"{target}.txt"


def read(target):
    """The inputs of a target: bytes by their names."""
    return packed.read(path_of(target))


def unpack(directory):
    for path in sorted((HERE / "corpus").glob("*.txt")):
        place = directory / path.stem
        place.mkdir(parents=True, exist_ok=True)
        inputs = packed.read(path)
        for old in place.iterdir():
            if old.name not in inputs:
                old.unlink()
        for name, data in inputs.items():
            (place / name).write_bytes(data)
        print(path.stem, len(inputs))


def main():
    if sys.argv[1:2] == ["unpack"] and len(sys.argv) == 3:
        unpack(pathlib.Path(sys.argv[2]))
    elif sys.argv[1:2] == ["add"] and len(sys.argv) > 3:
        path = path_of(sys.argv[2])
        inputs = packed.read(path) if path.exists() else {}
        inputs |= {file.name: file.read_bytes() for file in map(pathlib.Path, sys.argv[3:])}
        packed.write(path, inputs)
    else:
        sys.exit(__doc__.strip())


if __name__ == "__main__":
    main()
