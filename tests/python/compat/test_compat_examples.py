# SPDX-License-Identifier: MIT
"""Programs as the users of those tools write them, with another import; and every class, method,
argument and default that they know."""

import inspect
import json
import os
import pathlib
import re
import sys

import pytest
from toll.compat import gpu_tracker, process_metrics, resource_tracker, spdl, sweep

HERE = pathlib.Path(__file__).parent

GPU_TRACKER = """
import sys
sys.path.insert(0, {here!r})
import json, multiprocessing as mp
from toll.compat import gpu_tracker as gput
from example_module import example_function


def main():
    tracker = gput.Tracker(n_expected_cores=1, sleep_time=0.1)
    tracker.start()
    example_function()
    tracker.stop()
    print(tracker)
    with gput.Tracker(ram_unit="megabytes", gpu_ram_unit="megabytes", time_unit="seconds", sleep_time=0.1) as tracker:
        example_function()
    print(json.dumps(tracker.to_json(), indent=1))
    usage = tracker.resource_usage
    print(usage.max_ram, usage.max_ram.unit, usage.max_ram.main, usage.max_ram.main.total_rss)
    print(usage.max_gpu_ram, usage.compute_time)
    try:
        with gput.Tracker() as tracker:
            example_function()
            raise RuntimeError("AN ERROR")
    except Exception as error:
        print(f"while tracking: {{error}}")
    finally:
        print(tracker.resource_usage.max_gpu_ram.main)
    child_process = mp.get_context(method="spawn").Process(target=example_function)
    with gput.Tracker(n_expected_cores=2, sleep_time=0.2) as tracker:
        child_process.start()
        example_function()
        child_process.join()
    child_process.close()
    print(tracker)


if __name__ == "__main__":
    main()
"""


def test_gpu_tracker(tmp_path, python):
    """Among them a child that is spawned, which imports the program again. With the fake of
    NVIDIA's library there is a GPU."""
    facts = tmp_path / "facts"
    facts.write_text("gpus 1\nutilization 50\nmemory_total 2147483648\nmemory_used 1073741824\n")
    program = tmp_path / "program.py"
    program.write_text(GPU_TRACKER.format(here=str(HERE)))
    run = f"import runpy; runpy.run_path({str(program)!r}, run_name='__main__')"
    fakes = os.path.join(os.environ["TOLL_BUILD"], "tests/fakes/nvml")
    said = python(run, FAKE_NVML=str(facts), LD_LIBRARY_PATH=fakes)
    assert said.startswith("Max RAM:\n   Unit: gigabytes\n   System capacity: ")
    assert "   Number of expected cores: 1\n" in said and "   Number of expected cores: 2\n" in said
    document = json.loads(said[said.index("{") : said.index("\n}\n") + 2])
    assert document["max_ram"]["unit"] == "megabytes"
    assert re.search(r"^MaxRAM\(unit='megabytes', .* megabytes RSSValues\(.*\) \d", said, re.MULTILINE)
    assert re.search(r"^while tracking: AN ERROR\n0\.0$", said, re.MULTILINE)
    descendants = said[said.rindex("   Descendants:\n      Total RSS:") :].splitlines()[1]
    assert float(descendants.split()[-1]) > 0.01


def test_resource_tracker(tmp_path):
    """The short program that its documents begin with."""
    tracker = resource_tracker.ResourceTracker(interval=0.1)
    sum(range(5_000_000))
    tracker.stop()
    assert len(tracker.process_metrics) and len(tracker.system_metrics)
    assert len(tracker.get_combined_metrics()) == tracker.n_samples
    assert tracker.stats()["process_memory_mib"]["max"] > 1
    assert tracker.recommend_resources()["cpu"] == 1
    report = tracker.report()
    report.save(str(tmp_path / "report.html"))
    assert (tmp_path / "report.html").read_text().startswith("<")
    assert resource_tracker.get_server_info()["vcpus"] == os.cpu_count()
    assert resource_tracker.get_cloud_info()["vendor"] == "unknown"
    with resource_tracker.ResourceTracker(interval=0.1, autostart=False) as again:
        sum(range(100_000))
    assert again.n_samples >= 1


