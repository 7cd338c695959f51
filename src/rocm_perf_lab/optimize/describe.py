"""Reports a run as lines of text."""

from __future__ import annotations

from collections.abc import Callable

from rocm_perf_lab.optimize.counters_moved import moved
from rocm_perf_lab.optimize.measure_script import FILE
from rocm_perf_lab.optimize.not_judged import grouped
from rocm_perf_lab.optimize.result import Iteration, OptimizeResult

Say = Callable[[str], None]


def describe(outcome: OptimizeResult, say: Say, stop: bool = True) -> None:
    """Print the skipped kernels, each accepted change with the counters that changed, and finally the runtimes.

    stop: whether to state why the run ended.
    """
    for one in outcome.left:
        say(f"Left alone: {one.kernel}: {one.reason}")
    _passed_over(outcome, say)
    if outcome.dry_run:
        _dry_run(outcome, say)
        return
    for iteration in outcome.iterations:
        _counters(iteration, say)
    for path in outcome.written:
        say(f"Written: {path}")
    _undecided(outcome, say)
    say("")
    parameters = f" with the parameters {outcome.timing_parameters}" if outcome.timing_parameters else ""
    say(f"Baseline runtime      {_ms(outcome.baseline_ms)}  in the program's kernels, {outcome.timing}{parameters}")
    for iteration in outcome.iterations:
        say(f"Iteration {iteration.number} runtime   {_ms(iteration.runtime_ms)}  {iteration.judged.proposal.description}")
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


def _passed_over(outcome: OptimizeResult, say: Say) -> None:
    for kernel in dict.fromkeys(one.kernel for one in outcome.passed_over):
        its = [(one.description, one.reason) for one in outcome.passed_over if one.kernel == kernel]
        for reason, what in grouped(its):
            say(f"Not judged in {kernel}: {reason}: {what}")


def _undecided(outcome: OptimizeResult, say: Say) -> None:
    if not outcome.undecided:
        return
    say("\nFor a GPU to decide: same results and faster by the model, but by less than its error for differences")
    for one in outcome.undecided:
        say(f"  {1 - one.judged.ratio:.1%} of {one.kernel} saved by the model: {one.judged.proposal.description}")
        say(f"      {one.file}")
    say(f"  ({outcome.undecided[0].judged.undecided})")
    say(f"  On a GPU, {outcome.run / FILE} measures them; --accept modelled accepts what the model shows.")


def _dry_run(outcome: OptimizeResult, say: Say) -> None:
    for one in outcome.judged:
        say(f"\nWould judge: {one.proposal.description} in {one.proposal.kernel}")
        say(one.diff.rstrip("\n"))
    say(f"\n{len(outcome.judged)} proposals; nothing was judged or written")


def _counters(iteration: Iteration, say: Say) -> None:
    say(f"\nIteration {iteration.number}: {iteration.judged.proposal.description} in {iteration.kernel}")
    for step in iteration.judged.verdict.steps:
        say(f"  {step.step:<12} {step.outcome.value}: {step.reason}")
    counters = moved(iteration.counters)
    if not counters:
        say("  no counters tell why")
        return
    for number, part in enumerate(iteration.why.split("; ")):
        say(f"  {'' if number else 'why':<12} {part}")
    say(f"  {'counter':<26}{'before':>16}{'after':>16}{'change':>10}  meaning")
    for counter in counters:
        change = "new" if counter.change is None else f"{counter.change:+.1%}"
        say(f"  {counter.counter:<26}{counter.before:>16,.0f}{counter.after:>16,.0f}{change:>10}  {counter.meaning}")


def _ms(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.6f} ms"
