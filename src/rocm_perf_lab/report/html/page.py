"""Puts the documents and the timeline into the page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rocm_perf_lab import __version__
from rocm_perf_lab.arch.counters import known_counters
from rocm_perf_lab.report.html.colors import kinds_of
from rocm_perf_lab.report.html.page_parts import assemble, file_text
from rocm_perf_lab.report.html.source_data import code_of, files_of, names_of
from rocm_perf_lab.report.html.timeline_data import kernels_in, timeline_data
from rocm_perf_lab.report.program_time_stack import rest_in_words
from rocm_perf_lab.report.schema import KernelAnalysis, RooflineSection, SignalSection
from rocm_perf_lab.report.source_schema import SourceDocument
from rocm_perf_lab.report.terminal import modelled_label
from rocm_perf_lab.report.terminal_answer import answer, kernel_of_interest
from rocm_perf_lab.report.timeline_schema import TimelineDocument
from rocm_perf_lab.report.triton import sentences
from rocm_perf_lab.text import quantities
from rocm_perf_lab.text.names import KernelNames, short_name
from rocm_perf_lab.text.quantities import duration, times

if TYPE_CHECKING:
    from rocm_perf_lab.report.documents import CoreDocuments

_MAX_ADVICE = 5
_SCRIPTS = (
    "timeline.js", "roofline.js", "kernel_time_stack.js", "kernels.js", "source.js", "kernels_init.js",
    "program_time_stack.js", "what_if.js",
)  # fmt: skip


def page(documents: CoreDocuments, source: SourceDocument, timeline: TimelineDocument) -> str:
    """The text of report.html. The same documents always yield the same text."""
    profile = documents.profile
    title = f"{profile.run.command} on {profile.gpu.product} ({profile.gpu.target})"
    kinds = kinds_of(kernels_in(timeline).union(kernel.kernel for kernel in documents.analysis.kernels))
    names = names_of(source)
    code = {kernel.symbol: code_of(kernel) for kernel in source.kernels}
    data = {
        "title": title,
        "modelled": modelled_label(profile) if profile.timing == "modelled" else None,
        "answer": [["Kernels", f"{quantities.milliseconds(profile.runtime_ms)} in all"], *_answer(documents)],
        "kernels": [
            _kernel(kernel, documents) | {"kind": kinds[kernel.kernel], "source": code.get(kernel.symbol)}
            for kernel in documents.analysis.kernels
        ],
        "files": files_of(source),
        "roofline": _roofline(documents, kinds),
        "program_stack": _program_stack(documents),
        "what_if": _what_if(documents),
        "notes": list(dict.fromkeys([*documents.dag.notes, *kernel_of_interest(documents).notes])),
        "made": f"Made by rocm-perf-lab {__version__} from the run of {profile.run.created} on {profile.run.host}.",
        **timeline_data(timeline, kinds),
    }
    return assemble(
        title, file_text("page.html"), _shortened(data, names), [file_text(name) for name in _SCRIPTS], with_d3=True
    )


def _shortened(value: Any, names: dict[str, str]) -> Any:
    """The value, with the path of each source file replaced by the file's name in all strings."""
    longest = sorted((path for path in names if names[path] != path), key=len, reverse=True)
    if not longest:
        return value
    pattern = re.compile("|".join(map(re.escape, longest)))

    def shortened(node: Any) -> Any:
        if isinstance(node, str):
            return pattern.sub(lambda match: names[match[0]], node) if "/" in node else node
        if isinstance(node, dict):
            return {key: shortened(inner) for key, inner in node.items()}
        return [shortened(inner) for inner in node] if isinstance(node, list) else node

    return {key: value[key] if key in ("timeline", "files") else shortened(value[key]) for key in value}


def _answer(documents: CoreDocuments) -> Iterator[list[str]]:
    kernel = kernel_of_interest(documents)
    yield from map(list, answer(documents.dag, kernel, KernelNames(analysed.kernel for analysed in documents.analysis.kernels)))


