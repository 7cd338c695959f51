"""How many judgements `rocm-perf optimize` saves on the testbed, and whether judging every proposal gives the same result.

    python benchmarks/gate_runs.py [--only PROGRAM...]

Each program is optimized twice: as `optimize` does by default, and with a search that passes over no proposal. Both must write
the same source. Prints how many proposals the gate judged in each run, and what was gained. The exit status is 1 if a result
differs. All times are modelled.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

TESTBED = Path(__file__).resolve().parents[1] / "testbed"
OPTIONS = ("--json", "--device", "gfx942", "--accept", "modelled", "--auto-approve", "--seed", "1")
EVERYTHING = "--judge-everything"
PROGRAMS = {
    "softmax": ("softmax.hip", "./softmax --rows 256 --cols 64 --kernel naive"),
    "reduction": ("reduction.hip", "./reduction --type int --kernel lds"),
    "stencil": ("stencil.hip", "./stencil -n 20 --steps 1"),
    "pipeline": ("pipeline.hip", "./pipeline"),
    "gemm": ("gemm.hip", "./gemm"),
}


@dataclass(frozen=True)
class Outcome:
    """The outcome of one run of `optimize`.

    judged, passed: how often the gate judged a proposal, and how often one was passed over. written: the optimized source; None
    if nothing was accepted.
    """

    judged: int
    passed: int
    improvement: float
    steps: tuple[str, ...]
    written: str | None


def main() -> None:
    if EVERYTHING in sys.argv[1:2]:
        return judge_everything(sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=PROGRAMS, default=list(PROGRAMS))
    options = parser.parse_args()
    print("| program | judged, of all | passed over | saved | changes | same source |\n|---|---|---|---|---|---|", flush=True)
    sums: Counter[str] = Counter()
    same = True
    for name in options.only:
        ordered, everything = (optimized(name, command) for command in (("-m", "rocm_perf_lab"), (__file__, EVERYTHING)))
        is_same = ordered.written == everything.written
        same &= is_same
        sums.update(ordered=ordered.judged, everything=everything.judged)
        changes = "; ".join(ordered.steps) or "none"
        print(
            f"| {name} | {ordered.judged} of {everything.judged} | {ordered.passed} | {ordered.improvement:.1%} | {changes} | "
            f"{'yes' if is_same else 'no: ' + '; '.join(everything.steps)} |",
            flush=True,
        )
    print(f"\n{sums['ordered']} of {sums['everything']} judgements")
    if not same:
        sys.exit(1)


def optimized(name: str, command: Sequence[str]) -> Outcome:
    source, program = PROGRAMS[name]
    with tempfile.TemporaryDirectory() as folder:
        for file in TESTBED.glob("*.h*"):
            shutil.copy(file, folder)
        words = [sys.executable, *command, "optimize", *OPTIONS, source, program]
        ran = subprocess.run(words, cwd=folder, capture_output=True, text=True)
        if ran.returncode != 0:
            sys.exit(f"{' '.join(words)} ended with {ran.returncode}: {ran.stderr[-500:]}")
        document = json.loads(ran.stdout)
        events = Counter(json.loads(line)["event"] for line in Path(document["run"], "journal.jsonl").read_text().splitlines())
        return Outcome(
            events["verdict"],
            events["passed over"],
            document["improvement"] or 0.0,
            tuple(iteration["description"] for iteration in document["iterations"]),
            Path(document["written"][0]).read_text() if document["written"] else None,
        )


def judge_everything(words: Sequence[str]) -> None:
    """Run the command line with a search that considers no proposal hopeless or beaten."""
    from rocm_perf_lab.__main__ import main as command_line
    from rocm_perf_lab.optimize.search import Search

    def never(_search: Search, _bound: object) -> bool:
        return False

    Search._is_hopeless = Search._is_beaten = never
    sys.argv = ["rocm-perf", *words]
    command_line()


if __name__ == "__main__":
    main()
