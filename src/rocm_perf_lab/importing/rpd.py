"""The databases of rocmProfileData (.rpd): SQLite with a different set of tables, whose names also begin with rocpd_.

Each row of rocpd_op is an operation on a GPU, and each row of rocpd_api is a call by a host thread; rocpd_api_ops joins the
two, and rocpd_kernelapi and rocpd_copyapi hold the arguments of calls. The files contain no register counts, no counters and no
description of the GPU.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from rocm_perf_lab.errors import TraceError
from rocm_perf_lab.importing.database import UNNAMED_GPU, ImportedDispatch, ImportedKernel, RocpdDatabase
from rocm_perf_lab.rocpd.file_uri import file_uri

SOURCE = "rocmProfileData"
_MAGIC = b"SQLite format 3\0"
_TABLES = {"rocpd_op", "rocpd_api", "rocpd_api_ops", "rocpd_string"}
_COPIES = {
    "CopyHostToDevice": "MEMORY_COPY_HOST_TO_DEVICE",
    "CopyDeviceToHost": "MEMORY_COPY_DEVICE_TO_HOST",
    "CopyDeviceToDevice": "MEMORY_COPY_DEVICE_TO_DEVICE",
    "FillBuffer": "FILL_BUFFER",
}
_KERNELS = ("KernelExecution", "Task")
_WORK_ITEMS = ("hipExtModuleLaunchKernel", "hipHccModuleLaunchKernel")  # these take the grid in work-items, others in blocks
# The work of a process; work without a known call is assigned to the first process.
_WORK = """
SELECT o.gpuId, o.queueId, o.start, o."end", type.string, text.string, x.api_id, name.string,
  k.stream, k.gridX, k.gridY, k.gridZ, k.workgroupX, k.workgroupY, k.workgroupZ, k.groupSegmentSize, k.privateSegmentSize,
  c.stream, c.size
FROM rocpd_op o
JOIN rocpd_string type ON type.id = o.opType_id LEFT JOIN rocpd_string text ON text.id = o.description_id
LEFT JOIN (SELECT op_id, MIN(api_id) api_id FROM rocpd_api_ops GROUP BY op_id) x ON x.op_id = o.id
LEFT JOIN rocpd_api a ON a.id = x.api_id LEFT JOIN rocpd_string name ON name.id = a.apiName_id
LEFT JOIN rocpd_kernelapi k ON k.api_ptr_id = x.api_id LEFT JOIN rocpd_copyapi c ON c.api_ptr_id = x.api_id
WHERE COALESCE(a.pid, ?1) = ?2 ORDER BY o.start, o.id
"""
_CALLS = """
SELECT a.id, a.tid, n.string, a.start, a."end", COALESCE(k.stream, c.stream) FROM rocpd_api a
JOIN rocpd_string n ON n.id = a.apiName_id
LEFT JOIN rocpd_kernelapi k ON k.api_ptr_id = a.id LEFT JOIN rocpd_copyapi c ON c.api_ptr_id = a.id
WHERE a.pid = ? AND n.string GLOB 'hip*' ORDER BY a.start
"""


def recognizes(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                return False
        with closing(_connect(path)) as connection:
            rows = connection.execute("SELECT name FROM sqlite_master WHERE name GLOB 'rocpd_*'").fetchall()
    except (OSError, sqlite3.Error):
        return False
    return {name for (name,) in rows} >= _TABLES


def processes(path: Path) -> list[int]:
    """The ids of the processes in the file; [0] if there are none. Raises TraceError."""
    with _reading(path) as connection:
        return [pid for (pid,) in connection.execute("SELECT DISTINCT pid FROM rocpd_api ORDER BY pid")] or [0]


def convert(path: Path, pid: int, database: Path) -> list[str]:
    """Convert one process of the file, and return what such files leave out. Raises TraceError."""
    first = processes(path)[0]
    into = RocpdDatabase(database, SOURCE, path)
    try:
        with _reading(path) as connection:
            into.process(pid)
            for (gpu,) in connection.execute("SELECT DISTINCT gpuId FROM rocpd_op ORDER BY gpuId"):
                into.agent(gpu + 1, "GPU", *UNNAMED_GPU, {})
            streams: dict[str, int] = {}
            for row in connection.execute(_WORK, (first, pid)):
                _add(row, streams, into)
            for id, thread, name, start, end, stream in connection.execute(_CALLS, (pid,)):
                into.call(id, thread, name, start, end, [("stream", stream)] if stream else [])
    finally:
        into.close()
    return ["the file has no registers, counters or GPU name, so occupancy, roofline and cause are not known"]


def _add(row: tuple[object, ...], streams: dict[str, int], into: RocpdDatabase) -> None:
    gpu, queue, start, end, type, text, call, caller, stream, *numbers, copy_stream, size = row
    if not (isinstance(gpu, int) and isinstance(start, int) and isinstance(end, int)):
        raise sqlite3.DatabaseError("an operation without GPU or times")
    id = call if isinstance(call, int) else None
    if type in _COPIES:
        bytes = size if isinstance(size, int) else None
        into.copy(_COPIES[str(type)], start, end, (None, gpu + 1), bytes, _stream(copy_stream, streams), id)
    elif type in _KERNELS and text:
        x, y, z, wide, high, deep, lds, scratch = (number if isinstance(number, int) else 0 for number in numbers)
        grid = (x, y, z) if caller in _WORK_ITEMS else (x * wide, y * high, z * deep)
        into.dispatch(
            ImportedDispatch(
                kernel=into.kernel(ImportedKernel(str(text), str(text))),
                agent=gpu + 1,
                start=start,
                end=end,
                workgroup=(wide, high, deep),
                grid=grid,
                lds_bytes=lds,
                scratch_bytes=scratch,
                queue=queue if isinstance(queue, int) else None,
                stream=_stream(stream, streams),
                call=id,
            )
        )


def _stream(handle: object, streams: dict[str, int]) -> int | None:
    """A number for a stream's handle; 0 for the null stream, as in rocprofv3; None if there is no handle."""
    if not isinstance(handle, str) or not handle:
        return None
    return 0 if handle in ("0", "0x0") else streams.setdefault(handle, len(streams) + 1)


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(file_uri(path.resolve(), "mode=ro&immutable=1"), uri=True)


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        with closing(_connect(path)) as connection:
            yield connection
    except (sqlite3.Error, OSError) as error:
        raise TraceError(f"{path} cannot be read as a database of {SOURCE} ({error})", "record the program again") from error
