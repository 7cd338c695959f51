"""The part of a prompt about why this kernel was chosen: its share of the critical path, the speed-up that this share allows,
and which kernels come next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocm_perf_lab.prompt.markdown import span
from rocm_perf_lab.report.dag import DOMINATES
from rocm_perf_lab.report.schema import DurationsSection
from rocm_perf_lab.text import quantities

if TYPE_CHECKING:
    from rocm_perf_lab.prompt.context import Context


def why_this_kernel(context: Context) -> list[str]:
    dag, analysis, target = context.reports.dag, context.analysis, context.target
    lines = ["## Why this kernel", ""]
    symbol = next((symbol for symbol in dag.symbols if symbol.kernel == target.demangled), None)
    if symbol is None or symbol.fraction is None:
        reason = dag.reasons.get("fraction") or (symbol.reasons.get("fraction", "") if symbol else "it is not on the path")
        lines.append(f"- Its share of the critical path is not known: {reason}.")
    else:
        ceiling = f"at most {quantities.times(symbol.speedup_ceiling)}" if symbol.speedup_ceiling else "arbitrarily much"
        lines.append(
            f"- {quantities.percent(symbol.fraction)} of the critical path of {quantities.duration(dag.critical_path_ns)} "
            f"(dependencies are {dag.dependencies}). However fast it became, the GPU's span would get {ceiling} shorter."
        )
    lines.append(f"- {_launches(context)}")
    if dag.dominant_symbol is not None and dag.dominant_symbol != target.demangled:
        lines.append(f"- Another kernel dominates, with {quantities.percent(dag.fraction)}: {span(dag.dominant_symbol)}.")
    elif dag.dominance_shift is not None and dag.dominance_shift.factor is not None:
        shift = dag.dominance_shift
        then = f": then {span(shift.then)} does" if shift.then else ""
        lines.append(f"- Made {quantities.times(shift.factor)} faster, it would no longer dominate{then}.")
    if dag.fraction is not None and dag.fraction < DOMINATES and dag.next_in_line:
        lines.append(f"- No kernel dominates. Next in line: {', '.join(map(span, dag.next_in_line))}.")
    lines += [f"- {note}." for note in dag.notes]
    if target.siblings:
        names = ", ".join(span(sibling.demangled) for sibling in target.siblings)
        own = span(target.demangled)
        lines.append(f"- All figures are for {own}. The template is also launched as {names}: a change must be right for all.")
    lines += [f"- {line}" for line in (*_spread(analysis.durations), *_runs(context))]
    return lines


def _launches(context: Context) -> str:
    analysis = context.analysis
    time = (
        f"taking {quantities.duration(analysis.time_ms * 1e6)} in total"
        if analysis.time_ms is not None
        else f"for a time that is not known ({analysis.reasons['time_ms']})"
    )
    grid, group = ("x".join(map(str, size)) for size in (analysis.grid, analysis.workgroup))
    times = "once" if analysis.dispatches == 1 else f"{analysis.dispatches} times"
    return f"Launched {times}, {time}. Its longest launch has a grid of {grid} threads in workgroups of {group}."


def _runs(context: Context) -> list[str]:
    """How much measured times vary; empty for modelled times, which do not vary."""
    profile = context.reports.profile
    if profile.timing == "modelled":
        return []
    if profile.stability.cv is None:
        return [f"Times come from {profile.stability.runs} run: how much they vary is not known."]
    return [
        f"Times come from {profile.stability.runs} runs, {profile.stability.classification}: they vary by "
        f"{quantities.percent(profile.stability.cv)} of the mean."
    ]


def _spread(durations: DurationsSection | None) -> list[str]:
    if durations is None or durations.stddev_ns is None:
        return []
    return [
        f"A launch takes {quantities.duration(durations.mean_ns)} on average, with a standard deviation of "
        f"{quantities.duration(durations.stddev_ns)}: from {quantities.duration(durations.min_ns)} to "
        f"{quantities.duration(durations.max_ns)}."
    ]
