"""Builds a source's code object or its program with the user's own command, under resource limits."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

from rocm_perf_lab import cage
from rocm_perf_lab.atomic_write import atomic_write
from rocm_perf_lab.cage import CageLimits, CageResult, View
from rocm_perf_lab.code_object import code_objects_in
from rocm_perf_lab.code_object.fat_binary import MAX_FILE_BYTES
from rocm_perf_lab.errors import SourceError, UnavailableError
from rocm_perf_lab.hip_source import HipSource
from rocm_perf_lab.hip_source.flags import is_source, target_of
from rocm_perf_lab.optimize.build_commands import OutputCommand
from rocm_perf_lab.optimize.build_description import Build
from rocm_perf_lab.optimize.compiler_preambles import PrecompiledPreamble, PrecompiledPreambles

SCRATCH = "rocm-perf-build-"
"""Prefix of the temporary folders that hold a source's copy while it is built."""

_REMEMBERED = 8  # images and objects cached per unit
_LAST_WORDS = 400  # length of a compiler's message in an error

# The most informative patterns first. A linker's message about debug information, or one that only says that linking failed,
# explains nothing.
_ERROR_LINES = (
    re.compile(r"undefined reference to|undefined symbol|multiple definition of|duplicate symbol|cannot find -l"),
    re.compile(r"^(?!.*(DWARF error|linker command failed)).*error:", re.IGNORECASE),
)

_CUDA = re.compile(rb'#\s*include\s*[<"](cuda|cublas|cufft|curand|cusparse)|\bcuda[A-Z]\w*\s*\(')
# These options do not change the loaded code; see code_object.symbol_contents.
_COMPARABLE = ("-Xclang", "-msave-temp-labels", "-Xoffload-linker", "--emit-relocs")

AfterBuild = Callable[[Sequence[str], CageResult], None]
"""Called after every build, with its command and how it ended."""

_Key = tuple[str, Path, Path, tuple[str, ...], Path, bytes]  # what is built, from which source, and how


