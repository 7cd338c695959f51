"""What a candidate may promise about the kernel's callers: only what holds, and a promise allows no other change."""

from __future__ import annotations

import contextlib
import re
import subprocess
from pathlib import Path

import pytest

from gate_judge import judge_of
from rocm_perf_lab.gate.equivalence.equivalence_options import EquivalenceOptions
from rocm_perf_lab.gate.judge import GateOptions
from rocm_perf_lab.gate.source.candidate_reader import CandidateReader
from rocm_perf_lab.gate.source.promises import NO_PROMISES, Promises, broken_in_source
from rocm_perf_lab.gate.source.source_check import check_source
from rocm_perf_lab.gate.verdict import StepOutcome
from rocm_perf_lab.hip_source import HipSource, read
from rocm_perf_lab.isolate import capture

pytestmark = pytest.mark.usefixtures("hipcc")
PROGRAM = Path(__file__).parents[1].joinpath("overlap.hip")
COMMAND = ("hipcc", "-O2", "-nogpuinc", "--offload-arch=gfx942", "-Wno-unused-command-line-argument")
OVERLAPPING = PROGRAM.read_text()
SOURCE = re.sub(
    r"  launch\(\(float\*\)a, .*\(float\*\)a \+ .*\n", "", OVERLAPPING
)  # its buffers do not overlap in any of its launches
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

