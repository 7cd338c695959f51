"""The findings on one kernel symbol."""

from __future__ import annotations

from dataclasses import dataclass

from rocm_perf_lab.analysis.bottleneck import Bottleneck, classify
from rocm_perf_lab.analysis.ceilings import Ceilings
from rocm_perf_lab.analysis.counters import SymbolCounters, why_none
from rocm_perf_lab.analysis.critical_path import SymbolOnPath
from rocm_perf_lab.analysis.device import Device
from rocm_perf_lab.analysis.evidence import Evidence, gather
from rocm_perf_lab.analysis.headroom import Headroom, headroom
from rocm_perf_lab.analysis.occupancy import DispatchOccupancy, dispatch_occupancy
from rocm_perf_lab.analysis.roofline import Roofline, roofline
from rocm_perf_lab.analysis.symbols import Symbol
from rocm_perf_lab.rocpd.tables import Trace


@dataclass(frozen=True)
class KernelFindings:
    """row: the dispatch that stands for the symbol where one is needed (its longest). on_path: None without times."""

    symbol: Symbol
    row: int
    occupancy: DispatchOccupancy
    roofline: Roofline | None
    evidence: Evidence
    bottleneck: Bottleneck
    headroom: Headroom
    on_path: SymbolOnPath | None
    no_counters: str | None  # why it has none
    notes: tuple[str, ...]


def study(
    trace: Trace,
    symbol: Symbol,
    device: Device,
    counters: SymbolCounters,
    on_path: SymbolOnPath | None,
    ceilings: Ceilings | None = None,
) -> KernelFindings:
    """Everything that a base trace and its counters say of one symbol. ceilings: measured ones of the device."""
    row = symbol.longest
    occupancy = dispatch_occupancy(trace, symbol, row, device)
    roof = roofline(counters, symbol.total_ns, device, ceilings)
    evidence = gather(counters, symbol.total_ns, len(symbol.rows), occupancy, roof, device)
    return KernelFindings(
        symbol=symbol,
        row=row,
        occupancy=occupancy,
        roofline=roof,
        evidence=evidence,
        bottleneck=classify(evidence),
        headroom=headroom(roof, evidence, on_path.fraction if on_path else None),
        on_path=on_path,
        no_counters=why_none(counters),
        notes=counters.notes if roof is None else roof.notes,
    )
