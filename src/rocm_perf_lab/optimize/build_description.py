"""Describes how a program is built from its sources: its units, each compiled separately, and the commands that link them.

Nothing else in the user's build is kept: for a candidate, only the units that include the changed file are recompiled, and the
build's other steps are not run.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rocm_perf_lab.errors import NoSourceError, SourceError, UsageError
from rocm_perf_lab.hip_source.kernels_by_text import defines_kernels
from rocm_perf_lab.hip_source.source import OtherUnit
from rocm_perf_lab.optimize.build_commands import BuildCommand, OutputCommand, output_commands, with_libraries
from rocm_perf_lab.optimize.unit_files import files_of


@dataclass(frozen=True)
class Build:
    """The commands that build a program from its sources.

    commands: the commands that build the program, in dependency order; the last one makes the program itself. libraries: builds
    of the shared libraries that are built along with the program, which uses them at their present paths. other_products:
    builds of programs, archives and objects that neither the program nor another product uses. code_objects: the commands that
    make device code for a program to load. left_out: the user's commands that contribute nothing to the program, as written.
    """

    commands: tuple[OutputCommand, ...]
    libraries: tuple[Build, ...] = ()
    left_out: tuple[str, ...] = ()
    code_objects: tuple[OutputCommand, ...] = ()
    other_products: tuple[Build, ...] = ()

    @functools.cached_property
    def units(self) -> tuple[OutputCommand, ...]:
        return tuple(command for command in self.commands if command.sources)

    @functools.cached_property
    def files(self) -> dict[Path, frozenset[Path]]:
        """Output of each unit -> the real paths of the files that the unit is built from. Raises SourceError."""
        return {command.output: files_of(command) for command in self.units}

    def units_including(self, source: Path) -> tuple[OutputCommand, ...]:
        """The units that include `source`. Raises SourceError."""
        if len(self.units) == 1 and self.units[0].sources[0].resolve() == source.resolve():
            return self.units  # no need to ask the compiler
        return tuple(command for command in self.units if source.resolve() in self.files[command.output])

    def code_objects_of(self, source: Path) -> list[Path]:
        """The loadable code objects that are built from `source`. Raises SourceError."""
        return [command.output for command in self.code_objects if source.resolve() in files_of(command)]

    def outputs_from(self, source: Path) -> frozenset[Path]:
        """The outputs that depend on the contents of `source`."""
        outputs = {command.output for command in self.units_including(source)}
        for command in self.commands:
            if outputs & set(command.linked):
                outputs.add(command.output)
        return frozenset(outputs)

    def sources_with_kernels(self) -> list[Path]:
        """The units' main files that contain kernels or, if none of them do, the included files that do."""
        mains = [command.sources[0] for command in self.units if command.is_hip]
        if sources := [path for path in dict.fromkeys(mains) if _has_kernels(path)]:
            return sources
        return sorted(
            {path for command in self.units if command.is_hip for path in self.files[command.output] if _has_kernels(path)}
        )


def build_of(commands: Sequence[BuildCommand], program: Path) -> Build:
    """The build that consists of these commands.

    Raises UsageError if the commands do not make the program, or make several that could be the program.
    """
    makers = output_commands(commands)
    outputs = list(dict.fromkeys(command.output for command in makers))
    by_output = {command.output: with_libraries(command, outputs) for command in makers}
    last = _link_command(by_output, program)
    needed = tuple(_in_dependency_order(last, by_output))
    if not any(command.sources for command in needed):
        raise UsageError(
            f"the build links {last.output.name} but does not say how its objects are compiled",
            "give the whole build with --build",
        )
    if missing := next((command.folder for command in needed if not command.folder.is_dir()), None):
        raise UsageError(f"the build works in {missing}, which does not exist", "build the program once")
    libraries = [command for command in by_output.values() if command.is_shared_library]
    code_objects = tuple(command for command in by_output.values() if command.is_code_object)
    used = {last.output, *(path for command in by_output.values() for path in command.linked)}
    unused = [
        command for command in by_output.values() if command.output not in used and command not in (*libraries, *code_objects)
    ]
    made_with = [
        tuple(Build(tuple(_in_dependency_order(command, by_output))) for command in products)
        for products in (libraries, unused)
    ]
    return Build(needed, made_with[0], code_objects=code_objects, other_products=made_with[1])


