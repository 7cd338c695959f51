"""The data passed to a kernel: the words of its arguments, and the host memory to which they point."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rocm_perf_triton.host_arrays import MemorySpan, span

# The struct format for each of Triton's floating-point types. There is none for bf16, which is the upper half of an f32.
_FLOATS = {"fp16": "<e", "fp32": "<f", "f32": "<f", "fp64": "<d"}


@dataclass(frozen=True)
class Pointer:
    """An address in an array's memory."""

    address: int
    memory: MemorySpan


Word = int | Pointer


def words(types: Iterable[Any], values: Iterable[Any], descriptor_words: Callable[[Any], list[Any]]) -> list[Word]:
    """The arguments' words in order, without constexprs; a scalar's bits are at the low end of a word.

    types: the types in Triton's signature: "*fp32", "i32", "constexpr" or tuples of these. values: one per type.
    """
    return list(_words(types, values, descriptor_words))


def _words(types: Iterable[Any], values: Iterable[Any], descriptor_words: Callable[[Any], list[Any]]) -> Iterator[Word]:
    for kind, value in zip(types, values, strict=True):
        if isinstance(kind, tuple):
            yield from _words(kind, value, descriptor_words)
        elif kind.startswith("tensordesc"):
            base, *remaining = descriptor_words(value)
            yield _pointer(base)
            yield from (_integer(word) for word in remaining)
        elif kind.startswith("*"):
            yield _pointer(value)
        elif kind != "constexpr":
            yield _scalar(kind, value)


def _scalar(kind: str, value: Any) -> int:
    if kind in _FLOATS:
        return int.from_bytes(struct.pack(_FLOATS[kind], value), "little")
    if kind == "bf16":
        return int.from_bytes(struct.pack("<f", value)[2:], "little")
    return _integer(value)


def _integer(value: Any) -> int:
    return int(value) & (2**64 - 1)


def _pointer(value: Any) -> Word:
    if value is None:
        return 0
    if isinstance(value, int):
        return value  # an address that the program obtained elsewhere
    address = int(value.data_ptr())
    return Pointer(address, span(value)) if address else 0


def packed(values: Sequence[int]) -> tuple[Any, Any]:
    """The array of addresses that HIP's launch functions take, and the words at these addresses. The words must outlive the
    launch.

    HIP reads only as many words as the kernel has arguments, so surplus words at the end do no harm. This matters for the
    pointers to scratch memory, which come last: Triton 3.4 has one, later versions have two.
    """
    count = len(values)
    store = (ctypes.c_uint64 * count)(*values)
    start, size = ctypes.addressof(store), ctypes.sizeof(ctypes.c_uint64)
    return (ctypes.c_void_p * count)(*(start + size * index for index in range(count))), store
