"""benchmarks/language_model.py: what it reports about the programs' texts."""

from __future__ import annotations

import pytest
from language_model import _PROMPT, _equal, _shares


@pytest.mark.parametrize(
    "expected, got, equal",
    [
        (b" w300 w301a", b" w300 w301a", 3),
        (b" w300 w301a", b" w300 w302a", 1),
        (b"a w301", b"b w301", 0),
        (b"a w301b", b"a w301", 2),
    ],
)
def test_equal_tokens_are_counted_up_to_the_first_difference(expected, got, equal):
    assert _equal(_PROMPT.encode() + expected, _PROMPT.encode() + got, 3) == equal


def test_the_most_expensive_kernels_come_first_with_their_shares():
    assert _shares({"a": 1.0, "b": 5.0, "c": 0.0, "d": 4.0}) == [("b", 0.5), ("d", 0.4), ("a", 0.1)]
