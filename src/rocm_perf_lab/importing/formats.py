"""Recognises the files of other profilers, and converts those that the analysis can use."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType

from rocm_perf_lab.errors import MissingInputError, TraceError
from rocm_perf_lab.importing import rocprofv3_csv, rocprofv3_json, rpd, wide_csv

Convert = Callable[[Path], Sequence[str]]  # writes the database of one process; returns what the format leaves out
_SQLITE = b"SQLite format 3\0"
_PROFILE = "profile with `rocprofv3 --kernel-trace --memory-copy-trace --hip-trace --output-format rocpd`"
# Names of other files, what they are, and what to do instead.
_OTHER_FORMATS = (
    (r"\.pftrace$|\.perfetto-trace$|\.proto$", "a Perfetto trace, which has no resources or counters of kernels", _PROFILE),
    (r"\.otf2?$|\.def$", "an OTF2 archive", _PROFILE),
    (
        r"_kernel_stats\.csv$|_stats\.csv$",
        "a table of statistics without individual dispatches",
        "give the file *_kernel_trace.csv",
    ),
    (r"\.nsys-rep$|\.ncu-rep$|\.qdrep$", "a report of NVIDIA's profilers", "profile on an AMD GPU with rocprofv3"),
    (r"\.rpd\.gz$|\.db\.gz$", "compressed", "unpack it: gunzip FILE"),
    (r"\.pb\.gz$|\.xplane\.pb$", "a trace of XLA's profiler", _PROFILE),
    (r"\.json(\.gz)?$", "a JSON file that rocprofv3 did not write", _PROFILE),
    (r"\.csv(\.gz)?$", "a CSV file whose columns are not those of rocprofv3, rocprof or rocprof-compute", _PROFILE),
)


class Imports:
    """Databases converted from other formats, which exist until the end of the `with` block."""

    def __init__(self, note: Callable[[str], None]):
        self._note = note
        self._folder = tempfile.TemporaryDirectory(prefix="rocm-perf-import-")

    def __enter__(self) -> Imports:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._folder.cleanup()

    def databases(self, path: Path) -> list[Path]:
        """The databases that a path stands for: the file itself, the databases in the folder, or databases made from other
        formats.

        Raises MissingInputError if there is nothing to analyse, and TraceError for files that cannot be read.
        """
        if not path.exists():
            hint = "give a database of rocprofv3, a folder of databases, or files that it or another profiler wrote"
            raise MissingInputError(f"there is no trace {path}", hint)
        if path.is_dir():
            if databases := sorted(path.rglob("*.db")):
                return databases
            conversions = list(_in_folder(path))
            if not conversions:
                hint = "profile with `rocprofv3 --output-format rocpd`"
                raise MissingInputError(f"the folder {path} contains no trace that this tool can read", hint)
        elif (conversions := list(_of_file(path))) == []:
            return [path]
        return [self._convert(*conversion) for conversion in conversions]

    def _convert(self, source: Path, name: str, convert: Convert) -> Path:
        database = Path(tempfile.mkdtemp(dir=self._folder.name)) / f"{_file_name(name)}.db"
        self._note(f"reading {source}")
        for left_out in convert(database):
            self._note(f"{source}: {left_out}")
        os.utime(database, (source.stat().st_atime, source.stat().st_mtime))  # reports take the run's date from the file's time
        return database


def _file_name(name: str) -> str:
    return re.sub(r"[^\w.+-]+", "_", name).strip("_") or "trace"


Conversion = tuple[Path, str, Convert]  # source, name of the database, function that writes it


def _of_file(path: Path) -> Iterator[Conversion]:
    """The file's conversions; none if it is a rocpd database or not recognised. Raises TraceError for formats that are known to
    be unusable.
    """
    name = path.name.removesuffix(".gz")
    if rpd.recognizes(path):
        yield from _rpd(path)
    elif name.endswith(".csv"):
        if rocprofv3_csv.kind_of(path):
            yield from _csv(rocprofv3_csv.siblings(path), path)
        elif wide_csv.recognizes(path):
            yield path, path.stem, lambda into: wide_csv.convert(path, into)
        else:
            _refuse(path)
    elif name.endswith(".json"):
        if not rocprofv3_json.recognizes(path):
            _refuse(path)
        yield from _json(path)
    elif not _begins_with(path, _SQLITE):
        _refuse(path)


def _in_folder(folder: Path) -> Iterator[Conversion]:
    """The conversions of the most complete format found: rocprofv3 may have written the same run in several formats."""
    for find in (_rpd_files, _json_files, _compute_files, _csv_files):
        if conversions := list(find(folder)):
            yield from conversions
            return


def _rpd_files(folder: Path) -> Iterator[Conversion]:
    for path in sorted(folder.rglob("*.rpd")):
        yield from _rpd(path)


def _json_files(folder: Path) -> Iterator[Conversion]:
    for path in sorted([*folder.rglob("*.json"), *folder.rglob("*.json.gz")]):
        if rocprofv3_json.recognizes(path):
            yield from _json(path)


def _compute_files(folder: Path) -> Iterator[Conversion]:
    for path in sorted([*folder.rglob(wide_csv.MAIN_FILE), *folder.rglob(wide_csv.MAIN_FILE + ".gz")]):
        yield path, path.parent.name, lambda into, path=path: wide_csv.convert(path, into)  # type: ignore[misc]


def _csv_files(folder: Path) -> Iterator[Conversion]:
    paths = sorted([*folder.rglob("*.csv"), *folder.rglob("*.csv.gz")])
    yield from _csv(paths, folder)


def _rpd(path: Path) -> Iterator[Conversion]:
    for pid in rpd.processes(path):
        yield path, path.stem, lambda into, pid=pid: rpd.convert(path, pid, into)  # type: ignore[misc]


def _json(path: Path) -> Iterator[Conversion]:
    for process in rocprofv3_json.processes(path):
        name = re.sub(r"(_results)?\.json(\.gz)?$", "", path.name)
        yield path, name, lambda into, process=process: rocprofv3_json.convert(process, path, into)  # type: ignore[misc]


def _csv(paths: list[Path], named_path: Path) -> Iterator[Conversion]:
    processes = rocprofv3_csv.processes(paths)
    if not processes and named_path.is_file():
        raise TraceError(
            f"neither {named_path} nor files of the same run next to it have dispatches", "give *_kernel_trace.csv"
        )
    for files in processes:
        yield named_path, files.name, lambda into, files=files: rocprofv3_csv.convert(files, named_path, into)  # type: ignore[misc]


def _refuse(path: Path) -> None:
    """Raise TraceError if the name identifies the file as one that cannot be used."""
    for pattern, description, instead in _OTHER_FORMATS:
        if re.search(pattern, path.name):
            raise TraceError(f"{path} is {description}", instead.replace("FILE", str(path)))


def _begins_with(path: Path, magic: bytes) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(magic)) == magic
    except OSError:
        return False
