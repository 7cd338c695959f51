"""Recorded spaces: every configuration with its time, as stored in Kernel Tuner's caches (T1) or the T4 results format.

Formats: github.com/KernelTuner/kernel_tuner (cache files) and github.com/odgaard/TuningSchema (T4, results-schema.json).
"""

from __future__ import annotations

import gzip
import json
import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from rocm_perf_lab.autotune.space import Configuration, Space
from rocm_perf_lab.errors import MissingInputError, TraceError

_MAX_TIME = 1e100  # A larger number cannot be a time, and the mean of such numbers would be infinite.
_Row = tuple[dict[str, Any], float | None]  # values by name, and the time
MODELLED, MEASURED = "modelled", "measured"  # the values of metadata.timing in our own T4 files


@dataclass(frozen=True)
class Recording:
    """times: the time of each configuration, in the file's unit; None if it failed. is_modelled: whether the file marks times
    as modelled.
    """

    name: str
    space: Space
    times: dict[Configuration, float | None]
    is_modelled: bool


def read_recording(path: Path) -> Recording:
    """Read a .json or .json.gz file in either format. Raises MissingInputError, TraceError."""
    try:
        data = path.read_bytes()
        document = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    except OSError as error:
        if isinstance(error, gzip.BadGzipFile):
            raise TraceError(f"{path} is damaged ({error})", "name a complete Kernel Tuner cache or T4 file") from error
        raise MissingInputError(f"{path} cannot be read ({error.strerror})", "name a Kernel Tuner cache or T4 file") from error
    except (ValueError, EOFError, zlib.error, RecursionError) as error:
        raise TraceError(f"{path} is not JSON ({error})", "name a complete Kernel Tuner cache or T4 file") from error
    try:
        rows = list(_t4(document) if "results" in document else _t1(document))
        _expect_configurations(rows)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise TraceError(f"{path} is neither a Kernel Tuner cache nor a T4 file ({error!r})", "name one of these") from error
    if not any(time is not None for _, time in rows):
        raise TraceError(f"{path} records no time", "name a recording of configurations that ran")
    metadata = document.get("metadata")
    return _recording(path.name, rows, isinstance(metadata, dict) and metadata.get("timing") == MODELLED)


def _t1(document: dict[str, Any]) -> Iterator[_Row]:
    names, objective = document["tune_params_keys"], document.get("objective", "time")
    for entry in document["cache"].values():
        yield {name: entry[name] for name in names}, _time(entry[objective])


def _t4(document: dict[str, Any]) -> Iterator[_Row]:
    for result in document["results"]:
        measured = {measurement["name"]: measurement["value"] for measurement in result["measurements"]}
        valid = result["invalidity"] == "correct"
        yield result["configuration"], _time(measured.get(result["objectives"][0])) if valid else None


def _expect_configurations(rows: list[_Row]) -> None:
    """Check that all rows have the same parameters, and that their values can be compared. Raises TypeError."""
    for row, _ in rows:
        if not isinstance(row, dict) or not row or row.keys() != rows[0][0].keys():
            raise TypeError("configurations have different parameters, or none")
        if not all(isinstance(value, str) or _is_number(value) for value in row.values()):
            raise TypeError(f"{row} has a value that is neither a number nor text")


def _is_number(value: object) -> TypeGuard[bool | int | float]:
    return isinstance(value, (bool, int)) or (isinstance(value, float) and math.isfinite(value))


def _time(value: object) -> float | None:
    return float(value) if _is_number(value) and not isinstance(value, bool) and 0 < value < _MAX_TIME else None


def _recording(name: str, rows: list[_Row], is_modelled: bool) -> Recording:
    names = list(rows[0][0])
    values = {
        parameter: sorted({row[parameter] for row, _ in rows}, key=lambda value: (isinstance(value, str), value))
        for parameter in names
    }
    positions = {parameter: {value: number for number, value in enumerate(choices)} for parameter, choices in values.items()}
    times = {tuple(positions[parameter][row[parameter]] for parameter in names): time for row, time in rows}
    return Recording(name, Space(values, members=times), times, is_modelled)
