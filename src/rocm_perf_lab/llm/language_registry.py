"""The kernel languages, keyed by the names that journals use for them."""

from __future__ import annotations

from collections.abc import Mapping

from rocm_perf_lab.llm.hip_answers import HIP
from rocm_perf_lab.llm.language_protocol import Language
from rocm_perf_lab.llm.triton.answers import TRITON

LANGUAGES: Mapping[str, Language] = {language.name: language for language in (HIP, TRITON)}
