"""Reads a HIP source: Clang's AST of the device and of the host pass, and the kernels in it."""

from __future__ import annotations

import bisect
import functools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rocm_perf_lab.errors import SourceError
from rocm_perf_lab.hip_source import libclang, parsing
from rocm_perf_lab.hip_source.cursors import byte_range_of
from rocm_perf_lab.hip_source.device_variables import device_variables
from rocm_perf_lab.hip_source.edits import Edit, apply_edits
from rocm_perf_lab.hip_source.flags import parse_flags, target_of
from rocm_perf_lab.hip_source.kernels import kernels_in
from rocm_perf_lab.hip_source.source_parts import SourceKernel
from rocm_perf_lab.hip_source.source_state import join_state, split_state

if TYPE_CHECKING:
    from rocm_perf_lab.hip_source.libclang import Bindings, Cursor, Token

_MAX_SOURCE_BYTES = 64 << 20  # larger or endless files are not sources
_NOT_UTF8 = dict.fromkeys(range(0xDC80, 0xDD00), "x")  # the code points to which Python maps bytes that are not UTF-8
NOTHING: Mapping[Path, bytes] = MappingProxyType({})
_DEVICE_PASS, _HOST_PASS = ("--offload-device-only", "-nogpulib"), ("--offload-host-only",)
DEFAULT_TARGET = "gfx942"  # selects the `#if __gfx..__` branches if the command names no GPU


def as_utf8(text: bytes) -> str:
    """The text for Clang's bindings, which accept only UTF-8: any other byte (such as Latin-1 in a comment) becomes an x."""
    return text.decode("utf-8", errors="surrogateescape").translate(_NOT_UTF8)


