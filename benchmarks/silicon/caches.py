"""Hit rates as rocprof-compute defines them, in percent (metrics 2.1.18 and 2.1.20)."""

from __future__ import annotations

from collections.abc import Mapping

_TO_THE_L2 = ("TCP_TCC_READ_REQ_sum", "TCP_TCC_ATOMIC_WITH_RET_REQ_sum", "TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum")


def l1_hit_rate(counters: Mapping[str, float]) -> float:
    return 100 - 100 * sum(counters[name] for name in _TO_THE_L2) / counters["TCP_TOTAL_CACHE_ACCESSES_sum"]


def l2_hit_rate(counters: Mapping[str, float]) -> float:
    hits, misses = counters["TCC_HIT_sum"], counters["TCC_MISS_sum"]
    return 100 * hits / (hits + misses)
