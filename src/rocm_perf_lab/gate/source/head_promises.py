"""Extracts from a candidate's head the promises that it adds to the baseline's; nothing else may differ."""

from __future__ import annotations

from collections.abc import Sequence

from rocm_perf_lab.gate.source.forbidden_text import RESTRICT
from rocm_perf_lab.gate.source.promises import Promises
from rocm_perf_lab.hip_source import SourceKernel
from rocm_perf_lab.hip_source.source import TranslationUnit
from rocm_perf_lab.hip_source.tokens import Token, texts, tokens_of

_BOUNDS = "__launch_bounds__"
_GROUP_SIZE = "amdgpu_flat_work_group_size"


def promises_of_head(old: TranslationUnit, new: TranslationUnit, before: SourceKernel, after: SourceKernel) -> Promises | str:
    """The promises that the candidate's head adds.

    before, after: the target in the baseline and in the candidate; both have the same type. A string, if returned, says what is
    not allowed.

    `const` on a parameter itself affects only the body and promises nothing.
    """
    heads = [tokens_of(unit, kernel.span.start, kernel.body.start) for unit, kernel in ((old, before), (new, after))]
    threads = _new_thread_bound(*heads)
    if isinstance(threads, str):
        return f"the head of {before.name} has {threads}: except for __restrict__, launch bounds and const, it must not change"
    gained = zip(before.parameters, after.parameters, strict=True)
    names = tuple(new.name for old, new in gained if new.restrict and not old.restrict)
    return Promises(restrict=names, threads=threads)


def _new_thread_bound(old: Sequence[Token], new: Sequence[Token]) -> int | str | None:
    """The thread bound that only the new head declares, or None; a string describes a difference that is not allowed."""
    threads, position = None, 0
    old_tokens = iter(old)
    expected = next(old_tokens, None)
    while position < len(new):
        if expected is not None and new[position].text == expected.text:
            expected = next(old_tokens, None)
            position += 1
        elif new[position].text in (*RESTRICT, "const"):
            position += 1
        elif (bound := _bound(texts(new[position:]))) is not None and threads is None:
            threads, length = bound
            position += length
        else:
            return f"`{new[position].text}` in line {new[position].line}"
    return threads if expected is None else f"no `{expected.text}`"


def _bound(words: Sequence[str]) -> tuple[int, int] | None:
    """(threads, number of tokens) of launch bounds given as a plain number; None if there are none."""
    if words[:2] == [_BOUNDS, "("]:
        return _bound_and_length(words, 2, words[2:3])
    opening = ["__attribute__", "(", "(", _GROUP_SIZE, "(", "1", ","]
    if words[: len(opening)] == opening:
        return _bound_and_length(words, len(opening), words[len(opening) : len(opening) + 1])
    return None


def _bound_and_length(words: Sequence[str], start: int, number: Sequence[str]) -> tuple[int, int] | None:
    if not number or not number[0].isdecimal():
        return None
    depth, end = words[:start].count("("), start
    while end < len(words) and depth:
        depth += (words[end] == "(") - (words[end] == ")")
        end += 1
    inside = words[start + 1 : end]
    only_decimals = all(word in ")," or word.isdecimal() for word in inside)
    return (int(number[0]), end) if depth == 0 and only_decimals else None
