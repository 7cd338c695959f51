"""The target of an optimization: a program, the source file to change, and the build that makes the program."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rocm_perf_lab.collect.triton import is_python
from rocm_perf_lab.errors import MissingInputError, NoSourceError, SourceError, UsageError
from rocm_perf_lab.hip_source import HipSource, read
from rocm_perf_lab.hip_source.flags import is_header, is_source
from rocm_perf_lab.hip_source.kernels import files_with_kernels
from rocm_perf_lab.hip_source.kernels_by_text import defines_kernels
from rocm_perf_lab.hip_source.source import OtherUnit
from rocm_perf_lab.optimize.build_commands import BuildCommand, OutputCommand, output_commands
from rocm_perf_lab.optimize.build_description import Build, build_of, units_around
from rocm_perf_lab.optimize.build_tool_output import DATABASE, MAKEFILES, NINJA_FILE, commands_of, commands_of_folder, is_script
from rocm_perf_lab.optimize.other_programs import OtherProducts, other_products
from rocm_perf_lab.optimize.source_choice import Choose
from rocm_perf_lab.optimize.source_settings import SourceSettings, UnitSettings

SOURCE, BINARY = "SOURCE", "BINARY"  # placeholders for the source and the program in --build
_PYTHON = ".py"
_DEFAULT_COMMAND = f"hipcc -O3 {SOURCE} -o {BINARY}"


class SeveralSourcesError(NoSourceError):
    """More than one source could be meant. sources: the candidates."""

    def __init__(self, program: Path, sources: Sequence[Path]):
        self.sources = tuple(sources)
        names = ", ".join(map(str, sources[:5]))
        super().__init__(f"{program} has {len(sources)} sources with kernels ({names})", "choose one with --source")


@dataclass(frozen=True)
class BuildTarget:
    """A program and the source file to change.

    source: the file to change. build: makes the whole program from it. unit_command: the command that compiles the unit in
    which the source is read. units: the program's other units, and units of other programs. other_products: other products
    built from the source. name: the program's file name. arguments: the program's arguments. found_by: how the source was
    found, in words.
    """

    source: Path
    build: Build
    unit_command: OutputCommand
    units: tuple[OtherUnit, ...]
    name: str
    arguments: tuple[str, ...]
    found_by: str
    other_products: OtherProducts = OtherProducts()

    def read(self, state: bytes | None = None) -> HipSource:
        """Read the source. state: used instead of the files' contents. Raises SourceError."""
        main = self.unit_command.sources[0]
        if main.resolve() == self.source.resolve():
            main = self.source
        return read(self.source, self.unit_command.argv, self.unit_command.folder, state, main, self.units)


def _build_target(source: Path, build: Build, program: Path, arguments: Sequence[str], found_by: str) -> BuildTarget:
    unit, units = units_around(build, source)
    more = other_products(build, source)
    for command, files in more.units.items():
        units += (OtherUnit(command.sources[0], command.argv, command.folder, source.resolve() in files, linked=False),)
    return BuildTarget(source, build, unit, units, program.name, tuple(arguments), found_by, more)


def _switch_to_header(build_target: BuildTarget, program: Path) -> BuildTarget:
    """If the source has no kernel, switch to the included file that has kernels. Raises NoSourceError if there are several."""
    try:
        source = build_target.read()
        if source.kernels:
            return build_target
        headers = list(dict.fromkeys(files_with_kernels(source.device)))
    except SourceError:
        return build_target  # the compiler will report the error
    if not headers:
        return build_target
    header = _expect_one_source(program, headers, str(build_target.source))
    return _build_target(
        header, build_target.build, program, build_target.arguments, f"the includes of {build_target.source.name}"
    )


def settings_of(build_target: BuildTarget) -> SourceSettings:
    """The settings needed to read the source a second time."""
    units = [
        UnitSettings(
            main=str(other_unit.main),
            command=list(other_unit.command),
            folder=str(other_unit.folder),
            includes=other_unit.includes,
            files=list(map(str, other_unit.files)),
            linked=other_unit.linked,
        )
        for other_unit in build_target.units
    ]
    unit = build_target.unit_command
    return SourceSettings(build=list(unit.argv), folder=str(unit.folder), main=str(build_target.read(b"").main), units=units)


def reader_of(settings: SourceSettings, source: Path) -> Callable[[bytes], HipSource]:
    """Returns a function that reads texts in the same way as a build target with these settings."""
    folder, main = Path(settings.folder), Path(settings.main)
    units = [
        OtherUnit(
            Path(unit.main), tuple(unit.command), Path(unit.folder), unit.includes, tuple(map(Path, unit.files)), unit.linked
        )
        for unit in settings.units
    ]
    return lambda text: read(source, settings.build, folder, text, main, units)