class TranslationUnit:
    """One pass over one source. `cursor` is Clang's cursor for the whole unit, in which only the user's own files matter.

    own: Clang's name for the file that contains the source, which is the unit's main file or a header. text: its content.
    """

    def __init__(
        self,
        bindings: Bindings,
        path: Path,
        flags: Sequence[str],
        text: bytes,
        main: Path,
        appended: bytes = b"",
        other_files: Mapping[Path, bytes] = NOTHING,
    ):
        """Parse the source for one pass. appended: text added at the end of the main file. other_files: texts of other files.

        Raises OSError and whatever parsing.parse() raises.
        """
        self.bindings = bindings
        texts = {path: text, **other_files}
        if main not in texts and main.resolve() in other_files:
            texts[main] = other_files[main.resolve()]
        if appended:
            texts[main] = (texts[main] if main in texts else main.read_bytes()) + appended
        readable = {str(file): as_utf8(content) for file, content in texts.items()}
        parsed = parsing.parse(bindings, main, flags, readable)
        self._unit, self._precompiled = parsed.unit, parsed.precompiled
        self.cursor = self._unit.cursor
        self.path, self.main = path, main
        self.own = str(path) if main == path else self._name_of(path)
        self.text = texts[path]
        self._texts = {str(Path(self.own)): self.text}
        self._other_files = other_files

    def text_of(self, cursor: Cursor) -> str:
        """The source text of a cursor, with white space reduced to single spaces; for a macro expansion, the invocation."""
        start, end = cursor.extent.start, cursor.extent.end
        if start.file is None:
            return ""
        return " ".join(self.content(Path(start.file.name))[start.offset : end.offset].decode(errors="replace").split())

    def content(self, file: Path) -> bytes:
        """The content of one of the unit's files; for its own file, the text that was parsed."""
        if str(file) not in self._texts:
            replacement = self._other_files.get(file.resolve()) if self._other_files else None
            self._texts[str(file)] = file.read_bytes() if replacement is None else replacement
        return self._texts[str(file)]

    @functools.cached_property
    def user_declarations(self) -> list[Cursor]:
        """Top-level cursors outside system headers: declarations in the order of the unit, preprocessing entities in the order
        of their file.
        """
        stand_in = self._precompiled.stand_in if self._precompiled else None
        declarations = libclang.children_outside_system_headers(self.bindings, self.cursor)
        return [declaration for declaration in declarations if (file := declaration.location.file) and file.name != stand_in]

    @functools.cached_property
    def device_variables(self) -> list[Cursor]:
        """See device_variables.device_variables()."""
        return device_variables(self)

    @property
    def errors(self) -> Iterator[tuple[str, str]]:
        """Location and message of every error that Clang reports."""
        for diagnostic in self._unit.diagnostics:
            if diagnostic.severity >= diagnostic.Error:
                location = diagnostic.location
                yield f"{location.file}:{location.line}" if location.file else str(self.path), diagnostic.spelling

    def _name_of(self, header: Path) -> str:
        """The name by which the header is first included, possibly through `..` or links."""
        real = header.resolve()
        return next((str(path) for path in self.included if path.resolve() == real), str(header))

    @functools.cached_property
    def included(self) -> tuple[Path, ...]:
        """Every file that the unit includes, directly or indirectly."""
        precompiled = self._precompiled.headers if self._precompiled else ()
        read = (inclusion.include.name for inclusion in self._unit.get_includes())
        return tuple(dict.fromkeys(map(Path, (*precompiled, *read))))

    def raw_tokens(self, start: int, end: int, of: str | None = None) -> Iterator[Token]:
        """Clang's tokens of bytes [start, end) of a file, including comments, before any preprocessing. of: Clang's name for
        the file; None for the unit's own.
        """
        file = self.bindings.File.from_name(self._unit, of or self.own)
        ends = (self.bindings.SourceLocation.from_offset(self._unit, file, offset) for offset in (start, end))
        yield from self._unit.get_tokens(extent=self.bindings.SourceRange.from_locations(*ends))

    @property
    def error_lines(self) -> Iterator[tuple[str, int]]:
        """File and line of every error that Clang reports."""
        for diagnostic in self._unit.diagnostics:
            if diagnostic.severity >= diagnostic.Error and diagnostic.location.file:
                yield diagnostic.location.file.name, diagnostic.location.line

    def has_system_macro(self, name: str) -> bool:
        """Whether the macro is defined in system headers and not in the user's files."""
        kind = self.bindings.CursorKind.MACRO_DEFINITION
        defined = [c for c in self.cursor.get_children() if c.kind == kind and c.spelling == name]
        return bool(defined) and all(c.location.file is not None and c.location.is_in_system_header for c in defined)

    @functools.cached_property
    def _expansions(self) -> dict[str, list[tuple[int, int]]]:
        places: dict[str, list[tuple[int, int]]] = {}
        for cursor in self.user_declarations:
            if cursor.kind == self.bindings.CursorKind.MACRO_INSTANTIATION:
                places.setdefault(cursor.extent.start.file.name, []).append(byte_range_of(cursor))
        return {file: sorted(spans) for file, spans in places.items()}

    def cut_by_macro(self, file: str, start: int, end: int) -> bool:
        """Whether [start, end) begins or ends inside a macro's expansion, so that its text cannot be edited."""
        spans = self._expansions.get(file, [])
        return any(self._inside(spans, offset) for offset in (start, end - 1))

    def is_cut_by_macro(self, cursor: Cursor) -> bool:
        """Like cut_by_macro(), for a cursor; a cursor without a location cannot be edited either."""
        file = cursor.extent.start.file
        return file is None or self.cut_by_macro(file.name, *byte_range_of(cursor))

    @staticmethod
    def _inside(spans: list[tuple[int, int]], offset: int) -> bool:
        index = bisect.bisect_right(spans, (offset, 1 << 62)) - 1
        # Expansions nest (an argument may be a macro), so an expansion that begins earlier may contain the location.
        return any(start <= offset < end for start, end in spans[max(0, index - 8) : index + 1])

    def functions(self) -> Iterator[Cursor]:
        """Every function and function template in the user's files, including those in namespaces and classes."""
        kinds = self.bindings.CursorKind
        wanted = {kinds.FUNCTION_DECL, kinds.FUNCTION_TEMPLATE, kinds.CXX_METHOD}
        scopes = {
            kinds.NAMESPACE,
            kinds.CLASS_DECL,
            kinds.STRUCT_DECL,
            kinds.LINKAGE_SPEC,
            kinds.CLASS_TEMPLATE,
            kinds.UNEXPOSED_DECL,
        }
        stack = list(reversed(self.user_declarations))
        while stack:
            cursor = stack.pop()
            if cursor.kind in wanted:
                yield cursor
            elif cursor.kind in scopes:
                stack.extend(reversed(list(cursor.get_children())))


