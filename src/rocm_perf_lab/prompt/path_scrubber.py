"""Texts of a profile without this machine: places in the source's folder are relative, other paths only names."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

_ABSOLUTE = re.compile(r"(?<![\w.~/-])(?:/[\w.+@~%=,-]+)+/([\w.+@~%=,-]+)")


class PathScrubber:
    """root: the folder of the source; what lies elsewhere is only named."""

    def __init__(self, root: Path):
        self._root = root.resolve()

    def relative(self, file: Path) -> str | None:
        """As seen from the source's folder, links followed; None for a file elsewhere."""
        try:
            return file.resolve().relative_to(self._root).as_posix()
        except ValueError:
            return None

    def clean(self, text: str) -> str:
        """Absolute paths in the text: those in the source's folder relative to it, of others the last part."""
        return _ABSOLUTE.sub(r"\1", text.replace(f"{self._root}/", ""))

    def cleaned(self, value: Any) -> Any:
        """The same for every string in a JSON value."""
        return of_strings(value, self.clean)


def of_strings(value: Any, change: Callable[[str], str]) -> Any:
    """The JSON value with every string in it changed; keys stay."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: of_strings(item, change) for key, item in value.items()}
    return [of_strings(item, change) for item in value] if isinstance(value, list | tuple) else value