class SourceBuilder:
    """Implements gate.judge.Builder with the sources' own commands, for one target. after_build: called for every build. view:
    what the cage shows.

    Recent results are cached: every judge of a baseline requests that baseline, and the judges of all instantiations request
    the same candidate.
    """

    def __init__(
        self, target: str, limits: CageLimits = CageLimits(), after_build: AfterBuild | None = None, view: View = View()
    ):
        self._target, self._limits, self._after_build, self._view = target, limits, after_build, view
        self._preambles = PrecompiledPreambles(limits, view)
        self._names: dict[bytes, frozenset[str]] = {}
        self._remembered: dict[_Key, bytes] = {}

    def code_object(self, source: HipSource) -> bytes:
        """The device image, with its relocations kept so that images can be compared. Raises SourceError, UnavailableError."""
        return self._remember("device", source, self.code_object_again)

    def host(self, source: HipSource) -> bytes:
        """The host's relocatable object. Raises SourceError, UnavailableError."""
        return self._remember("host", source, self._host_object)

    def code_object_named(self, source: HipSource, name: str) -> bytes:
        """Like code_object(), but the compiler receives the unit's main file under this name, relative to the source's folder.

        The name has no effect on trusted candidates.
        """
        return self.code_object(source) if name == str(source.main.resolve()) else self.code_object_again(source, name)

    def code_object_again(self, source: HipSource, name: str | None = None) -> bytes:
        """Like code_object(), but always rebuilt. name: see code_object_named()."""
        if source.relocatable_device_code:
            message = f"{source.main} is built with -fgpu-rdc: the device code of all units becomes one when it is linked"
            raise SourceError(
                f"{message}, and which part of it depends on only one kernel is unknown", "build without -fgpu-rdc"
            )
        built = self._code_objects(source, ["--offload-device-only", *_COMPARABLE], name)
        images = [image for name, image in built if not name or name.split(":")[0] == self._target.split(":")[0]]
        target = self._target
        if not images:
            raise SourceError(f"{source.main} was built without code for {target}", f"add --offload-arch={target} to --build")
        if len(built) > 1:  # a kernel's behaviour on the other targets would not be judged
            names = ", ".join(sorted(name for name, _ in built))
            message = f"{source.main} is built for {names}: a change could be judged only for {target}"
            raise SourceError(message, f"build it for one: --offload-arch={target}")
        return images[0]

    def _host_object(self, source: HipSource) -> bytes:
        with self._compiler_output(source, ["--offload-host-only", "-c"]) as output:
            return output.read_bytes()

    def called_names(self, source: HipSource) -> frozenset[str]:
        """Names that are called, or appear to be called, in other files of the units that include the source. Raises
        SourceError, UnavailableError.
        """
        if source.state not in self._names:
            names: set[str] = set()
            for unit in (source, *source.other_units_of_program):
                for which in ("--offload-device-only", "--offload-host-only"):
                    with self._compiler_output(unit, [which, "-E"]) as output:
                        names |= _called_elsewhere(output.read_text(errors="replace"), unit)
            self._names[source.state] = frozenset(names)
        return self._names[source.state]

    def preprocessed(self, source: HipSource) -> list[str]:
        """The preprocessed device code of every unit that contains the source, its own unit first. Raises SourceError,
        UnavailableError.
        """
        texts = []
        for unit in (source, *source.other_units_of_program):
            with self._compiler_output(unit, ["--offload-device-only", "-E", "-w"]) as output:
                texts.append(output.read_text(errors="surrogateescape"))
        return texts

    def _remember(self, part: str, source: HipSource, make: Callable[[HipSource], bytes]) -> bytes:
        key = (part, source.path, source.main, tuple(source.command), source.folder, source.state)
        if (built := self._remembered.get(key)) is None:
            built = self._remembered[key] = make(source)
            for old in list(self._remembered)[: -_REMEMBERED * (1 + len(source.other_units_of_program))]:
                self._remembered.pop(old, None)
        return built

    def _code_objects(self, source: HipSource, options: Sequence[str], name: str | None) -> list[tuple[str, bytes]]:
        with self._compiler_output(source, options, name) as output:
            return code_objects_in(output)

    @contextlib.contextmanager
    def _compiler_output(self, source: HipSource, options: Sequence[str], name: str | None = None) -> Iterator[Path]:
        """The output of the source's command with these options, which select one compilation pass. name: see
        code_object_named().
        """
        includes = None if name else self._precompiled_preamble(source, options)
        with contextlib.ExitStack() as stack:
            output = None
            if includes is not None:
                # If compilation with them fails, it is repeated without them, so that the message concerns the source alone.
                with contextlib.suppress(SourceError):
                    output = stack.enter_context(self._compile(source, options, includes=includes))
            yield output or stack.enter_context(self._compile(source, options, name))

    @contextlib.contextmanager
    def _compile(
        self, source: HipSource, options: Sequence[str], name: str | None = None, includes: PrecompiledPreamble | None = None
    ) -> Iterator[Path]:
        with _place_source(source, self._view, includes) as placed:
            output = placed.output_folder / "output"
            main = str(placed.main) if name is None or self._view.trusted else name
            command = [*_compile_only(source, self._target), *placed.options, *options, main, "-o", str(output)]
            build(command, source.folder, f"{source.main} does not compile", self._limits, self._after_build, placed.view)
            _check_output(output, shlex.join(command))
            yield output

    def _precompiled_preamble(self, source: HipSource, options: Sequence[str]) -> PrecompiledPreamble | None:
        """The precompiled includes for a pass that generates code; see PrecompiledPreambles.of(). None for other passes and for
        headers.
        """
        compiled = {"--offload-device-only": "device", "--offload-host-only": "host"}.get(options[0])
        if compiled is None or "-E" in options or source.other_files or source.path.resolve() != source.main.resolve():
            return None
        command = _compile_only(source, self._target)
        return self._preambles.of(source.main.resolve(), source.text, command, source.folder, [compiled])


def _check_output(output: Path, command: str) -> None:
    """Check that the output is a file of acceptable size: even a successful build may leave something else or nothing there,
    and the cage removes everything but files and folders.

    Raises SourceError.
    """
    if not os.path.lexists(output):
        fault = "made no file at the path given by -o (links, pipes, sockets and device files are removed)"
    elif not output.is_file():
        fault = "made a folder at the path given by -o"
    elif (size := output.stat().st_size) > MAX_FILE_BYTES:
        fault = f"made a file of {size / (1 << 30):.1f} GiB, but at most {MAX_FILE_BYTES >> 30} GiB can be read"
    else:
        return
    raise SourceError(f"the build ended with status 0, but {fault}", f"correct the compiler; it was run as `{command}`")


