"""Tricks that the gate must see through, and honest changes that it must let pass, each through its public interface."""

from __future__ import annotations

import re
import time
from pathlib import Path

import numpy as np
import pytest

from gate_judge import judge_of
from rocm_perf_lab.gate.equivalence import case_comparison
from rocm_perf_lab.gate.equivalence.equivalence_options import EquivalenceOptions
from rocm_perf_lab.gate.judge import GateOptions
from rocm_perf_lab.gate.verdict import StepOutcome
from slow_variants import every, only

SOURCE = Path(__file__).with_name("program.hip").read_text()
LOOP = SOURCE[SOURCE.index("  for (int i = 0; i < width; ++i) {") : SOURCE.index("  out[row] = sum")]
END = "  out[row] = sum * weight;\n  first[row] = found;\n"
STAGE = SOURCE[SOURCE.index("  staged[lane()") : SOURCE.index("  barrier();\n  if")]
OTHER_STAGE = """\
  const int other = block() * 4 + (lane() / 64 ^ 1);
  staged[lane() / 64 ^ 1][column] = other < count && column < width ? in[other * width + column] : 0;
"""
PARAMETERS = "const float* in, float* out, int* first, float* work, int count, int width, float weight"


def changed(*pairs: tuple[str, str]) -> str:
    text = SOURCE
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


# name -> (source, step that rejects it, words of its reason)
CHEATS = {
    "does nothing": (changed((LOOP, ""), (END, "")), "equivalence", "leaves"),
    "skips the last row": (changed(("row >= count || column", "row >= count - 1 || column")), "equivalence", "differ"),
    "skips every other column": (changed(("i < width; ++i) {", "i < width; i += 2) {")), "equivalence", "differ"),
    "trusts an earlier result": (changed((LOOP, "  if (out[row] != 0) return;\n" + LOOP)), "equivalence", "outputs filled"),
    "adds to what is there": (changed(("out[row] = sum * weight", "out[row] += sum * weight")), "equivalence", "outputs filled"),
    "keeps results in a variable": (
        changed(("constexpr int kRow = 64;", "constexpr int kRow = 64;\n__device__ float kept[64];"), (END, "  if (kept[row] == 0) kept[row] = sum * weight;\n  out[row] = kept[row];\n  first[row] = found;\n")),
        "source", "is not part of rows",
    ),
    "keeps results in a local static": (
        changed((END, "  static __device__ float kept[64];\n  if (kept[row] == 0) kept[row] = sum * weight;\n  out[row] = kept[row];\n  first[row] = found;\n")),
        "source", "outlives a launch",
    ),
    "keeps results in a work buffer": (changed((END, "  if (row == 0) work[0] = sum;\n" + END)), "equivalence", "does not change"),
    "leaves the work to the next launch": (
        changed((LOOP, "  if (width == 40 && work[0] == 0) { work[0] = 1; return; }\n" + LOOP)), "equivalence", "",
    ),
    "writes behind its output": (changed((END, END + "  if (row == count - 1) out[count] = 0.25f;\n")), "equivalence", ""),
    "writes to its input": (changed((END, END + "  const_cast<float*>(in)[row * width] = 0;\n")), "equivalence", ""),
    "needs no barrier by luck": (
        changed((STAGE, OTHER_STAGE), ("  barrier();\n  if (row", "  if (row")), "equivalence", "",
    ),
    "reads a neighbour's row before it is there": (
        changed(("  barrier();\n  if (row", "  float early = staged[lane() / 64 ^ 1][column];\n  barrier();\n  if (row"), (END, "  if (early == 1234.5f) sum = 0;\n" + END)),
        "equivalence", "",
    ),
    "fills with NaN": (changed(("out[row] = sum * weight", "out[row] = __builtin_nanf(\"\")")), "equivalence", "differ"),
    "relies on LDS being zero": (
        changed((STAGE, "  if (row < count && column < width) staged[lane() / 64][column] = in[row * width + column];\n"), ("i < width; ++i) {", "i < kRow; ++i) {")),
        "equivalence", "",
    ),
    "is wrong on other widths": (changed(("i < width; ++i) {", "i < (width & ~7); ++i) {")), "equivalence", "width ="),
    "is wrong on larger numbers": (
        changed((LOOP, LOOP.replace("sum += x * x", "sum += x > 4 || x < -4 ? 16.0f : x * x"))), "equivalence", "on ",
    ),
    "is wrong on NaN": (changed((LOOP, LOOP.replace("x > 0", "!(x <= 0)"))), "equivalence", "NaN"),
    "is wrong on denormals": (changed((LOOP, LOOP.replace("x > 0", "x > 1e-30f"))), "equivalence", "denormals"),
    "does not end on NaN": (changed((LOOP, LOOP.replace("sum += x * x", "while (x != x) asm volatile(\"s_nop 0\");\n    sum += x * x"))), "equivalence", "NaN"),
    "knows the weight": (changed(("sum * weight", "sum * (weight == 0.5f ? 0.5f : 2.0f)")), "equivalence", "weight ="),
    "adds in a different order": (
        changed((LOOP, "  float odd = 0;\n" + LOOP.replace("sum += x * x", "if (i & 1) odd += x * x; else sum += x * x")), ("sum * weight", "(sum + odd) * weight")),
        "equivalence", "differ",
    ),
    "adds in half precision": (changed((LOOP, LOOP.replace("x * x;", "float(_Float16(x) * _Float16(x));"))), "equivalence", "differ"),
    "adds by atomics in any order": (
        changed(("row >= count || column != 0", "row >= count || column >= width"), (LOOP, LOOP.replace("int i = 0; i < width; ++i", "int i = column; i <= column; ++i").replace("int found", "int found")), (END, "  if (column == 0) out[row] = 0, first[row] = found;\n  __hip_atomic_fetch_add(out + row, sum * weight, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);\n")),
        "equivalence", "",
    ),
    "takes more LDS than there is": (changed(("float staged[4][kRow]", "float staged[400][kRow]")), "build", "local memory"),
    "launches otherwise": (changed(("(count + 3) / 4, 256", "(count + 3) / 4, 192")), "equivalence", ""),
    "takes another argument": (changed((PARAMETERS, PARAMETERS + ", int extra = 0")), "source", ""),
    "promises smaller workgroups": (changed(("__global__ void rows", "__global__ __attribute__((amdgpu_flat_work_group_size(1, 192))) void rows")), "source", "256 threads"),
    "prints what it wants": (changed(('printf("%g\\n", last)', 'printf("%g\\n", last + 1)')), "source", "is not part of rows"),
    "hides a change in a macro": (changed(("static void launch", "#define count 1\nstatic void launch")), "source", ""),
    "does not compile": (changed((LOOP, LOOP.replace("x * x", "x * y"))), "source", "cannot be read"),
}  # fmt: skip

