"""Triton's own tutorials on the software device: do their own checks pass?

    python benchmarks/triton_tutorials.py CHECKOUT --python PYTHON [--only NAME...] [--timeout SECONDS] [--again]
                                          [--folder DIR]

CHECKOUT is a checkout of github.com/triton-lang/triton; it is not part of this repository, and nothing is written to it. PYTHON
has Triton, PyTorch for CPUs, pytest and what the tutorials import (tutorial 09 imports llnl-hatchet). Each tutorial runs
unmodified, without timing and without the benchmarks that follow its checks (what is measured with Proton runs once); of the
attention tests, only those with one batch and two heads run. Results are kept in DIR, so an interrupted run can be continued;
--again repeats the cases that did not pass. --timeout 0 only prints the table.
"""

from __future__ import annotations

import argparse
import re
import sys
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

from others.process import RunResult, end_with_sessions, run  # noqa: E402
from others.results import Results  # noqa: E402
from others.table import markdown  # noqa: E402
from others.triton_runs import CACHE, ON_DEVICE, last_error, triton_version  # noqa: E402

_TUTORIALS = "python/tutorials"
_RUNNER = Path(__file__).parent / "others" / "triton_tutorial.py"
_ATTENTION = "06-fused-attention"
_LENGTHS, _HEADS = (128, 1024, 2048), (64, 128)

_CHANGE_NOTES = re.compile(r"^.*(?:left out|run once)$", re.MULTILINE)
_DECLINES = re.compile(r"^.*(?:not supported on|requires GPU support).*$", re.MULTILINE)


class Case(NamedTuple):
    """tutorial: the name of its file, without the suffix. test: a test's name in pytest; empty for the whole script."""

    tutorial: str
    test: str = ""

    @property
    def name(self) -> str:
        return f"{self.tutorial} {self.test.partition('[')[2].rstrip(']')}".strip()


def main() -> None:
    options = arguments()
    end_with_sessions()
    if options.checkout is None or options.python is None:
        print("no checkout of Triton, or no Python with Triton and PyTorch: name both")
        return
    version = triton_version(options.python)
    results = Results(options.folder / version)
    chosen = [case for case in cases(options.checkout) if not options.only or any(word in case.name for word in options.only)]
    for case in chosen if options.timeout else []:
        attempt(case, options, results)
    print(f"Triton {version}\n")
    named_results = ((case.name, results.get(case.name)) for case in chosen)
    print(
        markdown(["tutorial", "outcome", "s", "what it says"], [row(name, result) for name, result in named_results if result])
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", nargs="?", type=lambda word: Path(word).resolve())
    parser.add_argument("--python", metavar="PYTHON")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="parts of case names, such as 05 or fp8")
    parser.add_argument("--timeout", type=float, default=600)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--folder", type=lambda word: Path(word).resolve(), default=CACHE / "tutorials")
    return parser.parse_args()


def cases(checkout: Path) -> list[Case]:
    tutorials = sorted(path.stem for path in (checkout / _TUTORIALS).glob("[0-9]*.py"))
    simple_cases = [Case(name) for name in tutorials if name != _ATTENTION]
    return sorted([*simple_cases, *attention()]) if _ATTENTION in tutorials else simple_cases


def attention() -> list[Case]:
    kinds = ("triton-fp16-bwd", "triton-fp8-fwd")  # a test of the backward pass checks the forward one as well
    choices = product(kinds, (False, True), _HEADS, _LENGTHS)
    return [Case(_ATTENTION, f"test_op[{kind}-False-{causal}-{head}-{length}-2-1]") for kind, causal, head, length in choices]


def attempt(case: Case, options: argparse.Namespace, results: Results) -> None:
    before = results.get(case.name)
    if before and not (options.again and before["outcome"] != "passes"):
        return
    folder = options.folder / "runs" / case.name.replace(" ", "-")
    folder.mkdir(parents=True, exist_ok=True)
    script = options.checkout / _TUTORIALS / f"{case.tutorial}.py"
    words = (*ON_DEVICE, options.python, str(_RUNNER), str(script), *filter(None, [case.test]))
    result = judged(run(words, folder, folder / "log", options.timeout))
    results.put(case.name, result)
    print(f"{case.name}: {result['outcome']}", file=sys.stderr, flush=True)


def judged(ran: RunResult) -> dict[str, Any]:
    if ran.status is None:
        return {"outcome": "takes longer", "seconds": ran.seconds, "says": ""}
    if ran.status != 0:
        says = last_error(ran.output) or f"ends with status {ran.status}"
        return {"outcome": "fails", "seconds": ran.seconds, "says": says}
    declined = _DECLINES.findall(ran.output)
    lines = dict.fromkeys(line.strip()[:120] for line in declined or _CHANGE_NOTES.findall(ran.output))
    return {"outcome": "declines" if declined else "passes", "seconds": ran.seconds, "says": "; ".join(lines)}


def row(name: str, result: dict[str, Any]) -> list[object]:
    return [name, result["outcome"], result["seconds"], result["says"]]


if __name__ == "__main__":
    main()
