"""libclang, from the ROCm installation that compiles the program, so that parser and compiler accept the same language."""

from __future__ import annotations

import functools
import itertools
import subprocess
from pathlib import Path
from typing import Any

from rocm_perf_lab.errors import UnavailableError

# Types of Clang's Python bindings, which have no type annotations.
Bindings = Any  # the module clang.cindex
Cursor = Any
CursorKinds = Any  # the class CursorKind
ClangType = Any
ClangUnit = Any  # a translation unit
Token = Any

# The result kind of an integer in libclang's C interface; Clang's Python bindings do not cover evaluation.
INTEGER = 1  # CXEval_Int


@functools.cache
def cindex(compiler: str) -> Bindings:
    """clang.cindex bound to the libclang of `compiler` (hipcc or clang++). Raises UnavailableError."""
    try:
        import clang.cindex as bindings
    except ImportError as error:
        raise UnavailableError("the Python package clang is missing", "pip install clang") from error
    library = library_beside(compiler)
    if not bindings.Config.loaded:
        bindings.Config.set_library_file(str(library))
    _declare_missing(bindings)
    return bindings


@functools.cache
def library_beside(compiler: str) -> Path:
    """The libclang of the LLVM installation that `compiler` runs (path: .../lib/libclang*.so*)."""
    folder = Path(_printed(compiler, "-print-resource-dir")).parents[1]  # <llvm>/lib/clang/<version>
    candidates = [*folder.glob("libclang.so*"), *folder.glob("libclang-[0-9]*.so*")]
    if not candidates:
        raise UnavailableError(f"no libclang.so in {folder}", "install libclang of the same version as hipcc's clang")
    return min(candidates, key=lambda path: (len(path.name), path.name))


def _printed(compiler: str, *arguments: str) -> str:
    try:
        completed = subprocess.run([compiler, *arguments], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnavailableError(
            f"{compiler} does not run: {error}",
            "install ROCm's hipcc or name the compiler in --build; use --readable for other folders that it needs",
        ) from error
    text = completed.stdout.strip()
    if completed.returncode and not text:
        raise UnavailableError(
            f"{compiler} {' '.join(arguments)} failed",
            "check the compiler with `rocm-perf doctor`; use --readable for folders that it needs besides its own",
        )
    return text


def _declare_missing(bindings: Bindings) -> None:
    from ctypes import c_int, c_longlong, c_void_p

    lib = bindings.conf.lib
    lib.clang_Cursor_Evaluate.argtypes = [bindings.Cursor]
    lib.clang_Cursor_Evaluate.restype = c_void_p
    lib.clang_getCursorUnaryOperatorKind.argtypes = [bindings.Cursor]
    lib.clang_getCursorUnaryOperatorKind.restype = c_int
    for name in ("Unary", "Binary"):
        spelling = getattr(lib, f"clang_get{name}OperatorKindSpelling")
        spelling.argtypes, spelling.restype = [c_int], bindings._CXString
        spelling.errcheck = lambda result, _function, _arguments: bindings._CXString.from_result(result)
    for name, result in (("getKind", c_int), ("getAsLongLong", c_longlong), ("dispose", None)):
        function = getattr(lib, f"clang_EvalResult_{name}")
        function.argtypes = [c_void_p]
        function.restype = result


def integer_value(bindings: Bindings, cursor: Cursor) -> int | None:
    """The value of a constant integer expression; None if Clang cannot determine it."""
    if not cursor.kind.is_expression():
        return None  # evaluating any other cursor is undefined behaviour
    lib = bindings.conf.lib
    result = lib.clang_Cursor_Evaluate(cursor)
    if not result:
        return None
    try:
        return lib.clang_EvalResult_getAsLongLong(result) if lib.clang_EvalResult_getKind(result) == INTEGER else None
    finally:
        lib.clang_EvalResult_dispose(result)


def operator(bindings: Bindings, cursor: Cursor) -> str:
    """The operator of a unary, binary or compound-assignment expression, as in the source; "" for other cursors."""
    lib, kinds = bindings.conf.lib, bindings.CursorKind
    if cursor.kind == kinds.UNARY_OPERATOR:
        return str(lib.clang_getUnaryOperatorKindSpelling(lib.clang_getCursorUnaryOperatorKind(cursor)))
    if cursor.kind not in (kinds.BINARY_OPERATOR, kinds.COMPOUND_ASSIGNMENT_OPERATOR):
        return ""
    return str(lib.clang_getBinaryOperatorKindSpelling(cursor.binary_operator.value))


def unnamed_call(bindings: Bindings, cursor: Cursor) -> str | None:
    """For an expression that looks like a call but that libclang does not treat as one, the name before the parentheses; None
    for anything else.

    Atomic builtins are an example: they have operands but neither a callee nor a spelling.
    """
    if cursor.kind != bindings.CursorKind.UNEXPOSED_EXPR or len(list(cursor.get_children())) < 2:
        return None
    tokens = [token.spelling for token in itertools.islice(cursor.get_tokens(), 2)]
    return tokens[0] if len(tokens) == 2 and tokens[1] == "(" and tokens[0].isidentifier() else None


def overloads(cursor: Cursor) -> list[Cursor]:
    """The declarations that an OVERLOADED_DECL_REF may refer to, for example if a template's operands have dependent types."""
    from clang.cindex import conf

    declarations = [conf.lib.clang_getOverloadedDecl(cursor, i) for i in range(conf.lib.clang_getNumOverloadedDecls(cursor))]
    for declaration in declarations:
        declaration._tu = cursor._tu  # a cursor is valid only while its unit exists
    return declarations


def children_outside_system_headers(bindings: Bindings, cursor: Cursor) -> list[Cursor]:
    """Like cursor.get_children(), but much faster, since it skips the tens of thousands of declarations in HIP's headers."""
    lib, unit = bindings.conf.lib, cursor._tu
    children: list[Cursor] = []
    location_of, is_system = lib.clang_getCursorLocation, lib.clang_Location_isInSystemHeader

    def visit(child: Cursor, _parent: Cursor, _data: object) -> int:
        if not is_system(location_of(child)):
            child._tu = unit  # a cursor is valid only while its unit exists
            children.append(child)
        return 1  # CXChildVisit_Continue

    lib.clang_visitChildren(cursor, bindings.cursor_visit_callback(visit), children)
    return children
