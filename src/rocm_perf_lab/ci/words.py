"""The outcome in words."""

from __future__ import annotations

from rocm_perf_lab.ci.document import CiDocument


def verdict(document: CiDocument) -> str:
    """'limits exceeded in softmax', 'gemm failed', 'limits kept' or 'compared, without limits'."""
    failed = [program.name for program in document.programs if program.state == "failed"]
    exceeding = [program.name for program in document.programs if program.comparison and program.comparison.exceeded]
    parts = [f"{', '.join(failed)} failed"] if failed else []
    parts += [f"limits exceeded in {', '.join(exceeding)}"] if exceeding else []
    if parts:
        return "; ".join(parts)
    has_limits = any(
        side.limits for program in document.programs if program.comparison for side in program.comparison.comparisons
    )
    return "limits kept" if has_limits else "compared, without limits"
