"""Answers about a kernel that take a walk over a whole pass, kept as long as the pass is."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

Answer = TypeVar("Answer")


def once_per_unit(question: Callable[[Any, Any], Answer]) -> Callable[[Any, Any], Answer]:
    """question: of (unit, kernel), whose answer never changes."""
    known: weakref.WeakKeyDictionary[Any, dict[Any, Answer]] = weakref.WeakKeyDictionary()

    @functools.wraps(question)
    def asked(unit: Any, kernel: Any) -> Answer:
        answers = known.setdefault(unit, {})
        if kernel not in answers:
            answers[kernel] = question(unit, kernel)
        return answers[kernel]

    return asked
