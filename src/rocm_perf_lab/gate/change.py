"""The parts that the gate takes from a candidate, and the source that it builds from them and the baseline.

Only the target kernel's head (for its promises), its body and new device functions come from the candidate. All other bytes are
the baseline's, so nothing else in a candidate can have any effect. The text between `<<<` and `>>>` is not copied: the gate
parses it and writes its own equivalent; see launch_change.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rocm_perf_lab.gate.source.promises import NONE, Promises
from rocm_perf_lab.hip_source import HipSource, SourceKernel
from rocm_perf_lab.hip_source.edits import Edit, apply_edits, line_start
from rocm_perf_lab.hip_source.tokens import compiled_line_of, with_comments


@dataclass(frozen=True)
class LaunchText:
    """A changed launch. start, end: the byte range of its shape in the baseline. tokens: the candidate's tokens for the shape.
    file: the real path of the file that contains the launch; None for the kernel's own file.
    """

    start: int
    end: int
    line: int
    tokens: tuple[str, ...]
    file: Path | None = None


@dataclass(frozen=True)
class KernelChange:
    """The parts of a candidate that the gate uses.

    kernel: the target's identity. head: its declaration up to the body. body: its body, including the braces. functions: the
    new device functions in source order, with their names in `names`. promises: what the head promises. launches: the launches
    whose shapes the candidate writes differently.
    """

    kernel: str
    head: bytes
    body: bytes
    functions: tuple[bytes, ...] = ()
    names: tuple[str, ...] = ()
    promises: Promises = NONE
    launches: tuple[LaunchText, ...] = ()


@dataclass(frozen=True)
class Spliced:
    """The baseline with a change spliced in, in two versions.

    judged: the source that is compiled. Where lines were added or removed, #line directives ensure that every line of the
    baseline keeps its number. plain: the same source without these directives. The source that is kept must compile to the code
    that was judged; see Judge.
    """

    judged: bytes
    plain: bytes


def splice(
    baseline: HipSource, kernel: SourceKernel, change: KernelChange, namespace: str, launches: Sequence[Edit] = ()
) -> Spliced:
    """Splice a change into the baseline.

    namespace: the name of the namespace for the new functions; the baseline must not use it. launches: edits to the baseline's
    launches; none of them changes a line number.
    """
    place = with_comments(baseline.device, kernel.declaration) if change.functions else kernel.declaration
    judged, plain = (_made(baseline.text, kernel, change, namespace, place, numbered, launches) for numbered in (True, False))
    return Spliced(judged, plain)


def _made(
    baseline: bytes,
    kernel: SourceKernel,
    change: KernelChange,
    namespace: str,
    place: int,
    numbered: bool,
    launches: Sequence[Edit],
) -> bytes:
    """One version of the spliced source. place: offset at which new functions are inserted."""
    end = kernel.body.end
    before = [edit for edit in launches if edit.end <= place]
    after = [replace(edit, start=edit.start - end, end=edit.end - end) for edit in launches if edit.start >= end]
    if len(before) + len(after) < len(launches):
        raise ValueError("a launch lies within the kernel")
    made, body = apply_edits(baseline[:place], before), change.body
    if change.functions:
        made += b"\n" if baseline[line_start(baseline, place) : place].strip() else b""
        made += _in_namespace(change, namespace.encode(), kernel.c_linkage)
        made += _renumbered(made, baseline, place) if numbered else b""
        body = _using(body, namespace.encode())
    made += baseline[place : kernel.span.start] + change.head + body
    made += _renumbered(made, baseline, end) if numbered else b""
    return made + apply_edits(baseline[end:], after)


def _renumbered(made: bytes, baseline: bytes, offset: int) -> bytes:
    """The directive that gives the text after `made` the line number of `offset` in the baseline; empty if the text already has
    that number.
    """
    line = compiled_line_of(baseline, offset)
    if compiled_line_of(made, len(made)) == line:
        return b""
    return b"\n#line %d" % (line + 1) if baseline[offset : offset + 1] == b"\n" else b"\n#line %d\n" % line


def _in_namespace(change: KernelChange, name: bytes, c_linkage: bool) -> bytes:
    """The new functions in the named namespace. An unnamed namespace encloses it, so no symbols can collide; `extern "C++"` is
    added if the kernel has C linkage.
    """
    lines = [b"namespace {", b"namespace %s {" % name, *change.functions, b"}  // namespace %s" % name, b"}  // namespace"]
    if c_linkage:
        lines = [b'extern "C++" {', *lines, b"}"]
    return b"\n".join(lines) + b"\n\n"


def _using(body: bytes, name: bytes) -> bytes:
    """Add a using directive to the kernel's body, so that only the kernel can use the functions' unqualified names."""
    rest = body[1:]
    return b"{\n  using namespace %s;" % name + (rest if rest.startswith((b"\n", b"\r")) else b"\n " + rest)


def unused_name(kernel: SourceKernel, taken: frozenset[str] | set[str]) -> str:
    """A namespace name that is not in `taken`."""
    stem = f"{kernel.last_name}_parts"
    return next(name for name in (stem, *(f"{stem}{n}" for n in range(2, len(taken) + 3))) if name not in taken)
