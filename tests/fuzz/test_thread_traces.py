"""Thousands of damaged thread traces: whatever is read has sums consistent with every file; the rest is None with a reason."""

from __future__ import annotations

import csv
import json
import random
import shutil
from collections import Counter
from pathlib import Path

import pytest

import rocpd_database
from fuzz import thread_traces, verdict
from rocm_perf_lab.analysis.thread_trace.read import read_all
from rocm_perf_lab.profiling.pipeline import analyse
from rocm_perf_lab.report.json_writer import to_json

CASES, MORE_CASES = 120, 6000


@pytest.fixture(scope="module")
def healthy(tmp_path_factory) -> tuple[Path, Path]:
    """The folder of a thread trace, and a database with a dispatch of its kernel."""
    folder = tmp_path_factory.mktemp("seed")
    work = [rocpd_database.Dispatch("other(int)", 100, 200), rocpd_database.Dispatch(thread_traces.KERNEL, 300, 900)]
    return thread_traces.write(folder / "att"), rocpd_database.write(folder / "base.db", work)


def judge(folder: Path, database: Path) -> str:
    """'whole', 'partly' or 'nothing'; AssertionError for a number that the files do not support."""
    with verdict.watchdog():
        traces = read_all(folder)
        documents = analyse(database, thread_trace=folder)
        to_json(documents.analysis)
    (kernel,) = (kernel for kernel in documents.analysis.kernels if kernel.kernel == thread_traces.KERNEL)
    assert kernel.thread_trace or one_line(kernel.reasons["thread_trace"])
    for trace in traces:
        for name in ("code", "waves", "events", "gfxip", "clock_mhz"):
            assert (getattr(trace, name) is None) == (name in trace.missing), name
        assert all(map(one_line, trace.missing.values())), trace.missing
        check_code(trace)
        check_the_rest(trace)
    if kernel.thread_trace is None:
        return "nothing"
    totals = [int(trace.code.hits.sum()) for trace in traces if trace.code is not None]
    assert kernel.thread_trace.instructions in totals
    return "partly" if any(trace.missing for trace in traces) else "whole"


def one_line(text: str) -> bool:
    return 0 < len(text) < 2000 and text.isprintable()


def check_code(trace) -> None:
    """Checks instructions and sums against plain JSON and CSV, and against the waves' records, added up here."""
    code = trace.code
    if code is None:
        return
    columns = (code.text, code.vaddr.tolist(), code.source, *(getattr(code, name).tolist() for name in code.SUMS))
    ours = Counter(zip(*columns, strict=True))
    of_folder = trace.folder.is_dir()
    csv_file = trace.folder.parent / f"stats_{trace.folder.name}.csv" if of_folder else trace.folder
    listings = [of_csv(csv_file), of_json(trace.folder / "code.json") if of_folder else None]
    sources = [rows for rows in listings if rows is not None]
    assert sources and all(rows == ours for rows in sources), "another listing was believed, or two that differ"
    if trace.waves is not None:
        expected = {line: sums for line, sums in of_waves(trace.folder).items() if line in set(code.line.tolist())}
        found = zip(code.line.tolist(), zip(*columns[3:], strict=True), strict=True)
        assert {line: sums for line, sums in found if any(sums)} == expected


def check_the_rest(trace) -> None:
    """Checks that the result is what json reads."""
    if trace.events is not None:
        document = json.loads((trace.folder / "occupancy.json").read_bytes())
        for engine, rows in trace.events.engines.items():
            assert rows.tolist() in [value for name, value in document.items() if name.isdigit() and int(name) == engine]
    if trace.gfxip is not None:
        assert trace.gfxip == json.loads((trace.folder / "filenames.json").read_bytes())["gfxip"]
    if trace.clock_mhz is not None:
        document = json.loads((trace.folder / "realtime.json").read_bytes())
        ((first, *_, last),) = (value for name, value in document.items() if name.startswith("SE"))
        hertz = document["metadata"]["frequency"]
        assert trace.clock_mhz == pytest.approx((last[0] - first[0]) / (last[1] - first[1]) * hertz / 1e6)


def of_waves(folder: Path) -> dict[int, tuple[int, ...]]:
    """Line -> hits, latency, stall, idle. A record without a line (0) was not placed and took no time."""
    found: dict[int, list[int]] = {}
    for path in folder.glob("se*_sm*_sl*_wv*.json"):
        wave = json.loads(path.read_bytes())["wave"]
        before = wave["begin"]
        for time, _, stall, latency, line in wave.get("instructions") or []:
            if line:
                sums = found.setdefault(line, [0, 0, 0, 0])
                for place, value in enumerate((1, latency, stall, max(0, time - before))):
                    sums[place] += value
                before = max(before, time + latency)
    return {line: tuple(sums) for line, sums in found.items()}


def of_json(path: Path) -> Counter | None:
    """None if the file is not a listing."""
    try:
        rows = json.loads(path.read_bytes())["code"] or [] if path.is_file() else None
        numbers = [value for row in rows for value in (row[2], *(row[column] for column in range(4, 10)))]
        if not all(type(value) is int and 0 <= value < 2**62 for value in numbers):
            return None
        if not all(isinstance(value, str) and value.isprintable() for row in rows for value in (row[0], row[3])):
            return None
        lines = [row[2] for row in rows if not row[0].startswith("; ")]
        if len(lines) != len(set(lines)):
            return None
        return Counter((row[0], row[5], row[3], *row[6:10]) for row in rows if not row[0].startswith("; "))
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError, OSError):
        return None


def of_csv(path: Path) -> Counter | None:
    """None if the file is not a listing: every row must have its eight named cells."""
    try:
        if not path.is_file():
            return None
        with path.open(newline="", encoding="utf-8") as file:
            head, *rows = csv.reader(file, strict=True)
        if head != thread_traces.COLUMNS or any(len(row) != len(head) for row in rows):
            return None
        if not all(row[2].isprintable() and row[7].isprintable() for row in rows):
            return None
        if any(not 0 <= int(row[column]) < 2**62 for row in rows for column in (0, 1, 3, 4, 5, 6)):
            return None
        return Counter((row[2], int(row[1]), row[7], *map(int, row[3:7])) for row in rows if not row[2].startswith("; "))
    except (ValueError, csv.Error, OSError):
        return None


def attack(healthy, folder: Path, numbers: range) -> Counter:
    verdicts: Counter = Counter()
    for number in numbers:
        damaged = folder / "att"
        shutil.rmtree(damaged, ignore_errors=True)
        shutil.copytree(healthy[0], damaged)
        rng = random.Random(number)
        way = rng.choice(thread_traces.WAYS)
        way(rng, damaged)
        try:
            verdicts[judge(damaged, healthy[1])] += 1
        except Exception as error:
            raise AssertionError(f"case {number}: {way.__name__}: {type(error).__name__}: {str(error)[:300]}") from error
    return verdicts


def test_the_seed_is_healthy(healthy):
    assert judge(*healthy) == "whole"


def test_damaged_folders(healthy, tmp_path):
    verdicts = attack(healthy, tmp_path, range(CASES))
    assert min(verdicts["whole"], verdicts["partly"], verdicts["nothing"]) > 0, verdicts


@pytest.mark.slow
@pytest.mark.parametrize("part", range(6))
def test_many_more(part, healthy, tmp_path):
    size = MORE_CASES // 6
    attack(healthy, tmp_path, range(1_000_000 + part * size, 1_000_000 + (part + 1) * size))
