"""The device and the warm worker processes used to tune a Triton function."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rocm_perf_lab.autotune.triton_kernel.plan import TritonPlan
from rocm_perf_lab.autotune.triton_kernel.workers import Workers
from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.collect import triton
from rocm_perf_lab.collect.device import Device
from rocm_perf_lab.errors import UnavailableError
from rocm_perf_lab.process.cores import available_cores
from rocm_perf_lab.triton_launches import ServedScript, environment_of

_MAX_WORKERS = 4
_THREADS_VARIABLE = "ROCM_PERF_DEVICE_THREADS"


@dataclass(frozen=True)
class TritonFunctionBench:
    """folder: receives the arrays that configurations change. stopped: set this to make all threads end soon."""

    device: Device
    workers: Workers
    folder: Path
    stopped: threading.Event = field(default_factory=threading.Event)


@contextlib.contextmanager
def bench_of(plan: TritonPlan) -> Iterator[TritonFunctionBench]:
    """The bench for a plan.

    Raises whatever selecting a device raises, and UnavailableError if Triton cannot use a software device.
    """
    with tempfile.TemporaryDirectory(prefix="rocm-perf-") as name:
        scratch = Path(name)
        device = devices.select(plan.device, scratch)
        if not device.is_hardware and (refused := triton.refusal(plan.kernel.python, device.target)) is not None:
            raise UnavailableError(*refused.split(": ", 1))
        count = plan.workers or (1 if device.is_hardware else min(_MAX_WORKERS, available_cores()))
        command = plan.kernel.command()

        def start(worker: int) -> ServedScript:
            environment = environment_of(device.environment(os.environ), plan.key) | _worker_environment(worker, count, device)
            return ServedScript(command, environment, scratch / f"stderr-{worker}")

        (folder := scratch / "arrays").mkdir()
        with contextlib.closing(Workers(start, count, plan.timeout)) as workers:
            yield TritonFunctionBench(device, workers, folder)


def _worker_environment(worker: int, count: int, device: Device) -> dict[str, str]:
    """Variables that give a worker its own GPU or, on the software device, one thread for each core of its share.

    A single worker needs none.
    """
    if count == 1:
        return {}
    if device.is_hardware:
        return {"ROCR_VISIBLE_DEVICES": str(worker)}
    return {_THREADS_VARIABLE: str(max(1, available_cores() // count))}
