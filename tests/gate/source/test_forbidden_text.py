"""Text that is adopted from a candidate, token by token: what it may contain, and what it is refused for."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf_lab.gate.source.forbidden_text import is_allowed_pragma, is_assumption, text_complaint
from rocm_perf_lab.hip_source import libclang
from rocm_perf_lab.hip_source.source import TranslationUnit

pytestmark = pytest.mark.usefixtures("hipcc")
TOKENS = ("-x", "hip", "--offload-host-only", "-nogpuinc", "-nogpulib", "-nostdinc", "-nostdinc++")
KERNEL = (
    b"{ __LINE__; __builtin_amdgcn_implicitarg_ptr(); __ockl_get(); __builtin_assume(n > 1); // if (m) __builtin_assume(m);\n"
    b'  if (n < 0) { __builtin_unreachable(); } asm volatile("v_mov_b32 %0, 1" : "=v"(r)); }'
)


def complaint(
    text: str | bytes, before: str = "int before;\n", after: str = "\n#define after", kernel: bytes = KERNEL
) -> str | None:
    """The refusal of a text on line 2 of a file. kernel: that of the baseline."""
    taken = text if isinstance(text, bytes) else text.encode()
    whole = before.encode() + taken + after.encode()
    unit = TranslationUnit(libclang.cindex("hipcc"), Path("x.hip"), TOKENS, whole, Path("x.hip"))
    return text_complaint(unit, len(before), len(before) + len(taken), kernel)


@pytest.mark.parametrize(
    "text",
    [
        "{ int x = 1; }",
        "{\n#pragma unroll 4\nfor (;;); }",
        "{\n#pragma nounroll\n#pragma clang loop unroll_count(2)\n#pragma clang fp contract(fast)\n#pragma GCC unroll 8\nx; }",
        '{ _Pragma("unroll") for (;;); }',
        "{ a = __LINE__; b = __builtin_amdgcn_implicitarg_ptr(); c = __ockl_get(); }",
        "{ __builtin_assume(n > 1); }",
        "{ x; __builtin_assume(n>1); }",
        "{ if (n < 0) { __builtin_unreachable(); } }",
        "{ if (n < 0) {\n#pragma unroll\n __builtin_unreachable(); } }",
        '{ asm volatile("v_mov_b32 %0, 1" : "=v"(r)); }',
        '{ asm  volatile ( "v_mov_b32 %0, 1"  :"=v"(r) ) ; }',
        '{ asm(""); asm volatile("s_nop 0" "\\n\\t" "s_waitcnt vmcnt(0) & lgkmcnt(0);s_setprio 1"); }',
        '{ __asm__ __volatile__("// a comment" : "+v"(r) : "s"(n) : "memory"); }',
        '{ asm("s_nop 1" :: "v"(n)); }',
        "{ // \u00e4\n }",
        '{ const char* s = "\u00e4"; }',
        "{ __shfl(x); __hip_atomic_load(x); line(); }",
    ],
)
def test_text_whose_effect_ends_with_the_kernels_body_is_allowed(text):
    assert complaint(text) is None


@pytest.mark.parametrize(
    "text, line, said",
    [
        ("{\n#define X 1\n}", 3, "is `#define X 1`: the only preprocessor directives allowed, even if the baseline has others"),
        ("{\n#define X( \\\n Y )\n}", 3, "is `#define X ( Y )`"),
        ("{\n#pragma once\n}", 3, "is `#pragma once`: the only preprocessor directives"),
        ("{\n#pragma unrolled\n}", 3, "is `#pragma unrolled`"),
        ("{\n#pragma clang loop vectorize(assume_safety)\n}", 3, "is `#pragma clang loop vectorize ( assume_safety )`"),
        ("{\n#include <x>\n}", 3, "is `#include < x >`"),
        ("{\n%:define X\n}", 3, "is `%:define X`"),
        ("{\n#\n}", 3, "is `#`"),
        ("{\n#pragma unroll\n#if 1\nx\n#endif\n}", 4, "is `#if 1`"),
        ("{\n#error " + "a " * 60 + "\n}", 3, "is `" + ("#error " + "a " * 60)[:80] + "`"),
        ("\n\n# \\\n pragma unroll( \\\n 4 )\n{ }", 4, "is a pragma outside a function's body, where it may affect"),
        ("{ }\n#pragma unroll\n", 3, "is a pragma outside a function's body"),
        ("{\n#pragma unroll\n}\n#pragma unroll\n", 5, "is a pragma outside a function's body"),
        ("}\n#pragma unroll\n", 3, "is a pragma outside a function's body"),
        (b"{\n int \xff; }", 3, "has bytes outside comments that are not UTF-8"),
        ("{\n // \u202e\n}", 3, "has a control character for the direction of text"),
        ("{ \u202a }", 2, "has a control character for the direction of text"),
        ("{ /* \u2066 */ }", 2, "has a control character for the direction of text"),
        ("{ /* \u2069 */ }", 2, "has a control character for the direction of text"),
        ("{ __COUNTER__ }", 2, "has __COUNTER__, which is not allowed"),
        ("{\n__has_include }", 3, "has __has_include, which is not allowed"),
        ("{ import x; }", 2, "has import, which is not allowed"),
        ("{ __FILE__ }", 2, "has __FILE__, which depends on the position of the text"),
        ("{ typeid(x) }", 2, "has typeid, which depends on the position of the text"),
        ("{ __builtin_COLUMN() }", 2, "has __builtin_COLUMN, which depends on the position of the text"),
        ("{ __builtin_amdgcn_kernarg_segment_ptr() }", 2, "_ptr, which tells the launches of a program apart"),
        ("{ __ockl_get_too() }", 2, "has __ockl_get_too, from the device library beneath HIP, which can make the host"),
        ("{ __ockl_ge() }", 2, "has __ockl_ge, from the device library beneath HIP"),
        ("{ __oclc_x() }", 2, "has __oclc_x, from the device library beneath HIP"),
        ("{ __builtin_assume(n > 2); }", 2, "has __builtin_assume, a promise that is not checked: test the condition instead"),
        ("{ __builtin_assume(m); }", 2, "has __builtin_assume, a promise"),  # only in a comment
        ("{ if (m) __builtin_assume(n > 1); }", 2, "has __builtin_assume, a promise"),
        ("{ if (n < 1) { __builtin_unreachable(); } }", 2, "has __builtin_unreachable, a promise"),
        ('{ _Pragma("once") }', 2, "has _Pragma for something other than unroll, clang loop and clang fp"),
        ("{ _Pragma(X) }", 2, "has _Pragma for something other"),
        ('{ _Pragma["unroll"] }', 2, "has _Pragma for something other"),
        ('{ _Pragma("unroll"', 2, "has _Pragma for something other"),
        ('{ _Pragma("unroll", ', 2, "has _Pragma for something other"),
        ('{ asm volatile("s_barrier"); }', 2, "has `s_barrier` in assembly"),
        ('{ asm volatile("v_mov_b32 %0, 1"); }', 2, "has `v_mov_b32 %0, 1` in assembly"),
        ('{ asm("s_barrier"); }', 2, "has `s_barrier` in assembly: new assembly may be empty, s_nop, s_waitcnt or s_setprio"),
        ('{ asm("s_nop 0\\n  s_sleep ' + "1" * 80 + '"); }', 2, "has `s_sleep " + "1" * 52 + "` in assembly"),
        ('{ asm("s_nop 0;.globl x"); }', 2, "has `.globl x` in assembly"),
        ('{ asm("s_nop_"); }', 2, "has `s_nop_` in assembly"),
        ('{ asm(X "s_nop 0"); }', 2, "has assembly with `X` outside a string: write its text as a string"),
        ('{ asm goto("s_nop 0"); }', 2, "has assembly with `goto` outside a string"),
        ('{ asm(R"(s_nop 0)"); }', 2, "has assembly whose text is not a plain string"),
        ('{ asm(L"s_nop 0"); }', 2, "has assembly whose text is not a plain string"),
        ("{ asm(1); }", 2, "has assembly whose text is not a plain string"),
        ('{ asm("s_nop 0\\r.globl x"); }', 2, "has assembly with the character '\\r'"),
        ('{ asm("s_nop 0 // \u00e4"); }', 2, "has assembly with the character '\u00e4'"),
        (r'{ asm(R"//(s_barrier)//"); }', 2, "has assembly whose text is not a plain string"),  # a comment to Python
        (r'{ asm("// \o{12}s_barrier"); }', 2, "has assembly whose text is not a plain string"),  # this as well
        (r'{ asm("s_nop 0" U"\n"); }', 2, "has assembly whose text is not a plain string"),
        (r'{ asm("\x2e0"); }', 2, "has assembly whose text is not a plain string"),  # one character in C++, two in Python
        (r'{ asm("\x2eglobl x"); }', 2, "has `.globl x` in assembly"),
        (r'{ asm("// \x0as_barrier"); }', 2, "has `s_barrier` in assembly"),
        (r'{ asm("s_nop \"0\""); }', 2, 'has `s_nop "0"` in assembly'),
        (r'{ asm("" : "\x3dv"(r)); }', 2, "has assembly that uses whatever a register happens to hold: write"),
        ('{ asm("" : "=v"(r)); }', 2, "has assembly that uses whatever a register happens to hold: write"),
        ('{ asm("" : "+v"(r) : "{v1}"(n)); }', 2, "has assembly that uses whatever a register happens to hold"),
        ('{ asm("" :: "{v1}"(n)); }', 2, "has assembly that uses whatever a register happens to hold"),
    ],
)
def test_the_reason_for_a_refusal_is_given_with_its_line(text, line, said):
    assert (found := complaint(text)) is not None and found.startswith(f"line {line} ") and said in found, found


def test_text_around_the_adopted_text_is_ignored():
    assert complaint("{ }", "int \u202e__COUNTER__;\n", "\n__COUNTER__ \u202e") is None


@pytest.mark.parametrize(
    "text, kernel, stays",
    [
        ("__LINE__;", "x;", False),
        ("__ockl_get();", "__ockl_get1();", False),
        ('asm volatile("v_mov_b32 %0, 1" : "=v"(r));', "x;", False),
        ('asm("s_barrier");', 'f("s_barrier");', False),
        ("__builtin_assume(n > 1);", "/* in\nwords */ __builtin_assume(n >\n  #pragma unroll\n 1);", True),
        ("x; __builtin_assume(n > 1);", "__builtin_assume(n > 1);", True),
        ("x(y); if (!n) __builtin_assume(n > 1);", "if (!n) __builtin_assume(n > 1);", True),
        ("if (n) __builtin_assume(n > 1);", "if (!n) __builtin_assume(n > 1);", False),
        ("a; b; c; d; if (n) { __builtin_unreachable(); }", "if (n) { __builtin_unreachable(); }", True),
        ("__builtin_unreachable();", "if (n) __builtin_unreachable();", False),
    ],
)
def test_text_of_the_baselines_kernel_may_stay(text, kernel, stays):
    assert (complaint(f"{{ {text} }}", kernel=f"{{ {kernel} }}".encode()) is None) == stays


def test_an_assumption_at_the_very_beginning_differs_from_one_within_the_baselines_body():
    assert complaint("__attribute__((assume(n > 1))) void f()", after=" { }", kernel=b"{ [[assume(n > 1)]]; }") is not None


@pytest.mark.parametrize(
    "name, promises",
    [
        ("assume", True),
        ("__builtin_assume", True),
        ("__builtin_assume_aligned", True),
        ("__assume__", True),
        ("__builtin_unreachable", True),
        ("builtin_assume_separate_storage", True),
        ("assume_more", False),
        ("my_assume", False),
        ("reachable", False),
    ],
)
def test_names_of_promises(name, promises):
    assert is_assumption(name) == promises


@pytest.mark.parametrize(
    "words, allowed",
    [
        ("unroll", True),
        ("unroll  4", True),
        (" clang   fp contract(fast)", True),
        ("unroll4", False),
        ("clang diagnostic", False),
        ("", False),
    ],
)
def test_pragmas_by_their_words(words, allowed):
    assert is_allowed_pragma(words) == allowed
