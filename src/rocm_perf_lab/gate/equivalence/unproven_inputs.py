"""Gaps in a judgement: inputs of the kernel that were never changed successfully."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rocm_perf_lab.gate.equivalence.kernel_inputs import KernelInputs, Unknown
from rocm_perf_lab.gate.equivalence.memory_difference import Outputs
from rocm_perf_lab.gate.equivalence.perturbation import Field
from rocm_perf_lab.gate.equivalence.tried_case import TriedCase
from rocm_perf_lab.isolate import Capture
from rocm_perf_lab.replaying import CaseOutcome

if TYPE_CHECKING:
    from rocm_perf_lab.gate.equivalence.numbers import Bytes


DIFFERS_IN_SAME_MEMORY = "differs; not held against the candidate, as no captured launch passes such pointers"


def unproven_in(
    capture: Capture, arguments: KernelInputs, fields: Sequence[Field], tried: Sequence[TriedCase], found: Mapping[str, str]
) -> Iterator[Unknown]:
    """The inputs that no successful case has varied.

    fields: all fields that can be changed. tried: all cases, starting with the captured inputs. found: the outcome of each
    case.

    Memory that the kernel only writes need not be tried with other values: filling it beforehand shows that the kernel does not
    depend on its contents.
    """
    shown = {field for one in tried if found.get(one.name) == "equal" and one.perturbation for field in one.perturbation.fields}
    groups = {field.group for field in shown}
    dropped = [
        Unknown(field.group, f"{buffer.layout.spelling}*", "no other values could be tried", buffer.address, buffer.size)
        for field in fields
        if field.group not in groups and (buffer := field.buffer)
    ]
    told = set()
    for one in (*dropped, *arguments.unknown):
        if one.name not in told and not (one.size and _is_only_written(capture, (one.address, one.size), tried)):
            told.add(one.name)
            yield one


def same_memory_unproven(tried: Sequence[TriedCase], found: Mapping[str, str]) -> Iterator[str]:
    """The pairs of arguments that the baseline, but not the candidate, allows to point to the same memory, for example because
    the candidate loads before it stores and the baseline does not.
    """
    for one in tried:
        if found.get(one.name) == DIFFERS_IN_SAME_MEMORY:
            yield f"launches with `{one.name}` (if both point to the same memory, it leaves different contents there)"


def _is_only_written(capture: Capture, extent: tuple[int, int], tried: Sequence[TriedCase]) -> bool:
    """Whether the kernel changes the memory, and with the same result whatever it held before. extent: address, bytes."""
    if capture.memory(*extent) == capture.memory(*extent, after=True):
        return False
    poisoned = [one for one in tried if one.perturbation is None and not one.outcome.failure]
    results = [_content(one.outcome, *extent) for one in poisoned]
    known = [result for result in results if result is not None]
    return len(known) == len(results) and all(np.array_equal(result, known[0]) for result in known)


def _content(outcome: CaseOutcome, address: int, size: int) -> Bytes | None:
    """The contents that a case left at `address`; None if it left that region unchanged."""
    outputs = Outputs(outcome.dump)
    for base, region in outputs.regions.items():
        start = address - int(base, 16)
        if 0 <= start < region["bytes"]:
            return outputs.content(region)[start : start + size]
    return None
