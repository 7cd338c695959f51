"""Assumptions of a candidate that its baseline makes as well: the same words are not enough, the same conditions must hold."""

from __future__ import annotations

import re

import pytest

from rocm_perf_lab.gate.source.stated_assumption import baseline_states_it_too

ASSUME, NEVER = "__builtin_assume(n > 1);", "__builtin_unreachable();"


def stated(candidate: str, baseline: str) -> bool:
    """Each as the statements of a kernel's body."""
    tokens = re.findall(r"<=|>=|\w+|\S", f"{{ {candidate} }}")
    index = next(place for place, token in enumerate(tokens) if token.startswith("__builtin_"))
    return baseline_states_it_too(tokens, index, f"__global__ void k(int n) {{ {baseline} }}".encode())


@pytest.mark.parametrize(
    "candidate, baseline",
    [
        (ASSUME, ASSUME),
        (ASSUME, "/* as if */ __builtin_assume(n >  // one\n 1);"),
        (f"x(y); {ASSUME}", ASSUME),
        (ASSUME, f"x(y); {ASSUME}"),
        (f"if (!n) {ASSUME}", f"if (!n) {ASSUME}"),
        (f"if (n < 0) {{ {NEVER} }}", f"if (n < 0) {{ {NEVER} }}"),
        (f"if (n < 0) {NEVER}", f"x; if (n < 0) {NEVER}"),
        (f"for (;;) {{ y; {ASSUME} }}", f"for (;;) {{ {ASSUME} }}"),
        (f"if (n > 9) return; {ASSUME}", ASSUME),  # on fewer paths
        (f"if (n > 9) return; if (m) return; {ASSUME}", f"if (n > 9) return; {ASSUME}"),
        (f"if (n <= 1) {{ return; }} x; {ASSUME}", f"if (n <= 1) {{ return; }} y; {ASSUME}"),
        (f"switch (n) {{ case 0: x; break; default: {NEVER} }}", f"switch (n) {{ case 0: x; break; default: {NEVER} }}"),
        (f"if (a) x; else if (b) y; else {NEVER}", f"if (a) x; else if (b) y; else {NEVER}"),
        (f"z; if (a) {{ x; }} else {{ {NEVER} }}", f"if (a) {{ x; }} else {{ {NEVER} }}"),
        (f"int a[] = {{1, 2}}; {ASSUME}", f'printf("{{"); {ASSUME}'),
    ],
)
def test_the_same_assumption_under_the_same_conditions(candidate, baseline):
    assert stated(candidate, baseline)


@pytest.mark.parametrize(
    "candidate, baseline",
    [
        ("__builtin_assume(n > 2);", ASSUME),
        (ASSUME, f"// {ASSUME}\n/* {ASSUME} */\n#define X {ASSUME}\n"),
        (ASSUME, f'x("{ASSUME}");'),
        (ASSUME, f"if (n) {ASSUME}"),
        (f"if (m) {ASSUME}", f"if (n) {ASSUME}"),
        (ASSUME, f"if (n) {{ {ASSUME} }}"),
        (f"if (n <= 0) {{ {NEVER} }}", f"if (n < 0) {{ {NEVER} }}"),
        (f"do {{ if (n <= 40) break; {{ {NEVER} }} }} while (0);", f"if (n < 0) {{ {NEVER} }}"),
        (f"do {{ if (n <= 40) break; {NEVER} }} while (0);", f"if (n < 0) {{ x; {NEVER} }}"),
        (f"if (n < 40) {{ if (n < 0) {{ {NEVER} }} }}", f"if (m) {{ if (n < 0) {{ {NEVER} }} }}"),
        (f"while (c) {{ if (d) x; {NEVER} }}", f"while (c) {{ if (d) break; {NEVER} }}"),
        (ASSUME, f"if (n <= 1) return; {ASSUME}"),  # before, or without, the test that makes it true
        (f"{ASSUME} if (n <= 1) return;", f"if (n <= 1) return; {ASSUME}"),
        (f"if (n <= 0) return; {ASSUME}", f"if (n <= 1) return; {ASSUME}"),
        (ASSUME, f"assert(n > 1); {ASSUME}"),
        (ASSUME, f"if (n < 2) {{ x; __builtin_trap(); }} {ASSUME}"),
        (f"switch (n) {{ default: {NEVER} }}", f"switch (n) {{ case 0: x; default: {NEVER} }}"),
        (f"switch (n) {{ case 1: x; default: {NEVER} }}", f"switch (n) {{ case 0: x; default: {NEVER} }}"),
        (f"if (b) x; else {NEVER}", f"if (a) x; else {NEVER}"),
        (f"if (b) {{ x; }} else {{ {NEVER} }}", f"if (a) {{ x; }} else {{ {NEVER} }}"),
        (f"if (b) x; else if (c) y; else {NEVER}", f"if (a) x; else if (c) y; else {NEVER}"),
        (f"{{ {ASSUME} }}", f"for (;;) {{ {ASSUME} }}"),
        (ASSUME, "x;"),
    ],
)
def test_other_words_or_other_conditions(candidate, baseline):
    assert not stated(candidate, baseline)


def test_an_attribute_of_the_function_is_another_assumption_than_one_in_its_body():
    tokens = ["[", "[", "assume", "(", "n", ")", "]", "]", "void", "f", "(", ")", "{", "}"]
    assert baseline_states_it_too(tokens, 2, b"[[assume(n)]] void f() { }")
    assert not baseline_states_it_too(tokens, 2, b"void f() { [[assume(n)]]; }")
