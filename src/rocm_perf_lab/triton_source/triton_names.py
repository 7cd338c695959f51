"""Determines which names in a file are Triton's, and which of these only compute on the GPU."""

from __future__ import annotations

import ast

from rocm_perf_lab.triton_source.names import dotted

_ROOT, _LANGUAGE = "triton", "language"
_OF_TRITON = frozenset(("jit", "autotune", "heuristics", "Config", "cdiv", "next_power_of_2"))
_INNER_MODULES = frozenset(("math", "extra", "libdevice", "hip"))
# Names in the language that are modules, reach into the host, or pass text to a compiler.
_NOT_OF_KERNELS = frozenset(
    ("core", "standard", "random", "semantic", "target_info", "jit", "builtin", "extern", "constexpr_function", "static_print")
    + ("device_print", "inline_asm_elementwise", "extern_elementwise")
)
_OF_VALUES = frozenset(
    ("to", "cast", "T", "shape", "dtype", "type", "element_ty", "scalar", "numel", "value", "primitive_bitwidth")
    + ("is_floating", "is_int", "is_ptr", "is_fp16", "is_bf16", "is_fp32", "is_fp8", "is_block")
    + ("reshape", "view", "permute", "trans", "expand_dims", "broadcast_to", "ravel", "flip", "split", "item")
    + ("load", "store", "gather", "scatter", "sum", "max", "min", "argmax", "argmin", "xor_sum", "sort", "cumsum", "cumprod")
    + ("reduce", "associative_scan", "histogram", "abs", "exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "floor")
    + ("ceil", "sigmoid", "softmax", "logical_and", "logical_or", "append")
    + tuple(f"atomic_{name}" for name in ("add", "max", "min", "and", "or", "xor", "xchg", "cas"))
)


def is_of_values(attribute: str) -> bool:
    """Whether the name is an attribute of tensors, pointers, descriptors or types."""
    return attribute in _OF_VALUES


class TritonNames:
    """modules: the names under which the file refers to Triton and to its modules and functions."""

    def __init__(self, tree: ast.Module):
        self._paths = {name: path for node in ast.walk(tree) for name, path in _imported(node) if path[0] == _ROOT}
        self.modules = frozenset(self._paths)

    def decorator(self, node: ast.expr) -> str:
        """For example, `autotune` for `@triton.autotune(...)`; empty for a decorator that is not Triton's."""
        path = self._path(dotted(node.func if isinstance(node, ast.Call) else node))
        return path[1] if len(path) == 2 and path[1] in _OF_TRITON else ""

    def is_function(self, chain: tuple[str, ...]) -> bool:
        """Whether the chain names something that a kernel may use, such as ("tl", "math", "exp2"), or ("cdiv",) if imported."""
        path = self._path(chain)
        if any(part.startswith("_") for part in path) or len(path) < 2:
            return False
        if path[1] != _LANGUAGE:
            return len(path) == 2 and path[1] in _OF_TRITON
        *inner, last = path[2:] or ("",)
        return bool(last) and set(inner) <= _INNER_MODULES and last not in _INNER_MODULES | _NOT_OF_KERNELS

    def _path(self, chain: tuple[str, ...]) -> tuple[str, ...]:
        return (*self._paths[chain[0]], *chain[1:]) if chain and chain[0] in self._paths else ()


def _imported(node: ast.AST) -> list[tuple[str, tuple[str, ...]]]:
    """The names that an import statement binds in the file, each with the path of the object that it denotes."""
    if isinstance(node, ast.Import):
        return [
            (
                alias.asname or alias.name.split(".")[0],
                tuple((alias.name if alias.asname else alias.name.split(".")[0]).split(".")),
            )
            for alias in node.names
        ]
    if isinstance(node, ast.ImportFrom) and node.module is not None and not node.level:
        return [(alias.asname or alias.name, (*node.module.split("."), alias.name)) for alias in node.names]
    return []
