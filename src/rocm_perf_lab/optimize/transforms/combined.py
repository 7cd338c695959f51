"""Combines a change with another that it makes possible: if the first change alone gains nothing, the search would otherwise
never reach the second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rocm_perf_lab.errors import SourceError
from rocm_perf_lab.gate.source.promises import combined_promises
from rocm_perf_lab.hip_source import Edit, apply_edits
from rocm_perf_lab.optimize.source_protocol import Source
from rocm_perf_lab.optimize.transforms.proposal import Proposal, Transformation

ENABLED: Mapping[str, Sequence[str]] = {"privatize": ("load-ahead",)}
"""The transformations to try on the result of another one: a loop that adds in LDS no longer writes to the memory that it
reads.
"""


def with_enabled_changes(
    source: Source,
    kernel: Any,
    firsts: Sequence[Proposal],
    transforms: Mapping[str, Transformation],
    factors: tuple[int, ...],
    read: Callable[[bytes], Source],
) -> Iterator[Proposal]:
    """Each proposal in `firsts`, combined with each further proposal that it makes possible. transforms: the transformations
    that may be used. read: reads a changed source.
    """
    for first in firsts:
        names = [name for name in ENABLED.get(first.transformation, ()) if name in transforms]
        if not names or first.other_edits:
            continue
        try:
            changed = read(apply_edits(source.text, first.edits))
        except SourceError:
            continue
        for name in names:
            for second in transforms[name](changed, changed.kernel(kernel.identity), factors):
                if isinstance(second, Proposal) and not second.other_edits:
                    yield _join_proposals(source.text, first, second, apply_edits(changed.text, second.edits))


def _join_proposals(before: bytes, first: Proposal, second: Proposal, after: bytes) -> Proposal:
    return Proposal(
        transformation=first.transformation,
        kernel=first.kernel,
        line=first.line,
        description=f"{first.description}, and {second.description}",
        edits=(_difference(before, after),),
        parameters={**first.parameters, **second.parameters},
        promises=combined_promises(first.promises, second.promises),
    )


def _difference(before: bytes, after: bytes) -> Edit:
    """The difference between the texts, as one edit of whole lines."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    shorter = min(len(old), len(new))
    head = next((i for i in range(shorter) if old[i] != new[i]), shorter)
    tail = next((i for i in range(shorter - head) if old[-1 - i] != new[-1 - i]), shorter - head)
    start, end = len(b"".join(old[:head])), len(b"".join(old[: len(old) - tail]))
    return Edit(start, end, b"".join(new[head : len(new) - tail]).decode())