def _link_command(commands: dict[Path, OutputCommand], program: Path) -> OutputCommand:
    """The command that makes the program: the one whose output has the program's path or, failing that, its name; otherwise,
    the only command that makes a program.
    """
    linking = [
        command
        for command in commands.values()
        if not (command.compiles or command.output.suffix == ".a" or command.is_shared_library or command.is_code_object)
    ]
    path = Path(os.path.normpath(Path.cwd() / program))
    for fits in (
        lambda command: command.output == path,
        lambda command: command.output.name == program.name,
        lambda command: True,
    ):
        if len(matches := [command for command in linking if fits(command)]) == 1:
            return matches[0]
    if not linking:
        raise UsageError("the build has no command that makes a program", "give one that compiles and links, with --build")
    names = ", ".join(str(command.output) for command in linking[:5])
    raise UsageError(f"the build makes {len(linking)} programs ({names}), and {program} is none of them", "name one of these")


def _in_dependency_order(command: OutputCommand, commands: dict[Path, OutputCommand]) -> Iterator[OutputCommand]:
    seen: set[Path] = set()

    def walk(maker: OutputCommand) -> Iterator[OutputCommand]:
        for path in maker.linked:
            before = commands.get(path)
            if before is not None and path not in seen and not before.is_shared_library:
                seen.add(path)
                yield from walk(before)
        yield maker

    return walk(command)


def units_around(build: Build, source: Path) -> tuple[OutputCommand, tuple[OtherUnit, ...]]:
    """The unit in which `source` is read, and the program's other units.

    Raises NoSourceError if no unit includes it, SourceError if a unit that includes it cannot be judged.
    """
    including = build.units_including(source)
    if not including:
        raise NoSourceError(*_why_not_part(build, source))
    if other := next((command for command in including if not command.is_hip), None):
        raise SourceError(
            f"{source.name} is also part of {other.sources[0].name}, which {Path(other.argv[0]).name} does not compile as HIP",
            "compile it as HIP, or move the kernel to a file of its own",
        )
    own = next((command for command in including if command.sources[0].resolve() == source.resolve()), including[0])
    other_units = [command for command in build.units if command is not own]
    return own, tuple(_other_unit(build, command, command in including) for command in other_units)


def _other_unit(build: Build, command: OutputCommand, includes: bool) -> OtherUnit:
    files = () if command.is_hip else (command.sources[0], *sorted(build.files[command.output]))
    return OtherUnit(command.sources[0], command.argv, command.folder, includes, files)


def _why_not_part(build: Build, source: Path) -> tuple[str, str]:
    if library := next(
        (product.commands[-1].output.name for product in build.libraries if product.units_including(source)), None
    ):
        return f"{source} is compiled into {library}, not into the program", "link it into the program itself, to change it"
    if code_object := next(iter(build.code_objects_of(source)), None):
        return (
            f"{source} is compiled into {code_object.name}, a code object for hipModuleLoad, which cannot be judged yet",
            "kernels that are compiled into the program itself and launched by <<<...>>> or hipLaunchKernel can be judged",
        )
    names = ", ".join(dict.fromkeys(command.sources[0].name for command in build.units[:5]))
    more = ", ..." if len(build.units) > 5 else ""
    return f"{source} is not part of what the build compiles ({names}{more})", "name one of these, or a different --build"


def _has_kernels(path: Path) -> bool:
    try:
        return defines_kernels(path.read_bytes())
    except OSError:
        return False
