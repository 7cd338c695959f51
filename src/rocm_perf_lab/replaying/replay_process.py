"""Drives rocmperf-replay: one process per replay, with any number of iterations."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from rocm_perf_lab import native
from rocm_perf_lab.cage import View
from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.collect.command import Command
from rocm_perf_lab.collect.execute import execute_attached
from rocm_perf_lab.errors import (
    CaptureError,
    OutputError,
    PlacementError,
    ReplayFailedError,
    RocmPerfError,
    UnfitCodeError,
    UsageError,
    signal_name,
)
from rocm_perf_lab.isolate.capture_directory import Capture
from rocm_perf_lab.process.child import raise_if_stopped
from rocm_perf_lab.replaying.launch import LaunchConfiguration
from rocm_perf_lab.replaying.overlay import packed
from rocm_perf_lab.replaying.replay_cage import SETTING_UP_SECONDS, ReplayCage
from rocm_perf_lab.replaying.replay_document import ComparedRegion, CountedSection, FullVmDocument, ReserveCheckDocument

_DIFFERENT = 40
_SIGNALLED = 128  # as in a shell, a higher status means that a signal killed the process
_RESERVE_OUTCOMES = (0, 1, 2)
_ERRORS = {
    error.exit_code: error
    for error in (UsageError, CaptureError, PlacementError, UnfitCodeError, ReplayFailedError, OutputError)
}
_PREFIX = "rocm-perf: error: "


@dataclass(frozen=True)
class ReplayResult:
    """The result of a replay. document: the JSON of `rocm-perf replay full-vm --json`; times in milliseconds.

    races: the races found by the race check, if it was on. written: the global memory that the kernel wrote, if the check was
    on, as address ranges [begin, end) in ascending order.
    """

    document: FullVmDocument
    races: tuple[str, ...] = ()
    written: tuple[tuple[int, int], ...] = ()

    @property
    def gpu_ms(self) -> list[float]:
        """The GPU time of each iteration; the document's `timing` says whether it is modelled or measured."""
        return self.document.timing.iterations

    @property
    def counted(self) -> CountedSection | None:
        """The software device's counts for the last iteration; None on a GPU."""
        return self.document.timing.counted

    @property
    def median_ms(self) -> float:
        return self.document.timing.median

    @property
    def equal(self) -> bool | None:
        """Whether memory after the kernel matches the capture, within the tolerance if one was given; None if not compared."""
        comparison = self.document.comparison
        return None if comparison is None else comparison.equal

    @property
    def differing_regions(self) -> list[ComparedRegion]:
        """The compared regions that differ from the capture."""
        comparison = self.document.comparison
        return [region for region in (comparison.regions if comparison else ()) if not region.equal]


def replay(
    capture: Capture | Path,
    *,
    hsaco: Path | None = None,
    launch: LaunchConfiguration | None = None,
    iterations: int = 10,
    warmup: int = 0,
    recopy: bool = True,
    flush_cache: bool = False,
    poison: int | None = None,
    overlays: Sequence[tuple[int, bytes]] = (),
    compare: bool = False,
    tolerances: Sequence[str] = (),
    dump: Path | None = None,
    timeout: int = 600,
    device: str = devices.AUTO,
    device_options: Sequence[str] = (),
    view: View | None = None,
) -> ReplayResult:
    """Replay a capture in a new process. hsaco: code object that replaces the captured one. launch: None for the captured
    shape.

    recopy: restore memory before each iteration. poison: byte to write, before each iteration, over the memory that the
    captured kernel changed. overlays: pairs (address, content) to write over the captured memory first. device_options: passed
    to the software device. tolerances: each "[0xADDRESS:]f32=RELATIVE[,ABSOLUTE]". dump: folder for the regions that the kernel
    changed. timeout: seconds for one dispatch. view: what the cage shows; None for no cage. A difference is not an error here;
    see ReplayResult.equal.

    Raises CaptureError, PlacementError, UnfitCodeError, ReplayFailedError, OutputError, UsageError, UnavailableError,
    NoCageError.
    """
    options = ["--iterations", str(iterations), "--warmup", str(warmup), "--timeout", str(timeout)]
    options += [] if recopy else ["--no-recopy"]
    options += ["--flush-cache"] if flush_cache else []
    options += ["--compare"] if compare else []
    options += [] if poison is None else ["--poison", str(poison)]
    options += [] if hsaco is None else ["--hsaco", str(hsaco.absolute())]
    options += [] if launch is None else _words_of(launch)
    options += [] if dump is None else ["--dump-output", str(dump.absolute())]
    options += [word for tolerance in tolerances for word in ("--tolerance", tolerance)]
    with tempfile.TemporaryDirectory(prefix="rocm-perf-") as scratch:
        races, written, overlay = (Path(scratch, *name) for name in (("races", "found"), ("races", "written"), ("overlay",)))
        races.parent.mkdir()
        if overlays:
            overlay.write_bytes(packed(overlays))
            options += ["--overlay", str(overlay)]
        variables = {devices.RACES_VARIABLE: str(races), devices.WRITTEN_VARIABLE: str(written)}
        seconds = SETTING_UP_SECONDS + timeout * (iterations + warmup)
        caged = None if view is None else ReplayCage(view, (races.parent, *_created(dump)), seconds)
        completed = run_json("full-vm", capture, options, device, device_options, variables, caged)
        if completed.returncode not in (0, _DIFFERENT):
            raise error_of(completed)
        return ReplayResult(FullVmDocument.model_validate_json(completed.stdout), *races_and_written(races, written))


