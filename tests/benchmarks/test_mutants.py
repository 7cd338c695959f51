"""What counts as a mutant, and which tests have to catch it."""

from __future__ import annotations

from pathlib import Path

import mutants
import pytest

REPOSITORY = Path(__file__).parents[2]
IMPORTS = "if TYPE_CHECKING:\n    from pathlib import Path\n"
TEXT = IMPORTS + "def least(a: int | None, b: int) -> int:\n    limit: int | None = 0\n    return min(a, b) if a else limit\n"


@pytest.mark.parametrize(
    "before, after, is_mutant",
    [
        ("int | None, b", "int & None, b", False),
        ("limit: int | None", "limit: int - None", False),
        ("if TYPE_CHECKING", "if not TYPE_CHECKING", False),
        ("if TYPE_CHECKING", "if DEBUGGING", True),
        ("if a", "if not a", True),
        ("= 0", "= 1", True),
    ],
)
def test_annotations_and_their_imports_are_not_mutated(before: str, after: str, is_mutant: bool) -> None:
    assert TEXT.count(before) == 1
    assert (mutants._meaning(TEXT) != mutants._meaning(TEXT.replace(before, after))) == is_mutant


def test_text_that_is_not_python_is_no_mutant() -> None:
    assert mutants._meaning("return return") is None


@pytest.mark.parametrize(
    "file, own, later",
    [
        (
            "gate/equivalence/races.py",
            {"tests/gate/equivalence/test_races.py"},
            [["tests/gate"], ["tests/report", "tests/cli"]],
        ),
        (
            "gate/source/launch_coverage.py",
            {"tests/gate/source/test_launch_coverage.py"},
            [["tests/gate"], ["tests/report", "tests/cli"]],
        ),
        ("report/terminal_time_stack.py", {"tests/report/test_terminal_time_stack.py"}, [["tests/report"], ["tests/cli"]]),
        ("analysis/thread_trace/waits.py", {"tests/analysis/thread_trace/test_recorded_trace.py"}, [["tests/analysis"]]),
    ],
)
def test_a_modules_own_tests_come_first(file: str, own: set[str], later: list[list[str]]) -> None:
    first, *others = mutants._rounds(REPOSITORY, Path("src/rocm_perf_lab") / file)
    assert own <= set(first) and first[-len(mutants.STATIC) :] == list(mutants.STATIC)
    assert others[: len(later)] == later


def test_tests_that_import_a_module_count_as_its_own() -> None:
    first, *_ = mutants._rounds(REPOSITORY, Path("src/rocm_perf_lab/analysis/user_model_errors.py"))
    assert {"tests/analysis/test_user_model_errors.py", "tests/optimize/test_remeasure.py"} <= set(first)
    assert all((REPOSITORY / one.partition("::")[0]).is_file() for one in first)


def test_a_mutant_shows_the_lines_that_it_changes() -> None:
    one = mutants.Mutant(Path("a.py"), 5, TEXT, TEXT.replace("if a", "if not a"))
    assert str(one) == "a.py:5\n    -    return min(a, b) if a else limit\n    +    return min(a, b) if not a else limit"
