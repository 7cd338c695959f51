"""Writes, from one profile, a single text with what a proposer (a model or a person) should know about a kernel before changing
it.

The entry point is `build_context`. Nothing here calls a model; the same profile and source yield the same bytes. The text
contains none of this machine's paths, clock times or environment variables, and quotes only files from the source's folder.
"""

from __future__ import annotations

from rocm_perf_lab.prompt.context import Context, build_context
from rocm_perf_lab.prompt.rules import AnswerRules
from rocm_perf_lab.prompt.tried_changes import TriedChange, tried_in

__all__ = ["AnswerRules", "Context", "TriedChange", "build_context", "tried_in"]