def _kernel(kernel: KernelAnalysis, documents: CoreDocuments) -> dict[str, Any]:
    bottleneck, headroom = kernel.bottleneck, kernel.headroom
    roof = next((candidate for candidate in documents.roofline.kernels if candidate.kernel == kernel.kernel), None)
    return {
        "name": short_name(kernel.kernel),
        "full": kernel.kernel,
        "dispatches": kernel.dispatches,
        "time_ns": None if kernel.time_ms is None else 1e6 * kernel.time_ms,
        "share": kernel.critical_path_score,
        "bottleneck": {
            "name": bottleneck.name,
            "certainty": f"{bottleneck.certainty}, by {bottleneck.by}",
            "why": bottleneck.why,
            "evidence": list(map(_evidence, bottleneck.evidence)),
            "factors": [f"{factor.name}: {factor.why}" for factor in bottleneck.factors],
            "advice": bottleneck.advice[:_MAX_ADVICE],
        },
        "stack": _stack(kernel),
        "headroom": {"priority": headroom.priority, "lines": _headroom(kernel)},
        "occupancy": list(_occupancy(kernel)),
        "triton": [line for paragraph in sentences(kernel) for line in paragraph],
        "levels": [] if roof is None else list(_levels(roof)),
        "counters": [[None, *row] for row in _counters(kernel)],
        "notes": [*kernel.notes, *kernel.occupancy.notes],
    }


def _stack(kernel: KernelAnalysis) -> dict[str, Any] | None:
    stack = kernel.thread_trace.time_stack if kernel.thread_trace is not None else None
    if stack is None or not stack.without_ns:
        return None
    parts = [
        {"cause": part.name, "spent": part.spent_on, "share": part.share, "alone": part.first_ns / stack.duration_ns}
        for part in stack.parts
    ]
    return {"duration": stack.duration_ns, "causes": stack.causes, "without": stack.without_ns, "parts": parts}


def _counters(kernel: KernelAnalysis) -> Iterator[tuple[str, str, str]]:
    """For each counter, its name, its sum over all dispatches, and its meaning."""
    known = {counter.name: counter for counter in known_counters()}
    for name, value in kernel.counters.items():
        unit, meaning = (known[name].unit, known[name].meaning) if name in known else ("", "")
        yield name, f"{value:,.10g} {unit}".rstrip(), meaning


def _evidence(signal: SignalSection) -> str:
    threshold = quantities.evidence("", signal.threshold, signal.unit).strip()
    return f"{quantities.evidence(signal.name, signal.value, signal.unit)}, {signal.direction} {threshold}: {signal.rationale}"


def _headroom(kernel: KernelAnalysis) -> list[str]:
    headroom = kernel.headroom
    if headroom.kernel_speedup is None:
        return [f"not known: {headroom.reasons['kernel_speedup']}"]
    of_program = f", the GPU's span {times(headroom.program_speedup)}" if headroom.program_speedup is not None else ""
    return [
        f"at its ceiling ({headroom.binding}), at most {times(headroom.kernel_speedup)} faster{of_program}",
        headroom.assumption,
    ]


def _occupancy(kernel: KernelAnalysis) -> Iterator[str]:
    occupancy, uses = kernel.occupancy, kernel.resources
    used = (
        f"{quantities.registers(uses.vgpr_per_thread, uses.accum_vgpr_per_thread, uses.sgpr_per_wave)}, "
        f"{quantities.size(uses.lds_bytes)} LDS per workgroup, {quantities.size(uses.scratch_bytes)} scratch per thread"
    )
    yield f"it uses {used}"
    waves, simds = occupancy.resident_waves_per_cu, occupancy.simds_per_cu
    if waves is None or simds is None:
        yield f"not known: {occupancy.reasons['theoretical']}"
        return
    fit = f"{waves} of {occupancy.max_waves_per_cu} waves fit on {quantities.unit(occupancy.unit)}"
    yield f"{fit}, limited by {' and '.join(occupancy.limited_by)}"
    for lift in occupancy.lifts:
        changes = [(change.resource, change.now, change.then) for change in lift.changes]
        yield f"would raise it: {quantities.lift(changes, waves, lift.resident_waves_per_cu, simds)}"


