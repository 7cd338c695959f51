"""`rocm-perf autotune`: finds the best configuration of a program with as few runs as possible."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import click

from rocm_perf_lab.autotune.strategy_registry import STRATEGIES, defaults
from rocm_perf_lab.cli.debug import debug_option
from rocm_perf_lab.cli.number import FiniteNumber
from rocm_perf_lab.cli.program_arguments import device_option
from rocm_perf_lab.cli.progress import note
from rocm_perf_lab.errors import UsageError

_FILE = click.Path(path_type=Path, dir_okay=False)
_POSITIVE = FiniteNumber(min=0, min_open=True)
_Command = TypeVar("_Command", bound=Callable[..., object])


def _strategy_options(command: _Command) -> _Command:
    """Add each strategy's own options to the command."""
    for strategy, registered in reversed(STRATEGIES.items()):
        for option in reversed(registered.options):
            number = FiniteNumber(option.minimum, option.maximum, min_open=option.excludes_minimum)
            text = f"{strategy}: {option.help[0].lower()}{option.help[1:]}"
            command = click.option(option.flag, type=number, default=option.default, show_default=True, help=text)(command)
    return command


def _own_options(strategy: str, options: Mapping[str, float]) -> dict[str, float]:
    """The values of this strategy's own options, without those of the other strategies."""
    return {name: options[name] for name in defaults(strategy)}


@click.command()
@click.option("--space", type=_FILE, metavar="FILE", help="Space file in JSON: parameters, their values, and constraints.")
@click.option("--cmd-template", "cmd", metavar="TEMPLATE", help="Command to time, with {NAME} for parameters.")
@click.option(
    "--build-template", "build", metavar="TEMPLATE", help="Command that builds {output} first; {defines} stands for the macros."
)
@click.option("--check", metavar="TEMPLATE", help="Command that reads the program's output and fails if it is wrong.")
@click.option("--simulate", type=_FILE, metavar="FILE", help="Kernel Tuner cache or T4 file to search; nothing runs.")
@click.option("--triton", "triton_kernel", metavar="SCRIPT::KERNEL",
              help="Triton function to tune, for all sizes with which the script launches it; ARGS are the script's "
                  "arguments.")  # fmt: skip
@click.option("--python", default="python3", show_default=True, metavar="PYTHON",
              help="--triton: Python interpreter that has Triton.")  # fmt: skip
@click.option("--key", metavar="NAME,...",
              help="--triton: arguments that distinguish sizes.  [default: the function's key, or all integers]")  # fmt: skip
@click.option("--tolerance", type=_POSITIVE, metavar="REL",
              help="--triton: largest difference allowed between results of configurations, relative to an array's "
                  "largest number.  [default: 32 times the type's epsilon]")  # fmt: skip
@click.option(
    "--strategy", type=click.Choice(tuple(STRATEGIES)), default="sequential", show_default=True,
    help="Search strategy.",
)  # fmt: skip
@click.option("--budget", metavar="N|TIME", help="Maximum number of evaluations, or a time: 200, 90s, 2h.  [default: all]")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Random seed.")
@_strategy_options
@click.option("--workers", type=click.IntRange(1, 256),
              help="Number of parallel evaluations, each on its own GPU.  [default: 1; with --scheduler, one per "
                  "GPU]")  # fmt: skip
@click.option("--scheduler", metavar="ADDRESS", help="Dask scheduler whose workers with GPU=1 run the evaluations.")
@device_option
@click.option("--measure", type=click.Choice(("auto", "gpu", "wall")), default="auto", show_default=True,
              help="Time to compare. gpu: time in kernels; wall: time of the process; auto: gpu if the program "
                  "launches kernels.")  # fmt: skip
@click.option("--runs", type=click.IntRange(1, 1000), help="Measurements per configuration.  [default: 3; 1 if modelled]")
@click.option("--timeout", type=_POSITIVE, metavar="SECONDS", help="Timeout per build, run and check.")
@click.option("--cache", type=_FILE, default=Path(".rocm-perf-autotune.db"), show_default=True, metavar="FILE",
              help="File that keeps results for reuse.")  # fmt: skip
