"""The objects that `rocm-perf profile --json` and `rocm-perf analyze --json` print: a run directory's documents and its
path.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field, RootModel

from rocm_perf_lab.json_model import JsonModel, Text
from rocm_perf_lab.report.dag_schema import DagDocument
from rocm_perf_lab.report.schema import (
    AnalysisDocument,
    ProfileDocument,
    RooflineDocument,
    SummaryDocument,
    ThreadTraceDocument,
)

if TYPE_CHECKING:
    from rocm_perf_lab.report.documents import CoreDocuments


class RankDocuments(JsonModel):
    """The documents of one rank."""

    profile: ProfileDocument = Field(description="the document profile.json")
    roofline: RooflineDocument = Field(description="the document roofline.json")
    dag: DagDocument = Field(description="the document dag.json")
    analysis: AnalysisDocument = Field(description="the document analysis.json")


class ProfileOutput(RankDocuments):
    """The documents of a run directory, and its path."""

    run_directory: Text = Field(description="folder of the documents and the traces")


class RanksOutput(JsonModel):
    """The documents of several ranks, and the path of their run directory."""

    summary: SummaryDocument = Field(description="the document summary.json")
    ranks: list[RankDocuments] = Field(description="the documents of each rank, in the order of the summary")
    run_directory: Text = Field(description="folder of the documents")


class ThreadTraceOutput(JsonModel):
    """Results from thread traces without a database."""

    thread_trace: ThreadTraceDocument = Field(description="results from the thread traces")


class AnalyzeOutput(RootModel[ProfileOutput | RanksOutput | ThreadTraceOutput]):
    """Results for one rank, for several, or for thread traces without a database."""


def profile_output(reports: CoreDocuments, directory: Path) -> ProfileOutput:
    return ProfileOutput(**dict(_documents(reports)), run_directory=str(directory))


def ranks_output(summary: SummaryDocument, reports: list[CoreDocuments], directory: Path) -> RanksOutput:
    return RanksOutput(summary=summary, ranks=list(map(_documents, reports)), run_directory=str(directory))


def _documents(of: CoreDocuments) -> RankDocuments:
    return RankDocuments(profile=of.profile, roofline=of.roofline, dag=of.dag, analysis=of.analysis)
