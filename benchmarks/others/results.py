"""Results that survive an interrupted run: one JSON file per name."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


class Results:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def get(self, name: str) -> dict[str, Any]:
        try:
            return json.loads(self._path(name).read_text("utf-8"))
        except FileNotFoundError:
            return {}

    def put(self, name: str, result: dict[str, Any]) -> None:
        """Write the result atomically."""
        new = self._path(name).with_suffix(".new")
        new.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", "utf-8")
        os.replace(new, self._path(name))

    def all(self) -> dict[str, dict[str, Any]]:
        return {path.stem: self.get(path.stem) for path in sorted(self._folder.glob("*.json"))}

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.json"
