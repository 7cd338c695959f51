"""How much worse a candidate may be in other respects, as given on the command line."""

from __future__ import annotations

from dataclasses import replace

import click
import pytest

from rocm_perf_lab.cli import cli
from rocm_perf_lab.errors import UsageError
from rocm_perf_lab.gate.regression_limits import DEFAULTS


@pytest.mark.parametrize("name", ["optimize", "llm-optimize", "prompt", "gate"])
def test_the_help_names_the_defaults(name):
    command = cli.get_command(click.Context(cli), name)
    (option,) = [one for one in command.params if "--max-regression" in one.opts]
    defaults = ",".join(f"{limit}={value:g}" for limit, value in DEFAULTS.document().items())
    assert f"[default: {defaults}]" in option.help


def test_limits_that_are_named_change():
    assert DEFAULTS.with_changes("vgpr=1, lds=0") == replace(DEFAULTS, vgpr=1.0, lds=0.0)


@pytest.mark.parametrize("text", ["", "vgpr", "vgpr=", "vgpr=-0.1", "vgpr=inf", "vgpr=nan", "scratch=1", "vgpr=1,,lds=1"])
def test_text_that_is_not_a_limit_is_refused(text):
    with pytest.raises(UsageError, match="is not a limit"):
        DEFAULTS.with_changes(text)
