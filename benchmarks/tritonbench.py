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
from others.process import Ran, end_with_sessions, run  # noqa: E402
from others.results import Results  # noqa: E402
from others.table import markdown  # noqa: E402
from others.triton_runs import CACHE, ON_DEVICE, last_error  # noqa: E402

AGREE, DIFFER, NOT_INTERPRETED, NOT_RUN = OUTCOMES = ("agree", "differ", "not interpreted", "does not run")
_PROGRAMS = "data/TritonBench_G_v1"
_RUNNER = Path(__file__).parent / "others" / "triton_program.py"
_FOUND_OUT = Path(__file__).parent / "others" / "tritonbench.csv"

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
    given = arguments()
    end_with_sessions()
    if given.checkout is None or given.python is None:
        print("no checkout of TritonBench, or no Python with Triton and PyTorch: name both")
        return
    results = Results(given.folder / "results")
    chosen = programs(given)
    if given.timeout:
        with ThreadPoolExecutor(given.jobs) as pool:
            list(pool.map(lambda program: attempt(program, given, results), chosen))
    found = {program.stem: one for program in chosen if (one := results.get(program.stem))}
    print(json.dumps(found, indent=1) if given.json else report(found))


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


def programs(given: argparse.Namespace) -> list[Path]:
    every = sorted((given.checkout / _PROGRAMS).glob("*.py"))
    return [program for program in every if not given.only or program.stem in given.only]


def attempt(program: Path, given: argparse.Namespace, results: Results) -> None:
    before = results.get(program.stem)
    if before and before["outcome"] not in given.again:
        return
    place = given.folder / "runs" / program.stem
    place.mkdir(parents=True, exist_ok=True)
    result = judged(program, place, given)
    results.put(program.stem, result)
    print(f"{program.stem}: {result['outcome']} {result['why']}", file=sys.stderr, flush=True)


def judged(program: Path, place: Path, given: argparse.Namespace) -> dict[str, Any]:
    device = ran(program, place, "device", given, {})
    figures = {"seconds": device.seconds}
    if device.status != 0:
        return figures | {"outcome": NOT_RUN, "why": why(device)}
    other = ran(program, place, "interpreter", given, {"TRITON_INTERPRET": "1"})
    figures["interpreter_seconds"] = other.seconds
    if other.status != 0:
        return figures | {"outcome": NOT_INTERPRETED, "why": why(other)}
    with np.load(place / "device.npz") as ours, np.load(place / "interpreter.npz") as theirs:
        found = result_arrays.agreement(dict(ours), dict(theirs))
    return figures | {
        "outcome": DIFFER if found.reason else AGREE,
        "why": found.reason,
        "arrays": found.arrays,
        "without_numbers": found.without_numbers,
        "apart": found.apart if np.isfinite(found.apart) else None,
    }


def ran(program: Path, place: Path, name: str, given: argparse.Namespace, more: dict[str, str]) -> Ran:
    words = (*ON_DEVICE, given.python, str(_RUNNER), str(program), str(place / f"{name}.npz"))
    return run(words, place, place / f"{name}.log", given.timeout, more)


def why(ended: Ran) -> str:
    if ended.status is None:
        return f"takes more than {ended.seconds:.0f} s"
    cause = next((words for pattern, words in _CAUSES if re.search(pattern, ended.output)), None)
    return cause or last_error(ended.output) or f"ends with status {ended.status}"


def report(found: dict[str, dict[str, Any]]) -> str:
    counted = Counter(one["outcome"] for one in found.values())
    exact = sum(one.get("apart") == 0 for one in found.values())
    return "\n".join(
        [
            f"{len(found)} programs; of those that agree, {exact} bit by bit\n",
            markdown(["outcome", "programs"], [[outcome, counted[outcome]] for outcome in OUTCOMES]),
            explained(found),
            others(found),
        ]
    )


def explained(found: dict[str, dict[str, Any]]) -> str:
    """The programs whose results differ, and others about which more is known than their outcome."""
    known = found_out()
    shown = (
        (name, one) for name, one in found.items() if one["outcome"] != AGREE and (name in known or one["outcome"] == DIFFER)
    )
    rows = [[name, one["outcome"], one["why"], known.get(name, "not looked into")] for name, one in shown]
    return markdown(["program", "outcome", "how", "because"], rows)


def others(found: dict[str, dict[str, Any]]) -> str:
    known = found_out()
    rest = ((name, one) for name, one in found.items() if one["outcome"] in (NOT_INTERPRETED, NOT_RUN) and name not in known)
    causes: dict[tuple[str, str], list[str]] = {}
    for name, one in rest:
        causes.setdefault((one["outcome"], one["why"]), []).append(name)
    rows = [[*cause, len(names), ", ".join(names)] for cause, names in causes.items()]
    return markdown(["outcome", "why", "programs", ""], sorted(rows, key=lambda row: -row[2]))


def found_out() -> dict[str, str]:
    with _FOUND_OUT.open(newline="") as file:
        return {row["program"]: row["why"] for row in csv.DictReader(file)}


if __name__ == "__main__":
    main()
