# SPDX-License-Identifier: MIT
r"""Several files in one readable text: expected outputs, inputs of fuzz targets.

A part begins with a line `-- NAME --` and goes on to the next such line; its text is as it stands.
After `-- NAME (escaped) --` the text has \\, \t, \r and \xNN for single bytes, and a backslash at the
end of a line joins it with the next one: this is how a part is written that is not text or does not
end with a newline.
"""

import re

HEADING = re.compile(rb"^-- ([\w./-]+)( \(escaped\))? --\n", re.MULTILINE)
ESCAPE = re.compile(rb"\\(\n|\\|t|r|x[0-9a-f]{2})")
NAMED = {b"\n": b"", b"\\": b"\\", b"t": b"\t", b"r": b"\r"}
ESCAPES = {"\t": "\\t", "\r": "\\r", "\\": "\\\\"}
LINE_LENGTH = 96


def unescape(match):
    code = match[1]
    return NAMED[code] if code in NAMED else bytes([int(code[1:], 16)])


def read(path):
    """The parts of a file: bytes by their names, in their order."""
    parts = HEADING.split(path.read_bytes())
    if parts[0] or len(parts) < 4:
        raise ValueError(f"{path} does not begin with the heading of a part")
    return {name.decode(): ESCAPE.sub(unescape, data) if escaped else data
            for name, escaped, data in zip(parts[1::3], parts[2::3], parts[3::3])}


def escape(char):
    if char in ESCAPES:
        return ESCAPES[char]
    if char.isprintable():
        return char
    return "".join(f"\\x{byte:02x}" for byte in char.encode(errors="surrogateescape"))


def pack(name, data):
    """The heading and the text of one part."""
    text = data.decode(errors="surrogateescape")
    if ((not text or text.endswith("\n")) and not HEADING.search(data)
            and all(char in "\n\t" or char.isprintable() for char in text)):
        return f"-- {name} --\n".encode() + data
    lines, line = [], ""
    for char in text:
        if char == "\n":
            lines.append(line)
            line = ""
            continue
        if len(line) > LINE_LENGTH - 4:
            lines.append(line + "\\")
            line = ""
        # A line of the text may look like a heading.
        line += "\\x2d" if char == "-" and not line else escape(char)
    if line:
        lines.append(line + "\\")
    return "".join(f"{x}\n" for x in [f"-- {name} (escaped) --", *lines]).encode()


def write(path, parts):
    path.write_bytes(b"".join(pack(*part) for part in parts.items()))
