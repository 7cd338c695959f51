"""Make the rows of a static LDS array slightly longer, so that the elements of a column are in different banks.

The LDS has 32 banks of 4 bytes. In `tile[lane][k]`, if the row length is a multiple of 32 words, all lanes access the same bank
and are served one after the other; an odd number of words per row spreads them over the banks. Only arrays that are accessed
element by element are changed, so the padding does not affect any values.
"""

from __future__ import annotations

from collections.abc import Iterator

from rocm_perf_lab.hip_source import Edit, HipSource, SourceKernel
from rocm_perf_lab.hip_source.shared_arrays import SharedArray, shared_arrays
from rocm_perf_lab.hip_source.source_parts import Span
from rocm_perf_lab.optimize.transforms.proposal import Proposal, Refusal

NAME = "lds-padding"
_WORD = 4  # bytes per bank
_MAX_ACCESS_BYTES = 16  # bytes of the widest LDS access, which must be aligned to its size


def propose(source: HipSource, kernel: SourceKernel, factors: tuple[int, ...]) -> Iterator[Proposal | Refusal]:
    """For each array, propose the padding that makes its row length odd, and the padding that keeps rows aligned for 16-byte
    accesses.
    """
    for array in shared_arrays(source.device, kernel):
        reason, row = why_not(array), array.row
        if reason or row is None:
            yield Refusal(NAME, kernel.name, array.span.line, f"{array.name}: {reason}")
            continue
        for padding in paddings(array):
            yield Proposal(
                transformation=NAME,
                kernel=kernel.name,
                line=array.span.line,
                description=f"make the rows of {array.name} (line {array.span.line}) longer by {padding}",
                edits=_edits(source.text, row, padding),
                parameters={"array": array.name, "padding": padding},
            )


def why_not(array: SharedArray) -> str | None:
    """Why this array cannot be changed; None if it can."""
    if array.obstacle:
        return array.obstacle
    if array.row is None:
        return "the length of its rows comes from a macro or a type alias"
    if not array.rows_by_lane:
        return "no access uses the lane as its row index: neighbouring lanes are in one row"
    if not paddings(array):
        return "its rows already span an odd number of banks, or not a whole number of them"
    return None


def paddings(array: SharedArray) -> list[int]:
    """Possible paddings, in elements; empty if the rows would not benefit. If the size depends on a template parameter, the
    padding is one element.
    """
    element, row = array.element_bytes, array.row_bytes
    if element is None or row is None:
        return [1]
    unit = max(_WORD, element)
    if row % unit or unit % element or row // unit % 2:
        return []
    least = unit // element
    return [least] + ([_MAX_ACCESS_BYTES // element] if row % _MAX_ACCESS_BYTES == 0 and unit < _MAX_ACCESS_BYTES else [])


def _edits(text: bytes, row: Span, padding: int) -> tuple[Edit, ...]:
    extent = text[row.start : row.end].decode().strip()
    is_single_word = extent.replace("_", "").isalnum()
    return (Edit(row.start, row.end, f"{extent if is_single_word else f'({extent})'} + {padding}"),)
