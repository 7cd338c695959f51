"""Measured ceilings as ceilings.json, as roofline.csv and as a table."""

from __future__ import annotations

import json
from typing import Any

from rocm_perf_lab import __version__
from rocm_perf_lab.analysis.ceilings import Ceilings, Measurement, Outcome, to_csv


def document(found: Measurement) -> dict[str, Any]:
    """ceilings.json: every benchmark with value, low and high, or null and the reason."""
    return {
        "schema_version": "1.0",
        "tool": {"name": "rocm-perf-lab", "version": __version__},
        "target": found.target,
        "device": found.device,
        "timing": found.timing,
        "effort": found.effort,
        "repeats": found.repeats,
        "ceilings": [_entry(outcome) for outcome in found.outcomes],
    }


def _entry(outcome: Outcome) -> dict[str, Any]:
    memory = isinstance(outcome.key, str)
    name = {"level": outcome.key} if memory else {"precision": outcome.key[0], "pipe": outcome.key[1]}
    unit = "GB/s" if memory else "GFLOP/s" if outcome.key[0] != "i8" else "GOP/s"
    if outcome.ceiling is None:
        nulls = dict.fromkeys(("value", "low", "high"))
        return name | {"unit": unit, **nulls, "reasons": dict.fromkeys(nulls, outcome.reason)}
    found = outcome.ceiling
    return name | {"unit": unit, "value": found.value, "low": found.low, "high": found.high}


def files(document: dict[str, Any], measurement: Measurement) -> dict[str, str]:
    """File name -> text. roofline.csv has rocprof-compute's columns, those that were measured."""
    found = {outcome.key: outcome.ceiling for outcome in measurement.outcomes if outcome.ceiling}
    ceilings = Ceilings(
        "",
        document["target"],
        document["timing"],
        {key: ceiling for key, ceiling in found.items() if isinstance(key, str)},
        {key: ceiling for key, ceiling in found.items() if not isinstance(key, str)},
    )
    return {"ceilings.json": json.dumps(document, indent=2, allow_nan=False) + "\n", "roofline.csv": to_csv(ceilings)}


def render(document: dict[str, Any]) -> None:
    """The table for people."""
    from rich.console import Console

    from rocm_perf_lab.report.table import Table
    from rocm_perf_lab.text import words
    from rocm_perf_lab.text.names import Name

    console = Console(width=None if Console().is_terminal else 120)
    if document["timing"] == "modelled":
        console.print(
            "MODELLED: no GPU ran this; these are the roofs of the software device's timing model.", style="bold yellow"
        )
    table = Table("unit", "ceiling", "least", "most")
    for entry in document["ceilings"]:
        name = entry.get("level") or f"{entry['pipe'].upper()} {entry['precision']}"
        numbers = (words.amount(entry[key], entry["unit"]) for key in ("value", "low", "high"))
        table.add_row(Name(name), *numbers)
    table.show(console)
    for entry in document["ceilings"]:
        if entry["value"] is None:
            name = entry.get("level") or f"{entry['pipe'].upper()} {entry['precision']}"
            console.print(f"- {name}: {entry['reasons']['value']}", style="dim", highlight=False, soft_wrap=True)
