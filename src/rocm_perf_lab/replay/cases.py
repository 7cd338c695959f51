"""Runs one dispatch on many inputs: in one process, and in a new one for the remaining cases when a case fails."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rocm_perf_lab.cage import View
from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.errors import ReplayFailedError
from rocm_perf_lab.isolate.capture import Capture
from rocm_perf_lab.replay.caged import SETTING_UP_SECONDS, Caged
from rocm_perf_lab.replay.overlay import packed
from rocm_perf_lab.replay.run import error_of, run_json

FAILED = ReplayFailedError.exit_code


@dataclass(frozen=True)
class Case:
    """One set of inputs.

    overlays: (address, content) each, written over the captured memory. poison: byte written over what the captured kernel
    changed.
    """

    overlays: tuple[tuple[int, bytes], ...] = ()
    poison: int | None = None


@dataclass(frozen=True)
class CaseOutcome:
    """The outcome of one case.

    dump: folder with the regions that the kernel changed. failure: why there is none; gpu_ms is None in that case.
    """

    dump: Path
    gpu_ms: float | None
    failure: str | None


def replay_cases(
    capture: Capture,
    cases: Sequence[Case],
    folder: Path,
    *,
    hsaco: Path | None = None,
    timeout: int = 600,
    device: str = devices.AUTO,
    device_options: Sequence[str] = (),
    view: View | None = None,
    seconds: float | None = None,
) -> list[CaseOutcome]:
    """Run each case once from fresh memory, and dump each into `folder`, which is new or empty.

    view: what the cage shows; None for no cage. seconds: wall time for all cases in a cage; None for as long as `timeout`
    allows. A fault or timeout is a failure of that case only; when the cage's limit ends a case, the cases after it fail as
    well. Raises CaptureError, PlacementError, UnfitCodeError, UnavailableError, NoCageError.
    """
    folder = folder.absolute()
    allowed = SETTING_UP_SECONDS + timeout * len(cases) if seconds is None else seconds
    caged = None if view is None else Caged(view, (folder,), allowed)
    began = time.monotonic()
    entries = [_entry(case, folder / str(number)) for number, case in enumerate(cases)]
    outcomes: list[CaseOutcome] = []
    while len(outcomes) < len(cases):
        first = len(outcomes)
        listing = folder / "cases.json"
        listing.write_text(json.dumps(entries[first:]))
        options = ["--cases", str(listing), "--timeout", str(timeout)] + (
            [] if hsaco is None else ["--hsaco", str(hsaco.absolute())]
        )
        completed = run_json("cases", capture, options, device, device_options, caged=caged)
        times = [json.loads(line)["gpu_ms"] for line in completed.stdout.splitlines() if line.startswith("{")]
        outcomes += [CaseOutcome(folder / str(first + i), ms, None) for i, ms in enumerate(times)]
        if completed.returncode == 0 and len(outcomes) == len(cases):
            break
        error = error_of(completed)
        if not isinstance(error, ReplayFailedError) or len(outcomes) == len(cases):
            raise error
        outcomes.append(CaseOutcome(folder / str(len(outcomes)), None, error.what))
        if caged and time.monotonic() - began > allowed:
            late = f"{len(outcomes)} of {len(cases)} cases took longer than {allowed:.0f} s"
            left = range(len(outcomes), len(cases))
            return outcomes + [CaseOutcome(folder / str(number), None, late) for number in left]
    return outcomes


def _entry(case: Case, dump: Path) -> dict[str, str | int | None]:
    dump.mkdir(parents=True)
    overlay = None
    if case.overlays:
        overlay = dump.with_suffix(".overlay")
        overlay.write_bytes(packed(case.overlays))
    return {"poison": case.poison, "overlay": str(overlay) if overlay else None, "dump": str(dump)}
