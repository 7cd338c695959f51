"""What `rocm-perf optimize` prints about a run, both where a change was accepted and where none was."""

from __future__ import annotations

from pathlib import Path

from rocm_perf_lab.analysis.model_error import error_for_differences
from rocm_perf_lab.arch.timing_parameters import table_hash
from rocm_perf_lab.gate.verdict import Verdict, passed
from rocm_perf_lab.gate.verdict_document import ApplicationEvidence, MeasurementEvidence
from rocm_perf_lab.optimize.describe import describe
from rocm_perf_lab.optimize.result import Iteration, JudgedCandidate, OptimizeResult, UndecidedCandidate
from rocm_perf_lab.optimize.targets import SkippedTarget
from rocm_perf_lab.optimize.transforms import Proposal

VERDICT = Verdict((passed("compilation", "it compiles"), passed("measurement", "faster", MeasurementEvidence(ratio=0.75))))
JUDGED = JudgedCandidate(Proposal("unroll", "rows", 7, "unroll the loop of line 7 by 4", ()), "", "--- diff\n", b"", VERDICT)
COUNTERS = {"SQ_INSTS_VMEM_RD": [400.0, 100.0], "SQ_WAVE_CYCLES": [1_000_000.0, 750_000.0]}


def lines(**changes) -> list[str]:
    outcome = OptimizeResult(Path("a.hip"), "named", Path("run"), "modelled", "0123", "gfx942", baseline_ms=2.0)
    for name, value in changes.items():
        setattr(outcome, name, value)
    said: list[str] = []
    describe(outcome, said.append)
    return "\n".join(said).splitlines()


def test_an_accepted_change_is_shown_with_its_steps_counters_and_times():
    changed = [Iteration(1, "rows(int)", JUDGED, 1.5, COUNTERS)]
    said = lines(iterations=changed, written=[Path("a.optimized.hip")], stop="ended at --max-iters 1")
    assert "Iteration 1: unroll the loop of line 7 by 4 in rows(int)" in said
    assert ["compilation", "passed:", "it", "compiles"] in [line.split() for line in said]
    (loads,) = [line.split() for line in said if line.lstrip().startswith("SQ_INSTS_VMEM_RD ")]
    assert loads == ["SQ_INSTS_VMEM_RD", "400", "100", "-75.0%", "vector", "loads"]
    assert "Written: a.optimized.hip" in said
    assert "Baseline runtime      2.000000 ms  in the program's kernels, modelled with the parameters 0123" in said
    assert "Iteration 1 runtime   1.500000 ms  unroll the loop of line 7 by 4" in said
    assert "Improvement           25.0%" in said and "Stopped               ended at --max-iters 1" in said
    assert said[-1] == "Accepted (modelled: times of the software device's timing model, not of a GPU)"


def test_where_nothing_was_accepted_each_reason_is_given():
    said = lines(skipped=[SkippedTarget("rows(int)", "it has no loop")])
    assert said[0] == "Left alone: rows(int): it has no loop" and said[-1] == "Nothing accepted: the source is unchanged"


def test_changes_that_only_a_gpu_can_decide_are_listed_with_their_file():
    program = ApplicationEvidence(runtime_ms=(2.0, 1.5), timing="modelled", timing_parameters=table_hash())
    verdict = Verdict((*VERDICT.steps, passed("application", "", program)))
    judged = JudgedCandidate(JUDGED.proposal, "", "", b"", verdict)
    said = lines(undecided=[UndecidedCandidate("rows(int)", judged, Path("run/undecided-1.hip"))])
    at = said.index("For a GPU to decide: same results and faster by the model, but by less than its error for differences")
    assert said[at + 1].strip() == "25.0% of rows(int) saved by the model: unroll the loop of line 7 by 4"
    assert said[at + 2].strip() == "run/undecided-1.hip"
    error = error_for_differences(table_hash())
    assert f"the model can confirm only gains of {1 - 1 / (1 + error):.0%} or more" in said[at + 3]
    assert "--accept modelled" in said[at + 4]


def test_a_dry_run_shows_each_change():
    said = lines(dry_run=True, candidates=[JUDGED])
    assert "Would judge: unroll the loop of line 7 by 4 in rows" in said and "--- diff" in said
    assert said[-1] == "1 proposal; nothing was judged, and no result was written"
