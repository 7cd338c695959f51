"""Gaps in a judgement: inputs of the kernel that were never changed successfully."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rocm_perf_lab.gate.equivalence.baseline_case import BaselineCase
from rocm_perf_lab.gate.equivalence.kernel_inputs import KernelInputs, UnvariedInput
from rocm_perf_lab.gate.equivalence.memory_difference import Outputs
from rocm_perf_lab.gate.equivalence.perturbation import Field
from rocm_perf_lab.isolate import Capture
from rocm_perf_lab.replaying import CaseOutcome

if TYPE_CHECKING:
    from rocm_perf_lab.gate.equivalence.numbers import Bytes


DIFFERS_IN_SAME_MEMORY = "differs; not held against the candidate, as no captured launch passes such pointers"


def unproven_in(
    capture: Capture,
    kernel_inputs: KernelInputs,
    fields: Sequence[Field],
    baseline_cases: Sequence[BaselineCase],
    outcomes: Mapping[str, str],
) -> Iterator[UnvariedInput]:
    """The inputs that no successful case has varied.

    fields: all fields that can be changed. baseline_cases: all cases, starting with the captured inputs. outcomes: the outcome
    of each case.

    Memory that the kernel only writes need not be tried with other values: filling it beforehand shows that the kernel does not
    depend on its contents.
    """
    shown = {
        field
        for case in baseline_cases
        if outcomes.get(case.name) == "equal" and case.perturbation
        for field in case.perturbation.fields
    }
    groups = {field.group for field in shown}
    dropped = [
        UnvariedInput(field.group, f"{buffer.layout.spelling}*", "no other values could be tried", buffer.address, buffer.size)
        for field in fields
        if field.group not in groups and (buffer := field.buffer)
    ]
    reported = set()
    for unknown in (*dropped, *kernel_inputs.unvaried):
        if unknown.name not in reported and not (
            unknown.size and _is_only_written(capture, (unknown.address, unknown.size), baseline_cases)
        ):
            reported.add(unknown.name)
            yield unknown


def same_memory_unproven(baseline_cases: Sequence[BaselineCase], outcomes: Mapping[str, str]) -> Iterator[str]:
    """The pairs of arguments that the baseline, but not the candidate, allows to point to the same memory, for example because
    the candidate loads before it stores and the baseline does not.
    """
    for case in baseline_cases:
        if outcomes.get(case.name) == DIFFERS_IN_SAME_MEMORY:
            yield f"launches with `{case.name}` (if both point to the same memory, it leaves different contents there)"


def _is_only_written(capture: Capture, extent: tuple[int, int], baseline_cases: Sequence[BaselineCase]) -> bool:
    """Whether the kernel changes the memory, and with the same result whatever it held before. extent: address, bytes."""
    if capture.memory(*extent) == capture.memory(*extent, after=True):
        return False
    poisoned = [case for case in baseline_cases if case.perturbation is None and not case.outcome.failure]
    results = [_content(case.outcome, *extent) for case in poisoned]
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
