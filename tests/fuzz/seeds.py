"""The healthy databases that the fuzz test damages: small ones of every kind that the reader encounters."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import rocpd_database
from rocpd_database import Call, Copy, Dispatch

SUFFIX = "00000039_4581_7581_85b4_43b5ab82ab50"


def _work() -> list[Dispatch | Copy]:
    """Copies, two streams, runtime kernels, counters of several instances."""
    work: list[Dispatch | Copy] = [Copy(100, 900, 1 << 20, stream=0)]
    for number in range(24):
        name = ("scale(float*, int)", "total(float*, int)", "__amd_rocclr_copyBuffer")[number % 3]
        stream = 1 + number % 2
        counters = {"SQ_WAVES": [4.0] * 4, "TCC_HIT_sum": [100.0 + number]} if number < 20 else {}
        start = 1000 + 500 * number
        work.append(
            Dispatch(name, start, start + 400 + number, queue=stream, stream=stream, grid=65536, counters=counters,
                     depends_on=[(number, "queue")])
        )  # fmt: skip
    return [*work, Copy(14000, 15000, 1 << 20, stream=0, depends_on=[(len(work) - 1, "host")])]


def _calls(work: list[Dispatch | Copy]) -> list[Call]:
    """Calls of two threads: launches, events from one stream to the other, and waits of every kind."""
    calls = []
    for number, item in enumerate(work):
        thread, at = 7 + number % 2, item.start - 60
        if isinstance(item, Copy):
            calls.append(Call("hipMemcpy", at, item.end + 20, thread))
            continue
        item.call = len(calls)
        calls.append(Call("hipLaunchKernel", at, at + 10, thread, stream=f"0x{item.stream}"))
        kind, stream = number % 5, f"0x{3 - item.stream}"
        if kind == 0:
            calls.append(Call("hipEventRecord", at + 12, at + 14, thread, stream=f"0x{item.stream}", event="0xe"))
            calls.append(Call("hipStreamWaitEvent", at + 15, at + 16, thread, stream=stream, event="0xe"))
        elif kind < 4:
            name = ("hipDeviceSynchronize", "hipStreamSynchronize", "hipEventSynchronize")[kind - 1]
            calls.append(Call(name, at + 12, item.end + 15, thread, stream=f"0x{item.stream}", event="0xe"))
    return calls


def write_all(folder: Path) -> list[Path]:
    """One from the built-in tracer, two from rocprofv3 with HIP calls (one suffixed and without views), one without times."""
    folder.mkdir(exist_ok=True)
    work = _work()
    own = rocpd_database.write(folder / "tracer.db", work, rocpd_database.MODELLED)
    calls = _calls(work)
    plain = rocpd_database.write(folder / "rocprofv3.db", work, calls=calls)
    suffixed = _suffix_tables(rocpd_database.write(folder / "suffixed.db", work, calls=calls))
    timeless = rocpd_database.write(folder / "timeless.db", [w for w in work if isinstance(w, Dispatch)])
    with sqlite3.connect(timeless) as connection:
        connection.execute('UPDATE rocpd_kernel_dispatch SET "end" = start')
    return [_small_pages(path) for path in (own, plain, suffixed, timeless)]


def _suffix_tables(path: Path) -> Path:
    with sqlite3.connect(path) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for name in names:
            if re.fullmatch(r"rocpd_\w+", name):
                connection.execute(f'ALTER TABLE "{name}" RENAME TO "{name}_{SUFFIX}"')
    return path


def _small_pages(path: Path) -> Path:
    """Many small pages: more inner structure to damage in a small file."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA page_size = 512")
    connection.execute("VACUUM")
    connection.close()
    return path
