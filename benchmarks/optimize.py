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
    given = parser.parse_args()
    end_with_sessions()
    given.folder.mkdir(parents=True, exist_ok=True)
    chosen = [one for one in read_entries() if wanted(one, given)]
    options = ["--budget", given.budget, "--equivalence", given.equivalence]
    for entry in chosen if not given.table else ():
        kept = given.folder / f"{entry.name}.json"
        if given.again or not kept.is_file():
            result = Trial(entry, given.folder / entry.name, given.checkout, options).result()
            kept.write_text(json.dumps(result, indent=1))
            print(f"{entry.name}: {result.get('error') or result['stop']}", file=sys.stderr, flush=True)
    files = {one.name: given.folder / f"{one.name}.json" for one in chosen}
    print(table({name: json.loads(file.read_text()) for name, file in files.items() if file.is_file()}))


def wanted(entry: Entry, given: argparse.Namespace) -> bool:
    there = entry.origin != "hecbench" or given.checkout is not None or given.table
    return there and (not given.only or entry.name in given.only)


def table(results: dict[str, dict[str, Any]]) -> str:
    lines = [
        "| kernel | kernel's time saved | program's | processor time, s | judged | accepted | stopped | outputs |",
        "|---|---|---|---|---|---|---|---|",
        *(row(name, one) for name, one in results.items()),
    ]
    done = [one for one in results.values() if "error" not in one]
    for what, name in (("kernels", "kernel"), ("programs", "program")):
        lines.append(f"\nGeometric mean over {len(done)} {what}: {mean([1 / one[name] for one in done]):.2f} times as fast")
    return "\n".join(lines)


def row(name: str, one: dict[str, Any]) -> str:
    if "error" in one:
        return f"| {name} | - | - | {one.get('seconds', 0):.0f} | - | - | {one['error']} | - |"
    accepted = "; ".join(f"`{what}`" for what in one["accepted"]) or "nothing"
    saved = f"{1 - one['kernel']:.1%} | {1 - one['program']:.1%}"
    return f"| {name} | {saved} | {one['seconds']:.0f} | {one['judged']} | {accepted} | {one['stop']} | {one['outputs']} |"


def mean(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else 1.0


if __name__ == "__main__":
    main()
