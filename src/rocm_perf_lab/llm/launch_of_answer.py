"""The launch that a model's answer specifies for its kernel, as edits to all launches in the program.

The answer names the kernel's parameters; each launch has its own variables for them. The gate examines the text produced
here like that of any other candidate, and decides whether it is allowed.
"""

from __future__ import annotations

import re
from pathlib import Path

from rocm_perf_lab.hip_source import Edit, HipSource, SourceKernel
from rocm_perf_lab.hip_source.launch_shapes import LaunchNotUnderstoodError, ShapedLaunch
from rocm_perf_lab.hip_source.launch_syntax import operands_of
from rocm_perf_lab.hip_source.program_launches import program_launches
from rocm_perf_lab.llm.unusable_answer import UnusableAnswer

_TOKEN = re.compile(r"\s*([A-Za-z_]\w*|\d[\w']*|[-+*/%(),])")
_WRITTEN = re.compile(r"\s*(?:[\w:]+\s*)?<<<(.*)>>>\s*;?\s*", re.DOTALL)
_MAX_LAUNCH_LENGTH = 1000
_FORM = "write it as <<<grid, workgroup>>> or <<<grid, workgroup, bytes of LDS>>>"


def launch_edits(source: HipSource, kernel: SourceKernel, launch: str) -> list[tuple[Path, Edit]] | UnusableAnswer:
    """The edits that give all launches of the kernel this shape, each with the real path of its file.

    launch: the text of the answer's `launch` block.
    """
    words = _words(launch)
    if isinstance(words, UnusableAnswer):
        return words
    operands = operands_of(words)
    if not 2 <= len(operands) <= 3:
        return UnusableAnswer(f"the launch has {len(operands)} operands: {_FORM}")
    try:
        sites = program_launches(source, kernel)
        return [(site.file, _edit(site, kernel, words, operands)) for site in sites]
    except LaunchNotUnderstoodError as error:
        return UnusableAnswer(f"the launch cannot be changed: {error}")


def _words(launch: str) -> list[str] | UnusableAnswer:
    match = _WRITTEN.fullmatch(launch[:_MAX_LAUNCH_LENGTH])
    if match is None or len(launch) > _MAX_LAUNCH_LENGTH:
        return UnusableAnswer(f"the fenced block `launch` has no launch: {_FORM}")
    words, position, text = [], 0, match[1].strip()
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:
            return UnusableAnswer(
                f"the launch has `{text[position:].strip()[:20]}`: only + - * / %, parentheses, dim3, integers and names"
            )
        words.append(token[1])
        position = token.end()
    return words


def _edit(site: ShapedLaunch, kernel: SourceKernel, words: list[str], operands: list[range]) -> Edit:
    """Raises LaunchNotUnderstoodError if the shape names a parameter for which the launch does not pass a plain integer
    variable.
    """
    positions = {parameter.name: position for position, parameter in enumerate(kernel.parameters) if parameter.name}
    passed = {argument.position: argument.name for argument in site.arguments.values()}
    named = []
    for word in words:
        if word in positions and positions[word] not in passed:
            raise LaunchNotUnderstoodError(
                f"the launch in line {site.line} of {site.file.name} does not pass {word} as a plain integer variable"
            )
        named.append(passed[positions[word]] if word in positions else word)
    grid, block, *lds = (" ".join(named[i] for i in operand) for operand in operands)
    return Edit(site.start, site.end, site.replacement_text(grid, block, *lds))
