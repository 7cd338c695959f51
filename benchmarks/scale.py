"""How long a large trace takes to analyse, compared with reading it: rocm-perf analyze alternates with the program sqlite3.

    python benchmarks/scale.py [--dispatches N] [--rounds N] [--host] [--no-peers] [--cache DIR]

The database is generated once and kept in the cache. A round is `sqlite3 FILE 'select <the columns that the analysis reads>' >
/dev/null`, then the whole analysis in a process of its own: statistics per kernel, graph, critical path, slack, what-if, JSON,
one Parquet row per dispatch. The output shows the medians over the rounds of wall time, of processor time and of their ratios,
and the largest memory use. The exit status is 1 if the analysis takes more than twice the wall time of reading, or 4 GB.

Peers are compared with the analysis on smaller traces (--peer-dispatches): a plain Python loop over the rows, the view
top_kernels that rocpd's schema provides for summaries, `rocpd summary` if ROCm is installed, and Holistic Trace Analysis if
--hta names an interpreter that has it.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rocm_perf_lab.rocpd.reader import COPY_COLUMNS, DISPATCH_COLUMNS

HERE = Path(__file__).resolve().parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rocm-perf-lab" / "benchmarks"
MAX_RATIO, MAX_BYTES = 2.0, 4e9


@dataclass(frozen=True)
class Usage:
    wall: float
    processor: float
    bytes: int


def measure(command: Sequence[str | Path]) -> Usage:
    """Run a command and discard its output. Raises RuntimeError if it fails."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=errors)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            raise RuntimeError(f"{command[0]} failed: {errors.read().decode(errors='replace')[-2000:]}")
    return Usage(time.monotonic() - began, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)


def reading(database: Path, host: bool) -> Usage:
    """The resources that the sqlite3 command line takes to read the columns that the analysis reads."""
    selects = [
        f"SELECT {', '.join(DISPATCH_COLUMNS)} FROM rocpd_kernel_dispatch",
        f"SELECT {', '.join(COPY_COLUMNS)} FROM rocpd_memory_copy",
    ]
    if host:
        selects += ['SELECT id, tid, start, "end", name_id, event_id FROM rocpd_region', "SELECT id, stack_id FROM rocpd_event"]
    return measure(["sqlite3", database, "; ".join(selects)])


def analysis(database: Path, scratch: Path) -> Usage:
    return measure([sys.executable, "-m", "rocm_perf_lab", "analyze", "--json", "-o", scratch / "out", database])


def cached(folder: Path, dispatches: int, host: bool) -> Path:
    """The generated database; a changed generator or schema leads to a new one."""
    sources = [HERE / "traces" / "rocpd_generator.py", HERE.parent / "native" / "tools" / "rocpd" / "schema.sql"]
    version = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]
    path = folder / f"{dispatches}{'_host' if host else ''}_{version}.db"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        print(f"generating {path}", file=sys.stderr)
        partial = path.with_suffix(".partial")
        command = [sys.executable, sources[0], partial, "--dispatches", str(dispatches), *(["--host"] if host else [])]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        partial.rename(path)
    # Reads the file into the page cache for all that follows, but never holds it whole: this process's memory would count as
    # its children's.
    with path.open("rb") as file:
        while file.read(1 << 20):
            pass
    return path


def compare(database: Path, rounds: int, host: bool, scratch: Path) -> bool:
    """Print the table; return whether the bounds hold."""
    pairs = []
    for number in range(rounds):
        pairs.append((reading(database, host), analysis(database, scratch)))
        print(f"round {number + 1}: {pairs[-1][0].wall:.1f} s, {pairs[-1][1].wall:.1f} s", file=sys.stderr)
    read, ours = zip(*pairs, strict=True)
    print("| | median | min | max |\n|---|---|---|---|")
    ratio = row("analysis / reading, wall time", [b.wall / a.wall for a, b in pairs])
    row("analysis / reading, processor time", [b.processor / a.processor for a, b in pairs])
    for name, usages in (("reading with sqlite3", read), ("analysis", ours)):
        row(f"{name}, s of wall time", [usage.wall for usage in usages])
        row(f"{name}, s of processor time", [usage.processor for usage in usages])
    row("analysis, GB of memory", [usage.bytes / 1e9 for usage in ours])
    return ratio <= MAX_RATIO and max(usage.bytes for usage in ours) < MAX_BYTES