@dataclass(frozen=True)
class OtherUnit:
    """Another compiled file of the program. includes: whether it also includes the source. files: if it is not compiled as HIP,
    the user's files from which it is built; otherwise empty. linked: whether it is part of the program itself, not just of
    another program that is also built from the source.
    """

    main: Path
    command: tuple[str, ...]
    folder: Path
    includes: bool
    files: tuple[Path, ...] = ()
    linked: bool = True


class HipSource:
    """A HIP source with the command that compiles it.

    path: the file. text: its bytes. main: the file that the command compiles, which is `path` or includes it. units: the other
    units of the program, and of other programs built from the source. other_files: new contents of other files of the program,
    where they differ from what is on disk, keyed by real path. device, host: the two passes, parsed on first use.

    Raises SourceError if it does not compile, and UnavailableError if libclang is missing.
    """

    def __init__(
        self,
        path: Path,
        command: Sequence[str],
        folder: Path,
        text: bytes,
        main: Path | None = None,
        units: Sequence[OtherUnit] = (),
        other_files: Mapping[Path, bytes] = NOTHING,
    ):
        self.path, self.command, self.folder, self.text = path, tuple(command), folder, text
        self.main, self.units, self.other_files = main or path, tuple(units), other_files

    def with_text(self, text: bytes, other_files: Mapping[Path, bytes] | None = None) -> HipSource:
        """The same source with different content for the file. other_files: new contents of other files; None to keep the
        current ones.
        """
        new_files = self.other_files if other_files is None else other_files
        return HipSource(self.path, self.command, self.folder, text, self.main, self.units, new_files)

    @functools.cached_property
    def state(self) -> bytes:
        """The texts that distinguish this source from others with the same path and command; see source_state.py."""
        return join_state(self.text, self.other_files)

    def with_state(self, state: bytes) -> HipSource:
        """The inverse of `state`."""
        return self.with_text(*split_state(state))

    def edited(self, edits: Iterable[Edit], other_edits: Iterable[tuple[Path, Edit]] = ()) -> HipSource:
        """The source with these edits. other_edits: (real path, edit) pairs for other files of the program. Raises OSError."""
        files: dict[Path, list[Edit]] = {}
        for file, edit in other_edits:
            files.setdefault(file, []).append(edit)
        changed = {file: apply_edits(self.content(file), own) for file, own in files.items()}
        return self.with_text(apply_edits(self.text, edits), {**self.other_files, **changed})

    def content(self, file: Path) -> bytes:
        """The content of one of the program's files. file: a real path. Raises OSError."""
        if file == self.path.resolve():
            return self.text
        return self.other_files[file] if file in self.other_files else file.read_bytes()

    @property
    def relocatable_device_code(self) -> bool:
        """Whether device code is linked across the program's units."""
        last = [word for word in self.command if word in ("-fgpu-rdc", "-fno-gpu-rdc", "-fcuda-rdc", "-fno-cuda-rdc")]
        return bool(last) and not last[-1].startswith("-fno")

    @functools.cached_property
    def other_units(self) -> tuple[HipSource, ...]:
        """The source as seen in each other HIP unit, including units that do not include it."""
        this = OtherUnit(self.main, self.command, self.folder, True)
        return tuple(
            HipSource(
                self.path,
                unit.command,
                unit.folder,
                self.text,
                unit.main,
                (this, *(u for u in self.units if u is not unit)),
                self.other_files,
            )
            for unit in self.units
            if not unit.files
        )

    @functools.cached_property
    def other_units_of_program(self) -> tuple[HipSource, ...]:
        """The other units that include the source and are part of the program."""
        return self._in_units_that(lambda unit: unit.includes and unit.linked)

    @functools.cached_property
    def units_of_other_programs(self) -> tuple[HipSource, ...]:
        """The other units that include the source and are part only of other programs."""
        return self._in_units_that(lambda unit: unit.includes and not unit.linked)

    def _in_units_that(self, fits: Callable[[OtherUnit], bool]) -> tuple[HipSource, ...]:
        commands = {(unit.command, unit.folder) for unit in self.units if fits(unit)}
        return tuple(other for other in self.other_units if (other.command, other.folder) in commands)

    @property
    def foreign(self) -> Iterator[Path]:
        """The user's files in units that are not compiled as HIP."""
        return (file for unit in self.units for file in unit.files)

    @functools.cached_property
    def device(self) -> TranslationUnit:
        return self._parse(*_DEVICE_PASS)

    @functools.cached_property
    def host(self) -> TranslationUnit:
        return self._parse(*_HOST_PASS)

    @property
    def precompiled_includes(self) -> list[tuple[dict[str, Any], bytes]]:
        """What this process has precompiled for the two passes, for another process that reads the same source; see
        parsing.hand_over().
        """
        text = self.text if self.main == self.path else self.main.read_bytes()
        described = (parsing.hand_over(self.main, self._flags(*own), text) for own in (_DEVICE_PASS, _HOST_PASS))
        return [includes for includes in described if includes is not None]

    @functools.cached_property
    def included(self) -> tuple[Path, ...]:
        """Every file that either pass includes: its real path and, if it is included through a link, that path as well. Raises
        SourceError.
        """
        named = [Path(os.path.abspath(self.folder / file)) for file in (*self.device.included, *self.host.included)]
        return tuple(dict.fromkeys(name for path in named for name in (path.resolve(), path)))

    @functools.cached_property
    def kernels(self) -> tuple[SourceKernel, ...]:
        """The kernels with a body in this file, in source order."""
        return tuple(kernels_in(self.device))

    def kernel(self, name: str) -> SourceKernel:
        """The kernel with this identity, mangled or demangled name, qualified name, or last part of that name.

        The first of these that matches exactly one kernel is used. Raises SourceError.
        """
        names = [(k.identity, k.symbol, k.demangled, k.name, k.last_name) for k in self.kernels]
        groups = [[k for k, own in zip(self.kernels, names, strict=True) if own[way] == name] for way in range(5)]
        kernel = next((group[0] for group in groups if len(group) == 1), None)
        if kernel is None:
            choices = ", ".join(k.demangled or k.name for k in self.kernels) or "none"
            count = max(map(len, groups))
            raise SourceError(f"{self.path} has {count} kernels named {name}", f"choose one of: {choices}")
        return kernel

    def device_followed_by(self, text: str) -> TranslationUnit:
        """The device pass of this source's unit with `text` appended. Errors in it are not raised; see error_lines."""
        return self._unit(*_DEVICE_PASS, appended=text.encode())

    def _parse(self, *pass_flags: str) -> TranslationUnit:
        unit = self._unit(*pass_flags)
        for location, complaint in unit.errors:
            raise SourceError(f"{location}: {complaint}", "make it compile first, or give its flags with --build")
        return unit

    def _unit(self, *pass_flags: str, appended: bytes = b"") -> TranslationUnit:
        bindings = libclang.cindex(self.command[0])
        try:
            return TranslationUnit(
                bindings, self.path, self._flags(*pass_flags), self.text, self.main, appended, self.other_files
            )
        except (bindings.TranslationUnitLoadError, OSError) as error:
            raise SourceError(f"{self.path} cannot be read as HIP: {error}", "check the file and its flags") from error

    def _flags(self, *pass_flags: str) -> list[str]:
        flags = [*parse_flags(self.command, self.main, self.folder), *pass_flags]
        return flags if target_of(self.command) else [*flags, f"--offload-arch={DEFAULT_TARGET}"]


