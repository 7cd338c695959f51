"""A verdict as JSON: its steps, and the evidence for each."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, SerializeAsAny, ValidationInfo, field_validator

from rocm_perf_lab.json_model import TOLERANT, JsonModel, SparseModel, Text
from rocm_perf_lab.replaying.replay_document import CountedSection

Pair = tuple[int, int]
Timing = Literal["measured", "modelled"]

MEASUREMENT, APPLICATION, CODE_OBJECT = "measurement", "application", "code object"
SOURCE, EQUIVALENCE = "source", "equivalence"
_FIGURE = "[baseline, candidate]"
_ABSENT_IF_REJECTED = "absent if the step rejected the candidate"
_ABSENT = "absent if the step ended before it was known"


class StepEvidence(SparseModel):
    """The evidence for a step's outcome."""


class LaunchSection(JsonModel):
    """The shape of the kernel's launches, as written between `<<<` and `>>>`, with the first launch's variable names."""

    before: Text = Field(description="the baseline's")
    after: Text = Field(description="the candidate's")
    lines: list[int] = Field(description="lines of the launches in the baseline's source")
    other_files: list[Text] = Field(default_factory=list, description="names of the other files with launches of the kernel")


class SourceEvidence(StepEvidence):
    """The parts of the candidate that are used."""

    kernel: Text | None = Field(default=None, description=f"name of the kernel whose body is used; {_ABSENT}")
    added: list[Text] | None = Field(default=None, description=f"names of the device functions that were added; {_ABSENT}")
    promises: Text | None = Field(default=None, description="promises of the kernel beyond its body; absent if there are none")
    shown_for: list[int] | None = Field(
        default=None, description="indices of the captured dispatches that keep the promises; absent without promises"
    )
    launch: LaunchSection | None = Field(
        default=None, description="the shape of the launches, if the candidate changes it; null or absent otherwise"
    )


class CodeObjectEvidence(StepEvidence):
    """Resources and machine code of the baseline and the candidate."""

    concern: Text | None = Field(
        default=None,
        description=f"disadvantage that the time saved has to make up for; null if there is none; {_ABSENT_IF_REJECTED}",
    )
    vgprs: Pair | None = Field(default=None, description=f"VGPRs per lane, AGPRs included: {_FIGURE}; {_ABSENT}")
    agprs: Pair | None = Field(default=None, description=f"AGPRs per lane: {_FIGURE}; {_ABSENT}")
    sgprs: Pair | None = Field(default=None, description=f"SGPRs per wave: {_FIGURE}; {_ABSENT}")
    lds_bytes: Pair | None = Field(default=None, description=f"bytes of static LDS per workgroup: {_FIGURE}; {_ABSENT}")
    scratch_bytes: Pair | None = Field(default=None, description=f"bytes of scratch per lane: {_FIGURE}; {_ABSENT}")
    vgpr_spills: Pair | None = Field(default=None, description=f"spilled VGPRs: {_FIGURE}; {_ABSENT}")
    sgpr_spills: Pair | None = Field(default=None, description=f"spilled SGPRs: {_FIGURE}; {_ABSENT}")
    resident_waves_per_cu: Pair | None = Field(
        default=None, description=f"waves that fit on a compute unit, given its launch: {_FIGURE}; {_ABSENT}"
    )
    code_bytes: Pair | None = Field(default=None, description=f"size of the kernel's machine code: {_FIGURE}; {_ABSENT}")
    symbol: Text | None = Field(default=None, description=f"mangled name of the kernel; {_ABSENT}")
    other_symbols_the_same: int | None = Field(
        default=None,
        description=f"number of other kernels, functions and variables, all unchanged; {_ABSENT_IF_REJECTED}",
    )
    added_functions: list[Text] | None = Field(
        default=None,
        description=f"mangled names of functions that only the candidate has; {_ABSENT_IF_REJECTED}",
    )
    removed_functions: list[Text] | None = Field(
        default=None,
        description=f"mangled names of functions that only the baseline has; {_ABSENT_IF_REJECTED}",
    )

    @property
    def resources(self) -> dict[str, Pair]:
        """Each known resource as (baseline, candidate), by name."""
        pairs = {name: getattr(self, name) for name in _RESOURCES}
        return {name: pair for name, pair in pairs.items() if pair is not None}


_RESOURCES = (
    *("vgprs", "agprs", "sgprs", "lds_bytes", "scratch_bytes", "vgpr_spills", "sgpr_spills"),
    *("resident_waves_per_cu", "code_bytes"),
)


