"""Chooses the collector that runs a program."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rocm_perf_lab import rocm
from rocm_perf_lab.arch.counter_passes import counter_passes
from rocm_perf_lab.collect.device import Device
from rocm_perf_lab.collect.rocprofv3 import Rocprofv3
from rocm_perf_lab.collect.tracer import BuiltinTracer
from rocm_perf_lab.errors import UnavailableError

Collector = Rocprofv3 | BuiltinTracer

AUTO, ROCPROFV3, TRACER = "auto", "rocprofv3", "tracer"
CHOICES = (AUTO, ROCPROFV3, TRACER)


def choose_collector(
    choice: str, device: Device, scratch: Path, timeout: float | None, note: Callable[[str], None], *, counters: bool
) -> Collector:
    """The collector named `choice`; for AUTO, rocprofv3 if it is installed and there is a GPU, else the built-in tracer.

    scratch: a folder for temporary files, which must exist for as long as the collector is used. timeout: seconds for each run.
    counters: whether rocprofv3 should collect counters; the built-in tracer always records a software device's counters.
    Raises UnavailableError if rocprofv3 is chosen but not installed.
    """
    wanted = choice == ROCPROFV3 or (choice == AUTO and device.is_hardware)
    rocprofv3 = rocm.find_program("rocprofv3") if wanted else None
    if rocprofv3 is None and choice == ROCPROFV3:
        raise UnavailableError("rocprofv3 was not found", "install rocprofiler-sdk, or add the folder of rocprofv3 to PATH")
    if rocprofv3 is not None:
        passes = counter_passes(device.target) if counters else []
        return Rocprofv3(device, rocprofv3, passes, note, scratch, timeout)
    return BuiltinTracer.on(device, scratch, timeout)