def read(
    path: Path,
    command: Sequence[str] = ("hipcc",),
    folder: Path | None = None,
    text: bytes | None = None,
    main: Path | None = None,
    units: Sequence[OtherUnit] = (),
) -> HipSource:
    """The HIP source at `path`, as compiled by `command` in `folder` (default: the current folder).

    text: replaces the file's content (for a candidate that is not on disk); it may be a state (source_state.py). main, units:
    as in HipSource. Raises SourceError for a missing file.
    """
    if text is None:
        try:
            text = content_of(path)
        except OSError as error:
            raise SourceError(f"{path}: {error.strerror}", "name an existing source file") from error
    own, other_files = split_state(text)
    return HipSource(path, command, folder or Path.cwd(), own, main, units, other_files)


def content_of(path: Path) -> bytes:
    """The content of a source file. Raises OSError, and SourceError if the file is too large or a named pipe."""
    if path.is_fifo() and path.resolve().exists():  # opening it would wait for a writer, possibly forever
        raise SourceError(f"{path} is a named pipe", "name a source file")
    with path.open("rb") as file:
        text = file.read(_MAX_SOURCE_BYTES + 1)
    if len(text) > _MAX_SOURCE_BYTES:
        raise SourceError(f"{path} has more than {_MAX_SOURCE_BYTES >> 20} MiB", "name a source file")
    return text
