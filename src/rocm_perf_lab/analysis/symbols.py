"""Groups the dispatches of a trace by kernel symbol."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rocm_perf_lab.rocpd.tables import Kernel, Trace

# Kernels that the runtime launches for its own purposes: copies, fills, heap set-up.
_RUNTIME_PREFIXES = ("__amd_rocclr_", "hip", "hsa_")


@dataclass(frozen=True)
class Symbol:
    """kernel: one of the kernel ids with this symbol (several code objects or agents can hold it). rows: of Dispatches."""

    kernel: Kernel
    rows: np.ndarray
    total_ns: int

    @property
    def name(self) -> str:
        return self.kernel.name

    @property
    def is_runtime(self) -> bool:
        return is_runtime_kernel(self.name)


def is_runtime_kernel(name: str) -> bool:
    """Whether a kernel belongs to the HIP runtime and not to the program."""
    return name.startswith(_RUNTIME_PREFIXES)


def symbols_of(trace: Trace) -> list[Symbol]:
    """The symbols that were dispatched, the one with the most time first; ties by name."""
    dispatches = trace.dispatches
    rows_of: dict[str, list[np.ndarray]] = {}
    kernel_of: dict[str, Kernel] = {}
    for kernel_id in np.unique(dispatches.kernel_id):
        kernel = trace.kernels.get(int(kernel_id)) or _unknown_kernel(int(kernel_id))
        kernel_of.setdefault(kernel.symbol, kernel)
        rows_of.setdefault(kernel.symbol, []).append(np.flatnonzero(dispatches.kernel_id == kernel_id))
    duration = dispatches.duration
    symbols = []
    for symbol, parts in rows_of.items():
        rows = np.sort(np.concatenate(parts))
        symbols.append(Symbol(kernel_of[symbol], rows, int(duration[rows].sum())))
    return sorted(symbols, key=lambda s: (-s.total_ns, s.name))


def _unknown_kernel(kernel_id: int) -> Kernel:
    return Kernel(kernel_id, f"kernel {kernel_id}", f"kernel {kernel_id}", 0, 0, 0, 0, 0)
