"""Arguments become the words that a kernel of that signature expects, and arrays become the memory that they occupy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rocm_perf_triton import host_arrays, kernel_arguments, versions
from rocm_perf_triton.device_memory import _united
from rocm_perf_triton.host_arrays import HostArray, MemorySpan
from rocm_perf_triton.kernel_arguments import Pointer

FLOATS = {"fp16": np.float16, "bf16": ml_dtypes.bfloat16, "fp32": np.float32, "fp64": np.float64}
INTEGERS = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "u8": np.uint8, "u64": np.uint64}


def low_bytes(word: int, dtype: type) -> np.generic:
    return np.frombuffer(word.to_bytes(8, "little"), dtype, 1)[0]


@given(kind=st.sampled_from(sorted(INTEGERS)), data=st.data())
def test_integers_are_in_the_low_end_of_a_word(kind: str, data: st.DataObject):
    limits = np.iinfo(INTEGERS[kind])
    value = data.draw(st.integers(int(limits.min), int(limits.max)))
    (word,) = kernel_arguments.words([kind], [value], versions.descriptor_words("3.9.0"))
    assert low_bytes(word, INTEGERS[kind]) == value


@given(kind=st.sampled_from(sorted(FLOATS)), value=st.floats(-1000, 1000, width=16))
def test_numbers_that_a_type_holds_keep_their_value(kind: str, value: float):
    held = float(FLOATS[kind](value))
    (word,) = kernel_arguments.words([kind], [held], versions.descriptor_words("3.9.0"))
    assert low_bytes(word, FLOATS[kind]) == held


def test_tuples_are_flattened_and_constants_left_out():
    types = ("i32", "constexpr", ("i64", ("u8", "constexpr")), "*fp32", "*fp32")
    values = (1, "BLOCK", (2, (3, None)), None, 0x7000)
    assert kernel_arguments.words(types, values, versions.descriptor_words("3.9.0")) == [1, 2, 3, 0, 0x7000]


@pytest.mark.parametrize(("version", "flags"), [("3.4.0", 0), ("3.5.1", 1), ("3.6.0", 1), ("3.7.1", 2), ("3.9.0", 2)])
def test_a_descriptor_is_its_base_its_extent_and_the_flags_of_the_version(version: str, flags: int):
    array = np.zeros((4, 8), np.float32)

    class Descriptor:
        base, shape, strides = HostArray(array, True), (4, 8), (8, 1)
        padding, round_f32_to_tf32 = "nan", False

    base, *rest = kernel_arguments.words(["tensordesc<fp32[4, 8]>"], [Descriptor], versions.descriptor_words(version))
    assert isinstance(base, Pointer) and base.address == array.ctypes.data
    assert rest == [4, 8, 8, 1, *[1, 0][:flags], 4, 8, 8, 1]


@given(rows=st.slices(12), columns=st.slices(10), transposed=st.booleans())
def test_every_view_lies_in_the_memory_of_its_owner(rows: slice, columns: slice, transposed: bool):
    owner = np.zeros((12, 10), np.int32)
    view = owner.T[columns, rows] if transposed else owner[rows, columns]
    span = host_arrays.span(HostArray(view, True))
    assert (span.begin, span.end) == (owner.ctypes.data, owner.ctypes.data + owner.nbytes)
    if view.size:
        low, high = np.lib.array_utils.byte_bounds(view)
        assert span.begin <= low and high <= span.end


def test_an_owner_with_negative_strides_is_covered():
    reversed_view = np.ndarray((4,), np.int32, np.zeros(16, np.uint8), offset=12, strides=(-4,))
    span = host_arrays.span(HostArray(reversed_view, True))
    assert (span.begin, span.end) == np.lib.array_utils.byte_bounds(reversed_view)


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 10))))
def test_pieces_of_memory_are_united_where_they_overlap(extents: list[tuple[int, int]]):
    pieces = _united([MemorySpan(begin, begin + size) for begin, size in extents])
    covered = [address for piece in pieces for address in range(piece.begin, piece.end)]
    assert len(covered) == len(set(covered))
    assert set(covered) == {address for begin, size in extents for address in range(begin, begin + size)}


def test_values_that_are_not_arrays_are_not_changed():
    for value in (1, 2.5, None, "text", (1, 2)):
        assert host_arrays.as_argument(value) is value


def test_types_that_triton_lacks_are_refused():
    for dtype in (np.complex64, "M8[ns]", ">f4", object):
        with pytest.raises(TypeError, match="no type for the elements"):
            host_arrays.as_argument(np.zeros(2, dtype))


class Exporter:
    """An array from another library, as far as DLPack exposes it."""

    def __init__(self, array: np.ndarray):
        self.array = array

    def __dlpack__(self, **keywords: object) -> object:
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


def test_arrays_of_other_libraries_are_taken_without_a_copy():
    array = np.arange(6, dtype=np.int16)
    argument = host_arrays.as_argument(Exporter(array))
    assert argument.data_ptr() == array.ctypes.data and argument.writable and str(argument.dtype) == "int16"
    assert host_arrays.span(argument) == MemorySpan(array.ctypes.data, array.ctypes.data + 12)


@pytest.mark.parametrize("version", ["2.1.0", "3.3.1", "4.0.0"])
def test_versions_with_other_interfaces_are_refused_with_a_remedy(version: str):
    reason = versions.refusal(version)
    assert reason is not None and version in reason and "pip install triton==3.9.*" in reason


@pytest.mark.parametrize("version", ["3.4.0", "3.5.0+gitabc", "3.9.0", "3.10.0"])
def test_other_versions_are_not_refused(version: str):
    assert versions.refusal(version) is None
    assert (versions.untried(version) is not None) == (version == "3.10.0")
