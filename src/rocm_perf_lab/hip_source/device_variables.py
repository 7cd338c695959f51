"""The device variables (`__device__`, `__constant__`) that a kernel uses, directly or in functions that it calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rocm_perf_lab.hip_source.cursors import walk
from rocm_perf_lab.hip_source.libclang import overloads

if TYPE_CHECKING:
    from rocm_perf_lab.hip_source.libclang import Cursor

_OF_THE_DEVICE = ("CUDADEVICE_ATTR", "CUDACONSTANT_ATTR")


def device_variables(function: Cursor) -> list[Cursor]:
    """Cursors of the variables whose values can change; const variables are part of the code. function: a kernel's cursor."""
    found: dict[str, Cursor] = {}
    left, seen = [function], {function.get_usr()}
    while left:
        for named in _named(left.pop()):
            if named.kind.name == "VAR_DECL" and _can_change(named):
                found.setdefault(named.get_usr(), named)
            elif (body := named.get_definition()) is not None and named.get_usr() not in seen and _is_function(named):
                seen.add(named.get_usr())
                left.append(body)
    return list(found.values())


def _named(function: Cursor) -> Iterator[Cursor]:
    """The declarations that a function refers to; if a template leaves an overload open, all candidates."""
    for cursor in walk(function):
        if cursor.kind.name in ("DECL_REF_EXPR", "MEMBER_REF_EXPR", "CALL_EXPR") and cursor.referenced is not None:
            yield cursor.referenced
        elif cursor.kind.name == "OVERLOADED_DECL_REF":
            yield from overloads(cursor)


def _is_function(cursor: Cursor) -> bool:
    return cursor.kind.name in ("FUNCTION_DECL", "FUNCTION_TEMPLATE", "CXX_METHOD", "CONSTRUCTOR", "CONVERSION_FUNCTION")


def _can_change(variable: Cursor) -> bool:
    on_device = any(child.kind.name in _OF_THE_DEVICE for child in variable.get_children())
    element = variable.type.get_canonical()
    while element.kind.name == "CONSTANTARRAY":
        element = element.element_type.get_canonical()
    return on_device and not element.is_const_qualified()
