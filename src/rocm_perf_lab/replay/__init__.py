"""Run a captured dispatch again, at the same addresses: a debugger's case, a microbenchmark, a judge of changes."""

from rocm_perf_lab.replay.cases import Case, CaseOutcome, replay_cases
from rocm_perf_lab.replay.run import ReplayResult, replay, reserve_check

__all__ = ["Case", "CaseOutcome", "ReplayResult", "replay", "replay_cases", "reserve_check"]
