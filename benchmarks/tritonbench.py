"""TritonBench-G's programs on the software device and in Triton's interpreter: do their tests return the same results in both?

    python benchmarks/tritonbench.py CHECKOUT --python PYTHON [--only NAME...] [--timeout SECONDS] [--jobs N]
                                     [--again OUTCOME...] [--folder DIR] [--json]

CHECKOUT is a checkout of github.com/thunlp/TritonBench; it is not part of this repository, and nothing is written to it. PYTHON
has Triton and PyTorch for CPUs. Each program runs unmodified, without timing, then once more with TRITON_INTERPRET=1, and the
results that its tests return are compared. Results are kept in DIR, so an interrupted run can be continued; --again repeats the
programs with the given outcomes (agree, differ, not interpreted, does not run). others/tritonbench.csv lists what was found out
about programs that do not agree. --timeout 0 only prints the tables.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from others import result_arrays  # noqa: E402
from others.process import RunResult, end_with_sessions, run  # noqa: E402
from others.results import Results  # noqa: E402
from others.table import markdown  # noqa: E402
from others.triton_runs import CACHE, ON_DEVICE, last_error  # noqa: E402

AGREE, DIFFER, NOT_INTERPRETED, NOT_RUN = OUTCOMES = ("agree", "differ", "not interpreted", "does not run")
_PROGRAMS = "data/TritonBench_G_v1"
_RUNNER = Path(__file__).parent / "others" / "triton_program.py"
_KNOWN_CAUSES_FILE = Path(__file__).parent / "others" / "tritonbench.csv"

# Patterns in the output of a failed run, and what they mean; the first match counts.
_CAUSES = (
    (r"Block pointers have been removed|make_block_ptr", "uses block pointers, which this Triton does not have"),
    (r"memory access fault|not allocated|outside of the launch's arrays", "accesses memory outside its arrays"),
    (r"OutOfResources: [^\n]*shared memory", "needs more LDS than a workgroup can have"),
    (r"OutOfResources", "needs more resources than a workgroup can have"),
    (r"libdevice|__nv_|ExternLibrary", "calls a CUDA function that Triton does not offer for AMD's GPUs"),
    (r"No module named '?triton\.ops|has no attribute|cannot import name", "uses a feature that this Triton does not have"),
    (r"CompilationError", "does not compile with this Triton"),
    (r"ModuleNotFoundError", "needs a package that is not installed"),
)


def main() -> None:
    options = arguments()
    end_with_sessions()
    if options.checkout is None or options.python is None:
        print("no checkout of TritonBench, or no Python with Triton and PyTorch: name both")
        return
    results = Results(options.folder / "results")
    chosen = programs(options)
    if options.timeout:
        with ThreadPoolExecutor(options.jobs) as pool:
            list(pool.map(lambda program: attempt(program, options, results), chosen))
    by_program = {program.stem: result for program in chosen if (result := results.get(program.stem))}
    print(json.dumps(by_program, indent=1) if options.json else report(by_program))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", nargs="?", type=lambda word: Path(word).resolve())
    parser.add_argument("--python", metavar="PYTHON")
    parser.add_argument("--only", nargs="+", metavar="NAME")
    parser.add_argument("--timeout", type=float, default=60, help="time limit for each of the two runs")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--again", nargs="+", default=[], choices=OUTCOMES)
    parser.add_argument("--folder", type=lambda word: Path(word).resolve(), default=CACHE / "tritonbench")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def programs(options: argparse.Namespace) -> list[Path]:
    every = sorted((options.checkout / _PROGRAMS).glob("*.py"))
    return [program for program in every if not options.only or program.stem in options.only]


def attempt(program: Path, options: argparse.Namespace, results: Results) -> None:
    before = results.get(program.stem)
    if before and before["outcome"] not in options.again:
        return
    folder = options.folder / "runs" / program.stem
    folder.mkdir(parents=True, exist_ok=True)
    result = judged(program, folder, options)
    results.put(program.stem, result)
    print(f"{program.stem}: {result['outcome']} {result['why']}", file=sys.stderr, flush=True)


def judged(program: Path, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    device = run_program(program, folder, "device", options, {})
    figures = {"seconds": device.seconds}
    if device.status != 0:
        return figures | {"outcome": NOT_RUN, "why": failure_reason(device)}
    interpreted = run_program(program, folder, "interpreter", options, {"TRITON_INTERPRET": "1"})
    figures["interpreter_seconds"] = interpreted.seconds
    if interpreted.status != 0:
        return figures | {"outcome": NOT_INTERPRETED, "why": failure_reason(interpreted)}
    with np.load(folder / "device.npz") as on_device, np.load(folder / "interpreter.npz") as by_interpreter:
        agreement = result_arrays.agreement(dict(on_device), dict(by_interpreter))
    return figures | {
        "outcome": DIFFER if agreement.reason else AGREE,
        "why": agreement.reason,
        "arrays": agreement.arrays,
        "without_numbers": agreement.without_numbers,
        "apart": agreement.largest_difference if np.isfinite(agreement.largest_difference) else None,
    }


def run_program(
    program: Path, folder: Path, name: str, options: argparse.Namespace, more_environment: dict[str, str]
) -> RunResult:
    words = (*ON_DEVICE, options.python, str(_RUNNER), str(program), str(folder / f"{name}.npz"))
    return run(words, folder, folder / f"{name}.log", options.timeout, more_environment)


def failure_reason(ended: RunResult) -> str:
    if ended.status is None:
        return f"takes more than {ended.seconds:.0f} s"
    cause = next((words for pattern, words in _CAUSES if re.search(pattern, ended.output)), None)
    return cause or last_error(ended.output) or f"ends with status {ended.status}"


def report(by_program: dict[str, dict[str, Any]]) -> str:
    counted = Counter(result["outcome"] for result in by_program.values())
    exact = sum(result.get("apart") == 0 for result in by_program.values())
    return "\n".join(
        [
            f"{len(by_program)} programs; of those that agree, {exact} bit by bit\n",
            markdown(["outcome", "programs"], [[outcome, counted[outcome]] for outcome in OUTCOMES]),
            explained(by_program),
            other_failures(by_program),
        ]
    )


def explained(by_program: dict[str, dict[str, Any]]) -> str:
    """The programs whose results differ, and others about which more is known than their outcome."""
    known_causes = read_known_causes()
    causes_shown = (
        (name, result)
        for name, result in by_program.items()
        if result["outcome"] != AGREE and (name in known_causes or result["outcome"] == DIFFER)
    )
    rows = [
        [name, result["outcome"], result["why"], known_causes.get(name, "not looked into")] for name, result in causes_shown
    ]
    return markdown(["program", "outcome", "how", "because"], rows)


def other_failures(by_program: dict[str, dict[str, Any]]) -> str:
    known_causes = read_known_causes()
    failing = (
        (name, result)
        for name, result in by_program.items()
        if result["outcome"] in (NOT_INTERPRETED, NOT_RUN) and name not in known_causes
    )
    causes: dict[tuple[str, str], list[str]] = {}
    for name, result in failing:
        causes.setdefault((result["outcome"], result["why"]), []).append(name)
    rows = [[*cause, len(names), ", ".join(names)] for cause, names in causes.items()]
    return markdown(["outcome", "why", "programs", ""], sorted(rows, key=lambda row: -row[2]))


def read_known_causes() -> dict[str, str]:
    with _KNOWN_CAUSES_FILE.open(newline="") as file:
        return {row["program"]: row["why"] for row in csv.DictReader(file)}


if __name__ == "__main__":
    main()
