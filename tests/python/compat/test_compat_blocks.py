# SPDX-License-Identifier: MIT
"""toll.compat.gpu_tracker: what blocks of code used, and runs compared. The figures of the files
here are worked out by hand."""

import dataclasses
import json
import logging
import os
import pickle
import sqlite3
import sys
import time
import types

import pytest
from example_module import example_function
from fuzz import corpus
from toll.compat import gpu_tracker as gput

STATIC = "ram_unit,gpu_ram_unit,time_unit,ram_system_capacity,system_core_count\n"
STATIC += "gigabytes,gigabytes,hours,64.0,12\n"
# Time and two figures of each point.
POINTS = [(10.0, 1.0, 100.0), (11.0, 3.0, 200.0), (12.0, 5.0, 0.0), (13.0, 7.0, 100.0)]
BLOCKS = [(7, "load", 0, 9.5), (7, "load", 1, 11.5), (7, "train", 0, 11.5), (7, "train", 1, 12.25)]
BLOCKS += [(7, "load", 0, 12.5), (7, "load", 1, 12.75), (7, "train", 0, 13.0)]


def write_points(path, scale=1.0):
    rows = [f"{ram * scale},{cpu},{when}" for when, ram, cpu in POINTS]
    heading = "main_ram,cpu_main_sum_utilization_percent,timestamp"
    path.write_text(STATIC + "\n".join([heading, *rows]) + "\n")
    return str(path)


def write_blocks(path, blocks=BLOCKS):
    lines = ["process_id,code_block_name,position,timestamp"]
    lines += [",".join(map(str, row)) for row in blocks]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.fixture
def analyzer(tmp_path):
    return gput.SubTrackingAnalyzer(
        write_points(tmp_path / "points.csv"), write_blocks(tmp_path / "blocks.csv")
    )


def test_results(analyzer):
    results = analyzer.sub_tracking_results()
    document = results.to_json()
    assert list(document) == ["overall", "static_data", "code_block_results"]
    ram = document["overall"]["main_ram"]
    assert (ram["min"], ram["max"], ram["mean"]) == (1.0, 7.0, 4.0)
    assert ram["std"] > 0
    assert results.overall["mean"]["main_ram"] == 4.0
    assert results.static_data["ram_unit"] == "gigabytes"
    load, train = results.code_block_results
    assert (load.name, load.num_calls, load.num_non_empty_calls, load.num_timepoints) == (
        "load",
        2,
        1,
        2,
    )
    assert load.compute_time["total"] == 2.25
    assert (load.compute_time["min"], load.compute_time["max"]) == (0.25, 2.0)
    assert load.resource_usage["max"]["main_ram"] == 3.0
    assert (train.num_calls, train.num_timepoints) == (1, 1)
    assert "load" in str(results)
    assert pickle.loads(pickle.dumps(results)).to_json() == document


class FakePandas(types.ModuleType):
    """Keeps what it is given; as a table it answers table[column][row]."""

    class DataFrame(dict):
        def __init__(self, data, index=None):
            super().__init__(data if isinstance(data, dict) else enumerate(data))
            self.index = index

    class Series(dict):
        def __init__(self, values, dtype=None):
            super().__init__(values)
            self.dtype = dtype


def test_with_pandas(analyzer, monkeypatch, tmp_path):
    """Tables and series are pandas' where it is installed; a stand-in tells how they are made."""
    pandas = FakePandas("pandas")
    monkeypatch.setitem(sys.modules, "pandas", pandas)
    results = analyzer.sub_tracking_results()
    assert isinstance(results.overall, pandas.DataFrame)
    assert list(results.overall) == ["min", "max", "mean", "std"]
    assert results.overall.index == list(results.to_json()["overall"])
    assert list(results.overall["mean"]) == results.overall.index
    assert results.overall["mean"]["main_ram"] == 4.0
    assert results.static_data.dtype is object  # has texts in it
    load = results.code_block_results[0]
    assert isinstance(load.compute_time, pandas.Series) and load.compute_time.dtype is float
    assert load.resource_usage["max"]["main_ram"] == 3.0
    points = analyzer.load_timepoints([(9.5, 11.5)])
    assert isinstance(points, pandas.DataFrame) and points[1]["timestamp"] == 11.0
    assert isinstance(analyzer.read_static_data(), pandas.Series)
    files = {name: tmp_path / f"{name}.json" for name in "ab"}
    for path in files.values():
        path.write_text(json.dumps(results.to_json()))
    compared = gput.TrackingComparison(files).compare("max")
    assert isinstance(compared.overall_resource_usage["main_ram"], pandas.Series)
    assert compared.overall_resource_usage["main_ram"] == {"a": 7.0, "b": 7.0}
    assert isinstance(pickle.loads(pickle.dumps(results)).overall, pandas.DataFrame)


