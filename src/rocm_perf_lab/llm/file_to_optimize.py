"""The subject of a run with a model: a file with kernels, in some language."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rocm_perf_lab.llm.hip_answers import HIP
from rocm_perf_lab.llm.language_protocol import Language
from rocm_perf_lab.optimize.build_target import BuildTarget, settings_of
from rocm_perf_lab.optimize.source_settings import SourceSettings


@dataclass(frozen=True)
class FileToOptimize:
    """source: the file. found_by: how it was found. name: the program's name. settings: what a replay needs to read the file
    again.

    known: text that the model sees anyway; its words are therefore not redacted.
    """

    source: Path
    found_by: str
    name: str
    language: Language
    settings: SourceSettings
    known: str


def of_program(build_target: BuildTarget) -> FileToOptimize:
    """The subject of a run on a HIP program."""
    words = [word for command in build_target.build.commands for word in command.argv]
    known = " ".join((build_target.source.read_text(errors="replace"), *build_target.arguments, *words))
    return FileToOptimize(build_target.source, build_target.found_by, build_target.name, HIP, settings_of(build_target), known)
