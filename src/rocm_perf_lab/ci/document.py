"""What `rocm-perf ci --json` prints, and writes to ci.json."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rocm_perf_lab.comparison.compare_document import CompareDocument
from rocm_perf_lab.json_model import JsonModel, Text


class RevisionSection(JsonModel):
    """A revision that was built."""

    asked: Text = Field(description="the revision, as the user named it")
    commit: str = Field(description="commit hash; for the base, of the commit at which the head branched off")
    subject: Text = Field(description="first line of the commit message")


class ProgramSection(JsonModel):
    """A program, and what changed between its runs."""

    name: Text = Field(description="as given with --program")
    command: Text = Field(description="the program and its arguments")
    state: Literal["compared", "new", "failed"] = Field(
        description="new: the base does not have it, so there is nothing to compare; failed: it could not be profiled"
    )
    why: Text | None = Field(description="why it was not compared; null if it was")
    base_run: Text | None = Field(description="run directory of the base; null if there is none")
    head_run: Text | None = Field(description="run directory of the head; null if there is none")
    comparison: CompareDocument | None = Field(description="as `rocm-perf compare --json` prints it; null if not compared")


class CiDocument(JsonModel):
    """What changed between two revisions."""

    base: RevisionSection = Field(description="what the head is compared with")
    head: RevisionSection = Field(description="the revision in question")
    programs: list[ProgramSection] = Field(description="one object per --program")
    exceeded: bool = Field(description="whether any limit is exceeded")
    failed: bool = Field(description="whether any program failed")
