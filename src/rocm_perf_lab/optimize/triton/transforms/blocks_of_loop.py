"""The blocks over which a loop iterates, and the way its body tests for the end of the elements.

Two forms are recognised: `for k in range(0, K, BLOCK)` with masks `k + tl.arange(0, BLOCK) < K`; and `for k in range(0,
tl.cdiv(K, BLOCK))` with `tl.arange(0, BLOCK) < K - k * BLOCK` or `k * BLOCK + tl.arange(0, BLOCK) < K`. The operands of sums
and products may be in either order, and subexpressions may be named variables.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from rocm_perf_lab.optimize.triton.transforms.loops import RangeLoop
from rocm_perf_lab.triton_source import TritonKernel
from rocm_perf_lab.triton_source.names import calls, is_call


@dataclass(frozen=True)
class Blocks:
    """end: the number of elements, K above. step: the length of a block. counts_blocks: whether the loop counts blocks rather
    than elements.
    """

    kernel: TritonKernel
    loop: RangeLoop
    end: ast.expr
    step: ast.expr
    counts_blocks: bool

    @classmethod
    def of(cls, kernel: TritonKernel, loop: RangeLoop) -> Blocks | None:
        """The blocks of a loop; None if the loop does not have one of the two forms."""
        if loop.begin is not None and not (isinstance(loop.begin, ast.Constant) and loop.begin.value == 0):
            return None
        if is_call(loop.end, "cdiv") and isinstance(loop.end, ast.Call) and len(loop.end.args) == 2 and loop.step is None:
            end, step = loop.end.args
            return cls(kernel, loop, end, step, counts_blocks=True)
        return cls(kernel, loop, loop.end, loop.step, counts_blocks=False) if loop.step is not None else None

    def is_bound(self, mask: ast.expr) -> bool:
        """Whether the mask tests only for the end of the elements, so that it is true everywhere in full blocks."""
        if not isinstance(mask, ast.Compare) or len(mask.ops) != 1:
            return False
        left, right = mask.left, mask.comparators[0]
        if isinstance(mask.ops[0], ast.Gt):
            left, right = right, left
        elif not isinstance(mask.ops[0], ast.Lt):
            return False
        left = _without_expansion(left)
        return any(self._is_one_of(left, indices) and self._is_one_of(right, ends) for indices, ends in self._forms())

    def _forms(self) -> list[tuple[set[str], set[str]]]:
        """Pairs of the possible expressions for a lane's index and the possible expressions for its exclusive bound."""
        lanes, k = self._lanes(), ast.Name(self.loop.variable, ast.Load())
        begin = _both_orders(k, ast.Mult(), self.step) if self.counts_blocks else {ast.dump(k)}
        placed = {
            _dumped_operation(*pair, "Add") for start in begin for lane in lanes for pair in ((start, lane), (lane, start))
        }
        forms = [(placed, {ast.dump(self.end)})]
        if self.counts_blocks:
            forms.append((lanes, {_dumped_operation(ast.dump(self.end), start, "Sub") for start in begin}))
        return forms

    def _lanes(self) -> set[str]:
        """The expression tl.arange(0, step), and the names to which it is assigned outside the loop."""
        aranges = {ast.dump(call) for call in calls(self.kernel.node, "arange") if self._is_arange(call)}
        named = assigned_once(self.kernel.node)
        names = {name for name, value in named.items() if ast.dump(value) in aranges and name not in self.loop.bound_names}
        return aranges | {ast.dump(ast.Name(name, ast.Load())) for name in names}

    def _is_arange(self, call: ast.Call) -> bool:
        first, *remaining = call.args or [call]
        zero = isinstance(first, ast.Constant) and first.value == 0
        return zero and [ast.dump(argument) for argument in remaining] == [ast.dump(self.step)] and not call.keywords

    def _is_one_of(self, node: ast.expr, wanted: set[str]) -> bool:
        """Whether the expression is in `wanted`, or is a name to which the loop's body has already assigned one that is."""
        if ast.dump(node) in wanted:
            return True
        if not isinstance(node, ast.Name):
            return False
        once = assigned_once(self.loop.node)
        before = [
            statement
            for statement in self.loop.node.body
            if isinstance(statement, ast.Assign) and statement.end_lineno is not None
        ]
        definition = next(
            (assign for assign in before if node.id in _targets(assign) and assign.end_lineno < node.lineno),  # type: ignore[operator]
            None,
        )
        return definition is not None and node.id in once and ast.dump(once[node.id]) in wanted


def assigned_once(tree: ast.AST) -> dict[str, ast.expr]:
    """name -> value, for the names that are bound by exactly one plain assignment in the tree and by nothing else."""
    values: dict[str, list[ast.expr | None]] = {}
    assigned = {
        id(node.targets[0]): node.value for node in ast.walk(tree) if isinstance(node, ast.Assign) and len(node.targets) == 1
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            values.setdefault(node.id, []).append(assigned.get(id(node)))
    return {name: value for name, (value, *more) in values.items() if value is not None and not more}


def _targets(statement: ast.Assign) -> set[str]:
    return {target.id for target in statement.targets if isinstance(target, ast.Name)}


def _without_expansion(node: ast.expr) -> ast.expr:
    """`at` of `at[None, :]`."""
    if not isinstance(node, ast.Subscript):
        return node
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    only_expands = all(_is_whole(part) or (isinstance(part, ast.Constant) and part.value is None) for part in parts)
    return node.value if only_expands else node


def _is_whole(part: ast.expr) -> bool:
    return isinstance(part, ast.Slice) and part.lower is part.upper is part.step is None


def _both_orders(left: ast.expr, operator: ast.operator, right: ast.expr) -> set[str]:
    return {ast.dump(ast.BinOp(*pair)) for pair in ((left, operator, right), (right, operator, left))}


def _dumped_operation(left: str, right: str, operator: str) -> str:
    """The operation on two dumped expressions, in the format of ast.dump()."""
    return f"BinOp(left={left}, op={operator}(), right={right})"
