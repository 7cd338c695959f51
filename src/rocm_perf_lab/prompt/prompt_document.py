"""The document that `rocm-perf prompt --json` prints: the context as one JSON object."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from rocm_perf_lab.json_model import JsonModel, Text
from rocm_perf_lab.prompt import tokens
from rocm_perf_lab.report.dag_schema import DominanceShiftSection
from rocm_perf_lab.report.schema import Gpu, KernelAnalysis, RooflineSection, Tool
from rocm_perf_lab.utf8 import utf8

if TYPE_CHECKING:
    from rocm_perf_lab.prompt.context import Context


class PromptKernel(JsonModel):
    """The kernel, as the source defines it."""

    name: str = Field(description="name in the source")
    demangled: str = Field(description="demangled name in the trace")
    template: str | None = Field(description="its template head; null if it is not a template")
    attributes: list[str] = Field(description="its attributes")
    parameters: list[str] = Field(description="type and name of each parameter")
    instances: list[str] = Field(description="demangled names of the launched instantiations of its template, itself first")


class PathSection(JsonModel):
    """The program's critical path, as in dag.json."""

    dependencies: Literal["exact", "inferred"] = Field(description="as in dag.json")
    critical_path_ns: int | None = Field(description="length, in ns; null if not known")
    dominant_symbol: str | None = Field(description="the program's kernel with the most time on the path; null if none is")
    fraction: float | None = Field(description="its share of the path, 0 to 1; null if not known")
    speedup_ceiling: float | None = Field(description="1 / (1 - fraction); null if not known, or if it is all of the path")
    next_in_line: list[str] = Field(description="the next kernels on the path, if none dominates")
    dominance_shift: DominanceShiftSection | None = Field(
        description="speed-up from which another kernel dominates; null if no kernel of the program is on the path"
    )
    reasons: dict[str, str] = Field(description="field -> why it is null")
    notes: list[str] = Field(description="as in dag.json")


class TriedSection(JsonModel):
    """An earlier proposal for the kernel."""

    kernel: Text = Field(description="demangled name")
    description: Text = Field(description="what was changed")
    outcome: str = Field(description="accepted, rejected, or accepted by the gate and declined by the user")
    reason: Text = Field(description="step and reason of a rejection, otherwise the gain")
    diff: Text = Field(description="unified diff of the source")
    same_source: bool = Field(description="whether it was made for the current source")


class ExcerptSection(JsonModel):
    """Whole lines of a source file."""

    file: Text = Field(description="relative to the source's folder")
    first_line: int = Field(description="number of the first line, from 1")
    last_line: int = Field(description="number of the last line, counting lines that are left out")
    role: Literal["kernel", "used", "file"] = Field(description="the kernel, what it uses, or the whole file")
    text: Text = Field(description="the lines")
    left_out: int = Field(description="number of lines at the end that are not in the text")


class PromptDocument(JsonModel):
    """All that is known about one kernel. Sections taken from the profile's documents keep their fields."""

    schema_version: Literal["1.0"] = Field(description="as in the profile's documents")
    tool: Tool = Field(description="as in the profile's documents")
    gpu: Gpu = Field(description="as in the profile's documents")
    timing: Literal["measured", "modelled"] = Field(description="measured or modelled")
    timing_parameters: str | None = Field(description="identifies the timing model's parameters; null if times are measured")
    source: Text = Field(description="file that contains the kernel, relative to the source's folder")
    kernel: PromptKernel = Field(description="the kernel in the source")
    path: PathSection = Field(description="the program's critical path")
    share: float | None = Field(description="the kernel's share of the critical path, 0 to 1; null if not known")
    analysis: KernelAnalysis = Field(description="the kernel's entry of analysis.json")
    roofline: RooflineSection | None = Field(description="the kernel's entry of roofline.json; null if there is none")
    tried: list[TriedSection] = Field(description="earlier proposals, oldest first")
    code: list[ExcerptSection] = Field(description="parts of the source that the text shows")
    declared_elsewhere: list[str] = Field(
        description="names that the kernel uses from files outside the source's folder, which are not shown"
    )
    rules: list[str] = Field(description="rules for an answer, one per entry")
    text: Text = Field(description="the prompt")
    bytes: int = Field(description="length of the text")
    tokens_estimate: int = Field(description="estimated number of tokens in the text")
    tokens_method: str = Field(description="how the tokens were estimated")


def prompt_document(context: Context, text: str, full_source: bool) -> PromptDocument:
    dag, profile, kernel = context.reports.dag, context.reports.profile, context.kernel
    return PromptDocument(
        schema_version=profile.schema_version,
        tool=profile.tool,
        gpu=profile.gpu,
        timing=profile.timing,
        timing_parameters=profile.timing_parameters,
        source=context.code.kernel.file,
        kernel=PromptKernel(
            name=kernel.name,
            demangled=context.target.demangled,
            template=kernel.template,
            attributes=list(kernel.attributes),
            parameters=[f"{parameter.type} {parameter.name}".strip() for parameter in kernel.parameters],
            instances=[instantiation.demangled for instantiation in (context.target, *context.target.siblings)],
        ),
        path=PathSection(
            dependencies=dag.dependencies,
            critical_path_ns=dag.critical_path_ns,
            dominant_symbol=dag.dominant_symbol,
            fraction=dag.fraction,
            speedup_ceiling=dag.speedup_ceiling,
            next_in_line=dag.next_in_line,
            dominance_shift=dag.dominance_shift,
            reasons=dag.reasons,
            notes=dag.notes,
        ),
        share=context.target.share,
        analysis=context.analysis,
        roofline=context.roof,
        tried=[TriedSection(**asdict(change)) for change in context.tried],
        code=[ExcerptSection(**asdict(excerpt)) for excerpt in context.code.shown(full_source)],
        declared_elsewhere=list(context.code.external_names),
        rules=context.rule_lines,
        text=text,
        bytes=len(utf8(text)),
        tokens_estimate=tokens.estimate(text),
        tokens_method=tokens.METHOD,
    )
