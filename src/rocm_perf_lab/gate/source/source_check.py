"""Step 1: takes from the candidate only the target kernel's head and body, new device functions and what the changed launch
shapes compute. See change.py.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from rocm_perf_lab.errors import SourceError
from rocm_perf_lab.gate.change import KernelChange, SplicedSource, splice, unused_name
from rocm_perf_lab.gate.source.launch_change import LaunchChange, LaunchRefusedError, launch_change
from rocm_perf_lab.gate.source.launch_rule import constant_size, launch_text
from rocm_perf_lab.gate.source.promises import NO_PROMISES, Promises, broken_in_source, combined_promises
from rocm_perf_lab.gate.verdict import StepOutcome, StepVerdict, passed, rejected
from rocm_perf_lab.gate.verdict_document import SOURCE, LaunchSection, SourceEvidence
from rocm_perf_lab.hip_source import HipSource, SourceKernel
from rocm_perf_lab.hip_source.tokens import texts, tokens_of

STEP = SOURCE

CalledNames = Callable[[], Collection[str]]
"""Returns the names that other files of the units that include the baseline call; see Builder.called_names in judge.py."""

ExpandedTextComplaint = Callable[[KernelChange], str | None]
"""Returns why a change is refused after preprocessing, or None; see gate.source.expanded_text_check."""


@dataclass(frozen=True)
class SourceStepResult:
    """The result of the source step.

    verdict: the step's verdict. spliced: the source to judge; None if the step rejected the change. promises: the promises that
    this source relies on. launch: how launches change; None if they do not.
    """

    verdict: StepVerdict
    spliced: SplicedSource | None = None
    promises: Promises = NO_PROMISES
    launch: LaunchChange | None = None


def check_source(
    baseline: HipSource,
    kernel: SourceKernel,
    change: KernelChange | str,
    declared: Promises,
    called_names: CalledNames,
    expanded_text_complaint: ExpandedTextComplaint,
) -> SourceStepResult:
    """Check a change and splice it into the baseline.

    change: the change to take from the candidate, or why it is refused. declared: promises that the proposer makes in addition
    to those in the head.
    """
    if isinstance(change, str):
        return SourceStepResult(rejected(STEP, change))
    promises = combined_promises(change.promises, declared)
    try:
        launch = launch_change(baseline, kernel, change.launches) if change.launches else None
    except LaunchRefusedError as error:
        return SourceStepResult(rejected(STEP, str(error)))
    complaint = None if promises == NO_PROMISES else _broken_promise(baseline, kernel, promises, launch)
    if complaint:
        return SourceStepResult(rejected(STEP, f"it promises {promises}, but {complaint}"))
    if used := sorted(set(change.names) & set(called_names() if change.names else ())):
        return SourceStepResult(
            rejected(STEP, f"{used[0]} was added, but a header calls something by that name: choose another name")
        )
    try:
        if complaint := expanded_text_complaint(change):
            return SourceStepResult(rejected(STEP, complaint))
    except SourceError as error:
        return SourceStepResult(rejected(STEP, f"it cannot be read: {error.problem}"))
    known = set(texts(tokens_of(baseline.device))) if change.functions else set()
    spliced = splice(baseline, kernel, change, unused_name(kernel, known), launch.edits if launch else ())
    evidence = SourceEvidence(kernel=kernel.name, added=list(change.names), launch=launch and _launch_section(launch))
    return SourceStepResult(passed(STEP, _in_words(kernel, change, promises, launch), evidence), spliced, promises, launch)


def _launch_section(launch: LaunchChange) -> LaunchSection:
    before, after = launch_text(launch.before), launch_text(launch.after)
    return LaunchSection(before=before, after=after, lines=[*launch.lines], other_files=[*launch.files])


def _broken_promise(baseline: HipSource, kernel: SourceKernel, promises: Promises, launch: LaunchChange | None) -> str | None:
    """Why a launch may break a promise. A bound on the workgroup size is checked against the new shape of the launches."""
    if launch is None or promises.threads is None:
        return broken_in_source(baseline, kernel.identity, promises)
    size = constant_size(launch.after)
    if size is None:
        return "the size of its workgroups depends on the launch's arguments"
    if size > promises.threads:
        return f"its launches have {size} threads per workgroup"
    return broken_in_source(baseline, kernel.identity, replace(promises, threads=None))


def with_promises(verdict: StepVerdict, promises: Promises, dispatches: list[int]) -> StepVerdict:
    """Adds to a passed step the dispatches for which its promises were shown to hold."""
    if promises == NO_PROMISES or verdict.outcome is not StepOutcome.PASSED:
        return verdict
    shown = ", ".join(map(str, dispatches))
    captured = f"dispatch{'es' if len(dispatches) > 1 else ''} {shown}"
    reason = f"{verdict.reason} (checked only for the launches in the source and the captured {captured})"
    evidence = verdict.evidence.model_copy(update={"promises": str(promises), "shown_for": dispatches})
    return replace(verdict, reason=reason, evidence=evidence)


def _in_words(kernel: SourceKernel, change: KernelChange, promises: Promises, launch: LaunchChange | None) -> str:
    added = f", and {', '.join(change.names)} {'was' if len(change.names) == 1 else 'were'} added" if change.names else ""
    promised = f"; it promises {promises}" if promises != NO_PROMISES else ""
    launched = f"; its launch {launch}" if launch else ""
    return f"the new body of {kernel.name} is taken{added}{launched}{promised}"
