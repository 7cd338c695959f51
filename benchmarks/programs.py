"""HeCBench's programs on the software device: built, run, profiled, captured, replayed, described in a prompt, and optimized
as a dry run.

    python benchmarks/programs.py CHECKOUT [--only NAME...] [--seed N --sample K] [--steps build,run,...] [--timeout SECONDS]
                                  [--jobs N] [--again CLASS...] [--folder DIR] [--json]

CHECKOUT is a checkout of github.com/zjin-lcf/HeCBench; it is not part of this repository, and nothing is written to it. The
arguments are the small ones in others/programs.csv, or else the Makefile's own, made smaller. Programs that need data files or
libraries that are not installed are left out, with the reason in DIR/left_out.json. Results are kept in DIR, so an interrupted
run can be continued; --again repeats the steps that ended in the given classes (project, open, time-out, program, environment).
The table is printed at the end, or at once with --steps none.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from others import checkout, verdict  # noqa: E402
from others.checkout import Given, Program  # noqa: E402
from others.process import end_with_sessions  # noqa: E402
from others.results import Results  # noqa: E402
from others.stages import STAGES, Result, Trial, next_stage  # noqa: E402
from others.table import markdown  # noqa: E402

TABLE = Path(__file__).parent / "others" / "programs.csv"
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rocm-perf-lab" / "benchmarks" / "programs"


def main() -> None:
    given = arguments()
    end_with_sessions()
    if given.checkout is None:
        print("no checkout of HeCBench: name one")
        return
    table = checkout.read_table(given.table)
    results = Results(given.folder / "results")
    chosen = draw(candidates(given, table, results), given)
    with ThreadPoolExecutor(given.jobs) as pool:
        list(pool.map(lambda program: attempt(program, given, results), chosen))
    found = {program.name: results.get(program.name) for program in chosen}
    print(json.dumps(found, indent=1) if given.json else report(found))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", nargs="?", type=Path)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these, even if they need data or a library")
    parser.add_argument("--listed", action="store_true", help="the programs in the table")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--sample", type=int, metavar="K", help="K candidates that the table does not list, drawn with the seed"
    )
    parser.add_argument("--steps", default=",".join(STAGES))
    parser.add_argument("--timeout", type=float, default=120, help="seconds per step, but at least 300 for a build")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--again", nargs="+", default=[], choices=verdict.CLASSES)
    parser.add_argument("--table", type=Path, default=TABLE)
    parser.add_argument("--folder", type=Path, default=_CACHE)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def candidates(given: argparse.Namespace, table: dict[str, Given], results: Results) -> list[Program]:
    names = given.only or checkout.programs(given.checkout)
    programs = [Program(given.checkout.resolve(), name, table.get(name, Given())) for name in names]
    if given.only:
        return programs
    headers, libraries = checkout.installed_headers(), checkout.installed_libraries()
    reasons = {program.name: checkout.needs(program, headers, libraries) for program in programs}
    left_out = {name: reason for name, reason in reasons.items() if reason}
    given.folder.mkdir(parents=True, exist_ok=True)
    (given.folder / "left_out.json").write_text(json.dumps(left_out, indent=1) + "\n", "utf-8")
    print(f"{len(programs)} programs, {len(programs) - len(left_out)} candidates", file=sys.stderr)
    return [program for program in programs if program.name not in left_out]


def draw(programs: list[Program], given: argparse.Namespace) -> list[Program]:
    """The programs to run: those that --listed and --sample select; all of them with --only, or if neither is given."""
    if given.only or not (given.listed or given.sample):
        return programs
    listed = set(checkout.read_table(given.table))
    others = [program for program in programs if program.name not in listed]
    drawn = random.Random(given.seed).sample(others, min(given.sample or 0, len(others)))
    return [program for program in programs if given.listed and program.name in listed] + drawn


def attempt(program: Program, given: argparse.Namespace, results: Results) -> None:
    trial = Trial(program, given.folder / "work" / program.name, given.timeout)
    result = remembered(results.get(program.name), program, given.again)
    done: dict[str, Result] = result["stages"]
    while stage := next_stage(done, given.steps.split(",")):
        trial.folder.mkdir(parents=True, exist_ok=True)
        done[stage] = STAGES[stage](trial)
        results.put(program.name, result)
        told = done[stage]
        print(
            f"{program.name}: {stage} {told['result']}, {told['seconds']:.1f} s {told['reason']}", file=sys.stderr, flush=True
        )


def remembered(result: Result, program: Program, again: list[str]) -> Result:
    """The part of an earlier result to keep: no stage whose class is in `again`; nothing if the table's entry has changed."""
    key = {name: value for name, value in asdict(program.given).items() if name in ("arguments", "macros", "edits", "make")}
    if result.get("given") != key:
        return {"given": key, "stages": {}}
    result["stages"] = {stage: one for stage, one in result["stages"].items() if one["class"] not in again}
    return result


def report(found: dict[str, Result]) -> str:
    table = checkout.read_table(TABLE)
    head = ["program", "arguments", *STAGES, "self-check", "seconds", "fault", "reason"]
    rows = [row(name, result["stages"], table.get(name, Given())) for name, result in sorted(found.items()) if result]
    return markdown(head, rows) + "\n" + summary(found, table)


def row(name: str, stages: dict[str, Result], given: Given) -> list[object]:
    run = stages.get("run", {})
    words = run.get("command", "").partition(" ")[2]
    ends = [stages.get(stage, {}).get("result") for stage in STAGES]
    fault, reason = blame(stages, given)
    return [name, words, *ends, run.get("check"), run.get("seconds"), fault, reason]


def blame(stages: dict[str, Result], given: Given) -> tuple[str, str]:
    """Return (class, reason) of the first stage that failed; both are empty if none did. What the table says about a failed
    build or run takes precedence, except over refusals and time-outs.
    """
    stage, worst = next(((stage, one) for stage, one in stages.items() if one["class"]), ("", None))
    if worst is None:
        return "", ""
    known = bool(given.fault) and stage in ("build", "run") and worst["class"] not in (verdict.PROJECT, verdict.TIME)
    return (given.fault, given.note) if known else (worst["class"], f"{stage}: {worst['reason']}")


def summary(found: dict[str, Result], table: dict[str, Given]) -> str:
    rows = [[stage, *tally([result["stages"] for result in found.values() if result], stage)] for stage in STAGES]
    runs = [result["stages"]["run"] for result in found.values() if result and "run" in result["stages"]]
    checks = [sum(one["check"] == check for one in runs) for check in ("PASS", "FAIL", "none")]
    faults = [blame(result["stages"], table.get(name, Given()))[0] for name, result in found.items() if result]
    told = ", ".join(f"{kind}: {faults.count(kind)}" for kind in verdict.CLASSES)
    return (
        markdown(["step", "tried", "ok", "failed", "time-out", "skipped"], rows)
        + f"\nSelf-checks: {checks[0]} PASS, {checks[1]} FAIL, {checks[2]} none. Of {len(faults)} programs, "
        + f"{faults.count('')} had no failure; the others by fault: {told}."
    )


def tally(all_stages: list[dict[str, Result]], stage: str) -> list[int]:
    ends = [stages[stage]["result"] for stages in all_stages if stage in stages]
    return [len(ends), *(ends.count(end) for end in ("ok", "failed", "time-out", "skipped"))]


if __name__ == "__main__":
    main()