def _called_elsewhere(preprocessed: str, source: HipSource) -> set[str]:
    """Names called in any file except the source itself. Line markers: GCC manual, "Preprocessor Output"."""
    called: set[str] = set()
    own = source.path.resolve()
    for part in re.split(r"^(?=# \d+ \")", preprocessed, flags=re.MULTILINE):
        marker, _, text = part.partition("\n")
        file = marker.partition('"')[2].rpartition('"')[0]
        if file and (source.folder / file).resolve() != own:
            called.update(re.findall(r"\b([A-Za-z_]\w*)\s*[(<]", text))
    return called


def complaint(source: HipSource, target: str, limits: CageLimits = CageLimits(), view: View = View()) -> str | None:
    """The compiler's whole message if it rejects a source's device code; None if it accepts that code.

    If the message contains no error, returns how the compiler ended (timeout, killed). Only syntax and semantics are checked;
    no code is generated. Raises UnavailableError.
    """
    with _place_source(source, view) as placed:
        only = ["--offload-device-only", "-fsyntax-only", str(placed.main)]
        command = [*_compile_only(source, target), *placed.options, *only]
        ends: list[CageResult] = []
        try:
            record = ends.append
            build(
                command, source.folder, f"{source.main} does not compile", limits, lambda _, ended: record(ended), placed.view
            )
        except SourceError:
            message = ends[0].stderr.decode(errors="replace")
            return message if "error:" in message else ends[0].complaint
    return None


def build(
    command: Sequence[str],
    folder: Path,
    failure: str,
    limits: CageLimits,
    after_build: AfterBuild | None = None,
    view: View = View(),
) -> CageResult:
    """Run a build command in the cage. failure: what to report if it fails ("a.hip does not compile").

    Raises SourceError with the compiler's first error, UnavailableError if there is no compiler, NoCageError.
    """
    if shutil.which(command[0]) is None:
        raise UnavailableError(
            f"{command[0]} was not found to build the program", "install ROCm's hipcc, or name a compiler with --build"
        )
    ended = cage.run(command, folder, view, os.environ, limits)
    if after_build is not None:
        after_build(command, ended)
    if ended.succeeded:
        return ended
    hint = f"{_remedy(command, folder)}; it was run as `{shlex.join(command)}`"
    raise SourceError(f"{failure}: {first_error(ended)}", hint)


def _remedy(command: Sequence[str], folder: Path) -> str:
    """How to fix the build. A source that uses CUDA's own headers and functions cannot compile as HIP."""
    sources = [folder / word for word in command if is_source(word) and (folder / word).is_file()]
    translated = [path.name for path in sources if _CUDA.search(path.read_bytes())]
    if not translated:
        return "correct what the compiler names"
    return f"this is CUDA: translate it to HIP first (`hipify-perl {shlex.join(translated)}`)"


def first_error(ended: CageResult) -> str:
    """The first line that reports a compiler or linker error; if there is none, how the build ended."""
    lines = ended.stderr.decode(errors="replace").splitlines()
    error_line = next((line for kind in _ERROR_LINES for line in lines if kind.search(line)), "")
    return (error_line or "; ".join([ended.complaint, *lines[-1:]]))[:_LAST_WORDS]


