"""Does the timing model order the variants of one kernel as a GPU does? AMD's Laplacian series, published for an MI250X.

    python benchmarks/variants.py EXAMPLES [--json]

EXAMPLES is `finite-difference/examples/` of a checkout of github.com/amd/amd-lab-notes, whose kernels are compiled unchanged
but for their tiling factor, a non-temporal store that the text describes, and the number of iterations. Nothing of it is in
this repository. What was published is an order on one die of an MI250X: 110 CUs on an L2 of 8 MB, and no Infinity Cache. The
device is therefore run as one XCD (38 CUs on 4 MB) with that die's memory bandwidth per CU, and the grid has half as many
rows, so that a plane of it has the same share of the L2.

Printed are both speed-ups over the first kernel, and Kendall's tau with the middle 95 % of 2000 resamples of the variants.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

GRID = ("512", "256", "16")
ITERATIONS = 2
_HBM = 566  # GB/s: 1638 of an MI250X die, for 38 of its 110 CUs
_REACHED = round(0.85 * _HBM)
DEVICE = (
    "timing.xcds=1", f"timing.hbm_gbps={_HBM}", f"timing.mall_read_gbps={_REACHED}", f"timing.mall_write_gbps={_REACHED}",
    f"timing.mall_mixed_gbps={_REACHED}", "timing.mall_latency_cycles=740",
)  # fmt: skip


@dataclass(frozen=True)
class Variant:
    """kernel: the number of its file. tile: its tiling factor, None for the first kernel. published: speed-up over that one,
    from parts 2 and 3 of the series.
    """

    kernel: int
    tile: int | None
    published: float
    streaming: bool = False  # with a non-temporal store that its file does not have

    @property
    def name(self) -> str:
        return f"kernel {self.kernel}" + (f" m={self.tile}" if self.tile else "") + (" non-temporal" if self.streaming else "")


VARIANTS = (
    Variant(1, None, 1.00), Variant(1, None, 1.19, True),
    Variant(2, 1, 1.00), Variant(2, 2, 0.98), Variant(2, 4, 0.94), Variant(2, 8, 0.92), Variant(2, 16, 0.29),
    Variant(3, 1, 1.20), Variant(3, 2, 1.28), Variant(3, 4, 1.34), Variant(3, 8, 1.37), Variant(3, 16, 0.42),
    Variant(4, 1, 1.20), Variant(4, 2, 1.28), Variant(4, 4, 1.34), Variant(4, 8, 1.39), Variant(4, 16, 1.34),
    Variant(5, 8, 1.44),
)  # fmt: skip


def main() -> None:
    given = _arguments()
    with tempfile.TemporaryDirectory(prefix="rocm-perf-variants-") as folder:
        times = [modelled_ms(variant, given.examples, Path(folder)) for variant in VARIANTS]
    published, modelled = [variant.published for variant in VARIANTS], [times[0] / time for time in times]
    tau, low, high = kendall(published, modelled)
    if given.json:
        rows = [asdict(variant) | {"modelled": found} for variant, found in zip(VARIANTS, modelled, strict=True)]
        print(json.dumps({"variants": rows, "kendall_tau": tau, "interval": [low, high]}, indent=1))
        return
    print("| Variant | Published | Modelled |\n|---|---|---|")
    for variant, found in zip(VARIANTS, modelled, strict=True):
        print(f"| {variant.name} | {variant.published:.2f} | {found:.2f} |")
    print(f"\nKendall's tau {tau:.2f} ({low:.2f} to {high:.2f}).")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("examples", nargs="?", type=Path)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if given.examples is None:
        print("no checkout of amd-lab-notes: name one")
        sys.exit()
    if not (given.examples / "laplacian.cpp").is_file():
        parser.error(f"{given.examples} has no laplacian.cpp: name finite-difference/examples/ of a checkout")
    return given


def source_of(variant: Variant, text: str) -> str:
    """The kernel's file as the variant has it."""
    if variant.tile is not None:
        text, changed = re.subn(r"(?m)^#define m \d+", f"#define m {variant.tile}", text)
        assert changed == 1
    if variant.streaming:
        text, changed = re.subn(r"(?s)(\n\s*)f\[pos\] = ([^;]*);", r"\1__builtin_nontemporal_store(\2, &f[pos]);", text)
        assert changed == 1
    return text


def modelled_ms(variant: Variant, examples: Path, folder: Path) -> float:
    kernel, main_file, binary = folder / "kernel.hpp", folder / "laplacian.cpp", folder / "laplacian"
    kernel.write_text(source_of(variant, (examples / f"kernel{variant.kernel}.hpp").read_text()))
    text, changed = re.subn(r"num_iter = \d+", f"num_iter = {ITERATIONS}", (examples / "laplacian.cpp").read_text())
    assert changed == 1
    main_file.write_text(text)
    build = ["hipcc", "-O3", "-std=c++17", "-DDOUBLE", "--offload-arch=gfx942", "-include", kernel, "-o", binary, main_file]
    subprocess.run(build, check=True, capture_output=True)
    options = [word for option in DEVICE for word in ("--device-option", option)]
    done = subprocess.run(
        ["rocm-perf", "run", "--device", "gfx942", *options, binary, *GRID], capture_output=True, text=True, check=True
    )
    found = re.search(r"kernel took: ([\d.e+-]+) ms", done.stdout)
    assert found is not None and "failed" not in done.stdout, done.stdout
    print(f"{variant.name}: {found[1]} ms", file=sys.stderr, flush=True)
    return float(found[1])


def kendall(published: Sequence[float], modelled: Sequence[float]) -> tuple[float, float, float]:
    """Kendall's tau-b, which allows for ties, and the middle 95 % of its values for resamples of the pairs."""
    import numpy as np
    from scipy.stats import kendalltau

    def tau(indices: Sequence[int]) -> float:
        return float(kendalltau([published[i] for i in indices], [modelled[i] for i in indices]).statistic)

    everything = range(len(published))
    draws = random.Random(1)
    resampled = [tau(draws.choices(everything, k=len(published))) for _ in range(2000)]
    low, high = np.nanquantile(resampled, [0.025, 0.975])  # a resample that has one variant only has no order
    return tau(everything), float(low), float(high)


if __name__ == "__main__":
    main()
