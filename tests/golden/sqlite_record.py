# SPDX-License-Identifier: MIT
"""A SQLite file of toll read with Python's own module, and compared with the record (.jsonl) of the
same run: everything that is in one is in the other, to the digit."""

import json
import sqlite3
from decimal import Decimal

from recordlib import read_record

NANO, MICRO = Decimal(10) ** 9, Decimal(10) ** 6
PLURALS = {
    "processes": "process", "cgroups": "cgroup", "cores": "core", "disks": "disk",
    "mounts": "mount", "netifs": "netif", "sensors": "sensor", "rapl": "rapl", "gpus": "gpu",
    "cgroup_disks": "cgroup_disk",
}
OF_PROCESS = {"pid", "parent", "start_ticks", "name", "targets"}
ENDS = ("status", "code", "signal", "core_dumped", "oom_killed", "timed_out")


def connect(path):
    """For reading; the rows have names."""
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=20)
    db.row_factory = sqlite3.Row
    return db


BOUNDS = "lower_bound"


def figure(column, value):
    """Name and value as the record has them."""
    if column.endswith("_ns"):
        return column[:-2] + "seconds", Decimal(value) / NANO
    if column.endswith("_microjoules"):
        return column[:-11] + "joules", Decimal(value) / MICRO
    return column, value if isinstance(value, (int, str)) else Decimal(value)


def figures(row, besides):
    found = dict(figure(column, row[column]) for column in row.keys()
                 if column not in besides and column != BOUNDS and row[column] is not None)
    if BOUNDS in row.keys() and row[BOUNDS] is not None:
        found[BOUNDS] = parse(row[BOUNDS])
    return found


def same(found, expected, decimals=6):
    """Whole numbers are equal; others stand in the record with so many decimals."""
    if isinstance(expected, Decimal) or isinstance(found, Decimal):
        found, expected = Decimal(found), Decimal(expected)
        return abs(found - expected) <= Decimal("0.5001") / 10 ** decimals + abs(expected) / 10 ** 14
    return found == expected


def assert_figures(found, expected, where):
    """Unknown is NULL in one and null or left out in the other."""
    expected = {key: value for key, value in expected.items() if value is not None}
    assert set(found) == set(expected), where
    assert found.pop(BOUNDS, None) == expected.pop(BOUNDS, None), where
    for key, value in expected.items():
        assert same(found[key], value), (where, key, found[key], value)


def parse(line):
    return json.loads(line, parse_float=Decimal)


class Run:
    """One run of a file."""

    def __init__(self, db, number):
        self.db, self.number = db, number
        self.entities = {row["entity"]: row for row in self.rows("entities")}

    def rows(self, table, more="", *values):
        return self.db.execute(f"SELECT * FROM {table} WHERE run = ? {more}",
                               (self.number, *values)).fetchall()

    def of_tick(self, table, tick):
        return {row["entity"]: figures(row, {"run", "tick", "entity", "ended"})
                for row in self.rows(table, "AND tick = ? ORDER BY entity", tick)}

    def find(self, kind, part, name):
        found = [number for number, row in self.entities.items()
                 if (row["kind"], row["part"], row["name"]) == (kind, part, name)]
        assert len(found) == 1, (kind, part, name)
        return found[0]

    def find_thing(self, key, thing, _tick=None):
        for number, row in self.entities.items():
            labels = json.loads(row["labels"] or "{}")
            if (row["kind"] == PLURALS[key] and row["name"] == thing["name"]
                    and all(thing.get(word) == value for word, value in labels.items())):
                return number
        raise AssertionError((key, thing["name"]))

    def find_process(self, _key, process, tick):
        """A process has a new number when it has changed its name, for instance."""
        [row] = self.db.execute(
            "SELECT entity FROM process_samples JOIN entities USING (run, entity) WHERE run = ? "
            "AND tick = ? AND pid = ? AND start_ticks = ?",
            (self.number, tick, process["pid"], process["start_ticks"])).fetchall()
        return row["entity"]


def compare_parts(run, rows, line, name, where):
    for part in ("combined", "main", "descendants"):
        if part in line:
            number = run.find("target", part, name)
            assert_figures(rows.pop(number), line[part], (where, name, part))


