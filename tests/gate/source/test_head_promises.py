"""What a kernel's head promises beyond the baseline's, token by token."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from rocm_perf_lab.gate.source import head_promises
from rocm_perf_lab.gate.source.expanded_text_check import lex
from rocm_perf_lab.gate.source.head_promises import promises_of_head
from rocm_perf_lab.gate.source.promises import NO_PROMISES, Promises

BASELINE = "__global__ void k(int* p, const int* q, int n) "
BOUNDS = "__launch_bounds__"
ATTRIBUTE = "__attribute__((amdgpu_flat_work_group_size"


@pytest.fixture
def promised(monkeypatch):
    """promised(candidate's head, baseline's head) -> what it promises, or what is not allowed."""
    monkeypatch.setattr(head_promises, "tokens_of", lambda unit, start, end: list(lex(unit[start:end])))

    def kernel(head: str):
        declared = head[head.index("(int*") :] if "(int*" in head else ""
        parameters = [
            SimpleNamespace(name=one.split()[-1].strip("*)"), restrict="__restrict" in one) for one in declared.split(",")
        ]
        place = SimpleNamespace(start=2)
        return SimpleNamespace(name="k", span=place, body=SimpleNamespace(start=2 + len(head)), parameters=parameters)

    def of(head: str, baseline: str = BASELINE):
        old, new = (b"}\n" + text.encode() + b"{ restrict }" for text in (baseline, head))
        return promises_of_head(old, new, kernel(baseline), kernel(head))

    return of


@pytest.mark.parametrize(
    "head, expected",
    [
        (BASELINE, NO_PROMISES),
        (BASELINE.replace("int n", "const int n"), NO_PROMISES),
        (BASELINE.replace("p,", "__restrict__ p,"), Promises(restrict=("p",))),
        (BASELINE.replace("p,", "__restrict p,").replace("q,", "__restrict__ const q,"), Promises(restrict=("p", "q"))),
        (BASELINE.replace("void", f"{BOUNDS}(64) void"), Promises(threads=64)),
        (BASELINE.replace("void", f"{BOUNDS}(64, 2) void"), Promises(threads=64)),
        (BASELINE.replace("void", f"{ATTRIBUTE}(1, 128))) void"), Promises(threads=128)),
        (BASELINE.replace("p,", "__restrict__ p,").replace("void", f"{BOUNDS}(256) void"), Promises(("p",), (), 256)),
    ],
)  # fmt: skip
def test_attributes_that_the_head_adds_are_promises(promised, head, expected):
    assert promised(head) == expected


@pytest.mark.parametrize("old, new", [("p,", "__restrict__ p,"), ("p,", "const p,"), ("void", f"{BOUNDS}(64) void")])
def test_a_promise_of_the_baseline_is_not_a_new_one(promised, old, new):
    head = BASELINE.replace(old, new)
    assert promised(head, head) == NO_PROMISES


@pytest.mark.parametrize(
    "head, said",
    [
        (BASELINE.replace("int n", "long n"), "`long` in line 0"),
        (BASELINE.replace("void", "__attribute__((used)) void"), "`__attribute__` in line 0"),
        (BASELINE.replace("void", "alignas(64) void"), "`alignas` in line 0"),
        (BASELINE.replace("void", "__attribute__((aligned(1, 64))) void"), "`__attribute__` in line 0"),
        (BASELINE.replace("void", f"{ATTRIBUTE}(0, 128))) void"), "`__attribute__` in line 0"),
        (BASELINE.replace("void", f"{BOUNDS}(N) void"), f"`{BOUNDS}` in line 0"),
        (BASELINE.replace("void", f"{BOUNDS}(64, N) void"), f"`{BOUNDS}` in line 0"),
        (BASELINE.replace("void", f"{BOUNDS}(64 / 2) void"), f"`{BOUNDS}` in line 0"),
        (BASELINE.replace("void", f"{BOUNDS}() void"), f"`{BOUNDS}` in line 0"),
        (BASELINE.replace("void", f"{BOUNDS} void"), f"`{BOUNDS}` in line 0"),
        (BASELINE.replace("void", f"{ATTRIBUTE}(2, 128))) void"), "`__attribute__` in line 0"),
        (BASELINE.replace("void", f"{ATTRIBUTE}(1, 128), used)) void"), "`__attribute__` in line 0"),
        (BASELINE.replace("void", f"{BOUNDS}(64) {BOUNDS}(32) void"), f"`{BOUNDS}` in line 0"),
        (BASELINE + f"{BOUNDS}(64", f"`{BOUNDS}` in line 0"),
        (BASELINE + f"{BOUNDS}(", f"`{BOUNDS}` in line 0"),
        (BASELINE.replace(", int n) ", ") "), "`)` in line 0"),
        (BASELINE.removesuffix(", int n) "), "no `,`"),
        (BASELINE + "noexcept", "`noexcept` in line 0"),
    ],
)
def test_anything_else_is_not_allowed(promised, head, said):
    expected = f"the head of k has {said}: except for __restrict__, launch bounds and const, it must not change"
    assert promised(head) == expected


@pytest.mark.parametrize("word", ["__restrict__", "const", f"{BOUNDS}(64)"])
def test_nothing_may_be_removed(promised, word):
    more = BASELINE.replace("void", f"{word} void")
    assert isinstance(promised(BASELINE, more), str)