def find_build_target(argv: Sequence[str], source: Path | None, build: str | None, choose: Choose | None = None) -> BuildTarget:
    """Find the program, its source and its build.

    argv: PROGRAM ARGS..., or SOURCE "PROGRAM ARGS...". source, build: as given by the user; None if not given. choose: picks
    one of several sources.

    Raises UsageError, MissingInputError, NoSourceError if no source is found or several could be meant, and whatever `choose`
    raises.
    """
    if not argv:
        raise UsageError("no program given", "name one after the options, for example `./app --its-arguments`")
    program, arguments = program_of(argv, source)
    if source.suffix == _PYTHON if source is not None else build is None and is_python(program):
        raise UsageError(
            f"{source or program} is Python, but this command changes kernels in HIP sources",
            "for a Triton function, name it with --triton SCRIPT::KERNEL; "
            "for kernels of a library that Python loads, name their --source and --build",
        )
    try:
        return _find_only_target(argv, program, arguments, source, build)
    except SeveralSourcesError as error:
        chosen = choose(program, arguments, error.sources) if choose else None
        if chosen is None:
            raise
        main = source or (Path(argv[0]) if _is_source(argv[0]) else None)
        if build is not None and main is not None:  # SOURCE stands for the main file, which includes the chosen one
            build = " ".join(shlex.quote(str(main)) if word == SOURCE else word for word in build.split())
        target = _find_only_target((str(program), *arguments), program, arguments, chosen, build)
        return replace(target, found_by="its kernel's share of the time")


def _find_only_target(
    argv: Sequence[str], program: Path, arguments: Sequence[str], source: Path | None, build: str | None
) -> BuildTarget:
    named, found_by = source, "--source"
    if source is None and _is_source(argv[0]):
        named, found_by = Path(argv[0]), "the command line"
    if named is not None and not named.is_file():
        message = f"{named} is not a file" if named.exists() else f"{named} does not exist"
        raise MissingInputError(message, "name the program's source with --source")
    if named is None and build is not None and SOURCE in build.split():
        named, found_by = _find_source(program)
    program_build, how = _find_build(build, named, program)
    if named is None and program_build is not None:
        named, found_by = _expect_one_source(program, program_build.sources_with_kernels(), how), how
    elif named is None:
        named, found_by = _find_source(program)
    program_build = program_build or _default_build(named, program)
    build_target = _build_target(named, program_build, program, arguments, found_by)
    return build_target if _has_kernels(named) else _switch_to_header(build_target, program)


def program_of(argv: Sequence[str], source: Path | None) -> tuple[Path, list[str]]:
    """The program and its arguments. If only SOURCE is given, the program has the same name without the suffix. Raises
    UsageError.
    """
    if source is None and _is_source(argv[0]):
        argv = argv[1:] or (f"./{Path(argv[0]).stem}",)
    program, *arguments = _split_command(argv)
    if program.startswith("-"):
        raise UsageError(f"expected a program, found {program}", "put options before the source and the program")
    return Path(program), arguments


def _split_command(argv: Sequence[str]) -> list[str]:
    if os.path.exists(argv[0]) or (len(argv) > 1 and not any(map(str.isspace, argv[0]))):
        return list(argv)
    if len(argv) > 1:
        hint = "put options before it, and its arguments inside the quotes"
        raise UsageError(f"{argv[1]} follows the program {argv[0]!r}", hint)
    try:
        return shlex.split(argv[0]) or [""]
    except ValueError as error:
        raise UsageError(f"cannot split {argv[0]!r} into words ({error})", "balance its quotes") from error


def _is_source(word: str) -> bool:
    return is_source(word) or (is_header(word) and os.path.isfile(word))


def _find_source(program: Path) -> tuple[Path, str]:
    if not program.is_file() and os.sep not in str(program) and (installed := shutil.which(program)):
        message = f"{program} is {installed}, which is not built from HIP source here"
        raise NoSourceError(message, "name the program that is built (./app), or the source: --source FILE --build CMD")
    if not program.is_file():
        raise MissingInputError(f"{program} does not exist", "build it first, or name its source: --source FILE")
    paths = list(_sources_by_name(program))
    if sources := [path for path in paths if _has_kernels(path)] or (paths if len(paths) == 1 else []):
        return _expect_one_source(program, sources, "its name"), "its name"
    raise NoSourceError(
        f"the source of {program} was not found (no debug information, no {DATABASE} or {NINJA_FILE}, and no file of its name "
        "beside it)",
        "name it with --source, or build the program with -g",
    )


def _expect_one_source(program: Path, sources: Sequence[Path], where: str) -> Path:
    if len(sources) == 1:
        return sources[0]
    if sources:
        raise SeveralSourcesError(program, sources)
    raise NoSourceError(f"{where} names no source of {program} with a kernel", "name it with --source")


def _sources_in_debug_information(program: Path) -> Iterator[Path]:
    """The files named by the program's compile units, if they exist (DWARF 5, section 3.1.1)."""
    from elftools.common.exceptions import DWARFError, ELFError
    from elftools.elf.elffile import ELFFile

    try:
        with program.open("rb") as file:
            elf = ELFFile(file)
            if not elf.has_dwarf_info():
                return
            for unit in elf.get_dwarf_info().iter_CUs():
                attributes = unit.get_top_DIE().attributes
                name, folder = (
                    attributes[key].value.decode() if key in attributes else "" for key in ("DW_AT_name", "DW_AT_comp_dir")
                )
                if name and (Path(folder) / name).is_file():
                    yield (Path(folder) / name).resolve()
    except (ELFError, DWARFError, OSError, UnicodeDecodeError):
        return  # a script or a damaged file: there are other ways to find the source


