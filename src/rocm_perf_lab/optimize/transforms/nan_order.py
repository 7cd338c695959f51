"""Handles std::min and std::max, whose result depends on the order of the numbers if one of them is a NaN.

`m = std::min(t, m)` is `m < t ? m : t`, so a NaN replaces the result so far, and the next number replaces the NaN. The lanes of
a wave process the numbers in a different order, so they record whether they have seen a NaN; if any of them has, all of them
execute the original loop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocm_perf_lab.hip_source import Edit, libclang
from rocm_perf_lab.hip_source.cursors import byte_range_of, unwrapped
from rocm_perf_lab.hip_source.edits import indentation, new_names

if TYPE_CHECKING:
    from rocm_perf_lab.hip_source.libclang import Cursor
    from rocm_perf_lab.hip_source.source import TranslationUnit

_FUNCTIONS = ("std::min", "std::max")
_FLOATS = ("FLOAT", "DOUBLE", "HALF", "FLOAT16", "BFLOAT16")


@dataclass(frozen=True)
class NanSensitiveExtremum:
    """`name = std::min(value, name);`, or std::max, with the arguments in either order, on floating-point numbers. value: the
    variable's name; "" if the value is not a plain variable.
    """

    statement: Cursor
    name: str
    value: str


def extremum_of(unit: TranslationUnit, statement: Cursor) -> NanSensitiveExtremum | None:
    """The statement as a NanSensitiveExtremum; None if it is not of that form."""
    if libclang.operator(unit.bindings, statement) != "=":
        return None
    target, chosen = statement.get_children()
    called = unwrapped(chosen)
    if called.kind.name != "CALL_EXPR" or target.type.get_canonical().kind.name not in _FLOATS:
        return None
    if "".join(unit.text_of(called).partition("(")[0].split()) not in _FUNCTIONS:
        return None
    other_arguments = [
        unwrapped(argument) for argument in called.get_arguments() if unwrapped(argument).spelling != target.spelling
    ]
    is_variable = len(other_arguments) == 1 and other_arguments[0].kind.name == "DECL_REF_EXPR"
    return NanSensitiveExtremum(statement, target.spelling, other_arguments[0].spelling if is_variable else "")


def keep_nan_order(text: bytes, loop: tuple[int, int], extremum: NanSensitiveExtremum, combined: str) -> tuple[list[Edit], str]:
    """The edits to the loop, and the text to add after it. loop: its byte range. combined: the statement that combines the
    lanes' results.
    """
    start, end = loop
    before, unordered = (new_names(text, stem, 1)[0] for stem in ("before", "unordered"))
    margin = indentation(text, start)
    head = f"const auto {before} = {extremum.name};\n{margin}int {unordered} = 0;\n{margin}"
    position = byte_range_of(extremum.statement)[0]
    edits = [
        Edit(start, start, head),
        Edit(position, position, f"{unordered} |= {extremum.value} != {extremum.value};\n{margin}  "),
    ]
    again = text[start:end].decode()
    lines = (
        f"if (__any({unordered})) {{",
        f"  {extremum.name} = {before};",
        f"  {again}",
        "} else {",
        f"  {combined}",
        "}",
    )
    return edits, "".join(f"\n{margin}{line}" for line in lines)
