"""One call of `rocm-perf autotune`: put together what a search needs, run it, and say what came of it."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rocm_perf_lab.autotune.budget import parse_budget
from rocm_perf_lab.autotune.cache import Cache, experiment_key
from rocm_perf_lab.autotune.evaluation import Evaluation, GpuTimer, WallTimer
from rocm_perf_lab.autotune.outcome import FAILED, GPU, OK, WALL, Outcome
from rocm_perf_lab.autotune.program import Program
from rocm_perf_lab.autotune.recorded import read_recording
from rocm_perf_lab.autotune.results import Result
from rocm_perf_lab.autotune.space import MOST_LISTED, Space
from rocm_perf_lab.autotune.space_file import SpaceFile, read_space
from rocm_perf_lab.autotune.strategies import Options, create
from rocm_perf_lab.autotune.tune import Evaluated, Search
from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.errors import NothingRanError, RocmPerfError, UnavailableError

Note = Callable[[str], None]
AUTO = "auto"
MEASURES = (AUTO, GPU, WALL)
_COUNTED = 1_000_000  # more configurations than this are not counted for the report


@dataclass(frozen=True)
class Request:
    """What `rocm-perf autotune` was asked for; the user guide says what each means."""

    strategy: str
    seed: int
    budget: str | None
    seed_fraction: float
    prune_factor: float
    workers: int = 1
    space: Path | None = None
    command: str | None = None
    build: str | None = None
    check: str | None = None
    simulate: Path | None = None
    device: str = devices.AUTO
    measure: str = AUTO
    runs: int | None = None
    timeout: float | None = None
    cache: Path | None = None


def autotune(request: Request, note: Note) -> Result:
    """Raises SpaceError, NothingRanError and what selecting a device raises."""
    result = _simulated(request, note) if request.simulate else _measured(request, note)
    if not any(one.outcome.status == OK for one in result.evaluated):
        first = next((one.outcome.reason for one in result.evaluated), None) or "nothing was evaluated within --budget"
        raise NothingRanError(f"none of {len(result.evaluated)} configurations ran: {first}", "make one run by hand first")
    return result


def _simulated(request: Request, note: Note) -> Result:
    recording = read_recording(request.simulate)

    def look_up(values: dict[str, object], _worker: int) -> Outcome:
        time = recording.times[recording.space.position(values)]
        return Outcome(FAILED, "failed in the recording") if time is None else Outcome(OK, None, [time], "recorded")

    return _search(request, recording.space, look_up, None, f"recording {recording.name}", note)


def _measured(request: Request, note: Note) -> Result:
    space_file = read_space(request.space)
    program = Program(space_file, request.command, request.build, request.check)
    with tempfile.TemporaryDirectory(prefix="rocm-perf-") as scratch:
        timers, device, is_modelled = _timers(request, Path(scratch), note)
        runs = request.runs or (1 if is_modelled else 3)
        evaluation = Evaluation(program, timers, runs, request.timeout, Path(scratch))
        commands = program.texts() | {"fixed": space_file.fixed, "runs": runs, "measure": request.measure}
        with _cache(request, experiment_key(commands, device, program.named_files())) as cache:

            def evaluate(values: dict[str, object], worker: int) -> Outcome:
                return evaluation(values, _one_gpu(worker) if request.workers > 1 and not is_modelled else None)

            return _search(request, space_file.space, evaluate, cache, device, note, space_file, evaluation.keep)


@contextlib.contextmanager
def _cache(request: Request, experiment: str) -> Iterator[Cache | None]:
    with contextlib.closing(Cache(request.cache, experiment)) if request.cache else contextlib.nullcontext() as cache:
        yield cache


def _one_gpu(worker: int) -> dict[str, str]:
    return {"ROCR_VISIBLE_DEVICES": str(worker)}


def _timers(request: Request, scratch: Path, note: Note) -> tuple[list, str, bool]:
    """(timers, what the device is called, whether its times are modelled)."""
    from rocm_perf_lab.collect import session

    try:
        device = devices.select(request.device, scratch)
        asked = session.Request(words=(), timeout=request.timeout, roofline=False)
        collector = session.choose_collector(device, asked, scratch, note)
    except UnavailableError:
        if request.measure == GPU or request.device != devices.AUTO:
            raise
        note("no device can be used: measuring the wall time of processes")
        return [WallTimer(timeout=request.timeout)], "no GPU", False
    wall = WallTimer(device.environment, request.timeout)
    timers = {GPU: [GpuTimer(collector.trace, not device.is_hardware)], WALL: [wall]}
    timers[AUTO] = timers[GPU] + timers[WALL]
    return timers[request.measure], device.description, not device.is_hardware and request.measure != WALL


def _search(
    request: Request, space: Space, evaluate, cache: Cache | None, device: str, note: Note,
    space_file: SpaceFile | None = None, keep: Callable[[str], None] = lambda _measure: None,
) -> Result:  # fmt: skip
    evaluations, seconds = parse_budget(request.budget) if request.budget else (None, None)
    total = len(space.listed) if space.product <= _COUNTED else None
    most = min(evaluations or MOST_LISTED, space.product if total is None else total)
    strategy = create(request.strategy, space, request.seed, Options(most, request.seed_fraction, request.prune_factor))
    best: list[float] = []

    def heard(one: Evaluated, number: int) -> None:
        ms = one.outcome.ms
        if one.outcome.measure:
            keep(one.outcome.measure)
        if request.simulate is None or (ms is not None and (not best or ms < best[0])):
            what = one.outcome.reason if ms is None else f"{ms:.4g} ms"
            note(f"{number} of at most {most}: {' '.join(f'{k}={v}' for k, v in one.values.items())}: {what}")
        if ms is not None:
            best[:] = [min([ms, *best])]

    search = Search(space, strategy, evaluate, cache, most, seconds, request.workers, heard)
    try:
        evaluated = search.run()
    except RocmPerfError:
        if cache is not None:
            note("what was measured so far is kept: the same command goes on from there")
        raise
    fixed, defaults = (space_file.fixed, space_file.defaults) if space_file else ({}, None)
    return Result(request.strategy, request.seed, most, device, total, evaluated, strategy.model(), fixed, defaults)