def compare_things(run, tick, key, things):
    kind = PLURALS[key]
    rows = run.of_tick(f"{kind}_samples", tick)
    assert len(rows) == len(things), (tick, key)
    for (number, found), thing in zip(rows.items(), things):
        entity = run.entities[number]
        labels = json.loads(entity["labels"] or "{}")
        if kind == "process":
            labels |= {"pid": entity["pid"], "parent": entity["parent"],
                       "start_ticks": entity["start_ticks"]}
            if entity["targets"]:
                labels["targets"] = json.loads(entity["targets"])
        assert (entity["kind"], entity["name"]) == (kind, thing.pop("name"))
        for word, value in labels.items():
            assert thing.pop(word) == value, (tick, key, word)
        assert_figures(found, thing, (tick, key, entity["name"]))


def compare_sample(run, row, line):
    tick = row["tick"]
    assert (line.pop("type"), line.pop("tick")) == ("sample", tick)
    line.pop("last", None)  # here it is the one with the largest tick
    for column, key in (("elapsed_ns", "elapsed_seconds"), ("interval_ns", "interval_seconds")):
        assert Decimal(row[column]) / NANO == line.pop(key)
    [day] = run.db.execute("SELECT time FROM timeline WHERE run = ? AND elapsed_seconds = ?",
                           (run.number, row["elapsed_ns"] / 1e9)).fetchall()
    assert day["time"] == line.pop("time")
    assert Decimal(row["time_ns"]) / NANO == line.pop("unix_seconds")
    assert row["gpu_count"] == line.pop("gpu_count", None)
    assert row["for_mark"] == (1 if line.pop("between", False) else None)
    rows = run.of_tick("target_samples", tick)
    compare_parts(run, rows, line.pop("target", {}), "", tick)
    for target in line.pop("targets", []):
        compare_parts(run, rows, target, target["name"], tick)
    assert not rows
    if "system" in line:
        [found] = run.of_tick("system_samples", tick).values()
        assert_figures(found, line.pop("system"), (tick, "system"))
    [found] = run.of_tick("self_samples", tick).values()
    assert_figures(found, line.pop("self"), (tick, "self"))
    for key in list(line):
        find = run.find_process if key == "processes" else run.find_thing
        things = sorted(line.pop(key), key=lambda thing: find(key, thing, tick))
        compare_things(run, tick, key, things)


def compare_process(row, line):
    end = line.pop("end")
    if end is None:
        assert [row[key] for key in ENDS] == [None] * len(ENDS)
    else:
        assert {key: row[key] for key in ENDS} == end  # True is 1
    assert row["how"] == line.pop("left")
    assert Decimal(row["elapsed_ns"]) / NANO == line.pop("elapsed_seconds")
    for key in ("pid", "parent", "start_ticks", "name"):
        assert row[key] == line.pop(key)
    assert json.loads(row["targets"] or "null") == line.pop("targets", None)
    assert_figures(figures(row, {"run", "seq", "elapsed_ns", "how", *ENDS, *OF_PROCESS}), line,
                   row["pid"])


def compare_mark(row, line):
    for column, key in (("elapsed_ns", "elapsed_seconds"), ("begin_ns", "begin_seconds"),
                        ("end_ns", "end_seconds")):
        if column in row.keys():
            assert Decimal(row[column]) / NANO == line.pop(key)
    line.pop("seconds", None)
    for column, key in (("whose", "of"), ("ended", "ended"), ("name", "name"), ("pid", "pid"),
                        ("looks", "looks"), ("value", "value")):
        if column in row.keys():
            expected = line.pop(key)
            assert row[column] == (float(expected) if column == "value" else expected), column
    for key in ("attributes", "figures"):
        if key in row.keys():
            assert parse(row[key]) == line.pop(key)
    assert not line


