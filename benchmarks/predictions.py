"""How good the predictions of `rocm-perf optimize` were: the predicted savings of proposals, and what the gate measured.

    python benchmarks/predictions.py RUN...

RUN names run directories of `optimize`, or folders above them. Each proposal counts once, however often it was measured. For
each transformation and for all of them together, the following is printed about the proposals whose kernel time was measured:
how many saved no more than the experiments' bound; what share of the prediction the accepted ones saved; and how well the order
of the predictions agrees with the order of the measured times (Kendall's tau-b, over pairs of the same run and kernel; for all
transformations together, also across iterations).
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections import defaultdict
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

JOURNAL = "journal.jsonl"
ERROR = 0.01  # share of the kernel's time by which a saving may exceed its bound and still count as within it


@dataclass(frozen=True)
class Outcome:
    """A proposal, judged or passed over, whose kernel time was measured. at_most, predicted, measured: shares of that time."""

    run: str
    kernel: str
    transformation: str
    description: str
    at_most: float
    predicted: float
    measured: float
    accepted: bool


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", type=Path)
    options = parser.parse_args()
    if not options.runs:
        print("no folders with journals of `rocm-perf optimize`: name some")
        return
    journals = sorted({journal for run in options.runs for journal in run.rglob(JOURNAL)})
    outcomes = [outcome for journal in journals for outcome in outcomes_of(journal)]
    if not outcomes:
        sys.exit(f"{len(journals)} journals, and no outcome with a prediction and a measured time in any of them")
    passed = sum(line["event"] == "passed over" for journal in journals for line in lines_of(journal))
    print(f"{len(outcomes)} proposals measured in {len(journals)} runs; proposals were passed over {passed} times\n")
    print("| transformation | measured | accepted | within the bound | saved of the prediction, median | tau-b |")
    print("|---|---|---|---|---|---|")
    by_kind: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        by_kind[outcome.transformation].append(outcome)
    for name, group in [*sorted(by_kind.items()), ("all", outcomes)]:
        print(row(name, group))


def lines_of(journal: Path) -> list[dict]:
    return [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]


def outcomes_of(journal: Path) -> list[Outcome]:
    by_candidate = {}
    for line in lines_of(journal):
        if line["event"] == "outcome" and line["predicted_kernel"] is not None and line["measured_kernel"] is not None:
            by_candidate[line["candidate"]] = Outcome(
                str(journal.parent), line["kernel"], line["transformation"], line["description"],
                line["at_most_kernel"], line["predicted_kernel"], line["measured_kernel"], line["accepted"],
            )  # fmt: skip
    return list(by_candidate.values())


def row(name: str, outcomes: list[Outcome]) -> str:
    within = sum(outcome.measured <= outcome.at_most + ERROR for outcome in outcomes)
    shares = [outcome.measured / outcome.predicted for outcome in outcomes if outcome.predicted > ERROR and outcome.accepted]
    share = f"{statistics.median(shares):.0%}" if shares else "-"
    order = tau_b(outcomes)
    accepted = sum(outcome.accepted for outcome in outcomes)
    return f"| {name} | {len(outcomes)} | {accepted} | {within} | {share} | {'-' if order is None else f'{order:.2f}'} |"


def tau_b(outcomes: list[Outcome]) -> float | None:
    """Kendall's tau-b of predicted and measured savings, over pairs of one run and kernel; None if no pair can be ordered."""
    agree = differ = predicted_ties = measured_ties = 0
    for first, second in combinations(outcomes, 2):
        if (first.run, first.kernel) != (second.run, second.kernel):
            continue
        of_prediction, of_measurement = first.predicted - second.predicted, first.measured - second.measured
        if of_prediction == 0 or of_measurement == 0:
            predicted_ties += of_prediction == 0 and of_measurement != 0
            measured_ties += of_measurement == 0 and of_prediction != 0
        elif (of_prediction > 0) == (of_measurement > 0):
            agree += 1
        else:
            differ += 1
    scale = ((agree + differ + predicted_ties) * (agree + differ + measured_ties)) ** 0.5
    return (agree - differ) / scale if scale else None


if __name__ == "__main__":
    main()
