"""Reads whatever parts of a thread trace exist, and refuses those that contradict each other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rocm_perf_lab.analysis.thread_trace import cross_check, parse
from rocm_perf_lab.analysis.thread_trace.find_traces import TraceOutput, find
from rocm_perf_lab.analysis.thread_trace.parse import UnreadableFileError
from rocm_perf_lab.analysis.thread_trace.tables import ThreadTrace, TracedCode, Wave, WaveEvents

NOTHING_RAN = "no wave of it ran on the traced CU and SIMDs"


def read_all(folder: Path) -> list[ThreadTrace]:
    """The thread traces in or below `folder`, ordered by dispatch; [] if there are none."""
    return [_read_output(output) for output in find(folder)]


def read(folder: Path) -> ThreadTrace:
    """The thread trace of one dispatch. Give either its ui_output folder or its CSV; the other is found beside it.

    Never raises because of what the files contain: fields that cannot be read are None, with a reason in `missing`.
    """
    outputs = find(folder)
    if not outputs:
        return _nothing(Path(folder), f"{folder} has no thread trace")
    return _read_output(outputs[0])


def _nothing(folder: Path, why: str) -> ThreadTrace:
    return ThreadTrace(
        folder, None, None, None, None, None, None, dict.fromkeys(("code", "waves", "events", "gfxip", "clock_mhz"), why)
    )


def _read_output(output: TraceOutput) -> ThreadTrace:
    missing: dict[str, str] = {}
    code = _code(output, missing)
    gfxip, clock, waves, events = None, None, None, None
    if output.ui is None:
        missing |= dict.fromkeys(("waves", "events", "gfxip", "clock_mhz"), f"there is no folder {output.name}")
    else:
        gfxip, listed = _files(output.ui, missing)
        waves = None if "waves" in missing else _waves(output.ui, listed, missing)
        events = _events(output.ui, missing)
        clock = _clock(output.ui, missing)
    trace = ThreadTrace(output.path, output.dispatch, gfxip, clock, code, waves, events, missing)
    return _checked(trace)


def _code(output: TraceOutput, missing: dict[str, str]) -> TracedCode | None:
    """The code from code.json, or from the CSV if code.json cannot be used. None if neither can be used, or if they differ."""
    listings: list[tuple[str, TracedCode]] = []
    reasons = []
    for path, reader in ((output.ui / "code.json" if output.ui else None, parse.code_json), (output.csv, parse.stats_csv)):
        if path is None:
            continue
        try:
            listings.append((path.name, reader(path)))
        except UnreadableFileError as reason:
            reasons.append(str(reason))
    if not listings:
        missing["code"] = "; ".join(reasons)
        return None
    if len(listings) == 2 and (wrong := _csv_differs(listings[0], listings[1])):
        missing["code"] = wrong
        return None
    if output.ui is not None and reasons and listings[0][0] != "code.json":
        missing["waves"] = f"{reasons[0]}: the waves' records refer to it"
    return listings[0][1]


def _csv_differs(json: tuple[str, TracedCode], csv: tuple[str, TracedCode]) -> str | None:
    """How the two differ, or None. Both list the same instructions: the CSV sorted by address, code.json by first execution."""
    csv_code, json_code = (code.by_address() for _, code in (csv, json))
    return cross_check.difference(csv[0], csv_code, json[0], json_code) or cross_check.unlike(
        csv[0], csv_code, json[0], json_code
    )


def _files(ui: Path, missing: dict[str, str]) -> tuple[int | None, list[str]]:
    try:
        gfxip, listed = parse.gfxip_and_files(ui / "filenames.json")
    except UnreadableFileError as reason:
        missing["gfxip"] = str(reason)
        return None, []
    if gfxip is None:
        missing["gfxip"] = "filenames.json does not name it"
    return gfxip, listed


def _waves(ui: Path, listed: list[str], missing: dict[str, str]) -> list[Wave] | None:
    try:
        files = parse.wave_files(ui)
        lost = sorted(set(listed) - {path.name for path in files})
        if lost:
            missing["waves"] = f"{lost[0]} is missing" + (f", and {len(lost) - 1} more" if len(lost) > 1 else "")
            return None
        return [parse.wave_json(path) for path in files]
    except UnreadableFileError as reason:
        missing["waves"] = str(reason)
    except OSError as error:
        missing["waves"] = f"{ui.name}: {error.strerror or error}"
    return None


def _events(ui: Path, missing: dict[str, str]) -> WaveEvents | None:
    try:
        return parse.occupancy_json(ui / "occupancy.json")
    except UnreadableFileError as reason:
        missing["events"] = str(reason)
        return None


def _clock(ui: Path, missing: dict[str, str]) -> float | None:
    try:
        return parse.clock_mhz(ui / "realtime.json")
    except UnreadableFileError as reason:
        missing["clock_mhz"] = str(reason)
        return None


def _checked(trace: ThreadTrace) -> ThreadTrace:
    """The trace, but without code and waves if they contradict each other (either may be wrong) or if both are empty."""
    if trace.code is None or trace.waves is None:
        return trace
    if not trace.waves and not trace.code.hits.any():
        why = {"waves": NOTHING_RAN, "code": NOTHING_RAN}
        return replace(trace, waves=None, code=None, missing=trace.missing | why)
    wrong = cross_check.difference(
        "code.json", trace.code, "the waves' records", cross_check.per_instruction(trace.code, trace.waves)
    )
    if wrong is None:
        return trace
    return replace(trace, waves=None, code=None, missing=trace.missing | {"waves": wrong, "code": wrong})
