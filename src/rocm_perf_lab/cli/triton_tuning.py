"""What `rocm-perf autotune --triton` does: tunes a Triton kernel, and prints and writes the results."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from rocm_perf_lab.autotune.triton_kernel.plan import TritonPlan
from rocm_perf_lab.cli.progress import note


@dataclass(frozen=True)
class TuningOutput:
    """config: file for the best configurations as JSON. source: file for the best configurations as Python."""

    config: Path | None
    source: Path | None
    as_json: bool


def tune_and_print(
    plan: TritonPlan, strategy: str, seed: int, budget: str | None, own: Mapping[str, float], cache: Path | None,
    output: TuningOutput,
) -> None:  # fmt: skip
    """own: the strategy's options. cache: None to keep no results. Raises what tune() raises, and OutputError."""
    from rocm_perf_lab.autotune.destinations import write_text
    from rocm_perf_lab.autotune.entry import AutotuneRequest
    from rocm_perf_lab.autotune.triton_kernel.configuration_list import configuration_list
    from rocm_perf_lab.autotune.triton_kernel.document import tuning_document
    from rocm_perf_lab.autotune.triton_kernel.size_table import size_table
    from rocm_perf_lab.autotune.triton_kernel.tune import tune
    from rocm_perf_lab.json_model import json_text

    tuned = tune(AutotuneRequest(strategy, seed, budget, own, cache=cache), plan, note)
    document = tuning_document(tuned)
    if output.config:
        write_text(
            output.config, json.dumps([configuration.as_json() for configuration in document.configurations], indent=2) + "\n"
        )
    if output.source:
        write_text(output.source, configuration_list(tuned))
    click.echo(json_text(document) if output.as_json else "\n".join(size_table(tuned)))
