"""Symbols of a code object whose code is a text with one instruction per line, for tests that need no assembler."""

from __future__ import annotations

from rocm_perf_lab.code_object.symbol_contents import SymbolContent

PLAIN = "s_endpgm"


def lines(code: bytes, _target: str) -> list[str]:
    """In place of the disassembler."""
    return code.decode().split("\n")


def function(name: str, *texts: str, calls: tuple[str, ...] = ()) -> SymbolContent:
    code = "\n".join(texts).encode()
    return SymbolContent(name, "STT_FUNC", len(code), code, tuple((0, f"10 {one}+0") for one in calls), False)


def kernel(*texts: str) -> dict[str, SymbolContent]:
    return {"k": function("k", *texts)}
