# SPDX-License-Identifier: MIT
"""The ways bytes can take: docs/accuracy.md says for each whether the kernel counts it."""
import json
import os
import pathlib
import re

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
BYTES = 8 << 20
SLACK = 1 << 20  # what a program reads besides, to be loaded for instance
REFUSED = 77


def claims():
    """{way: (read, written, storage)}, each "yes", "no" or ""."""
    text = (TOP / "docs/accuracy.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"\| way \| read by calls .*?\n\n", text, re.DOTALL)
    found = {}
    for line in table.splitlines()[2:]:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 4:
            found[re.match(r"`([^`]+)`", cells[0])[1]] = tuple(cells[1:])
    return found


def judge(claim, counted, what):
    """In both directions: what is counted is there, what is not is not."""
    if claim == "yes":
        assert BYTES <= counted < BYTES + SLACK, what
    elif claim == "no":
        assert counted < SLACK, what


def test_all_ways_are_described():
    assert {"read", "write", "splice", "sendfile", "io_uring read", "io_uring write"} <= set(claims())


@pytest.mark.parametrize("way", sorted(claims()))
def test_the_kernel_counts_as_described(here, way):
    source = here.path("from")
    source.write_bytes(os.urandom(BYTES))
    os.sync()
    if here.prefix:
        os.chown(source, 65534, 65534)
    r = here.run([here.helper("transfer"), way, str(BYTES)])
    if r.status == REFUSED:
        pytest.skip(f"refused here: {r.err.decode().strip()}")
    assert r.status == 0, r.err
    read, written, _, stored = map(int, r.out.split())  # what the program itself has read
    claim = claims()[way]
    judge(claim[0], read, "the kernel's rchar")
    judge(claim[1], written, "the kernel's wchar")
    judge(claim[0], r.total("io_read_bytes"), "toll: read by calls")
    judge(claim[1], r.total("io_written_bytes"), "toll: written by calls")
    if claim[2] == "yes" and stored:  # not of a filesystem in memory
        judge(claim[2], stored, "the kernel's write_bytes")
        judge(claim[2], r.total("storage_written_bytes"), "toll: storage written")
