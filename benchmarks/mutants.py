"""How many single-line mutants of the source the tests catch, without recordings.

    python benchmarks/mutants.py CLONE [--count N] [--skip N] [--seed N] [--packages NAME...] [--jobs N]

CLONE: a clone of the repository in which `./dev run true` has run and that nothing else uses: its files are changed in place,
one line at a time, and restored. Mutations are cosmic-ray's (pip install cosmic-ray): a different operator, comparison or
number, `not` and `break` added or removed, a decorator removed. Lines are drawn from all lines with possible mutations,
whatever their file. A change does not count as a mutant if it affects only an annotation, or only the condition of imports for
annotations (`if TYPE_CHECKING`), or leaves the syntax tree equal.

For each mutant, the tests that are named after its file or import it are run, with mypy, ruff and the conventions of
dataclasses; then the tests that mirror its package, and those of the command line and of the report. A mutant that passes all
of them may still be caught by the rest of the suite, so the share printed is a lower bound.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGES = ("analysis", "arch", "report", "gate", "autotune", "rocpd")
STATIC = ("tests/dev/test_conventions.py", "tests/dev/test_lint.py::test_mypy", "tests/dev/test_lint.py::test_ruff[check]")
OUTPUT_TESTS = ("tests/report", "tests/cli")  # these test how the packages' findings are printed
SECONDS = 900.0  # for one round of tests; a mutant that makes them endless counts as caught


@dataclass(frozen=True)
class Mutant:
    file: Path  # relative to the clone
    line: int
    original: str
    text: str  # the whole file with the change

    def __str__(self) -> str:
        lines = difflib.unified_diff(self.original.splitlines(), self.text.splitlines(), lineterm="", n=0)
        changed = [line for line in lines if line[0] in "+-" and line[:3] not in ("+++", "---")]
        return f"{self.file}:{self.line}\n" + "\n".join(f"    {line}" for line in changed)


def main() -> None:
    options = _arguments()
    if options.clone is None:
        print("no clone to change files in: name one")
        return
    clone = options.clone.resolve()
    if subprocess.run(["git", "status", "--porcelain"], cwd=clone, capture_output=True, check=True).stdout:
        sys.exit(f"{clone} has changes that are not committed: name a clone that nothing else uses")
    mutants = list(_draw_mutants(clone, options.packages, options.count, random.Random(options.seed)))
    caught = 0
    for number, mutant in enumerate(mutants[options.skip :], options.skip + 1):
        began = time.monotonic()
        by = _caught_by(clone, mutant, options.jobs)
        caught += by is not None
        print(f"{number}: {mutant}\n  {f'caught by {by}' if by else 'SURVIVED'} ({time.monotonic() - began:.0f} s)", flush=True)
    print(f"{caught} of {len(mutants[options.skip :])} mutants were caught")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clone", type=Path, nargs="?")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--skip", type=int, default=0, help="leave out the first N, to continue an interrupted run")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--packages", nargs="+", default=PACKAGES)
    parser.add_argument("--jobs", type=int, default=2, help="test processes")
    return parser.parse_args()


def _draw_mutants(clone: Path, packages: list[str], count: int, chance: random.Random) -> Iterator[Mutant]:
    """One mutant for each of `count` different lines, or of fewer if no more lines can be changed."""
    files = [path for name in packages for path in sorted((clone / "src/rocm_perf_lab" / name).rglob("*.py"))]
    candidates: dict[tuple[Path, int], list[tuple[str, int]]] = {}
    for path in files:
        for operator, occurrence, line in _mutations(path.read_text()):
            candidates.setdefault((path, line), []).append((operator, occurrence))
    locations = sorted(candidates)
    chance.shuffle(locations)
    mutants = (_draw_mutant(clone, *location, candidates[location], chance) for location in locations)
    yield from [mutant for mutant, _ in zip((mutant for mutant in mutants if mutant), range(count), strict=False)]


def _mutations(text: str) -> Iterator[tuple[str, int, int]]:
    """Each possible mutation of a file: the operator, the number of its occurrence in the file, and the line."""
    from cosmic_ray import plugins
    from cosmic_ray.ast import ast_nodes, get_ast

    tree = get_ast(text)
    for name in (name for name in plugins.operator_names() if not plugins.get_operator(name).arguments()):
        operator = plugins.get_operator(name)()
        occurrence = 0
        for node in ast_nodes(tree):
            for (line, _column), _end in operator.mutation_positions(node):
                yield name, occurrence, line
                occurrence += 1


def _draw_mutant(clone: Path, path: Path, line: int, mutations: list[tuple[str, int]], chance: random.Random) -> Mutant | None:
    from cosmic_ray import mutating, plugins

    original = path.read_text()
    for name, occurrence in chance.sample(mutations, len(mutations)):
        text = mutating.mutate_code(original, plugins.get_operator(name)(), occurrence)
        if text and _meaning(text) not in (None, _meaning(original)):
            return Mutant(path.relative_to(clone), line, original, text)
    return None


def _meaning(text: str) -> str | None:
    """The syntax tree without annotations, which are never evaluated, and without the condition of their imports; None if the
    syntax is invalid.
    """
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.FunctionDef):
            node.returns = None
        elif isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
        elif isinstance(node, ast.If) and _is_for_annotations(node):
            node.test = ast.Constant(None)
    return ast.dump(tree)


def _is_for_annotations(node: ast.If) -> bool:
    """Whether the statement only holds imports for type checkers, even with `not` put before its condition."""
    test = node.test.operand if isinstance(node.test, ast.UnaryOp) else node.test
    imports = all(isinstance(statement, (ast.Import, ast.ImportFrom)) for statement in node.body)
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING" and imports and not node.orelse


def _caught_by(clone: Path, mutant: Mutant, jobs: int) -> str | None:
    """The first failing test, or why the tests did not complete; None if all pass."""
    path = clone / mutant.file
    path.write_text(mutant.text)
    try:
        for tests in _rounds(clone, mutant.file):
            if by := _failing(clone, tests, jobs):
                return by
        return None
    finally:
        path.write_text(mutant.original)


def _rounds(clone: Path, file: Path) -> Iterator[list[str]]:
    package = Path("tests", *file.parts[2:-1])
    while package != Path("tests") and not (clone / package).is_dir():
        package = package.parent
    own_tests = {*(clone / package).rglob(f"test_*{file.stem}*.py"), *_importing(clone, file)}
    yield [*sorted(str(path.relative_to(clone)) for path in own_tests), *STATIC]
    top = Path(*package.parts[:2])
    yield [str(top)]
    if remaining := [tested for tested in OUTPUT_TESTS if tested != str(top)]:
        yield remaining


def _importing(clone: Path, file: Path) -> Iterator[Path]:
    *packages, name = file.with_suffix("").parts[2:]
    module = re.compile(rf"rocm_perf_lab\.{re.escape('.'.join(packages))}(\.| import [^\n]*\b){name}\b")
    return (path for path in (clone / "tests").rglob("test_*.py") if module.search(path.read_text()))


def _failing(clone: Path, tests: list[str], jobs: int) -> str | None:
    command = ["./dev", "run", "python", "-m", "pytest", "-x", "-q", "-n", str(jobs), "--dist", "loadfile", *tests]
    environment = {name: value for name, value in os.environ.items() if name != "RPL_SHARED"}
    with subprocess.Popen(
        command, cwd=clone, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as process:
        try:
            output, _ = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            return f"no end within {SECONDS:g} s"
    if process.returncode in (0, 5):  # 5: no test was selected
        return None
    failed = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failed[0].split(" - ")[0] if failed else f"pytest's exit code {process.returncode}"


if __name__ == "__main__":
    main()
