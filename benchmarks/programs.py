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
from others.checkout import Program, ProgramEntry  # noqa: E402
from others.process import end_with_sessions  # noqa: E402
from others.results import Results  # noqa: E402
from others.stages import STAGES, Result, Trial, next_stage  # noqa: E402
from others.table import markdown  # noqa: E402

TABLE = Path(__file__).parent / "others" / "programs.csv"
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rocm-perf-lab" / "benchmarks" / "programs"


def main() -> None:
    options = arguments()
    end_with_sessions()
    if options.checkout is None:
        print("no checkout of HeCBench: name one")
        return
    table = checkout.read_table(options.table)
    results = Results(options.folder / "results")
    chosen = draw(candidates(options, table, results), options)
    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(lambda program: attempt(program, options, results), chosen))
    by_program = {program.name: results.get(program.name) for program in chosen}
    print(json.dumps(by_program, indent=1) if options.json else report(by_program))


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


def candidates(options: argparse.Namespace, table: dict[str, ProgramEntry], results: Results) -> list[Program]:
    names = options.only or checkout.programs(options.checkout)
    programs = [Program(options.checkout.resolve(), name, table.get(name, ProgramEntry())) for name in names]
    if options.only:
        return programs
    headers, libraries = checkout.installed_headers(), checkout.installed_libraries()
    reasons = {program.name: checkout.why_not_a_candidate(program, headers, libraries) for program in programs}
    left_out = {name: reason for name, reason in reasons.items() if reason}
    options.folder.mkdir(parents=True, exist_ok=True)
    (options.folder / "left_out.json").write_text(json.dumps(left_out, indent=1) + "\n", "utf-8")
    print(f"{len(programs)} programs, {len(programs) - len(left_out)} candidates", file=sys.stderr)
    return [program for program in programs if program.name not in left_out]


def draw(programs: list[Program], options: argparse.Namespace) -> list[Program]:
    """The programs to run: those that --listed and --sample select; all of them with --only, or if neither is given."""
    if options.only or not (options.listed or options.sample):
        return programs
    listed = set(checkout.read_table(options.table))
    unlisted = [program for program in programs if program.name not in listed]
    sampled = random.Random(options.seed).sample(unlisted, min(options.sample or 0, len(unlisted)))
    return [program for program in programs if options.listed and program.name in listed] + sampled


def attempt(program: Program, options: argparse.Namespace, results: Results) -> None:
    trial = Trial(program, options.folder / "work" / program.name, options.timeout)
    result = remembered(results.get(program.name), program, options.again)
    stages: dict[str, Result] = result["stages"]
    while stage := next_stage(stages, options.steps.split(",")):
        trial.folder.mkdir(parents=True, exist_ok=True)
        stages[stage] = STAGES[stage](trial)
        results.put(program.name, result)
        outcome = stages[stage]
        print(
            f"{program.name}: {stage} {outcome['result']}, {outcome['seconds']:.1f} s {outcome['reason']}",
            file=sys.stderr,
            flush=True,
        )


def remembered(result: Result, program: Program, repeated_stages: list[str]) -> Result:
    """The part of an earlier result to keep: no stage whose class is in `repeated_stages`; nothing if the table's entry has
    changed.
    """
    key = {name: value for name, value in asdict(program.entry).items() if name in ("arguments", "macros", "edits", "make")}
    if result.get("given") != key:
        return {"given": key, "stages": {}}
    result["stages"] = {
        stage: ended_stage for stage, ended_stage in result["stages"].items() if ended_stage["class"] not in repeated_stages
    }
    return result


def report(by_program: dict[str, Result]) -> str:
    table = checkout.read_table(TABLE)
    head = ["program", "arguments", *STAGES, "self-check", "seconds", "fault", "reason"]
    rows = [
        row(name, result["stages"], table.get(name, ProgramEntry())) for name, result in sorted(by_program.items()) if result
    ]
    return markdown(head, rows) + "\n" + summary(by_program, table)


def row(name: str, stages: dict[str, Result], entry: ProgramEntry) -> list[object]:
    run = stages.get("run", {})
    words = run.get("command", "").partition(" ")[2]
    ends = [stages.get(stage, {}).get("result") for stage in STAGES]
    fault, reason = blame(stages, entry)
    return [name, words, *ends, run.get("check"), run.get("seconds"), fault, reason]


def blame(stages: dict[str, Result], entry: ProgramEntry) -> tuple[str, str]:
    """Return (class, reason) of the first stage that failed; both are empty if none did. What the table says about a failed
    build or run takes precedence, except over refusals and time-outs.
    """
    stage, worst = next(((stage, result) for stage, result in stages.items() if result["class"]), ("", None))
    if worst is None:
        return "", ""
    is_known_fault = bool(entry.fault) and stage in ("build", "run") and worst["class"] not in (verdict.PROJECT, verdict.TIME)
    return (entry.fault, entry.note) if is_known_fault else (worst["class"], f"{stage}: {worst['reason']}")


def summary(by_program: dict[str, Result], table: dict[str, ProgramEntry]) -> str:
    rows = [[stage, *tally([result["stages"] for result in by_program.values() if result], stage)] for stage in STAGES]
    runs = [result["stages"]["run"] for result in by_program.values() if result and "run" in result["stages"]]
    checks = [sum(run["check"] == check for run in runs) for check in ("PASS", "FAIL", "none")]
    faults = [blame(result["stages"], table.get(name, ProgramEntry()))[0] for name, result in by_program.items() if result]
    fault_counts = ", ".join(f"{kind}: {faults.count(kind)}" for kind in verdict.CLASSES)
    return (
        markdown(["step", "tried", "ok", "failed", "time-out", "skipped"], rows)
        + f"\nSelf-checks: {checks[0]} PASS, {checks[1]} FAIL, {checks[2]} none. Of {len(faults)} programs, "
        + f"{faults.count('')} had no failure; the others by fault: {fault_counts}."
    )


def tally(all_stages: list[dict[str, Result]], stage: str) -> list[int]:
    ends = [stages[stage]["result"] for stages in all_stages if stage in stages]
    return [len(ends), *(ends.count(end) for end in ("ok", "failed", "time-out", "skipped"))]


if __name__ == "__main__":
    main()
