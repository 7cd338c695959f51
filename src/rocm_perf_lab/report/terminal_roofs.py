"""The roofline part of the terminal report: one kernel at every memory level, and all kernels side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocm_perf_lab.report.documents import CoreDocuments
from rocm_perf_lab.report.schema import ArithmeticSection, LevelSection, RooflineSection
from rocm_perf_lab.report.terminal_paragraphs import heading, say
from rocm_perf_lab.report.terminal_table import Table
from rocm_perf_lab.text import quantities
from rocm_perf_lab.text.names import KernelNames, NameCell, shorten

if TYPE_CHECKING:
    from rich.console import Console

_MAX_KERNELS = 8


def render_roof(roof: RooflineSection, console: Console) -> None:
    """Print the position of one kernel, and the rates that it attains at each level and on each pipe that it uses."""
    if roof.position is None:
        say(console, f"Roofline: not known ({shorten(roof.reasons['position'])}).")
    else:
        ridge = f"; ridge {quantities.amount(roof.ridge, 'FLOP/byte')}" if roof.ridge is not None else ""
        say(
            console,
            f"Roofline: {roof.position} at {quantities.amount(roof.operational_intensity, 'FLOP/byte')}{ridge}. "
            f"It reaches {quantities.percent(roof.fraction_of_ceiling)} of that ceiling"
            + (f" ({quantities.amount(roof.gflops, 'GFLOP/s')})." if roof.gflops else "."),
        )
    levels = [level for level in roof.levels if level.bytes is not None]
    if not levels:
        return
    parts = [part for part in roof.arithmetic if part.flop]
    rows: tuple[LevelSection | ArithmeticSection, ...] = (*levels, *parts)
    measured = any(row.fraction_of_measured is not None for row in rows)
    table = Table("level", "bytes", "attained", "peak", "of peak", *(("measured", "of measured") if measured else ()))
    for level in levels:
        ceiling = (
            (quantities.amount(level.measured_gbps, "GB/s"), quantities.percent(level.fraction_of_measured)) if measured else ()
        )
        gbps, peak = quantities.amount(level.gbps, "GB/s"), quantities.amount(level.peak_gbps, "GB/s")
        table.add_row(
            NameCell(level.level), quantities.size(level.bytes), gbps, peak, quantities.percent(level.fraction), *ceiling
        )
    for part in parts:
        ceiling = (
            (quantities.amount(part.measured_gflops, "GFLOP/s"), quantities.percent(part.fraction_of_measured))
            if measured
            else ()
        )
        rate, peak = quantities.amount(part.gflops, "GFLOP/s"), quantities.amount(part.peak_gflops, "GFLOP/s")
        name = NameCell(f"{part.pipe.upper()} {part.precision}")
        table.add_row(name, quantities.amount(part.flop, "FLOP"), rate, peak, quantities.percent(part.fraction), *ceiling)
    table.show(console)


def render_all_roofs(documents: CoreDocuments, names: KernelNames, console: Console) -> None:
    """Print the program's kernels and their total; print nothing if there is only one kernel."""
    runtime = {symbol.kernel for symbol in documents.dag.symbols if symbol.kind != "kernel"}
    roofs = [roof for roof in documents.roofline.kernels if roof.kernel not in runtime and roof.position is not None]
    if len(roofs) < 2:
        return
    heading(console, "The kernels under the roofs")
    table = Table("kernel", "FLOP/byte", "attained", "under the roof", "of ceiling", "HBM", "side")
    total = documents.roofline.total
    for roof in (*roofs[:_MAX_KERNELS], *([total] if total is not None and total.position is not None else [])):
        table.add_row(
            names.cell(roof.kernel),
            quantities.amount(roof.operational_intensity, ""),
            quantities.amount(roof.gflops, "GFLOP/s"),
            quantities.amount(roof.attainable_gflops, "GFLOP/s"),
            quantities.percent(roof.fraction_of_ceiling),
            quantities.amount(roof.levels[0].gbps, "GB/s"),
            NameCell(roof.position),
        )
    table.show(console)
