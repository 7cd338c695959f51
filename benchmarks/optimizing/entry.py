"""Prepares and optimizes one kernel of the table, and checks its results by means of the program's own output."""

from __future__ import annotations

import csv
import json
import re
import resource
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from others import building
from others.checkout import COMPILER, Program, ProgramEntry, read_table
from others.process import RunResult, run

REPOSITORY = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).with_name("kernels.csv")
_PROGRAMS = REPOSITORY / "benchmarks" / "others" / "programs.csv"
_SECONDS = 1800.0
_NOTES = "optimize.log"
# Lines that differ from run to run although the results are the same. All other lines are compared.
_TIMES = re.compile(r"(?i)^.*(\btime\b|\btook\b|seconds|bandwidth|gb/s|gflop|\bms\b|\bus\b|throughput).*$", re.MULTILINE)


@dataclass(frozen=True)
class Entry:
    """A row of the table.

    sizes: argument lists for which the results are checked; a single empty one if there are no arguments. check: the command
    that decides from the program's output whether its results are right; if empty, the output must be the same except for
    times.
    """

    name: str
    origin: str
    program: str
    kernel: str
    arguments: str
    sizes: tuple[str, ...]
    options: tuple[str, ...]
    check: str


def read_entries() -> list[Entry]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        return [_entry(row) for row in csv.DictReader(file)]


def _entry(row: dict[str, str]) -> Entry:
    sizes = tuple(size.strip() for size in row["sizes"].split(";"))
    names = (row[name] for name in ("name", "origin", "program", "kernel", "arguments"))
    return Entry(*names, sizes, tuple(row["options"].split()), row["check"])


class Trial:
    """One run of an entry.

    folder: used by this entry alone. checkout: a checkout of HeCBench, which only its own entries need. options: further
    options of `rocm-perf optimize`.
    """

    def __init__(self, entry: Entry, folder: Path, checkout: Path | None, options: list[str]):
        self._entry, self._folder, self._checkout, self._options = entry, folder, checkout, options

    def result(self) -> dict[str, Any]:
        """The result of the run, with any errors as text."""
        shutil.rmtree(self._folder, ignore_errors=True)
        before, after = (self._prepared(self._folder / name) for name in ("before", "after"))
        if isinstance(before, str) or isinstance(after, str):
            return {"error": str(before)}
        began = _processor_seconds()
        ran = self._optimized(before)
        seconds = _processor_seconds() - began
        if ran.status != 0:
            notes = (self._folder / _NOTES).read_text("utf-8", errors="replace")
            return {"error": _last_line(notes) if ran.status is not None else "time-out", "seconds": seconds}
        document = json.loads(ran.output)
        return self._summary(document) | {"seconds": seconds, "outputs": self._outputs(document, before, after)}

    def _prepared(self, folder: Path) -> Path | str:
        """The folder with the built program, or an error message."""
        entry = self._entry
        if entry.origin == "hecbench":
            if self._checkout is None:
                return "no checkout of HeCBench was named"
            program_entry = read_table(_PROGRAMS).get(entry.program, ProgramEntry())
            copy = building.copy(Program(self._checkout, entry.program, program_entry), folder)
        else:
            copy = folder
            copy.mkdir(parents=True)
            origin = REPOSITORY / ("testbed" if entry.origin == "testbed" else "tests/optimize/transforms")
            for file in (origin / f"{entry.program}.hip", *origin.glob("*.h")):
                shutil.copy(file, copy)
        ran = run(shlex.split(self._build()), copy, folder / "build.log", _SECONDS)
        return copy if ran.status == 0 else f"it does not build: {_last_line(ran.output)}"

    def _build(self) -> str:
        entry = self._entry
        if entry.origin == "hecbench":
            return f"make CC='{COMPILER}'"
        extra_options = " -nogpuinc -Wno-unused-command-line-argument" if entry.program == "gains" else ""
        return f"{COMPILER} -O3{extra_options} {entry.program}.hip -o main"

    def _optimized(self, copy: Path) -> RunResult:
        entry = self._entry
        check = ["--check", entry.check] if entry.check else []
        kernel = ["--kernel", rf"\b{entry.kernel}\b"] if entry.kernel else []
        chosen = [*entry.options, *check, *kernel, *self._options]
        fixed = ["--device", "gfx942", "--auto-approve", "--accept", "modelled", "--json", "--seed", "1"]
        words = ["rocm-perf", "optimize", *fixed, *chosen, "--build", self._build(), "./main", *shlex.split(entry.arguments)]
        apart = ["sh", "-c", 'exec "$@" 2> "$0"', str(self._folder / _NOTES), *words]
        return run(apart, copy, self._folder / "optimize.json", _SECONDS)

    @staticmethod
    def _summary(document: dict[str, Any]) -> dict[str, Any]:
        ratio = 1.0
        for iteration in document["iterations"]:
            ratio *= iteration["kernel_time_ratio"]
        judged = sum(one["verdict"] is not None for one in document["proposals"])
        return {
            "accepted": [one["description"] for one in document["iterations"]],
            "kernel": ratio,
            "program": document["final_ms"] / document["baseline_ms"] if document["baseline_ms"] else 1.0,
            "judged": judged,
            "passed_over": len(document["passed_over"]),
            "stop": document["stop"],
        }

    def _outputs(self, document: dict[str, Any], before: Path, after: Path) -> str:
        """Run both programs with each of the sizes, and return whether the changed program's output is right, as text."""
        changed = [Path(path) for path in document["written"] if not path.endswith(".patch")]
        if not changed:
            return "unchanged"
        for path in changed:
            original = path.with_name(path.name.replace(".optimized.", "."))
            shutil.copy(path, after / original.relative_to(before))
        anew = ["-B"] if self._entry.origin == "hecbench" else []
        built = run([*shlex.split(self._build()), *anew], after, self._folder / "rebuild.log", _SECONDS)
        if built.status != 0:
            return f"the result does not build: {_last_line(built.output)}"
        for size in self._entry.sizes:
            ran = [self._run(copy, size) for copy in (before, after)]
            if ran[0].status != 0:
                return f"the unchanged program fails with `{size}`: {_last_line(ran[0].output)}"
            if not self._is_correct_output(*(output_run.output for output_run in ran)):
                return f"WRONG with `{size}`"
        return f"same at {len(self._entry.sizes)}"

    def _is_correct_output(self, before: str, after: str) -> bool:
        if not self._entry.check:
            return _TIMES.sub("", before) == _TIMES.sub("", after)
        return subprocess.run(shlex.split(self._entry.check), input=after, text=True, check=False).returncode == 0

    def _run(self, copy: Path, size: str) -> RunResult:
        words = ["rocm-perf", "run", "--device", "gfx942", "./main", *shlex.split(size)]
        return run(words, copy, self._folder / "run.log", _SECONDS)


def _last_line(output: str) -> str:
    return (output.strip().splitlines() or ["no word"])[-1][:200]


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