def row(name: str, values: Sequence[float]) -> float:
    median = statistics.median(values)
    print(f"| {name} | {median:.2f} | {min(values):.2f} | {max(values):.2f} |")
    return median


@dataclass(frozen=True)
class Peer:
    name: str
    command: Sequence[str | Path]
    database: Path
    dispatches: int
    does: str


def available_peers(cache: Path, dispatches: int, hta: str | None, scratch: Path) -> list[Peer]:
    """The peers that can run here. hta: a Python interpreter with Holistic Trace Analysis, or None to leave this peer out. It
    needs HIP calls, and gets a tenth of the dispatches.
    """
    database = cached(cache, dispatches, False)
    loop = [sys.executable, HERE / "peers" / "row_loop.py", database, scratch / "loop"]
    view = ["sqlite3", database, 'SELECT * FROM "top_kernels"']
    available = [
        Peer("plain Python row loop", loop, database, dispatches, "totals, path, slack, JSON, CSV"),
        Peer("rocpd's view top_kernels", view, database, dispatches, "totals per kernel"),
    ]
    if shutil.which("rocpd"):
        available.append(
            Peer("rocpd summary", ["rocpd", "summary", "-i", database], database, dispatches, "totals per kernel and API")
        )
    if hta is not None:
        fewer, script = dispatches // 10, HERE / "peers" / "holistic.py"
        database = cached(cache, fewer, True)
        measure([sys.executable, script, "convert", database, scratch / "kineto.json"])
        command = [hta, script, "analyse", scratch / "kineto.json"]
        available.append(Peer("Holistic Trace Analysis", command, database, fewer, "path"))
    return available


def peers(available: Sequence[Peer], rounds: int, scratch: Path) -> None:
    """Print each peer's medians, and its processor time relative to our analysis of the same trace, run in alternation."""
    head = ("peer", "dispatches", "wall, s", "processor, s", "memory, GB", "processor / analysis", "does")
    print(f"\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for peer in available:
        pairs = [(measure(peer.command), analysis(peer.database, scratch)) for _ in range(rounds)]
        wall, processor, memory = (statistics.median(getattr(a, f) for a, _ in pairs) for f in ("wall", "processor", "bytes"))
        ratio = statistics.median(a.processor / b.processor for a, b in pairs)
        figures = f"{wall:.1f} | {processor:.1f} | {memory / 1e9:.2f} | {ratio:.2f}"
        print(f"| {peer.name} | {peer.dispatches:,} | {figures} | {peer.does} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--dispatches", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--host", action="store_true", help="with traced HIP calls")
    parser.add_argument("--no-peers", dest="peers", action="store_false")
    parser.add_argument("--peer-dispatches", type=int, default=1_000_000)
    parser.add_argument("--hta", metavar="PYTHON", help="an interpreter with Holistic Trace Analysis (and pandas before 3)")
    parser.add_argument("--cache", type=Path, default=CACHE)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="scale-") as scratch:
        analysis(cached(arguments.cache, 200_000, False), Path(scratch))  # so that the compiled loops are cached
        holds = compare(
            cached(arguments.cache, arguments.dispatches, arguments.host), arguments.rounds, arguments.host, Path(scratch)
        )
        if arguments.peers:
            available = available_peers(arguments.cache, arguments.peer_dispatches, arguments.hta, Path(scratch))
            peers(available, arguments.rounds, Path(scratch))
    sys.exit(0 if holds else f"the bounds do not hold: wall time {MAX_RATIO:g} times that of reading, {MAX_BYTES / 1e9:g} GB")


if __name__ == "__main__":
    main()
