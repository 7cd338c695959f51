"""Replays a captured dispatch at its original addresses: for debugging, as a microbenchmark, or to judge changes."""

from rocm_perf_lab.replaying.cases import Case, CaseOutcome, replay_cases
from rocm_perf_lab.replaying.launch import LaunchConfiguration
from rocm_perf_lab.replaying.replay_process import ReplayResult, replay, reserve_check

__all__ = ["Case", "CaseOutcome", "LaunchConfiguration", "ReplayResult", "replay", "replay_cases", "reserve_check"]
