"""The files of a thread trace read with csv and json alone, and their sums, added up record by record."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from pathlib import Path

Sums = tuple[int, int, int, int]  # hits, latency, stall, idle


def csv_sums(path: Path) -> dict[tuple[int, int], Sums]:
    """(code object, address) -> sums; the header rows of kernels are left out."""
    with path.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if not row["Instruction"].startswith(";")]
    columns = ("Hitcount", "Latency", "Stall", "Idle")
    sums = {(int(row["CodeObj"]), int(row["Vaddr"])): tuple(int(row[name]) for name in columns) for row in rows}
    assert len(sums) == len(rows), "an address has two rows"
    return sums


def code_rows(folder: Path) -> list[list]:
    """[ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, Stall, Idle], without the header rows of kernels."""
    return [row for row in json.loads((folder / "code.json").read_text())["code"] if not row[0].startswith(";")]


def wave_files(folder: Path) -> dict[str, dict]:
    return {path.name: json.loads(path.read_text()) for path in sorted(folder.glob("se*_sm*_sl*_wv*.json"))}


def sums_of_records(folder: Path) -> dict[int, Sums]:
    """Line -> sums over all waves' instructions. Idle: from the end of earlier instructions, or the wave's start, to the
    next."""
    found: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for document in wave_files(folder).values():
        before = document["wave"]["begin"]
        for time, _category, stall, latency, line in document["wave"]["instructions"]:
            for place, value in enumerate((1, latency, stall, max(0, time - before))):
                found[line][place] += value
            before = max(before, time + latency)
    return {line: tuple(sums) for line, sums in found.items()}


def assert_sums_close(folder: Path) -> Sums:
    """Checks that the waves' records, code.json and the CSV agree on every instruction; returns the totals."""
    code = code_rows(folder)
    assert {(row[4], row[5]): tuple(row[6:10]) for row in code} == csv_sums(folder.parent / f"stats_{folder.name}.csv")
    records = sums_of_records(folder)
    assert {row[2]: tuple(row[6:10]) for row in code if any(row[6:10])} == records
    assert set(records) <= {row[2] for row in code}
    return tuple(map(sum, zip(*records.values(), strict=True)))
