"""Compares an assumption in a candidate with those in the baseline: its wording, and the conditions for reaching it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

_BESIDE_CODE = re.compile(rb"//[^\n]*|/\*.*?\*/|^[ \t]*#[^\n]*$", re.DOTALL | re.MULTILINE)  # comments, directives
_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|\w+|\S')
_LEAVING_WORDS = frozenset(("return", "break", "continue", "goto", "assert", "abort", "__builtin_trap", "__trap"))


@dataclass(frozen=True)
class _Block:
    """A block that is still open. header: the tokens before its brace. statements: the complete statements in it, in order."""

    header: tuple[str, ...] = ()
    statements: list[tuple[str, ...]] = field(default_factory=list)


@dataclass(frozen=True)
class _Level:
    """A block around an assumption. guards: the earlier statements in it that decide whether the assumption is reached."""

    header: tuple[str, ...]
    guards: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class _Assumption:
    """statement: its tokens up to the closing parenthesis. levels: the blocks around it, from the outside in."""

    statement: tuple[str, ...]
    levels: tuple[_Level, ...]

    def is_implied_by(self, other: _Assumption) -> bool:
        """Whether `other` has the same wording and is reached whenever this one is. This one may have additional guards."""
        return (
            self.statement == other.statement
            and [level.header for level in self.levels] == [level.header for level in other.levels]
            and all(
                {*other_level.guards} <= {*level.guards} for level, other_level in zip(self.levels, other.levels, strict=True)
            )
        )


def baseline_states_it_too(candidate: Sequence[str], index: int, baseline: bytes) -> bool:
    """Whether the baseline's kernel also states the assumption at `index`.

    candidate: the candidate's tokens, without directives. index: the index of the token that names the assumption. baseline:
    the text of the baseline's kernel.
    """
    own = _tokens(" ".join(candidate))
    position = len(_tokens(" ".join(candidate[:index])))
    baseline_tokens = _tokens(_BESIDE_CODE.sub(b" ", baseline).decode(errors="replace"))
    claim = _assumption(own, position)
    return any(
        claim.is_implied_by(_assumption(baseline_tokens, baseline_position))
        for baseline_position in _indices_of(baseline_tokens, candidate[index])
    )


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text)


def _indices_of(tokens: Sequence[str], name: str) -> Iterator[int]:
    return (index for index, token in enumerate(tokens) if token == name)


def _assumption(tokens: Sequence[str], index: int) -> _Assumption:
    """The assumption at this index. The function's own header is not compared, and outside a function there are no levels."""
    blocks, begun = _blocks_around(tokens[:index])
    levels = [_level(block, with_header=number > 1) for number, block in enumerate(blocks) if number > 0]
    heads = [*(block.header for block in blocks[1:]), begun]
    # An `else` is reached only if the branches before it are not taken, so these guard it like a level of their own.
    levels += [_Level((), _branches_before(block)) for block, head in zip(blocks, heads, strict=True) if head[:1] == ("else",)]
    return _Assumption((*begun, *_call_tokens(tokens[index:])), tuple(levels))


def _branches_before(block: _Block) -> tuple[tuple[str, ...], ...]:
    """The branches of an `if` statement before the `else` that follows the last statement of the block."""
    first = next((n for n in range(len(block.statements) - 1, -1, -1) if block.statements[n][:1] != ("else",)), 0)
    return tuple(block.statements[first:])


def _blocks_around(tokens: Sequence[str]) -> tuple[list[_Block], tuple[str, ...]]:
    """The blocks that are open after these tokens (the first is the whole text), and the unfinished statement."""
    blocks, begun, depth = [_Block()], [], 0
    for token in tokens:
        begun.append(token)
        depth += (token in "([") - (token in ")]")
        if depth > 0 or token not in (";", "{", "}"):
            continue
        if token == "{":
            blocks.append(_Block(tuple(begun[:-1])))
        elif token == ";" or len(blocks) == 1:
            blocks[-1].statements.append(tuple(begun))
        else:
            ended = blocks.pop()
            inside = [*ended.statements, tuple(begun[:-1])]
            blocks[-1].statements.append((*ended.header, "{", *(word for statement in inside for word in statement), "}"))
        begun.clear()
    return blocks, tuple(begun)


def _level(block: _Block, with_header: bool) -> _Level:
    header = block.header if with_header else ()
    everything = header[:1] == ("switch",)  # which statements run depends on the labels before them
    guards = [statement for statement in block.statements if everything or not _LEAVING_WORDS.isdisjoint(statement)]
    return _Level(header, tuple(guards))


def _call_tokens(tokens: Sequence[str]) -> Iterator[str]:
    depth = 0
    for token in tokens:
        yield token
        depth += (token == "(") - (token == ")")
        if depth == 0 and token == ")":
            return
