"""How two replays' memory differs, against NumPy's structured arrays: which element, how many, how far."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rocm_perf_lab.gate.kernel_inputs import Buffer
from rocm_perf_lab.gate.nans import Nans
from rocm_perf_lab.gate.outputs import Outputs, difference
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
        (START - 1, "1 bytes differ from 0x7f000000003f on"),  # before the buffer
        (START + COUNT * 24, "1 bytes differ from"),  # behind it
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
