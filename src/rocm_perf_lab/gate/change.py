"""The parts that the gate takes from a candidate, and the source that it builds from them and the baseline.

Only the target kernel's head (for its promises), its body and new device functions come from the candidate. All other bytes are
the baseline's, so nothing else in a candidate can have any effect. The text between `<<<` and `>>>` is not copied: the gate
parses it and writes its own equivalent; see launch_change.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rocm_perf_lab.gate.source.promises import NO_PROMISES, Promises
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
    promises: Promises = NO_PROMISES
    launches: tuple[LaunchText, ...] = ()


@dataclass(frozen=True)
class SplicedSource:
    """The baseline with a change spliced in, in two versions.

    judged: the source that is compiled. Where lines were added or removed, #line directives ensure that every line of the
    baseline keeps its number. without_line_directives: the same source without these directives. The source that is kept must
    compile to the code that was judged; see Judge.
    """

    judged: bytes
    without_line_directives: bytes


def splice(
    baseline: HipSource, kernel: SourceKernel, change: KernelChange, namespace: str, launches: Sequence[Edit] = ()
) -> SplicedSource:
    """Splice a change into the baseline.

    namespace: the name of the namespace for the new functions; the baseline must not use it. launches: edits to the baseline's
    launches; none of them changes a line number.
    """
    insertion = with_comments(baseline.device, kernel.declaration) if change.functions else kernel.declaration
    judged, plain = (
        _spliced_text(baseline.text, kernel, change, namespace, insertion, numbered, launches) for numbered in (True, False)
    )
    return SplicedSource(judged, plain)


def _spliced_text(
    baseline: bytes,
    kernel: SourceKernel,
    change: KernelChange,
    namespace: str,
    insertion: int,
    numbered: bool,
    launches: Sequence[Edit],
) -> bytes:
    """One version of the spliced source. insertion: offset at which new functions are inserted."""
    end = kernel.body.end
    before = [edit for edit in launches if edit.end <= insertion]
    after = [replace(edit, start=edit.start - end, end=edit.end - end) for edit in launches if edit.start >= end]
    if len(before) + len(after) < len(launches):
        raise ValueError("a launch lies within the kernel")
    text, body = apply_edits(baseline[:insertion], before), change.body
    if change.functions:
        text += b"\n" if baseline[line_start(baseline, insertion) : insertion].strip() else b""
        text += _in_namespace(change, namespace.encode(), kernel.c_linkage)
        text += _line_directive(text, baseline, insertion) if numbered else b""
        body = _with_using_directive(body, namespace.encode())
    text += baseline[insertion : kernel.span.start] + change.head + body
    text += _line_directive(text, baseline, end) if numbered else b""
    return text + apply_edits(baseline[end:], after)


def _line_directive(preceding: bytes, baseline: bytes, offset: int) -> bytes:
    """The directive that gives the text after `preceding` the line number of `offset` in the baseline; empty if the text
    already has that number.
    """
    line = compiled_line_of(baseline, offset)
    if compiled_line_of(preceding, len(preceding)) == line:
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


def _with_using_directive(body: bytes, name: bytes) -> bytes:
    """Add a using directive to the kernel's body, so that only the kernel can use the functions' unqualified names."""
    after_brace = body[1:]
    return b"{\n  using namespace %s;" % name + (
        after_brace if after_brace.startswith((b"\n", b"\r")) else b"\n " + after_brace
    )


def unused_name(kernel: SourceKernel, used_names: frozenset[str] | set[str]) -> str:
    """A namespace name that is not in `used_names`."""
    stem = f"{kernel.last_name}_parts"
    return next(name for name in (stem, *(f"{stem}{n}" for n in range(2, len(used_names) + 3))) if name not in used_names)
