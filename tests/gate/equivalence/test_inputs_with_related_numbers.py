"""Inputs chosen with regard to each other, and inputs made of numbers in a candidate's text."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from rocm_perf_lab.gate.equivalence.added_literals import perturbations_with_literals
from rocm_perf_lab.gate.equivalence.inputs_with_related_numbers import RelatedInputs
from rocm_perf_lab.gate.equivalence.kernel_inputs import Buffer, KernelInputs, NumberArgument, PointerArgument
from rocm_perf_lab.gate.equivalence.perturbation import Field
from rocm_perf_lab.hip_source.layout import Leaf, TypeLayout

TEXT, WORD, OUT = 0x1000, 0x2000, 0x3000
LETTERS = np.frombuffer(b"the quick brown fox jumps over the lazy dog", np.uint8)
PATTERN = np.frombuffer(b"cat", np.uint8)


class Capture:
    """Three allocations; the kernel fills the last one with ones."""

    def __init__(self, contents: dict[int, np.ndarray]):
        self._contents = contents
        extents = [(address, content.nbytes) for address, content in contents.items()]
        self.regions = [SimpleNamespace(kind="data", base=0x1000, bytes=0x3000, allocations=extents)]

    def memory(self, address: int, size: int, after: bool = False) -> bytes:
        content = self._contents[address].tobytes()[:size]
        return b"\1" * len(content) if after and address == OUT else content


def field(name: str, address: int, content: np.ndarray, **leaf) -> Field:
    layout = TypeLayout(f"{content.dtype}", content.itemsize, (Leaf("", 0, f"{content.dtype}", **leaf),))
    return Field(Buffer(name, name, address, layout, content.size), layout.leaves[0])


def related(text: np.ndarray, word: np.ndarray, **leaf):
    """The cases by name, each as {address: content}."""
    out = np.zeros(text.size, text.dtype)
    capture = Capture({TEXT: text, WORD: word, OUT: out})
    fields = [field("text", TEXT, text, **leaf), field("word", WORD, word, **leaf), field("out", OUT, out, **leaf)]
    pointers = [PointerArgument(one.buffer.name, at, "T", one.buffer.address) for at, one in enumerate(fields)]
    cases = RelatedInputs(capture, KernelInputs(pointers=pointers), fields, seed=3).all()
    return {
        one.name: {
            address: np.frombuffer(content, np.uint8 if one.same_memory else text.dtype) for address, content in one.overlays
        }
        for one in cases
    }


def test_each_number_of_a_small_buffer_alone_changes_to_another_that_occurs():
    singles = [case[WORD] for name, case in related(LETTERS, PATTERN).items() if name.startswith("word[")]
    assert [(one != PATTERN).nonzero()[0].tolist() for one in singles] == [[0], [1], [2]]
    assert {*np.concatenate(singles)} <= {*LETTERS, *PATTERN}


def test_a_small_buffer_occurs_within_the_other_also_with_one_number_changed():
    found = {name: case[TEXT] for name, case in related(LETTERS, PATTERN).items() if name.startswith("text holds word")}
    places = [one.tobytes().find(b"cat") for name, one in found.items() if "but for" not in name]
    assert places[0] == 0 and places[-1] == len(LETTERS) - 3 and len(places) == 3
    near = [one.tobytes()[places[1] : places[1] + 3] for name, one in found.items() if "but for" in name]
    assert [[a == b for a, b in zip(one, b"cat", strict=True)].index(False) for one in near] == [0, 1, 2]
    assert all(sum(a != b for a, b in zip(one, b"cat", strict=True)) == 1 for one in near)


def test_one_number_is_everywhere_and_outputs_are_not_changed():
    cases = related(LETTERS, PATTERN)
    (alike,) = [case for name, case in cases.items() if "everywhere" in name]
    assert {*alike} == {TEXT, WORD} and len({*alike[TEXT], *alike[WORD]}) == 1 and alike[WORD][0] in PATTERN
    assert not [name for name, case in cases.items() if OUT in case]


def test_pointers_lead_to_large_enough_memory_that_the_kernel_changes():
    cases = {name: case for name, case in related(LETTERS, PATTERN).items() if " = " in name and "[" not in name}
    targets = {name: int.from_bytes(*case.values(), "little") for name, case in cases.items()}
    assert targets == {"text = out": OUT, "out = text": TEXT, "word = out": OUT}


def test_values_of_an_enum_stand_for_nothing_else():
    assert {*related(LETTERS, PATTERN, enumerators=(97, 98))} == {"text = out", "out = text", "word = out"}


def test_floats_are_changed_too():
    word = np.array([0.25, np.nan], np.float32)
    cases = related(np.linspace(-1, 1, 40, dtype=np.float32), word)
    singles = [case[WORD] for name, case in cases.items() if name.startswith("word[")]
    assert [list(one.view(np.uint32) != word.view(np.uint32)) for one in singles] == [[True, False], [False, True]]
    assert np.isfinite(singles[1]).all()


def named(numbers, **contents: np.ndarray):
    places = {0x1000 * (at + 1): content for at, content in enumerate(contents.values())}
    fields = [field(name, at, content) for name, (at, content) in zip(contents, places.items(), strict=True)]
    by_value = [NumberArgument("n", 0x9000, "int32", 100), NumberArgument("by", 0x9004, "float32", 1.5)]
    cases = list(perturbations_with_literals(Capture(places), KernelInputs(numbers=by_value), fields, numbers, seed=1))
    of = {at: content.dtype for at, content in places.items()} | {0x9000: np.int32, 0x9004: np.float32}
    return {one.name: {at: np.frombuffer(content, of[at]) for at, content in one.overlays} for one in cases}, cases


def test_numbers_of_the_text_occur_everywhere_among_others_and_by_value():
    floats, indices = np.linspace(2, 3, 100, dtype=np.float32), np.arange(100, dtype=np.int32)
    cases, made = named((7.25, 64.0, 101.0), floats=floats, indices=indices)
    assert set(cases["7.25 everywhere, which the candidate names"][0x1000]) == {np.float32(7.25)}
    assert 0x2000 not in cases["7.25 everywhere, which the candidate names"]
    both = cases["64 everywhere, which the candidate names"]
    assert set(both[0x1000]) == {np.float32(64)} and set(both[0x2000]) == {64}
    assert set(cases["-7.25 everywhere, which the candidate names"][0x1000]) == {np.float32(-7.25)}
    mixed = cases["numbers that the candidate names, among the captured ones"]
    others = mixed[0x1000][mixed[0x1000] != floats]
    assert set(np.abs(others)) == {np.float32(7.25), np.float32(64), np.float32(101)} and 30 < others.size < 70
    assert set(mixed[0x2000][mixed[0x2000] != indices]) == {64}  # 101 is no index
    values = {name: case for name, case in cases.items() if name.startswith(("n =", "by ="))}
    assert {float(next(iter(case.values()))[0]) for name, case in values.items() if name.startswith("n =")} == {64.0, 101.0}
    assert {one.name: one.may_leave_buffers for one in made if one.numbers == ("n",)} == {
        "n = 64, which the candidate names": False,
        "n = 101, which the candidate names": True,
    }
    assert sum(name.startswith("by =") for name in values) == 3


def test_without_suitable_numbers_there_are_no_cases():
    cases, _ = named((1e6,), indices=np.arange(10, dtype=np.int32))
    assert all(name.startswith(("n =", "by =")) for name in cases)
