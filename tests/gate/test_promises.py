"""What a candidate may promise of the kernel's callers: only what holds, and nothing else on its account."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from rocm_perf_lab.gate.equivalence import EquivalenceOptions
from rocm_perf_lab.gate.judge import GateOptions, Judge
from rocm_perf_lab.gate.promises import NONE, Promises
from rocm_perf_lab.gate.source_check import check_source
from rocm_perf_lab.gate.verdict import Outcome
from rocm_perf_lab.hip_source import read
from rocm_perf_lab.isolate import capture
from rocm_perf_lab.optimize.compile import code_object

pytestmark = pytest.mark.usefixtures("hipcc")
PROGRAM = Path(__file__).with_name("overlap.hip")
COMMAND = ("hipcc", "-O2", "-nogpuinc", "--offload-arch=gfx942", "-Wno-unused-command-line-argument")
SOURCE = PROGRAM.read_text()
HEAD = "__global__ void shift(const float* in, const float* weight, float* out, int n) {"
LAUNCH = "shift<<<1, 64>>>(in, weight, out, n);"


def bound(threads: int) -> str:
    return f"__attribute__((amdgpu_flat_work_group_size(1, {threads})))"


ALL = Promises(restrict=("in", "weight", "out"))


def head(text: str) -> str:
    return SOURCE.replace(HEAD, text)


def restricted(*names: str) -> str:
    changed = HEAD
    for name in names:
        changed = changed.replace(f"* {name}", f"* __restrict__ {name}")
    return head(changed)


def bounded(text: str) -> str:
    return head(HEAD.replace("void", f"{text} void"))


QUALIFIED = restricted("in", "weight", "out")
BODY = "out[i] = in[i] * weight[0] + 1;"

# name -> (candidate, promises, words of the reason, baseline)
CHEATS = {
    "restrict that nobody promised": (QUALIFIED, NONE, "another signature|not part of", SOURCE),
    "more restrict than promised": (QUALIFIED, Promises(restrict=("in", "out")), "another signature|not part of", SOURCE),
    "a promise without its word": (restricted("in"), ALL, "weight is promised", SOURCE),
    "const beside it": (QUALIFIED.replace("float* __restrict__ out", "float* __restrict__ const out"), ALL, "another signature|not part", SOURCE),
    "a type beside it": (QUALIFIED.replace("int n) {", "unsigned n) {"), ALL, "shift", SOURCE),
    "host code beside it": (QUALIFIED.replace("launch((float*)a, (float*)b + 3, (float*)c, 40)", "launch((float*)a, (float*)b + 3, (float*)c, 4)"), ALL, "main", SOURCE),
    "a macro beside it": (QUALIFIED.replace("__restrict__ in", "RESTRICT in").replace("#define", "#define RESTRICT __restrict__\n#define"), ALL, "stand once|RESTRICT|read", SOURCE),
    "a kept variable beside it": (QUALIFIED.replace(BODY, "{ static __attribute__((device)) int kept; kept += n; out[i] = kept; }"), ALL, "keeps a variable", SOURCE),
    "a caller with one buffer for both": (QUALIFIED.replace(LAUNCH, LAUNCH.replace("out,", "(float*)in + 1,")), ALL, "the same in", SOURCE.replace(LAUNCH, LAUNCH.replace("out,", "(float*)in + 1,"))),
    "a caller that is not seen": (QUALIFIED + "auto pointer = shift;\n", ALL, "not all seen", SOURCE + "auto pointer = shift;\n"),
    "bounds that nobody promised": (bounded(bound(64)), NONE, "another signature|not part of", SOURCE),
    "smaller bounds than the launch's block": (bounded(bound(32)), Promises(threads=32), "has 64 threads", SOURCE),
    "smaller bounds than promised": (bounded(bound(32)), Promises(threads=64), "stand once", SOURCE),
    "bounds twice": (bounded(bound(64) + " " + bound(64)), Promises(threads=64), "stand once", SOURCE),
    "another attribute beside the bounds": (bounded(bound(64) + " __attribute__((amdgpu_waves_per_eu(1)))"), Promises(threads=64), "another signature|not part", SOURCE),
    "bounds where the block varies": (bounded(bound(64)).replace("<1, 64>", "<1, n>"), Promises(threads=64), "not a constant", SOURCE.replace("<1, 64>", "<1, n>")),
    "nothing at all": (SOURCE, Promises(unwritten=("out",), restrict=("in",)), "in is promised", SOURCE),
    "no such parameter": (SOURCE.replace(BODY, BODY.replace("1;", "1.0f;")), Promises(restrict=("n",)), "n is promised", SOURCE),
}  # fmt: skip
HONEST = {
    "restrict": (QUALIFIED, ALL),
    "some restrict": (restricted("in", "out"), Promises(restrict=("in", "out"))),
    "restrict and another body": (QUALIFIED.replace(BODY, BODY.replace("+ 1", "+ 1.0f")), ALL),
    "bounds": (bounded(bound(64)), Promises(threads=64)),
    "bounds and restrict": (restricted("in").replace("void shift", f"{bound(256)} void shift"), Promises(restrict=("in",), threads=256)),
    "unwritten": (SOURCE.replace(BODY, BODY.replace("+ 1", "+ 1.0f")), Promises(unwritten=("weight",))),
}  # fmt: skip


def source(text: str):
    return read(PROGRAM, COMMAND, text=text.encode())


@pytest.mark.parametrize("name", CHEATS)
def test_a_promise_hides_nothing(name):
    import re

    candidate, promises, words, baseline = CHEATS[name]
    seen = check_source(source(baseline), source(candidate), "shift", promises)
    assert seen.outcome is Outcome.REJECTED and re.search(words, seen.reason), seen.reason


@pytest.mark.parametrize("name", HONEST)
def test_a_kept_promise_passes(name):
    candidate, promises = HONEST[name]
    seen = check_source(source(SOURCE), source(candidate), "shift", promises)
    assert seen.outcome is Outcome.PASSED and str(promises) in seen.reason, seen.reason


@pytest.fixture(scope="module")
def judged(native_dir, tmp_path_factory):
    """judged(dispatch, candidate, promises) -> verdict with captures of that dispatch alone."""
    folder = tmp_path_factory.mktemp("overlap")
    subprocess.run([*COMMAND, PROGRAM, "-o", folder / "overlap"], check=True)
    options = GateOptions(equivalence=EquivalenceOptions(level="sampled", device="gfx942"), measured=False)

    def judge(dispatch: int, candidate: str, promises: Promises):
        captured = capture([str(folder / "overlap")], "shift", dispatch, folder, device="gfx942")
        with Judge(source(SOURCE), "shift", [captured], lambda one: code_object(one, "gfx942"), options) as gate:
            return gate.judge(source(candidate), promises)

    return judge


def test_restrict_is_accepted_where_buffers_lie_apart(judged):
    verdict = judged(0, QUALIFIED, ALL)
    assert verdict.accepted, verdict.rejection
    assert verdict.steps[0].evidence["shown_for"] == [0] and "captured dispatches alone" in verdict.steps[0].reason


def test_restrict_on_overlapping_buffers_is_rejected_by_where_they_lie(judged):
    rejection = judged(1, QUALIFIED, ALL).rejection
    assert rejection.step == "source" and "allocation that in points into, which out may point into" in rejection.reason


def test_buffers_that_are_only_read_may_overlap(judged):
    assert judged(2, QUALIFIED, ALL).accepted


def test_what_the_kernel_writes_is_not_unwritten(judged):
    candidate = SOURCE.replace(BODY, BODY.replace("+ 1", "+ 1.0f"))
    rejection = judged(1, candidate, Promises(unwritten=("in",))).rejection
    assert rejection.step == "source" and "writes to the allocation that in points into" in rejection.reason


def test_a_bound_below_the_captured_block_is_rejected_though_the_source_hides_it(judged, monkeypatch):
    """The launches in the source are one guard, the captured dispatch is the other, the code object the third."""
    monkeypatch.setattr("rocm_perf_lab.gate.source_check.broken_in_source", lambda *_: None)
    rejection = judged(0, bounded(bound(32)), Promises(threads=32)).rejection
    assert rejection.step == "source" and "captured dispatch has 64 threads" in rejection.reason
    assert judged(0, bounded(bound(64)), Promises(threads=64)).accepted
