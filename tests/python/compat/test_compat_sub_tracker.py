# SPDX-License-Identifier: MIT
"""toll.compat.gpu_tracker: SubTracker and sub_track write down when blocks of code begin and end."""

import functools
import os
import re
import sqlite3
import threading

import pytest
from toll.compat import gpu_tracker as gput
from toll.compat.gpu_tracker import sub_tracker as blocks_module


def test_blocks_are_written_down(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with gput.SubTracker(code_block_name="load, first"):
        pass
    with gput.SubTracker() as named:
        pass
    lines = (tmp_path / f"{os.getpid()}.csv").read_text().splitlines()
    assert lines[0] == "process_id,code_block_name,position,timestamp"
    assert re.match(rf'{os.getpid()},"load, first",0,\d+\.\d+$', lines[1])
    assert re.match(rf'{os.getpid()},"load, first",1,\d+\.\d+$', lines[2])
    assert re.search(r"test_compat_sub_tracker\.py:\d+$", named.code_block_name)
    assert len(lines) == 5


def test_functions_are_blocks(tmp_path):
    path = str(tmp_path / "blocks.csv")

    @gput.sub_track(sub_tracking_file=path)
    def work(n):
        """What it does."""
        return n + 1

    @gput.sub_track(code_block_name="mine", sub_tracking_file=path)
    def fail():
        raise KeyError

    @gput.sub_track(code_block_attribute="attribute", sub_tracking_file=path)
    @functools.lru_cache
    def cached():
        return 3

    assert cached() == 3
    assert (work(1), work.__doc__) == (2, "What it does.")
    with pytest.raises(KeyError):
        fail()
    lines = open(path, encoding="utf-8").read().splitlines()
    assert [line.split(",")[1:3] for line in lines[1:]] == [
        [f"{os.path.abspath(__file__)}:attribute", "0"],
        [f"{os.path.abspath(__file__)}:attribute", "1"],
        [f"{os.path.abspath(__file__)}:work", "0"],
        [f"{os.path.abspath(__file__)}:work", "1"],
        ["mine", "0"],
        ["mine", "1"],
    ]


def test_blocks_in_a_database(tmp_path):
    path = str(tmp_path / "blocks.sqlite")
    with gput.SubTracker("load", sub_tracking_file=path):
        pass
    rows = sqlite3.connect(path).execute("SELECT * FROM data").fetchall()
    assert [row[:3] for row in rows] == [(os.getpid(), "load", 0), (os.getpid(), "load", 1)]


def test_files_of_blocks_that_are_there(tmp_path):
    path = tmp_path / "blocks.csv"
    path.write_text("mine\n")
    with pytest.raises(FileExistsError, match="already exists"):
        gput.SubTracker("load", sub_tracking_file=str(path)).__enter__()
    assert path.read_text() == "mine\n"
    with gput.SubTracker("load", sub_tracking_file=str(path), overwrite=True):
        pass
    assert len(path.read_text().splitlines()) == 3
    path.unlink()
    with pytest.raises(FileNotFoundError, match=f"The file {path} was removed in the middle of writing data to it."):
        gput.SubTracker("load", sub_tracking_file=str(path)).__enter__()
    with pytest.raises(ValueError, match='Valid file extensions are ".csv" and ".sqlite"'):
        gput.SubTracker("load", sub_tracking_file="blocks.txt")


def test_a_file_that_another_thread_begins(tmp_path, monkeypatch):
    path = tmp_path / "blocks.csv"
    wrong = []

    def block(name):
        try:
            with gput.SubTracker(name, sub_tracking_file=str(path)):
                pass
        except OSError as error:
            wrong.append(error)

    other = threading.Thread(target=block, args=("other",))
    append = blocks_module._append

    def while_another_comes(*args):
        monkeypatch.setattr(blocks_module, "_append", append)
        other.start()
        other.join(0.2)
        append(*args)

    monkeypatch.setattr(blocks_module, "_append", while_another_comes)
    block("first")
    other.join()
    assert not wrong
    lines = path.read_text().splitlines()
    assert [line.split(",")[1] for line in lines[:2]] == ["code_block_name", "first"]
    assert sorted(line.split(",")[1] for line in lines[1:]) == ["first"] * 2 + ["other"] * 2


def test_a_child_of_a_thread_that_writes(tmp_path):
    """The lock that another thread holds is not the child's."""
    path = tmp_path / "blocks.csv"
    with blocks_module._lock:
        pid = os.fork()
        if not pid:
            with gput.SubTracker("child", sub_tracking_file=str(path)):
                os._exit(0 if path.exists() else 1)
    assert os.waitpid(pid, 0)[1] == 0
