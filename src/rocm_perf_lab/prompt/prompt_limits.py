"""The part of a prompt about what limits the kernel, and by how much: the bottleneck with its evidence, roofline, headroom,
resources and occupancy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocm_perf_lab.analysis.bottleneck_thresholds import LARGER, launch_advice
from rocm_perf_lab.analysis.thread_trace.time_stack import meanings
from rocm_perf_lab.report.remedies import in_words
from rocm_perf_lab.report.schema import BottleneckSection, LevelSection, RooflineSection
from rocm_perf_lab.report.triton import sentences
from rocm_perf_lab.text import quantities
from rocm_perf_lab.text.names import shorten
from rocm_perf_lab.text.quantities import percent, times

if TYPE_CHECKING:
    from rocm_perf_lab.prompt.context import Context


def bottleneck(context: Context, compact: bool) -> list[str]:
    section = context.analysis.bottleneck
    lines = ["## What holds it back", "", f"**{section.name}**: {section.why}.", ""]
    lines.append(_certainty(section))
    for signal in section.evidence:
        sign = "at least" if signal.direction == "at least" else "at most"
        lines.append(
            f"- {quantities.evidence(signal.name, signal.value, signal.unit)}; supports this when {sign} "
            f"{percent(signal.threshold) if signal.unit == 'fraction' else quantities.amount(signal.threshold, '')}."
        )
    for factor in section.factors:
        numbers = ", ".join(quantities.evidence(figure.name, figure.value, figure.unit) for figure in factor.evidence)
        lines.append(f"- {factor.name}: {factor.why}{f' ({numbers})' if numbers else ''}.")
    if not compact:
        other_scores = [
            f"{class_.name} {class_.score:.2f}"
            for class_ in section.classes
            if class_.score is not None and class_.name != section.name
        ]
        other_scores = other_scores if section.by == "counters" else []
        lines += [f"- Scores of the other classes: {', '.join(other_scores)}."] if other_scores else []
        lines += [f"- {name} could not be judged: {shorten(why)}." for name, why in section.undecided.items()]
    advised = possible_advice(section, context.launch.changeable)
    lines += [f"- Worth trying: {advice}." for advice in advised[: 2 if compact else None]]
    return lines


def _certainty(section: BottleneckSection) -> str:
    if section.by == "experiments":
        beyond = f"; on a grid that fills the device, {section.on_full_device} would" if section.on_full_device else ""
        return f"- By experiments on the software device, no other part of its time costs as much{beyond}."
    score = "no score" if section.score is None else f"score {section.score:.2f} (applies from 0.5)"
    return f"- Certainty {section.certainty}, confidence {section.confidence:.2f}, {score}."


def possible_advice(section: BottleneckSection, with_launch: bool) -> list[str]:
    """The advice that a proposer can follow. with_launch: whether the launch may change."""
    known = meanings()
    remedies = {in_words(remedy): known[remedy.cause].changes_launch for remedy in section.remedies if remedy.cause in known}
    launch = launch_advice() | {text for text, changes_launch in remedies.items() if changes_launch}
    return [advice for advice in section.advice if (with_launch or advice not in launch) and not advice.startswith(LARGER)]


def roofline(context: Context) -> list[str]:
    lines, roof = ["## Roofline", ""], context.roof
    if roof is None:
        return [*lines, f"Not known: {context.reports.profile.reasons.get('roofline', 'no counters were collected')}."]
    if roof.operational_intensity is None or roof.attainable_gflops is None:
        missing = roof.reasons.get("operational_intensity") or roof.reasons.get("attainable_gflops", "")
        lines.append(f"Its position under the roof is not known: {shorten(missing)}.")
    elif roof.flop == 0:
        share = percent(roof.fraction_of_ceiling)
        lines.append(f"It performs no floating-point operation; it reaches {share} of the limiting roof ({roof.position}).")
    else:
        lines.append(
            f"{roof.operational_intensity:.3g} FLOP per byte beyond L2, {roof.position or 'side of the ridge not known'} "
            f"(ridge at {quantities.amount(roof.ridge, '')}); {quantities.amount(roof.gflops, 'GFLOP/s')} of "
            f"{quantities.amount(roof.attainable_gflops, '')} attainable there ({percent(roof.fraction_of_ceiling)})."
        )
    if any(level.bytes is not None for level in roof.levels):
        lines += ["", "| level | moved | GB/s | of peak | FLOP/byte |", "|---|---|---|---|---|", *map(_row, roof.levels)]
    lines += ["", *(f"- Not known for {names}: {shorten(reason)}." for reason, names in _unknown_figures(roof).items())]
    for arithmetic in roof.arithmetic:
        if arithmetic.flop:
            rate = quantities.amount(arithmetic.gflops, "G operations/s")
            lines.append(f"- {arithmetic.precision} ({arithmetic.pipe}): {rate}, {percent(arithmetic.fraction)} of peak.")
    lines += [f"- Bias: {note}." for note in roof.notes]
    return lines


def _row(level: LevelSection) -> str:
    cells = (
        level.level,
        quantities.size(level.bytes),
        quantities.amount(level.gbps, ""),
        percent(level.fraction),
        quantities.amount(level.operational_intensity, ""),
    )
    return f"| {' | '.join(cells)} |"


def _unknown_figures(roof: RooflineSection) -> dict[str, str]:
    """Reason -> the names of the figures that are unknown for that reason."""
    shown = ("bytes", "gbps", "fraction", "operational_intensity")
    unknown = [("the ridge", roof.reasons["ridge"])] if "ridge" in roof.reasons else []
    unknown += [(level.level, level.reasons[name]) for level in roof.levels for name in shown if name in level.reasons]
    reasons = dict.fromkeys(reason for _, reason in unknown)
    return {reason: ", ".join(dict.fromkeys(name for name, why in unknown if why == reason)) for reason in reasons}


def headroom(context: Context) -> list[str]:
    section, lines = context.analysis.headroom, ["## How much can be gained", ""]
    if section.kernel_speedup is None or section.ceiling_ms is None:
        return [*lines, f"Not known: {shorten(section.reasons['kernel_speedup'])}."]
    span = times(section.program_speedup) if section.program_speedup else f"not known ({section.reasons['program_speedup']})"
    least = quantities.duration(section.ceiling_ms * 1e6)
    return [
        *lines,
        f"{times(section.kernel_speedup)} at most for the kernel, {span} for the GPU's span: the kernel's ceiling for "
        f"the present work is {least} ({section.binding}). Assumed: {section.assumption}.",
    ]


def resources(context: Context) -> list[str]:
    uses, occupancy = context.analysis.resources, context.analysis.occupancy
    lines = [
        "## Resources and occupancy",
        "",
        f"- {quantities.registers(uses.vgpr_per_thread, uses.accum_vgpr_per_thread, uses.sgpr_per_wave)}, "
        f"{quantities.size(uses.lds_bytes)} LDS per workgroup, {quantities.size(uses.scratch_bytes)} scratch per thread.",
    ]
    lines += [f"- {line}" for specialisation in sentences(context.analysis) for line in specialisation]
    if occupancy.theoretical is None:
        return [*lines, f"- Occupancy is not known: {occupancy.reasons['theoretical']}."]
    lines.append(
        f"- {occupancy.resident_waves_per_cu} of {occupancy.max_waves_per_cu} waves fit on {quantities.unit(occupancy.unit)}, "
        f"limited by {' and '.join(occupancy.limited_by)}."
    )
    if occupancy.device_waves and occupancy.waves_in_grid is not None:
        ratio = percent(occupancy.waves_in_grid / occupancy.device_waves)
        lines.append(f"- The grid has {occupancy.waves_in_grid:,} waves, {ratio} of what the device can hold at once.")
    if occupancy.resident_waves_per_cu is not None and occupancy.simds_per_cu is not None:
        for lift in occupancy.lifts:
            changes = [(change.resource, change.now, change.then) for change in lift.changes]
            then = quantities.lift(changes, occupancy.resident_waves_per_cu, lift.resident_waves_per_cu, occupancy.simds_per_cu)
            lines.append(f"- More would fit with {then}.")
    return lines
