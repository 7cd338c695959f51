"""Compares memory after a dispatch in the candidate's program with memory after the same dispatch in the baseline's.

A replay differs from the program at least in the address of the code, which a candidate can observe. So a candidate that is
correct in every replay is checked once more in the program.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rocm_perf_lab.gate.equivalence.kernel_inputs import Buffer, KernelInputs
from rocm_perf_lab.gate.equivalence.memory_difference import Difference, difference_in, location
from rocm_perf_lab.gate.equivalence.program_memory import (
    Key,
    ProgramMemory,
    differing,
    only_written,
    otherwise_allocated,
    rewritten_code,
)
from rocm_perf_lab.isolate import Capture

if TYPE_CHECKING:
    from rocm_perf_lab.gate.equivalence.numbers import Bytes

InProgram = tuple[Capture, KernelInputs]
"""A dispatch captured in a program, with its arguments."""

Again = Callable[[int], InProgram]
"""Returns the dispatch captured in another run of the baseline's program; 0 stands for the first such run."""

_RUNS = 3  # baseline runs that must agree with the first: random values may happen to be equal in two runs


def difference_in_program(
    before: InProgram, after: InProgram, baseline_again: Again, ulps: int
) -> tuple[Difference | None, list[str]]:
    """Compare the same dispatch in two programs.

    before, after: the dispatch in the baseline's program and in the candidate's. Buffers are matched by name. baseline_again:
    called only if there is a difference; differences that also occur between runs of the baseline are ignored.

    All captured memory is compared, not only the kernel's own buffers: a candidate could write memory that other kernels use.

    Returns the difference, and the names of the pieces of memory that could not be compared. Raises SourceError.
    """
    found, unlike = _in_buffers(before, after, baseline_again, ulps)
    return (found, unlike) if found is not None else _elsewhere(before, after, baseline_again, ulps, unlike)


def _in_buffers(before: InProgram, after: InProgram, baseline_again: Again, ulps: int) -> tuple[Difference | None, list[str]]:
    """Compare the numbers in the kernel's buffers according to their types."""
    unlike: list[str] = []
    for at_end in (False, True):  # before the dispatch, memory holds the results of earlier dispatches
        for name, one, other in _pairs(before, after):
            found = _difference(before[0], one, after[0], other, at_end, ulps)
            if found is None or name in unlike:
                continue
            again = ((capture, _named(arguments, name)) for capture, arguments in map(baseline_again, range(_RUNS)))
            if all(_difference(before[0], one, capture, twin, at_end, ulps) is None for capture, twin in again):
                when = "" if at_end else " (left by an earlier dispatch)"
                return Difference(found.reason + when, found.where), unlike
            unlike.append(name)
    return None, unlike


def _elsewhere(
    before: InProgram, after: InProgram, baseline_again: Again, ulps: int, unlike: Sequence[str]
) -> tuple[Difference | None, list[str]]:
    """Compare all memory, byte for byte. unlike: buffers whose contents vary between runs of the baseline."""
    names = [*unlike]
    one, other = (ProgramMemory.of(capture) for capture, _ in (before, after))
    memory_of = functools.cache(lambda turn: ProgramMemory.of(baseline_again(turn)[0]))

    def again() -> Iterator[ProgramMemory]:
        return map(memory_of, range(_RUNS))

    if (place := rewritten_code(other)) is not None:
        if rewritten_code(one) is None:
            return Difference(f"the code at {place:#x} differs from its file"), names
        names.append("the kernel's code object")
    if name := otherwise_allocated(one, other):
        if not any(otherwise_allocated(one, run) for run in again()):
            return Difference(f"only one of the two programs has {name}"), names
        names.append("memory that the program does not have in every run")
    excused: set[Key] = set()
    for at_end in (False, True):
        for key in one.parts:
            there = key in other.parts and key not in excused
            found = _apart(one, other, key, at_end, ulps) if there else None
            if found is None:
                continue
            if all(key in run.parts and _apart(one, run, key, at_end, ulps) is None for run in again()):
                return _told(other, key, found, after[1].buffers, at_end), names
            excused.add(key)
            part = one.parts[key]
            held = [buffer.name for buffer in before[1].buffers if part.address <= buffer.address < part.address + part.size]
            names += [] if any(name in unlike for name in held) else [part.name]
    return None, names


def _apart(one: ProgramMemory, other: ProgramMemory, key: Key, at_end: bool, ulps: int) -> tuple[int, int] | None:
    """Where one part differs: (first address, number of bytes); None if it does not. If there is a tolerance, other kernels'
    results may be slightly off too, and a pool holds arbitrary bytes; in both cases, only what the dispatch writes is compared.
    """
    if not ulps and not one.parts[key].is_pool:
        return differing(one, other, key, at_end)
    return only_written(one, other, key) if at_end else None


def _told(memory: ProgramMemory, key: Key, found: tuple[int, int], buffers: Sequence[Buffer], at_end: bool) -> Difference:
    address, count = found
    where, section = location(address, buffers)
    when = "" if at_end else " (left by an earlier dispatch)"
    differ = f"{count} bytes differ, the first" if count > 1 else "1 byte differs,"
    reason = f"{differ} at {where}, in {memory.parts[key].name}{when}"
    return Difference(reason, section.model_copy(update={"differing_bytes": count}))


def _pairs(before: InProgram, after: InProgram) -> Iterator[tuple[str, Buffer, Buffer | None]]:
    return ((one.name, one, _named(after[1], one.name)) for one in before[1].buffers)


def _named(arguments: KernelInputs, name: str) -> Buffer | None:
    return next((buffer for buffer in arguments.buffers if buffer.name == name), None)


def _difference(
    before: Capture, one: Buffer, after: Capture, other: Buffer | None, at_end: bool, ulps: int
) -> Difference | None:
    if other is None or (one.layout, one.count) != (other.layout, other.count):
        return Difference(f"`{one.name}` differs in size or type")
    return difference_in(one, _numbers(before, one, at_end), _numbers(after, other, at_end), ulps)


def _numbers(capture: Capture, buffer: Buffer, after: bool) -> Bytes:
    """The buffer's bytes with its pointers zeroed, since their values vary between processes."""
    content: Bytes = np.frombuffer(capture.memory(buffer.address, buffer.size, after=after), np.uint8).copy()
    for leaf in buffer.layout.leaves:
        if leaf.scalar is None:
            buffer.view(content, leaf)[...] = 0
    return content
