"""Making a source's code object, or its program, with the user's own command and within limits."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rocm_perf_lab import cage
from rocm_perf_lab.cage import Ended, Limits, View
from rocm_perf_lab.code_object import code_objects_in
from rocm_perf_lab.errors import SourceError, UnavailableError
from rocm_perf_lab.hip_source import HipSource
from rocm_perf_lab.hip_source.flags import is_source, target_of
from rocm_perf_lab.whole_file import replacing

SCRATCH = "rocm-perf-build-"
"""What the names of the folders begin with that hold a source's copy while it is built."""

_REMEMBERED = 8  # images and objects
_LAST_WORDS = 400  # of a compiler's complaint that go into an error

# Neither changes a byte of what is loaded; see code_object.pieces.
_COMPARABLE = ("-Xclang", "-msave-temp-labels", "-Xoffload-linker", "--emit-relocs")

Log = Callable[[Sequence[str], Ended], None]
"""Is told of every build: its command, and how it ended."""


class SourceBuilder:
    """gate.judge.Builder by the sources' own commands, for one target. log: is told of every build. view: of the cage.

    What was made last is remembered: a baseline is asked for by every judge of it, a candidate by those of all instantiations.
    """

    def __init__(self, target: str, limits: Limits = Limits(), log: Log | None = None, view: View = View()):
        self._target, self._limits, self._log, self._view = target, limits, log, view
        self._names: dict[bytes, frozenset[str]] = {}
        self._remembered: dict[tuple, bytes] = {}

    def device(self, source: HipSource) -> bytes:
        """The device image; its relocations are kept, so that images can be compared. Raises SourceError, UnavailableError."""
        return self._remember("device", source, self.device_again)

    def host(self, source: HipSource) -> bytes:
        """The host's relocatable object. Raises SourceError, UnavailableError."""
        return self._remember("host", source, self._host)

    def device_again(self, source: HipSource) -> bytes:
        """device(), made anew."""
        made = self._made(source, ["--offload-device-only", *_COMPARABLE])
        images = [image for name, image in made if not name or name.split(":")[0] == self._target.split(":")[0]]
        if not images:
            target = self._target
            raise SourceError(f"{source.path} was built without code for {target}", f"add --offload-arch={target} to --build")
        return images[0]

    def _host(self, source: HipSource) -> bytes:
        with self._output(source, ["--offload-host-only", "-c"]) as output:
            return output.read_bytes()

    def names(self, source: HipSource) -> frozenset[str]:
        """What is called, or looks so, in headers of the system. Raises SourceError, UnavailableError."""
        if source.text not in self._names:
            found: set[str] = set()
            for which in ("--offload-device-only", "--offload-host-only"):
                with self._output(source, [which, "-E"]) as output:
                    found |= _called_in_system_headers(output.read_text(errors="replace"))
            self._names[source.text] = frozenset(found)
        return self._names[source.text]

    def _remember(self, part: str, source: HipSource, make: Callable[[HipSource], bytes]) -> bytes:
        key = (part, source.path, tuple(source.command), source.folder, source.text)
        if (made := self._remembered.get(key)) is None:
            made = self._remembered[key] = make(source)
            for old in list(self._remembered)[:-_REMEMBERED]:
                self._remembered.pop(old, None)
        return made

    def _made(self, source: HipSource, options: Sequence[str]) -> list[tuple[str, bytes]]:
        with self._output(source, options) as output:
            return code_objects_in(output)

    @contextlib.contextmanager
    def _output(self, source: HipSource, options: Sequence[str]) -> Iterator[Path]:
        """What the source's command makes with these options of one pass."""
        with _placed(source, self._view) as placed:
            output = placed.made / "output"
            command = [*_compile_only(source, self._target), *placed.options, *options, str(placed.path), "-o", str(output)]
            build(command, source.folder, source.path, self._limits, self._log, placed.view)
            yield output


def _called_in_system_headers(preprocessed: str) -> set[str]:
    """Line markers of system headers have the flag 3 (GCC's manual, "Preprocessor Output")."""
    found: set[str] = set()
    for part in re.split(r"^(?=# \d+ \")", preprocessed, flags=re.MULTILINE):
        marker, _, text = part.partition("\n")
        if " 3" in marker.rpartition('"')[2]:
            found.update(re.findall(r"\b([A-Za-z_]\w*)\s*[(<]", text))
    return found


def complaint(source: HipSource, target: str, limits: Limits = Limits(), view: View = View()) -> str | None:
    """All that the compiler says of a source that it rejects, as far as its device code's meaning goes; else None.

    Where it names no error, how it ended (too late, killed). Nothing is generated or assembled. Raises UnavailableError.
    """
    with _placed(source, view) as placed:
        only = ["--offload-device-only", "-fsyntax-only", str(placed.path)]
        command = [*_compile_only(source, target), *placed.options, *only]
        ends: list[Ended] = []
        try:
            build(command, source.folder, source.path, limits, lambda _command, ended: ends.append(ended), placed.view)
        except SourceError:
            words = ends[0].stderr.decode(errors="replace")
            return words if "error:" in words else ends[0].complaint
    return None


