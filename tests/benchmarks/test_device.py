"""Figures for the device's speed: the printed values are those measured, and start-up does not count."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "device.py"


@pytest.fixture(scope="module")
def benchmark():
    spec = importlib.util.spec_from_file_location("device_benchmark", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_start_up_does_not_count(benchmark):
    assert benchmark.slope(lambda times: 0.3 + 0.002 * times, 40) == pytest.approx(0.002)


def test_rates_and_ratios_as_printed(benchmark):
    found = {
        "fma_f32": {"here": 25e-9, "against": 100e-9},
        "vcopy": {"here": 0.2, "against": 0.3, "host": 0.004},
    }
    rows = [line.split() for line in benchmark.text(found).splitlines()]
    assert ["fma_f32", "40.00", "10.00", "4.00", "-"] in rows
    assert ["vcopy", "200.00", "300.00", "4.000", "50", "75", "-"] in rows


def test_without_another_build_its_columns_are_empty(benchmark):
    found = {"fma_f32": {"here": 25e-9}, "vcopy": {"here": 0.2, "host": 0.004}}
    rows = [line.split() for line in benchmark.text(found).splitlines()]
    assert ["fma_f32", "40.00", "-", "-", "-"] in rows and ["vcopy", "200.00", "-", "4.000", "50", "-", "-"] in rows


def test_every_class_is_a_kernel_of_the_program(benchmark):
    text = SCRIPT.with_suffix(".hip").read_text()
    assert all(f"LOOP({name}," in text and f"NAMED({name})" in text for name in benchmark.CLASSES)
