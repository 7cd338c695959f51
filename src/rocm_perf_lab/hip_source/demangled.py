"""Parts of a demangled function's name."""

from __future__ import annotations


def parameter_types(demangled: str) -> list[str]:
    """Of a demangled function: "void k<float>(float const*, int)" gives ["float const*", "int"]."""
    depth, start, types = 0, None, []
    for place, letter in enumerate(demangled):
        if letter == "(" and depth == 0:
            start, types = place + 1, []
        if letter in ",)" and start is not None and depth == 1:
            types.append(demangled[start:place].strip())
            start = place + 1
        depth += (letter in "<([") - (letter in ">)]")
    return [name for name in types if name]
