"""An answer that cannot be used."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class UnusableAnswer:
    """An answer or a candidate that cannot be used. reason: one sentence that tells the author what to fix."""

    reason: str
