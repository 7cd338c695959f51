"""The outcome in words."""

from __future__ import annotations

from rocm_perf_lab.ci.document import CiDocument


def verdict(document: CiDocument) -> str:
    """'limits exceeded in softmax', 'gemm failed', 'limits kept' or 'compared, without limits'."""
    failed = [one.name for one in document.programs if one.state == "failed"]
    exceeding = [one.name for one in document.programs if one.comparison and one.comparison.exceeded]
    parts = [f"{', '.join(failed)} failed"] if failed else []
    parts += [f"limits exceeded in {', '.join(exceeding)}"] if exceeding else []
    if parts:
        return "; ".join(parts)
    has_limits = any(side.limits for one in document.programs if one.comparison for side in one.comparison.comparisons)
    return "limits kept" if has_limits else "compared, without limits"
