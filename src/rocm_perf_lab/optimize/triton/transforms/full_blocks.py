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
        edits = list(_mask_edits(source, blocks))
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
    stores = (node for statement in loop.node.body for node in ast.walk(statement) if isinstance(node, ast.Name))
    return any(node.id == loop.variable and isinstance(node.ctx, ast.Store) for node in stores)


def _mask_edits(source: TritonSource, blocks: Blocks) -> Iterator[Edit]:
    """The edits that remove the comparison from the masks in the loop."""
    for call in (*calls(blocks.loop.node, "load"), *calls(blocks.loop.node, "store")):
        mask = keyword(call, _MASK)
        parts = _conjuncts(mask) if mask is not None else []
        remaining = [conjunct for conjunct in parts if not blocks.is_bound(conjunct)]
        if mask is None or len(remaining) == len(parts):
            continue
        if remaining:
            span = source.positions.span(mask)
            yield Edit(span.start, span.end, " & ".join(_in_parentheses(source, conjunct) for conjunct in remaining))
        else:
            yield from (_remove_argument(source, call, name) for name in (_MASK, _OTHER) if keyword(call, name) is not None)


def _conjuncts(mask: ast.expr) -> list[ast.expr]:
    if isinstance(mask, ast.BinOp) and isinstance(mask.op, ast.BitAnd):
        return [*_conjuncts(mask.left), *_conjuncts(mask.right)]
    return [mask]


def _in_parentheses(source: TritonSource, node: ast.expr) -> str:
    text = source.positions.text(node)
    return text if isinstance(node, ast.Name | ast.Constant | ast.Call | ast.Subscript) else f"({text})"


def _remove_argument(source: TritonSource, call: ast.Call, name: str) -> Edit:
    """Removes a keyword argument and the comma before it."""
    node = next(word for word in call.keywords if word.arg == name)
    comma = source.text.rfind(b",", 0, source.positions.span(node).start)
    return Edit(comma, source.positions.end(node), "")


def _two_loops(source: TritonSource, blocks: Blocks, edits: list[Edit]) -> Edit:
    loop, places = blocks.loop, source.positions
    loop_span, end_span = places.span(loop.node), places.span(loop.end)
    end, step = _in_parentheses(source, blocks.end), _in_parentheses(source, blocks.step)
    full = f"{end} // {step}" if blocks.counts_blocks else f"{end} // {step} * {step}"
    front = _edited_text(source, loop_span.start, loop_span.end, [*edits, Edit(end_span.start, end_span.end, full)])
    remainder = _edited_text(source, loop_span.start, loop_span.end, [_begin_edit(source, loop, full)])
    return Edit(loop_span.start, loop_span.end, f"{front}\n{' ' * loop.node.col_offset}{remainder}")


def _begin_edit(source: TritonSource, loop: RangeLoop, begin: str) -> Edit:
    if loop.begin is None:
        start = source.positions.span(loop.end).start
        return Edit(start, start, f"{begin}, ")
    span = source.positions.span(loop.begin)
    return Edit(span.start, span.end, begin)


def _edited_text(source: TritonSource, start: int, end: int, edits: list[Edit]) -> str:
    moved = [Edit(edit.start - start, edit.end - start, edit.text) for edit in edits]
    return apply_edits(source.text[start:end], moved).decode()