# name -> (candidate, promises other than those of its head, words of the reason, baseline)
CHEATS = {
    "a type beside it": (QUALIFIED.replace("int n) {", "unsigned n) {"), NO_PROMISES, "shift", SOURCE),
    "host code beside it": (QUALIFIED.replace("launch((float*)a, (float*)b + 3, (float*)c, 40)", "launch((float*)a, (float*)b + 3, (float*)c, 4)"), NO_PROMISES, "is not part of shift", SOURCE),
    "a macro beside it": (QUALIFIED.replace("__restrict__ in", "RESTRICT in").replace("#define", "#define RESTRICT __restrict__\n#define", 1), NO_PROMISES, "is not part of shift", SOURCE),
    "a kept variable beside it": (QUALIFIED.replace(BODY, "{ static __attribute__((device)) int kept; kept += n; out[i] = kept; }"), NO_PROMISES, "outlives a launch", SOURCE),
    "a caller with one buffer for both": (QUALIFIED.replace(LAUNCH, LAUNCH.replace("out,", "(float*)in + 1,")), NO_PROMISES, "the same in", SOURCE.replace(LAUNCH, LAUNCH.replace("out,", "(float*)in + 1,"))),
    "callers with one buffer for both": (OVERLAPPING.replace(HEAD, restricted("in", "weight", "out").split("// One lane")[1].split("\n")[1]), NO_PROMISES, "in and out from the same a, as line .* calls launch", OVERLAPPING),
    "a caller that is not seen": (QUALIFIED + "auto pointer = shift;\n", NO_PROMISES, "not all of its launches are known", SOURCE + "auto pointer = shift;\n"),
    "smaller bounds than the launch's block": (bounded(bound(32)), NO_PROMISES, "has 64 threads", SOURCE),
    "smaller bounds than declared": (bounded(bound(32)), Promises(threads=64), "has 64 threads", SOURCE),
    "bounds twice": (bounded(bound(64) + " " + bound(64)), NO_PROMISES, "head of shift", SOURCE),
    "bounds that are no number": (bounded("__attribute__((amdgpu_flat_work_group_size(1, 8 * 8)))"), NO_PROMISES, "head of shift", SOURCE),
    "a least workgroup": (bounded("__attribute__((amdgpu_flat_work_group_size(64, 64)))"), NO_PROMISES, "head of shift", SOURCE),
    "another attribute beside the bounds": (bounded(bound(64) + " __attribute__((amdgpu_waves_per_eu(1)))"), NO_PROMISES, "head of shift", SOURCE),
    "another attribute within the bounds": (bounded(bound(64)[:-2] + ", noinline))"), NO_PROMISES, "head of shift", SOURCE),
    "bounds where the block varies": (bounded(bound(64)).replace("<1, 64>", "<1, n>"), NO_PROMISES, "not a constant", SOURCE.replace("<1, 64>", "<1, n>")),
    "const of what it points to": (head(HEAD.replace("float* out", "const float* out")).replace(BODY, "((float*)out)[i] = in[i];"), NO_PROMISES, "shift", SOURCE),
    "nothing at all": (SOURCE, Promises(unwritten=("in",)), "nothing was changed", SOURCE),
}  # fmt: skip
CALL = "launch((float*)a, (float*)b + 3, (float*)c, 40);"
MAIN = "int main() {"
APART = {
    "a copy of a pointer": ("float* copy = (float*)a; float* other; other = copy; launch(other + 1, (float*)b, (float*)c, 4);", ""),
    "pointers that go up and down": ("for (float *x = (float*)a, *z = (float*)c; x != (float*)a + 4; ++x, z += 1) launch(x, (float*)b, z, 1);", ""),
    "two calls with exchanged buffers": (CALL + CALL.replace("(float*)a", "(float*)c", 1).replace("(float*)c, 40", "(float*)a, 40"), ""),
    "a call by way of another": ("twice((float*)a, (float*)b, (float*)c);", "static void twice(float* x, float* y, float* z) { for (int i = 0; i < 2; ++i) launch(x, y, z, 4); }\n"),
    "what a function makes": ("float* x = made(4); float* z = made(8); launch(x, (float*)b, z, 1);", "static float* made(int n) { void* m = nullptr; if (hipMalloc(&m, n * 4)) return nullptr; return (float*)m; }\n"),
    "what a template makes": ("float* x = copied<float>(4); float* z = copied<float>(8); launch(x, (float*)b, z, 1);", "template <typename T> T* made(int n) { T* m; if (hipMalloc((void**)&m, n * sizeof(T))) printf(\"no\"); return m; }\ntemplate <typename T> T* copied(int n) { T* m = made<T>(n); if (hipMemcpy(m, m, n, 3)) return nullptr; return m; }\n"),
    "a list of pointers": ("float *x = (float*)a, *z = (float*)c; launch(x, (float*)b, z, 1); float* all[] = {x, z}; printf(\"%p\", all[0]);", ""),
    "variables of the file": ("hipMalloc((void**)&x, 64); hipMalloc((void**)&z, 64); launch(x, (float*)b, z, 1);", "static float *x, *z;\n"),
    "a function with nothing to call it": (CALL, "static void never(float* x) { launch(x, x, x, 1); }\n"),
}  # fmt: skip
# name -> (calls in main, text before it, words of the reason)
SHARED = {
    "a caller with one buffer": ("launch((float*)a, (float*)b, (float*)a + 4, 40);", "", "in and out from the same a, as line .* calls launch"),
    "a caller's caller": ("twice((float*)a, (float*)b, (float*)a);", "static void twice(float* x, float* y, float* z) { launch(x, y, z, 4); }\n", "the same a, as line .* calls launch, as line .* calls twice"),
    "a copy": ("void* copy = a; launch((float*)a, (float*)b, (float*)copy, 4);", "", "the same a"),
    "a copy that is made later": ("void* copy = nullptr; for (int i = 0; i < 2; ++i, copy = a) launch((float*)a, (float*)b, (float*)copy, 4);", "", "the same a"),
    "a choice": ("launch((float*)a, (float*)b, (float*)(content[0] > 0 ? a : c), 4);", "", "the same a"),
    "a pointer that is returned": ("launch((float*)a, (float*)b, same((float*)a), 4);", "static float* same(float* x) { return x + 1; }\n", "the same a"),
    "a buffer that a function keeps": ("launch(kept(), (float*)b, kept(), 4);", "static float* kept() { static float* m; if (!m) hipMalloc((void**)&m, 64); return m; }\n", "the same m"),
    "a variable of the file": ("x = (float*)a; launch(x, (float*)b, (float*)a, 4);", "static float* x;\n", "the same a"),
    "a parameter that is assigned": ("other((float*)a, (float*)b, (float*)c);", "static void other(float* x, float* y, float* z) { z = x; launch(x, y, z, 4); }\n", "the same a"),
    "a distance": ("launch((float*)a, (float*)b, (float*)c + ((float*)a - (float*)c), 4);", "", "computed from a distance between pointers"),
    "a member": ("Two two{(float*)a, (float*)a}; launch(two.x, (float*)b, two.y, 4);", "struct Two { float *x, *y; };\n", "cannot be followed"),
    "an element": ("float* all[2] = {(float*)a, (float*)a}; launch(all[0], (float*)b, all[1], 4);", "", "cannot be followed"),
    "what a pointer points to": ("float** p = (float**)&a; launch(*p, (float*)b, (float*)a, 4);", "", "cannot be followed|may change"),
    "a reference": ("float* x = (float*)c; float*& r = x; r = (float*)a; launch((float*)a, (float*)b, x, 4);", "", "x, which line .* may change"),
    "a reference as a parameter": ("float* x = (float*)c; set(x, (float*)a); launch((float*)a, (float*)b, x, 4);", "static void set(float*& x, float* y) { x = y; }\n", "x, which line .* may change"),
    "a reference that is cast": ("float* x = (float*)c; set(x, (float*)a); launch((float*)a, (float*)b, x, 4);", "static void set(float* const& x, float* y) { const_cast<float*&>(x) = y; }\n", "x, which line .* may change"),
    "an address": ("void* x = c; set(&x, a); launch((float*)a, (float*)b, (float*)x, 4);", "static void set(void** x, void* y) { *x = y; }\n", "x, which line .* may change"),
    "a lambda's capture": ("void* x = c; auto f = [&] { x = a; }; f(); launch((float*)a, (float*)b, (float*)x, 4);", "", "the same a"),
    "a capture with a value": ("[x = (float*)a, &b, &a] { launch((float*)a, (float*)b, x, 4); }();", "", "cannot be followed|the same a"),
    "a lambda's parameters": ("auto f = [&](float* x, float* z) { launch(x, (float*)b, z, 4); }; f((float*)a, (float*)a);", "", "cannot be followed"),
    "a pointer to the function": ("auto f = launch; f((float*)a, (float*)b, (float*)a, 4);", "", "names without calling"),
    "a function as an argument": ("call(launch, (float*)a, (float*)b);", "template <typename F> void call(F f, float* x, float* y) { f(x, y, x, 4); }\n", "names without calling"),
    "a template that calls": ("call((float*)a, (float*)b);", "template <typename T> void call(T x, T y) { launch(x, y, x, 4); }\n", "the same a|not a pointer"),
    "a member function": ("Steps().run((float*)a, (float*)b, (float*)a);", "struct Steps { void run(float* x, float* y, float* z) { launch(x, y, z, 4); } };\n", "cannot be followed"),
    "a number": ("launch((float*)a, (float*)b, (float*)(unsigned long)a, 4);", "", "cannot be followed|the same a"),
    "an allocator of its own": ("void *x, *z; hipMallocHost(&x, 4); hipMallocHost(&z, 4); launch((float*)x, (float*)b, (float*)z, 4);", "static float pool[64]; int hipMallocHost(void** x, unsigned long) { *x = pool; return 0; }\n", "may change"),
    "a function that others may call": (CALL, "void open(float* x, float* y, float* z) { launch(x, y, z, 4); }\n", "open, which the source does not call"),
    "a range": ("float* all[] = {(float*)a}; for (float* x : all) launch((float*)a, (float*)b, x, 4);", "", "cannot be followed"),
    "a condition": ("if (float* x = (float*)a) launch((float*)a, (float*)b, x, 4);", "", "cannot be followed|the same a"),
    "assembly": ('float* x = (float*)c; asm("" : "+r"(x)); launch((float*)a, (float*)b, x, 4);', "", "x, which line .* may change"),
    "a symbol": ("also((float*)a, (float*)b, (float*)a, 4);", 'void also(const float*, const float*, float*, int) asm("_ZL6launchPKfS0_Pfi");\n', "by its symbol"),
}  # fmt: skip


