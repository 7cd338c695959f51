"""Checks whether new code may replace a Triton function: it must be one function that does nothing but compute on the GPU.

Triton's compiler is written in Python: at compile time, on the host, it looks up the names in a kernel and calls what it finds
there. So the new function may use only what the old one uses, the file's `@triton.jit` functions, a few of Python's built-in
functions, Triton's language, and the methods of its tensors; nothing else can be reached through these. New code is judged
inside a cage; this check makes accepted code safe outside it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from rocm_perf_lab.triton_source.function import TritonKernel
from rocm_perf_lab.triton_source.names import assigned_in, dotted
from rocm_perf_lab.triton_source.source import TritonSource
from rocm_perf_lab.triton_source.triton_names import TritonNames, is_of_values

_BUILTINS = frozenset(("range", "min", "max", "abs", "len", "int", "float", "bool", "tuple", "isinstance"))
_DECORATORS = ("jit", "autotune", "heuristics")
_OF_AUTOTUNE = ("configs", "key", "reset_to_zero", "restore_value")
_WITHOUT_USE = (
    ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef,
    ast.Try, ast.With, ast.AsyncWith, ast.AsyncFor, ast.Delete, ast.Raise, ast.Lambda, ast.Await, ast.Yield, ast.YieldFrom,
    ast.JoinedStr, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp,
)  # fmt: skip


def why_not_replacement(source: TritonSource, kernel: TritonKernel, code: str) -> str | None:
    """Why `code`, which must be valid Python, may not replace the kernel, as one sentence for its author; None if it may."""
    body = ast.parse(code).body
    if len(body) != 1 or not isinstance(body[0], ast.FunctionDef):
        return f"the code must be one function, the new {kernel.name}, and nothing else"
    function = body[0]
    if function.name != kernel.name:
        return f"the function is called {function.name}, but must be called {kernel.name}"
    if ast.dump(function.args) != ast.dump(kernel.node.args) or function.returns is not None:
        return f"its parameters must stay ({ast.unparse(kernel.node.args)}), including their order, annotations and defaults"
    return next(_Rules(source, kernel).broken_by(function), None)


class _Rules:
    """The rules that follow from the old function and the file."""

    def __init__(self, source: TritonSource, kernel: TritonKernel):
        old = kernel.node
        self._triton = TritonNames(source.tree)
        self._decorators = {ast.dump(decorator) for decorator in old.decorator_list}
        self._bare = _bare_names(old) | {sibling.name for sibling in source.kernels} | _BUILTINS
        self._chains = {dotted(node) for node in ast.walk(old) if isinstance(node, ast.Attribute)} - {()}
        self._without_use = tuple(set(_WITHOUT_USE) - {type(node) for statement in old.body for node in ast.walk(statement)})

    def broken_by(self, function: ast.FunctionDef) -> Iterator[str]:
        names = [self._triton.decorator(decorator) for decorator in function.decorator_list]
        if names.count("jit") != 1 or names[-1] != "jit":
            yield "its last decorator must be @triton.jit"
        for decorator, name in zip(function.decorator_list, names, strict=True):
            if ast.dump(decorator) not in self._decorators:
                yield from self._broken_by_decorator(decorator, name)
        parameters = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
        own = parameters | set().union(*map(assigned_in, function.body))
        for shadowed in sorted(own & (self._triton.modules | _BUILTINS)):
            yield f"it gives the name {shadowed} a different meaning"
        for statement in function.body:
            yield from self._broken_in(statement, own, self._without_use)

    def _broken_by_decorator(self, decorator: ast.expr, name: str) -> Iterator[str]:
        if name not in _DECORATORS:
            yield f"the decorator @{ast.unparse(decorator)[:60]} is new and not one of Triton's"
        elif isinstance(decorator, ast.Call):
            words = [word.arg for word in decorator.keywords]
            if name == "autotune" and (len(decorator.args) > 2 or not set(words) <= set(_OF_AUTOTUNE)):
                yield f"@triton.autotune may have {', '.join(_OF_AUTOTUNE)}, and nothing else"
            lambdas = [node for node in ast.walk(decorator) if isinstance(node, ast.Lambda)]
            if lambdas and name != "heuristics":
                yield f"@triton.{name} may have no functions"
            bound = (
                {argument.arg for function in lambdas for argument in function.args.args} | assigned_in(decorator) | {"dict"}
            )
            yield from self._broken_in(decorator, bound, tuple(set(_WITHOUT_USE) - {ast.Lambda, ast.ListComp}))

    def _broken_in(self, tree: ast.AST, own: set[str], without_use: tuple[type[ast.AST], ...]) -> Iterator[str]:
        roots = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        for node in ast.walk(tree):
            if isinstance(node, without_use):
                yield f"it has a {type(node).__name__}, which a kernel does not need"
            elif isinstance(node, ast.Name) and id(node) not in roots and not self._may_name(node.id, own):
                yield f"it uses {node.id}, which it does not define and the old function does not use"
            elif isinstance(node, ast.Attribute) and id(node) not in roots:
                yield from self._broken_by_chain(node, own)

    def _may_name(self, name: str, own: set[str]) -> bool:
        return name in own or name in self._bare or self._triton.is_function((name,))

    def _broken_by_chain(self, node: ast.Attribute, own: set[str]) -> Iterator[str]:
        """node: the outermost attribute of a chain such as `tl.math.exp2` or `x.to`."""
        chain = dotted(node)
        if chain in self._chains or (chain and chain[0] not in own and self._triton.is_function(chain)):
            return
        if chain and chain[0] not in own:
            yield f"it uses {'.'.join(chain)}, which is not part of Triton's language"
            return
        part: ast.expr = node
        while isinstance(part, ast.Attribute):
            if not is_of_values(part.attr):
                yield f"it uses .{part.attr}, which tensors do not have"
            part = part.value


def _bare_names(function: ast.FunctionDef) -> set[str]:
    """The names that the function uses, except those before a dot."""
    roots = {id(node.value) for node in ast.walk(function) if isinstance(node, ast.Attribute)}
    return {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and id(node) not in roots}
