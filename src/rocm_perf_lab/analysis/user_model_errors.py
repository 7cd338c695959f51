"""The user's own table that records how far the modelled ratio of two variants' times was from the measured ratio.

`rocm-perf optimize --remeasure` adds to it on a GPU. Once it has ten entries with the same timing parameters, it replaces the
table that ships with the package.
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

MIN_ENTRIES = 10  # the user's table is used once it has this many entries with the same timing parameters
_SHARE = 0.8  # four in five
_FILE = Path("rocm-perf-lab", "recorded-differences.jsonl")


@dataclass(frozen=True)
class RecordedDifference:
    """The ratio of a candidate's time to its baseline's, predicted and recorded. baseline, candidate: digests of the sources.
    device: product name. parameters: the name of the timing parameters that predicted the ratio (see table_hash).
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
    """All entries; none if there is no table. Raises OutputError if the table is damaged or cannot be read."""
    path = table()
    try:
        return [RecordedDifference(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    except FileNotFoundError:
        return []
    except (ValueError, TypeError, OSError) as error:
        raise OutputError(
            f"{path} is damaged ({error})", "move it away; `rocm-perf optimize --remeasure` creates a new one"
        ) from error


def add(entries: Sequence[RecordedDifference]) -> None:
    """Add entries; each replaces an earlier one for the same two sources, device and parameters.

    Raises OutputError if the table is damaged, or cannot be read or written.
    """
    by_key = {(entry.baseline, entry.candidate, entry.device, entry.parameters): entry for entry in (*read(), *entries)}
    path = table()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as partial:
            partial.write_text("".join(json.dumps(asdict(entry)) + "\n" for entry in by_key.values()), encoding="utf-8")
    except OSError as error:
        raise OutputError(f"cannot write {path} ({error.strerror})", "set XDG_DATA_HOME to a writable folder") from error


def error_for(parameters: str | None) -> float | None:
    """The error that covers four in five of the table's entries with these parameters; None if there are too few.

    Raises OutputError if the table is damaged or cannot be read.
    """
    errors = sorted(entry.error for entry in read() if entry.parameters == parameters)
    return errors[math.ceil(_SHARE * len(errors)) - 1] if len(errors) >= MIN_ENTRIES else None
