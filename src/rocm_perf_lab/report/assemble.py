"""Turns the findings of an analysis into its documents."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from rocm_perf_lab import __version__
from rocm_perf_lab.analysis.ceilings import Ceilings
from rocm_perf_lab.analysis.durations import durations
from rocm_perf_lab.analysis.estimate_errors import Sampling
from rocm_perf_lab.analysis.findings import Findings
from rocm_perf_lab.analysis.kernel_findings import KernelFindings
from rocm_perf_lab.analysis.model_error import TimingDeviation, limit_of_stack, model_error, model_error_by_limit
from rocm_perf_lab.analysis.roofline import NO_CEILINGS, NO_TIME
from rocm_perf_lab.analysis.stability import Stability
from rocm_perf_lab.arch.metric import Value
from rocm_perf_lab.report import schema, shared_sections
from rocm_perf_lab.report.dag import dag_document
from rocm_perf_lab.report.dispatch_table import DispatchTable
from rocm_perf_lab.report.documents import Documents
from rocm_perf_lab.report.passes_section import ProfilePasses
from rocm_perf_lab.report.source import source_document
from rocm_perf_lab.report.thread_trace import thread_trace_section
from rocm_perf_lab.report.triton import triton_section
from rocm_perf_lab.rocpd.trace import Trace

ONE_RUN = "one run: a spread needs at least two"


def assemble(findings: Findings, passes: ProfilePasses = ProfilePasses()) -> Documents:
    """Build all documents of a profile. passes: the results of all runs except the base run and its repeats."""
    common_fields = _common_fields(findings)
    return Documents(
        profile=_profile(findings, passes, common_fields),
        roofline=_roofline(findings, passes, common_fields),
        dag=dag_document(findings, common_fields, _common_reasons(findings)),
        analysis=schema.AnalysisDocument(
            kernels=[_kernel(kernel, findings) for kernel in findings.kernels],
            reasons=_common_reasons(findings),
            **common_fields,
        ),
        source=source_document(findings, findings.code, common_fields, _common_reasons(findings)),
        dispatches=DispatchTable(findings.trace, findings.dag, findings.path),
    )


ALL_KERNELS = "all kernels of the program"


def _roofline(findings: Findings, passes: ProfilePasses, common_fields: dict[str, Any]) -> schema.RooflineDocument:
    kernels = [(kernel.symbol.name, kernel.roofline) for kernel in findings.kernels if kernel.roofline is not None]
    reasons = _common_reasons(findings)
    if findings.ceilings is None:
        reasons["ceilings"] = NO_CEILINGS
    if findings.total is None:
        reasons["total"] = "only the runtime's kernels ran, or they ran on several devices or one whose ceilings are not known"
    return schema.RooflineDocument(
        ceilings=_ceilings(findings.ceilings) if findings.ceilings else None,
        total=shared_sections.roofline(ALL_KERNELS, findings.total) if findings.total else None,
        kernels=[shared_sections.roofline(name, roof) for name, roof in kernels] if passes.roofline else [],
        reasons=reasons,
        **common_fields,
    )


def _ceilings(ceilings: Ceilings) -> schema.MeasuredCeilings:
    reasons = {} if ceilings.timing else {"timing": "the file does not say"}
    return schema.MeasuredCeilings(source=Path(ceilings.source).name, timing=ceilings.timing, reasons=reasons)


def _common_fields(findings: Findings) -> dict[str, Any]:
    trace = findings.trace
    return {
        "tool": schema.Tool(version=__version__),
        "gpu": shared_sections.gpu(findings.device, trace),
        "timing": trace.timing,
        "timing_parameters": trace.timing_parameters,
    }


def _common_reasons(findings: Findings) -> dict[str, str]:
    if findings.trace.timing_parameters is not None:
        return {}
    measured = findings.trace.timing == "measured"
    return {"timing_parameters": "times are measured" if measured else "the trace does not name them"}


def _profile(findings: Findings, passes: ProfilePasses, common_fields: dict[str, Any]) -> schema.ProfileDocument:
    chosen = next(kernel for kernel in findings.kernels if kernel.symbol is findings.selection.symbol)
    runtime = Value(findings.stability.median_ms, "ms") if findings.stability else Value.missing("ms", NO_TIME)
    fields = shared_sections.nullable(runtime_ms=runtime)
    fields["reasons"] |= _common_reasons(findings)
    roof = chosen.roofline if passes.roofline and not chosen.no_counters else None
    if roof is None:
        reason = (chosen.no_counters if chosen.roofline else None) or shared_sections.no_position(None)
        fields["reasons"]["roofline"] = passes.no_roofline(reason)
    return schema.ProfileDocument(
        kernel=_identity(findings),
        stability=_stability(findings.stability),
        resources=shared_sections.resources(chosen.occupancy.resources, findings.trace.dispatches, findings.selection.row),
        occupancy=shared_sections.occupancy(chosen.occupancy, findings.device.cu.reason),
        roofline=shared_sections.roofline(chosen.symbol.name, roof) if roof else None,
        passes=passes.sections(),
        run=_run_section(findings.trace),
        **common_fields,
        **fields,
    )


def _identity(findings: Findings) -> schema.KernelIdentity:
    selection, dispatches = findings.selection, findings.trace.dispatches
    row, timed = selection.row, findings.path is not None
    whose = "of all: only kernels of the HIP runtime ran" if selection.only_runtime_kernels else "of the program's own kernels"
    if timed and selection.passed_over is not None:
        whose += f"; {selection.passed_over.name}, which has a longer one, is the HIP runtime's and was passed over"
    return schema.KernelIdentity(
        name=selection.symbol.name,
        symbol=selection.symbol.kernel.symbol,
        dispatch_id=int(dispatches.id[row]),
        duration_ns=int(dispatches.duration[row]) if timed else None,
        workgroup=tuple(dispatches.workgroup[row].tolist()),
        grid=tuple(dispatches.grid[row].tolist()),
        selection=f"the {'longest' if timed else 'first'} dispatch {whose}",
        reasons={} if timed else {"duration_ns": NO_TIME},
    )


def _stability(stability: Stability | None) -> schema.StabilitySection:
    if stability is None:
        names = ("mean_ms", "stddev_ms", "cv", "classification")
        return schema.StabilitySection(runs=0, **dict.fromkeys(names), reasons=dict.fromkeys(names, NO_TIME))
    alone = ("stddev_ms", "cv", "classification") if stability.cv is None else ()
    return schema.StabilitySection(
        runs=len(stability.runs_ms),
        mean_ms=stability.mean_ms,
        stddev_ms=stability.stddev_ms,
        cv=stability.cv,
        classification=stability.classification,
        reasons=dict.fromkeys(alone, ONE_RUN),
    )


def _run_section(trace: Trace) -> schema.Run:
    written = datetime.fromtimestamp(int(trace.path.stat().st_mtime), timezone.utc)
    process = trace.process
    return schema.Run(
        command=process.program, host=process.host, pid=process.pid, created=written.isoformat(), collector=trace.collector
    )


def _model_error(kernel: KernelFindings, findings: Findings) -> TimingDeviation | str:
    if not findings.trace.process.is_modelled:
        return "times are measured"
    if findings.path is None:
        return NO_TIME
    mean_ns, parameters = durations(findings.trace.dispatches, kernel.symbol).mean, findings.trace.timing_parameters
    traced = findings.traced.by_symbol.get(kernel.symbol.kernel.symbol)
    if traced is not None and traced.stack is not None:
        return model_error_by_limit(limit_of_stack(traced.stack), parameters)
    return model_error(mean_ns, kernel.bottleneck.name, parameters)


def _sampling(sampling: Sampling | None) -> schema.SamplingSection | None:
    if sampling is None:
        return None
    errors = dict(sorted(sampling.counters.items()))
    return schema.SamplingSection(dispatches=sampling.dispatches, time_error=sampling.time, counter_errors=errors)


def _kernel(kernel: KernelFindings, findings: Findings) -> schema.KernelAnalysis:
    roof, on_path = kernel.roofline, kernel.on_path
    intensity = roof.intensity if roof else Value.missing("FLOP/byte", shared_sections.no_position(None))
    score = Value(on_path.fraction, "fraction") if on_path else Value.missing("fraction", NO_TIME)
    fields = shared_sections.nullable(
        time_ms=shared_sections.milliseconds(kernel.symbol.total_ns), operational_intensity=intensity, critical_path_score=score
    )
    position = roof.position if roof else None
    if position is None:
        fields["reasons"]["roofline_position"] = shared_sections.no_position(roof)
    if findings.path is None:
        fields["reasons"]["durations"] = NO_TIME
    error = _model_error(kernel, findings)
    if isinstance(error, str):
        fields["reasons"]["model_error"] = error
    if kernel.sampling is None:
        fields["reasons"]["sampling"] = "all of its dispatches were observed completely"
    traced = findings.traced.by_symbol.get(kernel.symbol.kernel.symbol)
    if traced is None:
        fields["reasons"]["thread_trace"] = findings.traced.reason
    return schema.KernelAnalysis(
        kernel=kernel.symbol.name,
        symbol=kernel.symbol.kernel.symbol,
        dispatches=len(kernel.symbol.rows),
        workgroup=tuple(findings.trace.dispatches.workgroup[kernel.row].tolist()),
        grid=tuple(findings.trace.dispatches.grid[kernel.row].tolist()),
        durations=shared_sections.durations(durations(findings.trace.dispatches, kernel.symbol)) if findings.path else None,
        model_error=None if isinstance(error, str) else schema.ModelErrorSection(**asdict(error)),
        roofline_position=position,
        bottleneck=shared_sections.bottleneck(kernel.bottleneck, kernel.evidence),
        headroom=shared_sections.headroom(kernel.headroom),
        resources=shared_sections.resources(kernel.occupancy.resources, findings.trace.dispatches, kernel.row),
        occupancy=shared_sections.occupancy(kernel.occupancy, findings.device.cu.reason),
        evidence=shared_sections.evidence(kernel.evidence),
        counters={name: kernel.counters[name] for name in sorted(kernel.counters)},
        sampling=_sampling(kernel.sampling),
        thread_trace=thread_trace_section(traced) if traced else None,
        triton=[
            triton_section(specialisation, kernel.occupancy)
            for specialisation in findings.triton.of(kernel.symbol.kernel.symbol)
        ],
        notes=[*kernel.notes, *findings.traced.notes],
        **fields,
    )
