"""Finds the same kernel on both sides: by name or, if it was renamed, by its code or the shape of its launches."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from rocm_perf_lab.comparison.facts import KernelFacts
from rocm_perf_lab.text.names import short_name

MatchedBy = Literal["name", "function name", "code", "launch shape"]
_INSTRUCTIONS = "SQ_INSTS"  # counters that depend only on what the kernel executes


@dataclass(frozen=True)
class MatchedKernel:
    """A kernel that exists on both sides."""

    base: KernelFacts
    new: KernelFacts
    by: MatchedBy


@dataclass(frozen=True)
class KernelMatches:
    """gone, added: kernels that exist on one side only."""

    pairs: tuple[MatchedKernel, ...]
    gone: tuple[KernelFacts, ...]
    added: tuple[KernelFacts, ...]


def match(base: Iterable[KernelFacts], new: Iterable[KernelFacts]) -> KernelMatches:
    """Match the kernels of two sides. A rule applies only if exactly one kernel on each side fits."""
    left = {kernel.symbol: kernel for kernel in base}
    right = {kernel.symbol: kernel for kernel in new}
    matches: list[MatchedKernel] = []
    rules: list[tuple[MatchedBy, Callable[[KernelFacts], Hashable]]] = [
        ("name", lambda kernel: kernel.symbol),
        ("name", lambda kernel: kernel.name),
        ("function name", lambda kernel: function_name(kernel.name)),
        ("code", _code),
        ("launch shape", _shape),
    ]
    for by, key in rules:
        left_by_key, right_by_key = _unique(left, key), _unique(right, key)
        for same in [key for key in left_by_key if key in right_by_key]:
            matches.append(MatchedKernel(left.pop(left_by_key[same].symbol), right.pop(right_by_key[same].symbol), by))
    return KernelMatches(tuple(matches), tuple(left.values()), tuple(right.values()))


def function_name(kernel: str) -> str:
    """'void ns::f<int>(float*)' -> 'f'."""
    name = short_name(kernel).split("<", 1)[0]
    return name.rsplit("::", 1)[-1]


def _unique(kernels: Mapping[str, KernelFacts], key: Callable[[KernelFacts], Hashable]) -> dict[Hashable, KernelFacts]:
    """The kernel for each key, leaving out keys that several kernels share."""
    by_key: dict[Hashable, KernelFacts | None] = {}
    for kernel in kernels.values():
        of = key(kernel)
        if of is not None:
            by_key[of] = None if of in by_key else kernel
    return {of: kernel for of, kernel in by_key.items() if kernel is not None}


def _code(kernel: KernelFacts) -> Hashable:
    """The machine code if it is known, else registers and executed instructions; None if the instructions were not counted."""
    if kernel.code is not None:
        return kernel.code
    counted = tuple(sorted((name, value) for name, value in kernel.counters.items() if name.startswith(_INSTRUCTIONS)))
    uses = kernel.resources
    return (uses.vgpr_per_thread, uses.accum_vgpr_per_thread, uses.sgpr_per_wave, uses.lds_bytes, counted) if counted else None


def _shape(kernel: KernelFacts) -> Hashable:
    return kernel.is_runtime, kernel.workgroup, kernel.grid, kernel.dispatches
