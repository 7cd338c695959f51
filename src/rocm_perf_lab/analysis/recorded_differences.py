"""The user's own table of how far modelled ratios of two variants' times were from measured ones.

`rocm-perf optimize --remeasure` adds to it on a GPU. From ten on, it takes the place of the table that ships with the package.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rocm_perf_lab.atomic_write import atomic_write
from rocm_perf_lab.errors import OutputError

LEAST = 10  # from which the user's table counts
_SHARE = 0.8  # four of five
_FILE = Path("rocm-perf-lab", "recorded-differences.jsonl")


@dataclass(frozen=True)
class RecordedDifference:
    """Times of a variant divided by those of the one before. baseline, candidate: digests of the sources. device: product name.
    parameters: of the timing model, by which it was predicted.
    """

    baseline: str
    candidate: str
    device: str
    parameters: str
    predicted: float
    recorded: float

    @property
    def error(self) -> float:
        """By what fraction of the smaller one the two ratios differ."""
        return max(self.predicted / self.recorded, self.recorded / self.predicted) - 1


def table() -> Path:
    """The file: one JSON object per line."""
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / _FILE


def read() -> list[RecordedDifference]:
    """Errors: OutputError if the table is damaged or cannot be read."""
    path = table()
    try:
        return [RecordedDifference(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    except FileNotFoundError:
        return []
    except (ValueError, TypeError, OSError) as error:
        raise OutputError(
            f"{path} is damaged ({error})", "move it away; `rocm-perf optimize --remeasure` makes it anew"
        ) from error


def add(found: Sequence[RecordedDifference]) -> None:
    """Add these; one of the same two sources on the same device, with the same parameters, is replaced. Errors: OutputError."""
    kept = {(one.baseline, one.candidate, one.device, one.parameters): one for one in (*read(), *found)}
    path = table()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as partial:
            partial.write_text("".join(json.dumps(asdict(one)) + "\n" for one in kept.values()), encoding="utf-8")
    except OSError as error:
        raise OutputError(f"cannot write {path} ({error.strerror})", "set XDG_DATA_HOME to a folder of yours") from error


def error_for(parameters: str | None) -> float | None:
    """The error that covers four of five of the table with these parameters; None if it has too few. Errors: OutputError."""
    errors = sorted(one.error for one in read() if one.parameters == parameters)
    return errors[math.ceil(_SHARE * len(errors)) - 1] if len(errors) >= LEAST else None
