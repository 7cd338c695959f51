"""What a kernel shows and observes while it runs, by the text of its instructions."""

from __future__ import annotations

import pytest

from rocm_perf_lab.code_object.pieces import SymbolContent
from rocm_perf_lab.gate import run_observation
from rocm_perf_lab.gate.run_observation import lost_fence, named, new_observations, reached, speaks_to_the_host


@pytest.fixture(autouse=True)
def _instructions_are_lines(monkeypatch):
    monkeypatch.setattr(run_observation, "instructions", lambda code, _target: code.decode().split("\n"))


def function(name: str, *texts: str, calls: tuple[str, ...] = ()) -> SymbolContent:
    code = "\n".join(texts).encode()
    return SymbolContent(name, "STT_FUNC", len(code), code, tuple((0, f"10 {one}+0") for one in calls), False)


def kernel(*texts: str) -> dict[str, SymbolContent]:
    return {"k": function("k", *texts)}


RELEASE, ACQUIRE = "buffer_wbl2 sc1", "buffer_inv sc1"
STORES = "it no longer makes its stores visible to other workgroups, as the baseline does with `buffer_wbl2 sc1`"
LOOKS = "it no longer looks for what other workgroups have stored, as the baseline does with `buffer_inv sc1`"
PLAIN = "s_endpgm"


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
        monkeypatch.setattr(run_observation, "pieces_of", lambda _image, text=text: kernel(text))
        assert speaks_to_the_host(b"", "k", "gfx942") == speaks


@pytest.mark.parametrize(
    "text, what",
    [
        ("s_memtime s[0:1]", "a clock"),
        ("s_getreg_b32 s0, hwreg(HW_REG_HW_ID)", "a hardware register"),
        ("s_getreg_b32 s0, hwreg(HW_REG_MODE, 0, 4)", None),
        ("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 8), 1", None),
        ("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), 1", None),
        ("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 11), 1", "traps, skipped instructions or a mode other than floating point"),
        ("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 10, 1), 1", "traps, skipped instructions or a mode other than floating point"),
        ("s_mov_b32 s0, ttmp9", "the trap handler's registers"),
        ("s_sendmsg sendmsg(MSG_INTERRUPT)", "the host"),
        ("s_trap 2", "a trap"),
        ("s_sleep 3", "a wait or cache operation that no time is modelled for"),
        ("", "bytes that are not an instruction"),
        ("v_add_f32 v0, v1, v2", None),
    ],
)
def test_what_tells_runs_apart_is_new_if_the_baseline_has_none_alike(text, what):
    found = new_observations(kernel(PLAIN), kernel(PLAIN, text), "k", "gfx942")
    assert found == ({} if what is None else {what: f"`{text}`"})
    assert not new_observations(kernel(text), kernel(text, PLAIN), "k", "gfx942")


@pytest.mark.parametrize(
    "bit, what", [(0, None), (1, "its dispatch packet"), (2, "its queue"), (3, None), (4, "its dispatch's number")]
)
def test_what_its_descriptor_asks_for(bit, what):
    content = bytes(56) + (1 << bit).to_bytes(2, "little") + bytes(6)
    descriptor = SymbolContent("k.kd", "STT_OBJECT", 64, content, (), False)
    found = new_observations(kernel(PLAIN), kernel(PLAIN) | {"k.kd": descriptor}, "k", "gfx942")
    assert found == ({} if what is None else {what: "its descriptor"})


def test_functions_are_reached_through_others_and_once():
    pieces = {
        "k": function("k", PLAIN, calls=("f", "table")),
        "f": function("f", PLAIN, calls=("g", "f")),
        "g": function("g", PLAIN, calls=("k",)),
        "table #2": SymbolContent("table #2", "STT_OBJECT", 8, bytes(8), ((0, "3 h+8"),), False),
        "h": function("h", PLAIN),
        "unused": function("unused", PLAIN),
    }
    assert sorted(one.name for one in reached(pieces, "k")) == ["f", "g", "h", "k"]
    assert [named(one) for one in ("10 _Z1ff+0", "3 h-12", "3 h")] == ["_Z1ff", "h", "h"]
