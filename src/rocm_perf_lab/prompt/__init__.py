"""What a proposer, a model or a person, should know of a kernel before it changes it: one text, made of one profile.

`build_context` is the entry. Nothing here calls anybody; the same profile and source give the same bytes, without paths,
times of day or variables of this machine, and of files only those in the source's folder.
"""

from __future__ import annotations

from rocm_perf_lab.prompt.context import Context, build_context
from rocm_perf_lab.prompt.rules import AnswerRules
from rocm_perf_lab.prompt.tried import TriedChange, tried_in

__all__ = ["AnswerRules", "Context", "TriedChange", "build_context", "tried_in"]
