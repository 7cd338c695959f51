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
from rocm_perf_lab.text import words
from rocm_perf_lab.text.names import Names

if TYPE_CHECKING:
    from rocm_perf_lab.report.documents import Reports

_MOST_ADVICE = 5
_SCRIPTS = (
    "timeline.js", "roofline.js", "stack.js", "kernels.js", "source.js", "kernels_start.js", "program_stack.js", "what_if.js",
)  # fmt: skip


def page(documents: Reports, source: SourceDocument, timeline: TimelineDocument) -> str:
    """The text of report.html. The same documents always yield the same text."""
    profile = documents.profile
    title = f"{profile.run.command} on {profile.gpu.product} ({profile.gpu.target})"
    kinds = kinds_of(kernels_in(timeline).union(one.kernel for one in documents.analysis.kernels))
    names = names_of(source)
    code = {one.symbol: code_of(one) for one in source.kernels}
    data = {
        "title": title,
        "modelled": modelled_label(profile) if profile.timing == "modelled" else None,
        "answer": [["Kernels", f"{words.milliseconds(profile.runtime_ms)} in all"], *_answer(documents)],
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

    def shortened(one: Any) -> Any:
        if isinstance(one, str):
            return pattern.sub(lambda found: names[found[0]], one) if "/" in one else one
        if isinstance(one, dict):
            return {key: shortened(inner) for key, inner in one.items()}
        return [shortened(inner) for inner in one] if isinstance(one, list) else one

    return {key: value[key] if key in ("timeline", "files") else shortened(value[key]) for key in value}


def _answer(documents: Reports) -> Iterator[list[str]]:
    kernel = kernel_of_interest(documents)
    yield from map(list, answer(documents.dag, kernel, Names(one.kernel for one in documents.analysis.kernels)))


def _kernel(kernel: KernelAnalysis, documents: Reports) -> dict[str, Any]:
    found, headroom = kernel.bottleneck, kernel.headroom
    roof = next((one for one in documents.roofline.kernels if one.kernel == kernel.kernel), None)
    return {
        "name": words.short_name(kernel.kernel),
        "full": kernel.kernel,
        "dispatches": kernel.dispatches,
        "time_ns": None if kernel.time_ms is None else 1e6 * kernel.time_ms,
        "share": kernel.critical_path_score,
        "bottleneck": {
            "name": found.name,
            "certainty": f"{found.certainty}, by {found.by}",
            "why": found.why,
            "evidence": list(map(_evidence, found.evidence)),
            "factors": [f"{factor.name}: {factor.why}" for factor in found.factors],
            "advice": found.advice[:_MOST_ADVICE],
        },
        "stack": _stack(kernel),
        "headroom": {"priority": headroom.priority, "lines": _headroom(kernel)},
        "occupancy": list(_occupancy(kernel)),
        "triton": [line for one in sentences(kernel) for line in one],
        "levels": [] if roof is None else list(_levels(roof)),
        "counters": [[None, *row] for row in _counters(kernel)],
        "notes": [*kernel.notes, *kernel.occupancy.notes],
    }


def _stack(kernel: KernelAnalysis) -> dict[str, Any] | None:
    found = kernel.thread_trace.time_stack if kernel.thread_trace is not None else None
    if found is None or not found.without_ns:
        return None
    parts = [
        {"cause": one.name, "spent": one.spent_on, "share": one.share, "alone": one.first_ns / found.duration_ns}
        for one in found.parts
    ]
    return {"duration": found.duration_ns, "causes": found.causes, "without": found.without_ns, "parts": parts}


def _counters(kernel: KernelAnalysis) -> Iterator[tuple[str, str, str]]:
    """For each counter, its name, its sum over all dispatches, and its meaning."""
    known = {counter.name: counter for counter in known_counters()}
    for name, value in kernel.counters.items():
        unit, meaning = (known[name].unit, known[name].meaning) if name in known else ("", "")
        yield name, f"{value:,.10g} {unit}".rstrip(), meaning


def _evidence(one: SignalSection) -> str:
    threshold = words.evidence("", one.threshold, one.unit).strip()
    return f"{words.evidence(one.name, one.value, one.unit)}, {one.direction} {threshold}: {one.rationale}"


def _headroom(kernel: KernelAnalysis) -> list[str]:
    found = kernel.headroom
    if found.kernel_speedup is None:
        return [f"not known: {found.reasons['kernel_speedup']}"]
    of_program = f", the GPU's span {words.times(found.program_speedup)}" if found.program_speedup is not None else ""
    return [
        f"at its ceiling ({found.binding}), at most {words.times(found.kernel_speedup)} faster{of_program}",
        found.assumption,
    ]


def _occupancy(kernel: KernelAnalysis) -> Iterator[str]:
    found, uses = kernel.occupancy, kernel.resources
    used = (
        f"{words.registers(uses.vgpr_per_thread, uses.accum_vgpr_per_thread, uses.sgpr_per_wave)}, "
        f"{words.size(uses.lds_bytes)} LDS per workgroup, {words.size(uses.scratch_bytes)} scratch per thread"
    )
    yield f"it uses {used}"
    waves, simds = found.resident_waves_per_cu, found.simds_per_cu
    if waves is None or simds is None:
        yield f"not known: {found.reasons['theoretical']}"
        return
    fit = f"{waves} of {found.max_waves_per_cu} waves fit on {words.unit(found.unit)}"
    yield f"{fit}, limited by {' and '.join(found.limited_by)}"
    for lift in found.lifts:
        changes = [(change.resource, change.now, change.then) for change in lift.changes]
        yield f"would raise it: {words.lift(changes, waves, lift.resident_waves_per_cu, simds)}"


def _levels(roof: RooflineSection) -> Iterator[list[Any]]:
    for level in roof.levels:
        if level.bytes is not None:
            rates = words.amount(level.gbps, "GB/s"), words.amount(level.peak_gbps, "GB/s"), words.percent(level.fraction)
            yield [level.fraction and min(1.0, level.fraction), level.level, words.size(level.bytes), *rates]
    for part in roof.arithmetic:
        if part.flop:
            rates = (
                words.amount(part.gflops, "GFLOP/s"),
                words.amount(part.peak_gflops, "GFLOP/s"),
                words.percent(part.fraction),
            )
            yield [part.fraction, f"{part.pipe.upper()} {part.precision}", words.amount(part.flop, "FLOP"), *rates]


def _roofline(documents: Reports, kinds: Mapping[str, int]) -> dict[str, Any]:
    """Levels and pipes with their peaks, and each kernel's FLOPs, rate and bytes at each level."""
    roofs = documents.roofline.kernels
    place = {kernel.kernel: number for number, kernel in enumerate(documents.analysis.kernels)}
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
                "name": words.short_name(roof.kernel), "kernel": place[roof.kernel], "share": shares[roof.kernel],
                "kind": kinds.get(roof.kernel),
                "parts": {
                    f"{part.pipe.upper()} {part.precision}": [part.flop, part.gflops] for part in roof.arithmetic if part.flop
                },
                "flop": roof.flop, "gflops": roof.gflops, "bytes": {level.level: level.bytes for level in roof.levels},
            }
            for roof in roofs
            if roof.kernel in place
        ],
        "none": _why_no_roofline(documents),
    }  # fmt: skip


