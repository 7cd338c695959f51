"""The commands of a build that contribute to a program (compilers, linkers, archivers), with the files that each one reads and
writes.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from rocm_perf_lab.hip_source.flags import is_source

_COMPILER = re.compile(r"(.+-)?(hipcc|(amd)?clang(\+\+)?|g\+\+|gcc|c\+\+|cc)(-[\d.]+)?(\.bin)?")
_ARCHIVER = re.compile(r"(.+-)?ar(-[\d.]+)?")
_WRAPPERS = ("ccache", "sccache", "distcc", "env", "time", "nice", "@")
_OPTIONS_WITH_VALUE = frozenset(
    ("-o", "-MF", "-MT", "-MQ", "-Xlinker", "-L", "-l", "-x", "-I", "-D", "-U", "-isystem", "-iquote", "-include", "-imacros")
    + ("-Xclang", "-mllvm", "-arch", "--param", "-idirafter", "-T", "-u", "-z", "-target", "-Xcompiler", "-Xassembler")
    + ("-Xpreprocessor", "-Xoffload-linker", "-Xarch_device", "-Xarch_host", "-isysroot", "--sysroot", "-framework", "-rpath")
)
_MAKES_NO_OBJECT = ("-E", "-S", "-M", "-MM", "-fsyntax-only", "--version", "-v", "-###")
_DEPENDENCIES = ("-MD", "-MMD", "-MP", "-MG")  # options for dependency files, which only later builds need
_LINK_OPTIONS = ("-l", "-L", "-Wl,", "-shared", "-static-lib", "-rdynamic", "-pie", "-no-pie")
_DEVICE_ONLY = ("--genco", "--offload-device-only", "--cuda-device-only")
_SHARED_LIBRARY = re.compile(r".+\.so(\.\d+)*")


@dataclass(frozen=True)
class BuildCommand:
    """One command of a build. argv: its command line. folder: its working directory."""

    argv: tuple[str, ...]
    folder: Path


@dataclass(frozen=True)
class OutputCommand:
    """A command that makes one file. sources: files that it compiles. linked: objects and archives that it uses. All paths are
    absolute.

    compiles: whether the command stops before linking.
    """

    argv: tuple[str, ...]
    folder: Path
    output: Path
    sources: tuple[Path, ...] = ()
    linked: tuple[Path, ...] = ()
    compiles: bool = False

    @property
    def is_hip(self) -> bool:
        """Whether the compiler treats the source as HIP: hipcc does so for C++, clang++ for files named .hip."""
        if not self.sources or not _COMPILER.fullmatch(Path(self.argv[0]).name):
            return False
        languages = [after for word, after in pairwise(self.argv) if word == "-x"]
        languages += [word[2:] for word in self.argv if re.fullmatch(r"-x\w+", word)]
        if languages:
            return languages[-1] == "hip"
        if "hipcc" in Path(self.argv[0]).name:
            return self.sources[0].suffix != ".c"
        return self.sources[0].suffix == ".hip"

    @property
    def is_shared_library(self) -> bool:
        return bool(_SHARED_LIBRARY.fullmatch(self.output.name)) or "-shared" in self.argv

    @property
    def is_code_object(self) -> bool:
        """Whether the command makes only device code, for a program to load with hipModuleLoad."""
        return bool(self.sources) and any(word in _DEVICE_ONLY for word in self.argv)

    def with_paths(self, replacements: dict[Path, Path]) -> list[str]:
        """The command line, with inputs and outputs at other paths. replacements: original (absolute) path -> path to use
        instead.
        """
        words, before = [], ""
        for word in self.argv:
            path = None if word.startswith("-") else _absolute(word, self.folder)
            replacement = replacements.get(path) if path is not None and before not in _OPTIONS_WITH_VALUE - {"-o"} else None
            words.append(str(replacement) if replacement is not None else word)
            before = word
        return words


def output_commands(commands: Sequence[BuildCommand]) -> list[OutputCommand]:
    """The commands that make an object, an archive or a program, in order and split so that each makes one file."""
    return [output_command for command in commands for output_command in _split_by_output(command)]


def _split_by_output(command: BuildCommand) -> Iterator[OutputCommand]:
    argv = _without_wrappers(_expand_response_files(command))
    name = Path(argv[0]).name if argv else ""
    if _COMPILER.fullmatch(name):
        yield from _compiler_commands(argv, command.folder)
    elif _ARCHIVER.fullmatch(name):
        archive = next((word for word in argv[1:] if word.endswith(".a")), None)
        if archive is not None:
            linked = tuple(_absolute(word, command.folder) for word in argv[1:] if word.endswith((".o", ".obj")))
            yield OutputCommand(argv, command.folder, _absolute(archive, command.folder), linked=linked)


def _without_wrappers(argv: tuple[str, ...]) -> tuple[str, ...]:
    while argv and (Path(argv[0]).name in _WRAPPERS or re.fullmatch(r"[A-Za-z_]\w*=.*", argv[0])):
        argv = argv[1:]
    return argv


def _expand_response_files(command: BuildCommand) -> tuple[str, ...]:
    """Expand response files, which CMake writes when there are many objects."""
    argv: list[str] = []
    for word in command.argv:
        path = command.folder / word[1:]
        argv += shlex.split(path.read_text()) if word.startswith("@") and path.is_file() else [word]
    return tuple(argv)


def _compiler_commands(argv: tuple[str, ...], folder: Path) -> Iterator[OutputCommand]:
    if any(word in _MAKES_NO_OBJECT for word in argv[1:]):
        return
    argv = _without_dependencies(argv)
    files = _file_words(argv)
    sources = [word for word in files if is_source(word)]
    compiles = "-c" in argv
    if len(sources) < 2:
        output = _output_word(argv) or (Path(sources[0]).stem + ".o" if compiles and sources else "a.out")
        yield _output_command(argv, folder, output, compiles)
        return
    link, objects = [], {}
    for source in sources:
        command = _compile_one(argv, source, folder)
        objects[source] = str(command.output)
        yield command
    if not compiles:
        link = [objects.get(word, word) for word in _without_language(argv)]
        yield _output_command(tuple(link), folder, _output_word(argv) or "a.out", False)


def _output_command(argv: tuple[str, ...], folder: Path, output: str, compiles: bool) -> OutputCommand:
    files = _file_words(argv)
    sources = tuple(_absolute(word, folder) for word in files if is_source(word))
    linked = () if compiles else tuple(_absolute(word, folder) for word in files if not is_source(word))
    if _output_word(argv) is None:
        argv = (*argv, "-o", output)
    return OutputCommand(argv, folder, _absolute(output, folder), sources, linked, compiles)


def _compile_one(argv: tuple[str, ...], source: str, folder: Path) -> OutputCommand:
    """The command for one source, derived from a command that compiles several."""
    words, files, remaining = [], set(_file_words(argv)), iter(argv)
    for word in remaining:
        if word == "-o" or word in ("-Xlinker", "-L", "-l"):
            next(remaining, None)
        elif word in _OPTIONS_WITH_VALUE:
            words += [word, *([value] if (value := next(remaining, None)) is not None else [])]
        elif word == source or not (word in files or word == "-c" or word.startswith(_LINK_OPTIONS)):
            words.append(word)
    return _output_command((*words, "-c"), folder, _object_of(source), True)


def _object_of(source: str) -> str:
    """The name of the object for one of several sources, derived from the path since file names may repeat."""
    return re.sub(r"[^\w.]", "_", source) + ".o"


def _file_words(argv: Sequence[str]) -> list[str]:
    """The words that are neither options nor option values."""
    files, before = [], ""
    for word in argv[1:]:
        if before not in _OPTIONS_WITH_VALUE and not word.startswith(("-", "@")):
            files.append(word)
        before = word if before not in _OPTIONS_WITH_VALUE else ""
    return files


def _output_word(argv: Sequence[str]) -> str | None:
    outputs = [after for word, after in pairwise(argv) if word == "-o"]
    return outputs[-1] if outputs else None


def _without_dependencies(argv: tuple[str, ...]) -> tuple[str, ...]:
    words, remaining = [], iter(argv)
    for word in remaining:
        if word in ("-MF", "-MT", "-MQ"):
            next(remaining, None)
        elif word not in _DEPENDENCIES and not word.startswith(("-Wp,-M", "-MF")):
            words.append(word)
    return tuple(words)


def _without_language(argv: tuple[str, ...]) -> list[str]:
    """The words for linking: `-x hip` would treat objects as sources, so --hip-link, its equivalent for linking, replaces
    it.
    """
    words, remaining = [], iter(argv)
    for word in remaining:
        if word == "-x" or re.fullmatch(r"-x\w+", word):
            words += ["--hip-link"] if (word[2:] or next(remaining, None)) == "hip" else []
        else:
            words.append(word)
    return words


def _absolute(word: str, folder: Path) -> Path:
    """The absolute path, with links unresolved: an object is identified by the name that the build uses for it."""
    return Path(os.path.normpath(folder / word))


def with_libraries(command: OutputCommand, outputs: Sequence[Path]) -> OutputCommand:
    """The command, with `-lNAME` replaced by the path of the archive if the build itself makes that archive."""
    names = {f"-l{path.stem.removeprefix('lib')}": path for path in outputs if path.suffix == ".a"}
    named = {word: names[word] for word in command.argv if word in names}
    argv = tuple(str(named.get(word, word)) for word in command.argv)
    return replace(command, argv=argv, linked=(*command.linked, *named.values())) if named else command
