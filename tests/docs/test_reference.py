"""The generated pages of the reference are what the commands and documents say of themselves, now."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from rocm_perf_lab.autotune import results as autotune
from rocm_perf_lab.cli import cli
from rocm_perf_lab.cli.json_fields import JSON_FIELDS
from rocm_perf_lab.cli.reference import PAGES
from rocm_perf_lab.llm.budget import Budget
from rocm_perf_lab.llm.outcome import ModelOutcome
from rocm_perf_lab.optimize.outcome import Outcome


@pytest.mark.parametrize("path", PAGES)
def test_the_reference_is_up_to_date(repository, path: str):
    assert (repository / path).read_text("utf-8") == PAGES[path](), (
        "an option, a help text, an exit code or a field changed: "
        "run `./dev run python -m rocm_perf_lab.cli.reference` in the repository"
    )


def test_every_field_says_what_it_is():
    """In pages of tables an empty cell is a question."""
    assert not [
        line for page in PAGES.values() for line in page().splitlines() if line.startswith("|") and line.endswith("|  |")
    ]


def test_every_command_with_json_has_its_fields_named():
    with_json = set()
    for name in cli.list_commands(click.Context(cli)):
        command = cli.get_command(click.Context(cli), name)
        inner = {f"{name} {part}": one for part, one in getattr(command, "commands", {}).items()} or {name: command}
        with_json |= {path for path, one in inner.items() if any(parameter.name == "as_json" for parameter in one.params)}
    assert with_json == set(JSON_FIELDS), "add what is missing to rocm_perf_lab/cli/json_fields.py"


def test_fields_are_those_of_the_objects():
    """Of what can be made without a run; tests/mcp compares those of whole runs."""
    optimized = Outcome(Path(), "", Path())
    tuned = autotune.Result("", 0, 0, "", None, [], {}, {})
    made = {
        "optimize": optimized.document(),
        "llm-optimize": ModelOutcome(optimized, Budget(None, None, 1)).document(),
        "autotune": autotune.document(tuned),
    }
    for name, document in made.items():
        assert set(document) == set(JSON_FIELDS[name]), f"{name}: rocm_perf_lab/cli/json_fields.py names other fields"
