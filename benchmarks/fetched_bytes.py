"""How much the variants of AMD's Laplacian fetch from memory on an MI250X, recorded and modelled.

    python benchmarks/fetched_bytes.py CHECKOUT [--planes N] [--json]

CHECKOUT is a checkout of github.com/amd/amd-lab-notes. Its finite-difference/docs report, for 512 planes of 512 x 512 numbers
on one die of an MI250X, the share of the fetched bytes (rocprof's FETCH_SIZE) that has to be read, and the share of requests
that the L2 answers. The same shares are computed from counters of the software device as a gfx90a, with N planes (default 16).
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from silicon.caches import l2_hit_rate  # noqa: E402
from silicon.series import SERIES_ON_GFX90A, count_per_dispatch, expect_checkout  # noqa: E402

_EDGE = 512  # numbers along each edge of a plane
# Fetch efficiency and L2CacheHit in percent, as given in Laplacian_Part1.md to Laplacian_Part3.md.
RECORDED = {
    "kernel 1": (53.3, 65.0), "kernel 1 non-temporal": (75.2, 71.4), "kernel 2 m=1": (53.3, 65.0), "kernel 2 m=2": (58.1, 60.5),
    "kernel 2 m=4": (57.1, 57.0), "kernel 2 m=8": (59.0, 56.0), "kernel 2 m=16": (19.1, 40.9), "kernel 3 m=1": (79.7, 72.0),
    "kernel 3 m=2": (92.1, 70.6), "kernel 3 m=4": (97.0, 68.8), "kernel 3 m=8": (99.4, 67.7), "kernel 3 m=16": (27.4, 44.5),
    "kernel 4 m=1": (79.8, 72.0), "kernel 4 m=2": (92.1, 70.6), "kernel 4 m=4": (97.0, 68.8), "kernel 4 m=8": (99.4, 67.3),
    "kernel 4 m=16": (98.2, 66.1), "kernel 5 m=8": (100.0, 67.4),
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, nargs="?")
    parser.add_argument("--planes", type=int, default=16)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.checkout is None:
        print("no checkout of amd-lab-notes: name one")
        return
    series = replace(SERIES_ON_GFX90A["laplacian"], arguments=(str(_EDGE), str(_EDGE), str(options.planes)))
    expect_checkout(parser, options.checkout, series)
    variants = [variant for variant in series.variants if variant.name in RECORDED]
    modelled = {
        variant.name: shares(count_per_dispatch(series, variant, options.checkout), options.planes) for variant in variants
    }
    if options.json:
        print(
            json.dumps(
                {name: {"recorded": RECORDED[name], "modelled": percentages} for name, percentages in modelled.items()},
                indent=1,
            )
        )
        return
    print("| Laplacian on gfx90a, % | to be read: recorded | modelled | L2 hits: recorded | modelled |\n|---|---|---|---|---|")
    for name, (efficiency, hits) in modelled.items():
        print(f"| {name} | {RECORDED[name][0]:.0f} | {efficiency:.0f} | {RECORDED[name][1]:.0f} | {hits:.0f} |")
    errors = [abs(RECORDED[name][0] / efficiency - 1) for name, (efficiency, _) in modelled.items()]
    print(f"\nMean error of the fetched bytes {statistics.mean(errors):.0%}.")


def shares(counters: dict[str, float], planes: int) -> tuple[float, float]:
    """The share of the fetched bytes that has to be read, and the share of the requests that the L2 answers, in percent."""
    halves, all_requests = counters["TCC_EA_RDREQ_32B_sum"], counters["TCC_EA_RDREQ_sum"]
    fetched = (all_requests - halves) * 64 + halves * 32
    return 100 * to_be_read(planes) / fetched, l2_hit_rate(counters)


def to_be_read(planes: int) -> int:
    """Bytes of all numbers except those on the cube's edges, which the stencil does not touch."""
    edges = 8 + 2 * 4 * (_EDGE - 2) + 4 * (planes - 2)
    return (_EDGE * _EDGE * planes - edges) * 8


if __name__ == "__main__":
    main()
