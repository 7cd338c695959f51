"""Groups the dispatches of a trace by kernel symbol."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from rocm_perf_lab.kernel_pattern import fits
from rocm_perf_lab.lazy_jit import lazy_jit
from rocm_perf_lab.rocpd.factorize import factorize
from rocm_perf_lab.rocpd.trace import Kernel, Trace
from rocm_perf_lab.rocpd.trace_part import EmptyPartError

if TYPE_CHECKING:
    from rocm_perf_lab.arrays import Integers


@dataclass(frozen=True)
class Symbol:
    """kernel: one of the kernels with this symbol (several code objects or agents can contain it).

    rows: its rows in Dispatches, ascending. longest: the row that took the most time, the first if several tie.
    """

    kernel: Kernel
    rows: Integers
    total_ns: int
    longest: int

    @property
    def name(self) -> str:
        return self.kernel.name

    @property
    def is_runtime(self) -> bool:
        """Whether it belongs to the HIP runtime rather than to the program."""
        return self.kernel.is_runtime


_SYMBOLS_OF_TRACES: WeakKeyDictionary[Trace, list[Symbol]] = (
    WeakKeyDictionary()
)  # grouping takes a second per ten million dispatches


def symbols_of(trace: Trace) -> list[Symbol]:
    """The symbols that were dispatched, in descending order of time; ties are broken by name."""
    if trace not in _SYMBOLS_OF_TRACES:
        _SYMBOLS_OF_TRACES[trace] = _group(trace)
    return _SYMBOLS_OF_TRACES[trace]


def matching(symbols: list[Symbol], pattern: str | None) -> list[Symbol]:
    """The symbols that match a pattern (see kernel_pattern), or all if it is None. Raises EmptyPartError if none matches."""
    matches = [symbol for symbol in symbols if fits(pattern, symbol.name, symbol.kernel.symbol)]
    if symbols and not matches:
        examples = ", ".join(symbol.name for symbol in symbols[:3])
        raise EmptyPartError(f"no kernel matches {pattern}", f"the trace has {len(symbols)} kernels, such as {examples}")
    return matches


def _group(trace: Trace) -> list[Symbol]:
    ids, kernel_code = factorize(trace.dispatches.kernel_id)
    kernels = [trace.kernels.get(int(id)) or _unknown_kernel(int(id)) for id in ids]
    names = list(dict.fromkeys(kernel.symbol for kernel in kernels))
    index_of = {name: number for number, name in enumerate(names)}
    of_kernel: Integers
    of_kernel = np.array([index_of[kernel.symbol] for kernel in kernels], np.uint16 if len(names) < 1 << 16 else np.int32)
    symbol = of_kernel[kernel_code] if len(ids) else np.empty(0, np.int32)
    total, longest = np.zeros(len(names), np.int64), np.full(len(names), -1, np.int64)
    _total_and_longest(symbol, trace.dispatches.start, trace.dispatches.end, total, longest)
    rows = np.argsort(symbol, kind="stable").astype(np.int32)
    bounds = np.bincount(symbol, minlength=len(names)).cumsum()[:-1] if names else np.empty(0, np.int64)
    parts = np.split(rows, bounds)
    first_kernel = {kernel.symbol: kernel for kernel in reversed(kernels)}
    symbols = [
        Symbol(first_kernel[name], own, int(total[number]), int(longest[number]))
        for number, (name, own) in enumerate(zip(names, parts, strict=False))  # without names, parts still has one entry
    ]
    return sorted(symbols, key=lambda s: (-s.total_ns, s.name))


@lazy_jit
def _total_and_longest(symbol: Integers, start: Integers, end: Integers, total: Integers, longest: Integers) -> None:
    for row in range(len(symbol)):
        of = symbol[row]
        takes = end[row] - start[row]
        total[of] += takes
        best = longest[of]
        if best < 0 or takes > end[best] - start[best]:
            longest[of] = row


def _unknown_kernel(kernel_id: int) -> Kernel:
    return Kernel(kernel_id, f"kernel {kernel_id}", f"kernel {kernel_id}", 0, 0, 0, 0, 0)
