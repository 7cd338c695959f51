"""What to profile, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.collect.collector import AUTO


@dataclass(frozen=True)
class ProfileRequest:
    """command: the program and its arguments, separately or in one string.
    runs: how often to run it, at least once; None: three times, or once if times are modelled.
    kernel: a pattern (see kernel_pattern) for the kernels to count, trace and report on; None for all.
    device: a choice of `--device`, with device_options for the software device.
    collector: one of collect.collector.CHOICES.
    destination: the run directory, None for ./<program>.rocm-perf (see profiling.run_name).
    timeout: seconds for each run. clock_mhz, memory_bandwidth_gbps: replace what the trace and products.toml say.
    ceilings: a file with measured ceilings.
    roofline: whether to collect counters. deep_analysis: whether to make a thread trace, on the given compute unit and SIMDs
    (None for the family's default). focus_critical: whether to trace the kernel with the most time on the path.
    """

    command: Sequence[str]
    runs: int | None = None
    kernel: str | None = None
    device: str = devices.AUTO
    device_options: Sequence[str] = ()
    collector: str = AUTO
    destination: Path | None = None
    timeout: float | None = None
    clock_mhz: float | None = None
    memory_bandwidth_gbps: float | None = None
    ceilings: Path | None = None
    roofline: bool = True
    deep_analysis: bool = True
    focus_critical: bool = True
    att_target_cu: int = 1
    att_simd_select: int | None = None
