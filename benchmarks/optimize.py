"""What `rocm-perf optimize` gains on kernels from the testbed, the tests and HeCBench, and whether their results stay right.

    python benchmarks/optimize.py [CHECKOUT] [--only NAME...] [--budget TIME] [--equivalence LEVEL] [--folder DIR] [--again]
                                  [--table]

CHECKOUT is a checkout of github.com/zjin-lcf/HeCBench; without it, HeCBench's kernels are left out. For each kernel, the table
shows what share of its time and of the time in all kernels of the program was saved (modelled), the processor time, the number
of proposals judged, why the run stopped, and the result of an independent check: the original and the optimized program are
built with their own build command and run at three sizes. They have to print the same except for times; where sums may be
reordered, the optimized one has to pass a check instead. The last lines are geometric means of the ratio of time before to time
after. Results are kept in DIR, so an interrupted run can be continued; --again starts over, and --table only prints what is
there.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from optimizing.entry import Entry, Trial, read_entries  # noqa: E402
from others.process import end_with_sessions  # noqa: E402

_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rocm-perf-lab" / "benchmarks" / "optimize"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", nargs="?", type=Path)
    parser.add_argument("--only", nargs="+", metavar="NAME")
    parser.add_argument("--budget", default="5m")
    parser.add_argument("--equivalence", default="full")
    parser.add_argument("--folder", type=Path, default=_CACHE)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--table", action="store_true")
    arguments = parser.parse_args()
    end_with_sessions()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    chosen = [entry for entry in read_entries() if is_wanted(entry, arguments)]
    options = ["--budget", arguments.budget, "--equivalence", arguments.equivalence]
    for entry in chosen if not arguments.table else ():
        result_file = arguments.folder / f"{entry.name}.json"
        if arguments.again or not result_file.is_file():
            result = Trial(entry, arguments.folder / entry.name, arguments.checkout, options).result()
            result_file.write_text(json.dumps(result, indent=1))
            print(f"{entry.name}: {result.get('error') or result['stop']}", file=sys.stderr, flush=True)
    files = {entry.name: arguments.folder / f"{entry.name}.json" for entry in chosen}
    print(table({name: json.loads(file.read_text()) for name, file in files.items() if file.is_file()}))


def is_wanted(entry: Entry, arguments: argparse.Namespace) -> bool:
    is_available = entry.origin != "hecbench" or arguments.checkout is not None or arguments.table
    return is_available and (not arguments.only or entry.name in arguments.only)


def table(results: dict[str, dict[str, Any]]) -> str:
    lines = [
        "| kernel | kernel's time saved | program's | processor time, s | judged | accepted | stopped | outputs |",
        "|---|---|---|---|---|---|---|---|",
        *(row(name, result) for name, result in results.items()),
    ]
    successful = [result for result in results.values() if "error" not in result]
    for plural, name in (("kernels", "kernel"), ("programs", "program")):
        speedup = mean([1 / result[name] for result in successful])
        lines.append(f"\nGeometric mean over {len(successful)} {plural}: {speedup:.2f} times as fast")
    return "\n".join(lines)


def row(name: str, result: dict[str, Any]) -> str:
    if "error" in result:
        return f"| {name} | - | - | {result.get('seconds', 0):.0f} | - | - | {result['error']} | - |"
    accepted = "; ".join(f"`{change}`" for change in result["accepted"]) or "nothing"
    saved = f"{1 - result['kernel']:.1%} | {1 - result['program']:.1%}"
    end = f"{result['stop']} | {result['outputs']}"
    return f"| {name} | {saved} | {result['seconds']:.0f} | {result['judged']} | {accepted} | {end} |"


def mean(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else 1.0


if __name__ == "__main__":
    main()
