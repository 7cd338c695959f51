"""What a candidate may promise of the kernel's callers: only what holds, and nothing else on its account."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from gate_judge import judge_of
from rocm_perf_lab.gate.equivalence import EquivalenceOptions
from rocm_perf_lab.gate.judge import GateOptions
from rocm_perf_lab.gate.promises import NONE, Promises, broken_in_source
from rocm_perf_lab.gate.reader import Reader
from rocm_perf_lab.gate.source_check import check_source
from rocm_perf_lab.gate.verdict import StepOutcome
from rocm_perf_lab.hip_source import read
from rocm_perf_lab.isolate import capture

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

# name -> (candidate, promises beyond those of its head, words of the reason, baseline)
CHEATS = {
    "a type beside it": (QUALIFIED.replace("int n) {", "unsigned n) {"), NONE, "shift", SOURCE),
    "host code beside it": (QUALIFIED.replace("launch((float*)a, (float*)b + 3, (float*)c, 40)", "launch((float*)a, (float*)b + 3, (float*)c, 4)"), NONE, "is not part of shift", SOURCE),
    "a macro beside it": (QUALIFIED.replace("__restrict__ in", "RESTRICT in").replace("#define", "#define RESTRICT __restrict__\n#define", 1), NONE, "is not part of shift", SOURCE),
    "a kept variable beside it": (QUALIFIED.replace(BODY, "{ static __attribute__((device)) int kept; kept += n; out[i] = kept; }"), NONE, "outlives a launch", SOURCE),
    "a caller with one buffer for both": (QUALIFIED.replace(LAUNCH, LAUNCH.replace("out,", "(float*)in + 1,")), NONE, "the same in", SOURCE.replace(LAUNCH, LAUNCH.replace("out,", "(float*)in + 1,"))),
    "a caller that is not seen": (QUALIFIED + "auto pointer = shift;\n", NONE, "not all seen", SOURCE + "auto pointer = shift;\n"),
    "smaller bounds than the launch's block": (bounded(bound(32)), NONE, "has 64 threads", SOURCE),
    "smaller bounds than declared": (bounded(bound(32)), Promises(threads=64), "has 64 threads", SOURCE),
    "bounds twice": (bounded(bound(64) + " " + bound(64)), NONE, "head of shift", SOURCE),
    "bounds that are no number": (bounded("__attribute__((amdgpu_flat_work_group_size(1, 8 * 8)))"), NONE, "head of shift", SOURCE),
    "a least workgroup": (bounded("__attribute__((amdgpu_flat_work_group_size(64, 64)))"), NONE, "head of shift", SOURCE),
    "another attribute beside the bounds": (bounded(bound(64) + " __attribute__((amdgpu_waves_per_eu(1)))"), NONE, "head of shift", SOURCE),
    "another attribute within the bounds": (bounded(bound(64)[:-2] + ", noinline))"), NONE, "head of shift", SOURCE),
    "bounds where the block varies": (bounded(bound(64)).replace("<1, 64>", "<1, n>"), NONE, "not a constant", SOURCE.replace("<1, 64>", "<1, n>")),
    "const of what it points to": (head(HEAD.replace("float* out", "const float* out")).replace(BODY, "((float*)out)[i] = in[i];"), NONE, "shift", SOURCE),
    "nothing at all": (SOURCE, Promises(unwritten=("in",)), "nothing was changed", SOURCE),
}  # fmt: skip
HONEST = {
    "restrict": (QUALIFIED, NONE, ALL),
    "restrict that is declared as well": (QUALIFIED, ALL, ALL),
    "some restrict": (restricted("in", "out"), NONE, Promises(restrict=("in", "out"))),
    "restrict and another body": (QUALIFIED.replace(BODY, BODY.replace("+ 1", "+ 1.0f")), NONE, ALL),
    "restrict in another spelling": (QUALIFIED.replace("__restrict__", "__restrict"), NONE, ALL),
    "restrict and const of the parameters": (QUALIFIED.replace("__restrict__ out, int n", "__restrict__ const out, const int n"), NONE, ALL),
    "const alone": (head(HEAD.replace("int n) {", "const int n) {")).replace(BODY, BODY.replace("+ 1", "+ 1.0f")), NONE, NONE),
    "bounds": (bounded(bound(64)), NONE, Promises(threads=64)),
    "bounds and restrict": (restricted("in").replace("void shift", f"{bound(256)} void shift"), NONE, Promises(restrict=("in",), threads=256)),
    "unwritten": (SOURCE.replace(BODY, BODY.replace("+ 1", "+ 1.0f")), Promises(unwritten=("weight",)), Promises(unwritten=("weight",))),
}  # fmt: skip


def source(text: str):
    return read(PROGRAM, COMMAND, text=text.encode())


def taken(baseline: str, candidate: str, declared: Promises):
    before = source(baseline)
    with Reader(before) as reader:
        target = before.kernel("shift")
        return check_source(
            before, target, reader.change(candidate.encode(), target.identity), declared, lambda: (), lambda _change: None
        )


def test_a_handle_under_another_name_is_a_launch_that_is_not_seen(tmp_path):
    symbol = "_Z5shiftPKfS0_Pfi"
    (tmp_path / "a.hip").write_text(SOURCE + f'\nextern "C" char handle asm("{symbol}");\n')
    unseen = broken_in_source(read(tmp_path / "a.hip", COMMAND), "shift", Promises(threads=64))
    assert unseen is not None and "its launches are not all seen" in unseen
    (tmp_path / "a.hip").write_text(SOURCE)
    assert broken_in_source(read(tmp_path / "a.hip", COMMAND), "shift", Promises(threads=64)) is None


@pytest.mark.parametrize("name", CHEATS)
def test_a_promise_hides_nothing(name):
    candidate, declared, words, baseline = CHEATS[name]
    seen = taken(baseline, candidate, declared).verdict
    assert seen.outcome is StepOutcome.REJECTED and re.search(words, seen.reason), seen.reason


@pytest.mark.parametrize("name", HONEST)
def test_a_kept_promise_passes(name):
    candidate, declared, promises = HONEST[name]
    seen = taken(SOURCE, candidate, declared)
    assert seen.verdict.outcome is StepOutcome.PASSED and seen.promises == promises, seen.verdict.reason
    assert promises == NONE or str(promises) in seen.verdict.reason


@pytest.fixture(scope="module")
def judged(native_dir, tmp_path_factory):
    """judged(dispatch, candidate, promises) -> verdict with captures of that dispatch alone."""
    folder = tmp_path_factory.mktemp("overlap")
    subprocess.run([*COMMAND, PROGRAM, "-o", folder / "overlap"], check=True)
    options = GateOptions(equivalence=EquivalenceOptions(level="sampled", device="gfx942"), measured=False)

    def judge(dispatch: int, candidate: str, promises: Promises):
        captured = capture([str(folder / "overlap")], "shift", dispatch, folder, device="gfx942")
        with judge_of(source(SOURCE), "shift", [captured], options) as gate:
            return gate.judge(candidate.encode(), promises)

    return judge


def test_restrict_is_accepted_where_buffers_lie_apart(judged):
    verdict = judged(0, QUALIFIED, ALL)
    assert verdict.accepted, verdict.rejection
    assert verdict.steps[0].evidence.shown_for == [0] and "captured dispatches alone" in verdict.steps[0].reason


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
