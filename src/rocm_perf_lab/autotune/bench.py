"""Where configurations run: a device in this machine, together with the way times are measured on it."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rocm_perf_lab.autotune.evaluation import Evaluation, GpuTimer, Timer, WallTimer
from rocm_perf_lab.autotune.evaluation_outcome import GPU, WALL
from rocm_perf_lab.autotune.program import TunedProgram
from rocm_perf_lab.autotune.space_file import SpaceFile, read_space
from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.errors import UnavailableError

Note = Callable[[str], None]
AUTO = "auto"


@dataclass(frozen=True)
class Plan:
    """What to run and how to measure it: everything that a worker needs. runs: None means 3, or 1 if times are modelled."""

    space: Path
    command: str
    build: str | None = None
    check: str | None = None
    device: str = devices.AUTO
    measure: str = AUTO
    runs: int | None = None
    timeout: float | None = None

    def program(self) -> tuple[SpaceFile, TunedProgram]:
        """Read the space file and the templates. Raises MissingInputError, SpaceError."""
        space_file = read_space(self.space)
        return space_file, TunedProgram(space_file, self.command, self.build, self.check)


@dataclass(frozen=True)
class TuningDevice:
    """description: the device's name. target: its LLVM target, None if there is no device. is_modelled: whether times are
    modelled.
    """

    description: str
    target: str | None
    is_modelled: bool
    runs: int


@dataclass(frozen=True)
class Bench:
    tuning_device: TuningDevice
    evaluation: Evaluation


@contextlib.contextmanager
def bench_of(plan: Plan, program: TunedProgram, note: Note) -> Iterator[Bench]:
    """The bench for a plan. Raises whatever selecting a device raises."""
    with tempfile.TemporaryDirectory(prefix="rocm-perf-") as name:
        scratch = Path(name)
        timers, description, target, is_modelled = _timers(plan, scratch, note)
        runs = plan.runs or (1 if is_modelled else 3)
        evaluation = Evaluation(program, timers, runs, plan.timeout, scratch, target)
        yield Bench(TuningDevice(description, target, is_modelled, runs), evaluation)


def _timers(plan: Plan, scratch: Path, note: Note) -> tuple[list[Timer], str, str | None, bool]:
    from rocm_perf_lab.collect.collector import AUTO, choose_collector

    try:
        device = devices.select(plan.device, scratch)
        collector = choose_collector(AUTO, device, scratch, plan.timeout, note, counters=False)
    except UnavailableError:
        if plan.measure == GPU or plan.device != devices.AUTO:
            raise
        note("no device can be used: measuring the wall time of processes")
        return [WallTimer(timeout=plan.timeout)], "no GPU", None, False
    gpu, wall = GpuTimer(collector.trace, device), WallTimer(device, plan.timeout)
    timers: dict[str, list[Timer]] = {GPU: [gpu], WALL: [wall], AUTO: [gpu, wall]}
    return timers[plan.measure], device.description, device.target, not device.is_hardware and plan.measure != WALL