def calling(calls: str, before: str, text: str) -> str:
    return text.replace(CALL, calls).replace(MAIN, before + MAIN)


@pytest.mark.parametrize("name", APART)
def test_pointers_are_traced_to_their_allocations(name):
    text = calling(*APART[name], SOURCE)
    assert text != SOURCE or name == "a function with nothing to call it"
    assert broken_in_source(source(text), "shift", ALL) is None


@pytest.mark.parametrize("name", SHARED)
def test_pointers_that_may_share_a_buffer_are_not_promised_to_differ(name):
    calls, before, words = SHARED[name]
    reason = broken_in_source(source(calling(calls, before, SOURCE)), "shift", ALL)
    assert reason is not None and re.search(words, reason), reason


HONEST = {
    "restrict": (QUALIFIED, NO_PROMISES, ALL),
    "restrict that is declared as well": (QUALIFIED, ALL, ALL),
    "some restrict": (restricted("in", "out"), NO_PROMISES, Promises(restrict=("in", "out"))),
    "restrict and another body": (QUALIFIED.replace(BODY, BODY.replace("+ 1", "+ 1.0f")), NO_PROMISES, ALL),
    "restrict in another spelling": (QUALIFIED.replace("__restrict__", "__restrict"), NO_PROMISES, ALL),
    "restrict and const of the parameters": (QUALIFIED.replace("__restrict__ out, int n", "__restrict__ const out, const int n"), NO_PROMISES, ALL),
    "const alone": (head(HEAD.replace("int n) {", "const int n) {")).replace(BODY, BODY.replace("+ 1", "+ 1.0f")), NO_PROMISES, NO_PROMISES),
    "bounds": (bounded(bound(64)), NO_PROMISES, Promises(threads=64)),
    "bounds and restrict": (restricted("in").replace("void shift", f"{bound(256)} void shift"), NO_PROMISES, Promises(restrict=("in",), threads=256)),
    "unwritten": (SOURCE.replace(BODY, BODY.replace("+ 1", "+ 1.0f")), Promises(unwritten=("weight",)), Promises(unwritten=("weight",))),
}  # fmt: skip


def source(text: str):
    return read(PROGRAM, COMMAND, text=text.encode())


