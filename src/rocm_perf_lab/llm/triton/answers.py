"""Answers in Triton: one function, which replaces the one in the file."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Callable
from pathlib import Path

from rocm_perf_lab.llm.fenced import blocks_in
from rocm_perf_lab.llm.language_protocol import AnsweredChange
from rocm_perf_lab.llm.system_prompt import system_prompt
from rocm_perf_lab.llm.unusable_answer import UnusableAnswer
from rocm_perf_lab.optimize.source_settings import SourceSettings
from rocm_perf_lab.triton_source import Edit, TritonKernel, TritonSource
from rocm_perf_lab.triton_source.replacement import why_not_replacement

MAX_CODE_BYTES = 128 * 1024  # even long functions have only hundreds of lines

_LANGUAGES = ("python", "py", "python3", "triton", "")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


class TritonAnswers:
    name = "triton"
    system = system_prompt(
        "Triton",
        "takes the one fenced Python block in it, which holds one function with its decorators, replaces the function of that "
        "name with it, and has a gate launch both,",
    )
    retry_instruction = (
        "Answer again with exactly one fenced Python block: the complete function with its decorators. All rules still hold."
    )
    exactness_instruction = (
        "The results must stay the same bit for bit: a different order of a floating-point sum, another block size along it, "
        "or a function other than the baseline's (exp2 for exp) changes them."
    )

    def change(self, source: TritonSource, name: str, answer: str) -> AnsweredChange | UnusableAnswer:
        code, kernel = code_of(answer), source.kernel(name)
        if isinstance(code, UnusableAnswer):
            return code
        if (reason := why_not_replacement(source, kernel, code)) is not None:
            return UnusableAnswer(reason)
        return AnsweredChange((Edit(kernel.span.start, kernel.span.end, _indented(kernel, code)),))

    def reader(self, settings: SourceSettings, source: Path) -> Callable[[bytes], TritonSource]:
        return lambda text: TritonSource(source, text)


def code_of(answer: str) -> str | UnusableAnswer:
    """The Python code in an answer, dedented; fenced blocks in other languages are ignored."""
    blocks = blocks_in(answer, _LANGUAGES)
    if len(blocks) != 1:
        return UnusableAnswer(
            f"the answer has {len(blocks) or 'no'} fenced Python blocks; exactly one is needed: ```python ... ```"
        )
    if blocks[0] is None:
        return UnusableAnswer("the fenced Python block does not end: the answer seems to be cut off; give a shorter one")
    code = textwrap.dedent(blocks[0]).strip("\n")
    if len(code.encode(errors="replace")) > MAX_CODE_BYTES:
        return UnusableAnswer(f"the fenced Python block is longer than {MAX_CODE_BYTES // 1024} KiB")
    if match := _CONTROL.search(code):
        return UnusableAnswer(f"the code has the control character {ord(match[0]):#04x}")
    try:
        ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return UnusableAnswer(f"the code is not Python: {error}")
    return code


def _indented(kernel: TritonKernel, code: str) -> str:
    """Indent the code like the function that it replaces. This also indents lines inside multi-line strings, but functions
    that need indentation rarely contain any.
    """
    return textwrap.indent(code, kernel.indentation)


TRITON = TritonAnswers()
