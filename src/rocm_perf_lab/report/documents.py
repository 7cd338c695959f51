"""The complete output of one analysis."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from rocm_perf_lab.report.dag_schema import DagDocument
from rocm_perf_lab.report.dispatch_table import DispatchTable
from rocm_perf_lab.report.schema import AnalysisDocument, Document, ProfileDocument, RooflineDocument
from rocm_perf_lab.report.source_schema import SourceDocument
from rocm_perf_lab.report.timeline import timeline_section
from rocm_perf_lab.report.timeline_schema import TimelineDocument


@dataclass(frozen=True)
class CoreDocuments:
    """The documents that stay small, however long the trace is."""

    profile: ProfileDocument
    roofline: RooflineDocument
    dag: DagDocument
    analysis: AnalysisDocument

    def by_name(self) -> dict[str, Document]:
        """File stem -> document."""
        return {"profile": self.profile, "roofline": self.roofline, "dag": self.dag, "analysis": self.analysis}


@dataclass(frozen=True)
class Documents(CoreDocuments):
    """source: the kernels' code. dispatches: one row per dispatch or copy."""

    source: SourceDocument
    dispatches: DispatchTable

    @cached_property
    def timeline(self) -> TimelineDocument:
        profile, section = self.profile, timeline_section(self.dispatches)
        reasons = {name: why for name, why in profile.reasons.items() if name == "timing_parameters"}
        if section is None:
            reasons["timeline"] = self.dag.reasons["critical_path_ns"]
        return TimelineDocument(
            tool=profile.tool,
            gpu=profile.gpu,
            timing=profile.timing,
            timing_parameters=profile.timing_parameters,
            timeline=section,
            reasons=reasons,
        )
