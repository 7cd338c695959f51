"""Finds the same kernel on both sides: by name or, if it was renamed, by its code or the shape of its launches."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from rocm_perf_lab.comparison.facts import KernelFacts
from rocm_perf_lab.text import words

MatchedBy = Literal["name", "function name", "code", "launch shape"]
_INSTRUCTIONS = "SQ_INSTS"  # counters that depend only on what the kernel executes


@dataclass(frozen=True)
class Match:
    """A kernel that exists on both sides."""

    base: KernelFacts
    new: KernelFacts
    by: MatchedBy


@dataclass(frozen=True)
class Matches:
    """gone, added: kernels that exist on one side only."""

    both: tuple[Match, ...]
    gone: tuple[KernelFacts, ...]
    added: tuple[KernelFacts, ...]


def match(base: Iterable[KernelFacts], new: Iterable[KernelFacts]) -> Matches:
    """Match the kernels of two sides. A rule applies only if exactly one kernel on each side fits."""
    left = {one.symbol: one for one in base}
    right = {one.symbol: one for one in new}
    found: list[Match] = []
    rules: list[tuple[MatchedBy, Callable[[KernelFacts], Hashable]]] = [
        ("name", lambda one: one.symbol),
        ("name", lambda one: one.name),
        ("function name", lambda one: function_name(one.name)),
        ("code", _code),
        ("launch shape", _shape),
    ]
    for by, key in rules:
        one, other = _unique(left, key), _unique(right, key)
        for same in [key for key in one if key in other]:
            found.append(Match(left.pop(one[same].symbol), right.pop(other[same].symbol), by))
    return Matches(tuple(found), tuple(left.values()), tuple(right.values()))


def function_name(kernel: str) -> str:
    """'void ns::f<int>(float*)' -> 'f'."""
    name = words.short_name(kernel).split("<", 1)[0]
    return name.rsplit("::", 1)[-1]


def _unique(kernels: Mapping[str, KernelFacts], key: Callable[[KernelFacts], Hashable]) -> dict[Hashable, KernelFacts]:
    """The kernel for each key, leaving out keys that several kernels share."""
    found: dict[Hashable, KernelFacts | None] = {}
    for kernel in kernels.values():
        of = key(kernel)
        if of is not None:
            found[of] = None if of in found else kernel
    return {of: kernel for of, kernel in found.items() if kernel is not None}


def _code(kernel: KernelFacts) -> Hashable:
    """The machine code if it is known, else registers and executed instructions; None if the instructions were not counted."""
    if kernel.code is not None:
        return kernel.code
    counted = tuple(sorted((name, value) for name, value in kernel.counters.items() if name.startswith(_INSTRUCTIONS)))
    uses = kernel.resources
    return (uses.vgpr_per_thread, uses.accum_vgpr_per_thread, uses.sgpr_per_wave, uses.lds_bytes, counted) if counted else None


def _shape(kernel: KernelFacts) -> Hashable:
    return kernel.is_runtime, kernel.workgroup, kernel.grid, kernel.dispatches
