"""Many variants of one test: a few always run, the others with -m slow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest


def every(step: int, variants: Iterable[object]) -> list[object]:
    """The first of each `step` variants unchanged, the others as slow tests."""
    return [one if i % step == 0 else _slow(one) for i, one in enumerate(variants)]


def only(chosen: Sequence[object], variants: Iterable[object]) -> list[object]:
    """The chosen variants unchanged, the others as slow tests."""
    of_all = list(variants)
    assert all(one in of_all for one in chosen), chosen
    return [one if one in chosen else _slow(one) for one in of_all]


def _slow(variant: object) -> object:
    values = variant if isinstance(variant, tuple) else (variant,)
    return pytest.param(*values, marks=pytest.mark.slow)
