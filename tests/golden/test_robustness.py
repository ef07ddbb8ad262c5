# SPDX-License-Identifier: MIT
"""Damaged recordings: a clear sentence, never a crash, a hang or an invented figure."""

import json
import random
import shutil

import pytest

import recorded

FAILED = 125
SOURCE = recorded.FIXTURES / "zombie-root"
HEAD = "start 1\nhost h\nkernel k\ncpus 1\ncommand c\ntracker 999\nmain 1000\n"


def run_of(tmp_path, script):
    directory = tmp_path / "run"
    shutil.copytree(SOURCE, directory)
    (directory / "script").write_bytes(script if isinstance(script, bytes) else script.encode())
    return directory


def said(done):
    """What it complained about, apart from the summary."""
    return [line for line in done.stderr.decode(errors="replace").splitlines() if line.startswith("toll: ")]


BAD_SCRIPTS = {
    "empty": "",
    "no tick": HEAD,
    "no main": "start 1\ntick 0.1 t000\n",
    "main is 0": "main 0\ntick 0.1 t000\n",
    "main is no number": "main x\ntick 0.1 t000\n",
    "main is too large": "main 99999999999\ntick 0.1 t000\n",
    "start is too large": "main 1000\nstart 99999999999999999999\ntick 0.1 t000\n",
    "a word before the first tick": "main 1000\nreaped 1000 exit 0\ntick 0.1 t000\n",
    "usage before the first tick": "main 1000\nusage 1 1 1 1 1 1 1\ntick 0.1 t000\n",
    "a look before the first tick": "main 1000\nlook 0.1 t000\ntick 0.2 t000\n",
    "an unknown word": HEAD + "tick 0.1 t000\nfrobnicate 3\n",
    "a tick without a tree": HEAD + "tick 0.1 t000\ntick 0.2 t999\n",
    "a tick without a time": HEAD + "tick 0.1 t000\ntick t001\n",
    "time runs backwards": HEAD + "tick 0.2 t000\ntick 0.1 t001\n",
    "a time without end": HEAD + "tick 0.1 t000\ntick " + "9" * 400 + " t001\n",
    "reaped is cut": HEAD + "tick 0.1 t000\nreaped 1000\n",
    "usage is cut": HEAD + "tick 0.1 t000\nusage 1 2 3\n",
    "io is cut": HEAD + "tick 0.1 t000\nio 1 2 3\n",
    "bytes": bytes(range(256)) * 16,
    "zeros": bytes(4096),
    "one endless line": b"main 1000" + b" x" * 40000,
    "too long": HEAD.encode() + b"# x\n" * (1 << 19),
}


@pytest.mark.parametrize("script", BAD_SCRIPTS.values(), ids=BAD_SCRIPTS.keys())
def test_bad_script(script, tmp_path):
    directory = run_of(tmp_path, script)
    done = recorded.replay(directory)
    assert done.returncode == FAILED, done.stderr
    assert f"'{directory}" in said(done)[-1]


def test_the_line_is_named(tmp_path):
    directory = run_of(tmp_path, HEAD + "tick 0.1 t000\n# a comment\n\nfrobnicate 3\n")
    done = recorded.replay(directory)
    assert "toll: script: line 11: unexpected text: 'frobnicate 3'" in said(done)


@pytest.mark.parametrize("words", [[], ["/nonexistent"], ["a", "b"]])
def test_bad_arguments(words, tmp_path):
    done = recorded.replay(*([*words, tmp_path][:2] if words else [tmp_path / "not there"]))
    assert done.returncode == FAILED
    assert len(said(done)) == 1


def test_no_process_can_be_read(tmp_path):
    """Random bytes, nothing, and no file at all: there is nobody to tell of."""
    directory = run_of(tmp_path, HEAD + "tick 0.1 t000\n")
    for content in (b"\xff" * 100, b"", b"1000 (job", b"1000 (job) S 1 1"):
        (directory / "t000/proc/1000/stat").write_bytes(content)
        done = recorded.replay(directory)
        assert done.returncode == FAILED
        assert "toll: cannot read any process of the recorded run" in said(done)
    shutil.rmtree(directory / "t000/proc/1000")
    assert recorded.replay(directory).returncode == FAILED


@pytest.mark.parametrize("name", ["io", "status"])
@pytest.mark.parametrize("content", [b"", b"garbage\n", b"rchar: 99999999999999999999999\n"])
def test_a_file_that_says_nothing_is_unknown(name, content, tmp_path):
    directory = tmp_path / "run"
    shutil.copytree(SOURCE, directory)
    for path in directory.glob(f"t*/proc/*/{name}"):
        path.write_bytes(content)
    script = (directory / "script").read_text().splitlines()
    if name == "io":
        script = [line for line in script if not line.startswith("io ")]
    (directory / "script").write_text("\n".join(script) + "\n")
    out = tmp_path / "run.json"
    done = recorded.replay(directory, "-o", out, "--wait", "all")
    assert done.returncode == 0, done.stderr
    target = json.loads(out.read_text())["target"]["combined"]
    metric = "io_read_bytes" if name == "io" else "memory_shared_bytes"
    assert target[metric] == {"quality": "unknown", "from": ""}
    assert target["cpu_seconds"]["total"] > 0


def damage(path, chance):
    text = bytearray(path.read_bytes())
    how = chance.randrange(5)
    if how == 0:
        path.unlink()
    elif how == 1:
        path.write_bytes(text[: chance.randrange(len(text) + 1)])
    elif how == 2:
        path.write_bytes(chance.randbytes(chance.randrange(300)))
    elif how == 3 and text:
        for _ in range(5):
            text[chance.randrange(len(text))] = chance.randrange(256)
        path.write_bytes(text)
    else:
        path.write_bytes(bytes(text).replace(b"1", b"9" * 30, 1))


@pytest.mark.parametrize("seed", range(40))
def test_random_damage(seed, tmp_path):
    """It may fail with a sentence or go on with what is left; the output stays valid."""
    chance = random.Random(seed)
    name = chance.choice(["zombie-root", "linux-4.9", "pid-reuse", "container", "leader-exited"])
    directory = tmp_path / "run"
    shutil.copytree(recorded.FIXTURES / name, directory)
    files = sorted(path for path in directory.rglob("*") if path.is_file() and path.name != "truth.json")
    for path in chance.sample(files, min(len(files), 6)):
        damage(path, chance)
    out = tmp_path / "run.jsonl"
    done = recorded.replay(directory, "-o", out)
    assert done.returncode in (0, FAILED), done.stderr
    if done.returncode == FAILED:
        assert said(done)
    if out.exists():
        recorded.records(out.read_bytes())