HONEST = {
    "renamed locals": changed((LOOP, LOOP.replace("x", "value").replace("(int i", "(int i"))),
    "a pragma": changed((LOOP, "#pragma unroll 4\n" + LOOP)),
    "unrolled by hand": changed((LOOP, "  int i = 0;\n" + "".join(["  for (; i + 1 < width; i += 2) {\n", *(f"    {{ const float x = staged[lane() / 64][i + {k}]; sum = __builtin_fmaf(x, x, sum); if (found < 0 && x > 0) found = i + {k}; }}\n" for k in (0, 1)), "  }\n", LOOP.replace("int i = 0; ", "; ").replace("sum += x * x", "sum = __builtin_fmaf(x, x, sum)")]))),
    "two loops": changed((LOOP, "  for (int i = 0; i < width; ++i) sum += staged[lane() / 64][i] * staged[lane() / 64][i];\n  for (int i = 0; i < width && found < 0; ++i) if (staged[lane() / 64][i] > 0) found = i;\n")),
    "backwards search": changed((LOOP, LOOP.replace("    if (found < 0 && x > 0) found = i;\n", "") + "  for (int i = width - 1; i >= 0; --i) if (staged[lane() / 64][i] > 0) found = i;\n")),
    "while": changed((LOOP, LOOP.replace("for (int i = 0; i < width; ++i) {", "int i = 0;\n  while (i < width) {").replace("found = i;", "found = i;\n    ++i;"))),
    "a pointer to the row": changed((LOOP, "  const float* const mine = staged[lane() / 64];\n" + LOOP.replace("staged[lane() / 64][i]", "mine[i]"))),
    "explicit fma": changed((LOOP, LOOP.replace("sum += x * x", "sum = __builtin_fmaf(x, x, sum)"))),
    "a helper": changed(("constexpr int kRow = 64;", "constexpr int kRow = 64;\n__device__ inline bool positive(float x) { return x > 0; }"), (LOOP, LOOP.replace("x > 0", "positive(x)"))),
    "select for if": changed((LOOP, LOOP.replace("if (found < 0 && x > 0) found = i;", "found = found < 0 && x > 0 ? i : found;"))),
    "other operand order": changed((LOOP, LOOP.replace("found < 0 && x > 0", "x > 0 && found < 0"))),
    "padded LDS": changed(("staged[4][kRow]", "staged[4][kRow + 1]")),
    "transposed LDS": SOURCE.replace("staged[4][kRow]", "staged[kRow][4]").replace("staged[lane() / 64][column]", "staged[column][lane() / 64]").replace("staged[lane() / 64][i]", "staged[i][lane() / 64]"),
    "vector reads of LDS": changed(("__shared__ float staged", "__shared__ __attribute__((aligned(16))) float staged"), (LOOP, "  typedef float Four __attribute__((ext_vector_type(4)));\n  for (int b = 0; b < kRow; b += 4) {\n    const Four four = *reinterpret_cast<const Four*>(&staged[lane() / 64][b]);\n    for (int k = 0; k < 4; ++k) {\n      const int i = b + k;\n      if (i >= width) break;\n      const float x = four[k];\n      sum += x * x;\n      if (found < 0 && x > 0) found = i;\n    }\n  }\n")),
    "no staging": changed((STAGE, ""), ("  __shared__ float staged[4][kRow];\n", ""), ("  barrier();\n  if (row", "  if (row"), (LOOP, LOOP.replace("staged[lane() / 64][i]", "in[row * width + i]"))),
    "hoisted row": changed(("in[row * width + column]", "(in + row * width)[column]")),
    "stages without zeros": changed((STAGE, "  if (row < count && column < width) staged[lane() / 64][column] = in[row * width + column];\n")),
    "a second barrier": changed(("  barrier();\n  if (row", "  barrier();\n  barrier();\n  if (row")),
    "early stop of the search": changed((LOOP, "  bool searching = true;\n" + LOOP.replace("if (found < 0 && x > 0) found = i;", "if (searching && x > 0) found = i, searching = false;"))),
    "another lane": changed(("column != 0) return", "column != 63) return")),
    "stores the other way round": changed((END, "  first[row] = found;\n  out[row] = sum * weight;\n")),
    "unsigned index": changed((LOOP, LOOP.replace("int i = 0; i < width", "unsigned i = 0; i < unsigned(width)").replace("found = i", "found = int(i)"))),
}  # fmt: skip


