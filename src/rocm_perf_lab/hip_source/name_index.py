"""An index of the names that a program's source uses: where and in what context, and which functions the program defines."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocm_perf_lab.hip_source.cursors import body_of, walk_below

if TYPE_CHECKING:
    from rocm_perf_lab.hip_source.libclang import Cursor
    from rocm_perf_lab.hip_source.source import TranslationUnit

CONFIGURATION = "__hipPushCallConfiguration"
FUNCTIONS = ("FUNCTION_DECL", "FUNCTION_TEMPLATE", "CXX_METHOD", "CONSTRUCTOR", "DESTRUCTOR", "CONVERSION_FUNCTION")
_NEAREST = 16


@dataclass(frozen=True)
class NameUse:
    """A use of a name in the program. above: up to _NEAREST ancestors, the nearest one last. scope: the nearest enclosing
    function or lambda. function: the nearest enclosing function, ignoring lambdas.
    """

    cursor: Cursor
    above: tuple[Cursor, ...]
    scope: Cursor | None
    function: Cursor | None

    @property
    def line(self) -> int:
        return int(self.cursor.location.line)


class NameIndex:
    """The names that occur in one unit.

    uses: uses of variables and functions, keyed by USR. named: the same uses plus uses that a template leaves unresolved, keyed
    by spelling. variables: declarations, keyed by USR. functions: definitions, keyed by USR. defined: the number of definitions
    for each spelling. own: names of functions that the program defines, perhaps elsewhere or under a different symbol.
    launches: keyed by end_of(). strings: literals and assembler labels.
    """

    def __init__(self, unit: TranslationUnit):
        self.uses: dict[str, list[NameUse]] = {}
        self.named: dict[str, list[NameUse]] = {}
        self.variables: dict[str, list[NameUse]] = {}
        self.functions: dict[str, Cursor] = {}
        self.defined: dict[str, int] = {}
        self.own: set[str] = set()
        self.launches: dict[tuple[str, int], NameUse] = {}
        self.strings: list[str] = []
        for declaration in unit.user_declarations:
            scopes: list[tuple[int, Cursor]] = []
            for cursor, above in walk_below(declaration):
                while scopes and scopes[-1][0] >= len(above):
                    scopes.pop()
                self._add(cursor, above, scopes)
                if cursor.kind.name in (*FUNCTIONS, "LAMBDA_EXPR"):
                    scopes.append((len(above), cursor))

    def _add(self, cursor: Cursor, above: list[Cursor], scopes: list[tuple[int, Cursor]]) -> None:
        kind = cursor.kind.name
        if kind in ("DECL_REF_EXPR", "OVERLOADED_DECL_REF", "MEMBER_REF_EXPR"):
            use = _use_of(cursor, above, scopes)
            self.named.setdefault(cursor.spelling, []).append(use)
            if kind == "DECL_REF_EXPR" and cursor.referenced is not None:
                self.uses.setdefault(cursor.referenced.get_usr(), []).append(use)
        elif kind in ("VAR_DECL", "PARM_DECL"):
            self.variables.setdefault(cursor.get_usr(), []).append(_use_of(cursor, above, scopes))
        elif kind in FUNCTIONS:
            self._add_function(cursor)
        elif kind == "CALL_EXPR" and is_launch(cursor):
            self.launches[end_of(cursor)] = _use_of(cursor, above, scopes)
        elif kind in ("STRING_LITERAL", "ASM_LABEL_ATTR"):
            self.strings.append(cursor.spelling)

    def _add_function(self, function: Cursor) -> None:
        if body_of(function) is not None:
            self.functions[function.get_usr()] = function
            self.defined[function.spelling] = self.defined.get(function.spelling, 0) + 1
            self.own.add(function.spelling)
        elif not is_of_no_scope(function) or any(c.kind.name == "ASM_LABEL_ATTR" for c in function.get_children()):
            self.own.add(function.spelling)
        elif function.spelling.startswith("operator"):
            self.own.add(function.spelling)


def _use_of(cursor: Cursor, above: list[Cursor], scopes: list[tuple[int, Cursor]]) -> NameUse:
    function = next((scope for _, scope in reversed(scopes) if scope.kind.name in FUNCTIONS), None)
    return NameUse(cursor, tuple(above[-_NEAREST:]), scopes[-1][1] if scopes else None, function)


_indices: weakref.WeakKeyDictionary[TranslationUnit, NameIndex] = weakref.WeakKeyDictionary()


def name_index(unit: TranslationUnit) -> NameIndex:
    """The index of a unit, built only once."""
    if unit not in _indices:
        _indices[unit] = NameIndex(unit)
    return _indices[unit]


def end_of(cursor: Cursor) -> tuple[str, int]:
    """The file and byte offset of a cursor's end. They identify a launch or an allocation, since no two of these end at the
    same place.
    """
    start = cursor.extent.start
    return (start.file.name if start.file else "", cursor.extent.end.offset)


def is_launch(call: Cursor) -> bool:
    """Whether a call is `kernel<<<...>>>(...)`."""
    children = list(call.get_children())
    return len(children) > 1 and children[1].spelling == CONFIGURATION


def is_of_no_scope(function: Cursor) -> bool:
    """Whether the function is declared outside all namespaces and classes."""
    scope = function.semantic_parent
    return scope is not None and scope.kind.name in ("TRANSLATION_UNIT", "LINKAGE_SPEC", "UNEXPOSED_DECL")