def test_parts(analyzer):
    assert analyzer.load_code_block_names() == ["load", "train"]
    assert analyzer.load_timestamp_pairs("load") == [(9.5, 11.5), (12.5, 12.75)]
    assert analyzer.load_timestamp_pairs("train") == [(11.5, 12.25)]  # the last call did not end
    assert len(analyzer.load_timepoints([(9.5, 11.5)])) == 2
    assert analyzer.read_static_data()["system_core_count"] == 12
    assert analyzer.overall_timepoint_results()["max"]["main_ram"] == 7.0


def test_files_are_combined(tmp_path):
    parts = [
        write_blocks(tmp_path / "a.csv", BLOCKS[:2]),
        write_blocks(tmp_path / "b.csv", [(8, "load", 0, 1.0), (8, "load", 1, 2.0)]),
    ]
    target = str(tmp_path / "all.csv")
    analyzer = gput.SubTrackingAnalyzer(None, target)
    analyzer.combine_sub_tracking_files(parts)
    assert analyzer.load_timestamp_pairs("load") == [(9.5, 11.5), (1.0, 2.0)]
    with pytest.raises(ValueError) as error:
        analyzer.combine_sub_tracking_files(parts)
    assert str(error.value) == f"Cannot create sub-tracking file {target}. File already exists."
    with pytest.raises(ValueError) as error:
        gput.SubTrackingAnalyzer(None, "other.sqlite").combine_sub_tracking_files(parts)
    assert str(error.value) == (
        f"File {parts[0]} does not end with the same extension as other.sqlite. "
        'Must end in ".sqlite".'
    )
    with pytest.raises(ValueError, match="no tracking file"):
        analyzer.sub_tracking_results()


def test_mistakes(tmp_path):
    with pytest.raises(ValueError, match="Invalid file name"):
        gput.SubTrackingAnalyzer("points.txt", "blocks.csv")
    missing = gput.SubTrackingAnalyzer(str(tmp_path / "no.csv"), str(tmp_path / "none.csv"))
    with pytest.raises(FileNotFoundError):
        missing.sub_tracking_results()
    crossed = [(7, "load", 0, 5.0), (7, "load", 1, 4.0)]
    bad = gput.SubTrackingAnalyzer(
        write_points(tmp_path / "points.csv"), write_blocks(tmp_path / "bad.csv", crossed)
    )
    with pytest.raises(ValueError):
        bad.sub_tracking_results()


@pytest.mark.parametrize(
    "blocks, said",
    [
        (
            [(11, "X", 0, 9.5), (11, "X", 1, 9.75), (12, "X", 0, 9.875), (12, "X", 1, 13.5)]
            + [(11, "X", 1, 13.625)],
            "Detected timestamp pair (13.625, 9.875) with differing process IDs: 11 and 12.",
        ),
        (
            [(11, "X", 0, 13.75), (11, "X", 0, 13.5), (11, "X", 1, 9.75)],
            "Detected timestamp pair (9.75, 13.5) of process ID 11 with a start time greater than the "
            "stop time.",
        ),
        ([(11, "X", 1, 9.75)], 'Row 1 stops "X" of process ID 11, which had not started.'),
    ],
)
def test_invalid_pairs_are_errors(tmp_path, blocks, said):
    """In the words of that tool; of libtoll, which analyzes, as of the list of pairs."""
    bad = gput.SubTrackingAnalyzer(
        write_points(tmp_path / "points.csv"), write_blocks(tmp_path / "bad.csv", blocks)
    )
    for ask in (lambda: bad.load_timestamp_pairs("X"), bad.sub_tracking_results):
        with pytest.raises(ValueError) as error:
            ask()
        assert str(error.value) == f"Sub-tracking file is invalid. {said}"


