"""Parses the files of a thread trace into columns. Bad files raise UnreadableFileError with a one-line message that names the
file.
"""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rocm_perf_lab.analysis.thread_trace.tables import TracedCode, Wave, WaveEvents

if TYPE_CHECKING:
    from rocm_perf_lab.arrays import Integers

_WAVE_FILE = re.compile(r"se(\d{1,9})_sm(\d{1,9})_sl(\d{1,9})_wv(\d{1,9})\.json")
_CSV_HEAD = ["CodeObj", "Vaddr", "Instruction", "Hitcount", "Latency", "Stall", "Idle", "Source"]
_CURRENT_FOLDER = re.compile(r"(/\.)+/")  # in the path of a header included by a program in the current folder
_MAX_NUMBER = 1 << 62  # larger numbers mean that the file is damaged, and could overflow sums


class UnreadableFileError(Exception):
    """A file cannot be used; the message says why."""


def read_bytes(path: Path) -> bytes:
    try:
        if path.exists() and not path.is_file():  # reading a pipe would block
            raise UnreadableFileError(f"{path.name} is not a file")
        return path.read_bytes()
    except OSError as error:
        raise UnreadableFileError(f"{path.name}: {error.strerror or error}") from error


def load(path: Path) -> dict[str, Any]:
    """Read a JSON object."""
    return _parse(path, read_bytes(path))


def _parse(path: Path, text: bytes) -> dict[str, Any]:
    if not text.strip():
        raise UnreadableFileError(f"{path.name} is empty")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableFileError(f"{path.name} is truncated or not JSON ({_one_line(error)})") from error
    if not isinstance(document, dict):
        raise UnreadableFileError(f"{path.name} does not contain a JSON object")
    return document


def integers(path: Path, label: str, rows: Any, columns: int) -> Integers:
    """`rows` as int64[n, columns]; anything but non-negative whole numbers is refused."""
    if not isinstance(rows, list):
        raise UnreadableFileError(f"{path.name}: {label} is not a list")
    if not rows:
        return np.empty((0, columns), np.int64)
    try:
        table = np.array(rows)
    except (ValueError, OverflowError) as error:
        raise UnreadableFileError(f"{path.name}: {label} is not a table of numbers") from error
    if table.ndim != 2 or table.shape[1] != columns or table.dtype.kind != "i":
        raise UnreadableFileError(f"{path.name}: {label} is not {columns} whole numbers per row")
    return _in_range(path, label, table.astype(np.int64, copy=False))


def _in_range(path: Path, label: str, table: Integers) -> Integers:
    if len(table) and (table.min() < 0 or table.max() > _MAX_NUMBER):
        raise UnreadableFileError(f"{path.name}: {label} has a number that is negative or too large")
    return table


# ---- code ----


def code_json(path: Path) -> TracedCode:
    rows = load(path).get("code")
    if rows is None:
        rows = []  # the decoder writes null for a trace without instructions
    if not isinstance(rows, list):
        raise UnreadableFileError(f"{path.name}: `code` is not a list")
    for number, row in enumerate(rows):
        valid = isinstance(row, list) and len(row) >= 10 and isinstance(row[0], str) and isinstance(row[3], str)
        valid = valid and row[0].isprintable() and row[3].isprintable()
        if not (valid and all(type(value) is int and 0 <= value <= _MAX_NUMBER for value in (row[2], *row[4:10]))):
            raise UnreadableFileError(f"{path.name}: row {number} is not {_SHAPE}")
    return _code(path, [(row[2], row[0], row[3], tuple(row[4:10])) for row in rows])


_SHAPE = "[ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, Stall, Idle]"


