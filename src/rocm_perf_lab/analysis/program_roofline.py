"""The roofline of all the program's own kernels together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rocm_perf_lab.analysis.ceilings import Ceilings
from rocm_perf_lab.analysis.counters import SymbolCounters, sum_of
from rocm_perf_lab.analysis.device import GpuSpecs
from rocm_perf_lab.analysis.roofline import Roofline, roofline
from rocm_perf_lab.analysis.symbols import Symbol


def total_roofline(
    symbols: Sequence[Symbol],
    sums: Mapping[str, SymbolCounters],
    devices: Mapping[int, GpuSpecs],
    measured: Ceilings | None = None,
) -> Roofline | None:
    """None if only the runtime's kernels ran, kernels ran on several devices, or the device's family is unknown.

    sums: by mangled symbol. devices: the devices that kernels ran on, by agent id.
    """
    own = [symbol for symbol in symbols if not symbol.is_runtime]
    if len(devices) != 1 or not own:
        return None
    together = sum_of([sums[symbol.kernel.symbol] for symbol in own])
    return roofline(together, sum(symbol.total_ns for symbol in own), next(iter(devices.values())), measured)
