"""What a source means, declaration by declaration, so that two sources can be compared without their formatting.

A digest covers the AST below a declaration: kinds, names, types, operators and literals. Comments, white space and
parentheses do not count. Macro definitions and includes count by their text, since they reach beyond the file.
"""

from __future__ import annotations

import hashlib
import re
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from . import libclang
from .source import TranslationUnit

# Clang tells things without a name apart by where they stand, which changes with every line above them: in types
# "(lambda at file:line:column)", in USRs the offset between two @.
_PLACE_IN_TYPE = re.compile(r" at [^()]*:\d+:\d+\)")
_PLACE_IN_USR = re.compile(r"@\d+(?=@)")

_FUNCTIONS = {"FUNCTION_DECL", "FUNCTION_TEMPLATE", "CXX_METHOD", "CONSTRUCTOR", "DESTRUCTOR", "LAMBDA_EXPR"}


@dataclass(frozen=True)
class Declaration:
    """A declaration at namespace scope.

    key: its kind and name, with parameter types where names are overloaded. name: alone.
    head: digest without the function's body. body: digest of that, None where it has none.
    is_kernel, is_device_function: by its attributes. holds_state: a variable that outlives a launch is declared in it.
    """

    key: str
    name: str
    head: str
    body: str | None
    is_kernel: bool
    is_device_function: bool
    holds_state: bool


@dataclass(frozen=True)
class Difference:
    """One declaration that is not the same in both sources: added, removed, head (its signature) or body changed."""

    kind: str
    before: Declaration | None
    after: Declaration | None

    @property
    def key(self) -> str:
        return (self.before or self.after).key

    def __str__(self) -> str:
        return f"{self.key}: {self.kind}"


_KNOWN: weakref.WeakKeyDictionary[TranslationUnit, dict[str, Declaration]] = weakref.WeakKeyDictionary()
"""A baseline is compared with many candidates."""


def declarations(unit: TranslationUnit) -> dict[str, Declaration]:
    """Every declaration, macro and include of the user's own files, by key; repeats are numbered."""
    if unit not in _KNOWN:
        _KNOWN[unit] = _declarations(unit)
    return _KNOWN[unit]


def _declarations(unit: TranslationUnit) -> dict[str, Declaration]:
    result: dict[str, Declaration] = {}
    for cursor in flat(unit):
        declaration = _declaration(unit, cursor, seen=result)
        result[declaration.key] = declaration
    return result


def compare(before: TranslationUnit, after: TranslationUnit) -> list[Difference]:
    """The differences, in the order of the first source, then what was added."""
    old, new = declarations(before), declarations(after)
    differences = []
    for key, declaration in old.items():
        other = new.get(key)
        if other is None:
            differences.append(Difference("removed", declaration, None))
        elif declaration.head != other.head:
            differences.append(Difference("head", declaration, other))
        elif declaration.body != other.body:
            differences.append(Difference("body", declaration, other))
    return differences + [Difference("added", None, new[key]) for key in new.keys() - old.keys()]


def flat(unit: TranslationUnit) -> Iterator[Any]:
    """Declarations with namespaces opened, so that a kernel in a namespace stands for itself."""
    kinds = unit.bindings.CursorKind
    skipped = {kinds.MACRO_INSTANTIATION}
    stack = list(reversed(unit.user_declarations))
    while stack:
        cursor = stack.pop()
        if cursor.kind in (kinds.NAMESPACE, kinds.LINKAGE_SPEC):
            stack.extend(reversed(list(cursor.get_children())))
        elif cursor.kind not in skipped:
            yield cursor


def _declaration(unit: TranslationUnit, cursor: Any, seen: dict[str, Declaration]) -> Declaration:
    kinds = unit.bindings.CursorKind
    children = list(cursor.get_children())
    body = next((c for c in children if c.kind == kinds.COMPOUND_STMT), None)
    attributes = {c.kind for c in children}
    key = name = f"{cursor.kind.name.lower().removesuffix('_decl')} {_identity(cursor)}"
    number = 1
    while key in seen:
        number += 1
        key = f"{name} #{number}"
    return Declaration(
        key=key,
        name=cursor.spelling,
        head=_digest(unit, cursor, without=body),
        body=_digest(unit, body) if body is not None else None,
        is_kernel=kinds.CUDAGLOBAL_ATTR in attributes,
        is_device_function=body is not None and kinds.CUDADEVICE_ATTR in attributes and kinds.CUDAGLOBAL_ATTR not in attributes,
        holds_state=_holds_state(unit, cursor, body),
    )


def _identity(cursor: Any) -> str:
    """The name that tells it from others of its kind; with parameter types where names are overloaded."""
    scope, names = cursor.semantic_parent, [cursor.displayname or cursor.spelling]
    while scope is not None and scope.kind.name == "NAMESPACE":
        names.append(scope.spelling or "(anonymous)")
        scope = scope.semantic_parent
    return "::".join(reversed(names))


def _holds_state(unit: TranslationUnit, cursor: Any, body: Any) -> bool:
    """A variable at namespace scope, or a function's static variable that is neither constant nor in LDS."""
    kinds = unit.bindings.CursorKind
    if cursor.kind == kinds.VAR_DECL:
        return not cursor.type.is_const_qualified()
    variables = (c for c in body.walk_preorder() if c.kind == kinds.VAR_DECL) if body is not None else ()
    return any(
        v.storage_class.name == "STATIC"
        and not v.type.is_const_qualified()
        and not any(c.kind == kinds.CUDASHARED_ATTR for c in v.get_children())
        for v in variables
    )


def _digest(unit: TranslationUnit, cursor: Any, without: Any = None) -> str:
    digest = hashlib.sha256()
    for word in _words(unit, cursor, without):
        digest.update(word.encode() + b"\0")
    return digest.hexdigest()


def _words(unit: TranslationUnit, cursor: Any, without: Any) -> Iterator[str]:
    kinds = unit.bindings.CursorKind
    if cursor.kind in (kinds.MACRO_DEFINITION, kinds.INCLUSION_DIRECTIVE):
        yield unit.text_of(cursor)
        return
    if cursor.kind == kinds.PAREN_EXPR:
        for child in cursor.get_children():
            yield from _words(unit, child, without)
        return
    yield from (cursor.kind.name, *(_PLACE_IN_TYPE.sub(")", text) for text in (cursor.spelling, _type(cursor))))
    if name := libclang.unnamed_call(unit.bindings, cursor):
        yield name
    if cursor.kind.is_attribute() or cursor.kind.name.endswith("_LITERAL"):
        yield unit.text_of(cursor)
    elif cursor.kind in (kinds.BINARY_OPERATOR, kinds.UNARY_OPERATOR, kinds.COMPOUND_ASSIGNMENT_OPERATOR):
        yield libclang.operator(unit.bindings, cursor)
    elif cursor.kind == kinds.DECL_REF_EXPR and cursor.referenced is not None:
        # A name at namespace scope may be hidden by another; local ones are told apart by the structure around them.
        is_local = cursor.referenced.semantic_parent is not None and cursor.referenced.semantic_parent.kind.name in _FUNCTIONS
        yield "" if is_local else _PLACE_IN_USR.sub("", cursor.referenced.get_usr())
    for child in cursor.get_children():
        if without is None or child != without:
            yield "("
            yield from _words(unit, child, without)
            yield ")"


def _type(cursor: Any) -> str:
    return cursor.type.get_canonical().spelling
