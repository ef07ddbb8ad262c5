# SPDX-License-Identifier: MIT
"""Data classes as type checkers see them. They are made of the tables of the layouts when the
program runs; a test compares the two."""

import dataclasses
from typing import Dict, Optional

# ---- gpu_tracker ---------------------------------------------------------------------------------

@dataclasses.dataclass
class RSSValues:
    total_rss: Optional[float] = 0.0
    private_rss: Optional[float] = 0.0
    shared_rss: Optional[float] = 0.0

@dataclasses.dataclass
class MaxRAM:
    unit: str
    system_capacity: Optional[float]
    system: Optional[float] = 0.0
    main: RSSValues = ...
    descendants: RSSValues = ...
    combined: RSSValues = ...

@dataclasses.dataclass
class MaxGPURAM:
    unit: str
    system_capacity: Optional[float]
    system: Optional[float] = 0.0
    main: Optional[float] = 0.0
    descendants: Optional[float] = 0.0
    combined: Optional[float] = 0.0

@dataclasses.dataclass
class ProcessingUnitPercentages:
    max_sum_percent: Optional[float] = 0.0
    max_hardware_percent: Optional[float] = 0.0
    mean_sum_percent: Optional[float] = 0.0
    mean_hardware_percent: Optional[float] = 0.0

@dataclasses.dataclass
class CPUUtilization:
    system_core_count: Optional[int]
    n_expected_cores: Optional[int]
    system: ProcessingUnitPercentages = ...
    main: ProcessingUnitPercentages = ...
    descendants: ProcessingUnitPercentages = ...
    combined: ProcessingUnitPercentages = ...
    main_n_threads: Optional[int] = 0
    descendants_n_threads: Optional[int] = 0
    combined_n_threads: Optional[int] = 0

@dataclasses.dataclass
class GPUUtilization:
    system_gpu_count: Optional[int]
    n_expected_gpus: Optional[int]
    gpu_percentages: ProcessingUnitPercentages = ...

@dataclasses.dataclass
class ComputeTime:
    unit: str
    time: Optional[float] = 0.0

@dataclasses.dataclass
class ResourceUsage:
    max_ram: MaxRAM
    max_gpu_ram: MaxGPURAM
    cpu_utilization: CPUUtilization
    gpu_utilization: GPUUtilization
    compute_time: ComputeTime

# ---- spdl ----------------------------------------------------------------------------------------

@dataclasses.dataclass
class ProcessGroupResourceUsage:
    pid: int
    pgid: int
    cpu_percent: Optional[float] = None
    rss_bytes: Optional[int] = None
    pss_bytes: Optional[int] = None
    private_bytes: Optional[int] = None
    disk_read_bytes: Optional[int] = None
    disk_write_bytes: Optional[int] = None
    num_procs: Optional[int] = None
    net_rx_bytes: Optional[int] = None
    net_tx_bytes: Optional[int] = None

@dataclasses.dataclass
class ExtendedProcessGroupResourceUsage(ProcessGroupResourceUsage):
    timestamp: Optional[float] = None
    net_rx_bytes_delta: Optional[int] = None
    net_tx_bytes_delta: Optional[int] = None

# ---- sweep ---------------------------------------------------------------------------------------

@dataclasses.dataclass
class ResourceSummary:
    peak_vram_mb: float = 0.0
    jax_peak_bytes_mb: float = 0.0
    gpu_util_mean_pct: float = 0.0
    gpu_util_max_pct: float = 0.0
    mem_util_mean_pct: float = 0.0
    mem_util_max_pct: float = 0.0
    power_watts_mean: float = 0.0
    power_watts_max: float = 0.0
    cpu_usr_mean_pct: float = 0.0
    cpu_idle_mean_pct: float = 0.0
    def to_dict(self) -> Dict[str, float]: ...
