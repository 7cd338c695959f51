"""Caches facts about a kernel that are found by walking a whole pass; they are kept as long as the pass exists."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rocm_perf_lab.hip_source.source import TranslationUnit
    from rocm_perf_lab.hip_source.source_parts import SourceKernel

Answer = TypeVar("Answer")


def once_per_unit(
    question: Callable[[TranslationUnit, SourceKernel], Answer],
) -> Callable[[TranslationUnit, SourceKernel], Answer]:
    """Decorator that caches a function's results for each pass. question: a function that always returns the same result for
    the same arguments.
    """
    cache: weakref.WeakKeyDictionary[TranslationUnit, dict[SourceKernel, Answer]] = weakref.WeakKeyDictionary()

    @functools.wraps(question)
    def cached(unit: TranslationUnit, kernel: SourceKernel) -> Answer:
        answers = cache.setdefault(unit, {})
        if kernel not in answers:
            answers[kernel] = question(unit, kernel)
        return answers[kernel]

    return cached
