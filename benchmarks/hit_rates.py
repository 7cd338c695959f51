"""The hit rates of L1 and L2 that AMD published for some kernels, compared with modelled ones.

    python benchmarks/hit_rates.py CHECKOUT [--json]

CHECKOUT is a checkout of github.com/amd/HPCTrainingExamples. Its exercises contain what rocprof-compute showed for a
vector-matrix-vector product (yAx) on an MI210 and an MI300A, and for the stages of a shallow-water solver on an MI300A. The
same kernels are run on the software device: yAx with a sixteenth of the columns, and the solver with one time step on 8192 x
2048 cells, as many as each of the four recorded processes had.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

from silicon.caches import l1_hit_rate, l2_hit_rate  # noqa: E402
from silicon.series import GFX90A, SERIES, Series, count_per_dispatch, expect_checkout  # noqa: E402


class Rates(NamedTuple):
    """Hit rates in percent."""

    l1: float
    l2: float


def _one_process(series: Series) -> Series:
    """The series with as many cells as each of the four recorded processes had, and one time step."""
    edits = ((r"NX = 2048", "NX = 8192"), (r"NSTEPS = \d+", "NSTEPS = 1"))
    return replace(
        series, rate=None, variants=tuple(replace(variant, edits=((*variant.edits[0], *edits),)) for variant in series.variants)
    )


_ON_MI300A, _SOLVER = SERIES["yAx"], _one_process(SERIES["shallow water"])
_ON_MI210 = replace(_ON_MI300A, device=GFX90A)
# rocprof-compute/4-StridedAccess/README.md, Profiling-by-example/shallow-water/advanced/*/README.md
RECORDED = {
    ("MI210", "strided"): (_ON_MI210, Rates(0.00, 93.45)),
    ("MI210", "coalesced"): (_ON_MI210, Rates(49.98, 0.52)),
    ("MI300A", "strided"): (_ON_MI300A, Rates(0.00, 93.67)),
    ("MI300A", "coalesced"): (_ON_MI300A, Rates(75.00, 0.68)),
    ("MI300A", "larger domain"): (_SOLVER, Rates(55.29, 22.34)),
    ("MI300A", "block 32x32"): (_SOLVER, Rates(69.33, 25.18)),
    ("MI300A", "block 64x4"): (_SOLVER, Rates(73.60, 21.10)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, nargs="?")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.checkout is None:
        print("no checkout of HPCTrainingExamples: name one")
        return
    for series in (_ON_MI300A, _SOLVER):
        expect_checkout(parser, options.checkout, series)
    modelled = {case: _modelled(series, case[1], options.checkout) for case, (series, _) in RECORDED.items()}
    if options.json:
        rows = [{"gpu": gpu, "kernel": kernel, "recorded": RECORDED[gpu, kernel][1]._asdict(), "modelled": rates._asdict()}
                for (gpu, kernel), rates in modelled.items()]  # fmt: skip
        print(json.dumps(rows, indent=1))
        return
    print("| Hits, % | GPU | L1: recorded | modelled | L2: recorded | modelled |\n|---|---|---|---|---|---|")
    for (gpu, kernel), rates in modelled.items():
        recorded = RECORDED[gpu, kernel][1]
        print(f"| {kernel} | {gpu} | {recorded.l1:.1f} | {rates.l1:.1f} | {recorded.l2:.1f} | {rates.l2:.1f} |")
    for level in Rates._fields:
        differences = [abs(getattr(rates, level) - getattr(RECORDED[case][1], level)) for case, rates in modelled.items()]
        print(f"\n{level.upper()}: {statistics.mean(differences):.1f} percentage points apart on average.")


def _modelled(series: Series, name: str, checkout: Path) -> Rates:
    (variant,) = [variant for variant in series.variants if variant.name == name]
    counters = count_per_dispatch(series, variant, checkout)
    return Rates(l1_hit_rate(counters), l2_hit_rate(counters))


if __name__ == "__main__":
    main()