def stats_csv(path: Path) -> TracedCode:
    """Like code_json(), but lines are numbered from 0 in file order."""
    try:
        text = read_bytes(path).decode("utf-8")
        csv.field_size_limit(1 << 24)  # demangled names of up to 100 kB have been seen
        table = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise UnreadableFileError(f"{path.name} is not a CSV file ({_one_line(error)})") from error
    if not table:
        return _code(path, [])
    if [name.strip() for name in table[0]] != _CSV_HEAD:
        raise UnreadableFileError(f"{path.name} does not begin with the columns {', '.join(_CSV_HEAD)}")
    rows = []
    for number, row in enumerate(table[1:]):
        try:
            numbers = [int(row[column]) for column in (0, 1, 3, 4, 5, 6)]
        except (ValueError, IndexError) as error:
            raise UnreadableFileError(f"{path.name}: row {number + 2} is truncated or not numeric") from error
        if len(row) != len(_CSV_HEAD) or min(numbers) < 0 or max(numbers) > _MAX_NUMBER:
            raise UnreadableFileError(f"{path.name}: row {number + 2} is truncated or has a number out of range")
        if not (row[2].isprintable() and row[7].isprintable()):
            raise UnreadableFileError(f"{path.name}: row {number + 2} has control characters")
        rows.append((number, row[2], row[7], tuple(numbers)))
    return _code(path, rows)


def _code(path: Path, rows: list[tuple[int, str, str, tuple[int, ...]]]) -> TracedCode:
    """rows: (line, text, source, (code object, vaddr, hits, latency, stall, idle)). A row with the text "; symbol" begins a
    kernel, and its source is the demangled name.
    """
    kernels: list[tuple[str, str]] = []
    instructions, kernel_of = [], []
    for row in sorted(rows, key=lambda row: row[0]):
        if row[1].startswith("; "):
            kernels.append((row[1][2:], row[2]))
        else:
            instructions.append(row)
            kernel_of.append(len(kernels) - 1)
    line = np.array([row[0] for row in instructions], np.int64)
    code_object, vaddr, hits, latency, stall, idle = (np.array([row[3][n] for row in instructions], np.int64) for n in range(6))
    if len(np.unique(line)) != len(line):
        raise UnreadableFileError(f"{path.name} has two instructions on one line number")
    return TracedCode(
        line=line, text=[row[1] for row in instructions], source=[_CURRENT_FOLDER.sub("/", row[2]) for row in instructions],
        code_object=code_object, vaddr=vaddr, hits=hits, latency=latency, stall=stall, idle=idle,
        kernel=np.array(kernel_of, np.int64), kernels=kernels,
    )  # fmt: skip


# ---- waves ----


def wave_files(folder: Path) -> list[Path]:
    return sorted((path for path in folder.iterdir() if _WAVE_FILE.fullmatch(path.name)), key=lambda path: _coordinates(path))


def _coordinates(path: Path) -> tuple[int, ...]:
    """Engine, SIMD, slot and wave."""
    match = _WAVE_FILE.fullmatch(path.name)
    if match is None:
        raise UnreadableFileError(f"{path.name} is not a wave's file")
    return tuple(map(int, match.groups()))


def wave_json(path: Path) -> Wave:
    """Read a wave's file, which can be hundreds of megabytes long. Nearly all of it is rows of five numbers, which bypass the
    JSON parser.
    """
    text = read_bytes(path)
    head, rows, tail = _split_around_table(text, b'"instructions":')
    middle, _, end = _split_around_table(tail, b'"timeline":')
    document = _parse(path, head + middle + end)
    wave = document.get("wave")
    if not isinstance(wave, dict):
        raise UnreadableFileError(f"{path.name} has no `wave`")
    if rows is None:
        records = integers(path, "`instructions`", wave.get("instructions") or [], 5)
    else:
        records = _rows_of_five(path, rows)
    numbers = {name: _whole_number(path, name, wave) for name in ("begin", "end", "cu")}
    numbers |= {name: _whole_number(path, name, document) for name in ("num_insts", "num_stitched")}
    if numbers["end"] < numbers["begin"]:
        raise UnreadableFileError(f"{path.name}: the wave ends before it begins")
    if numbers["num_stitched"] != len(records):
        raise UnreadableFileError(f"{path.name} has {len(records)} instructions but claims {numbers['num_stitched']}")
    engine, simd, slot, _ = _coordinates(path)
    if (records[:, 2] > records[:, 3]).any():
        raise UnreadableFileError(f"{path.name}: an instruction stalls for longer than it takes")
    return Wave(
        path.name, engine, numbers["cu"], simd, slot, numbers["begin"], numbers["end"], records,
        max(0, numbers["num_insts"] - numbers["num_stitched"]),
    )  # fmt: skip


