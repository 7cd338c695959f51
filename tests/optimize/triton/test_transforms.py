"""The transformations of Triton functions: Python runs their texts on many sizes, with NumPy in place of Triton's language."""

from __future__ import annotations

import builtins
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf_lab.optimize.transforms import Proposal, Refusal
from rocm_perf_lab.optimize.triton.transforms import TRANSFORMS
from rocm_perf_lab.triton_source import TritonSource
from triton_candidates import MATMUL, SOFTMAX, SUMS

HEAD = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
BY_ELEMENTS = (
    HEAD
    + """\
def total(out, x, K, BLOCK: tl.constexpr):
    sum = 0.0
    for k in range(0, K, BLOCK):
        at = k + tl.arange(0, BLOCK)
        sum += tl.sum(tl.load(x + at, mask=at < K, other=0.0))
    tl.store(out, sum)
"""
)
BY_BLOCKS = (
    HEAD
    + """\
def total(out, x, K, BLOCK: tl.constexpr):
    sum = 0.0
    lanes = tl.arange(0, BLOCK)
    p = x + lanes
    for k in range(tl.cdiv(K, BLOCK)):
        rest = K - k * BLOCK
        sum += tl.sum(tl.load(p, mask=(lanes < rest) & (lanes > -1), other=0.0))
        p += BLOCK
    tl.store(out, sum)
"""
)


def answers(text: str, name: str) -> list[Proposal | Refusal]:
    source = TritonSource(Path("a.py"), text.encode())
    return list(TRANSFORMS[name](source, source.kernels[0], (2, 4)))


def proposed(text: str, name: str) -> list[str]:
    source = TritonSource(Path("a.py"), text.encode())
    texts = [source.edited(one.edits).text.decode() for one in answers(text, name) if isinstance(one, Proposal)]
    for one in texts:
        compile(one, "a.py", "exec")
    return texts


class Memory:
    """An array that records reads outside of it. Places are pointers as plain numbers."""

    def __init__(self, values: np.ndarray):
        self.values, self.unmasked = values, 0

    def load(self, at, mask=None, other=None, **_options):
        inside = np.broadcast_to(True if mask is None else mask, np.shape(at))
        self.unmasked += mask is None
        assert np.all((np.asarray(at)[inside] >= 0) & (np.asarray(at)[inside] < len(self.values)))
        return np.array([self.values[one] if here else other for one, here in zip(at, inside, strict=True)])


def run(text: str, values: np.ndarray, block: int) -> tuple[float, int]:
    """What the function stores, and how often it loaded without a mask."""
    memory, stored = Memory(values), []
    language = SimpleNamespace(
        arange=np.arange, load=memory.load, sum=np.sum, cdiv=lambda a, b: -(-a // b), constexpr=int,
        store=lambda _place, value: stored.append(value),
        range=lambda *bounds, **_options: builtins.range(*bounds),
    )  # fmt: skip
    body = text.replace("import triton\nimport triton.language as tl\n", "")
    names = {"tl": language, "triton": SimpleNamespace(jit=lambda function: function)}
    exec(body, names)
    names["total"](0, 0, len(values), block)
    return stored[0], memory.unmasked


@pytest.mark.parametrize("text", [BY_ELEMENTS, BY_BLOCKS], ids=["by elements", "by blocks"])
@given(count=st.integers(0, 40), block=st.sampled_from([1, 2, 8, 16]))
def test_full_blocks_sum_the_same_in_the_same_order(text, count, block):
    (changed,) = proposed(text, "full-blocks")
    values = np.random.default_rng(count).random(count) * 1e6
    before, after = run(text, values, block), run(changed, values, block)
    assert before[0] == after[0]
    assert before[1] == 0 and after[1] == (count // block if text == BY_ELEMENTS else 0)


@pytest.mark.parametrize("name", ["unroll", "pipeline"])
@given(count=st.integers(0, 40))
def test_options_of_a_loop_do_not_change_its_iterations(name, count):
    text = BY_ELEMENTS.replace("sum += tl.sum(", "sum += tl.dot(") if name == "pipeline" else BY_ELEMENTS
    texts = [one.replace("tl.dot(", "tl.sum(") for one in proposed(text, name)]
    values = np.random.default_rng(count).random(count)
    assert len(texts) == (3 if name == "pipeline" else 2)
    assert {run(one, values, 8)[0] for one in texts} == {run(BY_ELEMENTS, values, 8)[0]}


@pytest.mark.parametrize(
    "old, new",
    [
        ("at < K", "at <= K"),
        ("at < K", "at < K - 1"),
        ("range(0, K, BLOCK)", "range(1, K, BLOCK)"),
        ("tl.arange(0, BLOCK)", "tl.arange(0, 2 * BLOCK)"),
        ("tl.arange(0, BLOCK)", "tl.arange(1, BLOCK)"),
        ("        sum +=", "        K -= 1\n        sum +="),
        ("        sum +=", "        k += 1\n        sum +="),
        ("        sum +=", "        at += 1\n        sum +="),
        ("        at = k + tl.arange(0, BLOCK)\n", ""),
        ("        at = k + tl.arange(0, BLOCK)\n", "        if K > 3:\n            at = k + tl.arange(0, BLOCK)\n"),
        ("K, BLOCK):\n        at", "K, BLOCK):\n        for _ in range(2): pass\n        at"),
    ],
)
def test_full_blocks_refuses_other_masks(old, new):
    assert old in BY_ELEMENTS
    found = answers(BY_ELEMENTS.replace(old, new, 1), "full-blocks")
    assert found and all(isinstance(one, Refusal) for one in found)


def test_other_conditions_in_masks_stay():
    (changed,) = proposed(MATMUL, "full-blocks")
    assert "mask=(row[:, None] < M), other=0.0)" in changed and changed.count("(at[None, :] < K)") == 1


def test_a_configuration_is_one_step_from_the_launch():
    words = [one.description for one in answers(MATMUL, "configuration")]
    assert {"num_warps=2 instead of 1", "num_stages=3 instead of 2", "BLOCK_K=32 instead of 16"} <= set(words)
    assert any("BLOCK=128)" in text for text in proposed(SOFTMAX, "configuration"))
    assert any("BLOCK=64, num_warps=8)" in text for text in proposed(SOFTMAX, "configuration"))
    tuned = MATMUL.replace("@triton.jit", "@triton.autotune(configs=[], key=[])\n@triton.jit")
    (refusal,) = answers(tuned, "configuration")
    assert "autotune --triton" in refusal.reason


def test_reciprocals_replace_divisions_by_scalars():
    (changed,) = proposed(SOFTMAX, "reciprocal")
    assert "- top) * (1.0 / total)" in changed
    (again,) = proposed(HEAD + "def f(x, n):\n    tl.store(x, (tl.load(x) - n) / n)\n", "reciprocal")
    assert "(tl.load(x) - n) * (1.0 / n)" in again or "((tl.load(x) - n)) * (1.0 / n)" in again


def test_streams_are_hints_on_every_access():
    texts = proposed(SUMS, "streaming")
    assert len(texts) == 2 and all(text.count('cache_modifier=".cs"') == 1 for text in texts)
    (refusal,) = answers(HEAD + "def f(x):\n    tl.store(x, 1, cache_modifier='.wb')\n", "streaming")
    assert "already" in refusal.reason