ENDLESS = "does not end on NaN"  # the judge waits for it until its time limit


@pytest.mark.parametrize("name", only([name for name in CHEATS if name != ENDLESS], CHEATS))
def test_a_trick_is_rejected_where_it_should_be(judge, name):
    source, step, words = CHEATS[name]
    rejection = judge(source).rejection
    assert rejection is not None, "accepted"
    assert rejection.step == step and words in rejection.reason, rejection


@pytest.mark.parametrize("name", every(4, HONEST))
def test_an_honest_change_is_accepted(judge, name):
    verdict = judge(HONEST[name])
    assert verdict.accepted, verdict.rejection
    cases = {case for step in verdict.steps for entry in getattr(step.evidence, "captures", []) for case in entry.cases.items()}
    assert ("shuffled", "equal") in cases and ("order 2", "equal") in cases
    for share in ("one", "a few", "an eighth"):
        assert (f"{share} of the numbers changed of in, outputs as after the captured inputs", "equal") in cases
    assert {("nearby values", "equal"), ("order 2, nearby values", "no race")} <= cases
    raced = " ".join(name for name, outcome in cases if outcome == "no race")
    assert all(f", {number} = " in raced for number in ("count", "width", "weight")), raced


def test_the_time_limit_of_a_candidate_follows_from_the_baselines_time(program, monkeypatch):
    """The limit is in seconds of wall time: no instruction count ends this loop."""
    monkeypatch.setattr(case_comparison, "_MIN_SECONDS", 5.0)
    monkeypatch.setattr(case_comparison, "_TIME_FACTOR", 0)
    tried = EquivalenceOptions(device="gfx942", instruction_limit=10**13, seed=1)
    options = GateOptions(equivalence=tried, with_measurement=False)
    began = time.monotonic()
    with judge_of(*program[:1], "rows", program[1][:1], options) as gate:
        rejection = gate.judge(CHEATS["does not end on NaN"][0].encode()).rejection
    assert rejection.step == "equivalence" and "NaN" in rejection.reason and "5 s" in rejection.reason, rejection
    assert time.monotonic() - began < 120


def test_returning_the_captured_results_is_rejected(judge, program):
    """The strongest trick: its results are right on both captures."""
    _, captures = program
    tables = []
    for number, one in enumerate(captures):
        kernarg = (one.path / "kernarg.bin").read_bytes()
        out, first, (count,) = (*np.frombuffer(kernarg, "<u8", 4)[1:3].tolist(), np.frombuffer(kernarg, "<i4", 9)[8:].tolist())
        sums = np.frombuffer(one.memory(out, 4 * count, after=True), "<f4")
        found = np.frombuffer(one.memory(first, 4 * count, after=True), "<i4")
        texts = ", ".join(f"{float(x).hex()}f" for x in sums), ", ".join(map(str, found))
        tables.append(
            f"  constexpr float sums{number}[] = {{{texts[0]}}};\n  constexpr int found{number}[] = {{{texts[1]}}};\n"
        )
    answers = "  out[row] = count == 50 ? sums0[row] : sums1[row];\n  first[row] = count == 50 ? found0[row] : found1[row];\n"
    verdict = judge(changed((LOOP, "".join(tables)), (END, answers), ("  float sum = 0;\n  int found = -1;\n", "")))
    (step,) = [step for step in verdict.steps if step.outcome is StepOutcome.REJECTED]
    cases = step.evidence.captures[0].cases
    assert step.step == "equivalence" and cases["captured inputs"] == "equal" and "differs" in cases.values()
    assert re.search(r"on (shuffled|observed range)", step.reason)
