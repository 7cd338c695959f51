"""Presents measured ceilings as ceilings.json, as roofline.csv and as a table."""

from __future__ import annotations

from typing import Literal

from rocm_perf_lab import __version__
from rocm_perf_lab.analysis.ceilings import CeilingOutcome, Ceilings, Measurement, to_csv
from rocm_perf_lab.json_model import json_text
from rocm_perf_lab.report.ceilings_document import CeilingsDocument, LevelCeiling, PipeCeiling
from rocm_perf_lab.report.schema import Tool


def document(measurement: Measurement) -> CeilingsDocument:
    """An entry for each benchmark: its value, low and high, or nulls and the reason for them."""
    return CeilingsDocument(
        tool=Tool(version=__version__),
        target=measurement.target,
        device=measurement.device,
        timing=measurement.timing,
        effort=measurement.effort,
        repeats=measurement.repeats,
        ceilings=[_entry(outcome) for outcome in measurement.outcomes],
    )


def _entry(outcome: CeilingOutcome) -> LevelCeiling | PipeCeiling:
    ceiling, key, reason = outcome.ceiling, outcome.key, outcome.reason or ""
    value, low, high = (ceiling.value, ceiling.low, ceiling.high) if ceiling else (None, None, None)
    reasons = {} if ceiling else dict.fromkeys(("value", "low", "high"), reason)
    if isinstance(key, str):
        return LevelCeiling(level=key, value=value, low=low, high=high, reasons=reasons)
    unit: Literal["GFLOP/s", "GOP/s"] = "GFLOP/s" if key[0] != "i8" else "GOP/s"
    pipe: Literal["valu", "mfma"] = "valu" if key[1] == "valu" else "mfma"
    return PipeCeiling(precision=key[0], pipe=pipe, unit=unit, value=value, low=low, high=high, reasons=reasons)


def files(document: CeilingsDocument, measurement: Measurement) -> dict[str, str]:
    """File name -> text. roofline.csv is in rocprof-compute's format; ceilings that were not measured have no column."""
    measured = {outcome.key: outcome.ceiling for outcome in measurement.outcomes if outcome.ceiling}
    ceilings = Ceilings(
        "",
        document.target,
        document.timing,
        {key: ceiling for key, ceiling in measured.items() if isinstance(key, str)},
        {key: ceiling for key, ceiling in measured.items() if not isinstance(key, str)},
    )
    return {"ceilings.json": json_text(document) + "\n", "roofline.csv": to_csv(ceilings)}


def render(document: CeilingsDocument) -> None:
    """Print the human-readable table."""
    from rich.console import Console

    from rocm_perf_lab.report.terminal_table import Table
    from rocm_perf_lab.text import quantities
    from rocm_perf_lab.text.names import NameCell

    console = Console(width=None if Console().is_terminal else 120)
    if document.timing == "modelled":
        console.print(
            "MODELLED: no GPU ran this; these are the roofs of the software device's timing model.", style="bold yellow"
        )
    table = Table("unit", "ceiling", "least", "most")
    for entry in document.ceilings:
        numbers = (quantities.amount(number, entry.unit) for number in (entry.value, entry.low, entry.high))
        table.add_row(NameCell(_name(entry)), *numbers)
    table.show(console)
    for entry in document.ceilings:
        if entry.value is None:
            console.print(f"- {_name(entry)}: {entry.reasons['value']}", style="dim", highlight=False, soft_wrap=True)


def _name(entry: LevelCeiling | PipeCeiling) -> str:
    return entry.level if isinstance(entry, LevelCeiling) else f"{entry.pipe.upper()} {entry.precision}"