def _words_of(launch: LaunchConfiguration) -> list[str]:
    groups, size = (",".join(map(str, extent)) for extent in (launch.groups, launch.group_size))
    return ["--groups", groups, "--group-size", size, "--dynamic-lds", str(launch.dynamic_lds)]


def races_and_written(races: Path, written: Path) -> tuple[tuple[str, ...], tuple[tuple[int, int], ...]]:
    """Read the files that the race check wrote; see ReplayResult. Both results are empty if the check was off."""
    return tuple(races.read_text().splitlines()) if races.exists() else (), _ranges(written)


def _ranges(file: Path) -> tuple[tuple[int, int], ...]:
    """The ranges written in any iteration; empty if there is no file."""
    if not file.exists():
        return ()
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(tuple(map(int, line.split())) for line in file.read_text().splitlines()):
        if merged and begin <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((begin, end))
    return tuple(merged)


def _created(folder: Path | None) -> tuple[Path, ...]:
    """A tuple of the folder, if one is given. The folder is created because a cage can show only existing folders."""
    if folder is None:
        return ()
    folder.mkdir(parents=True, exist_ok=True)
    return (folder,)


def reserve_check(capture: Capture | Path, *, device: str = devices.AUTO) -> ReserveCheckDocument:
    """Whether every captured range can be mapped at its address.

    Raises CaptureError, ReplayFailedError, UnavailableError.
    """
    completed = run_json("reserve-check", capture, [], device)
    if completed.returncode not in _RESERVE_OUTCOMES or not completed.stdout:
        raise error_of(completed)
    return ReserveCheckDocument.model_validate_json(completed.stdout)


def unpack(capture: Capture, folder: Path) -> None:
    """Write every region to a plain file region_<base>.bin, and to region_<base>.after.bin as well if the kernel changed it.

    folder: new or empty. Raises CaptureError, OutputError.
    """
    command = _command("unpack", capture.path, ["--dump-output", str(folder)])
    completed = subprocess.run(command.argv, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", errors="replace")
    if completed.returncode != 0:
        raise error_of(completed)


def run_attached(action: str, capture: Path, options: Sequence[str], device: str, device_options: Sequence[str] = ()) -> int:
    """Run one of rocmperf-replay's actions, attached to this process's terminal; returns its exit status. Raises
    ReplayFailedError if it is killed.
    """
    with _environment(device, device_options, _target_of(capture)) as environment:
        status = execute_attached(_command(action, capture, options), environment, interruptible=True)
    if status > _SIGNALLED:
        raise ReplayFailedError(f"the replay was killed by {signal_name(status - _SIGNALLED)}", "see docs/REPLAY.md")
    return status


def run_json(
    action: str,
    capture: Capture | Path,
    options: Sequence[str],
    device: str,
    device_options: Sequence[str] = (),
    more: Mapping[str, str] = MappingProxyType({}),
    caged: ReplayCage | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run one of rocmperf-replay's actions that print JSON.

    more: additional environment variables. caged: the cage to run in; None for no cage.
    """
    raise_if_stopped()  # a judge runs many replays in a row and must be able to stop between them
    path = capture.path if isinstance(capture, Capture) else capture
    command = _command(action, path.absolute(), ["--json", *options])
    with tempfile.TemporaryDirectory(prefix="rocm-perf-") as scratch:
        selected = devices.select(device, Path(scratch), device_options, code=_target_of(capture))
        words: Sequence[str] = command.argv
        if caged is not None:
            words = caged.within(words, capture, Path(scratch), selected.is_hardware)
        # Names from a code object can contain arbitrary bytes.
        return subprocess.run(
            words,
            env=selected.environment(os.environ) | dict(more),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
        )


def _command(action: str, capture: Path, options: Sequence[str]) -> Command:
    program = native.replay_program()
    return Command((str(program), action, "--capture-dir", str(capture), *options), program, program.name)


def _target_of(capture: Capture | Path) -> str | None:
    """The target; None if the capture cannot be read, in which case rocmperf-replay will report the problem."""
    if isinstance(capture, Capture):
        return capture.target
    try:
        return str(json.loads((capture / "dispatch.json").read_bytes())["agent"]["name"])
    except (OSError, ValueError, LookupError, TypeError):
        return None


@contextlib.contextmanager
def _environment(device: str, device_options: Sequence[str], target: str | None) -> Iterator[dict[str, str]]:
    with tempfile.TemporaryDirectory(prefix="rocm-perf-") as scratch:
        yield devices.select(device, Path(scratch), device_options, code=target).environment(os.environ)


def error_of(completed: subprocess.CompletedProcess[str]) -> RocmPerfError:
    line = next((line for line in completed.stderr.splitlines() if line.startswith(_PREFIX)), None)
    error = _ERRORS.get(completed.returncode, ReplayFailedError)
    if line is None:
        last = (completed.stderr.strip().splitlines() or ["no error message"])[-1]
        status = completed.returncode
        end = f"was killed by {signal_name(-status)}" if status < 0 else f"ended with status {status}"
        return ReplayFailedError(f"the replay {end}: {last}", "see docs/REPLAY.md")
    message, _, hint = line.removeprefix(_PREFIX).rpartition("; ")
    return error(message, hint)