def _levels(roof: RooflineSection) -> Iterator[list[Any]]:
    for level in roof.levels:
        if level.bytes is not None:
            rates = (
                quantities.amount(level.gbps, "GB/s"),
                quantities.amount(level.peak_gbps, "GB/s"),
                quantities.percent(level.fraction),
            )
            yield [level.fraction and min(1.0, level.fraction), level.level, quantities.size(level.bytes), *rates]
    for part in roof.arithmetic:
        if part.flop:
            rates = (
                quantities.amount(part.gflops, "GFLOP/s"),
                quantities.amount(part.peak_gflops, "GFLOP/s"),
                quantities.percent(part.fraction),
            )
            yield [part.fraction, f"{part.pipe.upper()} {part.precision}", quantities.amount(part.flop, "FLOP"), *rates]


def _roofline(documents: CoreDocuments, kinds: Mapping[str, int]) -> dict[str, Any]:
    """Levels and pipes with their peaks, and each kernel's FLOPs, rate and bytes at each level."""
    roofs = documents.roofline.kernels
    index_of = {kernel.kernel: number for number, kernel in enumerate(documents.analysis.kernels)}
    shares = {kernel.kernel: kernel.critical_path_score for kernel in documents.analysis.kernels}
    levels = {level.level: level for roof in roofs for level in roof.levels if level.peak_gbps is not None}
    used = {(part.pipe, part.precision): part for roof in roofs for part in roof.arithmetic if part.flop and part.peak_gflops}
    return {
        "levels": [
            {"level": name, "gbps": level.peak_gbps, "measured": level.measured_gbps} for name, level in levels.items()
        ] if used else [],
        "pipes": [
            {"name": f"{pipe.upper()} {precision}", "gflops": part.peak_gflops, "measured": part.measured_gflops}
            for (pipe, precision), part in used.items()
        ],
        "kernels": [
            {
                "name": short_name(roof.kernel), "kernel": index_of[roof.kernel], "share": shares[roof.kernel],
                "kind": kinds.get(roof.kernel),
                "parts": {
                    f"{part.pipe.upper()} {part.precision}": [part.flop, part.gflops] for part in roof.arithmetic if part.flop
                },
                "flop": roof.flop, "gflops": roof.gflops, "bytes": {level.level: level.bytes for level in roof.levels},
            }
            for roof in roofs
            if roof.kernel in index_of
        ],
        "none": _why_no_roofline(documents),
    }  # fmt: skip


def _why_no_roofline(documents: CoreDocuments) -> str:
    reasons = [roof.reasons.get("position") for roof in documents.roofline.kernels]
    return next((f"Not known: {reason}." for reason in reasons if reason), "No kernel has floating-point operations.")


def _program_stack(documents: CoreDocuments) -> dict[str, Any] | None:
    stack = documents.dag.program_stack
    if stack is None or not stack.parts:
        return None
    span, shown = stack.span_ns, stack.parts
    rest = ", ".join(f"{quantities.percent(ns / span)} {name}" for name, ns in rest_in_words(stack, shown))
    return {
        "duration": span, "causes": stack.causes, "without": stack.without_ns,
        "parts": [
            {"cause": part.name, "spent": part.spent_on, "share": part.share, "alone": part.first_ns / span} for part in shown
        ],
        "sampled": [
            [part.share, f"{part.name}: {part.spent_on}", quantities.percent(part.share),
             f"± {quantities.percent(part.within_ns / span)}", quantities.percent(part.first_ns / span)]
            for part in shown
        ] if stack.orders is not None else [],
        "rest": f"The rest: {rest}. By experiments with {', '.join(map(short_name, stack.kernels))}.",
    }  # fmt: skip


def _what_if(documents: CoreDocuments) -> dict[str, Any]:
    dag = documents.dag
    own = [symbol for symbol in dag.symbols if symbol.kind == "kernel" and symbol.fraction]
    return {
        "span": dag.critical_path_ns,
        "kernels": [
            {"name": short_name(symbol.kernel), "fraction": min(symbol.fraction or 0.0, 1 - 1e-9)} for symbol in own
        ],
        "replayed": [
            [None, ", ".join(map(short_name, scenario.kernels)),
             times(scenario.factor) if scenario.factor else "takes no time",
             duration(scenario.span_ns), times(scenario.speedup), short_name(scenario.dominant_symbol or "")]
            for scenario in dag.what_if
            if scenario.kernels
        ],
    }  # fmt: skip
