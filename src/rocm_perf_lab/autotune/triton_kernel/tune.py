"""Tunes a Triton function: one search for each problem size that a script launches it with."""

from __future__ import annotations

from dataclasses import dataclass

from rocm_perf_lab.autotune.bench import Note
from rocm_perf_lab.autotune.entry import AutotuneRequest
from rocm_perf_lab.autotune.search_loop import best_of
from rocm_perf_lab.autotune.triton_kernel.bench import bench_of
from rocm_perf_lab.autotune.triton_kernel.plan import TritonPlan
from rocm_perf_lab.autotune.triton_kernel.size_search import SizeSearch, TunedSize
from rocm_perf_lab.autotune.triton_kernel.workers import Values
from rocm_perf_lab.errors import NoKernelsError, NothingRanError
from rocm_perf_lab.triton_launches import ScriptExitedError


@dataclass(frozen=True)
class TunedFunction:
    """exit_status: the exit status of the script, whose launches ended up using the best configurations."""

    kernel: str
    device: str
    sizes: list[TunedSize]
    exit_status: int


def tune(request: AutotuneRequest, plan: TritonPlan, note: Note) -> TunedFunction:
    """Raises SpaceError; NothingRanError; NoKernelsError if the script never launches the kernel; and device errors."""
    sizes: list[TunedSize] = []
    with bench_of(plan) as bench:
        try:
            while (launch := bench.workers.launch())[0] is not None:
                sizes.append(SizeSearch(request, plan, bench, launch[0], [_best(size) for size in sizes], note).run())
                bench.workers.choose({**sizes[-1].result.fixed, **_best(sizes[-1])})
        except ScriptExitedError as error:
            raise NothingRanError(
                f"{plan.kernel.script} {error}", "make it run to its end with `rocm-perf run` first"
            ) from error
        if not sizes:
            message = f"{plan.kernel.script} launched no kernel called {plan.kernel.kernel}, and ended with status {launch[1]}"
            raise NoKernelsError(message, "check the name after the ::, and that the script runs with `rocm-perf run`")
        if launch[1] != 0:
            note(f"with the best configurations the script ended with status {launch[1]}: {bench.workers.output_tail()}")
    return TunedFunction(plan.kernel.kernel, bench.device.description, sizes, launch[1])


def _best(size: TunedSize) -> Values:
    best = best_of(size.result.evaluated)
    return dict(best.values) if best else {}