def _sources_by_name(program: Path) -> Iterator[Path]:
    stems = (program.stem, program.stem.removesuffix("_testbed"))
    for path in sorted(program.resolve().parent.iterdir()):
        if path.stem in stems and is_source(path.name):
            yield path


def _build_list_near(path: Path) -> Path | None:
    """The file in a nearby build folder that lists the build's commands; None if there is none."""
    folders = [path.resolve().parent, *path.resolve().parent.parents[:2], Path.cwd()]
    return next((folder / name for folder in folders for name in (DATABASE, NINJA_FILE) if (folder / name).is_file()), None)


def _has_kernels(path: Path) -> bool:
    return is_source(path.name) and defines_kernels(path.read_bytes())


def _find_build(text: str | None, source: Path | None, program: Path) -> tuple[Build | None, str]:
    """The build (given by the user, or found in a CMake folder, a Makefile or debug information) and, in words, where it came
    from.

    None if there is no build.
    """
    if text is not None:
        if source is not None and is_header(source.name) and SOURCE in text.split():
            raise NoSourceError(
                f"{source} is a header, which no compiler takes as {SOURCE}", "name the file that includes it in --build"
            )
        commands = commands_of(text, Path.cwd())
        left_out = (
            tuple(shlex.join(command.argv) for command in commands if not output_commands([command])) if is_script(text) else ()
        )
        build = build_of([_fill_placeholders(command, source, program) for command in commands], program)
        return replace(build, left_out=left_out), "--build"
    plan = _build_list_near(program) or (_build_list_near(source) if source is not None else None)
    if plan is not None and (planned_build := _build_of_folder(plan.resolve().parent, source, program)):
        return planned_build, plan.name
    if (makefile_build := _build_by_makefile(source, program)) is not None:
        return makefile_build, "the Makefile"
    return _build_from_units(source, program), "its debug information"


def _build_from_units(source: Path | None, program: Path) -> Build | None:
    """The default command, applied to all files that the program's debug information names."""
    paths = [path for path in dict.fromkeys(_sources_in_debug_information(program)) if is_source(path.name)]
    if not paths or (source is not None and not is_header(source.name) and source.resolve() not in paths):
        return None
    argv = shlex.split(_DEFAULT_COMMAND.replace(SOURCE, shlex.join(map(str, paths))))
    return build_of([_fill_placeholders(BuildCommand(tuple(argv), Path.cwd()), source, program)], program)


def _build_by_makefile(source: Path | None, program: Path) -> Build | None:
    """The Makefile's build if it makes exactly this program; otherwise None."""
    folder = program.resolve().parent
    if not any((folder / name).is_file() for name in MAKEFILES):
        return None
    build = _build_of_folder(folder, source, program)
    return build if build is not None and build.commands[-1].output.resolve() == program.resolve() else None


def _build_of_folder(folder: Path, source: Path | None, program: Path) -> Build | None:
    """The folder's build; None if it does not make the program. That is not an error, since the user did not say that the
    folder belongs to the program.
    """
    try:
        commands = commands_of_folder(folder)
        build = build_of([*commands, *_compile_and_link(commands, source, program)], program)
    except UsageError:
        return None
    mains = [command.sources[0].resolve() for command in build.units]
    its_own = build.commands[-1].output.name == program.name or (source is not None and source.resolve() in mains)
    return build if its_own else None


def _compile_and_link(commands: Sequence[BuildCommand], source: Path | None, program: Path) -> list[BuildCommand]:
    """One command that compiles and links, for a database that shows how the source is compiled but not how to link it."""
    makers = output_commands(commands)
    if any(not command.compiles for command in makers):
        return []
    fits = (lambda command: source is not None and command.sources[0].resolve() == source.resolve(), lambda command: True)
    of_it = next(filter(None, ([command for command in makers if fit(command)] for fit in fits)), [])
    by_name = [command for command in of_it if command.sources[0].stem == program.stem] or of_it
    if len(by_name) != 1:
        return []
    argv, folder = [word for word in by_name[0].argv if word != "-c"], by_name[0].folder
    argv[argv.index("-o") + 1] = str(Path.cwd() / program)
    return [BuildCommand(tuple(argv), folder)]


def _default_build(source: Path, program: Path) -> Build:
    if is_header(source.name):
        raise NoSourceError(
            f"{source} is a header, and it is not known which file includes it",
            "say how the program is built: --build COMMAND, `--build make`, or --build BUILD_FOLDER",
        )
    return build_of(
        [_fill_placeholders(command, source, program) for command in commands_of(_DEFAULT_COMMAND, Path.cwd())], program
    )


def _fill_placeholders(command: BuildCommand, source: Path | None, program: Path) -> BuildCommand:
    """Replace SOURCE and BINARY with the names of the two files."""
    names = {BINARY: str(Path.cwd() / program)} | ({SOURCE: str(source.absolute())} if source is not None else {})
    return BuildCommand(tuple(names.get(word, word) for word in command.argv), command.folder)
