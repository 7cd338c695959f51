"""Runs many cases of one dispatch, one after another, in a single process; if a case fails, the rest run in a new process."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rocm_perf_lab.cage import View
from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.errors import ReplayFailedError
from rocm_perf_lab.isolate.capture_directory import Capture
from rocm_perf_lab.replaying.launch import LaunchConfiguration
from rocm_perf_lab.replaying.overlay import packed
from rocm_perf_lab.replaying.replay_cage import SETTING_UP_SECONDS, ReplayCage
from rocm_perf_lab.replaying.replay_document import CountedSection
from rocm_perf_lab.replaying.replay_process import error_of, races_and_written, run_json

FAILED = ReplayFailedError.exit_code


@dataclass(frozen=True)
class Case:
    """One run.

    overlays: pairs (address, content) to write over the captured memory. poison: byte to write over the memory that the
    captured kernel changed. device_options: passed to the software device, in addition to those for all cases; the device is
    restarted when they change. flush_cache: begin with cold caches. compare: compare memory with the results of the captured
    kernel. dump: keep the regions that the kernel changed. findings: keep the findings of the software device's race check.
    launch: None for the captured shape.
    """

    overlays: tuple[tuple[int, bytes], ...] = ()
    poison: int | None = None
    device_options: tuple[str, ...] = ()
    flush_cache: bool = False
    compare: bool = False
    dump: bool = True
    findings: bool = False
    launch: LaunchConfiguration | None = None


@dataclass(frozen=True)
class CaseOutcome:
    """The outcome of one case.

    dump: folder with the regions that the kernel changed, if they are kept. failure: why there is no result; gpu_ms is None in
    that case. counted: the software device's counts; None on a GPU. equal: whether memory matches the results of the captured
    kernel; None if not compared. races, written: see ReplayResult.
    """

    dump: Path
    gpu_ms: float | None
    failure: str | None
    counted: CountedSection | None = None
    equal: bool | None = None
    races: tuple[str, ...] = ()
    written: tuple[tuple[int, int], ...] = ()


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
    """Run each case once, starting from the captured memory. folder: where to keep results; must be new or empty.

    view: what the cage shows; None for no cage. seconds: wall time for all cases in a cage; None for as long as `timeout`
    allows. A fault or timeout fails only the case in which it occurs; if the cage's limit ends a case, all later cases fail
    too. Raises CaptureError, PlacementError, UnfitCodeError, UnavailableError, NoCageError.
    """
    folder = folder.absolute()
    allowed = SETTING_UP_SECONDS + timeout * len(cases) if seconds is None else seconds
    caged = None if view is None else ReplayCage(view, (folder,), allowed)
    began = time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)
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
        lines = [line for line in completed.stdout.splitlines() if line.startswith("{")]
        outcomes += [_outcome(folder / str(first + i), json.loads(line)) for i, line in enumerate(lines)]
        if completed.returncode == 0 and len(outcomes) == len(cases):
            break
        error = error_of(completed)
        if not isinstance(error, ReplayFailedError) or len(outcomes) == len(cases):
            raise error
        outcomes.append(CaseOutcome(folder / str(len(outcomes)), None, error.problem))
        if caged and time.monotonic() - began > allowed:
            late = f"{len(outcomes)} of {len(cases)} cases took longer than {allowed:.0f} s"
            left = range(len(outcomes), len(cases))
            return outcomes + [CaseOutcome(folder / str(number), None, late) for number in left]
    return outcomes


def _outcome(dump: Path, line: dict[str, Any]) -> CaseOutcome:
    counted = None if line["counted"] is None else CountedSection.model_validate(line["counted"])
    findings = races_and_written(*_findings(dump))
    return CaseOutcome(dump, line["gpu_ms"], None, counted, line["equal"], *findings)


def _findings(dump: Path) -> tuple[Path, Path]:
    """The files in which rocmperf-replay lists the races and the written ranges."""
    return dump.with_suffix(".races"), dump.with_suffix(".written")


def _entry(case: Case, dump: Path) -> dict[str, Any]:
    if case.dump:
        dump.mkdir()
    overlay = None
    if case.overlays:
        overlay = dump.with_suffix(".overlay")
        overlay.write_bytes(packed(case.overlays))
    return {
        "poison": case.poison,
        "overlay": str(overlay) if overlay else None,
        "dump": str(dump) if case.dump else None,
        "findings": str(dump) if case.findings else None,
        "device_options": ",".join(case.device_options),
        "flush_cache": case.flush_cache,
        "compare": case.compare,
        "launch": None if case.launch is None else dataclasses.asdict(case.launch),
    }
