"""Demangled names of C++ symbols, as they appear in traces, and the parts of these names."""

from __future__ import annotations

import ctypes
import functools
import re


@functools.cache
def demangled(symbol: str) -> str:
    """The symbol, demangled by the same C++ runtime function that the trace writer uses. Names that are not mangled, or that
    this function cannot demangle, are returned unchanged.
    """
    if not symbol.startswith("_Z"):
        return symbol  # __cxa_demangle treats other names as encoded types: f as float
    runtime, libc = _runtime(), ctypes.CDLL(None)
    status = ctypes.c_int()
    text = runtime.__cxa_demangle(symbol.encode(), None, None, ctypes.byref(status))
    if not text:
        return symbol
    try:
        return ctypes.string_at(text).decode()
    finally:
        libc.free.argtypes = [ctypes.c_void_p]
        libc.free(text)


@functools.cache
def _runtime() -> ctypes.CDLL:
    library = ctypes.CDLL("libstdc++.so.6")
    library.__cxa_demangle.restype = ctypes.c_void_p
    library.__cxa_demangle.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p]
    return library


def qualified_name(demangled_name: str) -> str:
    """'void a::scale<float>(float*, int)' -> 'a::scale'."""
    text = demangled_name.replace("(anonymous namespace)::", "")
    text = re.split(r"[<(]", text, maxsplit=1)[0].strip()
    return text.rsplit(" ", 1)[-1]


def parameter_types(demangled: str) -> list[str]:
    """The parameter types of a demangled function: ["float const*", "int"] for "void k<float>(float const*, int)"."""
    depth = 0
    start: int | None = None
    types: list[str] = []
    for position, letter in enumerate(demangled):
        if letter == "(" and depth == 0:
            start, types = position + 1, []
        if letter in ",)" and start is not None and depth == 1:
            types.append(demangled[start:position].strip())
            start = position + 1
        depth += (letter in "<([") - (letter in ">)]")
    return [name for name in types if name]
