"""The differences between models' answers in HIP and in Triton: what is requested, and what an answer means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from rocm_perf_lab.hip_source.edits import Edit
from rocm_perf_lab.llm.unusable_answer import UnusableAnswer
from rocm_perf_lab.optimize.source_protocol import Source
from rocm_perf_lab.optimize.source_settings import SourceSettings


@dataclass(frozen=True)
class AnsweredChange:
    """The edits to the source, and the edits to other files, each with the real path of its file."""

    edits: tuple[Edit, ...]
    other_edits: tuple[tuple[Path, Edit], ...] = ()


class Language(Protocol):
    """name: as written in journals. system: the system prompt. retry_instruction: what the question after a rejection asks
    for. exactness_instruction: what to keep in mind if results must stay bit-identical.
    """

    @property
    def name(self) -> str: ...

    @property
    def system(self) -> str: ...

    @property
    def retry_instruction(self) -> str: ...

    @property
    def exactness_instruction(self) -> str: ...

    def change(self, source: Any, name: str, answer: str) -> AnsweredChange | UnusableAnswer:
        """The change that an answer makes to the kernel `name`."""

    def reader(self, settings: SourceSettings, source: Path) -> Callable[[bytes], Source]:
        """Returns a function that parses versions of the file `source` in the same way as the run with these settings."""