class DifferenceSection(SparseModel):
    """Where the memory of baseline and candidate differs: bytes, or numbers where their type is known."""

    parameter: Text | None = Field(
        default=None, description="the kernel's parameter through which the memory is reached; null if there is none"
    )
    address: str | None = Field(default=None, description="address of the first byte, hexadecimal; absent for numbers")
    differing_bytes: int | None = Field(default=None, description="number of bytes that differ; absent for numbers")
    stored_bytes: int | None = Field(
        default=None, description="number of bytes that only the candidate stores to; absent for any other difference"
    )
    element: Text | None = Field(default=None, description="the first number that differs; absent for bytes")
    type: str | None = Field(default=None, description="its type; null for a pointer; absent for bytes")
    baseline: str | None = Field(default=None, description="the baseline's number; absent for bytes")
    candidate: str | None = Field(default=None, description="the candidate's number; absent for bytes")
    differing: int | None = Field(default=None, description="how many numbers differ; absent for bytes")
    of: int | None = Field(default=None, description="how many numbers were compared; absent for bytes")
    largest_ulps: int | None = Field(
        default=None,
        description="largest distance in units in the last place; null if the numbers are not floating-point, or are NaN; "
        "absent for bytes",
    )


class CandidateLaunch(JsonModel):
    """The shape of a launch that the candidate changes, with the captured arguments."""

    grid: list[int] = Field(description="size in work-items, x, y and z")
    workgroup: list[int] = Field(description="size in work-items, x, y and z")
    dynamic_lds: int = Field(description="bytes of LDS per workgroup in addition to those that the kernel declares")


class CapturedLaunch(JsonModel):
    """A captured dispatch, and the outcome of each case."""

    arguments: Text | None = Field(description="the program's arguments; null if not known")
    dispatch: int = Field(description="index among the program's dispatches of the kernel")
    grid: list[int] = Field(description="size in work-items, x, y and z")
    workgroup: list[int] = Field(description="size in work-items, x, y and z")
    candidate_launch: CandidateLaunch | None = Field(
        default=None, description="the shape in which the candidate is launched; null if it is the captured one"
    )
    cases: dict[str, Text] = Field(
        description="case -> equal, no race, differs, race, failed, stores elsewhere, or why it was dropped or not interpreted"
    )


class EquivalenceEvidence(StepEvidence):
    """The evidence from the replays."""

    level: str | None = Field(default=None, description="full, sampled or program; always given")
    seed: int | None = Field(default=None, description="seed of the other inputs and orders; always given")
    ulps: int | None = Field(
        default=None, description="allowed difference of floating-point results, in units in the last place; always given"
    )
    captures: list[CapturedLaunch] = Field(default=[], description="one object per captured dispatch that was replayed")
    race_seeds: list[int] | None = Field(
        default=None, description="seeds of the other orders of waves; absent if nothing was replayed"
    )
    unproven: list[Text] | None = Field(
        default=None,
        description="inputs of the kernel that could not be varied successfully, and memory whose contents "
        "differ from run to run in the program itself; absent if the step rejected the candidate",
    )
    parameter: Text | None = Field(
        default=None, description="the parameter that leads to memory that only the candidate stores to; null if none does; "
        "absent if there is no such memory"
    )  # fmt: skip
    address: str | None = Field(default=None, description="address of such memory, hexadecimal; absent if there is none")
    stored_bytes: int | None = Field(default=None, description="number of bytes of such memory; absent if there is none")
    difference: DifferenceSection | None = Field(
        default=None, description="where memory differs; null or absent if no such place is known"
    )
    case: Text | None = Field(default=None, description="the case in which memory differs; null or absent if there is none")


class OtherInputsSection(JsonModel):
    """The measurement on inputs other than the captured ones."""

    case: Text = Field(description="name of these inputs")
    ratio: float = Field(description="the kernel's time, candidate / baseline")
    baseline: list[float] = Field(description="time in each round, in ms")
    candidate: list[float] = Field(description="time in each round, in ms")
    counted: list[CountedSection | None] = Field(description="counts of the candidate's last run per dispatch; null on a GPU")


class MeasurementEvidence(StepEvidence):
    """Times of the kernel alone."""

    least_ms: float | None = Field(
        default=None, description="least time that its work can take, in ms; absent if it was not measured"
    )
    timing: Timing | None = Field(default=None, description="measured or modelled; always given")
    baseline_ms: list[float] | None = Field(
        default=None, description="time of all captures together in each round, in ms; absent if it was not measured"
    )
    candidate_ms: list[float] | None = Field(
        default=None, description="the same for the candidate; absent if it was not measured"
    )
    ratio: float | None = Field(
        default=None, description="candidate / baseline, for the inputs with the smallest gain; absent if it was not measured"
    )
    ratio_interval: tuple[float, float] | None = Field(
        default=None, description="confidence interval of the ratio; absent if it was not measured"
    )
    ratio_on_captured_inputs: float | None = Field(
        default=None, description="the ratio on the captured inputs; absent if it was not measured"
    )
    ratio_on_another_cu: float | None = Field(
        default=None,
        description="the ratio if a different compute unit is timed; null on a GPU; absent if it was not measured",
    )
    other_inputs: OtherInputsSection | None = Field(
        default=None,
        description="the ratio on the other inputs with the smallest gain; null if there are none; absent if it was not "
        "measured",
    )
    confidence: float | None = Field(
        default=None, description="confidence of the interval, 0 to 1; absent if it was not measured"
    )
    cold_caches: bool | None = Field(
        default=None, description="whether caches were emptied before each run; absent if it was not measured"
    )