@pytest.fixture(scope="module")
def taken():
    """taken(baseline, candidate, declared promises) -> what the step adopts; each baseline is read once."""
    readers: dict[str, tuple[HipSource, CandidateReader]] = {}

    def take(baseline: str, candidate: str, declared: Promises):
        if baseline not in readers:
            before = source(baseline)
            readers[baseline] = before, stack.enter_context(CandidateReader(before))
        before, reader = readers[baseline]
        target = before.kernel("shift")
        change = reader.change(candidate.encode(), target.identity)
        return check_source(before, target, change, declared, lambda: (), lambda _change: None)

    with contextlib.ExitStack() as stack:
        yield take


def test_a_handle_under_another_name_is_taken_for_an_unknown_launch(tmp_path):
    symbol = "_Z5shiftPKfS0_Pfi"
    (tmp_path / "a.hip").write_text(SOURCE + f'\nextern "C" char handle asm("{symbol}");\n')
    unseen = broken_in_source(read(tmp_path / "a.hip", COMMAND), "shift", Promises(threads=64))
    assert unseen is not None and "not all of its launches are known" in unseen
    (tmp_path / "a.hip").write_text(SOURCE)
    assert broken_in_source(read(tmp_path / "a.hip", COMMAND), "shift", Promises(threads=64)) is None


@pytest.mark.parametrize("name", CHEATS)
def test_a_promise_hides_nothing(taken, name):
    candidate, declared, words, baseline = CHEATS[name]
    seen = taken(baseline, candidate, declared).verdict
    assert seen.outcome is StepOutcome.REJECTED and re.search(words, seen.reason), seen.reason


@pytest.mark.parametrize("name", HONEST)
def test_a_kept_promise_passes(taken, name):
    candidate, declared, promises = HONEST[name]
    seen = taken(SOURCE, candidate, declared)
    assert seen.verdict.outcome is StepOutcome.PASSED and seen.promises == promises, seen.verdict.reason
    assert promises == NO_PROMISES or str(promises) in seen.verdict.reason


@pytest.fixture(scope="module")
def judged(native_dir, tmp_path_factory):
    """judged(dispatch, candidate, promises) -> verdict with captures of only that dispatch."""
    folder = tmp_path_factory.mktemp("overlap")
    subprocess.run([*COMMAND, PROGRAM, "-o", folder / "overlap"], check=True)
    options = GateOptions(equivalence=EquivalenceOptions(level="sampled", device="gfx942"), with_measurement=False)

    def judge(dispatch: int, candidate: str, promises: Promises):
        captured = capture([str(folder / "overlap")], "shift", dispatch, folder, device="gfx942")
        with judge_of(source(SOURCE), "shift", [captured], options) as gate:
            return gate.judge(candidate.encode(), promises)

    return judge


def test_restrict_is_accepted_where_buffers_do_not_overlap(judged):
    verdict = judged(0, QUALIFIED, ALL)
    assert verdict.accepted, verdict.rejection
    assert verdict.steps[0].evidence.shown_for == [0] and "and the captured dispatch 0)" in verdict.steps[0].reason


def test_restrict_on_overlapping_buffers_is_rejected_by_their_addresses(judged):
    rejection = judged(1, QUALIFIED, ALL).rejection
    assert rejection.step == "source" and "allocation that in points into, which out may point into" in rejection.reason


def test_buffers_that_are_only_read_may_overlap(judged):
    assert judged(2, QUALIFIED, ALL).accepted


def test_a_buffer_that_the_kernel_writes_is_not_read_only(judged):
    candidate = SOURCE.replace(BODY, BODY.replace("+ 1", "+ 1.0f"))
    rejection = judged(1, candidate, Promises(unwritten=("in",))).rejection
    assert rejection.step == "source" and "writes to the allocation that in points into" in rejection.reason


def test_a_bound_below_the_captured_block_is_rejected_though_the_source_hides_it(judged, monkeypatch):
    """Three things guard against it: the launches in the source, the captured dispatch, and the code object."""
    monkeypatch.setattr("rocm_perf_lab.gate.source.source_check.broken_in_source", lambda *_: None)
    rejection = judged(0, bounded(bound(32)), Promises(threads=32)).rejection
    assert rejection.step == "source" and "captured dispatch has 64 threads" in rejection.reason
    assert judged(0, bounded(bound(64)), Promises(threads=64)).accepted


@pytest.mark.parametrize(
    ("promises", "said"),
    [
        (NO_PROMISES, ""),
        (Promises(restrict=("in", "out")), "__restrict__ on in, out"),
        (Promises(unwritten=("in",)), "nothing written through in"),
        (
            Promises(("in",), ("weight",), 64),
            "__restrict__ on in; nothing written through weight; at most 64 threads per workgroup",
        ),
    ],
)
def test_promises_in_words(promises, said):
    assert str(promises) == said