def test_blocks_that_call_themselves(tmp_path):
    """A stop is of the last start that is open, in the results as in the list of pairs."""
    blocks = [(7, "f", 0, 9.5), (7, "f", 0, 10.5), (7, "f", 1, 11.5), (7, "f", 1, 12.75)]
    analyzer = gput.SubTrackingAnalyzer(
        write_points(tmp_path / "points.csv"), write_blocks(tmp_path / "blocks.csv", blocks)
    )
    assert analyzer.load_timestamp_pairs("f") == [(9.5, 12.75), (10.5, 11.5)]
    (block,) = analyzer.sub_tracking_results().code_block_results
    assert (block.num_calls, block.num_timepoints) == (2, 3)
    assert block.compute_time["total"] == 4.25


def test_names_that_look_like_formulas(tmp_path):
    path = str(tmp_path / "blocks.csv")
    for name in ("=1+1", "'=1", "'quoted'"):
        with gput.SubTracker(name, sub_tracking_file=path):
            pass
    analyzer = gput.SubTrackingAnalyzer(write_points(tmp_path / "points.csv"), path)
    assert analyzer.load_code_block_names() == ["'=1", "'quoted'", "=1+1"]
    found = analyzer.sub_tracking_results().code_block_results
    assert [block.name for block in found] == analyzer.load_code_block_names()
    assert len(analyzer.load_timestamp_pairs("=1+1")) == 1


def test_results_are_data_classes(analyzer):
    """They can be made by hand, and are equal when their parts are."""
    results = analyzer.sub_tracking_results()
    fields = [field.name for field in dataclasses.fields(results)]
    assert fields == ["overall", "static_data", "code_block_results"]
    again = gput.SubTrackingResults(results.overall, results.static_data, results.code_block_results)
    assert again.to_json() == results.to_json() and str(again) == str(results)
    block = results.code_block_results[0]
    assert gput.CodeBlockResults(*(getattr(block, f.name) for f in dataclasses.fields(block))).name == "load"
    empty = gput.ComparisonResults({}, {}, {})
    assert list(empty.to_json()) == [field.name for field in dataclasses.fields(empty)]


PICKLES = corpus.read("pickle")


@pytest.mark.parametrize("name", ["pandas4", "pandas5"])
def test_pickles_of_the_tool_are_compared(tmp_path, name, caplog):
    """Of its own classes, with tables of pandas, of which neither need be there."""
    path = tmp_path / "results.pkl"
    path.write_bytes(PICKLES[name])
    comparison = gput.TrackingComparison({"b": path, "a": path})
    names = [block.name for block in comparison.results_map["a"].code_block_results]
    assert names == ["X", "tmp.py:9", "tmp.py:38"]
    results = comparison.compare("max")
    assert dict(results.code_block_compute_time["X"]) == {"b": 3.0, "a": 3.0}
    assert results.overall_resource_usage["main_ram"]["a"] == 4.0
    assert gput.read_pickle(path).to_json()["static_data"]["system_core_count"] == 12
    assert not caplog.records


@pytest.fixture
def sessions(tmp_path):
    """Two runs: as a pickle and as JSON."""
    found = {}
    for name, scale in (("slow", 2.0), ("fast", 1.0)):
        results = gput.SubTrackingAnalyzer(
            write_points(tmp_path / f"{name}.csv", scale), write_blocks(tmp_path / "blocks.csv")
        ).sub_tracking_results()
        path = tmp_path / f"{name}.{'pkl' if name == 'slow' else 'json'}"
        if name == "slow":
            path.write_bytes(pickle.dumps(results))
        else:
            path.write_text(json.dumps(results.to_json()))
        found[name] = str(path)
    return found


