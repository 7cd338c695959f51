"""Bytes that several formulas compute from recorded counters of one vector copy: ours, and two of rocprofiler-compute's.

    python benchmarks/roofline_table.py RECORDED_FOLDER...

RECORDED_FOLDER is a workload recorded by rocprofiler-compute on gfx942 or gfx90a, with pmc_perf.csv.gz and sysinfo.csv. Bytes
are the mean over the recorded dispatches.
"""

from __future__ import annotations

import csv
import gzip
import statistics
import sys
from pathlib import Path

from rocm_perf_lab.arch.families import family_of

ATOMICS = ("TCP_TCC_ATOMIC_WITH_RET_REQ_sum", "TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum")


def dispatches(folder: Path) -> tuple[str, list[dict[str, float]]]:
    """The target, and the counters of each recorded dispatch."""
    with (folder / "sysinfo.csv").open() as file:
        row = next(csv.DictReader(file))
    target = row.get("gpu_arch") or row["gpu_soc"]
    with gzip.open(folder / "pmc_perf.csv.gz", "rt") as file:
        return target, [{name: _number(cell) for name, cell in row.items()} for row in csv.DictReader(file)]


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return float("nan")


def ours(target: str, counters: dict[str, float]) -> dict[str, float]:
    """The bytes at each level, by this tool's formulas."""
    family = family_of(target)
    levels = {name: family.cache_bytes[name](counters).value for name in ("L2", "L1")}
    return {"HBM": sum(metric(counters).value for metric in family.hbm_bytes)} | levels


def roofline_calc(target: str, counters: dict[str, float]) -> dict[str, float]:
    """The bytes by rocprofiler-compute's roofline_calc.py, which draws its roofline: 64 for every request to L1 and L2."""
    requests = sum(counters[name] for name in ("TCP_TCC_READ_REQ_sum", "TCP_TCC_WRITE_REQ_sum", *ATOMICS))
    return {"HBM": ours(target, counters)["HBM"], "L2": 64 * requests, "L1": 64 * counters["TCP_TOTAL_CACHE_ACCESSES_sum"]}


def panels(target: str, counters: dict[str, float]) -> dict[str, float]:
    """The bytes by rocprofiler-compute's panels: 16.3 "Cache BW" for L1, and 2.1 "L2 Cache BW" for L2, where every client's
    request counts as a whole line.
    """
    line = {"gfx942": 128, "gfx90a": 64}[target]
    l2 = 128 * counters["TCC_REQ_sum"]
    return {"HBM": ours(target, counters)["HBM"], "L2": l2, "L1": line * counters["TCP_TOTAL_CACHE_ACCESSES_sum"]}


SOURCES = {"this tool": ours, "roofline_calc.py": roofline_calc, "panels": panels}


def main(folders: list[str]) -> None:
    print(f"{'target':8}{'formula':18}{'HBM MiB':>10}{'L2 MiB':>10}{'L1 MiB':>10}")
    for folder in folders:
        target, rows = dispatches(Path(folder))
        for name, formula in SOURCES.items():
            mean = {
                level: statistics.fmean(formula(target, row)[level] for row in rows) / 2**20 for level in ("HBM", "L2", "L1")
            }
            print(f"{target:8}{name:18}" + "".join(f"{mean[level]:10.2f}" for level in ("HBM", "L2", "L1")))


if __name__ == "__main__":
    main(sys.argv[1:])