class ProgramBuilder:
    """Builds whole programs with the user's build, for one target. folder: for outputs that do not depend on the changed
    source.

    after_build: called for every command. view: what the cage shows.
    """

    def __init__(
        self,
        build: Build,
        target: str,
        folder: Path,
        limits: CageLimits,
        after_build: AfterBuild | None = None,
        view: View = View(),
    ):
        self._build, self._target, self._folder = build, target, folder
        self._limits, self._after_build, self._view = limits, after_build, view
        self._unchanged_outputs: dict[Path, Path] = {}
        self._preambles = PrecompiledPreambles(limits, view)

    def make(self, source: HipSource, output: Path) -> None:
        """Build the program from `source` and write it to `output`, completely or not at all. Raises SourceError,
        UnavailableError.
        """
        remade = self._build.outputs_from(source.path).union(*map(self._build.outputs_from, source.other_files))
        self._make_unchanged(command for command in self._build.commands if command.output not in remade)
        with _place_source(source, self._view) as placed:
            paths = dict(self._unchanged_outputs)
            for number, command in enumerate(command for command in self._build.commands if command.output in remade):
                paths[command.output] = placed.output_folder / f"{number}-{command.output.name}"
                self._run_fast(command, paths, placed, source)
            program = paths[self._build.commands[-1].output]
            if not program.is_file():
                product = "a folder" if program.is_dir() else "no program (links, pipes, sockets and device files are removed)"
                raise SourceError(f"building {source.path} made {product} at {program}", "let --build write to BINARY")
            output.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(output) as partial:
                shutil.copy2(program, partial)

    def _make_unchanged(self, commands: Iterable[OutputCommand]) -> None:
        """Make the outputs that do not exist yet. Builds of candidates can read them but not write to them."""
        for command in commands:
            if command.output in self._unchanged_outputs:
                continue
            self._folder.mkdir(parents=True, exist_ok=True)
            path = self._folder / f"{len(self._unchanged_outputs)}-{command.output.name}"
            placed = _PlacedSource(Path(), (), self._folder, self._cage_view((self._folder,)))
            self._run(command, {**self._unchanged_outputs, command.output: path}, placed)
            self._unchanged_outputs[command.output] = path

    def _cage_view(self, writable: tuple[Path, ...]) -> View:
        return self._view.showing(readable=tuple(command.folder for command in self._build.commands), writable=writable)

    def _run_fast(self, command: OutputCommand, paths: dict[Path, Path], placed: _PlacedSource, source: HipSource) -> None:
        """Like _run(), but with precompiled includes if possible."""
        if (includes := self._precompiled_preamble(command, source)) is not None:
            with contextlib.suppress(SourceError), _place_source(source, self._view, includes) as fast:
                return self._run(command, paths, replace(fast, view=fast.view.showing(writable=(placed.output_folder,))))
        return self._run(command, paths, placed)

    def _run(self, command: OutputCommand, paths: dict[Path, Path], placed: _PlacedSource) -> None:
        copied = {path: placed.copies[path.resolve()] for path in command.sources if path.resolve() in placed.copies}
        argv = [*command.with_paths({**paths, **copied}), *self._options(command), *(placed.options if command.is_hip else ())]
        view = placed.view.showing(readable=tuple(self._unchanged_outputs.values()))
        failure = f"{command.sources[0]} does not compile" if command.sources else f"{command.output.name} does not link"
        build(argv, command.folder, failure, self._limits, self._after_build, view)

    def _options(self, command: OutputCommand) -> list[str]:
        """Options added to those of the user's build."""
        if not command.is_hip:
            return []
        arch = [] if target_of(command.argv) else [f"--offload-arch={self._target}"]
        lines = [] if any(word.startswith("-g") for word in command.argv) else ["-gline-tables-only"]  # for thread traces
        return [*arch, *lines, *_cuid_option(command.argv, command.sources[0], command.folder)]

    def _precompiled_preamble(self, command: OutputCommand, source: HipSource) -> PrecompiledPreamble | None:
        """The precompiled includes of the changed source; None for other sources, which are compiled only once. Also None if
        other files changed as well, since the includes may contain them.
        """
        if source.other_files or not command.is_hip or [path.resolve() for path in command.sources] != [source.path.resolve()]:
            return None
        path_in_command = next(
            Path(word)
            for word in command.argv
            if is_source(word) and (command.folder / word).resolve() == source.path.resolve()
        )
        passes = ["device"] if command.is_code_object else ["device", "host"]
        argv = _without_files([*command.argv, *self._options(command)])
        return self._preambles.of(path_in_command, source.text, argv, command.folder, passes)


@dataclass(frozen=True)
class _PlacedSource:
    """A source text placed where the compiler will find it. main: the unit's main file, as passed to the compiler. options:
    compiler options that its location requires. output_folder: folder for outputs. copies: original path -> path passed to the
    compiler instead.
    """

    main: Path
    options: tuple[str, ...]
    output_folder: Path
    view: View
    copies: Mapping[Path, Path] = field(default_factory=dict)


