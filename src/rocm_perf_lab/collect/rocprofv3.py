"""AMD's rocprofv3 as the collector, on machines with a GPU: one traced run a pass, one pass a set of counters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from rocm_perf_lab.collect.command import Command
from rocm_perf_lab.collect.device import Device
from rocm_perf_lab.collect.execute import execute
from rocm_perf_lab.errors import CollectionError, RocmPerfError

_TRACE_OPTIONS = ("--kernel-trace", "--memory-copy-trace", "--hip-trace")
_RESULT_SUFFIX = "_results.db"


@dataclass(frozen=True)
class Rocprofv3:
    """executable: the rocprofv3 to use. passes: counter names, one run of the program for each inner sequence.

    note: told in one line about each set of counters that could not be collected.
    """

    device: Device
    executable: Path
    passes: Sequence[Sequence[str]]
    note: Callable[[str], None]
    timeout: float | None = None

    name = "rocprofv3"

    def trace(self, command: Command, environment: Mapping[str, str], database: Path, output: IO | int | None) -> None:
        """Run `command` once and leave its trace in `database`; its standard output goes to `output`.

        Raises what execute() raises, CollectionError.
        """
        self._run(_TRACE_OPTIONS, command, environment, database, output)

    def counters(self, command: Command, environment: Mapping[str, str], folder: Path) -> list[Path]:
        """Run once for each pass; return the databases that came out of it.

        A pass that fails is split and tried again, down to the single counters that this GPU or this rocprofv3 does
        not have: those are left out, and so stay unknown to the analysis, rather than failing the profile.
        """
        databases: list[Path] = []
        pending = [list(names) for names in reversed(self.passes)]
        while pending:
            names = pending.pop()
            database = folder / f"counters_{len(databases) + 1}{_RESULT_SUFFIX}"
            try:
                self._run_pass(names, command, environment, database)
            except RocmPerfError as error:
                if len(names) == 1:
                    self.note(f"counter {names[0]} was not collected: {error.what}")
                else:
                    middle = len(names) // 2
                    pending += [names[middle:], names[:middle]]
                continue
            databases.append(database)
        return databases

    def _run_pass(self, names: Sequence[str], command: Command, environment: Mapping[str, str], database: Path) -> None:
        log = database.with_suffix(".log")
        with log.open("wb") as stream:
            self._run(("--kernel-trace", "--pmc", *names), command, environment, database, stream, stream)

    def _run(self, options, command: Command, environment, database: Path, stdout, stderr=None) -> None:
        stem = database.name.removesuffix(_RESULT_SUFFIX)
        argv = (
            str(self.executable), *options, "--output-format", "rocpd",
            "--output-directory", str(database.parent), "--output-file", stem, "--", *command.argv,
        )  # fmt: skip
        wrapped = Command(argv, self.executable, command.program)
        execute(wrapped, self.device.environment(environment), stdout=stdout, stderr=stderr, timeout=self.timeout)
        _adopt(database, command)


def _adopt(database: Path, command: Command) -> None:
    """Check that the database is complete, and move it up where rocprofv3 made a folder for the pass."""
    written = sorted(database.parent.glob(f"**/{database.name}"))
    if not written:
        raise CollectionError(
            f"rocprofv3 left no database for {command.program}",
            "check that the program launches GPU kernels, or try --no-rocprof, which uses the built-in tracer",
        )
    journal = written[-1].with_name(written[-1].name + "-journal")
    if journal.exists():  # Seen with ROCm 7.1 when a roctx message holds a quote or a semicolon.
        raise CollectionError(
            f"rocprofv3 broke off while it wrote the database of {command.program}",
            "try --no-rocprof, which uses the built-in tracer",
        )
    if written[-1] != database:
        written[-1].rename(database)
