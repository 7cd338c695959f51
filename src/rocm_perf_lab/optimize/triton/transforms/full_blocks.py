"""full-blocks: a loop over blocks processes the full blocks without the mask, which only the last block needs, and then the
rest as before.

    for k in range(0, K, BLOCK):            for k in range(0, K // BLOCK * BLOCK, BLOCK):
        at = k + tl.arange(0, BLOCK)            at = k + tl.arange(0, BLOCK)
        tl.load(x + at, mask=at < K)   ->       tl.load(x + at)
                                            for k in range(K // BLOCK * BLOCK, K, BLOCK):
                                                (body unchanged)

The order of all operations is unchanged, and so are the results. In full blocks, the mask is true everywhere, for any K.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from rocm_perf_lab.hip_source.edits import apply_edits
from rocm_perf_lab.optimize.transforms.proposal import Proposal, Refusal
from rocm_perf_lab.optimize.triton.transforms.blocks_of_loop import Blocks
from rocm_perf_lab.optimize.triton.transforms.loops import RangeLoop, is_innermost, range_loops
from rocm_perf_lab.triton_source import Edit, TritonKernel, TritonSource
from rocm_perf_lab.triton_source.names import calls, keyword

NAME = "full-blocks"
_MASK, _OTHER = "mask", "other"


def propose(source: TritonSource, kernel: TritonKernel, factors: tuple[int, ...]) -> Iterator[Proposal | Refusal]:
    for loop in range_loops(kernel):
        line, blocks = loop.node.lineno, Blocks.of(kernel, loop)
        if blocks is None or (reason := _why_not(blocks)):
            yield Refusal(NAME, kernel.name, line, reason if blocks is not None else "it does not go through blocks from 0")
            continue
        edits = list(_unmasked(source, blocks))
        if not edits:
            yield Refusal(NAME, kernel.name, line, "no mask in it compares the indices of a block with the loop's end")
            continue
        words = f"full blocks without their mask in the loop in line {line}"
        yield Proposal(NAME, kernel.name, line, words, (_two_loops(source, blocks, edits),))


def _why_not(blocks: Blocks) -> str:
    loop = blocks.loop
    if not is_innermost(loop):
        return "it contains another loop"
    if not (loop.is_invariant(blocks.end) and loop.is_invariant(blocks.step)):
        return "its end or its step changes in its body"
    if _bound_in_body(loop):
        return f"it changes {loop.variable}"
    if loop.call.keywords:
        return "it has options, which would apply to both parts"
    return ""


def _bound_in_body(loop: RangeLoop) -> bool:
    stores = (node for one in loop.node.body for node in ast.walk(one) if isinstance(node, ast.Name))
    return any(node.id == loop.variable and isinstance(node.ctx, ast.Store) for node in stores)


def _unmasked(source: TritonSource, blocks: Blocks) -> Iterator[Edit]:
    """The edits that remove the comparison from the masks in the loop."""
    for call in (*calls(blocks.loop.node, "load"), *calls(blocks.loop.node, "store")):
        mask = keyword(call, _MASK)
        parts = _conjuncts(mask) if mask is not None else []
        kept = [one for one in parts if not blocks.is_bound(one)]
        if mask is None or len(kept) == len(parts):
            continue
        if kept:
            span = source.places.span(mask)
            yield Edit(span.start, span.end, " & ".join(_in_parentheses(source, one) for one in kept))
        else:
            yield from (_without(source, call, name) for name in (_MASK, _OTHER) if keyword(call, name) is not None)


def _conjuncts(mask: ast.expr) -> list[ast.expr]:
    if isinstance(mask, ast.BinOp) and isinstance(mask.op, ast.BitAnd):
        return [*_conjuncts(mask.left), *_conjuncts(mask.right)]
    return [mask]


def _in_parentheses(source: TritonSource, node: ast.expr) -> str:
    text = source.places.text(node)
    return text if isinstance(node, ast.Name | ast.Constant | ast.Call | ast.Subscript) else f"({text})"


def _without(source: TritonSource, call: ast.Call, name: str) -> Edit:
    """Removes a keyword argument and the comma before it."""
    node = next(word for word in call.keywords if word.arg == name)
    comma = source.text.rfind(b",", 0, source.places.span(node).start)
    return Edit(comma, source.places.end(node), "")


def _two_loops(source: TritonSource, blocks: Blocks, edits: list[Edit]) -> Edit:
    loop, places = blocks.loop, source.places
    whole, last = places.span(loop.node), places.span(loop.end)
    end, step = _in_parentheses(source, blocks.end), _in_parentheses(source, blocks.step)
    full = f"{end} // {step}" if blocks.counted else f"{end} // {step} * {step}"
    front = _text(source, whole.start, whole.end, [*edits, Edit(last.start, last.end, full)])
    rest = _text(source, whole.start, whole.end, [_begin_at(source, loop, full)])
    return Edit(whole.start, whole.end, f"{front}\n{' ' * loop.node.col_offset}{rest}")


def _begin_at(source: TritonSource, loop: RangeLoop, place: str) -> Edit:
    if loop.begin is None:
        start = source.places.span(loop.end).start
        return Edit(start, start, f"{place}, ")
    span = source.places.span(loop.begin)
    return Edit(span.start, span.end, place)


def _text(source: TritonSource, start: int, end: int, edits: list[Edit]) -> str:
    moved = [Edit(edit.start - start, edit.end - start, edit.text) for edit in edits]
    return apply_edits(source.text[start:end], moved).decode()