def test_comparison(sessions):
    comparison = gput.TrackingComparison(sessions)
    assert list(comparison.results_map) == ["slow", "fast"]
    results = comparison.compare()
    ram = results.to_json()["overall_resource_usage"]["main_ram"]
    assert list(ram.items()) == [("fast", 4.0), ("slow", 8.0)]  # the smallest first
    assert results.overall_resource_usage["main_ram"]["slow"] == 8.0
    assert results.code_block_resource_usage["main_ram"]["train"]["slow"] == 10.0
    assert results.code_block_compute_time["load"]["fast"] == 1.125
    assert comparison.compare("max").overall_resource_usage["main_ram"]["fast"] == 7.0
    assert "main" in str(results).lower()
    with pytest.raises(ValueError) as error:
        comparison.compare("median")
    assert str(error.value) == (
        "Invalid summary statistic 'median'. Valid values are min max mean std."
    )


def test_blocks_that_do_not_match(sessions, tmp_path):
    other = gput.SubTrackingAnalyzer(
        write_points(tmp_path / "points.csv"), write_blocks(tmp_path / "one.csv", BLOCKS[:2])
    ).sub_tracking_results()
    path = tmp_path / "other.json"
    path.write_text(json.dumps(other.to_json()))
    with pytest.raises(ValueError) as error:
        gput.TrackingComparison({"slow": sessions["slow"], "other": str(path)})
    assert str(error.value) == (
        "All sub-tracking results must have the same number of code blocks. The first has 1 code "
        'blocks but tracking session "slow" has 2 code blocks.'
    )


def test_blocks_that_differ_by_their_line(tmp_path, caplog):
    caplog.set_level(logging.WARNING)
    found = {}
    for line in (3, 14):
        blocks = [(7, f"a.py:{line}", position, when) for _, _, position, when in BLOCKS[:2]]
        results = gput.SubTrackingAnalyzer(
            write_points(tmp_path / "points.csv"), write_blocks(tmp_path / "blocks.csv", blocks)
        ).sub_tracking_results()
        found[f"at{line}"] = str(tmp_path / f"{line}.json")
        (tmp_path / f"{line}.json").write_text(json.dumps(results.to_json()))
    compared = gput.TrackingComparison(found)
    (record,) = caplog.records
    assert record.getMessage() == (
        'Code block name "a.py:14" of tracking session "at14" matched with code block name "a.py:3" of '
        'tracking session "at3" but they differ by line number. If these code blocks were not meant to '
        "match, their comparison will not be valid and their names must be disambiguated."
    )
    assert list(compared.compare().code_block_compute_time) == ["a.py:14 -> a.py:3"]


def test_a_pickle_of_something_else(tmp_path):
    path = tmp_path / "bad.pkl"
    path.write_bytes(pickle.dumps(os.getcwd))
    with pytest.raises(pickle.UnpicklingError):
        gput.TrackingComparison({"a": str(path)})


@pytest.mark.parametrize("suffix", ["csv", "sqlite"])
def test_from_the_tracker_to_the_results(tmp_path, suffix):
    points, blocks = str(tmp_path / f"points.{suffix}"), str(tmp_path / f"blocks.{suffix}")

    @gput.sub_track(code_block_name="work", sub_tracking_file=blocks)
    def work():
        example_function(0.15)

    with gput.Tracker(sleep_time=0.05, tracking_file=points, ram_unit="megabytes"):
        work()
        time.sleep(0.05)
        work()
    results = gput.SubTrackingAnalyzer(points, blocks).sub_tracking_results()
    (block,) = results.code_block_results
    assert (block.name, block.num_calls) == ("work", 2)
    assert block.compute_time["min"] >= 0.15
    assert results.static_data["ram_unit"] == "megabytes"
    figures = results.to_json()["overall"]
    assert figures["main_ram"]["max"] > 30
    if suffix == "sqlite":
        assert sqlite3.connect(points).execute("SELECT count(*) FROM data").fetchone()[0] >= 4