def build(
    command: Sequence[str], folder: Path, source: Path, limits: Limits, log: Log | None = None, view: View = View()
) -> Ended:
    """Run a build command in the cage.

    Raises SourceError with the compiler's first error, UnavailableError without the compiler, NoCageError.
    """
    if shutil.which(command[0]) is None:
        raise UnavailableError(
            f"{command[0]} is not there to build {source}", "install ROCm's hipcc, or name a compiler with --build"
        )
    ended = cage.run(command, folder, view, os.environ, limits)
    if log is not None:
        log(command, ended)
    if ended.succeeded:
        return ended
    mend = f"{_remedy(source)}; it was run as `{shlex.join(command)}`"
    raise SourceError(f"{source} does not compile: {first_error(ended)}", mend)


def _remedy(source: Path) -> str:
    """CUDA's own headers and functions are in no HIP source that compiles."""
    is_cuda = re.search(rb'#\s*include\s*[<"](cuda|cublas|cufft|curand|cusparse)|\bcuda[A-Z]\w*\s*\(', source.read_bytes())
    translate = f"this is CUDA: translate it to HIP first (`hipify-perl {shlex.quote(source.name)}`)"
    return translate if is_cuda else "correct what the compiler names"


def first_error(ended: Ended) -> str:
    """The compiler's first line that says "error", else how the build ended."""
    lines = ended.stderr.decode(errors="replace").splitlines()
    found = next((line for line in lines if "error:" in line), "") or "; ".join([ended.complaint, *lines[-1:]])
    return found[:_LAST_WORDS]


@dataclass(frozen=True)
class BuildCommand:
    """words: the compiler and its arguments, {source} and {output} among them. folder: where it runs."""

    words: tuple[str, ...]
    folder: Path

    def filled(self, source: Path, output: Path) -> list[str]:
        return [word.replace("{source}", str(source)).replace("{output}", str(output)) for word in self.words]


def program(
    source: HipSource,
    command: BuildCommand,
    output: Path,
    target: str,
    limits: Limits = Limits(),
    log: Log | None = None,
    view: View = View(),
) -> None:
    """Build the whole program of `source` as `output`, whole or not at all. Raises SourceError, UnavailableError."""
    with _placed(source, view) as placed:
        made = placed.made / "program"
        words = command.filled(placed.path, made)
        words += [] if target_of(words) else [f"--offload-arch={target}"]
        words += [] if any(word.startswith("-g") for word in words) else ["-gline-tables-only"]  # for the thread trace
        build([*words, *placed.options], command.folder, source.path, limits, log, placed.view)
        if not made.exists():
            raise SourceError(f"building {source.path} made no program at {made}", "let --build write to BINARY")
        output.parent.mkdir(parents=True, exist_ok=True)
        with replacing(output) as partial:
            shutil.copy2(made, partial)


@dataclass(frozen=True)
class _Placed:
    """A text where a compiler finds it. path: as the compiler is told. options: for that. made: where it writes."""

    path: Path
    options: tuple[str, ...]
    made: Path
    view: View


@contextlib.contextmanager
def _placed(source: HipSource, view: View) -> Iterator[_Placed]:
    """In the cage the text stands at the source's own path, so that what is compiled is what is parsed there.

    Without a cage it is a copy whose includes are found, and whose __FILE__ and line numbers are the original's.
    """
    real = source.path.resolve()
    # Clang makes symbols of a hash of the source's path and all options unless it is given an id.
    unit = f"-cuid={hashlib.sha256(os.fsencode(real)).hexdigest()[:16]}"
    with tempfile.TemporaryDirectory(prefix=SCRATCH) as scratch:
        made, copy = Path(scratch, "made"), Path(scratch, source.path.name)
        made.mkdir()
        copy.write_bytes(source.text)
        seen = view.showing(readable=(real.parent,), writable=(made,))
        if view.trusted:
            options = ("-I", str(real.parent), f"-ffile-prefix-map={scratch}={real.parent}", unit)
            yield _Placed(copy, options, made, seen)
        else:
            yield _Placed(real, (unit,), made, seen.showing(replaced=((real, copy),)))


def _compile_only(source: HipSource, target: str) -> list[str]:
    """The source's own command for one pass of its compilation, without files."""
    arch = [] if target_of(source.command) else [f"--offload-arch={target}"]
    return [*_without_output(source), *arch]


def _without_output(source: HipSource) -> list[str]:
    """The command without its output and its sources."""
    words, kept = iter(source.command), []
    for word in words:
        if word == "-o":
            next(words, None)
        elif word not in ("-c", "-S", "-E") and not is_source(word):
            kept.append(word)
    return kept
