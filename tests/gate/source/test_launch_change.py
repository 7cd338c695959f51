"""Candidates that change the shape of their kernel's launches: what is adopted from them, and what the replays show."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from gate_judge import judging_kernels
from rocm_perf_lab.gate.source.candidate_reader import CandidateReader
from rocm_perf_lab.gate.source.expanded_text_check import ExpandedTextCheck
from rocm_perf_lab.gate.source.promises import NO_PROMISES
from rocm_perf_lab.gate.source.source_check import check_source
from rocm_perf_lab.gate.verdict import StepOutcome
from rocm_perf_lab.hip_source import read
from rocm_perf_lab.optimize.builders import SourceBuilder
from slow_variants import every

pytestmark = pytest.mark.usefixtures("hipcc", "native_dir")
PROGRAM = Path(__file__).parents[1].joinpath("shaped.hip")
SOURCE = PROGRAM.read_text()
COMMAND = ("hipcc", "-O2", "-nogpuinc", "--offload-arch=gfx942", "-Wno-unused-command-line-argument")
SUMS, DOUBLED = "<<<(rows + ROWS_BLOCK - 1) / ROWS_BLOCK, ROWS_BLOCK>>>", "<<<grid, threads>>>"
ONE_ROW = SOURCE[SOURCE.index("  const int row = block()") : SOURCE.index("  out[row] = sum;")]
ONE_ITEM = "  const int i = block() * size() + lane();\n  if (i < n) out[i] = in[i] * 2;\n"
BY_WAVES = """\
  const int row = block() * 4 + lane() / 64;
  if (row >= rows) return;
  int sum = 0;
  for (int i = lane() % 64; i < width; i += 64) sum += in[row * width + i];
  for (int step = 32; step > 0; step /= 2) sum += of_lane(sum, (lane() % 64) ^ step);
  if (lane() % 64 != 0) return;
"""
STAGED = """\
  extern __shared__ int staged[];
  const int row = block();
  int sum = 0;
  for (int i = lane(); i < width; i += size()) sum += in[row * width + i];
  staged[lane()] = sum;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  if (lane() != 0) return;
  for (int i = 1; i < size(); ++i) sum += staged[i];
"""
FOUR_ITEMS = """\
  for (int k = 0; k < 4; ++k) {
    const int i = block() * 512 + k * 128 + lane();
    if (i < n) out[i] = in[i] * 2;
  }
