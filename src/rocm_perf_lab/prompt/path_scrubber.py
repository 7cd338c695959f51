"""Removes this machine's paths from a profile: paths in the source's folder become relative, others are cut to the file
name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

_ABSOLUTE = re.compile(r"(?<![\w.~/-])(?:/[\w.+@~%=,-]+)+/([\w.+@~%=,-]+)")


class PathScrubber:
    """Removes this machine's paths from texts.

    root: the source's folder; for files elsewhere, only the name is kept.
    """

    def __init__(self, root: Path):
        self._root = root.resolve()

    def relative(self, file: Path) -> str | None:
        """The path relative to the source's folder, with links resolved; None if the file is elsewhere."""
        try:
            return file.resolve().relative_to(self._root).as_posix()
        except ValueError:
            return None

    def clean(self, text: str) -> str:
        """The text with absolute paths shortened: paths in the source's folder become relative, others are reduced to their
        last component.
        """
        return _ABSOLUTE.sub(r"\1", text.replace(f"{self._root}/", ""))

    def clean_json(self, value: Any) -> Any:
        """Applies clean() to every string in a JSON value."""
        return map_strings(value, self.clean)


def map_strings(value: Any, change: Callable[[str], str]) -> Any:
    """The JSON value, with `change` applied to every string in it except the keys."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: map_strings(item, change) for key, item in value.items()}
    return [map_strings(item, change) for item in value] if isinstance(value, list | tuple) else value
