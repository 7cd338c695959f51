"""Answers about a kernel that take a walk over a whole pass, kept as long as the pass is."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rocm_perf_lab.hip_source.model import Kernel
    from rocm_perf_lab.hip_source.source import TranslationUnit

Answer = TypeVar("Answer")


def once_per_unit(question: Callable[[TranslationUnit, Kernel], Answer]) -> Callable[[TranslationUnit, Kernel], Answer]:
    """question: whose answer never changes."""
    known: weakref.WeakKeyDictionary[TranslationUnit, dict[Kernel, Answer]] = weakref.WeakKeyDictionary()

    @functools.wraps(question)
    def asked(unit: TranslationUnit, kernel: Kernel) -> Answer:
        answers = known.setdefault(unit, {})
        if kernel not in answers:
            answers[kernel] = question(unit, kernel)
        return answers[kernel]

    return asked
