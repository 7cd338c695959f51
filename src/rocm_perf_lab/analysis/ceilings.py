"""The rates that microbenchmarks reached on a device: roofs below the data-sheet peaks, but known to be attainable.

Two formats are read: rocprof-compute's roofline.csv, with one row per device (GB/s and GFLOP/s; columns HBMBw, L2Bw, L1Bw,
LDSBw, MALLBw, FP32Flops, MFMAF16Flops, MFMAI8Ops and so on, each accompanied by a Low and a High column), and the ceilings.json
of `rocm-perf ceilings`, which also records which device it describes.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from rocm_perf_lab.arch.family import Pipe
from rocm_perf_lab.errors import MissingInputError, TraceError, UsageError

LEVELS = ("HBM", "MALL", "L2", "L1", "LDS")
_Key = TypeVar("_Key", str, Pipe)
_HINT = "give a roofline.csv from rocprof-compute or a ceilings.json from `rocm-perf ceilings`"


@dataclass(frozen=True)
class Ceiling:
    """GB/s or GFLOP/s: the median of the repetitions, and their minimum and maximum."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Ceilings:
    """source: the file. target, timing: None if the file does not say; timing is 'measured' or 'modelled'."""

    source: str
    target: str | None
    timing: str | None
    bandwidth: Mapping[str, Ceiling]  # by level
    arithmetic: Mapping[Pipe, Ceiling]


@dataclass(frozen=True)
class CeilingOutcome:
    """The result of a microbenchmark. key: a level, or a precision and pipe. ceiling: None if it failed; `reason` says why."""

    key: str | Pipe
    ceiling: Ceiling | None
    reason: str | None


@dataclass(frozen=True)
class Measurement:
    """What was measured, and how.

    target: the LLVM target. device: the device's name. timing: 'measured' or 'modelled'. effort: 'full' or 'brief'.
    """

    target: str
    device: str
    timing: str
    effort: str
    repeats: int
    outcomes: Sequence[CeilingOutcome]


def read_ceilings(path: Path, device: int = 0) -> Ceilings:
    """Read the ceilings in a file. device: the device whose row is read if the file is a roofline.csv.

    Raises MissingInputError if the file cannot be opened, TraceError if it is damaged or contains no ceilings.
    """
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise MissingInputError(f"cannot read {path} ({error.strerror})", _HINT) from error
    except UnicodeDecodeError as error:
        raise TraceError(f"{path} is not text", _HINT) from error
    ceilings = _from_json(path, text) if text.lstrip().startswith("{") else _from_csv(path, text, device)
    if not ceilings.bandwidth and not ceilings.arithmetic:
        raise TraceError(f"{path} contains no ceilings", _HINT)
    return ceilings


def ceilings_for(path: Path, targets: Iterable[str], timing: str) -> Ceilings:
    """The ceilings in a file, for kernels that ran on these targets. timing: whether their times are 'measured' or 'modelled'.

    Raises what read_ceilings() raises, and UsageError if the file states a different target or a different kind of timing.
    """
    ceilings = read_ceilings(path)
    other = next((target for target in targets if ceilings.target not in (None, target.split(":")[0])), None)
    if other:
        raise UsageError(
            f"{path} holds ceilings for {ceilings.target}, but the kernels ran on {other}",
            "measure the ceilings of that device",
        )
    if ceilings.timing and ceilings.timing != timing:
        raise UsageError(
            f"{path} has {ceilings.timing} ceilings, but the kernels' times are {timing}", "measure both on the same device"
        )
    return ceilings


# ---- roofline.csv ----


def column(key: str | Pipe) -> str:
    """The column for a level or pipe: 'L2' -> L2Bw, ('f32', 'valu') -> FP32Flops, ('i8', 'mfma') -> MFMAI8Ops."""
    if isinstance(key, str):
        return f"{key}Bw"
    precision, pipe = key
    if pipe == "valu":
        return f"FP{precision[1:]}Flops"
    return f"MFMA{precision.upper()}{'Ops' if precision.startswith('i') else 'Flops'}"


