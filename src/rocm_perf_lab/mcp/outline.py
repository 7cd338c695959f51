"""Shortens JSON values for an agent's context. Each omission says where the rest can be read."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

ROOM = 6000
"""Characters of compact JSON that a result may take: about 2,000 tokens."""
ROOM_FOR_TEXT = 24_000
"""The same for a text that is useless unless it is complete."""


@dataclass(frozen=True)
class _Limits:
    """items: maximum per array. depth: maximum nesting of objects and arrays. characters: maximum per string."""

    items: int
    depth: int
    characters: int


# From loose to tight; the last one is used even if its result is too long.
_STEPS = (
    _Limits(10**9, 10**9, 10**9), _Limits(40, 9, 4000), _Limits(20, 7, 2000), _Limits(10, 6, 1000), _Limits(6, 5, 500),
    _Limits(4, 4, 300), _Limits(3, 3, 200), _Limits(2, 2, 120), _Limits(1, 1, 80),
)  # fmt: skip


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def outline(value: Any, pointer: str = "", room: int = ROOM) -> Any:
    """The value itself if it fits, else its beginning, with JSON pointers to what is left out.

    pointer: the JSON pointer of the value in its document (RFC 6901).
    """
    for limits in _STEPS:
        shortened = _shorten(value, pointer, limits, limits.depth)
        if len(compact(shortened)) <= room:
            break
    return shortened


def _shorten(value: Any, pointer: str, limits: _Limits, depth: int) -> Any:
    if isinstance(value, str):
        return (
            value if len(value) <= limits.characters else f"{value[: limits.characters]}... ({_left_out_note(value, pointer)})"
        )
    if not isinstance(value, dict | list) or not value:
        return value
    if depth == 0:
        return {"left_out": _left_out_note(value, pointer)}
    if isinstance(value, dict):
        return {name: _shorten(item, child_pointer(pointer, name), limits, depth - 1) for name, item in value.items()}
    shown = [
        _shorten(item, child_pointer(pointer, number), limits, depth - 1) for number, item in enumerate(value[: limits.items])
    ]
    left = len(value) - len(shown)
    return [*shown, {"left_out": f"{left} more of {len(value)}: read {pointer or '/'}"}] if left else shown


def _left_out_note(value: Any, pointer: str) -> str:
    if isinstance(value, str):
        return f"{len(value):,} characters: read {pointer or '/'}"
    contents = f"{len(value)} items" if isinstance(value, list) else f"fields {', '.join(value)}"
    return f"{contents}: read {pointer or '/'}"


def child_pointer(pointer: str, name: str | int) -> str:
    return f"{pointer}/{str(name).replace('~', '~0').replace('/', '~1')}"


def value_at(document: Any, pointer: str) -> Any:
    """The value at a JSON pointer. Raises LookupError with a message that says how far the pointer leads."""
    value, passed = document, ""
    for part in pointer.split("/")[1:] if pointer not in ("", "/") else []:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list) and name.isdigit() and int(name) < len(value):
            value = value[int(name)]
        elif isinstance(value, dict) and name in value:
            value = value[name]
        else:
            raise LookupError(f"{passed or 'the document'} has no {name!r}; it has {_content_in_words(value)}")
        passed = child_pointer(passed, name)
    return value


def _content_in_words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(value)
    return f"items 0 to {len(value) - 1}" if isinstance(value, list) and value else "nothing below it"
