"""Finds the processes recorded in a database, with the facts that are available without reading its dispatches one by one."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from rocm_perf_lab.errors import TraceError
from rocm_perf_lab.rocpd import validate
from rocm_perf_lab.rocpd.connect import Connection, MissingTableError, connect, suffixes, table
from rocm_perf_lab.rocpd.software_device_traces import software_device
from rocm_perf_lab.rocpd.trace import Process

_CONTAINER = re.compile("[0-9a-f]{12}")  # the default host name of a docker or podman container
# Environment variables through which launchers pass the rank: Open MPI, PMI (MPICH, Intel), PMIx, Slurm, torchrun.
RANK_VARIABLES = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID", "RANK")


@dataclass(frozen=True)
class RecordedProcess:
    """One process in a database. suffix: the suffix of its tables; None if the file holds only one process.

    gpus: the unique ids of the GPUs that the process saw; empty if they were not recorded.

    rank: from the environment; None if not recorded there. span: first start and last end of the dispatches; None if there are
    none. has_counters: whether collecting counters lengthened the times (modelled times are never affected).
    """

    path: Path
    suffix: str | None
    host: str
    pid: int
    command: str
    rank: int | None
    span: tuple[int, int] | None
    has_counters: bool
    gpus: frozenset[str] = frozenset()
    imported_from: str | None = None

    @property
    def label(self) -> str:
        """The path that the user knows: of the imported file, if there was one."""
        return self.imported_from or str(self.path)

    def absolute(self) -> RecordedProcess:
        return replace(self, path=self.path.resolve())

    def overlaps(self, other: RecordedProcess) -> bool:
        """Whether both ran on one machine, and their spans overlap by its clock."""
        if self.span is None or other.span is None or not self.is_on_machine_of(other):
            return False
        return self.span[0] < other.span[1] and other.span[0] < self.span[1]

    def is_on_machine_of(self, other: RecordedProcess) -> bool:
        """Whether both ran on one machine: they have the same host name or a GPU in common.

        A container's host name is a random number, so two containers are also assumed to be on one machine, unless the GPUs of
        both were recorded.
        """
        if self.host == other.host or self.gpus & other.gpus:
            return True
        nothing_known = not (self.gpus and other.gpus)
        return nothing_known and all(_CONTAINER.fullmatch(process.host) for process in (self, other))


def recorded_processes(path: Path) -> list[RecordedProcess]:
    """Every process in the database at `path`. Raises TraceError for a file that cannot be read or is incomplete."""
    path = Path(path)
    with connect(path) as connection:
        several = suffixes(connection)
        processes = []
        for suffix in several:
            connection.suffix = suffix if len(several) > 1 else None
            try:
                processes += _of_process(connection, path)
            except MissingTableError as error:
                raise TraceError(f"{path} is not a complete rocpd database ({error})", "profile the program again") from error
    return processes


def _of_process(connection: Connection, path: Path) -> list[RecordedProcess]:
    """The process of these tables. If the writer died before it wrote any record, the result is empty; reading the trace will
    report that.
    """
    dispatches = table(connection, "kernel_dispatch")
    process = connection.execute(
        f"""SELECT p.pid, p.command, n.hostname, p.extdata, {_environment(connection)}
            FROM "{table(connection, "info_process")}" p
            LEFT JOIN "{table(connection, "info_node")}" n ON n.id = p.nid ORDER BY p.id LIMIT 1"""
    ).fetchone()
    if process is None:
        return [RecordedProcess(path, connection.suffix, "", 0, "", None, None, False)]
    pid, command, host, extdata, environment = process
    # The first and last thousand dispatches by id suffice to tell runs apart, without reading ten million rows.
    ends = connection.execute(
        f"""SELECT MIN(start), MAX("end") FROM (SELECT * FROM (SELECT start, "end" FROM "{dispatches}" ORDER BY id LIMIT 1000)
            UNION ALL SELECT * FROM (SELECT start, "end" FROM "{dispatches}" ORDER BY id DESC LIMIT 1000))"""
    ).fetchone()
    span = ends if isinstance(ends[0], int) and isinstance(ends[1], int) else None
    counters = connection.execute(f'SELECT 1 FROM "{table(connection, "pmc_event")}" LIMIT 1').fetchone() is not None
    words = validate.text(command), validate.text(host), validate.json_object(extdata)
    process = Process(_number(pid), *words, software_device(connection))
    slowed = counters and not process.is_modelled
    rank, gpus = _rank(environment), _gpus(connection)
    return [
        RecordedProcess(
            path, connection.suffix, process.host, process.pid, process.command, rank, span, slowed, gpus, process.imported_from
        )
    ]


def _gpus(connection: Connection) -> frozenset[str]:
    """The GPUs' unique ids, in the form in which the collector writes them; GPUs without an id are omitted."""
    rows = connection.execute(f"""SELECT extdata FROM "{table(connection, "info_agent")}" WHERE type = 'GPU'""")
    uuids = (validate.json_object(extdata).get("uuid") for (extdata,) in rows)
    parts = (list(id["bytes"].values()) for id in uuids if isinstance(id, dict) and isinstance(id.get("bytes"), dict))
    return frozenset(str(numbers) for numbers in parts if any(numbers))


def _environment(connection: Connection) -> str:
    columns = {row[1] for row in connection.execute(f'PRAGMA table_info("{table(connection, "info_process")}")')}
    return "p.environment" if "environment" in columns else "NULL"


def _rank(environment: object) -> int | None:
    variables = validate.json_object(environment)
    values = (str(variables.get(name, "")) for name in RANK_VARIABLES)
    return next((int(text) for text in values if re.fullmatch("[0-9]{1,9}", text)), None)


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