def _whole_number(path: Path, name: str, values: dict[str, Any]) -> int:
    value = values.get(name)
    if type(value) is not int or not 0 <= value <= _MAX_NUMBER:
        raise UnreadableFileError(f"{path.name}: `{name}` is not a whole number")
    return value


def _split_around_table(text: bytes, key: bytes) -> tuple[bytes, bytes | None, bytes]:
    """Split the text around the table under `key`: the text before it (with [] in place of the table), the table's rows as
    "1,2],[3,4", and the text after it. If the key is not followed by [[ (for example, if the table is empty): the whole text,
    None and b"".
    """
    start = text.find(key + b"[[")
    end = text.find(b"]]", start) if start >= 0 else -1
    if end < 0:
        return text, None, b""
    begin = start + len(key)
    return text[:begin] + b"[]", text[begin + 2 : end], text[end + 2 :]


def _rows_of_five(path: Path, rows: bytes) -> Integers:
    lines = rows.replace(b"],[", b"\n")
    try:
        table = np.loadtxt(io.BytesIO(lines), np.int64, comments=None, delimiter=",", ndmin=2)
    except (ValueError, OverflowError) as error:
        raise UnreadableFileError(f"{path.name}: `instructions` is not 5 whole numbers per row ({_one_line(error)})") from error
    # loadtxt skips empty lines, and older versions of NumPy truncate fractions.
    if table.shape != (lines.count(b"\n") + 1, 5) or re.search(rb"[^-0-9,\n]", lines):
        raise UnreadableFileError(f"{path.name}: `instructions` is not 5 whole numbers per row")
    return _in_range(path, "`instructions`", table)


# ---- the rest ----


def occupancy_json(path: Path) -> WaveEvents:
    document = load(path)
    engines = {
        int(name): integers(path, f"engine {name}", rows, 6)
        for name, rows in document.items()
        if name.isascii() and name.isdigit()
    }
    return WaveEvents(engines)


def gfxip_and_files(path: Path) -> tuple[int | None, list[str]]:
    """The GPU's generation (None if the file does not say), and the names of the wave files that should exist."""
    document = load(path)
    gfxip = document.get("gfxip")
    files = _leaves(document.get("wave_filenames"))
    return (gfxip if type(gfxip) is int else None), sorted(name for name in files if _WAVE_FILE.fullmatch(name))


def _leaves(tree: Any) -> list[str]:
    """The file names in {engine: {simd: {slot: {id: [name, begin, end]}}}}."""
    if isinstance(tree, dict):
        return [name for branch in tree.values() for name in _leaves(branch)]
    return [tree[0]] if isinstance(tree, list) and tree and isinstance(tree[0], str) else []


def clock_mhz(path: Path) -> float:
    """The shader clock, derived from its readings and simultaneous readings of a clock with a known frequency."""
    document = load(path)
    metadata = document.get("metadata")
    frequency = metadata.get("frequency") if isinstance(metadata, dict) else None
    for name, readings in document.items():
        if not re.fullmatch(r"SE\d+", name):
            continue
        table = integers(path, name, readings, 2)
        if len(table) >= 2 and type(frequency) is int and (ticks := int(table[-1, 1] - table[0, 1])) > 0:
            if (cycles := int(table[-1, 0] - table[0, 0])) > 0:
                return cycles / ticks * frequency / 1e6
    raise UnreadableFileError(f"{path.name} does not have two readings of the clocks")


def _one_line(error: BaseException) -> str:
    """The error as one printable line, because any damaged bytes that it quotes must not reach a terminal."""
    text = " ".join(str(error).split())[:120]
    return "".join(character if character.isprintable() else "?" for character in text)
