"""Host arrays as Triton sees them: with a dtype and the address of the first element."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class MemorySpan:
    """The memory that contains an array: begin <= address < end."""

    begin: int
    end: int
    writable: bool = True

    def overlaps(self, other: MemorySpan) -> bool:
        return self.begin < other.end and other.begin < self.end


class HostArray:
    """A NumPy array as a kernel argument."""

    def __init__(self, array: Any, writable: bool):
        if array.dtype.kind not in "biufV" or array.dtype.byteorder == ">":
            raise TypeError(f"Triton has no type for the elements of this array: {array.dtype}")
        self.array, self.writable = array, writable
        self.dtype, self.shape, self.ndim = array.dtype, array.shape, array.ndim

    def data_ptr(self) -> int:
        return int(self.array.ctypes.data)

    def ptr_range(self) -> int:
        """The size in bytes of the memory that contains the array. If it is below 2 GiB, Triton's AMD back end uses buffer
        instructions.
        """
        memory = span(self)
        return memory.end - memory.begin

    def element_size(self) -> int:
        return int(self.array.itemsize)

    def numel(self) -> int:
        return int(self.array.size)

    def stride(self, dimension: int | None = None) -> Any:
        """The strides, in elements, as in PyTorch."""
        steps = tuple(step // self.array.itemsize for step in self.array.strides)
        return steps if dimension is None else steps[dimension]

    def is_contiguous(self) -> bool:
        return bool(self.array.flags.c_contiguous)

    # The operations that `triton.autotune` performs on the arguments named in reset_to_zero and restore_value.
    def zero_(self) -> None:
        self.array[...] = 0

    def clone(self) -> HostArray:
        return HostArray(self.array.copy(), True)

    def copy_(self, other: HostArray, *_: Any, **__: Any) -> None:
        self.array[...] = other.array


def as_argument(value: Any) -> Any:
    """Wraps NumPy arrays, and objects that NumPy can view through DLPack, so that Triton accepts them; returns anything else
    unchanged.
    """
    if _is_numpy_array(value):
        return HostArray(value, bool(value.flags.writeable))
    if hasattr(value, "__dlpack__") and not hasattr(value, "data_ptr"):
        return _from_dlpack(value)
    return value


def _is_numpy_array(value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def _from_dlpack(value: Any) -> HostArray:
    import numpy

    view = numpy.from_dlpack(value)
    # NumPy 1 always made such views read-only, since DLPack could not express whether the owner allows writing.
    return HostArray(view, bool(view.flags.writeable) or numpy.__version__.startswith("1."))


def span(value: Any) -> MemorySpan:
    """The memory of an array argument: everything that its owner allocated, so that overlapping views share one span.

    Raises TypeError for an argument whose extent is unknown.
    """
    if isinstance(value, HostArray):
        return _numpy_span(value)
    storage = getattr(value, "untyped_storage", None)
    if storage is not None:
        memory = storage()
        return MemorySpan(memory.data_ptr(), memory.data_ptr() + memory.nbytes())
    base = getattr(value, "base", None)  # in a TensorWrapper, which triton.reinterpret returns
    if base is not None and hasattr(base, "data_ptr"):
        return span(base)
    raise TypeError(f"the extent of a {type(value).__name__} in memory is unknown: pass a NumPy array or a CPU tensor")


def _numpy_span(argument: HostArray) -> MemorySpan:
    import numpy

    array = argument.array
    while isinstance(array.base, numpy.ndarray):
        array = array.base
    begin = end = int(array.ctypes.data)
    if array.size == 0:
        return MemorySpan(begin, end)
    for length, step in zip(array.shape, array.strides, strict=True):
        begin += min(0, (length - 1) * step)
        end += max(0, (length - 1) * step)
    return MemorySpan(begin, end + array.itemsize, argument.writable)
