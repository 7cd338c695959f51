"""Fits the timing model's power parameters to clocks that were recorded on an MI300X at its power limit.

    python benchmarks/power.py CHECKOUT

CHECKOUT is a checkout of RRZE's gpu-benches (https://github.com/RRZE-HPC/gpu-benches), whose gpu-roofline/mi300x.txt lists
rate, bandwidth, clock and power of 55 kernels with 0 to 1012 multiply-adds for each pair of numbers. Every second row is
fitted; the others, and the rows that microbenchmarks.py repeats, are compared with the result.

The power follows the model (native/device/timing/power.h): a constant, plus the power of CUs with waves, of vector arithmetic
and of traffic beyond the L2s. The energy of a matrix unit's cycle follows from the clock at which AMD's hipBLASLt multiplied
BF16 matrices; its clocks for FP16 and FP8 are compared with the model's. The static power and the dependence of the voltage on
the clock are assumed: these rows, nearly all at 750 W, do not determine them. With other assumptions the energies change, but
the clocks hardly do.
"""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import brentq, least_squares

PEAK_GHZ, CUS, SIMDS = 2.1, 304, 4
LIMIT_W, STATIC_W, VOLTAGE_SHARE = 750.0, 300.0, 0.6
QUAD_FLOPS = 256  # operations of a packed single-precision multiply-add in 64 lanes, which takes four cycles
REPEATED = (4, 14, 32, 80, 178, 412, 1012)  # multiply-adds of the rows that microbenchmarks.py repeats
# https://rocm.blogs.amd.com/software-tools-optimization/measuring-max-achievable-flops-part2/README.html:
# TFLOP/s, GHz, and the peak in TFLOP/s.
GEMMS = {"BF16": (708.0, 1.207, 1307.4), "FP16": (654.0, 1.115, 1307.4), "FP8": (1273.0, 1.230, 2614.9)}


@dataclass(frozen=True)
class Row:
    multiply_adds: int
    terabytes: float  # per second
    teraflops: float
    ghz: float
    watts: float


@dataclass(frozen=True)
class Energies:
    """The model's power and energies.

    busy_w: the power of all CUs when they have waves, at the peak clock. quad_pj, byte_pj, matrix_pj: the energies of four
    cycles of a vector unit, of a byte beyond the L2s, and of a cycle of a matrix unit.
    """

    busy_w: float
    quad_pj: float
    byte_pj: float
    matrix_pj: float = 0.0


def voltage(ghz: float) -> float:
    """The voltage relative to that at the peak clock."""
    return VOLTAGE_SHARE + (1 - VOLTAGE_SHARE) * ghz / PEAK_GHZ


def clock(energies: Energies, row: Row, matrix_utilisation: float = 0.0) -> float:
    """The clock in GHz at which the model's power equals the recorded power, but at least 0.1 and at most PEAK_GHZ."""

    def excess(ghz: float) -> float:
        matrix = matrix_utilisation * CUS * SIMDS * ghz * energies.matrix_pj * 1e-3
        dynamic = energies.busy_w * ghz / PEAK_GHZ + energies.quad_pj * row.teraflops / QUAD_FLOPS + matrix
        return STATIC_W + voltage(ghz) ** 2 * dynamic + energies.byte_pj * row.terabytes - row.watts

    if excess(PEAK_GHZ) <= 0:
        return PEAK_GHZ
    return float(brentq(excess, 0.1, PEAK_GHZ)) if excess(0.1) < 0 else 0.1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkout", type=Path, nargs="?")
    options = parser.parse_args()
    if options.checkout is None:
        print("no checkout of gpu-benches: name one")
        return
    rows = _rows((options.checkout / "gpu-roofline/mi300x.txt").read_text())
    fitted = [row for row in rows[::2] if row.multiply_adds not in REPEATED]
    unfitted = [row for row in rows if row not in fitted]
    energies = _fit(fitted)
    units = f"vector {energies.quad_pj:.0f} pJ per quad-cycle, memory {energies.byte_pj:.1f} pJ per byte"
    print(f"busy CUs {energies.busy_w:.0f} W, {units}")
    for name, subset in (("fitted", fitted), ("others", unfitted)):
        errors = [clock(energies, row) / row.ghz - 1 for row in subset]
        print(
            f"clocks, {name}: {len(subset)} rows, mean error {np.mean(np.abs(errors)):.1%}, largest {max(errors, key=abs):+.1%}"
        )
    energies = Energies(energies.busy_w, energies.quad_pj, energies.byte_pj, _matrix_pj(energies))
    print(f"matrix unit {energies.matrix_pj:.0f} pJ per cycle, from BF16")
    for name in ("FP16", "FP8"):
        row, utilisation = _gemm(name)
        modelled_ghz = clock(energies, row, utilisation)
        error = modelled_ghz / row.ghz - 1
        print(f"GEMM {name}: {1000 * row.ghz:.0f} MHz recorded, {1000 * modelled_ghz:.0f} by the model, {error:+.1%}")


def _rows(text: str) -> list[Row]:
    matches = re.findall(r"blocks +(\d+) its .*? (\d+) GB/s +(\d+) GF/s +(\d+) Mhz +(\d+) W", text)
    return [Row(int(n), int(gb) / 1e3, int(gf) / 1e3, int(mhz) / 1e3, float(watts)) for n, gb, gf, mhz, watts in matches]


def _fit(rows: list[Row]) -> Energies:
    def errors(values: np.ndarray) -> list[float]:
        return [np.log(clock(Energies(*values), row) / row.ghz) for row in rows]

    solution = least_squares(errors, (500.0, 600.0, 50.0), bounds=(0, np.inf), x_scale=(500.0, 600.0, 50.0), diff_step=1e-3)
    return Energies(*solution.x)


def _gemm(name: str) -> tuple[Row, float]:
    """The row for a large matrix product, neglecting its traffic beyond the L2s, and the utilisation of the matrix units."""
    teraflops, ghz, peak = GEMMS[name]
    return Row(0, 0.0, 0.0, ghz, LIMIT_W), teraflops / (peak * ghz / PEAK_GHZ)


def _matrix_pj(energies: Energies) -> float:
    row, utilisation = _gemm("BF16")

    def excess(picojoules: float) -> float:
        return clock(Energies(energies.busy_w, 0, 0, picojoules), row, utilisation) - row.ghz

    return float(brentq(excess, 1.0, 2000.0))


if __name__ == "__main__":
    main()
