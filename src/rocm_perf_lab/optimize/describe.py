"""Reports a run as lines of text."""

from __future__ import annotations

from collections.abc import Callable

from rocm_perf_lab.optimize.counter_changes import telling_changes
from rocm_perf_lab.optimize.measure_script import FILE
from rocm_perf_lab.optimize.passed_over_reasons import group_by_reason
from rocm_perf_lab.optimize.result import Iteration, OptimizeResult

Say = Callable[[str], None]


def describe(outcome: OptimizeResult, say: Say, stop: bool = True) -> None:
    """Print the skipped kernels, each accepted change with the counters that changed, and finally the runtimes.

    stop: whether to state why the run ended.
    """
    for skipped in outcome.skipped:
        say(f"Left alone: {skipped.kernel}: {skipped.reason}")
    _say_passed_over(outcome, say)
    if outcome.dry_run:
        _say_dry_run(outcome, say)
        return
    for iteration in outcome.iterations:
        _say_counters(iteration, say)
    for path in outcome.written:
        say(f"Written: {path}")
    _say_undecided(outcome, say)
    say("")
    parameters = f" with the parameters {outcome.timing_parameters}" if outcome.timing_parameters else ""
    say(f"Baseline runtime      {_milliseconds(outcome.baseline_ms)}  in the program's kernels, {outcome.timing}{parameters}")
    for iteration in outcome.iterations:
        description = iteration.judged.proposal.description
        say(f"Iteration {iteration.number} runtime   {_milliseconds(iteration.runtime_ms)}  {description}")
    if stop and outcome.stop:
        say(f"Stopped               {outcome.stop}")
    if outcome.accepted:
        say(f"Improvement           {outcome.improvement:.1%}")
        say(
            "Accepted"
            + (" (modelled: times of the software device's timing model, not of a GPU)" if outcome.timing == "modelled" else "")
        )
    else:
        say("Nothing accepted: the source is unchanged")


def _say_passed_over(outcome: OptimizeResult, say: Say) -> None:
    for kernel in dict.fromkeys(proposal.kernel for proposal in outcome.passed_over):
        its = [(proposal.description, proposal.reason) for proposal in outcome.passed_over if proposal.kernel == kernel]
        for reason, descriptions in group_by_reason(its):
            say(f"Not judged in {kernel}: {reason}: {descriptions}")


def _say_undecided(outcome: OptimizeResult, say: Say) -> None:
    if not outcome.undecided:
        return
    say("\nFor a GPU to decide: same results and faster by the model, but by less than its error for differences")
    for undecided in outcome.undecided:
        say(
            f"  {1 - undecided.judged.ratio:.1%} of {undecided.kernel} saved by the model: "
            f"{undecided.judged.proposal.description}"
        )
        say(f"      {undecided.file}")
    say(f"  ({outcome.undecided[0].judged.undecided})")
    say(f"  On a GPU, {outcome.run / FILE} measures them; --accept modelled accepts what the model shows.")


def _say_dry_run(outcome: OptimizeResult, say: Say) -> None:
    for candidate in outcome.candidates:
        say(f"\nWould judge: {candidate.proposal.description} in {candidate.proposal.kernel}")
        say(candidate.diff.rstrip("\n"))
    count = len(outcome.candidates)
    say(f"\n{count} proposal{'' if count == 1 else 's'}; nothing was judged, and no result was written")


def _say_counters(iteration: Iteration, say: Say) -> None:
    say(f"\nIteration {iteration.number}: {iteration.judged.proposal.description} in {iteration.kernel}")
    for step in iteration.judged.verdict.steps:
        say(f"  {step.step:<12} {step.outcome.value}: {step.reason}")
    counters = telling_changes(iteration.counters)
    if not counters:
        say("  no counters tell why")
        return
    for number, part in enumerate(iteration.why.split("; ")):
        say(f"  {'' if number else 'why':<12} {part}")
    say(f"  {'counter':<26}{'before':>16}{'after':>16}{'change':>10}  meaning")
    for counter in counters:
        change = "new" if counter.change is None else f"{counter.change:+.1%}"
        say(f"  {counter.counter:<26}{counter.before:>16,.0f}{counter.after:>16,.0f}{change:>10}  {counter.meaning}")


def _milliseconds(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.6f} ms"
