"""What the benchmarks of published cache counters compute, against numbers worked out in another way."""

from __future__ import annotations

import numpy as np
import pytest


def counters(look_ups: int, reads: int, hits: int, misses: int) -> dict[str, float]:
    return {
        "TCP_TOTAL_CACHE_ACCESSES_sum": look_ups,
        "TCP_TCC_READ_REQ_sum": reads,
        "TCP_TCC_ATOMIC_WITH_RET_REQ_sum": 0,
        "TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum": 0,
        "TCC_HIT_sum": hits,
        "TCC_MISS_sum": misses,
    }


@pytest.mark.parametrize(
    "load, l1, l2",
    [
        (counters(64, 64, 15 * 64, 64), 0, 93.75),  # one number of 8 bytes from each of 64 rows: a sixteenth of a line each
        (counters(16, 4, 0, 4), 75, 0),  # 64 consecutive numbers of 8 bytes in four lines, in groups of four lanes
    ],
)
def test_rates_of_loads_worked_out_by_hand(load, l1, l2):
    from silicon import caches

    assert caches.l1_hit_rate(load) == l1
    assert caches.l2_hit_rate(load) == l2


def test_a_stencil_reads_all_points_but_those_on_the_edges():
    """Counted by marking each inner point and its six neighbours."""
    import fetched_bytes

    shape = (6, fetched_bytes._EDGE, fetched_bytes._EDGE)
    read = np.zeros(shape, bool)
    for axis, shift in [(axis, shift) for axis in range(3) for shift in (-1, 0, 1)]:
        place = [slice(1, -1)] * 3
        place[axis] = slice(1 + shift, shape[axis] - 1 + shift)
        read[tuple(place)] = True
    assert fetched_bytes.to_be_read(shape[0]) == 8 * np.count_nonzero(read)
