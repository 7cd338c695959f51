"""Conventions for all code that no linter checks: data is immutable unless it has to change, loops over arrays are compiled,
and sequences that are read together have the same length.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src/rocm_perf_lab"


@functools.cache
def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text()) for path in sorted(SOURCE.rglob("*.py"))}


def dataclasses() -> Iterator[tuple[Path, ast.ClassDef, bool]]:
    """(file, class, whether it is frozen)."""
    for path, tree in trees().items():
        for node in ast.walk(tree):
            for decorator in node.decorator_list if isinstance(node, ast.ClassDef) else ():
                text = ast.unparse(decorator)
                if text.startswith("dataclass"):
                    yield path, node, "frozen=True" in text


def changed_attributes(tree: ast.AST) -> set[str]:
    """Names of the attributes that are assigned."""
    found = set()
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
        for target in targets:
            found |= {inner.attr for inner in ast.walk(target) if isinstance(inner, ast.Attribute)}
    return found


def test_a_dataclass_is_frozen_unless_its_module_changes_one():
    seen = [*dataclasses()]
    assert len(seen) > 200
    changed = {path: changed_attributes(tree) for path, tree in trees().items()}
    not_frozen = [(path, node) for path, node, frozen in seen if not frozen]
    assert 0 < len(not_frozen) < len(seen) / 10
    for path, node in not_frozen:
        fields = {item.target.id for item in node.body if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)}
        everywhere = changed[path].union(*(changed[other] for other in path.parent.glob("*.py")))
        assert fields & everywhere, f"{path}:{node.lineno}: nothing assigns a field of {node.name}: freeze it"


def test_loops_over_numbers_are_compiled_in_modules_that_compile_loops():
    """Without compilation, they give the same results a hundred times more slowly."""
    modules = [tree for tree in trees().values() if "import lazy_jit" in ast.unparse(tree)]
    functions = [node for tree in modules for node in tree.body if isinstance(node, ast.FunctionDef)]
    looping = [one for one in functions if any(map(_loops_over_numbers, ast.walk(one)))]
    assert len(looping) > 10
    for function in looping:
        assert "lazy_jit" in map(ast.unparse, function.decorator_list), f"{function.name} is not compiled"


def _loops_over_numbers(node: ast.AST) -> bool:
    return isinstance(node, ast.While) or (isinstance(node, ast.For) and ast.unparse(node.iter).startswith("range("))


def test_sequences_read_together_have_equal_lengths_unless_a_comment_says_why_not():
    """With `strict=False`, the rest of the longer sequence is silently lost."""
    lines = [line for path in trees() for line in path.read_text().splitlines()]
    loose = [line for line in lines if "strict=False" in line]
    assert 0 < len(loose) < sum("strict=True" in line for line in lines) / 4
    assert not [line.strip() for line in loose if "  # " not in line]
