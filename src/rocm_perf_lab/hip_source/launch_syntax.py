"""Where a source writes the shapes of launches: between `<<<` and `>>>`, or as operands of HIP's macro hipLaunchKernelGGL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rocm_perf_lab.hip_source.tokens import Token

MACRO = "hipLaunchKernelGGL"  # (kernel, grid, block, LDS bytes, stream, arguments...)
_KERNEL, _STREAM, _ARGUMENTS = 0, 4, 5  # positions of its operands
_OPENING, _CLOSING = ("(", "[", "{"), (")", "]", "}")


@dataclass(frozen=True)
class WrittenShape:
    """The shape of a launch. start, end: its byte range. tokens: the tokens in it. arguments: the tokens of each of the
    kernel's arguments; only for MACRO.
    """

    start: int
    end: int
    tokens: tuple[Token, ...]
    arguments: tuple[tuple[Token, ...], ...] = ()


def split_launches(tokens: Sequence[Token]) -> tuple[list[Token], list[WrittenShape]]:
    """The tokens outside the shapes of launches, and the shapes."""
    shaped = list(_shapes(tokens))
    remaining: list[Token] = []
    position = 0
    for first, last, _ in shaped:
        remaining += tokens[position:first]
        position = last
    return [*remaining, *tokens[position:]], [shape for *_, shape in shaped]


def operands_of(texts: Sequence[str]) -> list[range]:
    """The indices of the tokens of each operand; operands are separated by the commas outside brackets."""
    commas, depth = [-1], 0
    for number, text in enumerate(texts):
        depth += (text in _OPENING) - (text in _CLOSING)
        if text == "," and depth == 0:
            commas.append(number)
    return [range(first + 1, last) for first, last in zip(commas, [*commas[1:], len(texts)], strict=True)]


def _shapes(tokens: Sequence[Token]) -> Iterator[tuple[int, int, WrittenShape]]:
    """The shapes, with the indices of their tokens."""
    number = 0
    while number < len(tokens):
        token, shape = tokens[number], None
        if not token.directive and token.text == "<<<":
            shape = _chevrons(tokens, number)
        elif not token.directive and token.text == MACRO:
            shape = _macro(tokens, number)
        if shape is not None:
            yield shape
        number = number + 1 if shape is None else shape[1]


def _chevrons(tokens: Sequence[Token], opened: int) -> tuple[int, int, WrittenShape] | None:
    for number in range(opened + 1, len(tokens)):
        if tokens[number].text == ">>>" and not tokens[number].directive:
            inside = tuple(tokens[opened + 1 : number])
            return opened + 1, number, WrittenShape(tokens[opened].end, tokens[number].start, inside)
    return None


def _macro(tokens: Sequence[Token], name: int) -> tuple[int, int, WrittenShape] | None:
    """The operands after the kernel, up to the stream. None for anything but a call with all of these operands."""
    inside = _parenthesised(tokens, name + 1)
    operands = [] if inside is None else operands_of([tokens[number].text for number in inside])
    if inside is None or len(operands) <= _STREAM:
        return None
    first, last = inside[operands[_KERNEL].stop] + 1, inside[operands[_STREAM].start - 1]
    arguments = tuple(tuple(tokens[inside[i]] for i in operand) for operand in operands[_ARGUMENTS:])
    return first, last, WrittenShape(tokens[first - 1].end, tokens[last].start, tuple(tokens[first:last]), arguments)


def _parenthesised(tokens: Sequence[Token], opened: int) -> range | None:
    """The indices of the tokens between the parenthesis at `opened` and the one that closes it."""
    depth = 0
    for number in range(opened, len(tokens)):
        text = tokens[number].text
        if tokens[number].directive:
            return None
        depth += (text in _OPENING) - (text in _CLOSING)
        if depth == 0:
            return range(opened + 1, number) if tokens[opened].text == "(" and number > opened else None
    return None