@contextlib.contextmanager
def _place_source(source: HipSource, view: View, includes: PrecompiledPreamble | None = None) -> Iterator[_PlacedSource]:
    """Place the text for the compiler. In the cage, the text replaces the file at the source's own path, so exactly what was
    parsed is compiled. includes: the precompiled includes; used only in the cage.

    Without a cage, a copy is compiled: a copy of the main file still finds its includes and keeps the original's __FILE__ and
    line numbers; copies of headers and of other files are provided through the compiler's virtual file system.
    """
    real, main = source.path.resolve(), source.main.resolve()
    with tempfile.TemporaryDirectory(prefix=SCRATCH) as scratch:
        output_folder, copy = Path(scratch, "made"), Path(scratch, source.path.name)
        output_folder.mkdir()
        copy.write_bytes(source.text if includes is None else includes.text)
        copies = {real: copy}
        for number, (file, text) in enumerate(source.other_files.items()):
            copies[file] = Path(scratch, f"{number}-{file.name}")
            copies[file].write_bytes(text)
        seen = view.showing(readable=(*(file.parent for file in copies), main.parent), writable=(output_folder,))
        if includes is not None:
            seen = seen.showing(readable=(includes.folder,), replaced=((real, copy),))
            yield _PlacedSource(main, includes.options, output_folder, seen)
        elif not view.trusted:
            yield _PlacedSource(main, (), output_folder, seen.showing(replaced=tuple(copies.items())))
        elif real == main and not source.other_units_of_program and not source.other_files:
            options = ("-I", str(real.parent), f"-ffile-prefix-map={scratch}={real.parent}")
            yield _PlacedSource(copy, options, output_folder, seen, {real: copy})
        else:
            shown = Path(scratch, "shown.yaml")
            shown.write_text(_overlay(source, copies))
            yield _PlacedSource(main, (f"-ivfsoverlay{shown}",), output_folder, seen)


def _overlay(source: HipSource, copies: Mapping[Path, Path]) -> str:
    """The file for Clang's -ivfsoverlay, which makes each copy appear under every name by which its original is compiled."""
    names = {str(file): file for file in copies} | {os.path.abspath(source.path): source.path.resolve()}
    for unit in (source, *(source.other_units if source.other_files else source.other_units_of_program)):
        for name in (unit.main, *(unit.folder / include for include in unit.device.included)):
            names[os.path.abspath(name)] = name.resolve()
    shown = sorted((name, copies[file]) for name, file in names.items() if file in copies)
    roots = [{"name": name, "type": "file", "external-contents": str(copy)} for name, copy in shown]
    return json.dumps({"version": 0, "case-sensitive": "true", "use-external-names": "false", "roots": roots})


def _cuid_option(command: Sequence[str], main: Path, folder: Path) -> list[str]:
    """The option that keeps the names Clang generates in this unit distinct from its names in other units; empty if the user's
    command already has such an option.

    Without the option, these names would contain a hash of all options, which differ from build to build.
    """
    if any(word.startswith(("-cuid=", "-fuse-cuid=")) for word in command):
        return []
    output = next((after for word, after in pairwise(command) if word == "-o"), "")
    key = b"\0".join((os.fsencode(main.resolve()), os.fsencode(folder / output)))
    return [f"-cuid={hashlib.sha256(key).hexdigest()[:16]}"]


def _compile_only(source: HipSource, target: str) -> list[str]:
    """The source's own command for one compilation pass, without files."""
    arch = [] if target_of(source.command) else [f"--offload-arch={target}"]
    return [*_without_files(source.command), *arch, *_cuid_option(source.command, source.main, source.folder)]


def _without_files(command: Sequence[str]) -> list[str]:
    """The command without its output, its sources and the files that it links."""
    words, remaining = [], iter(command)
    for word in remaining:
        if word == "-o":
            next(remaining, None)
        elif word not in ("-c", "-S", "-E") and not is_source(word) and not word.endswith((".o", ".a", ".so")):
            words.append(word)
    return words