def test_sweep(tmp_path):
    log, monitor = sweep.RunLog(), sweep.HWMonitor()
    monitor.start(tmp_path / "monitors", interval_sec=1)
    log.log_event("start", {"model": "m"})
    log.log_phase("fit", 0.12345, n_chains=4)
    summary = sweep.build_resource_summary(*monitor.stop())
    summary.jax_peak_bytes_mb = sweep.probe_jax_peak_memory_mb()
    log.log_event("summary", summary.to_dict())
    log.write(tmp_path / "run_log.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "run_log.jsonl").read_text().splitlines()]
    assert [line["type"] for line in lines] == ["event", "phase", "event"]
    assert lines[1]["n_chains"] == 4 and lines[1]["seconds"] == 0.123
    assert "cpu_usr_mean_pct" in lines[2]["data"]


# ---- What can be called, and how -----------------------------------------------------------------

CALLED = {
    resource_tracker: """
        PidTracker(pid=None, start_time=None, interval=1, children=True, autostart=True, output_file=None, *)
        PidTracker.start_tracking(output_file=None, print_header=True)
        PidTracker.diff_stats()
        SystemTracker(start_time=None, interval=1, autostart=True, output_file=None, *)
        SystemTracker.start_tracking(output_file=None, print_header=True)
        SystemTracker.diff_stats()
        ProcessTracker(pid=None, start_time=None, interval=1, children=True, autostart=True, output_file=None, *)
        ResourceTracker(pid=None, children=True, interval=1, method=None, autostart=None, track_processes=True, track_system=True, discover_server=True, discover_cloud=True, sentinel_token=None, upload_interval=60, streaming_metadata=None, *)
        ResourceTracker.get_combined_metrics(bytes=False, human_names=False, system_prefix=None, process_prefix=None, offset=None)
        ResourceTracker.stop(exit_code=0, *)
        ResourceTracker.report(integration='standalone', historical_stats=(), status_failed=False, integration_version=None)
        ResourceTracker.recommend_server(**filters)
        ResourceTracker.wait_for_samples(n=1, timeout=5)
        ResourceTracker.recommend_resources(historical_stats=(), *)
        is_partition(disk_name)
        get_pid_children(pid)
        get_pid_rss(pid)
        get_pid_pss_rollup(pid)
        get_pid_proc_times(pid, children=True)
        get_pid_proc_io(pid)
        get_pid_stats(pid, children=True, *)
        get_process_stats(pid, children=True, *)
        get_system_stats(*)
        get_server_info(*)
        get_cloud_info()
        TinyDataFrame(data=None, csv_file_path=None, retries=0, retry_delay=0.1)
        StatSpec(column, agg, agg_name=None, round=None)
    """,
    process_metrics: """
        ProcessMetricsMonitor(pid=None, children=True, sampling_interval=10.0, samples_before_logging=1, prefix='process/', verbose=False, max_memory_megabytes=None, max_cpu_count=None)
        ProcessMetricsMonitor.start()
        ProcessMetricsMonitor.finish()
        ProcessMetricsMonitor.collect_once()
        ProcessMetricsMonitor.aggregate(samples)
        ProcessMetricsMonitor.publish(metrics)
        ProcessMetricsMonitor.monitor_loop()
        ProcessMetricsMonitor.flush_remaining()
    """,
    gpu_tracker: """
        Tracker(sleep_time=1.0, ram_unit='gigabytes', gpu_ram_unit='gigabytes', time_unit='hours', n_expected_cores=None, gpu_uuids=None, disable_logs=False, process_id=None, resource_usage_file=None, n_join_attempts=5, join_timeout=10.0, *)
        Tracker.start()
        Tracker.stop()
        Tracker.to_json()
        SubTracker(code_block_name=None, code_block_attribute=None, sub_tracking_file=None, overwrite=False)
        sub_track(code_block_name=None, code_block_attribute=None, sub_tracking_file=None, overwrite=False)
    """,
    spdl: """
        ProcessGroupStatsMonitor(callback, interval=60.0, mp_context=None, *)
        ProcessGroupStatsMonitor.run()
        ProcessGroupResourceUsage(pid, pgid, cpu_percent=None, rss_bytes=None, pss_bytes=None, private_bytes=None, disk_read_bytes=None, disk_write_bytes=None, num_procs=None, net_rx_bytes=None, net_tx_bytes=None, *)
    """,
    sweep: """
        RunLog(*)
        RunLog.log_phase(name, seconds, **extra)
        RunLog.log_event(event_type, data=None)
        RunLog.write(path)
        HWMonitor()
        HWMonitor.start(output_dir, interval_sec=2)
        HWMonitor.stop()
        ResourceSummary(peak_vram_mb=0.0, jax_peak_bytes_mb=0.0, gpu_util_mean_pct=0.0, gpu_util_max_pct=0.0, mem_util_mean_pct=0.0, mem_util_max_pct=0.0, power_watts_mean=0.0, power_watts_max=0.0, cpu_usr_mean_pct=0.0, cpu_idle_mean_pct=0.0)
        ResourceSummary.to_dict()
        build_resource_summary(gpu_csv_path, cpu_csv_path, dmon_csv_path=None)
        probe_jax_peak_memory_mb()
    """,
}


@pytest.mark.parametrize(
    "module, call",
    [(m, line.strip()) for m, text in CALLED.items() for line in text.strip().splitlines()],
    ids=lambda value: value.split("(")[0] if isinstance(value, str) else "",
)
def test_what_can_be_called(module, call):
    """The same arguments in the same order with the same defaults; where there is a *, ours may
    take more behind them."""
    path, wanted = re.fullmatch(r"([\w.]+)\((.*)\)", call).groups()
    thing = module
    for name in path.split("."):
        thing = getattr(thing, name)
    shown = []
    for one in inspect.signature(thing).parameters.values():
        if one.name == "self":
            continue
        stars = {one.VAR_KEYWORD: "**", one.VAR_POSITIONAL: "*"}.get(one.kind, "")
        default = "" if one.default is one.empty else f"={one.default!r}"
        shown.append(stars + one.name + default)
    wanted = [word for word in wanted.split(", ") if word]
    if wanted[-1:] == ["*"]:
        del wanted[-1]
        shown = shown[: len(wanted)]
    assert shown == wanted


def test_everything_is_described():
    for module in CALLED:
        assert module.__doc__
        for name in module.__all__:
            thing = getattr(module, name)
            if name != "__version__":
                assert inspect.getdoc(thing), name
            for inner, member in vars(thing).items() if inspect.isclass(thing) else ():
                if callable(member) and not inner.startswith("_"):
                    assert inspect.getdoc(member), f"{name}.{inner}"
    assert sys.modules["toll.compat"].__doc__
