"""Keeps the compiled kernels of identical functions in different files apart, since their line tables name the file.

Triton's cache identifies a function by its text alone, so reports on a copied script would refer to the lines of whichever
script was compiled first.
"""

from __future__ import annotations

import hashlib
import os
from functools import wraps
from typing import Any


def install(source: Any) -> None:
    """source: Triton's class for a function together with the types and constants for which it is compiled."""
    source.hash = _with_file(source.hash)


def _with_file(hash_of: Any) -> Any:
    @wraps(hash_of)
    def hashed(self: Any) -> str:
        file = os.path.abspath(self.fn.fn.__code__.co_filename)
        return hashlib.sha256(f"{hash_of(self)}-{file}".encode()).hexdigest()

    return hashed
