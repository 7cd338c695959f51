"""How two replays' memory differs, against NumPy's structured arrays: which element, how many, how far."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rocm_perf_lab.gate.equivalence.kernel_inputs import Buffer, KernelInputs, NumberArgument
from rocm_perf_lab.gate.equivalence.memory_difference import (
    Outputs,
    buffer_difference,
    difference,
    floats_in,
    inputs_of,
    location,
    same_outside,
)
from rocm_perf_lab.gate.equivalence.nans import Nans
from rocm_perf_lab.hip_source.layout import Leaf, TypeLayout

BASE, START, COUNT = 0x7F0000000000, 64, 20
# struct { float a; _Float16 b[3]; int c; float* p; }; 2 bytes of padding before c
LAYOUT = TypeLayout(
    "S",
    24,
    (
        Leaf(".a", 0, "float32"),
        Leaf(".b[]", 4, "float16", ((3, 2),)),
        Leaf(".c", 12, "int32"),
        Leaf(".p", 16, None, pointee="float"),
    ),
)
RECORD = np.dtype({"names": ["a", "b", "c"], "formats": ["<f4", ("<f2", 3), "<i4"], "offsets": [0, 4, 12], "itemsize": 24})
BUFFER = Buffer("out", "out", BASE + START, LAYOUT, COUNT)

edit = st.tuples(st.integers(0, COUNT - 1), st.sampled_from(["a", "b", "c"]), st.integers(0, 2), st.integers(1, 9))


def dumped(folder, content: np.ndarray) -> Outputs:
    folder.mkdir(exist_ok=True)
    region = {"base": f"{BASE:#x}", "bytes": content.size, "file": "region.bin", "changed_bytes": content.size}
    (folder / "outputs.json").write_text(json.dumps({"regions": [region]}))
    content.tofile(folder / "region.bin")
    return Outputs(folder)


def pair(folder, change) -> tuple[Outputs, Outputs, np.ndarray, np.ndarray]:
    """Two dumps, and their records; change(records) makes the second of the first."""
    values = np.random.default_rng(3)
    before = np.zeros(START + COUNT * 24 + 8, np.uint8)
    records = before[START:-8].view(RECORD)
    records["a"], records["b"] = values.uniform(-9, 9, COUNT), values.uniform(-9, 9, (COUNT, 3))
    after = before.copy()
    change(after)
    return dumped(folder / "a", before), dumped(folder / "b", after), records, after[START:-8].view(RECORD)


@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits=st.lists(edit, max_size=6), ulps=st.integers(0, 9))
def test_as_numpy_compares(tmp_path, edits, ulps):
    def change(content):
        records = content[START:-8].view(RECORD)
        for element, name, index, steps in edits:
            place = (element, index) if name == "b" else element
            for _ in range(steps):
                value = records[name][place]
                records[name][place] = value + 1 if name == "c" else np.nextafter(value, value.dtype.type(100))

    one, other, a, b = pair(tmp_path, change)
    found = difference(one, other, [BUFFER], ulps)
    expected = []  # (element, member in order, index, distance or None)
    for element in range(COUNT):
        for order, name in enumerate(("a", "b", "c")):
            x, y = np.atleast_1d(a[name][element]), np.atleast_1d(b[name][element])
            for index in range(x.size):
                steps = _steps(x[index], y[index]) if name != "c" else None
                if x[index] != y[index] and (steps is None or steps > ulps):
                    expected.append((element, order, index, steps))
    if not expected:
        assert found is None
        return
    element, order, index, _ = expected[0]
    name = f"out[{element}].{'abc'[order]}" + (f"[{index}]" if order == 1 else "")
    distances = [steps for *_, steps in expected if steps is not None]
    assert found.where.element == name and found.reason.startswith(f"{name}: baseline ")
    assert found.where.differing == len(expected)
    assert found.where.largest_ulps == (max(distances) if distances else None)


def _steps(x, y) -> int:
    count = 0
    while x != y:
        x, count = np.nextafter(x, y), count + 1
    return count


@pytest.mark.parametrize(
    "place, words",
    [
        (START + 10, "in out, 10 bytes from its beginning"),  # padding
        (START + 24 + 17, "in out, 41 bytes from its beginning"),  # a pointer
        (START - 1, "1 byte differs, at 0x7f000000003f"),  # before the buffer
        (START + COUNT * 24, "1 byte differs, at"),  # behind it
    ],
)
@pytest.mark.parametrize("ulps", [0, 1000])
def test_what_is_no_number_must_be_the_same(tmp_path, place, words, ulps):
    def change(content):
        content[place] ^= 1

    one, other, *_ = pair(tmp_path, change)
    assert words in difference(one, other, [BUFFER], ulps).reason


def with_first(folder, *bits: int) -> tuple[Outputs, Outputs]:
    """Two dumps that have these bits in their first number."""
    one, other, *_ = pair(folder, lambda content: None)
    for outputs, word in zip((one, other), bits, strict=True):
        content = np.fromfile(outputs.folder / "region.bin", np.uint8)
        content[START : START + 4].view("<u4")[0] = word
        dumped(outputs.folder, content)
    return one, other


def test_one_nan_is_not_another_and_is_told_by_its_bits(tmp_path):
    found = difference(*with_first(tmp_path, 0x7FC00000, 0x7FC00001), [BUFFER], 5)
    assert found.reason.startswith("out[0].a: baseline nan (0x7fc00000), candidate nan (0x7fc00001)")
    assert found.where.largest_ulps is None


@pytest.mark.parametrize("ulps", [0, 5])
@pytest.mark.parametrize(
    "bits, same",
    [
        ((0x7FC00000, 0xFFC00000), True),  # the sign
        ((0x7FC00000, 0xFFC00123), True),  # the payload of an input
        ((0xFFFFFFFB, 0xFFFFFFFA), False),  # -5 and -6, kept in a floating-point number
        ((0x7FA00000, 0x7FC00000), False),  # signalling
        ((0x7FC00000, 0x7F800000), False),  # an infinity
    ],
)
def test_nans_that_a_computation_may_give_are_the_same(tmp_path, bits, same, ulps):
    nans = Nans(lambda: [np.array([1, 0x7FC00123], "<u4").view("<f4")])
    one, other = with_first(tmp_path, *bits)
    assert (difference(one, other, [BUFFER], ulps, nans=nans) is None) == same
    assert difference(one, other, [], ulps, nans=nans) is not None  # of unknown type


WORDS = TypeLayout("int", 4, (Leaf("", 0, "int32"),))
FLOATS = TypeLayout("float", 4, (Leaf("", 0, "float32"),))
ONE, TWO, THREE = 0x1000, 0x2000, 0xA000
PLACES = [
    Buffer("three", "three", THREE, FLOATS, 4),
    Buffer("two", "two", TWO, FLOATS, 2),
    Buffer("rest", "args", TWO + 8, WORDS, 2),
    Buffer("behind", "behind", TWO + 16, FLOATS, 4),
]


@pytest.fixture
def left(tmp_path):
    """left({address: content}) -> the outputs of a kernel that changes these regions."""
    folders = itertools.count()

    def make(contents: dict[int, np.ndarray]) -> Outputs:
        (folder := tmp_path / str(next(folders))).mkdir()
        regions = []
        for number, (base, content) in enumerate(contents.items()):
            content.tofile(folder / f"{number}.bin")
            about = {"base": f"{base:#x}", "bytes": content.nbytes, "changed_bytes": number + 2, "file": f"{number}.bin"}
            regions.append(about)
        (folder / "outputs.json").write_text(json.dumps({"regions": regions}))
        return Outputs(folder)

    return make


SMALL = np.arange(4, dtype=np.float32)


def test_the_regions_that_a_kernel_changed(left):
    found = left({TWO: SMALL, ONE: np.zeros(2, np.uint8)})
    assert list(found.regions) == ["0x2000", "0x1000"] and found.changed_bytes == 5
    assert found.content(found.regions["0x2000"]).tobytes() == SMALL.tobytes()


def test_a_region_that_only_one_of_them_changes_is_named_by_its_buffers(left):
    both = {ONE: SMALL, TWO: SMALL, THREE: SMALL}
    found = difference(left(both), left({ONE: SMALL}), PLACES)
    assert found.reason == "the candidate leaves the region at 0x2000 (of two, rest) unchanged, but the baseline writes to it"
    found = difference(left({TWO: SMALL}), left(both), PLACES)
    assert found.reason == "the candidate writes to the region at 0x1000, which the baseline does not change"
    found = difference(left({ONE: SMALL, TWO: SMALL}), left({ONE: SMALL, THREE: SMALL}), PLACES)
    assert found.reason.startswith("the candidate leaves the region at 0x2000") and found.where is None


@pytest.mark.parametrize("ulps, nans", [(1, None), (0, Nans(lambda: []))])
def test_what_was_there_before_may_be_the_same_as_what_the_other_writes(left, ulps, nans):
    """A kernel that leaves exactly that does not change the region."""
    next_one = np.nextafter(SMALL, np.float32(9)) if ulps else np.array([np.nan, 1, 2, 3], np.float32)
    before = SMALL.copy() if ulps else np.array([-np.nan, 1, 2, 3], np.float32)
    memory = {TWO: before, THREE: before}

    def inputs(address: int, size: int) -> np.ndarray:
        assert size == 16
        return memory[address].view(np.uint8)

    one, other = left({TWO: next_one}), left({})
    assert difference(one, other, PLACES[:2] + PLACES[3:], ulps, None, nans) is not None
    shorter = [Buffer("two", "two", TWO, FLOATS, 4), PLACES[0]]
    assert difference(one, other, shorter, ulps, inputs, nans) is None
    assert difference(other, one, shorter, ulps, inputs, nans) is None
    assert difference(one, left({THREE: next_one}), shorter, ulps, inputs, nans) is None
    assert difference(one, other, shorter, 0, inputs, None) is not None
    assert difference(one, left({THREE: next_one + 1}), shorter, ulps, inputs, nans).reason.startswith("the candidate leaves")
    assert difference(left({THREE: next_one + 1}), one, shorter, ulps, inputs, nans).reason.startswith("the candidate leaves")


def test_all_regions_count_and_the_first_number_is_told(left):
    other = SMALL.copy()
    other[1] = 7
    changed = {THREE: other, TWO: np.array([0, 7, 2, 3], np.float32)}
    found = difference(left({THREE: SMALL, TWO: SMALL}), left(changed), [*PLACES, Buffer("all", "all", ONE, WORDS, 4)])
    assert found.reason.startswith("two[1]: baseline 1.0, candidate 7.0; 2 of 6 elements differ, by ")
    assert (found.where.parameter, found.where.type) == ("two", "float32")
    words = np.array([0, 1, 2, 3], np.int32)
    found = difference(left({TWO: words}), left({TWO: np.array([0, 1, 2, 5], np.int32)}), PLACES)
    assert found.reason == "rest[1]: baseline 3, candidate 5; 1 of 2 elements differ" and found.where.parameter == "args"
    assert found.where.largest_ulps is None


def test_a_number_is_told_by_its_bits_where_its_digits_are_the_same():
    one, other = np.array([0.0, 1.0], np.float32), np.array([-0.0, 1.0], np.float32)
    two = Buffer("two", "two", TWO, FLOATS, 2)
    found = buffer_difference(two, one.view(np.uint8), other.view(np.uint8))
    assert found.reason.startswith("two[0]: baseline 0.0, candidate -0.0; 1 of 2 elements differ, by 0 ULP at most")
    assert buffer_difference(two, other.view(np.uint8), one.view(np.uint8)).reason.startswith(
        "two[0]: baseline -0.0, candidate 0.0"
    )
    quiet = np.array([1, 0x7FC00001], np.uint32)
    found = buffer_difference(two, quiet.view(np.uint8), np.array([1, 0xFFC00001], np.uint32).view(np.uint8))
    assert found.reason == "two[1]: baseline nan (0x7fc00001), candidate nan (0xffc00001); 1 of 2 elements differ"


def test_how_far_numbers_are_apart_is_said_of_pairs_without_a_nan():
    one, other = np.array([np.nan, 1.0], np.float32), np.array([0.0, np.nextafter(np.float32(1), np.float32(2))], np.float32)
    found = buffer_difference(Buffer("two", "two", TWO, FLOATS, 2), one.view(np.uint8), other.view(np.uint8))
    assert (found.where.differing, found.where.largest_ulps) == (2, 1)


@pytest.mark.parametrize("ulps, same", [(0, False), (1, True)])
def test_the_bytes_of_one_buffer(ulps, same):
    two = Buffer("two", "two", TWO, FLOATS, 2)
    one, other = (
        np.array([3.0, value], np.float32).view(np.uint8) for value in (1.0, np.nextafter(np.float32(1), np.float32(2)))
    )
    assert buffer_difference(two, one, one) is None and (buffer_difference(two, one, other, ulps) is None) == same
    assert buffer_difference(two, one, other) is not None
    padded = Buffer("s", "s", TWO, TypeLayout("S", 8, (Leaf("", 0, "float32"),)), 1)
    found = buffer_difference(padded, one, np.concatenate([one[:4], other[4:] + 1]))
    assert found.reason.startswith("4 bytes differ, the first at 0x2004 (in s, 4 bytes from its beginning)")
    assert (found.where.address, found.where.differing_bytes, found.where.parameter) == ("0x2004", 4, "s")


def test_pointers_are_no_numbers_and_what_is_behind_them_still_is(left):
    node = TypeLayout("S", 16, (Leaf(".next", 0, None, pointee="S"), Leaf(".x", 8, "int32")))
    buffer, one = Buffer("list", "list", TWO, node, 1), np.array([5, 0, 7, 0], np.int32)
    found = difference(left({TWO: one}), left({TWO: np.array([5, 0, 9, 0], np.int32)}), [buffer])
    assert found.reason.startswith("list[0].x: baseline 7, candidate 9")


def test_bytes_of_certain_places_do_not_count(left):
    one, other = np.arange(8, dtype=np.uint8), np.array([0, 1, 9, 9, 4, 5, 6, 7], np.uint8)
    both = {ONE: one, TWO: one}, {ONE: one, TWO: other}
    expected, found = (left(contents) for contents in both)
    assert not same_outside([], expected, found) and same_outside([(TWO + 2, b"xx")], expected, found)
    assert not same_outside([(TWO + 2, b"x")], expected, found) and not same_outside([(TWO + 3, b"x")], expected, found)
    assert same_outside([(TWO + 2, b"x"), (TWO + 3, b"xxxxxxxxx")], expected, found)
    assert same_outside([(TWO - 4, b"x" * 8)], expected, found) and not same_outside([(TWO - 4, b"x" * 4)], expected, found)
    assert not same_outside([(ONE, b"x" * 8)], expected, found)
    assert not same_outside([], left({ONE: one}), left({ONE: one, TWO: one}))
    assert not same_outside([], left({ONE: one, TWO: one}), left({ONE: one}))
    assert not same_outside([(TWO - 9, b"x")], left({TWO: one}), left({TWO: one ^ np.uint8(1)}))


def test_a_place_is_told_by_the_buffer_that_holds_it():
    for address, words, parameter in (
        (TWO + 8, f"{TWO + 8:#x} (in rest, 0 bytes from its beginning)", "args"),
        (TWO + 15, f"{TWO + 15:#x} (in rest, 7 bytes from its beginning)", "args"),
        (TWO + 7, f"{TWO + 7:#x} (in two, 7 bytes from its beginning)", "two"),
        (TWO - 1, f"{TWO - 1:#x}", None),
        (TWO + 32, f"{TWO + 32:#x}", None),
    ):
        where, section = location(address, PLACES)
        assert (where, section.address, section.parameter) == (words, f"{address:#x}", parameter)


def test_all_floating_point_numbers_that_a_kernel_is_given(in_memory):
    capture = in_memory({ONE: SMALL.tobytes(), TWO: SMALL.tobytes(), THREE: SMALL.tobytes()})
    mixed = TypeLayout("S", 8, (Leaf(".a", 0, "float32"), Leaf(".b", 4, "int32"), Leaf(".c", 4, "float16")))
    buffers = [Buffer("one", "one", ONE, mixed, 2), Buffer("ints", "ints", TWO, WORDS, 4), Buffer("x", "x", THREE, FLOATS, 4)]
    numbers = [NumberArgument("n", 0x9000, "int32", 7), NumberArgument("f", 0x9004, "float32", 1.5)]
    arguments = KernelInputs(buffers, numbers)
    found = [[*map(float, one)] for one in floats_in(arguments, capture, ())]
    assert found == [[0, 2], [*map(float, SMALL.view(np.float16)[2::4])], [0, 1, 2, 3], [1.5]]
    overlays = ((THREE + 4, np.float32([8]).tobytes()), (0x9000, np.float32([3, 2.5]).tobytes()))
    assert [[*map(float, one)] for one in floats_in(arguments, capture, overlays)][2:] == [[0, 8, 2, 3], [2.5]]


@pytest.mark.parametrize(
    "address, written, expected",
    [
        (ONE - 2, b"abcd", b"cd\0\0\0\0\0\0"),
        (ONE + 6, b"abcd", b"\0\0\0\0\0\0ab"),
        (ONE - 2, b"x" * 12, b"x" * 8),
        (ONE + 3, b"a", b"\0\0\0a\0\0\0\0"),
        (ONE - 4, b"abcd", bytes(8)),
        (ONE + 8, b"abcd", bytes(8)),
    ],
)
def test_what_is_laid_over_memory_is_cut_to_it(in_memory, address, written, expected):
    inputs = inputs_of(in_memory({ONE: bytes(16)}), [(address, written)])
    assert inputs(ONE, 8).tobytes() == expected and inputs_of(in_memory({ONE: bytes(16)}), [])(ONE, 8).tobytes() == bytes(8)
