"""What a kernel shows to others while it runs, by the text of its instructions."""

from __future__ import annotations

import pytest

from instruction_texts import PLAIN, kernel, lines
from rocm_perf_lab.gate.code_object import reached_functions
from rocm_perf_lab.gate.code_object.fences import lost_fence, speaks_to_the_host


@pytest.fixture(autouse=True)
def _instructions_are_lines(monkeypatch):
    monkeypatch.setattr(reached_functions, "instructions", lines)


RELEASE, ACQUIRE = "buffer_wbl2 sc1", "buffer_inv sc1"
STORES = "it no longer makes its stores visible to other workgroups, as the baseline does with `buffer_wbl2 sc1`"
LOOKS = (
    "it no longer invalidates its caches to see what other workgroups have stored, as the baseline does with `buffer_inv sc1`"
)


@pytest.mark.parametrize(
    "before, after, said",
    [
        ((PLAIN,), (PLAIN,), None),
        ((PLAIN,), (RELEASE, ACQUIRE), None),
        ((RELEASE,), (RELEASE,), None),
        ((PLAIN, RELEASE), (PLAIN, PLAIN), STORES),
        ((ACQUIRE, PLAIN), (PLAIN,), LOOKS),
        ((RELEASE, ACQUIRE), (ACQUIRE,), STORES),
        ((RELEASE, ACQUIRE), (RELEASE,), LOOKS),
        ((RELEASE,), ("buffer_wbl2 sc0 sc1",), None),
        ((ACQUIRE,), ("buffer_inv sc0 sc1",), None),
        ((ACQUIRE,), ("buffer_wbinvl1_vol",), None),
        (("buffer_wbinvl1",), (ACQUIRE,), None),
    ],
)
def test_a_fence_for_other_workgroups_stays(before, after, said):
    assert lost_fence(kernel(*before), kernel(*after), "k", "gfx942") == said


@pytest.mark.parametrize(
    "before, after, pair",
    [
        (("buffer_wbl2 sc0 sc1",), (PLAIN,), ("`buffer_wbl2 sc0 sc1`", "nothing")),
        (("buffer_wbl2",), ("buffer_invl2",), ("`buffer_wbl2`", "`buffer_invl2`")),
        (("global_load_dword v1, v2, off sc0 sc1",), (PLAIN,), ("`global_load_dword sc0 sc1`", "nothing")),
        (("buffer_wbl2",), ("buffer_wbl2", "buffer_invl2"), ("nothing", "`buffer_invl2`")),
    ],
)
def test_what_the_host_can_see_stays_as_it_is(before, after, pair):
    there, here = pair
    found = lost_fence(kernel(*before), kernel(*after), "k", "gfx942")
    assert found is not None and f"where the baseline has {there} there is {here};" in found


def test_registers_and_repetitions_make_no_difference_to_the_host():
    one = ("global_store_dword v1, v2, off sc0 sc1", "global_atomic_add v1, v2, off sc1")
    other = ("global_store_dword v7, v8, off sc0 sc1",) * 2 + ("global_atomic_add v3, v4, off sc1",)
    assert lost_fence(kernel(*one), kernel(*other), "k", "gfx942") is None
    assert lost_fence(kernel(*one), kernel(*other[::-1]), "k", "gfx942") is not None


def test_only_accesses_of_system_scope_speak_to_the_host(monkeypatch):
    for text, speaks in (
        (PLAIN, False),
        (RELEASE, False),
        ("buffer_wbl2 sc0 sc1", True),
        ("global_atomic_add v1, v2 sc1", True),
    ):
        monkeypatch.setattr(reached_functions, "contents_by_symbol", lambda _image, text=text: kernel(text))
        assert speaks_to_the_host(b"", "k", "gfx942") == speaks
