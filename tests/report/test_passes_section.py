"""What profile.json says about the passes, and why there is no roofline."""

from __future__ import annotations

from pathlib import Path

from rocm_perf_lab.passes import COUNTERS, THREAD_TRACE, Pass
from rocm_perf_lab.report.passes_section import ProfilePasses

RUN = Path("/run")


def test_each_pass_with_its_output_or_the_reason_why_there_is_none():
    passes = [
        Pass(COUNTERS, RUN / "passes/1.db", None, ("A", "B"), {"B": "unknown"}, None, "the GPU was shared"),
        Pass(THREAD_TRACE, RUN / "att", None, kernel="k()"),
        Pass.failed_counters(("C",), "it crashed"),
        Pass(THREAD_TRACE, None, kernel="k()"),
    ]
    counted, traced, failed, nothing = ProfilePasses(passes, RUN).sections()
    assert counted.model_dump() == {
        "kind": "counters", "output": "passes/1.db", "kernel": None, "counters": ["A", "B"], "missing": {"B": "unknown"},
        "notes": ["the GPU was shared"], "reasons": {"kernel": "a counter pass covers all kernels"},
    }  # fmt: skip
    assert (traced.output, traced.kernel, traced.notes, traced.reasons) == ("att", "k()", [], {})
    assert failed.missing == {"C": "it crashed"} and failed.reasons["output"] == "it crashed"
    assert nothing.reasons == {"output": "it produced nothing"}


def test_why_there_is_no_roofline():
    passes = [
        Pass(COUNTERS, None, "it crashed"), Pass(COUNTERS, None, "it crashed"), Pass(COUNTERS, RUN, None),
        Pass(COUNTERS, None, "no time"), Pass(THREAD_TRACE, None, "no waves"),
    ]  # fmt: skip
    assert ProfilePasses(passes).no_roofline("no counters") == "no counters: it crashed: no time"
    assert ProfilePasses().no_roofline("no counters") == "no counters"
    assert ProfilePasses(passes, roofline=False).no_roofline("no counters") == "switched off by --no-roofline"
