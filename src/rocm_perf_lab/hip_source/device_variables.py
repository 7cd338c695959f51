"""The device variables (`__device__`, `__constant__`) of a source.

No attempt is made to find out which of them a kernel uses: it can reach them through members, conversions, initialisers and
other variables that Clang's bindings do not show, least of all in templates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocm_perf_lab.hip_source.cursors import walk

if TYPE_CHECKING:
    from rocm_perf_lab.hip_source.libclang import Cursor
    from rocm_perf_lab.hip_source.source import TranslationUnit

_OF_THE_DEVICE = ("CUDADEVICE_ATTR", "CUDACONSTANT_ATTR", "HIPMANAGED_ATTR")


def device_variables(unit: TranslationUnit) -> list[Cursor]:
    """Cursors of the variables outside system headers whose values can change; const variables are part of the code."""
    variables: dict[str, Cursor] = {}
    for declaration in unit.user_declarations:
        for cursor in walk(declaration):
            if cursor.kind.name == "VAR_DECL" and _can_change(cursor):
                variables.setdefault(cursor.get_usr(), cursor)
    return list(variables.values())


def _can_change(variable: Cursor) -> bool:
    on_device = any(child.kind.name in _OF_THE_DEVICE for child in variable.get_children())
    element = variable.type.get_canonical()
    while element.kind.name == "CONSTANTARRAY":
        element = element.element_type.get_canonical()
    return on_device and not element.is_const_qualified()
