# SPDX-License-Identifier: MIT
"""toll.compat.process_metrics: nine figures of a tree in a run of MLflow."""

import asyncio
import logging
import os
import subprocess
import sys
import threading
import time
import types

import hostlib
import pytest
import shapes
import toll
from toll.compat.process_metrics import ProcessMetricsMonitor
from work import burn

psutil = hostlib.module("psutil")

KEYS = ["cpu_usage_percentage", "memory_rss_megabytes", "memory_vms_megabytes"]
KEYS += ["memory_uss_megabytes", "memory_usage_percentage", "num_threads", "num_fds"]
KEYS += ["io_read_megabytes", "io_write_megabytes"]


class FakeMlflow(types.ModuleType):
    """Takes metrics, or fails when it is told to."""

    def __init__(self):
        super().__init__("mlflow")
        self.logged = []
        self.run = types.SimpleNamespace(info=types.SimpleNamespace(run_id="run-1"))
        self.fails = 0
        self.called = threading.Event()

    def active_run(self):
        return self.run

    def log_metrics(self, metrics, step=None, run_id=None):
        if self.fails:
            self.fails -= 1
            raise ConnectionError("the server is away")
        self.logged.append((metrics, step, run_id))
        self.called.set()


@pytest.fixture
def mlflow(monkeypatch):
    module = FakeMlflow()
    monkeypatch.setitem(sys.modules, "mlflow", module)
    return module


def wait_for(mlflow, count):
    end = time.monotonic() + 20
    while len(mlflow.logged) < count and time.monotonic() < end:
        time.sleep(0.01)
    assert len(mlflow.logged) >= count


def test_start_and_finish(mlflow):
    monitor = ProcessMetricsMonitor(sampling_interval=0.1)
    assert (monitor.pid, monitor.children, monitor.prefix) == (os.getpid(), True, "process/")
    monitor.start()
    assert monitor.thread.daemon and monitor.run_id == "run-1"
    burn(0.2)
    wait_for(mlflow, 3)
    monitor.finish()
    assert monitor.thread is None
    assert monitor.step == len(mlflow.logged)
    assert [step for _, step, _ in mlflow.logged] == list(range(monitor.step))
    assert {run for _, _, run in mlflow.logged} == {"run-1"}
    for metrics, _, _ in mlflow.logged:
        assert list(metrics) == ["process/" + key for key in KEYS]
        assert set(map(type, metrics.values())) == {float}


def test_values(mlflow):
    """Against psutil's reading of a process that holds steady."""
    holder = "import time; b = bytearray(30 << 20); print(flush=True); time.sleep(60)"
    child = subprocess.Popen([sys.executable, "-c", holder], stdout=subprocess.PIPE)
    try:
        child.stdout.readline()
        with ProcessMetricsMonitor(pid=child.pid, sampling_interval=0.1, prefix=""):
            wait_for(mlflow, 2)
        metrics = mlflow.logged[-1][0]
        theirs = psutil.Process(child.pid)
        memory, io = theirs.memory_full_info(), theirs.io_counters()
        megabyte = 1024**2
        assert metrics["memory_rss_megabytes"] == pytest.approx(memory.rss / megabyte, rel=0.01)
        assert metrics["memory_vms_megabytes"] == pytest.approx(memory.vms / megabyte, rel=0.01)
        assert metrics["memory_uss_megabytes"] == pytest.approx(memory.uss / megabyte, rel=0.1)
        assert metrics["num_threads"] == theirs.num_threads()
        assert metrics["num_fds"] == theirs.num_fds()
        assert metrics["io_read_megabytes"] == pytest.approx(io.read_bytes / megabyte)
        assert metrics["io_write_megabytes"] == pytest.approx(io.write_bytes / megabyte)
        share = memory.rss / psutil.virtual_memory().total * 100
        assert metrics["memory_usage_percentage"] == pytest.approx(share, rel=0.01)
        assert metrics["cpu_usage_percentage"] == pytest.approx(0, abs=5)
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


def test_what_percentages_are_of(mlflow):
    with ProcessMetricsMonitor(
        sampling_interval=0.1, prefix="p.", max_memory_megabytes=1000.0, max_cpu_count=8.0
    ):
        burn(0.3)
        wait_for(mlflow, 3)
    for metrics, _, _ in mlflow.logged:
        rss = metrics["p.memory_rss_megabytes"]
        assert metrics["p.memory_usage_percentage"] == pytest.approx(rss / 10)
        assert metrics["p.cpu_usage_percentage"] < 100


@pytest.mark.parametrize("most", [0, 0.0, -1.0])
def test_a_percentage_of_no_memory_is_0(mlflow, most):
    monitor = ProcessMetricsMonitor(sampling_interval=0.05, max_memory_megabytes=most)
    assert monitor.max_memory_megabytes == most
    assert monitor.collect_once()["memory_usage_percentage"] == 0.0
    with monitor:
        wait_for(mlflow, 2)
    for metrics, _, _ in mlflow.logged:
        assert metrics["process/memory_usage_percentage"] == 0.0
        assert metrics["process/memory_rss_megabytes"] > 0


def test_several_samples_make_one(mlflow):
    monitor = ProcessMetricsMonitor(sampling_interval=0.05, samples_before_logging=4)
    with monitor:
        wait_for(mlflow, 2)
        frames = monitor._track.frame.number
    assert len(mlflow.logged) <= frames / 4 + 2


def test_short_blocks_are_logged(mlflow):
    """What is there by the end is flushed."""
    with ProcessMetricsMonitor(sampling_interval=60, samples_before_logging=10):
        burn(0.02)
    assert len(mlflow.logged) == 1


def test_async_block(mlflow):
    async def main():
        async with ProcessMetricsMonitor(sampling_interval=0.05) as monitor:
            await asyncio.sleep(0.1)
        return monitor

    assert asyncio.run(main()).thread is None
    assert mlflow.logged


