"""The page of a run: what was proposed, how it was judged, what was accepted, and what that gained."""

from __future__ import annotations

import pytest

from rocm_perf_lab.gate.verdict_document import CodeObjectEvidence, StepSection, VerdictDocument
from rocm_perf_lab.llm import page as llm_page
from rocm_perf_lab.llm.llm_optimize_document import AnswerSection, LlmOptimizeDocument, StopSection, TokensSection
from rocm_perf_lab.optimize.optimize_document import IterationSection, MovedCounter, OptimizeDocument, ProposalSection
from rocm_perf_lab.optimize.run_page import page

HOSTILE = "</script><img src=x onerror=alert(1)>\udcff"
DIFF = "--- a.hip\n+++ a.hip\n@@ -1 +1 @@\n-  slow();\n+  fast();\n"


def proposal(description, *steps, undecided=None, judged=True):
    accepted = all(step.outcome != "rejected" for step in steps)
    verdict = VerdictDocument(accepted=accepted, undecided=undecided, steps=list(steps)) if judged else None
    return ProposalSection(
        transformation="unroll",
        kernel="walk",
        line=7,
        description=description,
        parameters={},
        diff=DIFF,
        verdict=verdict,
        predicted_gain=0.25,
    )


PASSED = StepSection(
    step="code object", outcome="passed", reason="fine", evidence=CodeObjectEvidence(vgprs=(1024, 36), symbol=HOSTILE)
)
REJECTED = StepSection(step="equivalence", outcome="rejected", reason=f"out differs {HOSTILE}")
FIELDS = {
    "source": "/home/somebody/a.hip", "source_found_by": "debug information", "run": "r", "device": "AMD Instinct MI300X",
    "timing": "modelled", "timing_parameters": "0123", "dry_run": False, "accepted": True, "baseline_ms": 2.0, "final_ms": 1.5,
    "improvement": 0.25,
    "iterations": [
        IterationSection(
            number=1, kernel="walk(int)", description="unroll by 4", runtime_ms=1.5, kernel_time_ratio=0.6, why="branches",
            counters=[MovedCounter(counter="SQ_INSTS_BRANCH", meaning="branches", before=4000, after=1000, change=-0.75)],
        )
    ],
    "undecided": [],
    "proposals": [
        proposal("unroll by 2", PASSED), proposal("unroll by 4", PASSED), proposal(f"restrict {HOSTILE}", REJECTED),
        proposal("hoist", PASSED, undecided="within the model's error"), proposal("late", judged=False),
    ],
    "passed_over": [{"kernel": "walk(int)", "description": "unroll by 8", "reason": f"too little {HOSTILE}"}],
    "refusals": [], "left_alone": [], "stop": f"no more {HOSTILE}", "notes": ["a note"],
    "written": ["/home/somebody/a.optimized.hip"],
}  # fmt: skip


@pytest.fixture
def shown(opened, tmp_path):
    """shown(text): the page in a browser."""

    def open_page(text, **options):
        path = tmp_path / "report.html"
        path.write_text(text, encoding="utf-8")
        return opened(path, **options)

    return open_page


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_run(shown, expect_accessible, scheme):
    text = page(OptimizeDocument(**FIELDS))
    assert "/home/somebody" not in text  # a page may be shown to others
    tab = shown(text, color_scheme=scheme)
    assert tab.inner_text("#gain") == "25.0% of the time in the program's kernels saved by 1 change"
    assert "MODELLED" in tab.inner_text("#modelled") and tab.locator("img").count() == 0
    outcomes = tab.locator("#proposals > details > summary > .tag").all_inner_texts()
    assert outcomes == ["accepted, not kept", "kept", "rejected", "undecided", "not judged"]
    rows = tab.locator("#chain table >> nth=0").locator("tbody tr").all_inner_texts()
    assert [row.split("\t")[1:] for row in rows] == [["2 ms", "100.0 %", ""], ["1.5 ms", "75.0 %", "-40.0%"]]
    assert "SQ_INSTS_BRANCH\t4,000\t1,000\t-75.0%\tbranches" in tab.inner_text("#chain")
    kept = tab.locator("#proposals > details >> nth=1")
    kept.locator("summary:text('2 figures')").click()
    assert "vgprs: 1,024 → 36" in kept.inner_text()
    assert kept.locator(".diff .added").all_inner_texts() == ["+  fast();\n"]
    tab.select_option("#outcome", "rejected")
    assert tab.inner_text("#shown") == "1 of 5 proposals" and "</script><img" in tab.inner_text("#proposals")
    tab.click("#proposals > details >> nth=2 >> summary >> nth=0")
    assert "out differs" in tab.inner_text("#proposals")
    expect_accessible(tab)


def test_nothing_accepted(shown):
    nothing = {"accepted": False, "iterations": [], "proposals": [], "baseline_ms": None, "final_ms": None, "improvement": None}
    tab = shown(page(OptimizeDocument(**FIELDS | nothing)))
    assert tab.inner_text("#gain") == "Nothing accepted: the source is unchanged"
    assert tab.inner_text("#shown") == "0 of 0 proposals" and not tab.is_visible("#answers-section")


def test_a_run_with_a_model(shown, expect_accessible):
    answers = [
        AnswerSection(
            iteration=1, kernel="walk(int)", candidate=1, answer=1, outcome="rejected", step="compile", reason=HOSTILE
        ),
        AnswerSection(iteration=1, kernel="walk(int)", candidate=1, answer=2, outcome="accepted", step=None, reason=None),
    ]
    document = LlmOptimizeDocument(
        **FIELDS, provider="openai", model="a model", stopped=StopSection(reason="iterations", detail="all are used up"),
        requests=2, tokens=TokensSection(input=1200, output=34), cost_usd=0.0123, reasons={}, answers=answers,
    )  # fmt: skip
    tab = shown(llm_page.page(document))
    assert "2: 1,200 tokens in, 34 out, 0.0123 US dollars" in tab.inner_text("#answer")
    assert tab.locator("#answers tbody .tag").all_inner_texts() == ["rejected", "accepted"]
    tab.click("#answers th button:text-is('answer')")
    tab.click("#answers th button:text-is('answer')")
    assert "compile: </script>" in tab.inner_text("#answers")
    expect_accessible(tab)
