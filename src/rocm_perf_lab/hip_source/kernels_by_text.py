"""Finds the kernels that a text seems to define, without a compiler. This is only used to choose among files; the compiler has
the final say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/", re.DOTALL)
_GLOBAL = rb"(?:\b__global__\b|__attribute__\s*\(\(\s*global\s*\)\))"
_MARK = re.compile(_GLOBAL)
_DIRECTIVE = re.compile(rb"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
_MACRO = re.compile(rb"^[ \t]*#[ \t]*define\s+(?!__global__)(?:[^\n]*\\\n)*[^\n]*" + _GLOBAL, re.MULTILINE)
_NAME = re.compile(rb"([A-Za-z_]\w*)\s*(?:<[^;{}]*>)?\s*$")
_BEFORE_PARENTHESES = frozenset((b"__launch_bounds__", b"__attribute__", b"alignas", b"__declspec"))


def defines_kernels(text: bytes) -> bool:
    """Whether the text contains the definition of a kernel, or a macro that defines kernels."""
    return _MACRO.search(text) is not None or next(defined_kernels(text), None) is not None


def defined_kernels(text: bytes) -> Iterator[str]:
    """The unqualified names of the kernels that have a body; a declaration alone does not count."""
    code = _DIRECTIVE.sub(b"", _COMMENT.sub(b" ", text))
    for mark in _MARK.finditer(code):
        name = _name_of_definition(code, mark.end())
        if name is not None:
            yield name


def _name_of_definition(code: bytes, start: int) -> str | None:
    """The last identifier before parentheses, if a body follows the declaration that begins at `start`."""
    name, depth, outside = None, 0, start
    for position in range(start, len(code)):
        char = code[position : position + 1]
        if char == b"(":
            match = _NAME.search(code[outside:position]) if depth == 0 else None
            if match and match[1] not in _BEFORE_PARENTHESES:
                name = match[1].decode()
            depth += 1
        elif char == b")":
            depth -= 1
            outside = position + 1
        elif depth == 0 and char in b";{}":
            return name if char == b"{" else None
    return None