@click.option("--no-cache", is_flag=True, help="Neither reuse nor keep results.")
@click.option("--write-config", type=_FILE, metavar="FILE", help="Write the best configuration and the fixed values as JSON.")
@click.option("--write-triton", type=_FILE, metavar="FILE", help="--triton: write the best configurations as Python.")
@click.option("--write-t4", type=_FILE, metavar="FILE", help="Write all results in Kernel Tuner's T4 format.")
@click.option(
    "--write-report",
    type=_FILE,
    metavar="FILE",
    help="Write an HTML page with the best, all times, and each parameter's effect.",
)
@click.option("--profile", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
              help="Profile the best configuration, and write this run directory.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
@debug_option
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[ARGS]...")
def command(
    space: Path | None, cmd: str | None, build: str | None, check: str | None, simulate: Path | None,
    triton_kernel: str | None, python: str, key: str | None, tolerance: float | None, arguments: tuple[str, ...], strategy: str,
    budget: str | None, seed: int, workers: int | None, scheduler: str | None, device: str, measure: str, runs: int | None,
    timeout: float | None, cache: Path, no_cache: bool, write_config: Path | None, write_t4: Path | None,
    write_report: Path | None, write_triton: Path | None, profile: Path | None, as_json: bool, **strategy_options: float,
) -> None:  # fmt: skip
    """Find the fastest configuration of a program, such as its tile sizes.

    No configuration runs twice: results are cached, so an interrupted search can resume, and later searches reuse them.
    """
    if triton_kernel is not None:
        _expect_none_of(
            {"--cmd-template": cmd, "--build-template": build, "--check": check, "--simulate": simulate, "--runs": runs,
             "--scheduler": scheduler, "--profile": profile, "--write-t4": write_t4, "--write-report": write_report}
        )  # fmt: skip
        from rocm_perf_lab.autotune.destinations import expect_writable
        from rocm_perf_lab.autotune.triton_kernel.plan import TritonPlan
        from rocm_perf_lab.cli.triton_tuning import TuningOutput, tune_and_print
        from rocm_perf_lab.triton_launches import ScriptKernel

        names = tuple(key.split(",")) if key else ()
        own, cache_file = _own_options(strategy, strategy_options), None if no_cache else cache
        script = Path(triton_kernel.rpartition("::")[0])
        expect_writable(filter(None, (write_config, write_triton)), filter(None, (space, script, cache_file)))
        kernel = ScriptKernel.of(triton_kernel, arguments, python)
        plan_of_kernel = TritonPlan(kernel, space, names, device, workers, timeout, tolerance)
        tune_and_print(
            plan_of_kernel, strategy, seed, budget, own, cache_file, TuningOutput(write_config, write_triton, as_json)
        )
        return
    if arguments or key or tolerance or write_triton:
        raise UsageError("arguments, --key, --tolerance and --write-triton are for --triton", "add it, or omit them")
    if simulate is None and (space is None or cmd is None):
        raise UsageError("--space or --cmd-template is missing", "give both, or --simulate FILE")
    if simulate is not None and (space or cmd or build or check or scheduler or profile):
        raise UsageError("--simulate runs nothing and brings its own space", "omit --space, the templates and similar options")
    if scheduler is not None and profile is not None:
        raise UsageError("--profile is for this machine, not for --scheduler", "give --write-config, then profile the best")
    from rocm_perf_lab.autotune.bench import Plan
    from rocm_perf_lab.autotune.destinations import expect_writable, write_text
    from rocm_perf_lab.autotune.entry import AutotuneRequest, autotune
    from rocm_perf_lab.autotune.page import page
    from rocm_perf_lab.autotune.results import document
    from rocm_perf_lab.autotune.search_loop import best_of
    from rocm_perf_lab.autotune.t4 import t4
    from rocm_perf_lab.autotune.table import table
    from rocm_perf_lab.json_model import json_text
    from rocm_perf_lab.run_directory import expect_replaceable

    expect_writable(filter(None, (write_config, write_t4, write_report)), filter(None, (space, simulate, cache)))
    if profile is not None:
        expect_replaceable(profile)
    plan = None
    if space is not None and cmd is not None:
        plan = Plan(space, cmd, build, check, device, measure, runs, timeout)
    request = AutotuneRequest(
        strategy=strategy, seed=seed, budget=budget, strategy_options=_own_options(strategy, strategy_options), workers=workers,
        plan=plan, scheduler=scheduler, simulate=simulate, cache=None if no_cache else cache, profile=profile,
    )  # fmt: skip
    result = autotune(request, note)
    if write_config and (best := best_of(result.evaluated)):
        write_text(write_config, _as_json({**result.fixed, **best.values}) + "\n")
    if write_t4:
        write_text(write_t4, _as_json(t4(result)) + "\n")
    if write_report:
        write_text(write_report, page(result))
        note(f"wrote {write_report}")
    click.echo(json_text(document(result)) if as_json else "\n".join(table(result)))


def _as_json(content: object) -> str:
    return json.dumps(content, indent=2, allow_nan=False)


def _expect_none_of(options: Mapping[str, object]) -> None:
    """Reject options that --triton does not accept."""
    if named := [name for name, value in options.items() if value is not None]:
        raise UsageError(f"{named[0]} is not for --triton, which runs the script itself", "omit it")
