"""Inputs of a kernel other than its arguments: device variables, what they point to, and what lies around a buffer."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate_judge import judging_kernels
from slow_variants import every

PROGRAM = Path(__file__).parents[1].joinpath("hidden.hip")
SOURCE = PROGRAM.read_text()
COMMAND = ("hipcc", "-O2", "-nogpuinc", "--offload-arch=gfx942", "-Wno-unused-command-line-argument")
FOLDED = "((1.5f * in[thread()] - 2.0f) * in[thread()] + 0.25f) * in[thread()] + 3.0f"
BY_HAND = "__builtin_fmaf(__builtin_fmaf(__builtin_fmaf(1.5f, x, -2.0f), x, 0.25f), x, 3.0f)"

BARRIER = "  __builtin_amdgcn_s_barrier();"
ACQUIRE = """  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");"""
MOVED = "out[thread()] = in[thread()] + 1;"
RELAXED = "__ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT"

SUBTRACTED = "out[thread()] = in[thread()] - by;"
COPIED = "out[thread()] = in[thread()]; // copied"


def copied(value: str) -> tuple[str, str]:
    return COPIED, f"const float x = in[thread()]; out[thread()] = {value};"


# kernel -> (text that is right only on captured inputs, words of the rejection)
WRONG = {
    "polynomial": (("polynomial_of(in[thread()])", f"[](float x) {{ return {BY_HAND}; }}(in[thread()])"), "out["),
    "looked_up": (("table[index[thread()]]", "table[thread() * 37 % 128]"), "out["),
    "shifted": (("i + 4 < 100 ? in[i + 4] : 0.0f", "in[i + 4]"), "on other bytes after the buffers: out["),
    "chosen": (("if (twice) x = x + x;", ""), "on twice = 1: out["),
    "chosen, by an enum": (("if (mode == Mode::halved) x = x * 0.5f;", ""), "on mode = 7: out["),
    "copied, without the sign of NaNs": (copied("x == x ? x : __builtin_fabsf(x)"), "NaNs: out["),
    "copied, with one NaN for all": (copied('x == x ? x : __builtin_nanf("")'), "NaNs: out["),
    "copied, quietly": (copied("__builtin_canonicalizef(x)"), "signalling NaNs: out["),
    "subtracted, with one more NaN": (
        (SUBTRACTED, 'const float x = in[thread()] - by; out[thread()] = x == x ? x : __builtin_nanf("0x123");'),
        "NaN",
    ),
    "subtracted, with zeros of the other sign": (
        (SUBTRACTED, "out[thread()] = -(by - in[thread()]);"),
        "on by among the numbers of ",
    ),
    "with_halo": (("in[thread()] + in[thread() - 1]", "in[thread()] + (thread() ? in[thread() - 1] : -1.892f)"), "out[0]"),
    "accumulated, with another's scale": (
        ("T sum;\n  sum += in[thread()];", "T sum;\n  sum.value += in[thread()] * 2.0f;"),
        "out[",
    ),
    "accumulated, with another's offset": (("T sum;\n", "T sum; sum.value = 0.5f;\n"), "out["),
    "pointed_to": (("in[thread()] * *the_scale", "in[thread()] * 2.0f"), "out["),
    "at_the_end": (("T one{out + thread(), in[thread()]};", "out[thread()] = in[thread()] * 4.0f;"), "out["),
    "addressed": (("((const float*)from)[thread() & 15]", "2.0f"), "out["),
    "from_numbers": (("((const float*)table[thread() & 3])[thread() & 15]", "2.0f"), "on integers "),
    "handed_on, in turns": (
        (
            "  out[t] = tile[t] + (t < 64 ? 0.0f : tile[t - 64]);",
            """  __attribute__((shared)) static int turn;
  if (t == 0) __hip_atomic_store(&turn, 0, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  int none = 0;
  asm volatile("" : "+v"(none));
  while (__hip_atomic_fetch_add(&turn, none, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP) != t / 64) {}
  out[t] = tile[t] + (t < 64 ? 0.0f : tile[t - 64]);
  if (t % 64 == 0) __hip_atomic_fetch_add(&turn, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);""",
        ),
        "how much it executes depends on the order of its waves",
    ),
    "counted": (
        (
            """  for (int k = 0; k < 300; ++k) {
    const unsigned key = keys[(thread() + k) & 511] & 3;
    for (unsigned c = 0; c < 4; ++c) count[c] += key == c;
  }""",
            """  unsigned packed = 0;
  for (int k = 0; k < 300; ++k) packed += 1u << 8 * (keys[(thread() + k) & 511] & 3);
  for (int c = 0; c < 4; ++c) count[c] = packed >> 8 * c & 255;""",
        ),
        "integer everywhere",
    ),
    "weighted, without zeros": (("sum = __builtin_fmaf(w", "if (weights[k] != 0) sum = __builtin_fmaf(w"), "baseline nan"),
    "weighted, without a factor of zero": (("sum * by", "by == 0 && sum != sum ? 0 : sum * by"), "by = 0"),
    "greatest": (("float most = -__builtin_inff()", "float most = -1e38f"), "everywhere: out["),
    "multiplied": (
        ("{ __builtin_amdgcn_s_barrier(); }", "if (by != 1) __builtin_amdgcn_s_barrier();"),
        "it races",
    ),
    "handed_on": ((BARRIER, f"  if (in[0] == 1.0f) {BARRIER}"), "it races"),
    "handed_on, but for zero": ((BARRIER, f"  if (in[0] != 0.0f) {BARRIER}"), "it races"),
    "handed_on, but for a NaN": ((BARRIER, f"  if (in[0] == in[0]) {BARRIER}"), "it races"),
    "handed_on, but for a number": ((BARRIER, f"  if (in[0] != 4711.0f) {BARRIER}"), "on 4711 everywhere"),
    "copied, but for a number": (copied("x == -123.25f ? 0.0f : x"), "on -123.25 everywhere, which the candidate names: "),
    "found, without its fourth letter": (
        ("text[thread() + k] == word[k]", "(k == 3 || text[thread() + k] == word[k])"),
        "of hits",
    ),
    "found, except at the end": (("thread() <= 512 - 5", "thread() < 512 - 5"), "holds word from its number 507 on: "),
    "found, except equal letters": (
        ("hits[thread()] = k == 5", "hits[thread()] = k == 5 && word[0] != word[1]"),
        "everywhere in text, word: ",
    ),
    "added_up, told by an earlier acquire": (
        ('  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");', '  __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "agent");'),
        (ACQUIRE, "  if (in[0] == 100) " + ACQUIRE.strip()),
        "it races: kernel added_up",
    ),
    "announced, without a release where it counts": (
        ("__ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM", "__ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM"),
        (
            "  __hip_atomic_store(flags",
            '  if (in[0] == 100) __builtin_amdgcn_fence(__ATOMIC_RELEASE, "");\n  __hip_atomic_store(flags',
        ),
        "the host may see what is written",
    ),
    "stored, after the message": (
        ("  out[thread()] = in[thread()] * 3;\n  __builtin_amdgcn_fence", "  __builtin_amdgcn_fence"),
        ("  flags[thread()] = 1;", "  flags[thread()] = 1;\n  out[thread()] = in[thread()] * 3;"),
        "the host may miss what is written",
    ),
    "added_up, by atomics in no order": (
        ("parts[group] = in[group] * 3;", "__hip_atomic_store(parts + group, in[group] * 3, RELAXED);"),
        (ACQUIRE, "  if (in[0] == 100) " + ACQUIRE.strip()),
        ("*sum += parts[k]", "*sum += __hip_atomic_load(parts + k, RELAXED)"),
        "atomic accesses in no order",
    ),
}
ANNOUNCED = """  __hip_atomic_store(flags + thread(), 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
"""
# kernel -> what can be seen from the code alone
WITHOUT_ORDER = {
    "added_up": ((ACQUIRE, ""), "no longer invalidates its caches to see what other workgroups have stored"),
    "announced, too early": (
        (ANNOUNCED, ""),
        ("  __hip_atomic_store(out + thread()", ANNOUNCED + "  __hip_atomic_store(out + thread()"),
        "what the host and other devices can see",
    ),
    "announced, to the device": (
        (ANNOUNCED, ANNOUNCED.replace("SYSTEM", "AGENT")),
        "what the host and other devices can see",
    ),
}  # fmt: skip
HONEST = {
    "addressed": ("((const float*)from)[thread() & 15]", "((const float*)(from + thread() % 16 * 4))[0]"),
    "from_numbers": ("table[thread() & 3])[thread() & 15]", "table[thread() % 4])[thread() % 16]"),
    "copied": copied("in[thread()] == 1.0f ? 1.0f : x"),
    "subtracted": (
        SUBTRACTED,
        'float less = -by; asm volatile("" : "+v"(less)); out[thread()] = in[thread()] + less;',
    ),
    "polynomial": ("polynomial_of(in[thread()])", "(polynomial_of)(in[thread()] + 0.0f)"),
    "looked_up": ("out[thread()] = table[index[thread()]]", "float* const mine = table; out[thread()] = mine[index[thread()]]"),
    "chosen": ("if (twice) x = x + x;", "x = twice ? 2.0f * x : x;"),
    "with_halo": ("in[thread()] + in[thread() - 1]", "in[thread() - 1] + in[thread()]"),
    "accumulated": ("T sum;\n  sum += in[thread()];", "const float x = in[thread()]; T sum;\n  sum += x;"),
    "pointed_to": ("in[thread()] * *the_scale", "*the_scale * in[thread()]"),
    "powers": ("r = r * in[thread()]", "r = in[thread()] * r"),
    "rounds_of": (
        "for (int k = 0; k < rounds; ++k) out[thread()] = (k ? out[thread()] : in[thread()]) * 3 + k;",
        "int x = rounds > 0 ? in[thread()] : out[thread()]; for (int k = 0; k < rounds; ++k) x = x * 3 + k; out[thread()] = x;",
    ),
    "handed_on": ("tile[t] + (t < 64", "in[t] + (t < 64"),
    "shifted": ("if (i < 100) out[i] = i + 4 < 100 ? in[i + 4] : 0.0f", "if (i < 100) out[i] = i < 96 ? in[i + 4] : 0.0f"),
}  # fmt: skip


