"""CSV files with one line per dispatch and one column per counter: pmc_perf.csv in the workload folders of rocprof-compute, and
the results files of rocprof, the predecessor of rocprofv3.

pmc_perf.csv joins passes side by side: the launch columns are repeated, with `_1`, `_2` and so on after their names. A counter
of an individual instance has an index after its name, as in TCC_HIT[5]; if there is no column for the sum, the sum is computed.
The grid is given as a number of work-items. sysinfo.csv in the same folder describes the machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rocm_perf_lab.arch.products import Product, products
from rocm_perf_lab.importing.csv_rows import Row, header, rows
from rocm_perf_lab.importing.database import UNNAMED_GPU, ImportedDispatch, ImportedKernel, RocpdDatabase

COMPUTE, ROCPROF = "rocprof-compute", "rocprof"
MAIN_FILE, _SYSTEM_FILE = "pmc_perf.csv", "sysinfo.csv"
_BEGIN, _END = ("Start_Timestamp", "BeginNs"), ("End_Timestamp", "EndNs")
_KERNEL = ("Kernel_Name", "KernelName")
_INSTANCE = re.compile(r"(\w+)\[(\d+)\]$")
_COUNTER = re.compile(r"(GRBM|SQC?|SPI|TA|TD|TCP|TCC|CPC|CPF|GL1C|GL2C|GCEA|TCA)_[A-Z0-9_]+(_sum)?$")


def recognizes(path: Path) -> bool:
    names = set(header(path))
    return all(names.intersection(of) for of in (_BEGIN, _END, _KERNEL)) and bool({"Grid_Size", "grd"} & names)


def system_of(path: Path) -> Mapping[str, str]:
    """The content of sysinfo.csv in the file's folder; {} if there is none."""
    file = path.parent / _SYSTEM_FILE
    if not file.is_file():
        return {}
    return next(({name: row.text(name) for name in header(file)} for row in rows(file)), {})


def convert(path: Path, database: Path) -> list[str]:
    """Convert the file, and return what such files leave out. Raises TraceError."""
    system = system_of(path)
    into = RocpdDatabase(database, COMPUTE if system else ROCPROF, path)
    try:
        into.process(0, system.get("command", ""), system.get("hostname", ""))
        into.agent(1, "GPU", *_gpu(system), system.get("vbios", ""))
        counters = _counters(header(path))
        for row in rows(path):
            _dispatch(row, counters, into)
    finally:
        into.close()
    gpu = [] if system else [f"without {_SYSTEM_FILE} in the same folder, the GPU is not known"]
    return [*gpu, "grids and workgroups are known as numbers of work-items, without their shape"]


# ---- the GPU ----


def _gpu(system: Mapping[str, str]) -> tuple[str, str, dict[str, int]]:
    """The GPU's target, name and properties."""
    if not system:
        return *UNNAMED_GPU, {}
    target, model = system.get("gpu_arch", ""), system.get("gpu_model", "")
    figures = {"cu_count": "cu_per_gpu", "num_xcc": "num_xcd", "max_engine_clk_fcompute": "max_sclk"}
    properties = {name: int(float(system[column])) for name, column in figures.items() if _is_number(system.get(column, ""))}
    if product := _product(target, model, properties.get("cu_count")):
        return target, product.name, properties | {"device_id": product.pci_id}
    return target, model, properties


def _product(target: str, model: str, units: int | None) -> Product | None:
    """The product of that name ('MI300X_A1' is an MI300X); None if no product has it. For an ambiguous name such as MI200, also
    None unless only one product has this number of compute units.
    """
    wanted = model.split("_")[0]
    alike = [
        product
        for product in products()
        if product.gfx_target == target and (wanted in product.name.split() or wanted == "MI200")
    ]
    exact = [product for product in alike if units is None or product.figure("cu") in (None, units)]
    return exact[0] if len(exact) == 1 else None


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\d+(\.\d*)?", text.strip()) is not None


# ---- dispatches ----


@dataclass(frozen=True)
class _Counter:
    """columns: a single one, or one per instance."""

    name: str
    columns: tuple[str, ...]


def _counters(names: Iterable[str]) -> list[_Counter]:
    direct: set[str] = set()
    instances: dict[str, list[str]] = {}
    for name in names:
        if match := _INSTANCE.match(name):
            instances.setdefault(f"{match[1]}_sum", []).append(name)
        elif _COUNTER.match(name):
            direct.add(name)
    summed = [_Counter(name, tuple(columns)) for name, columns in instances.items() if name not in direct]
    return [*(_Counter(name, (name,)) for name in sorted(direct)), *summed]


def _dispatch(row: Row, counters: Sequence[_Counter], into: RocpdDatabase) -> None:
    name = re.sub(r" (\(\.kd\)|\[clone \.kd\])$", "", row.text(*_KERNEL))
    registers = [
        row.optional_integer(*of) for of in (("Arch_VGPR", "arch_vgpr"), ("Accum_VGPR", "accum_vgpr"), ("SGPR", "sgpr"))
    ]
    event = into.dispatch(
        ImportedDispatch(
            kernel=into.kernel(ImportedKernel(name, name, *registers)),
            agent=1,
            start=row.integer(*_BEGIN),
            end=row.integer(*_END),
            workgroup=(row.integer("Workgroup_Size", "wgr"), 1, 1),
            grid=(row.integer("Grid_Size", "grd"), 1, 1),
            lds_bytes=row.optional_integer("LDS_Per_Workgroup", "lds") or 0,
            scratch_bytes=row.optional_integer("Scratch_Per_Workitem", "scr") or 0,
            queue=row.optional_integer("queue-id", "Queue_ID") or 0,
        )
    )
    for counter in counters:
        values = [_value(row, column) for column in counter.columns]
        if None not in values:
            into.counter(event, counter.name, sum(value for value in values if value is not None))


def _value(row: Row, column: str) -> float | None:
    """The counter's value; None if its pass did not record this dispatch."""
    text = row.text(column).strip()
    if text in ("", "nan", "NaN"):
        return None
    return row.number(column)
