#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Corpora of the fuzz targets, each one readable file.

usage: corpus.py unpack DIRECTORY    write every input to DIRECTORY/TARGET/INPUT, list how many
       corpus.py add TARGET FILE...  add inputs to the corpus of TARGET, named after their files

A corpus is tests/fuzz/corpus/TARGET.txt. An input begins with a line `-- NAME --` and goes on to the
next such line; its text is as it stands. After `-- NAME (escaped) --` the text has \\\\, \\t, \\r and
\\xNN for single bytes, and a backslash at the end of a line joins it with the next one: this is how
an input is written that is not text or does not end with a newline.
"""

import pathlib
import re
import sys

CORPUS = pathlib.Path(__file__).resolve().with_name("corpus")
HEADING = re.compile(rb"^-- ([\w.-]+)( \(escaped\))? --\n", re.MULTILINE)
ESCAPE = re.compile(rb"\\(\n|\\|t|r|x[0-9a-f]{2})")
NAMED = {b"\n": b"", b"\\": b"\\", b"t": b"\t", b"r": b"\r"}
LINE_BYTES = 96


def read(target):
    """The inputs of a target: their bytes by their names."""
    parts = HEADING.split((CORPUS / f"{target}.txt").read_bytes())
    if parts[0] or len(parts) < 4:
        raise ValueError(f"{target}.txt does not begin with an input")
    inputs = {}
    for name, escaped, text in zip(parts[1::3], parts[2::3], parts[3::3]):
        if escaped:
            text = ESCAPE.sub(lambda m: NAMED.get(m[1]) if m[1] in NAMED
                              else bytes([int(m[1][1:], 16)]), text)
        inputs[name.decode()] = text
    return inputs


def pack(name, data):
    """The lines of one input."""
    plain = not data or data.endswith(b"\n")
    if plain and not HEADING.search(data) and all(c in (9, 10) or 32 <= c < 127 for c in data):
        return f"-- {name} --\n".encode() + data
    out, line = [], b""
    for i, byte in enumerate(data):
        char = bytes([byte])
        if char == b"\n":
            out.append(line + b"\n")
            line = b""
            continue
        begins_heading = not line and data[i:i + 3] == b"-- "
        if len(line) > LINE_BYTES - 4:
            out.append(line + b"\\\n")
            line = b""
        if begins_heading or not 32 <= byte < 127:
            names = {b"\t": b"\\t", b"\r": b"\\r"}
            line += names.get(char, b"\\x%02x" % byte)
        else:
            line += b"\\\\" if char == b"\\" else char
    if line:
        out.append(line + b"\\\n")
    return f"-- {name} (escaped) --\n".encode() + b"".join(out)


def unpack(directory):
    for path in sorted(CORPUS.glob("*.txt")):
        place = directory / path.stem
        place.mkdir(parents=True, exist_ok=True)
        inputs = read(path.stem)
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
        with open(CORPUS / f"{sys.argv[2]}.txt", "ab") as corpus:
            for path in map(pathlib.Path, sys.argv[3:]):
                corpus.write(pack(path.name, path.read_bytes()))
    else:
        sys.exit(__doc__.strip())


if __name__ == "__main__":
    main()
