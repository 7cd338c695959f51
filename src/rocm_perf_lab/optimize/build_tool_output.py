"""The commands that a build would run: from `make -n`, `ninja -t commands`, a CMake build folder, or the command itself."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from rocm_perf_lab.errors import UsageError
from rocm_perf_lab.optimize.build_commands import BuildCommand

DATABASE = "compile_commands.json"
NINJA_FILE = "build.ninja"
MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_MAKE, _NINJA = ("make", "gmake"), ("ninja", "ninja-build")
_SECONDS = 120
_ENTERING = re.compile(r"^g?make(\[\d+\])?: (Entering|Leaving) directory '(.*)'$")
_BREAKS = {";", "&&", "||", "|", "&", "(", ")"}
_REDIRECTIONS = {"<", ">", ">>", ">&", "&>"}


def commands_of(text: str, folder: Path) -> list[BuildCommand]:
    """The commands that the value of --build stands for.

    text: the value of --build: a command, several commands joined by &&, a call to make, ninja or `cmake --build`, or a folder.

    Raises UsageError, which describes the mistake.
    """
    if (folder / text).is_dir():
        return commands_of_folder(folder / text)
    argv = _split_words(text)
    tool = Path(argv[0]).name if argv else ""
    if tool in _MAKE:
        return _commands_of_make(argv, folder)
    if tool in _NINJA:
        return _commands_of_ninja(argv, folder)
    if tool == "cmake" and "--build" in argv[:-1]:
        return commands_of_folder(folder / argv[argv.index("--build") + 1])
    return commands_of_shell(text, folder)


def is_script(text: str) -> bool:
    """Whether --build contains the commands themselves, rather than naming a tool or folder that lists them."""
    argv = _split_words(text)
    return not Path(text).is_dir() and (not argv or Path(argv[0]).name not in {*_MAKE, *_NINJA, "cmake"})


def commands_of_folder(folder: Path) -> list[BuildCommand]:
    """The commands that a build folder lists.

    folder: a CMake build folder, or a folder with a Makefile. Raises UsageError if it is neither.
    """
    folder = folder.resolve()
    if (folder / NINJA_FILE).is_file():
        return _commands_of_ninja(["ninja"], folder)
    if (folder / DATABASE).is_file():
        return [*commands_of_database(folder / DATABASE), *_link_commands(folder)]
    if any((folder / name).is_file() for name in MAKEFILES):
        return _commands_of_make(["make"], folder)
    raise UsageError(
        f"{folder} has no {DATABASE}, {NINJA_FILE} or Makefile",
        "name a build folder that has one (CMake writes the first with -DCMAKE_EXPORT_COMPILE_COMMANDS=ON)",
    )


def commands_of_database(database: Path) -> list[BuildCommand]:
    """The commands in a compile_commands.json. Raises UsageError."""
    try:
        entries = json.loads(database.read_text())
        return [
            BuildCommand(
                tuple(entry.get("arguments") or shlex.split(entry["command"])), (database.parent / entry["directory"]).resolve()
            )
            for entry in entries
        ]
    except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
        raise UsageError(f"{database} is not a compilation database ({error!r})", "fix it, or give --build") from error


def _link_commands(folder: Path) -> list[BuildCommand]:
    """The link commands of CMake's Makefiles."""
    scripts = sorted(folder.glob("**/CMakeFiles/*.dir/link.txt"))
    return [command for script in scripts for command in commands_of_shell(script.read_text(), script.parents[2])]


def _commands_of_make(argv: Sequence[str], folder: Path) -> list[BuildCommand]:
    """All commands of a make build, even if their outputs are up to date."""
    output = _run_tool([argv[0], "--dry-run", "--always-make", "--print-directory", *argv[1:]], folder)
    commands: list[BuildCommand] = []
    folders = [folder]
    for line in _whole_lines(output):
        if moved := _ENTERING.match(line):
            folders = [*folders, Path(moved[3])] if moved[2] == "Entering" else folders[:-1] or [folder]
        else:
            commands += _shell_line(line, folders[-1])
    return commands


def _commands_of_ninja(argv: Sequence[str], folder: Path) -> list[BuildCommand]:
    working_folder = folder / argv[argv.index("-C") + 1] if "-C" in argv[:-1] else folder
    targets = [word for word in argv[1:] if not word.startswith("-") and (folder / word).resolve() != working_folder.resolve()]
    return commands_of_shell(_run_tool([argv[0], "-t", "commands", *targets], working_folder), working_folder)


def commands_of_shell(text: str, folder: Path) -> list[BuildCommand]:
    """The simple commands of a script that has no loops or conditions, in order."""
    return [command for line in _whole_lines(text) for command in _shell_line(line, folder)]


def _shell_line(line: str, folder: Path) -> Iterator[BuildCommand]:
    argv: list[str] = []
    for word in [*_tokens(line), ";"]:
        if word not in _BREAKS:
            argv.append(word)
            continue
        if argv[:1] == ["cd"] and len(argv) > 1:
            folder = Path(os.path.normpath(folder / argv[1]))
        elif argv[:1] == ["cmake_link_script"] or argv[1:3] == ["-E", "cmake_link_script"]:
            yield from commands_of_shell((folder / argv[3]).read_text(), folder)
        elif argv:
            yield BuildCommand(tuple(_expand_words(argv, folder)), folder)
        argv = []


def _tokens(line: str) -> list[str]:
    """The words and operators of a line, without redirections; empty if the line is not valid shell syntax."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|()<>")
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        tokens = list(lexer)
    except ValueError:
        return []
    words: list[str] = []
    remaining = iter(tokens)
    for token in remaining:
        if token in _REDIRECTIONS:
            next(remaining, None)
        elif not (token.startswith("#") and not words):
            words.append(token)
    return words


def _expand_words(argv: Sequence[str], folder: Path) -> Iterator[str]:
    for word in (os.path.expandvars(word) for word in argv):
        wild = not word.startswith("-") and any(sign in word for sign in "*?") and not (folder / word).exists()
        matches = sorted(folder.glob(word)) if wild and not os.path.isabs(word) else []
        yield from (str(path.relative_to(folder)) for path in matches) if matches else (word,)


def _whole_lines(text: str) -> list[str]:
    return text.replace("\\\n", " ").splitlines()


def _split_words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UsageError(f"cannot split --build {text!r} into words ({error})", "balance its quotes") from error


def _run_tool(command: Sequence[str], folder: Path) -> str:
    """The command's output. The build is the user's own, and therefore trusted."""
    environment = {**os.environ, "LC_ALL": "C"}
    shown = shlex.join(command)
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, stdin=subprocess.DEVNULL, timeout=_SECONDS, env=environment
        )
    except FileNotFoundError as error:
        raise UsageError(f"{command[0]} was not found to list the build commands", "install it, or give --build") from error
    except subprocess.TimeoutExpired as error:
        raise UsageError(f"`{shown}` did not end within {_SECONDS} s", "give the compiler's command with --build") from error
    if done.returncode:
        last = (done.stderr.decode(errors="replace").strip().splitlines() or [f"status {done.returncode}"])[-1]
        raise UsageError(
            f"`{shown}` failed in {folder}: {last}", "build the program once, or give the compiler's command with --build"
        )
    return done.stdout.decode(errors="replace")
