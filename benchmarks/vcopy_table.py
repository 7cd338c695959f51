"""One vector copy: durations recorded on an MI200 and modelled on gfx942, and the shortest that their memory allows.

    python benchmarks/vcopy_table.py [VCOPY_PROGRAM [RECORDED_FOLDER]]

VCOPY_PROGRAM is the testbed's vcopy, by default the one that was built here. RECORDED_FOLDER is rocprofiler-compute's vcopy
workload on MI200, with timestamps.csv and sysinfo.csv; without it, the table has no recorded rows.
"""

from __future__ import annotations

import csv
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

from rocm_perf_lab import native
from rocm_perf_lab.arch.counters import SOFTWARE_TARGET

ELEMENTS = 1048576
BYTES = 2 * 8 * ELEMENTS  # read once, written once
MI300X_GBPS = 5300  # MI300X data sheet


def recorded(folder: Path) -> tuple[list[int], float]:
    """The duration of each recorded dispatch in ns, and the HBM's bandwidth in GB/s."""
    with (folder / "timestamps.csv").open() as file:
        times = [int(row["End_Timestamp"]) - int(row["Start_Timestamp"]) for row in csv.DictReader(file)]
    with (folder / "sysinfo.csv").open() as file:
        return times, float(next(csv.DictReader(file))["hbm_bw"])


def modelled(program: Path) -> list[int]:
    """The duration of each dispatch on the software device in ns."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        command = [sys.executable, "-m", "rocm_perf_lab", "profile", "--runs", "1", "-o", run]
        command += [program, "-n", str(ELEMENTS), "-b", "256", "-i", "3"]
        subprocess.run(command, check=True, capture_output=True, cwd=folder)
        with sqlite3.connect(run / ".rocpd_profile" / "base_results.db") as database:
            return [ns for (ns,) in database.execute("select duration from kernels where name like 'vecCopy%' order by start")]


def table(program: Path, folder: Path | None) -> list[tuple[str, int, float]]:
    """Rows of (what, ns, GB/s): recorded ones (if there is a folder), what the memory allows, then modelled ones."""
    rows = []
    if folder is not None:
        measured, mi200_gbps = recorded(folder)
        rows += [(f"MI200, recorded, dispatch {i}", ns, BYTES / ns) for i, ns in enumerate(measured)]
        rows.append(("MI200, HBM at its peak", round(BYTES / mi200_gbps), mi200_gbps))
    rows.append(("MI300X, HBM at its peak", round(BYTES / MI300X_GBPS), MI300X_GBPS))
    rows += [(f"{SOFTWARE_TARGET}, modelled, dispatch {i}", ns, BYTES / ns) for i, ns in enumerate(modelled(program))]
    return rows


def main() -> None:
    program, folder = ([Path(argument).resolve() for argument in sys.argv[1:3]] + [None, None])[:2]
    for title, ns, gbps in table(program or native.device_library().parents[1] / "testbed" / "vcopy", folder):
        print(f"{title:32} {ns:>8} ns {gbps:>8.0f} GB/s")


if __name__ == "__main__":
    main()
