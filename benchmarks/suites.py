"""AMD's own tests of its libraries on the software device: how many cases pass, and why the others do not.

    python benchmarks/suites.py FOLDER [--only LIBRARY...] [--binaries REGEX] [--cap SECONDS] [--case-cap SECONDS]
                                [--seed N --sample K] [--again OUTCOME...] [--device DEVICE] [--json]

Fetches Debian's test packages (librocprim-tests and so on, see others/libraries.py) into FOLDER and unpacks them there; nothing
is installed. Each program (for ggml, each operation) gets --cap seconds. Every case is run at most once: where a refusal, a
fault or a crash ends the process, or a case takes more than --case-cap seconds, the next process continues with the following
case. Results are kept in FOLDER, so a second run continues with the cases that were not reached. --sample K draws K cases from
each program, which run in the program's own order. --again repeats the cases with the given outcomes. --cap 0 only prints the
table.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from others import gtest, libraries, packages  # noqa: E402
from others.libraries import LIBRARIES, Library  # noqa: E402
from others.process import end_with_sessions  # noqa: E402
from others.results import Results  # noqa: E402
from others.table import markdown  # noqa: E402
from others.testing import Binary, CannotList  # noqa: E402

_RANDOM_RECORDS = 4000  # records of test data that a program reads at each start
_STARTS = 120  # seconds that listing the cases may take


def main() -> None:
    options = arguments()
    end_with_sessions()
    if options.folder is None:
        print("no folder for AMD's test packages: name one")
        return
    results = Results(options.folder / "results")
    for library in LIBRARIES if options.cap else ():
        if not options.only or library.name in options.only:
            attempt_library(library, options, results)
    programs = results.all()
    print(json.dumps(programs, indent=1) if options.json else report(programs))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=lambda word: Path(word).resolve())
    parser.add_argument("--only", nargs="+", choices=[library.name for library in LIBRARIES], metavar="LIBRARY")
    parser.add_argument("--binaries", default="", metavar="REGEX")
    parser.add_argument("--cap", type=float, default=60)
    parser.add_argument("--case-cap", type=float, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sample", type=int, metavar="K")
    parser.add_argument("--again", nargs="+", default=[], choices=gtest.OUTCOMES)
    parser.add_argument("--device", default="gfx942")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def attempt_library(library: Library, options: argparse.Namespace, results: Results) -> None:
    if library.devices and options.device not in library.devices:
        print(f"{library.name} is left out: Debian builds it only for {' and '.join(library.devices)}", file=sys.stderr)
        return
    try:
        folder = packages.unpack(library.package, options.folder / "packages", *library.additional_packages)
    except packages.CannotUnpack as why:
        results.put(library.name, {"library": library.name, "binary": "", "problem": str(why), "cases": 0, "outcomes": {}})
        return
    data_folder = options.folder / "drawn" / library.package
    libraries.draw_data(folder, data_folder, library, options.seed, _RANDOM_RECORDS)
    for path in libraries.binaries(folder, library):
        if re.search(options.binaries, path):
            attempt(library, path, libraries.start(folder, data_folder, path, options.device), options, results)


def attempt(library: Library, path: str, command: Sequence[str], options: argparse.Namespace, results: Results) -> None:
    logs = options.folder / "logs" / library.name / Path(path).name
    logs.mkdir(parents=True, exist_ok=True)
    binary = Binary(command, logs, options.case_cap, library.frame)
    try:
        listed, problem = library.frame.parts(Path(path).name, binary.cases(_STARTS)), ""
    except CannotList as why:
        listed, problem = {Path(path).name: []}, str(why)
    for name, cases in listed.items():
        result = results.get(f"{library.name}.{name}") or {"library": library.name, "binary": name, "outcomes": {}}
        outcomes = {case: outcome for case, outcome in result["outcomes"].items() if outcome[0] not in options.again}
        outcomes |= binary.attempt([case for case in choose_cases(cases, options) if case not in outcomes], options.cap)
        result |= {"problem": problem, "cases": len(cases), "outcomes": outcomes}
        results.put(f"{library.name}.{name}", result)
        print(progress_text(result), file=sys.stderr, flush=True)


def choose_cases(cases: list[str], options: argparse.Namespace) -> list[str]:
    if not options.sample:
        return cases
    sampled = set(random.Random(options.seed).sample(cases, min(options.sample, len(cases))))
    return [case for case in cases if case in sampled]


def progress_text(result: dict[str, Any]) -> str:
    counted = gtest.counts(result["outcomes"])
    kinds = ", ".join(f"{count} {kind}" for kind, count in counted.items() if count)
    return f"{result['library']} {result['binary']}: {kinds or 'nothing reached'} of {result['cases']} {result['problem']}"


def report(programs: dict[str, dict[str, Any]]) -> str:
    """The table by library, the table of programs of which some cases did not pass, and the causes."""
    named = [library.name for library in LIBRARIES]
    groups = {name: [program for program in programs.values() if program["library"] == name] for name in named}
    rows = [summed(name, group) for name, group in groups.items() if group]
    head = ["library", "programs", "cases", *gtest.OUTCOMES, "not reached"]
    return "\n".join([markdown(head, rows), markdown(["program", *head[2:]], by_program(programs)), causes(programs)])


def summed(name: str, group: list[dict[str, Any]]) -> list[object]:
    total = Counter[str]()
    for program in group:
        total += Counter(gtest.counts(program["outcomes"]))
    cases = sum(program["cases"] for program in group)
    return [
        name,
        sum(bool(program["binary"]) for program in group),
        cases,
        *(total[kind] for kind in gtest.OUTCOMES),
        cases - total.total(),
    ]


def by_program(programs: dict[str, dict[str, Any]]) -> list[list[object]]:
    notable = (
        program for program in programs.values() if set(kind for kind, _ in program["outcomes"].values()) - {gtest.PASSED}
    )
    return [[f"{program['library']} {program['binary']}", *summed("", [program])[2:]] for program in notable]


def causes(programs: dict[str, dict[str, Any]]) -> str:
    counted: Counter[tuple[str, str, str]] = Counter()
    first: dict[tuple[str, str, str], str] = {}
    for program in programs.values():
        for case, (outcome, why) in program["outcomes"].items():
            if outcome not in (gtest.PASSED, gtest.SKIPPED, gtest.TOO_LONG):
                cause = (program["library"], outcome, gtest.words(why))
                counted[cause] += 1
                first.setdefault(cause, f"{program['binary']} {case}")
    rows = [[library, kind, count, why, first[library, kind, why]] for (library, kind, why), count in counted.most_common()]
    rows += [
        [program["library"], "not started", "", program["problem"][:160], program["binary"]]
        for program in programs.values()
        if program["problem"]
    ]
    return markdown(["library", "outcome", "cases", "first words", "for example"], rows)


if __name__ == "__main__":
    main()