"""


def changed(*pairs: tuple[str, str]) -> str:
    text = SOURCE
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


# ---- what is adopted ----


@pytest.fixture(scope="module")
def taken():
    """taken(candidate, kernel) -> what the source step adopts from it."""
    baseline = read(PROGRAM, COMMAND)
    builder = SourceBuilder("gfx942")
    with CandidateReader(baseline) as reader:

        def take(text: str, name: str, of=baseline, by=reader):
            kernel = of.kernel(name)
            change = by.change(text.encode(), kernel.identity)
            return check_source(
                of, kernel, change, NO_PROMISES, lambda: (), ExpandedTextCheck(of, kernel, builder.preprocessed).complaint
            )

        yield take


@pytest.fixture(scope="module")
def taken_from(taken):
    """taken_from(baseline, candidate, kernel): the same with a different baseline."""

    def take(text: str, candidate: str, name: str):
        baseline = read(PROGRAM, COMMAND, text=text.encode())
        with CandidateReader(baseline) as reader:
            return taken(candidate, name, baseline, reader)

    return take


def test_the_gate_writes_the_launch_itself_and_moves_no_line(taken):
    launch = "<<<dim3((rows+3) /4  /* a comment */,\n 1), ROWS_BLOCK * 4u>>>"
    found = taken(changed((SUMS, launch), (ONE_ROW, BY_WAVES)), "sums")
    assert found.launch is not None and found.verdict.outcome is StepOutcome.PASSED, found.verdict
    assert b"sums<<<(rows + 3) / 4, 64 * 4u>>>(in" in found.spliced.without_line_directives
    assert found.spliced.judged.count(b"\n") >= SOURCE.count("\n")
    section = found.verdict.evidence.launch
    assert (section.before, section.after) == ("(rows + 64 - 1) / 64, 64", "(rows + 3) / 4, 64 * 4u")
    host = found.launch.applied_to(read(PROGRAM, COMMAND)).text.decode()
    assert host == SOURCE.replace(SUMS, "<<<(rows + 3) / 4, 64 * 4u>>>")


REFUSED = {
    "a call": ("<<<(hipMemset(0, 0, rows), rows), 64>>>", "hipMemset"),
    "an assignment": ("<<<width = 4, 64>>>", "with `=`"),
    "an increment": ("<<<width++, 64>>>", "with `++`"),
    "a comma": ("<<<(rows, 4), 64>>>", "with `,` where"),
    "a choice": ("<<<rows == 48 ? 1 : rows, 64>>>", "with `==`"),
    "a pointer": ("<<<*in, 64>>>", "with `*`"),
    "another variable": ("<<<n, 64>>>", "with `n`"),
    "a variable that is no integer": ("<<<1.5 * rows, 64>>>", "with `1.5`"),
    "another stream": ("<<<rows, 64, 0, (hipStream_t)1>>>", "different stream"),
    "a directive": ("<<<rows\n#define rows 4\n, 64>>>", ""),
    "a name of the compiler's": ("<<<rows, __LINE__>>>", "with `__LINE__`"),
    "a launch within": ("<<<rows, 64>>>(in, out, rows, width); sums<<<1, 64>>>", "is not part of sums"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_shape_that_is_not_arithmetic_is_refused(taken, name):
    launch, words = REFUSED[name]
    found = taken(changed((SUMS, launch)), "sums")
    assert found.spliced is None and words in found.verdict.reason, found.verdict


def test_only_the_launches_of_the_kernel_itself_can_change(taken):
    found = taken(changed((SUMS, "<<<rows, 64>>>"), (ONE_ITEM, FOUR_ITEMS)), "doubled")
    assert found.spliced is None and "the launch of something other than doubled" in found.verdict.reason
    moved = taken(changed((SUMS, SUMS + "(in, out, rows, width); doubled<<<1, 64>>>"[:-3] + ">>>")), "sums")
    assert moved.spliced is None


OTHER_LAUNCH = "  doubled<<<grid, threads>>>(from, to, n);\n"
# name -> (baseline's text in place of OTHER_LAUNCH, words of the refusal)
UNSEEN = {
    "a different shape": (OTHER_LAUNCH + "  doubled<<<8, 64>>>(from, to, n);\n", "differ from each other"),
    "another argument": (OTHER_LAUNCH + "  doubled<<<(width + 127) / 128, 128>>>(from, to, n);\n", "not arithmetic"),
    "through a pointer": (
        OTHER_LAUNCH + "  auto* other = doubled;\n  other<<<8, 64>>>(from, to, n);\n", "without being launched",
    ),
    "a changing grid": ("  dim3 other(8);\n  other.x = n;\n  doubled<<<other, 128>>>(from, to, n);\n", "not arithmetic"),
    "a grid of an earlier number": (
        "  int m = 64;\n  dim3 other((m + 127) / 128);\n  m = n;\n  doubled<<<other, 128>>>(from, to, m);\n",
        "may change later",
    ),
    "a grid of an earlier number in a loop": (
        "  for (int m = 64, k = 0; k < 2; ++k) {\n    dim3 other((m + 127) / 128);\n    doubled<<<other, 128>>>(from, to, m);\n"
        "    m = n;\n  }\n", "may change later",
    ),
    "a number that is kept by reference": (
        "  int m = n;\n  int& alias = m;\n  dim3 other((m + 127) / 128);\n  alias = 5;\n"
        "  doubled<<<other, 128>>>(from, to, m);\n",
        "may change later",
    ),
    "a macro": (
        "#define LAUNCH(...) doubled<<<__VA_ARGS__>>>(from, to, n)\n  LAUNCH(grid, threads);\n" + OTHER_LAUNCH,
        "is made by a macro",
    ),
    "a call": ("  doubled<<<printf(\"\") + 8, 128>>>(from, to, n);\n", "not arithmetic"),
    "a narrower parameter": (
        "  long m = n;\n  doubled<<<(m + 127) / 128, 128>>>(from, to, m);\n", "not arithmetic",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", UNSEEN)
def test_launches_that_are_not_fully_understood_stay_unchanged(taken_from, name):
    text, words = UNSEEN[name]
    baseline = changed((OTHER_LAUNCH, text))
    start = baseline.rindex("doubled<<<") + len("doubled<<<")
    end = baseline.index(">>>", start)
    candidate = baseline[:start] + "8, 256" + baseline[end:]
    found = taken_from(baseline, candidate, "doubled")
    assert found.spliced is None and words in found.verdict.reason, found.verdict


def test_all_launches_change_alike_or_not_at_all(taken_from):
    again = OTHER_LAUNCH + "  if (width) doubled<<<(n + kMapBlock - 1) / kMapBlock, 128>>>(from, to, n);\n"
    baseline = changed((OTHER_LAUNCH, again))
    one = baseline.replace(DOUBLED, "<<<(n + 511) / 512, 512>>>")
    assert "would differ from each other" in taken_from(baseline, one, "doubled").verdict.reason


def test_a_variable_that_the_launch_itself_may_change_cannot_be_used(taken_from):
    calls = "  int m = n;\n  auto next = [&m](float* one) { m = 5; return one; };\n  doubled<<<8, 128>>>(from, next(to), m);\n"
    baseline = changed((OTHER_LAUNCH, calls))
    found = taken_from(baseline, baseline.replace("<<<8, 128>>>", "<<<(m + 127) / 128, 128>>>"), "doubled")
    assert found.spliced is None and "uses m, which a call" in found.verdict.reason, found.verdict


def test_an_argument_that_is_shadowed_at_the_launch_is_the_one_that_is_passed(taken_from):
    text = "  { int n = 7; doubled<<<8, 128>>>(from, to, n); }\n"
    baseline = changed((OTHER_LAUNCH, text))
    found = taken_from(baseline, baseline.replace("<<<8, 128>>>", "<<<n, 128>>>"), "doubled")
    assert found.launch is not None and b"doubled<<<n, 128>>>(from, to, n); }" in found.spliced.without_line_directives


# ---- launches by HIP's macro ----

BY_MACRO = """\
#include <hip/hip_runtime.h>
#define CHECK(what) what
__global__ void doubled(const int* in, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * 2;
}
template <int K> __global__ void scaled(int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] *= K;
}
int main() {
  int n = 1000, *in, *out;
  const dim3 threads(128);
  if (hipMalloc(&in, n * sizeof(int)) != hipSuccess || hipMalloc(&out, n * sizeof(int)) != hipSuccess) return 1;
  if (hipMemset(in, 1, n * sizeof(int)) != hipSuccess) return 1;
  hipLaunchKernelGGL(doubled, dim3((n + 127) / 128), threads, 0, 0, in, out, n);
  hipLaunchKernelGGL(HIP_KERNEL_NAME(scaled<3>), dim3((n + 63) / 64), dim3(64), 0, (hipStream_t)0, out, n);
  return hipDeviceSynchronize() != hipSuccess;
}
"""
MACRO_COMMAND = ("hipcc", "-O2", "--offload-arch=gfx942")
DOUBLED_BY_MACRO = "(doubled, dim3((n + 127) / 128), threads, 0, 0, in, out, n)"


@pytest.fixture(scope="module")
def taken_by_macro(taken, tmp_path_factory):
    """taken_by_macro(candidate, kernel, baseline): the same with a source that launches by macros."""
    path = tmp_path_factory.mktemp("macro") / "program.hip"

    def take(candidate: str, name: str, baseline: str = BY_MACRO):
        path.write_text(baseline)
        source = read(path, MACRO_COMMAND)
        with CandidateReader(source) as reader:
            return taken(candidate, name, source, reader)

    return take


def test_launches_by_hip_s_macro_change_as_well(taken_by_macro):
    launch = "(doubled, dim3( /* a comment */ (n+511)/512, 1),\n 512u, 4 * 16, 0, in, out, n)"
    found = taken_by_macro(BY_MACRO.replace(DOUBLED_BY_MACRO, launch), "doubled")
    assert found.launch is not None, found.verdict
    assert b"hipLaunchKernelGGL(doubled, (n + 511) / 512, 512, 4 * 16, 0, in, out, n);" in found.spliced.without_line_directives
    section = found.verdict.evidence.launch
    assert (section.before, section.after) == ("(n + 127) / 128, 128", "(n + 511) / 512, 512, 4 * 16")
    launch = "dim3((n + 63) / 64), dim3(64), 0, (hipStream_t)0"
    found = taken_by_macro(BY_MACRO.replace(launch, "(n + 255) / 256, 256, 0, (hipStream_t)0"), "scaled")
    assert (
        b"GGL(HIP_KERNEL_NAME(scaled<3>), (n + 255) / 256, 256, 0, (hipStream_t)0, out, n);"
        in found.spliced.without_line_directives
    )


REFUSED_BY_MACRO = {
    "another stream": ("(doubled, 8, 128, 0, (hipStream_t)1, in, out, n)", "is not part of doubled"),
    "another argument": ("(doubled, 8, 128, 0, 0, in, out, 7)", "is not part of doubled"),
    "another kernel": ("(scaled<2>, 8, 128, 0, 0, out, n)", "is not part of doubled"),
    "one operand more": ("(doubled, 8, 128, 0, 0, 0, in, out, n)", "cannot be read"),
    "one operand less": ("(doubled, 8, 128, 0, in, out, n)", "cannot be read"),
    "a pointer": ("(doubled, *in, 128, 0, 0, in, out, n)", "with `*`"),
    "a launch within": ("(doubled, 8, 128, (scaled<2><<<1, 1>>>(out, n), 0), 0, in, out, n)", ""),
}


@pytest.mark.parametrize("name", every(3, REFUSED_BY_MACRO))
def test_nothing_but_the_shape_of_a_macro_s_launch_is_adopted(taken_by_macro, name):
    launch, words = REFUSED_BY_MACRO[name]
    found = taken_by_macro(BY_MACRO.replace(DOUBLED_BY_MACRO, launch), "doubled")
    assert found.spliced is None and words in found.verdict.reason, found.verdict


OWN_MACRO = """\
#undef hipLaunchKernelGGL
#define hipLaunchKernelGGL(k, g, b, l, s, ...) k<<<b, g, l, s>>>(__VA_ARGS__)
"""


@pytest.mark.parametrize(
    "old, new, words",
    [
        ("#define CHECK(", OWN_MACRO + "#define CHECK(", "as the source defines it"),
        ("hipLaunchKernelGGL" + DOUBLED_BY_MACRO, "CHECK(hipLaunchKernelGGL" + DOUBLED_BY_MACRO + ")", "is made by a macro"),
    ],
)
def test_macros_that_do_something_else_are_refused(taken_by_macro, old, new, words):
    baseline = BY_MACRO.replace(old, new, 1)
    assert baseline != BY_MACRO
    found = taken_by_macro(baseline.replace("dim3((n + 127) / 128), threads", "8, 128"), "doubled", baseline)
    assert found.spliced is None and words in found.verdict.reason, found.verdict


@pytest.mark.slow
def test_a_macro_s_launch_is_replayed_in_its_new_shape(tmp_path):
    path = tmp_path / "program.hip"
    path.write_text(BY_MACRO)
    with judging_kernels(path, MACRO_COMMAND, tmp_path) as judge:
        for launch, accepted in (("(n + 255) / 256, 256", True), ("n / 256, 256", False)):
            verdict = judge("doubled", BY_MACRO.replace("dim3((n + 127) / 128), threads", launch))
            assert verdict.accepted is accepted, verdict


# ---- what the replays show ----


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    with judging_kernels(PROGRAM, COMMAND, tmp_path_factory.mktemp("shaped")) as judge:
        yield judge


HONEST = {
    "a wave per row": ("sums", changed((SUMS, "<<<(rows + 3) / 4, 256>>>"), (ONE_ROW, BY_WAVES))),
    "another block": ("doubled", changed((DOUBLED, "<<<(n + 255) / 256, 256>>>"))),
    "a workgroup per row with dynamic LDS": ("sums", changed((SUMS, "<<<rows, 64, 64 * 4>>>"), (ONE_ROW, STAGED))),
    "four items per thread": ("doubled", changed((DOUBLED, "<<<(n + 511) / 512, kMapBlock>>>"), (ONE_ITEM, FOUR_ITEMS))),
}
# name -> (kernel, candidate, words of the equivalence step's reason)
CHEATS = {
    "too few workgroups for other sizes": ("sums", changed((SUMS, "<<<rows / 4, 256>>>"), (ONE_ROW, BY_WAVES)), "rows ="),
    "too few workgroups": ("sums", changed((SUMS, "<<<rows / 4 - 1, 256>>>"), (ONE_ROW, BY_WAVES)), "captured inputs"),
    "workgroups beyond the end": (
        "sums",
        changed((SUMS, "<<<(rows + 3) / 4 + 1, 256>>>"), (ONE_ROW, BY_WAVES.replace("  if (row >= rows) return;\n", ""))),
        "",
    ),
    "too little LDS": ("sums", changed((SUMS, "<<<rows, 256, 64>>>"), (ONE_ROW, STAGED)), ""),
    "no barrier": (
        "sums",
        changed((SUMS, "<<<rows, 256, 1024>>>"), (ONE_ROW, STAGED.replace("  __builtin_amdgcn_s_barrier();\n", ""))),
        "",
    ),
}  # fmt: skip
QUICKLY = ("a wave per row", "four items per thread", "too few workgroups for other sizes", "workgroups beyond the end")


def expect(judged, name: str) -> None:
    if name in HONEST:
        kernel, text = HONEST[name]
        verdict = judged(kernel, text)
        assert verdict.accepted, verdict.rejection
        step = next(one for one in verdict.steps if one.step == "equivalence")
        assert all(capture.candidate_launch is not None for capture in step.evidence.captures)
        return
    kernel, text, words = CHEATS[name]
    rejection = judged(kernel, text).rejection
    assert rejection is not None, "accepted"
    assert rejection.step == "equivalence" and re.search(words, rejection.reason), rejection


@pytest.mark.parametrize("name", QUICKLY)
def test_every_case_is_replayed_in_the_shape_that_the_host_would_give_it(judged, name):
    expect(judged, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in (*HONEST, *CHEATS) if name not in QUICKLY])
def test_every_other_case_is_replayed_in_that_shape_as_well(judged, name):
    expect(judged, name)


@pytest.mark.parametrize(
    "launch",
    [
        "<<<8, 128>>>",
        "<<<(n + 100000) / 12000, 128>>>",
        "<<<n / n * 8, 128>>>",
        "<<<8 + n / 1001, 128>>>",
        "<<<n % 1001 / 125, 128>>>",
    ],
)
def test_a_grid_for_the_captured_size_alone_is_refused(judged, launch):
    """The buffers have no room for larger sizes, so no replay could show it."""
    rejection = judged("doubled", changed((DOUBLED, launch))).rejection
    assert rejection.step == "source" and "does not grow as the baseline's" in rejection.reason, rejection


def test_a_launch_that_overflows_for_larger_sizes_is_refused(judged):
    rejection = judged("doubled", changed((DOUBLED, "<<<n * 1000000 / 125000000 + (n + 127) / 128, 128>>>"))).rejection
    assert rejection.step == "source" and "int cannot hold" in rejection.reason, rejection


def test_a_launch_that_hip_refuses_is_refused(judged):
    rejection = judged("doubled", changed((DOUBLED, "<<<(n + 2047) / 2048, 2048>>>"))).rejection
    assert rejection.step == "source" and "workgroups of 2048 work-items" in rejection.reason


@pytest.mark.slow
def test_softmax_by_waves_is_accepted_in_its_program(repository, rocm_perf, tmp_path):
    """One thread per row becomes one wave per row: through all steps, with the gain that the model predicts."""
    for name in ("softmax.hip", "check.h"):
        shutil.copy(repository / "testbed" / name, tmp_path)
    source = tmp_path / "softmax.hip"
    text = source.read_text()
    start = text.index("{", text.index("__global__ void softmax_naive"))
    launch = "<<<(rows + kNaiveThreads - 1) / kNaiveThreads, kNaiveThreads>>>"
    faster = text[:start] + SOFTMAX + text[text.index("\n}\n", start) :]
    (tmp_path / "faster.hip").write_text(faster.replace(launch, "<<<(rows + 3) / 4, 256>>>"))
    words = [source, tmp_path / "faster.hip", f"{tmp_path}/softmax --rows 128 --cols 128"]
    done = rocm_perf("gate", "--seed", 7, "--ulps", 600, "--check", "grep -q PASS", "--json", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr + done.stdout
    steps = {one["step"]: one for one in json.loads(done.stdout)["steps"]}
    assert steps["source"]["evidence"]["launch"]["after"] == "(rows + 3) / 4, 256"
    (one,) = steps["equivalence"]["evidence"]["captures"]
    assert one["candidate_launch"]["grid"] == [32 * 256, 1, 1] and one["grid"] == [256, 1, 1]
    assert steps["measurement"]["evidence"]["ratio"] < 0.16


SOFTMAX = """{
  const int lane = threadIdx.x % 64, row = blockIdx.x * 4 + threadIdx.x / 64;
  if (row >= rows) return;
  const float* x = in + static_cast<size_t>(row) * cols;
  float* y = out + static_cast<size_t>(row) * cols;
  float maximum = x[0], sum = 0;
  for (int i = lane; i < cols; i += 64) maximum = fmaxf(maximum, x[i]);
  for (int step = 32; step > 0; step /= 2) maximum = fmaxf(maximum, __shfl_xor(maximum, step));
  for (int i = lane; i < cols; i += 64) sum += expf(x[i] - maximum);
  for (int step = 32; step > 0; step /= 2) sum += __shfl_xor(sum, step);
  for (int i = lane; i < cols; i += 64) y[i] = expf(x[i] - maximum) / sum;"""
