"""What a checkout of HeCBench contains: its HIP programs, and what else each of them needs."""

from __future__ import annotations

import csv
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

COMPILER = "hipcc --offload-arch=gfx942"
_SUFFIX = "-hip"
SOURCES = {".cu", ".cpp", ".cc", ".c", ".h", ".hpp", ".cuh", ".hip"}
# Headers of libraries, except those that come with the compiler and HIP.
_LIBRARY = re.compile(
    r"#\s*include\s*[<\"]((?:hip(?:blas|blaslt|cub|fft|rand|solver|sparse)|roc(?:blas|sparse|solver|fft|rand|prim|thrust)|thrust|"
    r"rccl|miopen|torch|ATen|c10|boost|gsl|tbb|fmt)[/.][^>\"]*|zlib\.h|bzlib\.h|gdal[^>\"]*)[>\"]"
)
_LINKED = re.compile(r"(?<!\S)-l([A-Za-z][\w+]*)")


@dataclass(frozen=True)
class ProgramEntry:
    """A row of the table: arguments for a small size, and what is known beforehand."""

    arguments: str | None = None  # None: the Makefile's own, made smaller
    macros: str = ""  # NAME=VALUE ...: sizes that have a name in the source
    edits: str = ""  # OLD -> NEW ;; OLD -> NEW: sizes that have no name there
    make: str = ""  # additional arguments for make
    fault: str = ""  # whose fault it is if the program fails: program or environment
    note: str = ""


def read_table(path: Path) -> dict[str, ProgramEntry]:
    with path.open(encoding="utf-8", newline="") as file:
        return {row["program"]: _entry_of_row(row) for row in csv.DictReader(file)}


def _entry_of_row(row: dict[str, str]) -> ProgramEntry:
    arguments = None if row["arguments"] == "=" else row["arguments"]
    return ProgramEntry(arguments, row["macros"], row["edits"], row["make"], row["fault"], row["note"])


def programs(checkout: Path) -> list[str]:
    return sorted(path.parent.name.removesuffix(_SUFFIX) for path in checkout.glob(f"src/*{_SUFFIX}/Makefile"))


@dataclass(frozen=True)
class Program:
    checkout: Path
    name: str
    entry: ProgramEntry = field(default_factory=ProgramEntry)

    @property
    def folder(self) -> Path:
        return self.checkout / "src" / (self.name + _SUFFIX)

    @cached_property
    def plan(self) -> str:
        """The commands that `make run` would execute."""
        command = ["make", "-n", "-B", "run", f"CC={COMPILER}", *self.entry.make.split()]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, errors="replace").stdout

    @cached_property
    def start(self) -> list[str]:
        """The first command that starts the program, as a list of words; empty if make's output shows none."""
        lines = (line.split() for line in self.plan.replace("\\\n", " ").splitlines() if not line.startswith(COMPILER[:6]))
        return next((words[i:] for words in lines for i, word in enumerate(words) if word.startswith("./")), [])

    def data_files(self) -> list[str]:
        return [word for word in self.start[1:] if _is_file(word)]

    def libraries(self, has_header: Callable[[str], bool], has_library: Callable[[str], bool]) -> list[str]:
        """The libraries that are missing."""
        headers = {name for text in self.texts() for name in _LIBRARY.findall(text)}
        linked = set(_LINKED.findall(self.plan)) | ({"omp"} if "-fopenmp" in self.plan else set())
        own_files = {path.name for path in self.folder.rglob("*")}
        absent = {name.partition("/")[0] for name in headers if Path(name).name not in own_files and not has_header(name)}
        return sorted(absent | {f"lib{name}" for name in linked if not has_library(name)})

    def texts(self) -> list[str]:
        """The texts of the sources in the Makefile's folder and in the folders that the Makefile names."""
        folders = [self.folder, *(self.folder / name for name in self.neighbours())]
        files = [path for folder in folders for path in folder.rglob("*") if path.suffix in SOURCES and path.is_file()]
        return [path.read_text("utf-8", errors="replace") for path in files]

    def neighbours(self) -> list[str]:
        """Other folders of the checkout that the Makefile names, such as ../NAME-cuda."""
        makefile = (self.folder / "Makefile").read_text("utf-8", errors="replace")
        names = set(re.findall(r"\.\./[A-Za-z][\w+.-]*", makefile))
        return sorted(name for name in names if (self.folder / name).is_dir())


def _is_file(word: str) -> bool:
    return bool(re.search(r"/|\.[A-Za-z]\w*$", word)) and not re.search(r"(?i)\bout|result", word)


def why_not_a_candidate(program: Program, has_header: Callable[[str], bool], has_library: Callable[[str], bool]) -> str:
    """Why the program is not a candidate; empty if it is. If the table states its arguments, it is assumed to need no data."""
    if absent := program.libraries(has_header, has_library):
        return "needs a library: " + ", ".join(absent)
    if program.entry.arguments is None and (files := program.data_files()):
        return "needs data: " + ", ".join(files)
    return "" if program.start or program.entry.arguments is not None else "its Makefile does not say how it is started"


def installed_headers() -> Callable[[str], bool]:
    """A function that tells whether the compiler finds a header in the folders that it searches."""
    command = ["hipcc", "-E", "-v", "-x", "c++", "/dev/null"]
    compiler_output = subprocess.run(command, capture_output=True, text=True).stderr
    listed = re.search(r"(?s)search starts here:\n(.*?)End of search list", compiler_output)
    folders = [Path(line.strip()) for line in (listed[1] if listed else "").splitlines() if line.startswith(" ")]
    return lambda name: any((folder / name).exists() for folder in folders)


def installed_libraries() -> Callable[[str], bool]:
    def has(name: str) -> bool:
        files = (f"lib{name}.so", f"lib{name}.a")
        return any(
            "/" in subprocess.run(["g++", f"-print-file-name={file}"], capture_output=True, text=True).stdout for file in files
        )

    return has
