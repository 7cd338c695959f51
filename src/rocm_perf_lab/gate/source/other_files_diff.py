"""Step 1 for the candidate's other files: they contain launches of the kernel, and only the shapes of launches may differ."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from rocm_perf_lab.gate.change import LaunchText
from rocm_perf_lab.hip_source import libclang
from rocm_perf_lab.hip_source.directive_lines import directive_lines
from rocm_perf_lab.hip_source.launch_syntax import split_launches
from rocm_perf_lab.hip_source.source import TranslationUnit
from rocm_perf_lab.hip_source.tokens import first_difference, line_of, texts, tokens_of

_READS_FILES = re.compile(r"\b(include(_next)?|import|embed)\b|^%:|\?\?|\\$")
# Only tokens are requested, and these do not depend on headers.
_TOKENS_ALONE = ("-x", "hip", "--offload-host-only", "-nogpuinc", "-nogpulib", "-nostdinc", "-nostdinc++")


class ChangeNotAllowedError(Exception):
    """Why the candidate is refused, in one sentence."""


def expect_no_new_directive(baseline: bytes, candidate: bytes) -> None:
    """Refuse new directives that would make a compiler read other files; this is done before a compiler reads the candidate.
    Other new directives are refused once their location is known.
    """
    known = Counter(" ".join(line.split()) for _, line in directive_lines(baseline.decode("latin-1")))
    for number, line in directive_lines(candidate.decode("latin-1")):
        shown = " ".join(line.split())
        if known[shown]:
            known[shown] -= 1
        elif _READS_FILES.search(shown):
            problem = "a preprocessor directive that reads other files, or may hide one that does"
            raise ChangeNotAllowedError(f"line {number} is `{shown[:80]}`, {problem}")


def launches_in(compiler: str, file: Path, before: bytes, after: bytes) -> list[LaunchText]:
    """The launches in a file whose shapes the candidate writes differently. Raises ChangeNotAllowedError if anything else
    differs.
    """
    expect_no_new_directive(before, after)
    bindings = libclang.cindex(compiler)
    units = [TranslationUnit(bindings, file, _TOKENS_ALONE, text, file) for text in (before, after)]
    (old, shapes), (new, other_shapes) = (split_launches(tokens_of(unit)) for unit in units)
    if difference := first_difference(old, new):
        last_token = next((token for token in reversed(difference) if token is not None), None)
        line = f"line {last_token.line}" if last_token else "the end"
        raise ChangeNotAllowedError(
            f"{file.name} differs in {line}: in other files only the shapes of the kernel's launches may differ"
        )
    return [
        LaunchText(shape.start, shape.end, line_of(before, shape.start), tuple(texts(other_shape.tokens)), file)
        for shape, other_shape in zip(shapes, other_shapes, strict=True)
        if first_difference(shape.tokens, other_shape.tokens) is not None
    ]
