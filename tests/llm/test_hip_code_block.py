"""What is extracted from an answer; and that no text which is let through holds a directive, as Clang itself sees it."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rocm_perf_lab.hip_source import libclang
from rocm_perf_lab.llm.hip_code_block import UnusableAnswer, code_of, forbidden


def test_the_only_block_is_taken_whatever_surrounds_it():
    code = "__global__ void k() {\n  // `ticks` and ~~~ inside\n}\n"
    text = "# Plan\n\n* use `__shared__`\n\n"
    for answer in (
        f"```cpp\n{code}```",
        f"{text}```c++\n{code}```\n\ndone",
        f"{text}~~~~ hip\n{code}~~~~\n",
        f"```text\nnot code\n```\n\n```\n{code}```\n",
        f"```cpp\n{code}```".replace("\n", "\r\n"),
    ):
        assert code_of(answer) == code


@pytest.mark.parametrize(
    "answer, words",
    [
        ("", "no fenced C++ blocks"),
        ("__global__ void k() {}", "no fenced C++ blocks"),
        ("```cpp\nint a;\n```\n```hip\nint b;\n```", "2 fenced C++ blocks"),
        ("```cpp\nint a;\n", "does not end"),
        ("```cpp", "does not end"),
        ("```cpp\n\n```", "is empty"),
        ("```cpp\nint a;\n#define a b\n```", "line 2 of the code is a preprocessor directive"),
        ("```cpp\n" + "int a;\n" * 30000 + "```", "longer than 128 KiB"),
    ],
)
def test_the_error_in_an_answer_is_named(answer, words):
    found = code_of(answer)
    assert isinstance(found, UnusableAnswer) and words in found.reason


def test_a_hostile_answer_does_not_take_long():
    for piece in ("`" * 3 + "\n", "[" * 100, "> " * 50 + "\n", "*a **b ", "```cpp\n"):
        code_of(piece * (256 * 1024 // len(piece)))


@pytest.mark.parametrize(
    "code",
    [
        "  #pragma unroll\n", "#pragma unroll 4\n", "# pragma unroll(kTile)\n", "#pragma nounroll // rolled\n",
        "x = 1; // step #1\n", "// # of rows\n", "/* row # 1 */ int b;\n", 'printf("#%d", a);\n', "a %= b;\n",
    ],
)  # fmt: skip
def test_ordinary_code_passes(code):
    assert forbidden("int a;\n" + code) is None


PIECES = [
    "#", "%:", "??=", "include", "include_next", "import", "define X", "embed", "pragma", "_Pragma(",
    '"canary.h"', "<canary.h>", "\\", "/", "*",
    "/*", "*/", "//",
    "\n", "\r", " ", "\t", "\v", "\f", '"', "'", 'R"(', ')"', "??/", "a", ";",
    "\u00a0", "\u180e", "\u2028", "\ufeff", "\u200b", "\x00",
]  # fmt: skip
INCLUDE = '#include "canary.h"\n'


@pytest.mark.usefixtures("hipcc")
@settings(max_examples=80)
@given(st.lists(st.sampled_from([*PIECES, INCLUDE, "%:include <canary.h>", "#define X", "\n\n"]), max_size=14).map("".join))
@example(INCLUDE)
@example('/*\n*/ #include "canary.h"')
@example('/*\n// */ %:include "canary.h"')
@example('#inc\\\nlude "canary.h"')
@example('#inc\\ \t\nlude "canary.h"')
@example('??=include "canary.h"')
@example('// ??/\n#include "canary.h"')
@example('R"(\n)"\n#include "canary.h"')
@example('"\n#include "canary.h"')
@example('\u00a0#include "canary.h"')
@example('\ufeff#include "canary.h"')
@example('\u180e/**/#include "canary.h"')
@example('\v#include "canary.h"')
@example('\r#include "canary.h"')
def test_no_text_that_passes_has_a_directive_for_clang(text):
    text = f"int a;\n{text}\nint b;\n"
    found = [directives(text, standard) for standard in ("c++11", "gnu++20")]
    assert forbidden(text) is not None or found == [[], []]


def directives(text: str, standard: str) -> list[str]:
    """What Clang includes and defines in the text; strict standards still have trigraphs."""
    bindings = libclang.cindex("hipcc")
    files = [("main.cpp", text), ("canary.h", "int canary;\n")]
    flags = ["-nostdinc", f"-std={standard}", "-I."]
    unit = bindings.Index.create().parse("main.cpp", flags, unsaved_files=files, options=1)
    kinds = (bindings.CursorKind.INCLUSION_DIRECTIVE, bindings.CursorKind.MACRO_DEFINITION)
    here = [cursor for cursor in unit.cursor.get_children() if cursor.location.file and cursor.location.file.name == "main.cpp"]
    return [cursor.spelling for cursor in here if cursor.kind in kinds]


@pytest.mark.usefixtures("hipcc")
def test_clang_sees_the_directives_that_the_test_looks_for():
    for text in (INCLUDE, '/*\n// */ %:include "canary.h"\n', '#inc\\ \nlude "canary.h"\n', "\u00a0#define X\n"):
        assert directives(text, "gnu++20") and forbidden(text)
    assert directives('??=include "canary.h"\n', "c++11")
