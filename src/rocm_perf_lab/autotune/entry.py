"""One run of `rocm-perf autotune`: assembles what a search needs, runs the search, and returns its result."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rocm_perf_lab.autotune.bench import Note, Plan, TuningDevice, bench_of
from rocm_perf_lab.autotune.budget import parse_budget
from rocm_perf_lab.autotune.cache import Cache, experiment_key
from rocm_perf_lab.autotune.cluster import cluster_of
from rocm_perf_lab.autotune.evaluation_outcome import FAILED, OK, RECORDED, EvaluationOutcome
from rocm_perf_lab.autotune.launch import launchable_space
from rocm_perf_lab.autotune.program import TunedProgram
from rocm_perf_lab.autotune.recorded import read_recording
from rocm_perf_lab.autotune.results import TuningResult
from rocm_perf_lab.autotune.search_loop import EvaluatedConfiguration, SearchLoop, best_of
from rocm_perf_lab.autotune.space import MAX_LISTED, Configuration, Space
from rocm_perf_lab.autotune.space_file import SpaceFile
from rocm_perf_lab.autotune.strategies import Options, create
from rocm_perf_lab.autotune.winner import best_profile
from rocm_perf_lab.errors import NothingRanError, RocmPerfError

_COUNTED = 1_000_000  # with more combinations of values than this, valid configurations are not counted


@dataclass(frozen=True)
class AutotuneRequest:
    """The options of `rocm-perf autotune`; its --help explains each of them."""

    strategy: str
    seed: int
    budget: str | None
    strategy_options: Mapping[str, float] = field(default_factory=dict)
    workers: int | None = None
    plan: Plan | None = None
    scheduler: str | None = None
    simulate: Path | None = None
    cache: Path | None = None
    profile: Path | None = None


def autotune(request: AutotuneRequest, note: Note) -> TuningResult:
    """Run a search. Raises SpaceError, NothingRanError, OutputError, and whatever input and device selection raise."""
    if request.simulate is not None:
        result = _search_recording(request, request.simulate, note)
    elif request.plan is not None:
        result = _search_by_running(request, request.plan, note)
    else:
        raise ValueError("a search needs a plan or a recording")
    expect_best(request, result)
    return result


def expect_best(request: AutotuneRequest, result: TuningResult) -> None:
    """Raises NothingRanError unless at least one configuration ran."""
    if not result.evaluated:
        raise NothingRanError(f"no configuration was evaluated within --budget {request.budget}", "raise it")
    if best_of(result.evaluated) is None:
        first = result.evaluated[0].outcome.reason
        raise NothingRanError(f"none of {len(result.evaluated)} configurations ran: {first}", "run one by hand first")


def _search_recording(request: AutotuneRequest, file: Path, note: Note) -> TuningResult:
    recording = read_recording(file)

    def look_up(values: dict[str, object], _worker: int) -> EvaluationOutcome:
        time = recording.times[recording.space.configuration_of(values)]
        if time is None:
            return EvaluationOutcome(FAILED, "failed in the recording")
        return EvaluationOutcome(OK, None, [time], RECORDED, modelled=recording.is_modelled)

    evaluator = Evaluator(look_up, f"recording {recording.name}")
    return search(request, recording.space, evaluator, None, note)


def _search_by_running(request: AutotuneRequest, plan: Plan, note: Note) -> TuningResult:
    space_file, program = plan.program()
    if request.scheduler:
        evaluation = _on_cluster(request.scheduler, plan, request.workers, note)
    else:
        program.expect_programs()
        evaluation = _on_this_machine(plan, program, request.workers or 1, note)
    with evaluation as (evaluator, tuning_device):
        commands = program.texts() | {"fixed": space_file.fixed, "runs": tuning_device.runs, "measure": plan.measure}
        with cache_of(request, experiment_key(commands, tuning_device.description, program.named_files())) as cache:
            space, occupancy = launchable_space(space_file, tuning_device.target)
            unlaunchable = _count_unlaunchable(space_file, space)
            known = SpaceKnowledge(space_file.fixed, space_file.defaults, unlaunchable, occupancy)
            result = search(request, space, evaluator, cache, note, known)
    best = best_of(result.evaluated)
    if request.profile is None or best is None:
        return result
    profile = best_profile(program, best.values, plan.device, tuning_device.target, plan.timeout, request.profile, note)
    return dataclasses.replace(result, profile=profile)


@dataclass(frozen=True)
class Evaluator:
    """Runs configurations. workers: how many run at once. stop: makes running evaluations end soon."""

    evaluate: Callable[[dict[str, object], int], EvaluationOutcome]
    device: str
    workers: int = 1
    asynchronous: bool = False
    keep: Callable[[str], None] = lambda _measure: None
    stop: Callable[[], None] = lambda: None


@contextlib.contextmanager
def _on_this_machine(plan: Plan, program: TunedProgram, workers: int, note: Note) -> Iterator[tuple[Evaluator, TuningDevice]]:
    with bench_of(plan, program, note) as bench:

        def evaluate(values: dict[str, object], worker: int) -> EvaluationOutcome:
            is_one_of_several = workers > 1 and not bench.tuning_device.is_modelled
            return bench.evaluation(values, {"ROCR_VISIBLE_DEVICES": str(worker)} if is_one_of_several else None)

        evaluation = bench.evaluation
        yield (
            Evaluator(evaluate, bench.tuning_device.description, workers, keep=evaluation.keep, stop=evaluation.stop),
            bench.tuning_device,
        )


@contextlib.contextmanager
def _on_cluster(scheduler: str, plan: Plan, workers: int | None, note: Note) -> Iterator[tuple[Evaluator, TuningDevice]]:
    """workers: None means one per GPU in the cluster."""
    with cluster_of(scheduler, plan, note) as cluster:
        workers = workers or cluster.gpus() or 1
        description = cluster.tuning_device.description
        yield Evaluator(cluster.evaluate, description, workers, True, cluster.keep, cluster.stop), cluster.tuning_device


@contextlib.contextmanager
def cache_of(request: AutotuneRequest, experiment: str) -> Iterator[Cache | None]:
    with contextlib.closing(Cache(request.cache, experiment)) if request.cache else contextlib.nullcontext() as cache:
        yield cache


@dataclass(frozen=True)
class SpaceKnowledge:
    """What is known about a space before anything runs.

    fixed, defaults: as in SpaceFile. unlaunchable: how many configurations satisfy the constraints but cannot be launched; None
    if they were not counted. occupancy, features, first: as in strategies.Options.
    """

    fixed: Mapping[str, object] = field(default_factory=dict)
    defaults: Mapping[str, object] | None = None
    unlaunchable: int | None = None
    occupancy: Callable[[Mapping[str, object]], float] | None = None
    features: Callable[[Mapping[str, object]], tuple[float, ...]] | None = None
    first: Sequence[Configuration] = ()


def search(
    request: AutotuneRequest, space: Space, evaluator: Evaluator, cache: Cache | None, note: Note,
    known: SpaceKnowledge = SpaceKnowledge(),
) -> TuningResult:  # fmt: skip
    """Evaluate the configurations that the strategy of `request` proposes, and return all results."""
    evaluations, seconds = parse_budget(request.budget) if request.budget else (None, None)
    total = _count_valid(space)
    max_evaluations = min(evaluations or MAX_LISTED, space.product if total is None else total)
    options = Options(max_evaluations, request.strategy_options, known.occupancy, known.features, known.first)
    strategy = create(request.strategy, space, request.seed, options)
    listener = _Listener(evaluator, max_evaluations, note, only_better=request.simulate is not None)
    loop = SearchLoop(
        space, strategy, evaluator.evaluate, cache, max_evaluations, seconds, evaluator.workers, evaluator.asynchronous,
        listener, evaluator.stop,
    )  # fmt: skip
    try:
        evaluated = loop.run()
    except RocmPerfError:
        if cache is not None:
            note("the results so far are kept: the same command continues from there")
        raise
    return TuningResult(
        request.strategy, request.seed, max_evaluations, evaluator.device, total, evaluated, strategy.model(),
        known.fixed, known.defaults, known.unlaunchable,
    )  # fmt: skip


class _Listener:
    """Receives every result and reports it; with only_better, reports only results that beat all earlier ones. All later
    configurations are measured in the same way as the first that succeeded.
    """

    def __init__(self, evaluator: Evaluator, max_evaluations: int, note: Note, only_better: bool):
        self._evaluator, self._max_evaluations, self._note, self._only_better = evaluator, max_evaluations, note, only_better
        self._best: float | None = None

    def __call__(self, evaluated: EvaluatedConfiguration, number: int) -> None:
        ms = evaluated.outcome.ms
        is_better = ms is not None and (self._best is None or ms < self._best)
        if evaluated.outcome.measure:
            self._evaluator.keep(evaluated.outcome.measure)
        if is_better or not self._only_better:
            outcome = evaluated.outcome.reason if ms is None else f"{ms:.4g} ms"
            configuration = " ".join(f"{name}={value}" for name, value in evaluated.values.items())
            self._note(f"{number} of at most {self._max_evaluations}: {configuration}: {outcome}")
        if is_better:
            self._best = ms


def _count_unlaunchable(space_file: SpaceFile, launchable: Space) -> int | None:
    """How many configurations satisfy the constraints but cannot be launched; None if they were not counted."""
    fulfilling, total = _count_valid(space_file.space), _count_valid(launchable)
    return None if fulfilling is None or total is None else fulfilling - total


def _count_valid(space: Space) -> int | None:
    """How many configurations are valid; None if there may be too many to count."""
    listed = space.listed if space.product <= _COUNTED else None
    return None if listed is None else len(listed)
