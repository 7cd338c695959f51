"""An allow-list of attributes for text taken from a candidate: other attributes can change where an entity is placed, what its
symbol is or whether it is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rocm_perf_lab.hip_source.tokens import Token, texts

_ATTRIBUTE_KEYWORDS = ("__attribute__", "__attribute")
_VENDORS = ("gnu", "clang", "_Clang")  # the last is another spelling of clang
ALLOWED = frozenset(
    "device host global shared constant launch_bounds "
    "amdgpu_flat_work_group_size amdgpu_waves_per_eu amdgpu_num_vgpr amdgpu_num_sgpr "
    "always_inline noinline flatten hot cold convergent nothrow artificial nodebug "
    "unused maybe_unused nodiscard warn_unused_result deprecated "
    "likely unlikely fallthrough opencl_unroll_hint "
    "aligned packed may_alias ext_vector_type vector_size matrix_type no_unique_address uninitialized".split()
)
"""Names without the surrounding underscores. Each of these attributes affects only the entity that it is attached to and
promises nothing.
"""
ADDRESS_SPACES = frozenset(f"address_space({number})" for number in (1, 3, 5))
"""Global, LDS and private memory. Constant memory (4) is left out: the compiler assumes that nothing writes to it, and the gate
does not check that.
"""


def attributes(tokens: Sequence[Token]) -> Iterator[tuple[str, str]]:
    """The name and full text of each attribute; both are "" if the attribute cannot be parsed."""
    for index, token in enumerate(tokens):
        following = texts(tokens[index + 1 : index + 3])
        if token.text in _ATTRIBUTE_KEYWORDS:
            inside = _tokens_in_double_brackets(tokens, index + 1, "(", ")") if following == ["(", "("] else None
        elif token.text == "[" and following[:1] == ["["]:
            inside = _tokens_in_double_brackets(tokens, index, "[", "]")
        else:
            continue
        if inside is None:
            yield "", ""
            continue
        for words in _attribute_items(inside):
            yield _name(words), "".join(words)


def _tokens_in_double_brackets(tokens: Sequence[Token], start: int, opening: str, closing: str) -> list[str] | None:
    """The tokens inside the double brackets that open at `start`; None if the brackets are not closed."""
    depth = 0
    for end in range(start, len(tokens)):
        depth += (tokens[end].text == opening) - (tokens[end].text == closing)
        if depth == 0:
            return texts(tokens[start + 2 : end - 1]) if tokens[end - 1].text == closing else None
    return None


def _attribute_items(words: Sequence[str]) -> Iterator[list[str]]:
    """The non-empty items of an attribute list, each prefixed with `vendor::` if the list begins with `using vendor:`. Commas
    inside brackets do not separate items.
    """
    vendor, words = (words[1], words[3:]) if words[:1] == ["using"] and words[2:3] == [":"] else (None, words)
    depth, part = 0, [vendor, "::"] if vendor else []
    start = list(part)
    for word in words:
        depth += (word in "([{") - (word in ")]}")
        if word == "," and depth == 0:
            if part != start:
                yield part
            part = list(start)
        else:
            part = [*part, word]
    if part != start:
        yield part


def _name(words: Sequence[str]) -> str:
    """The attribute's name without surrounding underscores and without the prefix of a known vendor."""
    if words[1:2] == ["::"] and len(words) > 2:
        vendor, name = _without_underscores(words[0]), _without_underscores(words[2])
        return name if vendor in _VENDORS else f"{vendor}::{name}"
    return _without_underscores(words[0])


def _without_underscores(name: str) -> str:
    return name[2:-2] if name.startswith("__") and name.endswith("__") and len(name) > 4 else name
