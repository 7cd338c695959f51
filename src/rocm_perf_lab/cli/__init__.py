"""The `rocm-perf` command: one file per subcommand, imported only when the subcommand runs or its help is requested.

No module of this package imports numpy, pyarrow, pydantic or rich at the top level: `rocm-perf --help` must be instant.
"""

from __future__ import annotations

import errno
import gc
import importlib
import io
import os
import signal
import sys
from typing import NoReturn

import click

from rocm_perf_lab import __version__
from rocm_perf_lab.cli import debian_root_entry, debug, missing_path_advice, signals
from rocm_perf_lab.errors import MissingInputError, OutputError, RocmPerfError, UsageError, exit_codes

_GARBAGE_THRESHOLD = 100_000  # imports and models create many objects but no garbage; the default is far lower
_OUTPUT_ERRORS = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EROFS,
    errno.EFBIG,
}  # always caused by an output file, wherever they are raised
COMMANDS = {
    "profile": "profile",
    "analyze": "analyze",
    "report": "report",
    "explain": "explain",
    "source": "source",
    "compare": "compare",
    "ci": "ci",
    "export": "export",
    "run": "run",
    "isolate": "isolate",
    "replay": "replay",
    "optimize": "optimize",
    "prompt": "prompt",
    "gate": "gate",
    "llm-optimize": "llm_optimize",
    "autotune": "autotune",
    "mcp": "mcp",
    "skill": "skill",
    "setup": "setup",
    "shell": "shell",
    "doctor": "doctor",
    "ceilings": "ceilings",
    "counters": "counters",
    "schema": "schema",
    "completion": "completion",
}


class LazyGroup(click.Group):
    """Imports the module of a subcommand when that subcommand is looked up."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"rocm_perf_lab.cli.{COMMANDS[name]}").command
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name in COMMANDS or name.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        if name == "help":
            return super().resolve_command(ctx, [*args[1:], "--help"]) if args[1:] else _help_of(ctx)
        raise click.UsageError(f"No such command {name!r}.{_meant(name)}", ctx)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code), meaning) for code, meaning in exit_codes()])


def _help_of(ctx: click.Context) -> NoReturn:
    click.echo(ctx.get_help())
    ctx.exit()


def _meant(name: str) -> str:
    """The hint after an unknown command: a similar command, or how to profile a program with that name; otherwise empty."""
    import difflib
    import shutil

    if os.sep not in name and (near := difflib.get_close_matches(name, COMMANDS, 1)):
        return f" Did you mean {near[0]!r}?"
    is_program = os.path.isfile(name) or (os.sep not in name and shutil.which(name))
    return f" To profile a program: rocm-perf profile {name}." if is_program else ""


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, "--version", "-V", message="rocm-perf %(version)s")
def cli() -> None:
    """Find what holds a HIP program back, on an AMD GPU or on a software device."""


def main() -> None:
    """Run the command line of this process and exit with a documented exit code."""
    gc.set_threshold(_GARBAGE_THRESHOLD)
    _open_closed_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # file names can contain any bytes; stderr already accepts them
    debian_root_entry.enter_if_needed(sys.argv[1:])
    signals.end_on_signals()
    code = _run_cli(sys.argv[1:])
    signals.leave_signals_to_the_system()
    gc.freeze()  # exiting frees everything anyway, so skip the search for garbage
    sys.exit(code)


def _run_cli(arguments: list[str]) -> int:
    try:
        return cli.main(arguments or ["--help"], prog_name="rocm-perf", standalone_mode=False) or 0
    except (KeyboardInterrupt, click.Abort):
        return _interrupted(signal.SIGINT)
    except Exception as error:
        number = signals.received()
        return _fail(_as_ours(error)) if number is None else _interrupted(number)


def _interrupted(number: int) -> int:
    print("rocm-perf: interrupted", file=sys.stderr)
    return 128 + number


def _as_ours(error: Exception) -> RocmPerfError:
    match error:
        case RocmPerfError():
            return error
        case click.UsageError():
            return _usage_error(error)
        case click.ClickException():
            return UsageError(error.format_message())
        case OSError() if error.errno in _OUTPUT_ERRORS:
            message = f"{error.filename or 'the output'} cannot be written ({error.strerror})"
            return OutputError(message, "free some space, or write elsewhere")
        case FileNotFoundError() if _folder_is_gone():
            return MissingInputError("the current folder has been removed", "change to one that exists")
        case _:
            return _defect(error)


def _folder_is_gone() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _defect(error: Exception) -> RocmPerfError:
    return RocmPerfError(f"{type(error).__name__}: {error}", "this is a defect; --debug shows where")


# click names its types rather than what they accept.
_NOT_A_NUMBER = {"is not a valid integer range": "is not a whole number", "is not a valid float range": "is not a number"}


def _usage_error(error: click.UsageError) -> UsageError:
    context = error.ctx
    message = error.format_message().rstrip(".")
    if isinstance(error, click.NoSuchOption):
        if context and context.parent and isinstance(context.command, click.Group):
            message += f": options come after one of {', '.join(context.command.list_commands(context))}"
        elif not _is_likely(error):
            message = f"No such option {error.option_name!r}"
    for click_text, own_text in _NOT_A_NUMBER.items():
        message = message.replace(click_text, own_text)
    return UsageError(message, f"`{_command(context)} --help` lists what it accepts")


def _command(context: click.Context | None) -> str:
    """The command as the user types it: "rocm-perf replay full-vm"."""
    if context is None or context.parent is None:
        return "rocm-perf"
    return f"{_command(context.parent)} {context.info_name}"


def _is_likely(error: click.NoSuchOption) -> bool:
    """Whether the user probably meant click's suggestion; click includes the dashes in its comparison, this function does
    not.
    """
    import difflib

    names = [name.lstrip("-") for name in error.possibilities or ()]
    return bool(difflib.get_close_matches(error.option_name.lstrip("-"), names))


def _fail(error: RocmPerfError) -> int:
    if debug.enabled:
        import traceback

        traceback.print_exc()
    print(f"rocm-perf: error: {error}{missing_path_advice.advice(error)}", file=sys.stderr)
    return error.exit_code


def _open_closed_streams() -> None:
    """Replace standard streams that are closed (`2>&-`) with /dev/null, so that no other file is given their descriptors."""
    for descriptor, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(descriptor)
        except OSError:
            os.dup2(opened := os.open(os.devnull, os.O_RDWR), descriptor)
            if opened != descriptor:
                os.close(opened)
            setattr(sys, name, open(descriptor, mode, closefd=False))  # noqa: SIM115 - open while the process runs
