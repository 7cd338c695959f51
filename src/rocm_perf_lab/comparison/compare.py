"""Compares one side with others, and judges the changes against limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import numpy as np

from rocm_perf_lab.analysis.model_error import error_for_differences
from rocm_perf_lab.comparison import change as changes
from rocm_perf_lab.comparison.change import CONFIDENCE, MIN_CHANGE, ratio_interval
from rocm_perf_lab.comparison.compare_document import (
    ChangeSection,
    CompareDocument,
    ComparisonSection,
    IntervalSection,
    KernelSection,
    LimitSection,
    SideSection,
)
from rocm_perf_lab.comparison.exact_change import counter_changes, exact_change
from rocm_perf_lab.comparison.facts import KernelFacts, Side
from rocm_perf_lab.comparison.limits import Limit
from rocm_perf_lab.comparison.matching import KernelMatches, MatchedKernel, match
from rocm_perf_lab.comparison.metrics import KERNEL_METRICS, PROGRAM_METRICS, TIME, ProgramMetric, mean
from rocm_perf_lab.comparison.read_run import read_side
from rocm_perf_lab.comparison.words import change_in_words
from rocm_perf_lab.errors import TraceError, UsageError
from rocm_perf_lab.kernel_pattern import fits
from rocm_perf_lab.rocpd.trace import UNNAMED
from rocm_perf_lab.text.names import short_name


def compare(paths: Sequence[Path], limits: Sequence[Limit] = (), kernel: str | None = None) -> CompareDocument:
    """Compare the first path with each of the others.

    paths: see read_run.read_side(). kernel: a pattern (see kernel_pattern) for the kernels to report on and to judge; the
    program's own figures still cover all kernels. Raises a RocmPerfError for sides that cannot be read or compared.
    """
    base, *new_sides = map(read_side, paths)
    comparisons = [_compared(base, new, limits, kernel) for new in new_sides]
    exceeded = any(limit.exceeded for comparison in comparisons for limit in comparison.limits)
    return CompareDocument(base=_side_section(base), comparisons=comparisons, exceeded=exceeded)


def _compared(base: Side, new: Side, limits: Sequence[Limit], kernel: str | None) -> ComparisonSection:
    _check_comparable(base, new)
    matches = match(base.kernels.values(), new.kernels.values())
    _expect_kernel(kernel, [*base.kernels.values(), *new.kernels.values()])
    both = [matched for matched in matches.pairs if fits(kernel, matched.new.name, matched.new.symbol)]
    modelled = base.timing == "modelled"
    confidence = 1 - (1 - CONFIDENCE) / (len(both) + len(PROGRAM_METRICS))  # of each interval alone (Bonferroni)
    program = [_of_program(metric, base, new, confidence) for metric in PROGRAM_METRICS]
    total = mean(base.kernel_ns)
    kernels = [_kernel(matched, confidence, modelled, total) for matched in both]
    kernels.sort(key=lambda section: (section.is_runtime, -(section.share or 0)))
    error = error_for_differences(base.timing_parameters) if modelled else None
    alone = [[facts for facts in side if fits(kernel, facts.name, facts.symbol)] for side in (matches.gone, matches.added)]
    return ComparisonSection(
        new=_side_section(new),
        model_error=error if isinstance(error, float) else None,
        program=program,
        kernels=kernels,
        gone=[facts.name for facts in alone[0]],
        added=[facts.name for facts in alone[1]],
        limits=[_judged(limit, program, kernels, alone[1]) for limit in limits],
        notes=list(_notes(base, new, matches, error)),
    )


def _expect_kernel(pattern: str | None, kernels: Sequence[KernelFacts]) -> None:
    """Reject a pattern that matches no kernel, because limits on kernels could then never be exceeded."""
    if kernels and not any(fits(pattern, kernel.name, kernel.symbol) for kernel in kernels):
        raise UsageError(
            f"no kernel matches {pattern}", f"there are {', '.join(short_name(kernel.name) for kernel in kernels[:3])}"
        )


def _check_comparable(base: Side, new: Side) -> None:
    """Refuse to compare measured with modelled times, or times modelled with different parameters."""
    if base.timing != new.timing:
        problem = f"times in {base.label} are {base.timing}, those in {new.label} {new.timing}: they cannot be compared"
        raise TraceError(problem, "profile both on the same device")
    known = {side.timing_parameters for side in (base, new)} - {None}
    if len(known) > 1:
        problem = f"times in {base.label} and {new.label} were modelled with different parameters: they cannot be compared"
        raise TraceError(problem, "profile both with the same version of rocm-perf and the same --device-option")


def _kernel(matched: MatchedKernel, confidence: float, modelled: bool, total: float | None) -> KernelSection:
    base, new = matched.base, matched.new
    sections = []
    for metric in KERNEL_METRICS:
        values = metric.value(base), metric.value(new)
        if metric.name == TIME:
            sections.append(_time(base, new, confidence, modelled))
        else:
            sections.append(exact_change(metric.name, metric.unit, *values))
    counters = {name: (base.counters[name], new.counters[name]) for name in base.counters if name in new.counters}
    time = mean(base.run_ns)
    return KernelSection(
        kernel=new.name,
        was=base.name if base.name != new.name else None,
        grid=(base.grid, new.grid),
        workgroup=(base.workgroup, new.workgroup),
        matched_by=matched.by,
        is_runtime=new.is_runtime,
        share=time / total if time is not None and total else None,
        bottleneck=(base.bottleneck, new.bottleneck),
        changes=sections,
        counters={name: pair for name, pair in counters.items() if pair[0] != pair[1]},
        same_counters=[name for name, pair in counters.items() if pair[0] == pair[1]],
    )


def _time(base: KernelFacts, new: KernelFacts, confidence: float, modelled: bool) -> ChangeSection:
    before, after = mean(base.run_ns), mean(new.run_ns)
    if modelled or before is None or after is None:
        return exact_change(TIME, "ns", before, after)
    return _time_change(TIME, before, after, ratio_interval(base.durations, new.durations, confidence))


def _of_program(metric: ProgramMetric, base: Side, new: Side, confidence: float) -> ChangeSection:
    base_values, new_values = metric.values(base), metric.values(new)
    before, after = mean(base_values), mean(new_values)
    if base.timing == "modelled" or before is None or after is None:
        return exact_change(metric.name, metric.unit, before, after)
    base_runs, new_runs = ([np.array([value]) for value in side] for side in (base_values, new_values))
    return _time_change(metric.name, before, after, ratio_interval(base_runs, new_runs, confidence))


def _time_change(metric: str, base: float, new: float, interval: changes.Interval | str) -> ChangeSection:
    change = exact_change(metric, "ns", base, new)
    if isinstance(interval, str):
        return change.model_copy(update={"why_no_interval": interval, "verdict": "undecided"})
    section = IntervalSection(
        low=interval.low, high=interval.high, confidence=interval.confidence, method=interval.method
    )  # fmt: skip
    return change.model_copy(update={"interval": section, "verdict": _verdict(interval, new / base - 1)})


def _verdict(interval: changes.Interval, change: float) -> str:
    if not interval.low <= 1 <= interval.high and abs(change) >= MIN_CHANGE:
        return "more" if change > 0 else "less"
    is_close = 1 - MIN_CHANGE <= interval.low and interval.high <= 1 + MIN_CHANGE
    return "same" if is_close or not interval.low <= 1 <= interval.high else "undecided"


def _judged(
    limit: Limit, program: Sequence[ChangeSection], kernels: Sequence[KernelSection], added: Sequence[KernelFacts]
) -> LimitSection:
    by, undecided = [], []
    known = False
    for who, change in _changes_of(limit.metric, program, kernels):
        known = True
        if (exceeds := limit.exceeds(change)) is None:
            undecided.append(f"{who}: {change_in_words(change)}")
        elif exceeds:
            by.append(f"{who}: {change_in_words(change)}")
    if not known:
        undecided.append(f"no kernel has {limit.metric} on both sides")
    elif limit.metric not in {metric.name for metric in PROGRAM_METRICS}:
        undecided += [f"{kernel.name}: it is new" for kernel in added]
    return LimitSection(limit=limit.text, exceeded=bool(by), by=by, undecided=undecided)


def _changes_of(
    metric: str, program: Sequence[ChangeSection], kernels: Sequence[KernelSection]
) -> Iterator[tuple[str, ChangeSection]]:
    """The changes in a metric, either for the program or for each of its own kernels."""
    yield from (("the program", change) for change in program if change.metric == metric)
    for kernel in kernels:
        if not kernel.is_runtime:
            yield from (
                (kernel.kernel, change) for change in (*kernel.changes, *counter_changes(kernel)) if change.metric == metric
            )


def _side_section(side: Side) -> SideSection:
    return SideSection(
        path=side.label, command=side.command, gpu=side.product, target=side.target, timing=side.timing,
        timing_parameters=side.timing_parameters, runs=side.runs,
    )  # fmt: skip


def _notes(base: Side, new: Side, matches: KernelMatches, error: float | str | None) -> Iterator[str]:
    if base.command != new.command and UNNAMED not in (base.command, new.command):
        yield f"the commands differ: {base.command} and {new.command}"
    if (base.target, base.product) != (new.target, new.product):
        yield f"the GPUs differ: {base.product} ({base.target}) and {new.product} ({new.target})"
    if isinstance(error, float):
        needed = 1 - 1 / (1 + error)
        yield (
            f"times are modelled and repeat exactly; on a GPU, ratios of two variants may differ by up to {error:.0%}, so "
            f"only savings of at least {needed:.0%} are certain there"
        )
    elif isinstance(error, str):
        yield f"times are modelled; how far off their ratios are on a GPU is not known: {error}"
    for side in (base, new):
        for why, missing in groupby(side.what_is_missing.items(), key=itemgetter(1)):
            yield f"{side.label} has no {', '.join(name for name, _ in missing)}: {why}"
    for matched in matches.pairs:
        if matched.by != "name":
            yield f"{matched.base.name} and {matched.new.name} are taken for the same kernel, by their {matched.by}"
