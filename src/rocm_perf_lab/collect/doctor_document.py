"""The JSON that `rocm-perf doctor --json` prints."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rocm_perf_lab import __version__
from rocm_perf_lab.collect.diagnosis import Diagnosis
from rocm_perf_lab.json_model import JsonModel, Text


class DoctorFindingSection(JsonModel):
    """One thing that profiling needs."""

    name: str = Field(description="what was looked for")
    status: Literal["ok", "missing", "optional"] = Field(
        description="missing: profiling on some device needs it; optional: it is missing, and only some commands need it"
    )
    detail: Text = Field(description="version and location, or why it cannot be used")
    hint: str = Field(description="how to get it; empty if it is present")


class DoctorDocument(JsonModel):
    """What this machine offers."""

    version: str = Field(description="version of rocm-perf")
    can_profile: bool = Field(description="whether `profile` works here")
    hardware: bool = Field(description="whether `profile` works on a GPU")
    software: bool = Field(description="whether `profile` works on the software device")
    findings: list[DoctorFindingSection] = Field(description="one object per finding")


def doctor_document(diagnosis: Diagnosis) -> DoctorDocument:
    return DoctorDocument(
        version=__version__,
        can_profile=diagnosis.can_profile,
        hardware=diagnosis.hardware,
        software=diagnosis.software,
        findings=[
            DoctorFindingSection(name=finding.name, status=finding.status, detail=finding.detail, hint=finding.hint)
            for finding in diagnosis.findings
        ],
    )
