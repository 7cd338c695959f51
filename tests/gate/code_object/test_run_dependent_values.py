"""What tells a kernel's runs apart, by the text of its instructions."""

from __future__ import annotations

import pytest

from instruction_texts import PLAIN, kernel, lines
from rocm_perf_lab.code_object.symbol_contents import SymbolContent
from rocm_perf_lab.gate.code_object import run_dependent_values
from rocm_perf_lab.gate.code_object.run_dependent_values import new_observations


@pytest.fixture(autouse=True)
def _instructions_are_lines(monkeypatch):
    monkeypatch.setattr(run_dependent_values, "instructions", lines)


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
