"""Finds rocprofv3's thread traces: pairs of a folder ui_output_agent_A_dispatch_D and a file stats_<the same>.csv."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_UI, _STATS = "ui_output_", "stats_"


@dataclass(frozen=True)
class TraceOutput:
    """The output for one traced dispatch; at least one of folder and CSV exists."""

    ui: Path | None
    csv: Path | None

    @property
    def path(self) -> Path:
        """The folder, or the CSV if there is no folder."""
        path = self.ui or self.csv
        if path is None:
            raise ValueError("neither a folder nor a CSV")
        return path

    @property
    def name(self) -> str:
        return self.path.name if self.ui else self.path.name.removeprefix(_STATS).removesuffix(".csv")

    @property
    def dispatch(self) -> int | None:
        match = re.search(r"_dispatch_(\d{1,18})(?:_|$)", self.name)
        return int(match[1]) if match else None


def find(folder: Path) -> list[TraceOutput]:
    """The outputs in or below `folder`, or the one that `folder` belongs to; sorted by dispatch, then by name."""
    folder = Path(folder)
    if folder.is_file():
        return [TraceOutput(_existing(folder.parent / folder.name.removeprefix(_STATS).removesuffix(".csv")), folder)]
    if folder.name.startswith(_UI) or (folder / "code.json").is_file():
        return [TraceOutput(folder, _existing(folder.parent / f"{_STATS}{folder.name}.csv"))]
    inside = [path for path in folder.rglob(f"{_UI}*") if path.is_dir()]
    outputs = [TraceOutput(path, _existing(path.parent / f"{_STATS}{path.name}.csv")) for path in inside]
    paired = {output.csv for output in outputs}
    outputs += [TraceOutput(None, path) for path in folder.rglob(f"{_STATS}*.csv") if path.is_file() and path not in paired]
    return sorted(outputs, key=lambda output: (output.dispatch is None, output.dispatch or 0, output.name))


def _existing(path: Path) -> Path | None:
    return path if path.exists() else None
