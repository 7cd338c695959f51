"""What a damaged database may give: one clear error, or the numbers that plain SQL finds in the same file.

Nothing else is allowed: no traceback, no hang, no number that is silently wrong.
"""

from __future__ import annotations

import contextlib
import faulthandler
import math
import signal
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from rocm_perf_lab.errors import RocmPerfError
from rocm_perf_lab.profiling.pipeline import analyse
from rocm_perf_lab.report.json_writer import to_json
from rocm_perf_lab.rocpd.reader import read_trace
from rocm_perf_lab.rocpd.recorded_process import recorded_processes

SECONDS = 20
MAX_MESSAGE_LENGTH = 1400


class HangError(Exception):
    pass


@contextlib.contextmanager
def watchdog(seconds: float = SECONDS) -> Iterator[None]:
    """Raises HangError after `seconds`; where even that is impossible, the process ends with a traceback a while later."""

    def bark(*_):
        raise HangError

    previous = signal.signal(signal.SIGALRM, bark)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    faulthandler.dump_traceback_later(3 * seconds, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def judge(path: Path) -> str:
    """'error', or 'equal' to plain SQL; raises AssertionError for any other result."""
    try:
        with watchdog():
            recorded_processes(path)
            documents = analyse(path)
            for document in documents.by_name().values():
                to_json(document)
            trace = read_trace(path)
    except RocmPerfError as error:
        check_message(str(error), path)
        return "error"
    with watchdog():
        sql = PlainSql(path)
    assert sql.is_sound, "a damaged file gave numbers"
    compare(documents, trace, sql)
    return "equal"


def check_message(text: str, path: Path) -> None:
    assert path.name in text or "launched no GPU kernel" in text, f"the file is not named: {text}"
    assert "\n" not in text and text.isprintable() and len(text) <= MAX_MESSAGE_LENGTH, f"not one clear line: {text[:2000]!r}"


class PlainSql:
    """What the sqlite3 module alone finds: SQLite's checks, and the rows."""

    def __init__(self, path: Path):
        self.connection = sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)
        self.connection.text_factory = bytes
        self.is_sound = self._is_sound()
        if self.is_sound:
            self.dispatches = self._rows("kernel_dispatch", 'id, "end" - start, kernel_id, event_id')
            self.copies = self._rows("memory_copy", 'id, "end" - start, size')
            self.counters = self._counters()
            self.bad_times = sum(
                self._count(table, "\"end\" < start OR typeof(start) <> 'integer' OR typeof(\"end\") <> 'integer'")
                for table in ("kernel_dispatch", "memory_copy")
            )
        self.connection.close()

    def _is_sound(self) -> bool:
        try:
            return [row[0] for row in self.connection.execute("PRAGMA integrity_check(1)")] == [b"ok"]
        except sqlite3.Error:
            return False

    def _table(self, name: str) -> str:
        names = [row[0].decode() for row in self.connection.execute("SELECT name FROM sqlite_master")]
        plain = f"rocpd_{name}"
        return plain if plain in names else next(n for n in names if n.startswith(f"{plain}_0"))

    def _rows(self, table: str, columns: str) -> list[tuple]:
        return self.connection.execute(f'SELECT {columns} FROM "{self._table(table)}"').fetchall()

    def _count(self, table: str, condition: str) -> int:
        return self.connection.execute(f'SELECT COUNT(*) FROM "{self._table(table)}" WHERE {condition}').fetchone()[0]

    def _counters(self) -> dict[bytes, float]:
        """A counter that is described twice was not counted twice."""
        return dict(
            self.connection.execute(
                f"""SELECT p.name, SUM(e.value) FROM "{self._table("pmc_event")}" e
                    JOIN (SELECT DISTINCT id, name FROM "{self._table("info_pmc")}") p ON p.id = e.pmc_id
                    JOIN "{self._table("kernel_dispatch")}" d ON d.event_id = e.event_id GROUP BY 1
                    HAVING MIN(typeof(e.value) IN ('real', 'integer')) AND MAX(ABS(e.value)) < 1e300"""
            )
        )


def compare(documents, trace, sql: PlainSql) -> None:
    """Compares counts, durations, bytes and counters of the documents and of the trace with those of SQL."""
    assert not sql.bad_times, "times that cannot be were taken for times"
    table = documents.dispatches.table().to_pydict()
    rows = list(zip(table["kind"], table["id"], table["start_ns"], table["end_ns"], table["bytes"], strict=True))
    has_times = documents.dag.critical_path_ns is not None
    found = Counter((id, end - start if has_times else 0) for kind, id, start, end, _ in rows if kind == "dispatch")
    assert found == Counter((id, duration) for id, duration, *_ in sql.dispatches)
    expected = Counter((id, duration, size if size is not None and size >= 0 else None) for id, duration, size in sql.copies)
    copies = Counter((id, end - start, size) for kind, id, start, end, size in rows if kind == "copy" and has_times)
    assert not has_times or copies == expected
    kernels = documents.analysis.kernels
    assert sum(kernel.dispatches for kernel in kernels) == len(sql.dispatches)
    if has_times:
        total = sum(duration for _, duration, *_ in sql.dispatches)
        assert math.isclose(sum(kernel.time_ms or 0 for kernel in kernels) * 1e6, total, rel_tol=1e-9, abs_tol=1)
    for name, column in trace.counters.items():
        if name.encode() not in sql.counters:  # one value is not a number: it counts as not collected for that dispatch
            continue
        expected = sql.counters[name.encode()]
        assert math.isclose(float(column[column == column].sum()), expected, rel_tol=1e-9)