def test_a_server_that_is_away(mlflow, caplog):
    mlflow.fails = 2
    with ProcessMetricsMonitor(sampling_interval=0.05) as monitor:
        wait_for(mlflow, 2)
    assert caplog.text.count("Failed to log process metrics at step 0: the server is away") == 2
    # A step is counted when it arrived.
    assert [step for _, step, _ in mlflow.logged] == list(range(monitor.step))


def test_warnings_instead_of_errors(mlflow, caplog):
    gone = subprocess.Popen(["true"])
    gone.wait()
    monitor = ProcessMetricsMonitor(pid=gone.pid)
    monitor.start()
    assert f"PID {gone.pid} does not exist" in caplog.text
    monitor.finish()
    monitor = ProcessMetricsMonitor(sampling_interval=0.05)
    monitor.start()
    monitor.start()
    assert "ProcessMetricsMonitor is already running" in caplog.text
    monitor.finish()
    monitor.finish()
    monitor = ProcessMetricsMonitor(sampling_interval=-1)
    monitor.start()
    assert "interval: invalid value -1" in caplog.text and monitor.thread is None
    mlflow.run = None
    with ProcessMetricsMonitor() as monitor:
        assert monitor.thread is None
    assert "No active MLflow run found" in caplog.text


def test_without_mlflow(monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with ProcessMetricsMonitor() as monitor:
        assert monitor.thread is None
    assert "MLflow is not installed" in caplog.text


def test_the_body_may_raise(mlflow):
    with pytest.raises(KeyError), ProcessMetricsMonitor(sampling_interval=0.05) as monitor:
        raise KeyError
    assert mlflow.logged and monitor.thread is None


def test_what_others_call(mlflow):
    """A program may collect, average and publish by itself."""
    monitor = ProcessMetricsMonitor(prefix="p/")
    total = psutil.virtual_memory().total / 1024**2
    assert monitor.max_memory_megabytes == pytest.approx(total, rel=0.01)
    assert monitor.max_cpu_count == float(os.cpu_count())
    assert (monitor.samples, monitor.step, monitor.run_id) == ([], 0, None)
    assert os.getpid() in monitor.processes
    first, second = dict.fromkeys(KEYS, 1.0), dict.fromkeys(KEYS, 3.0)
    mean = monitor.aggregate([first, second])
    # What only grows is not averaged.
    assert mean == {key: 3.0 if key.startswith("io_") else 2.0 for key in KEYS}
    assert monitor.aggregate([]) == {}
    monitor.publish({"num_threads": 7.0})
    assert mlflow.logged == [({"p/num_threads": 7.0}, 0, None)]
    monitor.samples += [first, second]
    monitor.flush_remaining()
    monitor.flush_remaining()
    assert mlflow.logged[1:] == [({f"p/{key}": value for key, value in mean.items()}, 1, None)]
    assert monitor.samples == []
    with monitor:
        assert not monitor.shutdown_event.is_set()
    assert monitor.shutdown_event.is_set()


def clocks():
    return time.process_time(), time.monotonic()


def test_one_look(mlflow):
    """At once, whatever the interval; CPU is of the time since the call before."""
    monitor = ProcessMetricsMonitor(sampling_interval=30)
    started = time.monotonic()
    for _ in range(2):
        # Once more: of the looks before only the second has a beginning that is known here.
        before = clocks()
        monitor.collect_once()
        begun = clocks()
        burn(0.2)
        ending = clocks()
        metrics = monitor.collect_once()
        after = clocks()
        least = (ending[0] - begun[0]) / (after[1] - before[1])
        most = (after[0] - before[0]) / (ending[1] - begun[1])
        assert 99 * least <= metrics["cpu_usage_percentage"] <= 101 * most
    assert time.monotonic() - started < 25
    assert list(metrics) == KEYS
    assert metrics["num_threads"] >= 1


def test_one_look_at_a_process_that_is_not_there():
    gone = subprocess.Popen(["true"])
    gone.wait()
    assert ProcessMetricsMonitor(pid=gone.pid).collect_once() == dict.fromkeys(KEYS, 0.0)


def test_a_wrong_option_is_told(mlflow, caplog):
    monitor = ProcessMetricsMonitor(max_cpu_count=-1)
    monitor.start()
    assert "max_cpu_count" in caplog.text and monitor.thread is None
    with pytest.raises(ValueError, match="max_cpu_count"):
        monitor.collect_once()


def test_verbose(mlflow, caplog):
    caplog.set_level(logging.INFO)
    with ProcessMetricsMonitor(sampling_interval=0.05, verbose=True):
        pass
    assert f"process {os.getpid()}" in caplog.text.lower()


def test_nothing_is_left_behind(mlflow):
    def once():
        with ProcessMetricsMonitor(sampling_interval=0.05):
            pass

    assert shapes.left_behind(once) == [0, 0]


def test_a_forked_child_leaves_it_alone(mlflow):
    with ProcessMetricsMonitor(sampling_interval=0.05) as monitor:
        child = os.fork()
        if child == 0:
            monitor.finish()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    assert mlflow.logged


def test_what_is_not_known_is_left_out(mlflow, monkeypatch):
    original = toll.Translator.rows

    def without_files(self, frame):
        return [{**row, "process/num_fds": None} for row in original(self, frame)]

    monkeypatch.setattr(toll.Translator, "rows", without_files)
    with ProcessMetricsMonitor(sampling_interval=0.05) as monitor:
        wait_for(mlflow, 1)
    known = [key for key in KEYS if key != "num_fds"]
    assert list(mlflow.logged[0][0]) == ["process/" + key for key in known]
    assert list(monitor.collect_once()) == known
