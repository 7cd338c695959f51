"""Kernels for all kinds of numbers: results that were not computed are rejected by name, honest changes are accepted."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate_judge import judging_kernels
from slow_variants import every

PROGRAM = Path(__file__).parents[1].joinpath("types.hip")
SOURCE = PROGRAM.read_text()
COMMAND = ("hipcc", "-O2", "-nogpuinc", "--offload-arch=gfx942", "-Wno-unused-command-line-argument")

# kernel -> (what it does, the captured answer without the work, the element that the rejection names)
CONSTANT = {
    "vectors": ("in[thread()] * 2.0f", "Four(48.0f)", "out[0][0]"),
    "pairs": ("Pair{p.a + p.b, p.a - p.b}", "Pair{48.0f, 0.0f}", "out[0].a"),
    "mixed": ("m.weight * m.code[1] + m.tag", "48.0", "out[0]"),
    "integers": ("in[thread()] * 3 + 1", "7", "out[0]"),
    "colors": ("unsigned(in[thread()]) + is[thread()]", "4", "out["),
    "brains": ("__bf16(float(in[thread()]) * 2.0f)", "__bf16(0.5f)", "out[0]"),
    "packed": ("in[thread()] * in[thread()]", "Halves(_Float16(4.0f))", "out[0][0]"),
    "eighths": ('bits == 0x80 ? __builtin_nanf("") : value', "0.25f", "out["),
    "grouped": ("a.in[thread()] * a.scale", "48.0f", "a.out[0]"),
    "batched": ("in[batch][i] + 1.0f", "48.0f", "out[0][0]"),
    "gather": ("in[index[thread()]]", "48.0f", "out[0]"),
    "squared": ("c.re * c.re - c.im * c.im", "T(48)", "out[0].re"),
}


# kernel -> (text that is wrong only on inputs other than the captured ones, words of the rejection)
OTHERWISE_WRONG = {
    "vectors": (("in[thread()] * 2.0f", "in[thread()] * (in[thread()].w > 4.0f ? 3.0f : 2.0f)"), "out["),
    "pairs": (("p.a - p.b", "(p.b != p.b ? 1.0f : p.a - p.b)"), "].b: baseline nan"),
    "integers": (("in[thread()] * 3 + 1", "in[thread()] * 3 + (in[0] == 0 ? 1 : 2)"), "on integers shuffled: out["),
    "colors": (("unsigned(in[thread()]) +", "(thread() % 3 ? thread() % 2 ? 1 : 4 : 9) +"), "on integers shuffled: out["),
    "brains": (("float(in[thread()]) *", "(in[thread()] > __bf16(4.5f) ? 0.0f : float(in[thread()])) *"), ": out["),
    "eighths": (("(bits & 0x80) << 24", "0"), "out["),
    "grouped": (("a.scale", "(a.scale == 1.5f ? 1.5f : 0.0f)"), "a.scale = "),
    "batched": (("in[batch][i] + 1.0f", "(in[batch][i] > 4.5f ? 0.0f : in[batch][i] + 1.0f)"), ": out["),
    "gather": (("in[index[thread()]]", "in[thread() * 37 % 128]"), "on integers shuffled: out["),
    "rows": (("i < first[thread() + 1]", "i < first[thread() + 1] && i < first[thread()] + 3"), "on integers shuffled: y["),
    "scatter": (("index[thread()]] = in", "thread() * 37 % 128] = in"), "on integers shuffled: out["),
    "squared": (("N * c.re", "(c.re > 4.5 ? 0 : N * c.re)"), "].im: baseline"),
    "chained": (("head->next->value", "2.5f"), "out["),
}

HONEST = {
    "vectors": ("in[thread()] * 2.0f", "in[thread()] + in[thread()]"),
    "pairs": ("out[thread()] = Pair{p.a + p.b, p.a - p.b}", "out[thread()].b = p.a - p.b; out[thread()].a = p.b + p.a"),
    "mixed": ("m.weight * m.code[1] + m.tag", "__builtin_fma(m.weight, double(m.code[1]), double(m.tag))"),
    "integers": ("in[thread()] * 3 + 1", "(in[thread()] << 1) + in[thread()] + 1"),
    "brains": ("float(in[thread()]) * 2.0f", "float(in[thread()]) + float(in[thread()])"),
    "packed": ("in[thread()] * in[thread()]", "Halves{in[thread()].x * in[thread()].x, in[thread()].y * in[thread()].y}"),
    "eighths": ("(bits & 0x7f) << 20) * 0x1p119f", "(bits & 0x7f) << 20) * 0x1p60f * 0x1p59f"),
    "grouped": ("if (thread() < a.n) a", "if (thread() >= a.n) return; a"),
    "batched": ("out[batch][i] = in[batch][i]", "float* const mine = out[batch]; mine[i] = in[batch][i]"),
    "gather": ("out[thread()] = in[index[thread()]]", "const float* const x = in + index[thread()]; out[thread()] = *x"),
    "scatter": ("out[index[thread()]] = in[thread()]", "const float x = in[thread()]; out[index[thread()]] = x"),
    "rows": ("float sum = 0;", "float sum = 0; const int end = first[thread() + 1];"),
    "squared": ("c.re * c.re - c.im * c.im", "c.re * c.re - c.im * c.im + T(0)"),
    "chained": ("head->value + head->next->value", "head->next->value + head->value"),
}


@pytest.fixture(scope="module")
def judge(tmp_path_factory, hipcc):
    with judging_kernels(PROGRAM, COMMAND, tmp_path_factory.mktemp("types")) as judged:
        yield judged


def changed(old: str, new: str) -> str:
    assert SOURCE.count(old) == 1, old
    return SOURCE.replace(old, new)


def equivalence(verdict):
    return next(step for step in verdict.steps if step.step == "equivalence")


@pytest.mark.parametrize("kernel", every(2, CONSTANT))
def test_a_constant_is_rejected_and_its_place_is_named(judge, kernel):
    old, new, element = CONSTANT[kernel]
    verdict = judge(kernel, changed(old, new))
    assert verdict.rejection is not None and verdict.rejection.step == "equivalence"
    assert f"{element}" in verdict.rejection.reason
    found = verdict.rejection.evidence.difference
    assert found.element.startswith(element) and found.parameter == element.split("[")[0].split(".")[0]
    assert 0 < found.differing <= found.of and found.baseline != found.candidate


@pytest.mark.parametrize("kernel", every(3, OTHERWISE_WRONG))
def test_a_candidate_that_is_right_only_on_captured_inputs_is_rejected(judge, kernel):
    (old, new), words = OTHERWISE_WRONG[kernel]
    verdict = judge(kernel, changed(old, new))
    assert verdict.rejection is not None and verdict.rejection.step == "equivalence"
    assert verdict.rejection.evidence.captures[0].cases["captured inputs"] == "equal"
    assert words in verdict.rejection.reason


@pytest.mark.parametrize("kernel", every(4, HONEST))
def test_an_honest_change_is_accepted(judge, kernel):
    verdict = judge(kernel, changed(*HONEST[kernel]))
    assert verdict.accepted, verdict.rejection
    assert ("unproven" in equivalence(verdict).reason) == (kernel == "chained")
