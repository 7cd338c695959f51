"""Whether a kernel accesses memory only through its pointer parameters, so that only the memory behind them can overlap."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rocm_perf_lab.hip_source import reordering_obstacles
from rocm_perf_lab.hip_source.cursors import body_of, parameters_of, walk
from rocm_perf_lab.hip_source.kernels import function_of
from rocm_perf_lab.hip_source.memoize import once_per_unit
from rocm_perf_lab.hip_source.source_parts import ObstacleKind, SourceKernel
from rocm_perf_lab.hip_source.variables import variables_changed_in

if TYPE_CHECKING:
    from rocm_perf_lab.hip_source.libclang import ClangType, Cursor, CursorKinds
    from rocm_perf_lab.hip_source.source import TranslationUnit

_UNSEEN = (
    ObstacleKind.INLINE_ASM,
    ObstacleKind.UNKNOWN_CALL,
    ObstacleKind.INDIRECT_CALL,
    ObstacleKind.VOLATILE,
    ObstacleKind.JUMP,
)
_NUMBERS = ("INT", "UINT", "LONG", "ULONG", "LONGLONG", "ULONGLONG")
_HOLDERS = ("POINTER", "LVALUEREFERENCE", "RVALUEREFERENCE", "MEMBERPOINTER")


@once_per_unit
def other_memory_access(unit: TranslationUnit, kernel: SourceKernel) -> str | None:
    """How the kernel may reach memory other than through its pointer parameters; None if it cannot."""
    function = function_of(unit, kernel)
    kinds = unit.bindings.CursorKind
    for parameter in parameters_of(function):
        type_ = parameter.type.get_canonical()
        if _holds_address(type_.get_pointee() if type_.kind.name == "POINTER" else type_):
            return f"{parameter.spelling} may hold addresses"
    for use in reordering_obstacles.find(function, unit.bindings):
        if use.kind in _UNSEEN:
            return f"it holds a {use}"
    for cursor in _reached(unit, function):
        if cursor.kind == kinds.DECL_REF_EXPR and _is_global(cursor.referenced, kinds):
            return f"it uses the variable {cursor.spelling} (line {cursor.location.line})"
        if cursor.kind.name.endswith("CAST_EXPR") and _from_integer(cursor):
            return f"it makes a pointer from a number (line {cursor.location.line})"
    return None


@once_per_unit
def reassigned(unit: TranslationUnit, kernel: SourceKernel) -> set[str]:
    """Pointer parameters that may be changed to point elsewhere, in the body or through their address."""
    function = function_of(unit, kernel)
    changed = variables_changed_in(body_of(function), unit.bindings)
    return {parameter.spelling for parameter in parameters_of(function) if parameter.get_usr() in changed}


def _holds_address(type_: ClangType) -> bool:
    type_ = type_.get_canonical()
    if type_.kind.name in _HOLDERS:
        return True
    if type_.kind.name in ("CONSTANTARRAY", "INCOMPLETEARRAY"):
        return _holds_address(type_.element_type)
    if type_.kind.name != "RECORD":
        return False
    declaration = type_.get_declaration()
    bases = (c.type for c in declaration.get_children() if c.kind.name == "CXX_BASE_SPECIFIER")
    return any(_holds_address(held) for held in (*(field.type for field in type_.get_fields()), *bases))


def _reached(unit: TranslationUnit, function: Cursor) -> Iterator[Cursor]:
    """All cursors in a function and in the functions that it calls."""
    left, visited = [function], set()
    while left:
        for inside in walk(left.pop()):
            yield inside
            if inside.kind == unit.bindings.CursorKind.CALL_EXPR and inside.referenced is not None:
                callee = inside.referenced.get_definition() or _template(unit, inside.referenced)
                if callee is not None and callee.get_usr() not in visited and not callee.location.is_in_system_header:
                    visited.add(callee.get_usr())
                    left.append(callee)


def _template(unit: TranslationUnit, callee: Cursor) -> Cursor:
    template = unit.bindings.conf.lib.clang_getSpecializedCursorTemplate(callee)
    return None if template.is_null() else template.get_definition()


def _is_global(variable: Cursor, kinds: CursorKinds) -> bool:
    """Whether the variable outlives the launch and may change, or refers to memory that may change; HIP's own variables
    (threadIdx) and LDS do not count. Constants must not be changed while a kernel runs.
    """
    if variable is None or variable.kind != kinds.VAR_DECL or variable.location.is_in_system_header:
        return False
    attributes = {child.kind for child in variable.get_children()}
    if kinds.CUDASHARED_ATTR in attributes:
        return False
    if _is_const(variable.type) or kinds.CUDACONSTANT_ATTR in attributes:
        return _holds_address(variable.type)
    scope = variable.semantic_parent
    return scope.kind.name in ("TRANSLATION_UNIT", "NAMESPACE") or variable.storage_class.name == "STATIC"


def _is_const(type_: ClangType) -> bool:
    """Whether the type is const. For an array, the const may belong to the array's type or to its element type, depending on
    the declaration.
    """
    while type_.kind.name in ("CONSTANTARRAY", "INCOMPLETEARRAY") and not type_.is_const_qualified():
        type_ = type_.element_type
    return bool(type_.is_const_qualified())


def _from_integer(cast: Cursor) -> bool:
    if cast.type.get_canonical().kind.name != "POINTER":
        return False
    operand = next((c for c in cast.get_children() if c.kind.is_expression()), None)
    return operand is not None and operand.type.get_canonical().kind.name in _NUMBERS