def to_csv(ceilings: Ceilings) -> str:
    """A table in rocprof-compute's format with one row, for device 0. Unknown ceilings have no column."""
    names, row = ["device"], ["0"]
    rates: list[tuple[str | Pipe, Ceiling]] = [*ceilings.bandwidth.items(), *ceilings.arithmetic.items()]
    for key, ceiling in rates:
        name = column(key)
        names += [name, f"{name}Low", f"{name}High"]
        row += [f"{number:.8g}" for number in (ceiling.value, ceiling.low, ceiling.high)]
    return ",".join(names) + "\n" + ",".join(row) + "\n"


def _from_csv(path: Path, text: str, device: int) -> Ceilings:
    rows = list(csv.DictReader(io.StringIO(text)))
    row = next((row for row in rows if row.get("device") == str(device)), None)
    if row is None:
        raise TraceError(f"{path} has no row for device {device}", _HINT)
    # rocprof-compute writes hbmBwHigh instead of HBMBwHigh, and MFMAFI8OpsLow instead of MFMAI8OpsLow.
    fields = {str(name).lower().replace("mfmafi8", "mfmai8"): value for name, value in row.items()}
    levels = (level for level in LEVELS if column(level).lower() in fields)
    pipes = filter(None, map(_pipe, row))
    return Ceilings(str(path), None, None, _nonzero_ceilings(path, fields, levels), _nonzero_ceilings(path, fields, pipes))


def _nonzero_ceilings(path: Path, fields: Mapping[str, str | None], keys: Iterable[_Key]) -> dict[_Key, Ceiling]:
    """Leave out zeros: rocprof-compute writes 0 for tests that it did not run, such as FP4 on a GPU that lacks it."""
    rates = ((key, column(key)) for key in keys)
    return {key: _ceiling(path, fields, name) for key, name in rates if _number(path, fields, name)}


def _pipe(name: str | None) -> Pipe | None:
    match = re.fullmatch(r"FP(16|32|64)Flops|MFMA(X?B?F\d+|I8)(?:Flops|Ops)", name or "")
    if not match:
        return None
    return (f"f{match[1]}", "valu") if match[1] else (match[2].lower(), "mfma")


def _ceiling(path: Path, fields: Mapping[str, str | None], name: str) -> Ceiling:
    value = _number(path, fields, name)
    spread = [_number(path, fields, f"{name}{end}") if f"{name}{end}".lower() in fields else value for end in ("Low", "High")]
    return Ceiling(value, *spread)


def _number(path: Path, fields: Mapping[str, str | None], name: str) -> float:
    try:
        number = float(fields[name.lower()] or "")
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise TraceError(f"{path}: {name} is {fields[name.lower()]!r}, not a rate", _HINT)
    return number


# ---- ceilings.json ----


def _from_json(path: Path, text: str) -> Ceilings:
    try:
        document = json.loads(text)
        entries = [(entry, _entry(entry)) for entry in document["ceilings"] if entry["value"] is not None]
        bandwidth = {entry["level"]: ceiling for entry, ceiling in entries if "level" in entry}
        arithmetic = {(entry["precision"], entry["pipe"]): ceiling for entry, ceiling in entries if "level" not in entry}
        return Ceilings(str(path), document["target"], document["timing"], bandwidth, arithmetic)
    except (ValueError, KeyError, TypeError) as error:
        raise TraceError(f"{path} is not a ceilings.json ({type(error).__name__}: {error})", _HINT) from error


def _entry(entry: Mapping[str, Any]) -> Ceiling:
    numbers = [float(entry[name]) for name in ("value", "low", "high")]
    if not all(0 < number < math.inf for number in numbers):
        raise ValueError(f"{numbers} is not a rate")
    return Ceiling(*numbers)
