"""Reads of memory through a kernel's const pointer parameters, and what their values depend on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocm_perf_lab.hip_source import libclang
from rocm_perf_lab.hip_source.cursors import body_of, parameters_of, walk, walk_below
from rocm_perf_lab.hip_source.loops import KINDS
from rocm_perf_lab.hip_source.variables import variables_changed_in

if TYPE_CHECKING:
    from rocm_perf_lab.hip_source.libclang import ClangType, Cursor
    from rocm_perf_lab.hip_source.source import TranslationUnit

_SCALARS = (
    "BOOL", "CHAR_S", "SCHAR", "UCHAR", "SHORT", "USHORT", "INT", "UINT", "LONG", "ULONG", "LONGLONG", "ULONGLONG",
    "FLOAT", "DOUBLE", "HALF", "FLOAT16", "BFLOAT16", "VECTOR", "EXTVECTOR", "UNEXPOSED", "DEPENDENT",
)  # fmt: skip
_SOMETIMES = (*KINDS, "SWITCH_STMT", "LAMBDA_EXPR", "CXX_TRY_STMT")
_HIP_INDICES = ("threadIdx", "blockIdx", "blockDim", "gridDim")


@dataclass(frozen=True)
class Read:
    """A read of a number as `base[index]` or `*base`. parameter: the parameter from which base is derived. always: whether it
    is evaluated whenever the searched statement is executed. variables: the declarations of the variables named in base and
    index.
    """

    cursor: Cursor
    parameter: Cursor
    type: str
    always: bool
    variables: tuple[Cursor, ...]


def reads_in(unit: TranslationUnit, function: Cursor, statement: Cursor) -> Iterator[Read]:
    """The reads under `statement`, in source order, except reads whose address depends on calls, side effects or other
    reads.
    """
    search = _Search(unit, function)
    always: list[bool] = []  # the value of `always` for each ancestor, from the statement down
    for cursor, above in walk_below(statement):
        del always[len(above) :]
        always.append(not above or (always[-1] and _is_always_evaluated(unit, above[-1], cursor)))
        if (read := search.read(cursor, above[-1] if above else None, always[-1])) is not None:
            yield read


def _is_always_evaluated(unit: TranslationUnit, holder: Cursor, part: Cursor) -> bool:
    """Whether this part is evaluated whenever its holder is."""
    name = holder.kind.name
    if name in _SOMETIMES:
        return False
    logical = name == "BINARY_OPERATOR" and libclang.operator(unit.bindings, holder) in ("&&", "||")
    chooses = logical or name in ("IF_STMT", "CONDITIONAL_OPERATOR")
    return not chooses or next(holder.get_children()) == part


def is_pure(unit: TranslationUnit, expression: Cursor) -> bool:
    """Whether evaluating the expression has no side effects and reads no memory except variables."""
    kinds = unit.bindings.CursorKind
    for cursor in walk(expression):
        if cursor.kind in (kinds.CALL_EXPR, kinds.COMPOUND_ASSIGNMENT_OPERATOR, kinds.ARRAY_SUBSCRIPT_EXPR, kinds.LAMBDA_EXPR):
            return False
        if libclang.unnamed_call(unit.bindings, cursor) or cursor.type.is_volatile_qualified():
            return False
        if libclang.operator(unit.bindings, cursor) in ("=", "++", "--", "*", "&") and cursor.kind != kinds.BINARY_OPERATOR:
            return False
        if cursor.kind == kinds.BINARY_OPERATOR and libclang.operator(unit.bindings, cursor) == "=":
            return False
        if cursor.kind == kinds.MEMBER_REF_EXPR and not any(c.spelling in _HIP_INDICES for c in cursor.get_children()):
            return False
        if cursor.kind.name in ("CXX_NEW_EXPR", "CXX_DELETE_EXPR", "CXX_THROW_EXPR", "StmtExpr"):
            return False
    return True


class _Search:
    def __init__(self, unit: TranslationUnit, function: Cursor):
        self._unit, self._kinds = unit, unit.bindings.CursorKind
        self._parameters, self._body = parameters_of(function), body_of(function)
        self._roots: dict[str, Cursor] = {}
        self._changed: frozenset[str] | None = None  # variables that the body may change

    def read(self, cursor: Cursor, holder: Cursor, always: bool) -> Read | None:
        """The read that a cursor represents, or None. holder: the direct parent; None for the statement itself."""
        kinds, bindings = self._kinds, self._unit.bindings
        is_dereference = cursor.kind == kinds.UNARY_OPERATOR and libclang.operator(bindings, cursor) == "*"
        if not is_dereference and cursor.kind != kinds.ARRAY_SUBSCRIPT_EXPR:
            return None
        if cursor.type.get_canonical().kind.name not in _SCALARS or cursor.type.is_volatile_qualified():
            return None
        operands = list(cursor.get_children())
        if not all(is_pure(self._unit, operand) for operand in operands) or (
            holder is not None and self._needs_location(holder)
        ):
            return None
        root = self._root(operands[0])
        if root is None:
            return None
        named = (c.referenced for o in operands for c in walk(o) if c.kind == kinds.DECL_REF_EXPR)
        type_ = cursor.type.spelling.removeprefix("const ")
        variables = tuple(v for v in named if v is not None and v.spelling not in _HIP_INDICES)
        return Read(cursor, root, type_, always, variables)

    def _needs_location(self, holder: Cursor) -> bool:
        """Whether the holder needs the expression's location rather than its value."""
        kinds = self._kinds
        if holder.kind == kinds.UNARY_OPERATOR and libclang.operator(self._unit.bindings, holder) in ("&", "++", "--"):
            return True
        reference = holder.type.get_canonical().kind.name in ("LVALUEREFERENCE", "RVALUEREFERENCE")
        is_reference = holder.kind == kinds.VAR_DECL and reference
        return is_reference or holder.kind in (kinds.CALL_EXPR, kinds.CXX_UNARY_EXPR)

    def _root(self, pointer: Cursor) -> Cursor:
        """The const pointer parameter from which an address is derived, perhaps through local pointers that never change; None
        if it is derived from several pointers or in another way.
        """
        root = None
        for cursor in walk(pointer):
            if cursor.kind != self._kinds.DECL_REF_EXPR or cursor.referenced is None:
                continue
            variable = cursor.referenced
            if not _is_pointer(variable.type):
                continue
            if root is not None:
                return None
            if (root := self._root_of(variable)) is None:
                return None
        return root

    def _root_of(self, variable: Cursor) -> Cursor:
        key = variable.get_usr()
        if key not in self._roots:
            self._roots[key] = None
            self._roots[key] = self._found_root(variable)
        return self._roots[key]

    def _found_root(self, variable: Cursor) -> Cursor:
        if self._changed is None:
            self._changed = variables_changed_in(self._body, self._unit.bindings)
        if variable.get_usr() in self._changed or not _pointee(variable.type).is_const_qualified():
            return None
        if variable.kind == self._kinds.PARM_DECL:
            return variable if variable in self._parameters else None
        initializer = next((c for c in variable.get_children() if c.kind.is_expression()), None)
        if variable.kind != self._kinds.VAR_DECL or initializer is None or not is_pure(self._unit, initializer):
            return None
        return self._root(initializer)


def _is_pointer(type_: ClangType) -> bool:
    return type_.get_canonical().kind.name in ("POINTER", "INCOMPLETEARRAY", "CONSTANTARRAY")


def _pointee(type_: ClangType) -> Cursor:
    canonical = type_.get_canonical()
    return canonical.get_pointee() if canonical.kind.name == "POINTER" else canonical.element_type
