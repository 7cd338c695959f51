"""Extracts two things from a model's answer: its fenced C++ block, if there is exactly one and it is complete and harmless, and
the launch that the answer specifies for the kernel.

A candidate must not be able to read files during compilation, whether through #include or #embed, in any spelling, or through
the assembler's .incbin. Preprocessor directives are therefore rejected before any compiler or parser sees them, and the gate
checks inline assembly.
"""

from __future__ import annotations

import re

from rocm_perf_lab.hip_source.directive_lines import directive_lines
from rocm_perf_lab.llm.fenced import blocks_in
from rocm_perf_lab.llm.unusable_answer import UnusableAnswer

MAX_CODE_BYTES = 128 * 1024  # even long kernels have only hundreds of lines

_LANGUAGES = ("cpp", "c++", "cc", "cxx", "c", "hip", "cuda", "cu", "")
_LAUNCH = "launch"
_ALLOWED_DIRECTIVE = re.compile(r"\s*#\s*pragma\s+(unroll|nounroll)\b[\w\s()]*(//[^\\]*)?")
_SPLICE = re.compile(r"\\[ \t\v\f]*(\r|\n|$)")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_TRIGRAPH = re.compile(r"\?\?[=/'()!<>-]")
_WORDS = re.compile(r"\b(_Pragma|__pragma|__has_include\w*|__has_embed|__include_macros|import(?=\s*[<\":\w]))")


def code_of(answer: str) -> str | UnusableAnswer:
    """The C++ code in a Markdown answer; fenced blocks in other languages are ignored."""
    blocks = blocks_in(answer, _LANGUAGES)
    if len(blocks) != 1:
        return UnusableAnswer(f"the answer has {len(blocks) or 'no'} fenced C++ blocks; exactly one is needed: ```cpp ... ```")
    if blocks[0] is None:
        return UnusableAnswer("the fenced C++ block does not end: the answer seems to be cut off; give a shorter one")
    return UnusableAnswer(reason) if (reason := forbidden(blocks[0])) else blocks[0]


def launch_of(answer: str) -> str | UnusableAnswer | None:
    """The text of the fenced block with the language `launch`; None if the answer has none."""
    blocks = blocks_in(answer, (_LAUNCH,))
    if len(blocks) > 1:
        return UnusableAnswer(f"the answer has {len(blocks)} fenced blocks `launch`: give one, which is for all launches")
    if blocks and blocks[0] is None:
        return UnusableAnswer("the fenced block `launch` does not end")
    return blocks[0] if blocks else None


def forbidden(code: str) -> str | None:
    """The reason why this text must not be passed to a compiler; None if there is none.

    Spliced lines and trigraphs could hide directives from directive_lines(), so they are also rejected.
    """
    if not code.strip():
        return "the fenced C++ block is empty"
    if len(code.encode(errors="replace")) > MAX_CODE_BYTES:
        return f"the fenced C++ block is longer than {MAX_CODE_BYTES // 1024} KiB"
    if match := _CONTROL.search(code):
        return f"the code has the control character {ord(match[0]):#04x}"
    if _SPLICE.search(code):
        return "a line of the code ends in a backslash: write it in one line"
    if match := _TRIGRAPH.search(code):
        return f"the code has the trigraph {match[0]}"
    if match := _WORDS.search(code):
        return f"the code uses {match[0]}: it is not allowed"
    for number, line in directive_lines(code):
        if not _ALLOWED_DIRECTIVE.fullmatch(line):
            return f"line {number} of the code is a preprocessor directive: only #pragma unroll is allowed"
    return None