def _why_no_roofline(documents: Reports) -> str:
    reasons = [roof.reasons.get("position") for roof in documents.roofline.kernels]
    return next((f"Not known: {reason}." for reason in reasons if reason), "No kernel has floating-point operations.")


def _program_stack(documents: Reports) -> dict[str, Any] | None:
    found = documents.dag.program_stack
    if found is None or not found.parts:
        return None
    span, shown = found.span_ns, found.parts
    rest = ", ".join(f"{words.percent(ns / span)} {name}" for name, ns in rest_in_words(found, shown))
    return {
        "duration": span, "causes": found.causes, "without": found.without_ns,
        "parts": [
            {"cause": one.name, "spent": one.spent_on, "share": one.share, "alone": one.first_ns / span} for one in shown
        ],
        "sampled": [
            [one.share, f"{one.name}: {one.spent_on}", words.percent(one.share), f"± {words.percent(one.within_ns / span)}",
             words.percent(one.first_ns / span)]
            for one in shown
        ] if found.orders is not None else [],
        "rest": f"The rest: {rest}. By experiments with {', '.join(map(words.short_name, found.kernels))}.",
    }  # fmt: skip


def _what_if(documents: Reports) -> dict[str, Any]:
    dag = documents.dag
    own = [one for one in dag.symbols if one.kind == "kernel" and one.fraction]
    return {
        "span": dag.critical_path_ns,
        "kernels": [{"name": words.short_name(one.kernel), "fraction": min(one.fraction or 0.0, 1 - 1e-9)} for one in own],
        "replayed": [
            [None, ", ".join(map(words.short_name, one.kernels)), words.times(one.factor) if one.factor else "takes no time",
             words.duration(one.span_ns), words.times(one.speedup), words.short_name(one.dominant_symbol or "")]
            for one in dag.what_if
            if one.kernels
        ],
    }  # fmt: skip
