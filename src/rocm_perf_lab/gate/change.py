"""What the gate takes from a candidate, and the source that it makes of that and the baseline.

Only the target kernel's head (where it makes promises), its body and new device functions come from the candidate. All other
bytes are the baseline's, so nothing else of a candidate can have an effect, whatever it says.
"""

from __future__ import annotations

from dataclasses import dataclass

from rocm_perf_lab.hip_source import Kernel
from rocm_perf_lab.hip_source.edits import line_start
from rocm_perf_lab.hip_source.tokens import line_of

from .promises import NONE, Promises


@dataclass(frozen=True)
class Change:
    """kernel: the target's identity. head: its declaration up to the body. body: with its braces. functions: new device
    functions, in their order; names: theirs. promises: those that the head makes."""

    kernel: str
    head: bytes
    body: bytes
    functions: tuple[bytes, ...] = ()
    names: tuple[str, ...] = ()
    promises: Promises = NONE


@dataclass(frozen=True)
class Spliced:
    """judged: what is compiled, in which all lines of the baseline keep their numbers. adopted: the same, to be kept."""

    judged: bytes
    adopted: bytes


def splice(baseline: bytes, kernel: Kernel, change: Change, namespace: str) -> Spliced:
    """namespace: for the new functions; a name that the baseline does not have."""
    return Spliced(
        _made(baseline, kernel, change, namespace, numbered=True), _made(baseline, kernel, change, namespace, numbered=False)
    )


def _made(baseline: bytes, kernel: Kernel, change: Change, namespace: str, numbered: bool) -> bytes:
    def number(offset: int) -> bytes:
        return b"\n#line %d\n" % line_of(baseline, offset) if numbered else b""

    before, between = baseline[: kernel.declaration], baseline[kernel.declaration : kernel.span.start]
    body, functions = change.body, b""
    if change.functions:
        start = line_start(baseline, kernel.declaration)
        opened = b"" if start == kernel.declaration or not baseline[start : kernel.declaration].strip() else b"\n"
        functions = opened + _in_namespace(change, namespace.encode(), kernel.c_linkage) + number(kernel.declaration)
        body = _using(body, namespace.encode())
    return b"".join((before, functions, between, change.head, body, number(kernel.body.end), baseline[kernel.body.end :]))


def _in_namespace(change: Change, name: bytes, c_linkage: bool) -> bytes:
    """Unnamed outside, so that the functions have no symbols to collide with; C++, where the kernel's own linkage is C."""
    lines = [b"namespace {", b"namespace %s {" % name, *change.functions, b"}  // namespace %s" % name, b"}  // namespace"]
    if c_linkage:
        lines = [b'extern "C++" {', *lines, b"}"]
    return b"\n".join(lines) + b"\n\n"


def _using(body: bytes, name: bytes) -> bytes:
    """The kernel, and nothing else, sees the functions by their names alone."""
    rest = body[1:]
    return b"{\n  using namespace %s;" % name + (rest if rest.startswith((b"\n", b"\r")) else b"\n " + rest)


def unused_name(kernel: Kernel, taken: frozenset[str] | set[str]) -> str:
    """A namespace's name that is none of `taken`."""
    stem = f"{kernel.last_name}_parts"
    return next(name for name in (stem, *(f"{stem}{n}" for n in range(2, len(taken) + 3))) if name not in taken)
