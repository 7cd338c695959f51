"""Seeds for the gate's random choices. One number determines them all, so that a judgement can be repeated.

A new seed is drawn for each run: whoever proposes code must not know the inputs and orders that it will be tested with.
"""

from __future__ import annotations

import secrets

import numpy as np

_BITS = 32
USUAL_ORDER = 0  # workgroups in the order of their numbers, and their waves from the first one on
_ORDERS = 2  # orders of workgroups and waves that are tried


def fresh() -> int:
    return secrets.randbits(_BITS)


def orders(seed: int) -> tuple[int, ...]:
    """Seeds for the orders of workgroups and waves: all different, none of them the usual order."""
    return tuple(_draw_seed(seed, which + 1) * _ORDERS + which + 1 for which in range(_ORDERS))


def initial_values(seed: int, runs: int) -> tuple[int, ...]:
    """Initial contents of registers, LDS and private memory for runs in other orders: alternately zeros, as in the usual runs,
    and random words, so that a kernel cannot tell from them how it is being run.
    """
    draw = np.random.default_rng([seed, _ORDERS + 1])
    zeros = int(draw.integers(2))
    return tuple(0 if run % 2 == zeros else int(draw.integers(1, 1 << _BITS)) for run in range(runs))


def other_values(seed: int) -> int:
    """Random initial contents for a run in the usual order."""
    return _draw_seed(seed, _ORDERS + 2) + 1


def resampling(seed: int) -> int:
    """Seed for the measurement's bootstrap."""
    return _draw_seed(seed, 0)


def _draw_seed(seed: int, which: int) -> int:
    return int(np.random.default_rng([seed, which]).integers(1 << (_BITS - 4)))
