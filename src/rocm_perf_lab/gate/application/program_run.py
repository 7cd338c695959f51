"""Times and counters from one run of the whole program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rocm_perf_lab.analysis.base_run import read_base_run
from rocm_perf_lab.analysis.counters import counters_by_symbol
from rocm_perf_lab.analysis.device import devices_of
from rocm_perf_lab.analysis.program_roofline import total_roofline
from rocm_perf_lab.analysis.roofline import MEMORY_LEVEL, NO_TIME
from rocm_perf_lab.analysis.stability import runtime_ms
from rocm_perf_lab.analysis.symbols import symbols_of
from rocm_perf_lab.errors import NoKernelsError


@dataclass(frozen=True)
class ProgramRun:
    """One run of the whole program.

    runtime_ms: time spent in the program's own kernels. dram_bytes: None without the counters. counters: symbol -> sums.
    mean_ms: symbol -> mean time of its dispatches. device: product name of the first GPU.
    """

    stdout: bytes
    runtime_ms: float
    dram_bytes: float | None
    timing: str
    timing_parameters: str | None
    counters: Mapping[str, Mapping[str, float]] = field(repr=False)
    mean_ms: Mapping[str, float] = field(repr=False)
    device: str = ""


def read_program_run(program: str, database: Path, stdout: bytes) -> ProgramRun:
    """Read a program run from its trace.

    Raises NoKernelsError if the program dispatched no kernels or if the trace has no times for them; TraceError.
    """
    run = read_base_run(database)
    run.expect_kernels()
    trace = run.trace
    if not trace.has_times:
        raise NoKernelsError(f"{program} has no times: {NO_TIME}", "see `rocm-perf doctor`")
    sums = counters_by_symbol(trace, ())
    total = total_roofline(run.symbols, sums, devices_of(trace))
    return ProgramRun(
        stdout,
        runtime_ms(trace),
        total.level(MEMORY_LEVEL).work.value if total is not None else None,
        trace.timing,
        trace.timing_parameters,
        {symbol: of_symbol.values for symbol, of_symbol in sums.items()},
        {symbol.kernel.symbol: symbol.total_ns / len(symbol.rows) / 1e6 for symbol in symbols_of(trace)},
        next((device.product_name for device in devices_of(trace).values()), ""),
    )
