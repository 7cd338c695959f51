"""How subcommands accept a program and its arguments: everything from the first word that is not an option belongs to the
program.

However, options after a program are often meant for rocm-perf. They are treated as such in two cases. In the first, the program
is one quoted word that contains its arguments, such as "./app 512". In the second, the program is followed only by options of
the command; at least one of these is a long option, and no long one was also given before the program or occurs in the
program's file. `--` before the program removes the ambiguity: everything after it belongs to the program. A note tells the user
how the words were interpreted.
"""

from __future__ import annotations

import mmap
import os
import shlex
import shutil
from collections.abc import Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem

from rocm_perf_lab.cli.device_choice import DeviceChoice
from rocm_perf_lab.cli.progress import note
from rocm_perf_lab.errors import UsageError

END_OF_OPTIONS = "--"
_FOR_SHELLS = ("|", "||", "&&", "&", ";", ">", ">>", "<", "2>", "2>&1", "&>")


class ProgramCommand(click.Command):
    """A command that accepts a program. sources: number of source files before the program; None: one if the first word is a
    HIP source, else zero.
    """

    allow_interspersed_args = False

    def __init__(self, *arguments: Any, sources: int | None = 0, **attributes: Any):
        super().__init__(*arguments, **attributes)
        self.sources = sources

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        before, words = self._split_at_program(ctx, args)
        if ctx.resilient_parsing or before[-1:] == [END_OF_OPTIONS] or not words:
            return super().parse_args(ctx, args)
        count = _words_before_arguments(words, self.sources)
        program, after = words[:count], words[count:]
        _note_what_needs_a_shell(program[-1])
        if after and self._are_ours(ctx, program, before, after):
            words_after = shlex.join(after)
            note(f"{words_after}, after the program, is taken as rocm-perf's; if it is not, write -- before the program")
            return super().parse_args(ctx, [*before, *after, END_OF_OPTIONS, *program])
        if late := self._like_ours(ctx, after):
            note(f"{late} comes after the program and is passed to it; options of rocm-perf come before the program")
        return super().parse_args(ctx, args)

    def _split_at_program(self, ctx: click.Context, args: list[str]) -> tuple[list[str], list[str]]:
        """The words before the program, and the rest. Errors in options are left for click to report."""
        try:
            words = self._words(ctx, args)
        except click.UsageError:
            return args, []
        return args[: len(args) - len(words)], words

    def _words(self, ctx: click.Context, args: Sequence[str]) -> list[str]:
        """The words that are not options, and everything after the first of them."""
        parsed, _, _ = self.make_parser(ctx).parse_args(list(args))
        words: list[str] = []
        for parameter in self.params:
            value = parsed.get(parameter.name) if isinstance(parameter, click.Argument) else None
            words += [value] if isinstance(value, str) else value if isinstance(value, list | tuple) else []
        return words

    def _are_ours(self, ctx: click.Context, program: Sequence[str], before: Sequence[str], after: Sequence[str]) -> bool:
        if is_quoted(program[-1]):
            if END_OF_OPTIONS not in after and self._are_options(ctx, after):
                return True
            message = f"{after[0]} follows the quoted program {program[-1]!r}"
            raise UsageError(
                message, "put the program's arguments inside its quotes; options of rocm-perf can come before or after it"
            )
        names = [_option(word) for word in after if word.startswith("-")]
        earlier_options = {_option(word) for word in before}
        if END_OF_OPTIONS in after or not any(name.startswith("--") for name in names):  # a lone -n 5 is ambiguous
            return False
        known = any(name in earlier_options or _knows(program[-1], name) for name in names if name.startswith("--"))
        return not known and self._are_options(ctx, after)

    def _like_ours(self, ctx: click.Context, after: Sequence[str]) -> str | None:
        """An option that is passed to the program but may have been meant for rocm-perf; None if there is none."""
        options = [option for option in self.get_params(ctx) if isinstance(option, click.Option)]
        names = {name for option in options for name in (*option.opts, *option.secondary_opts) if name.startswith("--")}
        if late := next((word for word in after if _option(word) in names), None):
            return late
        return after[0] if after and after[0].startswith("-") and self._are_options(ctx, after) else None

    def _are_options(self, ctx: click.Context, words: Sequence[str]) -> bool:
        try:
            return not self._words(ctx, words)
        except click.UsageError:
            return False


def is_quoted(word: str) -> bool:
    """Whether the word is a program together with its arguments."""
    return any(map(str.isspace, word)) and not os.path.exists(word)


def _note_what_needs_a_shell(program: str) -> None:
    """Print a note that no shell is involved, if the quoted program contains a word that only a shell understands."""
    if is_quoted(program) and (words := [word for word in program.split() if word in _FOR_SHELLS]):
        note(f"{words[0]} is an argument of {program.split()[0]} here; for a shell write sh -c {shlex.quote(program)}")


def _words_before_arguments(words: Sequence[str], sources: int | None) -> int:
    """Number of words before the program's arguments: the program itself and any source files before it."""
    if sources is None:
        from rocm_perf_lab.hip_source.flags import is_source

        sources = int(is_source(words[0]) and not is_quoted(words[0]))
    has_program = len(words) > sources and not words[sources].startswith("-")
    return min(len(words), sources + has_program) or 1


def _option(word: str) -> str:
    return word.partition("=")[0]


def _knows(program: str, option: str) -> bool:
    """Whether the program's file contains the option's name, which suggests that the option belongs to the program."""
    path = program if os.sep in program else shutil.which(program)
    try:
        with open(path or program, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return content.find(option.encode()) >= 0
    except (OSError, ValueError):
        return False


def complete_file(_context: click.Context, _parameter: click.Parameter, beginning: str) -> list[CompletionItem]:
    """Leave completion of file names to the shell."""
    return [CompletionItem(beginning, type="file")]


program_argument = click.argument(
    "program", nargs=-1, type=click.UNPROCESSED, metavar="PROGRAM [ARGS]...", shell_complete=complete_file
)
device_options_option = click.option(
    "--device-option",
    "device_options",
    multiple=True,
    metavar="NAME[=VALUE]",
    help="Option of the software device: deadlock-after=SECONDS, flush-l2, initial-values=SEED, kernel-limit=N (instructions "
    "per wave), lds-check, memory-check, observe=all|auto|sampled|none (sampled: estimate counters and times from some XCDs; "
    "auto: only for dispatches that take long, as `profile` does by default; none: only compute, without counters and times), "
    "race-check[=SEED], sustained (at the clock that the power limit allows in a load that lasts seconds), timed-cu=N, "
    "timing.NAME=VALUE (a parameter of the timing model), unordered-atomics (with race-check: also report unordered "
    "atomic accesses). Repeatable.",
)
_DEVICE_HELP = (
    "Device to use. hardware: a GPU of this machine; gfx942: the software device as an MI300X; mi300a: as an "
    "MI300A; gfx90a: as one die of an MI250X; gfx1030: as an RX 6800 XT; gfx950: as an MI355X; "
    "auto: a GPU if there is one, else gfx942."
)
device_option = click.option("--device", type=DeviceChoice(several=False), default="auto", show_default=True, help=_DEVICE_HELP)
several_devices_option = click.option(
    "--device",
    type=DeviceChoice(several=True),
    default="auto",
    show_default=True,
    help=f"{_DEVICE_HELP} gfx942:4: four software devices, each linked to all others; at most gfx942:4, mi300a:4, gfx90a:2, "
    "gfx1030:2, gfx950:4.",
)
