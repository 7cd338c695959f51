"""Chooses the collector that runs a program."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rocm_perf_lab import rocm
from rocm_perf_lab.arch.counter_passes import counter_passes
from rocm_perf_lab.collect.device import Device
from rocm_perf_lab.collect.rocprofv3 import Rocprofv3
from rocm_perf_lab.collect.tracer import BuiltinTracer

Collector = Rocprofv3 | BuiltinTracer


def choose_collector(
    device: Device, scratch: Path, timeout: float | None, note: Callable[[str], None], *, use_rocprof: bool, counters: bool
) -> Collector:
    """rocprofv3 if there is a GPU and it is installed and wanted, else the built-in tracer.

    scratch: a folder for files, which must exist as long as the collector is used. timeout: seconds for each run.
    counters: whether rocprofv3 should collect any; the software device has them in every trace.
    """
    rocprofv3 = rocm.find_program("rocprofv3") if device.is_hardware and use_rocprof else None
    if rocprofv3 is not None:
        passes = counter_passes(device.target) if counters else []
        return Rocprofv3(device, rocprofv3, passes, note, scratch, timeout)
    return BuiltinTracer.on(device, scratch, timeout)
