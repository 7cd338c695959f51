"""The models for the JSON that commands print with --json or write to files. A model is imported only when it is needed."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import BaseModel

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True)
class JsonDocument:
    """A JSON document and its model.

    module: the model's module in rocm_perf_lab. name: the name of its class. description: a phrase that says what the model
    describes.
    """

    module: str
    name: str
    description: str

    @property
    def model(self) -> type[BaseModel]:
        document_model: type[BaseModel] = getattr(importlib.import_module(f"rocm_perf_lab.{self.module}"), self.name)
        return document_model

    def schema(self) -> dict[str, Any]:
        """The JSON Schema."""
        return self.model.model_json_schema()


@dataclass(frozen=True)
class PrintedDocument(JsonDocument):
    """What a command prints."""

    def schema(self) -> dict[str, Any]:
        return {"$schema": _DIALECT, **super().schema(), "title": f"What {self.description.removeprefix('what ')}"}


def _printed(command: str, module: str, name: str) -> PrintedDocument:
    return PrintedDocument(module, name, f"what `rocm-perf {command} --json` prints")


FILES = {
    "profile": JsonDocument("report.schema", "ProfileDocument", "profile.json of a run directory"),
    "roofline": JsonDocument("report.schema", "RooflineDocument", "roofline.json of a run directory"),
    "dag": JsonDocument("report.dag_schema", "DagDocument", "dag.json of a run directory"),
    "analysis": JsonDocument("report.schema", "AnalysisDocument", "analysis.json of a run directory"),
    "source": JsonDocument("report.source_schema", "SourceDocument", "source.json of a run directory"),
    "timeline": JsonDocument("report.timeline_schema", "TimelineDocument", "timeline.json of a run directory"),
    "summary": JsonDocument("report.schema", "SummaryDocument", "summary.json of a run directory of several ranks"),
}
# Keyed by the words of the command.
PRINTED = {
    command: _printed(command, module, name)
    for command, module, name in (
        ("profile", "report.profile_output", "ProfileOutput"),
        ("analyze", "report.profile_output", "AnalyzeOutput"),
        ("report", "report.profile_output", "AnalyzeOutput"),
        ("explain", "report.explain_document", "ExplainDocument"),
        ("source", "report.source_schema", "SourceDocument"),
        ("compare", "comparison.compare_document", "CompareDocument"),
        ("ci", "ci.document", "CiDocument"),
        ("prompt", "prompt.prompt_document", "PromptDocument"),
        ("gate", "gate.gate_document", "GateDocument"),
        ("isolate", "isolate.isolate_document", "IsolateDocument"),
        ("replay reserve-check", "replaying.replay_document", "ReserveCheckDocument"),
        ("replay full-vm", "replaying.replay_document", "FullVmDocument"),
        ("optimize", "optimize.optimize_document", "OptimizeDocument"),
        ("llm-optimize", "llm.llm_optimize_document", "LlmOptimizeDocument"),
        ("autotune", "autotune.autotune_document", "AutotuneDocument"),
        ("doctor", "collect.doctor_document", "DoctorDocument"),
        ("ceilings", "report.ceilings_document", "CeilingsDocument"),
        ("counters", "arch.counters_document", "CountersDocument"),
    )
}
# Documents that a command prints instead of its usual one when a certain option is given.
PRINTED_INSTEAD = {
    command: _printed(command, module, name)
    for command, module, name in (
        ("optimize --history", "optimize.optimize_document", "HistoryDocument"),
        ("optimize --remeasure", "optimize.remeasure_document", "RemeasureDocument"),
        ("autotune --triton", "autotune.triton_kernel.document", "TritonTuningDocument"),
    )
}


def _name(command: str) -> str:
    """The name of a command's document, which must differ from the names in FILES."""
    name = command.replace("--", "").replace(" ", "-")
    return f"{name}-command" if name in FILES else name


# Keyed by the name that `rocm-perf schema` accepts.
DOCUMENTS: dict[str, JsonDocument] = {
    **FILES,
    **{_name(command): document for command, document in (PRINTED | PRINTED_INSTEAD).items()},
}
