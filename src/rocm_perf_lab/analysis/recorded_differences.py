"""The user's own table of how far modelled ratios of two variants' times were from measured ones.

`rocm-perf optimize --remeasure` adds to it on a GPU. From ten entries on, it replaces the table that ships with the package.
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

LEAST = 10  # the number of entries from which the user's table is used
_SHARE = 0.8  # four in five
_FILE = Path("rocm-perf-lab", "recorded-differences.jsonl")


@dataclass(frozen=True)
class RecordedDifference:
    """A variant's times divided by those of the variant before it. baseline, candidate: digests of the sources. device: product
    name. parameters: those of the timing model that made the prediction.
    """

    baseline: str
    candidate: str
    device: str
    parameters: str
    predicted: float
    recorded: float

    @property
    def error(self) -> float:
        """The difference between the two ratios, as a fraction of the smaller one."""
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
    """Add these; each replaces an earlier entry for the same two sources, device and parameters. Errors: OutputError."""
    kept = {(one.baseline, one.candidate, one.device, one.parameters): one for one in (*read(), *found)}
    path = table()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as partial:
            partial.write_text("".join(json.dumps(asdict(one)) + "\n" for one in kept.values()), encoding="utf-8")
    except OSError as error:
        raise OutputError(f"cannot write {path} ({error.strerror})", "set XDG_DATA_HOME to a folder of yours") from error


def error_for(parameters: str | None) -> float | None:
    """The error that covers four in five of the table's entries with these parameters; None if there are too few. Errors:
    OutputError.
    """
    errors = sorted(one.error for one in read() if one.parameters == parameters)
    return errors[math.ceil(_SHARE * len(errors)) - 1] if len(errors) >= LEAST else None