class ApplicationEvidence(StepEvidence):
    """The whole program with the candidate."""

    timing: Timing | None = Field(
        default=None, description="measured or modelled; absent if the program was not run to its end"
    )
    timing_parameters: str | None = Field(
        default=None, description="identifies the timing model's parameters; null if times are measured; absent if timing is"
    )
    runtime_ms: tuple[float, float] | None = Field(
        default=None, description=f"time in the program's kernels, in ms: {_FIGURE}; absent if timing is"
    )
    kernel_ms: tuple[float, float] | None = Field(
        default=None,
        description=f"mean time of the judged kernel's dispatches in the program, in ms: {_FIGURE}; absent if not measured",
    )
    saved_in_program: float | None = Field(
        default=None, description="share of the kernel's time that is saved in the program; absent if kernel_ms is"
    )
    saved_when_replayed: float | None = Field(
        default=None, description="share that a replay saves, at the slow end of the interval; absent if not measured"
    )
    dram_bytes: tuple[float | None, float | None] | None = Field(
        default=None, description=f"bytes beyond L2: {_FIGURE}, null without counters; absent if timing is"
    )
    cage: str | None = Field(default=None, description="the cage that confined the program; absent if timing is")
    stdout_compared: bool | None = Field(
        default=None, description="whether the output was compared rather than checked by --check; absent if timing is"
    )
    arguments: list[list[Text]] | None = Field(
        default=None, description="all argument lists that the program was run with; absent if timing is"
    )
    counters: dict[str, dict[str, tuple[float, float]]] | None = Field(
        default=None, description=f"kernel symbol -> counter that changed -> {_FIGURE}; absent if timing is"
    )
    unmoved_counters: dict[str, list[str]] | None = Field(
        default=None, description="kernel symbol -> counters that did not change; absent if timing is"
    )
    difference: DifferenceSection | None = Field(
        default=None,
        description="where memory after its dispatch in the program differs; absent if it does not differ",
    )
    memory_after_its_dispatch: Text | None = Field(
        default=None, description="result of comparing memory after its dispatch in the program; absent if not compared"
    )


AnyEvidence = (
    SourceEvidence | CodeObjectEvidence | EquivalenceEvidence | MeasurementEvidence | ApplicationEvidence | StepEvidence
)
_EVIDENCE: dict[str, type[StepEvidence]] = {
    SOURCE: SourceEvidence,
    CODE_OBJECT: CodeObjectEvidence,
    EQUIVALENCE: EquivalenceEvidence,
    MEASUREMENT: MeasurementEvidence,
    APPLICATION: ApplicationEvidence,
}


class StepSection(JsonModel):
    """One step's outcome."""

    model_config = TOLERANT

    step: str = Field(
        description="source, build, code object, equivalence, measurement or application; for a Triton kernel: launch, "
        "equivalence, measurement or application"
    )
    outcome: Literal["passed", "rejected", "skipped"] = Field(
        description="skipped: another step rejected the candidate, or the step was not asked for"
    )
    reason: Text = Field(description="one sentence")
    evidence: SerializeAsAny[AnyEvidence] = Field(
        default_factory=StepEvidence, description="evidence for the outcome, by step; empty if there is none"
    )

    @field_validator("evidence", mode="before")
    @classmethod
    def _by_step(cls, value: Any, info: ValidationInfo) -> Any:
        kind = _EVIDENCE.get(info.data.get("step", ""), StepEvidence)
        return kind.model_validate(value) if isinstance(value, dict) else value


class FileText(JsonModel):
    """A file of the program with the contents that were judged."""

    file: Text = Field(description="its path")
    text: Text = Field(description="its content")


class VerdictDocument(JsonModel):
    """The verdict of the gate on a candidate."""

    model_config = TOLERANT

    accepted: bool = Field(description="whether every step passed, or was skipped by the user's choice")
    undecided: str | None = Field(
        default=None,
        description="why the timing model cannot tell whether an accepted candidate is faster on a GPU; null if it can, "
        "if times are measured, or if the candidate is not accepted",
    )
    steps: list[StepSection] = Field(
        description="one object per step, in order; after them, the step of another instantiation that rejected"
    )
    adopted: Text | None = Field(
        default=None,
        description="the source to keep if the candidate is accepted; null if nothing was taken from the candidate, "
        "and for Triton kernels",
    )
    adopted_elsewhere: list[FileText] = Field(
        default_factory=list, description="other files of the program in which launches of the kernel were changed"
    )
