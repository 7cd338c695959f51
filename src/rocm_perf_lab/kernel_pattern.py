"""How --kernel and all other patterns that select kernels are matched.

A pattern is a Python regular expression, searched for anywhere in a kernel's demangled or mangled name.
"""

from __future__ import annotations

import re

from rocm_perf_lab.errors import UsageError


def fits(pattern: str | None, *names: str | None) -> bool:
    """Whether the pattern is found in one of the kernel's names (demangled or mangled); pass None for an unknown name.

    Without a pattern, every kernel matches.
    """
    return pattern is None or any(re.search(pattern, name) for name in names if name)


def checked(pattern: str) -> str:
    """Return the pattern itself. Raises UsageError if it is not a regular expression."""
    try:
        re.compile(pattern)
    except re.error as error:
        hint = "a dot, bracket or star that is part of a name needs a backslash before it"
        raise UsageError(f"{pattern!r} is not a regular expression ({error})", hint) from error
    return pattern


def exactly(name: str) -> str:
    """A pattern that matches the kernel with this name and no other."""
    return f"^{re.escape(name)}$"
