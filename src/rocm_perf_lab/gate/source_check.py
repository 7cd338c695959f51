"""Step 1: the candidate's source is the baseline's but for the target kernel's body and device functions it adds.

Compared by meaning (hip_source.fingerprint) in the device pass and in the host pass, so that neither a macro nor a
conditional that only one pass sees can move the change elsewhere.
"""

from __future__ import annotations

from dataclasses import replace

from rocm_perf_lab.hip_source import HipSource, Kernel
from rocm_perf_lab.hip_source.fingerprint import Difference, compare

from .promises import NONE, Promises, broken_in_source, without
from .verdict import Outcome, StepVerdict, passed, rejected

STEP = "source"


def check_source(baseline: HipSource, candidate: HipSource, kernel: str, promises: Promises = NONE) -> StepVerdict:
    """kernel: its name in the baseline. promises: what the candidate declares in the kernel's head beyond the baseline.

    Errors: SourceError where the candidate does not compile.
    """
    target = baseline.kernel(kernel)
    if promises == NONE:
        return _only_the_body(baseline, candidate, target, or_nothing=False)
    plain = without(candidate, target.name, promises)
    if isinstance(plain, str):
        return rejected(STEP, plain)
    if complaint := broken_in_source(baseline, target.name, promises):
        return rejected(STEP, f"it promises {promises}, but {complaint}")
    verdict = _only_the_body(baseline, plain, target, or_nothing=True)
    return (
        replace(verdict, reason=f"{verdict.reason}; it promises {promises}") if verdict.outcome is Outcome.PASSED else verdict
    )


def _only_the_body(baseline: HipSource, candidate: HipSource, target: Kernel, or_nothing: bool) -> StepVerdict:
    """or_nothing: whether a candidate that means the same will do."""
    changes = []
    for name in ("device", "host"):
        differences = compare(getattr(baseline, name), getattr(candidate, name))
        changes += differences
        for difference in differences:
            if complaint := _complaint(difference, target):
                return rejected(STEP, complaint, pass_=name, declaration=difference.key, change=difference.kind)
    if complaint := _signature(target, candidate):
        return rejected(STEP, complaint)
    if not changes:
        if or_nothing:
            return passed(STEP, f"the body of {target.name} is the same")
        return rejected(STEP, "the candidate's source means the same as the baseline's: nothing was changed")
    added = sorted({change.key for change in changes if change.kind == "added"})
    return passed(
        STEP, f"only the body of {target.name} differs" + (", and device functions were added" if added else ""), added=added
    )


def _complaint(difference: Difference, target: Kernel) -> str | None:
    """Why a difference is not allowed; None where it is."""
    before, after = difference.before, difference.after
    if difference.kind == "body" and before.is_kernel and _is_target(before, target):
        return f"{target.name} keeps a variable from one launch to the next" if after.holds_state else None
    if difference.kind == "added":
        if after.holds_state:
            return f"{difference.key} is a new variable that outlives a launch"
        if after.is_device_function:
            return None
        return f"{difference.key} was added: only __device__ functions may be"
    what = "was removed" if difference.kind == "removed" else f"its {difference.kind} was changed"
    return f"{difference.key} is not part of {target.name}, but {what}"


def _is_target(declaration, target: Kernel) -> bool:
    return declaration.name == target.name.rsplit("::", 1)[-1]


def _signature(target: Kernel, candidate: HipSource) -> str | None:
    same = [kernel for kernel in candidate.kernels if kernel.signature == target.signature]
    return None if same else f"{target.name} has another signature, or other attributes"