def compare_figure(row, expected):
    """A row of the summary with the object of the same figure."""
    counts = "total" in expected or "rate_mean" in expected
    names = ({"total": "total", "mean": "rate_mean", "max": "rate_max",
              "max_at_ns": "rate_max_at_seconds"} if counts else
             {"last": "last", "mean": "mean", "min": "min", "max": "max",
              "max_at_ns": "max_at_seconds", "p50": "p50", "p90": "p90", "p99": "p99",
              "at_target_max": "at_target_max"})
    found = {}
    for column in ("total", "last", "mean", "min", "max", "max_at_ns", "p50", "p90", "p99",
                   "at_target_max"):
        if row[column] is not None:
            value = row[column]
            found[names[column]] = (Decimal(value) / NANO if column == "max_at_ns" else
                                    value if isinstance(value, int) else Decimal(value))
    assert row["quality"] == expected.pop("quality", None)
    assert row["means"] == expected.pop("from", None)
    if expected.pop("unlimited", False):  # a quality and a means, and no number
        assert not found
    expected = {key: value for key, value in expected.items() if value is not None}
    assert set(found) == set(expected), (row["metric"], found, expected)
    assert found.pop(BOUNDS, None) == expected.pop(BOUNDS, None), where
    for key, value in expected.items():
        assert same(found[key], value, 6 if key in ("last", "total") else 9), (row["metric"], key)


def compare_summary(run, line):
    [facts] = run.rows("runs")
    assert (line.pop("type"), line.pop("schema")) == ("summary", "toll.summary/1")
    whole = parse(facts["summary"])
    whole.pop("outputs", None)  # of what was exported
    line.pop("outputs", None)  # known when all is written
    assert whole == line
    assert Decimal(facts["wall_ns"]) / NANO == line["wall_seconds"]
    assert [facts[key] for key in ("status", "code", "signal")] == [
        line["end"][key] for key in ("status", "code", "signal")]
    seen = 0
    groups = [(run.find("target", part, ""), line["target"][part])
              for part in line.get("target", {})]
    for target in line.get("targets", []):
        groups += [(run.find("target", part, target["name"]), target[part])
                   for part in ("combined", "main", "descendants") if part in target]
    groups.append((run.find("self", "", ""), line["self"]))
    if "system" in line:
        groups.append((run.find("system", "", ""), line["system"]))
    for key in PLURALS:
        groups += [(run.find_thing(key, thing), thing) for thing in line.get(key, [])
                   if key != "processes"]
    for number, expected in groups:
        for row in run.rows("summary", "AND entity = ?", number):
            compare_figure(row, expected[row["metric"]])
            seen += 1
        metrics = {key for key, value in expected.items() if isinstance(value, dict)}
        assert metrics == {row["metric"] for row in run.rows("summary", "AND entity = ?", number)}
    assert seen == len(run.rows("summary"))


def compare_note(row, line):
    assert (line.pop("name"), line.pop("text")) == ("note", row["sentence"])
    assert Decimal(row["elapsed_ns"]) / NANO == line.pop("elapsed_seconds")
    assert not line


def compare(jsonl, sqlite, number=1):
    """The record of a run with the run of that number."""
    db = connect(sqlite)
    assert [tuple(row) for row in db.execute("PRAGMA integrity_check")] == [("ok",)]
    run = Run(db, number)
    lines = read_record(open(jsonl, encoding="utf-8").read(), parse)
    first = lines.pop(0)
    assert (first.pop("type"), first.pop("schema")) == ("run", "toll.record/1")
    [facts] = run.rows("runs")
    assert parse(facts["facts"]) == first
    assert [facts[key] for key in ("name", "host", "pid")] == [
        first[key] for key in ("name", "host", "pid")]
    order = [(row["seq"], table, row)
             for table in ("samples", "processes", "phases", "events", "gauges", "notes")
             for row in run.rows(table)]
    order.sort(key=lambda item: item[0])
    summary = lines.pop() if lines and lines[-1]["type"] == "summary" else None
    assert len(order) == len(lines)
    for (_, table, row), line in zip(order, lines):
        if table == "samples":
            compare_sample(run, row, line)
            continue
        kind = line.pop("type")
        assert kind == {"processes": "process", "notes": "event"}.get(table, table[:-1])
        {"processes": compare_process, "notes": compare_note}.get(table, compare_mark)(row, line)
    if summary:
        compare_summary(run, summary)
    else:
        assert facts["wall_ns"] is None
    db.close()