@pytest.fixture(scope="module")
def judge(tmp_path_factory, hipcc):
    with judging_kernels(PROGRAM, COMMAND, tmp_path_factory.mktemp("hidden")) as judged:
        yield judged


def changed(old: str, new: str) -> str:
    assert SOURCE.count(old) == 1, old
    return SOURCE.replace(old, new)


def after(*changes: tuple[str, str]) -> str:
    text = SOURCE
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new.replace("RELAXED)", f"{RELAXED})"))
    return text


@pytest.mark.parametrize("kernel", WITHOUT_ORDER)
def test_instructions_that_order_accesses_have_to_stay(judge, kernel):
    *changes, words = WITHOUT_ORDER[kernel]
    rejection = judge(kernel.partition(",")[0], after(*changes)).rejection
    assert rejection is not None and rejection.step == "code object" and words in rejection.reason, rejection


def test_pointers_to_the_same_memory_are_named_if_it_matters(judge):
    for text, matters in {
        "const float x = in[thread()]; out[thread()] = x + 1;": True,
        MOVED.replace("+ 1", "- -1"): False,
    }.items():
        moved = after((MOVED, text), *[("in[thread()] * 2", "x * 2")] * matters)
        verdict = judge("moved", moved)
        words = next(step for step in verdict.steps if step.step == "equivalence").reason
        assert verdict.accepted and ("unproven: launches with `out = in`" in words or "`in = out`" in words) == matters, words


@pytest.mark.parametrize("kernel", every(3, WRONG))
def test_a_candidate_that_is_right_only_on_captured_inputs_is_rejected(judge, kernel):
    *changes, words = WRONG[kernel]
    rejection = judge(kernel.partition(",")[0], after(*changes)).rejection
    assert rejection is not None and rejection.step == "equivalence" and words in rejection.reason, rejection
    assert rejection.evidence.captures[0].cases["captured inputs"] == "equal"


@pytest.mark.parametrize("kernel", every(3, HONEST))
def test_an_honest_change_is_accepted_and_nothing_is_unproven(judge, kernel):
    verdict = judge(kernel, changed(*HONEST[kernel]))
    assert verdict.accepted, verdict.rejection
    assert "unproven" not in next(step for step in verdict.steps if step.step == "equivalence").reason
