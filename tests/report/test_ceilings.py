"""Measured ceilings as documents and as a table, also read back from the documents."""

from __future__ import annotations

import json

import pytest

from rocm_perf_lab.analysis.ceilings import Ceiling, CeilingOutcome, Measurement, read_ceilings
from rocm_perf_lab.report.ceilings import document, files, render

HBM, I8 = Ceiling(1600.0, 1500.5, 1700.25), Ceiling(12_345.0, 12_000.0, 13_000.0)
OUTCOMES = [
    CeilingOutcome("HBM", HBM, None),
    CeilingOutcome("LDS", None, "it did not end"),
    CeilingOutcome(("f32", "valu"), Ceiling(50.0, 0.5, 60.0), None),
    CeilingOutcome(("i8", "mfma"), I8, None),
    CeilingOutcome(("bf16", "mfma"), None, None),
]


def measured(timing: str = "measured") -> Measurement:
    return Measurement("gfx942", "MI300X", timing, "brief", 5, OUTCOMES)


def test_every_benchmark_has_its_rates_or_the_reason_why_not():
    found = document(measured())
    assert (found.target, found.device, found.timing, found.effort, found.repeats) == (
        "gfx942",
        "MI300X",
        "measured",
        "brief",
        5,
    )
    names = ("value", "low", "high")
    assert [one.model_dump() for one in found.ceilings] == [
        {"level": "HBM", "unit": "GB/s", "value": 1600.0, "low": 1500.5, "high": 1700.25},
        {"level": "LDS", "unit": "GB/s", **dict.fromkeys(names), "reasons": dict.fromkeys(names, "it did not end")},
        {"precision": "f32", "pipe": "valu", "unit": "GFLOP/s", "value": 50.0, "low": 0.5, "high": 60.0},
        {"precision": "i8", "pipe": "mfma", "unit": "GOP/s", "value": 12_345.0, "low": 12_000.0, "high": 13_000.0},
        {"precision": "bf16", "pipe": "mfma", "unit": "GFLOP/s", **dict.fromkeys(names), "reasons": dict.fromkeys(names, "")},
    ]


def test_both_files_contain_the_measured_rates(tmp_path):
    found = files(document(measured()), measured())
    assert json.loads(found["ceilings.json"])["ceilings"][3]["value"] == 12_345.0 and found["ceilings.json"].endswith("}\n")
    for name, text in found.items():
        (tmp_path / name).write_text(text)
        read = read_ceilings(tmp_path / name)
        assert read.bandwidth == {"HBM": HBM}
        assert read.arithmetic == {("f32", "valu"): Ceiling(50.0, 0.5, 60.0), ("i8", "mfma"): I8}
        assert (read.target, read.timing) == (("gfx942", "measured") if name == "ceilings.json" else (None, None))


@pytest.mark.parametrize("timing", ["measured", "modelled"])
def test_the_table(capsys, timing):
    render(document(measured(timing)))
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    notes = ["MODELLED: no GPU ran this; these are the roofs of the software device's timing model."]
    assert lines[: -len(OUTCOMES) - 3] == (notes if timing == "modelled" else [])
    assert lines[-len(OUTCOMES) - 3 :] == [
        "unit ceiling least most",
        "HBM 1,600 GB/s 1,500 GB/s 1,700 GB/s",
        "LDS ? ? ?",
        "VALU f32 50 GFLOP/s 0.5 GFLOP/s 60 GFLOP/s",
        "MFMA i8 12,345 GOP/s 12,000 GOP/s 13,000 GOP/s",
        "MFMA bf16 ? ? ?",
        "- LDS: it did not end",
        "- MFMA bf16:",
    ]
