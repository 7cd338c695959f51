"""Making a source's code object, or its program, with the user's own command and within limits."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rocm_perf_lab.code_object import code_objects_in
from rocm_perf_lab.errors import SourceError, UnavailableError
from rocm_perf_lab.hip_source import HipSource
from rocm_perf_lab.hip_source.flags import is_source, target_of
from rocm_perf_lab.whole_file import replacing

from .confined import Ended, Limits, run

SCRATCH = "rocm-perf-build-"
"""What the names of the folders begin with that hold a source's copy while it is built."""

_LAST_WORDS = 400  # of a compiler's complaint that go into an error

Log = Callable[[Sequence[str], Ended], None]
"""Is told of every build: its command, and how it ended."""


def code_object(source: HipSource, target: str, limits: Limits = Limits(), log: Log | None = None) -> bytes:
    """The device image of the source for one target, by the source's own command. Raises SourceError, UnavailableError."""
    with tempfile.TemporaryDirectory(prefix=SCRATCH) as scratch:
        here, output = Path(scratch, source.path.name), Path(scratch, "image.hsaco")
        here.write_bytes(source.text)
        command = _device_only(source, target, scratch) + [str(here), "-o", str(output)]
        build(command, source.folder, source.path, limits, log)
        images = [image for name, image in code_objects_in(output) if not name or name.split(":")[0] == target.split(":")[0]]
        if not images:
            raise SourceError(f"{source.path} was built without code for {target}", f"add --offload-arch={target} to --build")
        return images[0]


def complaint(source: HipSource, target: str, limits: Limits = Limits()) -> str | None:
    """All that the compiler says of a source that it rejects, as far as its device code's meaning goes; else None.

    Where it names no error, how it ended (too late, killed). Nothing is generated or assembled. Raises UnavailableError.
    """
    with tempfile.TemporaryDirectory(prefix=SCRATCH) as scratch:
        here = Path(scratch, source.path.name)
        here.write_bytes(source.text)
        command = _device_only(source, target, scratch) + ["-fsyntax-only", str(here)]
        ends: list[Ended] = []
        try:
            build(command, source.folder, source.path, limits, lambda _command, ended: ends.append(ended))
        except SourceError:
            words = ends[0].stderr.decode(errors="replace")
            return words if "error:" in words else ends[0].complaint
    return None


def build(command: Sequence[str], folder: Path, source: Path, limits: Limits, log: Log | None = None) -> Ended:
    """Run a build command. Raises SourceError with the compiler's first error, UnavailableError without the compiler."""
    if shutil.which(command[0]) is None:
        raise UnavailableError(
            f"{command[0]} is not there to build {source}", "install ROCm's hipcc, or name a compiler with --build"
        )
    ended = run(command, folder, os.environ, limits)
    if log is not None:
        log(command, ended)
    if ended.succeeded:
        return ended
    mend = f"correct what the compiler names; it was run as `{shlex.join(command)}`"
    raise SourceError(f"{source} does not compile: {first_error(ended)}", mend)


def first_error(ended: Ended) -> str:
    """The compiler's first line that says "error", else how the build ended."""
    lines = ended.stderr.decode(errors="replace").splitlines()
    found = next((line for line in lines if "error:" in line), "")
    return found[:_LAST_WORDS] or ended.complaint


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
) -> None:
    """Build the whole program of `source` as `output`, whole or not at all. Raises SourceError, UnavailableError."""
    with tempfile.TemporaryDirectory(prefix=SCRATCH) as scratch:
        here, made = Path(scratch, source.path.name), Path(scratch, "program")
        here.write_bytes(source.text)
        words = command.filled(here, made)
        words += [] if target_of(words) else [f"--offload-arch={target}"]
        words += [] if any(word.startswith("-g") for word in words) else ["-gline-tables-only"]  # for the thread trace
        build([*words, *_as_if_in_place(source.path, scratch)], command.folder, source.path, limits, log)
        if not made.exists():
            raise SourceError(f"building {source.path} made no program at {made}", "let --build write to BINARY")
        output.parent.mkdir(parents=True, exist_ok=True)
        with replacing(output) as partial:
            shutil.copy2(made, partial)


def _device_only(source: HipSource, target: str, scratch: str) -> list[str]:
    """The source's own command for its device code alone, without files."""
    arch = [] if target_of(source.command) else [f"--offload-arch={target}"]
    return [*_without_output(source), *arch, "--offload-device-only", *_as_if_in_place(source.path, scratch)]


def _as_if_in_place(source: Path, scratch: str) -> list[str]:
    """Options for a copy in `scratch`: its includes are found, and __FILE__, line numbers and symbols are the original's.

    The compiler makes symbols of a hash of the source's path and all options unless it is given an id (-cuid).
    """
    folder = source.parent.resolve()
    unit = hashlib.sha256(os.fsencode(source.resolve())).hexdigest()[:16]
    return ["-I", str(folder), f"-ffile-prefix-map={scratch}={folder}", f"-cuid={unit}"]


def _without_output(source: HipSource) -> list[str]:
    """The command without its output and its sources."""
    words, kept = iter(source.command), []
    for word in words:
        if word == "-o":
            next(words, None)
        elif word not in ("-c", "-S", "-E") and not is_source(word):
            kept.append(word)
    return kept
