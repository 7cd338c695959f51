"""Does the timing model order the variants of one kernel as a GPU does? Uses series whose times were published.

    python benchmarks/variants.py [--lab-notes CHECKOUT] [--training-examples CHECKOUT] [--only SERIES...]
                                  [--gfx90a] [--errors FILE] [--json]

The checkouts are of github.com/amd/amd-lab-notes, with the Laplacian series, and of github.com/amd/HPCTrainingExamples, with
the exercises yAx and transpose and a shallow-water solver. They are not part of this repository. The kernels are compiled
unchanged, except for sizes (silicon/series.py). yAx and shallow water were recorded on an MI300A, which has the same XCDs as an
MI300X. The other two were recorded on GPUs of the MI200 series, which have 104 or 110 CUs per die, an L2 of 8 MB and no
Infinity Cache. For these, the device is run as one XCD (38 CUs with 4 MB) with that GPU's memory bandwidth per CU; with
--gfx90a, it is run as one die of an MI250X, whose timing parameters are not calibrated.

The output shows the published and the modelled times, relative to the series' first variant; Kendall's tau, with the middle 95
% of 2000 resamples of the variants; and the error for differences: by how much the ratio of two variants' modelled times
differs from the ratio of their recorded times. --errors writes this error to FILE, as the section [differences] of
arch/timing_errors.toml.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import re
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from silicon.series import SERIES, SERIES_ON_GFX90A, expect_checkout, modelled_ms  # noqa: E402

_SHARE = 0.8  # share of the pairs that the stated error covers


@dataclass(frozen=True)
class Compared:
    """The published and modelled times of a series' variants, relative to the first variant. names: the variants' names."""

    names: Sequence[str]
    published: Sequence[float]
    modelled: Sequence[float]

    def differences(self) -> list[float]:
        """For each pair, the factor (at least 1) by which its modelled and its published ratio differ."""
        pairs = itertools.combinations(zip(self.published, self.modelled, strict=True), 2)
        factors = ((m1 / m2) / (p1 / p2) for (p1, m1), (p2, m2) in pairs)
        return [max(factor, 1 / factor) for factor in factors]


def main() -> None:
    options = _arguments()
    checkouts = _checkouts(options)
    results = {}
    for name in options.only:
        series = SERIES_ON_GFX90A.get(name) if options.gfx90a else SERIES[name]
        if series is None:
            continue
        if (checkout := checkouts[series.repository]) is None:
            continue
        times = [modelled_ms(series, variant, checkout) for variant in series.variants]
        published = [variant.published / series.variants[0].published for variant in series.variants]
        results[name] = Compared([variant.name for variant in series.variants], published, [time / times[0] for time in times])
    print(json.dumps(document(results), indent=1) if options.json else "\n".join(table(results)), flush=True)
    if options.errors:
        known_errors = options.errors.read_text() if options.errors.exists() else ""
        options.errors.write_text(with_differences(known_errors, results))


def _checkouts(options: argparse.Namespace) -> dict[str, Path | None]:
    return {"github.com/amd/amd-lab-notes": options.lab_notes, "github.com/amd/HPCTrainingExamples": options.training_examples}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lab-notes", type=Path, metavar="CHECKOUT")
    parser.add_argument("--training-examples", type=Path, metavar="CHECKOUT")
    parser.add_argument("--only", nargs="+", metavar="SERIES", choices=SERIES, default=list(SERIES))
    parser.add_argument("--gfx90a", action="store_true")
    parser.add_argument("--errors", type=Path, metavar="FILE")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.lab_notes is None and options.training_examples is None:
        print("no series of variants: name a checkout with --lab-notes or --training-examples")
        sys.exit()
    checkouts = _checkouts(options)
    for name in options.only:
        if (checkout := checkouts[SERIES[name].repository]) is not None:
            expect_checkout(parser, checkout, SERIES[name])
    return options


def table(results: Mapping[str, Compared]) -> Iterator[str]:
    taus = []
    for name, compared in results.items():
        yield f"| {name}, on {SERIES[name].gpu} | Published | Modelled |\n|---|---|---|"
        for row in zip(compared.names, compared.published, compared.modelled, strict=True):
            yield "| {} | {:.2f} | {:.2f} |".format(*row)
        tau, low, high = kendall(compared.published, compared.modelled)
        taus.append(tau)
        yield f"\nKendall's tau {tau:.2f} ({low:.2f} to {high:.2f}).\n"
    within, pairs = error_for_differences(results)
    yield f"Mean of tau {statistics.mean(taus):.2f}. Of {pairs} pairs, four of five differ by at most {within:.0%}."


def document(results: Mapping[str, Compared]) -> dict[str, object]:
    series = {}
    for name, compared in results.items():
        tau, low, high = kendall(compared.published, compared.modelled)
        rows = [dict(zip(("variant", "published", "modelled"), row, strict=True))
                for row in zip(compared.names, compared.published, compared.modelled, strict=True)]  # fmt: skip
        series[name] = {"variants": rows, "kendall_tau": tau, "interval": [low, high]}
    within, pairs = error_for_differences(results)
    return {"series": series, "differences": {"within": within, "pairs": pairs}}


def error_for_differences(results: Mapping[str, Compared]) -> tuple[float, int]:
    """Return the error that covers four in five pairs, and the number of pairs. Every series has the same weight."""
    weighted = sorted(
        (factor, 1 / len(factors))
        for compared in results.values()
        for factors in (compared.differences(),)
        for factor in factors
    )
    covered = itertools.accumulate(weight for _, weight in weighted)
    needed_weight = _SHARE * len(results) - 1e-9
    return next(factor for (factor, _), share in zip(weighted, covered, strict=True) if share >= needed_weight) - 1, len(
        weighted
    )


def with_differences(text: str, results: Mapping[str, Compared]) -> str:
    """The text of the file of errors with its section [differences] replaced or added."""
    within, pairs = error_for_differences(results)
    section = f"[differences]\nwithin = {within:.2f}\npairs = {pairs}\nseries = {len(results)}  # {', '.join(results)}\n"
    return re.sub(r"\n\[differences\][^\[]*", "", text).rstrip("\n") + "\n\n" + section


def kendall(published: Sequence[float], modelled: Sequence[float]) -> tuple[float, float, float]:
    """Kendall's tau-b, which allows for ties, and the middle 95 % of its values for resamples of the variants."""
    import numpy as np
    from scipy.stats import kendalltau

    def tau(indices: Sequence[int]) -> float:
        return float(kendalltau([published[i] for i in indices], [modelled[i] for i in indices]).statistic)

    everything = range(len(published))
    draws = random.Random(1)
    resampled = [tau(draws.choices(everything, k=len(published))) for _ in range(2000)]
    low, high = np.nanquantile(resampled, [0.025, 0.975])  # a resample with only one variant has no order
    return tau(everything), float(low), float(high)


if __name__ == "__main__":
    main()
