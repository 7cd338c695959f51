"""The search for one problem size, during which all workers wait at a launch of that size."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rocm_perf_lab.autotune.bench import Note
from rocm_perf_lab.autotune.cache import canonical, experiment_key
from rocm_perf_lab.autotune.entry import AutotuneRequest, Evaluator, SpaceKnowledge, cache_of, expect_best, search
from rocm_perf_lab.autotune.evaluation import UNSTABLE_CV
from rocm_perf_lab.autotune.evaluation_outcome import (
    BUILD_FAILED,
    FAILED,
    GPU,
    OK,
    TIMEOUT,
    WRONG_OUTPUT,
    EvaluationOutcome,
    variation,
)
from rocm_perf_lab.autotune.results import TuningResult
from rocm_perf_lab.autotune.triton_kernel import tuning_space
from rocm_perf_lab.autotune.triton_kernel.agreement import disagreement
from rocm_perf_lab.autotune.triton_kernel.bench import TritonFunctionBench
from rocm_perf_lab.autotune.triton_kernel.compiled_configurations import CompiledConfigurations
from rocm_perf_lab.autotune.triton_kernel.plan import TritonPlan
from rocm_perf_lab.autotune.triton_kernel.tuning_space import TuningSpace
from rocm_perf_lab.autotune.triton_kernel.workers import Values
from rocm_perf_lab.errors import NothingRanError, SpaceError
from rocm_perf_lab.process.child import stoppable
from rocm_perf_lab.triton_launches import ScriptExitedError, ScriptTimeoutError

_AHEAD = 4  # a space is compiled ahead of time if it has at most this many configurations per evaluation in the budget
_MIN_AHEAD, _MAX_AHEAD = 64, 1024  # bounds on that limit; the upper one applies if the budget is not a count
_LISTED = 1_000_000


@dataclass(frozen=True)
class TunedSize:
    """key: the arguments that identify the size. compiled: how many configurations were compiled before the first ran.

    compile_seconds, search_seconds: wall time.
    """

    key: Values
    result: TuningResult
    compiled: int
    compile_seconds: float
    search_seconds: float


class SizeSearch:
    """launch: the launch at which the workers wait, as they describe it. earlier: the best configurations for the sizes
    tuned so far.
    """

    def __init__(
        self,
        request: AutotuneRequest,
        plan: TritonPlan,
        bench: TritonFunctionBench,
        launch: dict[str, Any],
        earlier: Sequence[Values],
        note: Note,
    ):
        self._request, self._plan, self._bench, self._launch, self._note = request, plan, bench, launch, note
        self._earlier = earlier
        self._types = {name: argument["dtype"] for name, argument in launch["arguments"].items() if argument["kind"] == "array"}
        self._whole = self._space()
        self._compiled = CompiledConfigurations(bench.workers, bench.stopped, bench.device.target)

    def run(self) -> TunedSize:
        """Run the search. Raises NothingRanError if no configuration can run."""
        words = ", ".join(f"{name}={value}" for name, value in self._launch["key"].items())
        began = time.perf_counter()
        known, space = self._compile_ahead()
        compiled = time.perf_counter()
        self._note(f"{words or 'the only size'}: {len(self._compiled)} configurations compiled in {compiled - began:.1f} s")
        self._reference = self._run_reference()
        with cache_of(self._request, self._experiment()) as cache:
            device = self._bench.device.description
            evaluator = Evaluator(self._evaluate, device, self._bench.workers.count, stop=self._bench.stopped.set)
            known = replace(known, first=space.configurations_with(self._earlier))
            result = search(self._request, space.space, evaluator, cache, self._note, known)
        expect_best(self._request, result)
        searched = time.perf_counter() - compiled
        return TunedSize(self._launch["key"], result, len(self._compiled), compiled - began, searched)

    def _space(self) -> TuningSpace:
        if self._plan.space is not None:
            return tuning_space.from_file(self._plan.space, self._launch)
        if self._launch["configurations"] is None:
            message = f"{self._launch['kernel']} has no configurations of its own (@triton.autotune)"
            raise SpaceError(message, "name a space file with --space")
        return tuning_space.from_configurations(self._launch["configurations"])

    def _compile_ahead(self) -> tuple[SpaceKnowledge, TuningSpace]:
        """Compile the whole space, unless it is much larger than the budget. Configurations that cannot run are left out of the
        space.
        """
        space, fixed = self._whole.space, self._whole.fixed
        rows = space.listed if space.product <= _LISTED else None
        if rows is None or len(rows) > _max_ahead(self._request.budget):
            return SpaceKnowledge(fixed), self._whole
        named = [space.named(tuple(row)) for row in rows.tolist()]
        self._compiled.compile(self._with_fixed(values) for values in named)
        failures = self._compiled.failures
        valid = {canonical(values) for values in named if canonical(self._with_fixed(values)) not in failures}
        if not valid:
            raise NothingRanError(f"none of {len(named)} configurations can run: {min(failures.values())}", "change the space")
        occupancy = None if self._bench.device.target is None else self._occupancy
        return SpaceKnowledge(fixed, None, len(named) - len(valid), occupancy, self._coordinates), self._whole.reduced_to(valid)

    def _occupancy(self, values: Mapping[str, object]) -> float:
        features = self._compiled.features(self._with_fixed(values))
        return (features.occupancy or 0.0) if features else 0.0

    def _coordinates(self, values: Mapping[str, object]) -> tuple[float, ...]:
        features = self._compiled.features(self._with_fixed(values))
        return features.coordinates() if features else ()

    def _with_fixed(self, values: Mapping[str, object]) -> Values:
        return {**self._whole.fixed, **values}

    def _experiment(self) -> str:
        """A key that changes with the function, its callees, its arguments (but not the contents of arrays) and the device."""
        inputs = {name: self._launch[name] for name in ("kernel", "source", "key", "arguments")}
        inputs |= {"triton": self._plan.kernel.version(), "fixed": self._whole.fixed, "tolerance": self._plan.tolerance}
        return experiment_key(inputs, self._bench.device.description, ())

    def _run_reference(self) -> tuple[str, dict[str, str]]:
        """Run the kernel with the script's own values or, if the function has configurations, with the first one that can run.

        Returns (description of the values, arrays that they change). Raises NothingRanError.
        """
        own = self._launch["configurations"]
        for values in own if own is not None else [None]:
            answer = self._ask(0, values)
            if "error" not in answer:
                words = "the script's own values" if values is None else " ".join(f"{k}={v}" for k, v in values.items())
                return words, answer["outputs"]
        raise NothingRanError(f"{self._launch['kernel']} fails as the script launches it: {answer['error']}", "fix it first")

    def _evaluate(self, values: dict[str, object], worker: int) -> EvaluationOutcome:
        values = self._with_fixed(values)
        with stoppable(self._bench.stopped):
            answer = self._ask(worker, values)
        if "error" in answer:
            return EvaluationOutcome(answer["status"], answer["error"])
        words, expected = self._reference
        difference = disagreement(expected, answer["outputs"], self._types, self._bench.folder, self._plan.tolerance)
        if difference is not None:
            return EvaluationOutcome(WRONG_OUTPUT, f"compared with {words}: {difference}")
        runs, features = answer["runs"], self._compiled.features(values)
        return EvaluationOutcome(
            OK, None, runs, GPU, (variation(runs) or 0.0) > UNSTABLE_CV, not self._bench.device.is_hardware,
            features.resources() if features else {},
        )  # fmt: skip

    def _ask(self, worker: int, values: Values | None) -> dict[str, Any]:
        """The worker's answer; if the evaluation failed, it contains "error" and the outcome's "status"."""
        try:
            answer = self._bench.workers.ask(worker, do="evaluate", values=values, folder=str(self._bench.folder))
        except ScriptTimeoutError as error:
            return {"error": str(error), "status": TIMEOUT}
        except ScriptExitedError as error:
            return {"error": str(error), "status": FAILED}
        return answer | {"status": FAILED if answer.get("is_dead") else BUILD_FAILED} if "error" in answer else answer


def _max_ahead(budget: str | None) -> int:
    """The maximum number of configurations to compile before any of them runs. budget: as in AutotuneRequest."""
    if budget is None or not budget.isdigit():
        return _MAX_AHEAD
    return min(_MAX_AHEAD, max(_MIN_AHEAD, _AHEAD * int(budget)))
