"""Attributes in taken text: by an allow-list, since others decide where something lies, what it is called or who keeps it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rocm_perf_lab.hip_source.tokens import Token, texts

_WORDS = ("__attribute__", "__attribute")
_VENDORS = ("gnu", "clang", "_Clang", "__gnu__")
ALLOWED = frozenset(
    "device host global shared constant launch_bounds "
    "amdgpu_flat_work_group_size amdgpu_waves_per_eu amdgpu_num_vgpr amdgpu_num_sgpr "
    "always_inline noinline flatten hot cold convergent nothrow artificial nodebug "
    "unused maybe_unused nodiscard warn_unused_result deprecated "
    "likely unlikely fallthrough opencl_unroll_hint assume "
    "aligned packed may_alias ext_vector_type vector_size matrix_type no_unique_address uninitialized".split()
)
"""Without their underscores. All bind what they stand at alone, and promise nothing of memory. `assume` is judged as a word:
see taken_text."""
ADDRESS_SPACES = frozenset(f"address_space({number})" for number in (1, 3, 5))
"""Global, LDS and private memory. What is read as constant (4) is taken for written by nobody, and nobody checks that."""


def attributes(tokens: Sequence[Token]) -> Iterator[tuple[str, str]]:
    """Name and whole text of each; the name is "" of one that cannot be read."""
    for place, token in enumerate(tokens):
        following = texts(tokens[place + 1 : place + 3])
        if token.text in _WORDS:
            inside = _enclosed(tokens, place + 1, "(", ")") if following == ["(", "("] else None
        elif token.text == "[" and following[:1] == ["["]:
            inside = _enclosed(tokens, place, "[", "]")
        else:
            continue
        if inside is None:
            yield "", ""
            continue
        for one in _listed(inside):
            yield _name(one), "".join(one)


def _enclosed(tokens: Sequence[Token], place: int, opening: str, closing: str) -> list[str] | None:
    """What is in the double brackets that begin at `place`."""
    depth = 0
    for end in range(place, len(tokens)):
        depth += (tokens[end].text == opening) - (tokens[end].text == closing)
        if depth == 0:
            return texts(tokens[place + 2 : end - 1]) if tokens[end - 1].text == closing else None
    return None


def _listed(words: Sequence[str]) -> Iterator[list[str]]:
    """The parts between commas that are in no brackets, but for empty ones."""
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
    """Without underscores around it, and without the vendors whose attributes these are."""
    if words[1:2] == ["::"] and len(words) > 2:
        plain = _without_underscores(words[2])
        return plain if words[0] in _VENDORS else f"{words[0]}::{plain}"
    return _without_underscores(words[0])


def _without_underscores(name: str) -> str:
    return name[2:-2] if name.startswith("__") and name.endswith("__") and len(name) > 4 else name
