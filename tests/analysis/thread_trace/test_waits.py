"""Which instructions count as outstanding accesses, what waits are for, and which access ends a wait."""

from __future__ import annotations

import numpy as np
import pytest

from rocm_perf_lab.analysis.thread_trace.tables import TracedCode, Wave
from rocm_perf_lab.analysis.thread_trace.waits import WaitChains, counters_of, waits_for, waits_of


@pytest.mark.parametrize(
    "text, gfxip, counters, any_order",
    [
        ("global_load_dword v1, v0, s[0:1]", 9, ("vmcnt",), False),
        ("global_store_dword v0, v1, s[0:1]", 9, ("vmcnt",), False),
        ("global_store_dword v0, v1, s[0:1]", 10, ("vscnt",), False),
        ("global_store_dword v0, v1, s[0:1]", 11, ("vscnt",), False),
        ("global_atomic_add v0, v1, s[0:1]", 10, ("vscnt",), False),
        ("global_atomic_add v2, v0, v1, s[0:1] glc", 10, ("vmcnt",), False),
        ("global_atomic_add v2, v0, v1, s[0:1] sc0", 9, ("vmcnt",), False),
        ("buffer_load_dword v0, v1, s[0:3], 0 offen", 9, ("vmcnt",), False),
        ("scratch_load_dword v0, off, s32", 9, ("vmcnt",), False),
        ("image_sample v0, v[0:1], s[0:7], s[8:11]", 10, ("vmcnt",), False),
        ("tbuffer_store_format_x v0, v1, s[0:3], 0", 10, ("vscnt",), False),
        ("buffer_inv sc1", 9, (), False),
        ("buffer_wbinvl1", 9, (), False),
        ("buffer_gl0_inv", 10, (), False),
        ("flat_load_dword v1, v[0:1]", 9, ("vmcnt", "lgkmcnt"), True),
        ("flat_store_dword v[0:1], v1", 10, ("vscnt", "lgkmcnt"), True),
        ("ds_read_b32 v0, v1", 9, ("lgkmcnt",), False),
        ("s_sendmsg sendmsg(MSG_INTERRUPT)", 9, ("lgkmcnt",), False),
        ("s_load_dwordx2 s[0:1], s[4:5], 0x0", 9, ("lgkmcnt",), True),
        ("s_memtime s[0:1]", 9, ("lgkmcnt",), True),
        ("s_buffer_load_dword s0, s[0:3], 0x0", 9, ("lgkmcnt",), True),
        ("s_waitcnt vmcnt(0)", 9, (), False),
        ("s_mov_b32 s0, s1", 9, (), False),
        ("v_add_f32 v0, v1, v2", 9, (), False),
        ("; kernel", 9, (), False),
    ],
)
def test_what_is_counted_as_outstanding(text, gfxip, counters, any_order):
    assert counters_of(text, gfxip) == (counters, any_order)


@pytest.mark.parametrize(
    "text, gfxip, left",
    [
        ("s_waitcnt vmcnt(0)", 9, {"vmcnt": 0}),
        ("s_waitcnt vmcnt(3) & lgkmcnt(1)", 9, {"vmcnt": 3, "lgkmcnt": 1}),
        ("s_waitcnt lgkmcnt(12) expcnt(0)", 9, {"lgkmcnt": 12}),
        ("s_waitcnt_vscnt null, 0x2", 10, {"vscnt": 2}),
        ("s_waitcnt_vmcnt null, 5", 10, {"vmcnt": 5}),
        ("s_waitcnt_expcnt null, 0x0", 10, {}),
        ("s_waitcnt_depctr 0xffe3", 10, {}),
        ("s_waitcnt 0", 9, {"vmcnt": 0, "lgkmcnt": 0}),
        ("s_waitcnt 0xc07f", 9, {"lgkmcnt": 0}),
        ("s_waitcnt 0x0f70", 9, {"vmcnt": 0}),
        ("s_waitcnt 0x8f75", 9, {"vmcnt": 37}),
        ("s_waitcnt 0xcf7f", 9, {}),
        ("s_waitcnt 0xc27f", 9, {"lgkmcnt": 2}),
        ("s_waitcnt 0xff7f", 10, {}),
        ("s_waitcnt 0xcf7f", 10, {"lgkmcnt": 15}),
        ("s_waitcnt vccz", 9, {}),
        ("s_nop 0", 9, {}),
    ],
)
def test_how_many_may_be_left(text, gfxip, left):
    assert waits_for(text, gfxip) == left


VECTOR, SCALAR, LDS, FLAT, NOTHING = (
    (("vmcnt",), False), (("lgkmcnt",), True), (("lgkmcnt",), False), (("vmcnt", "lgkmcnt"), True), ((), False),
)  # fmt: skip


def waited(*steps) -> list[tuple[int, tuple[int, ...], int | None]]:
    """steps: the counter of an access, or {counter: how many may be left} for a wait; a wave executes them in order."""
    counted = [NOTHING if isinstance(step, dict) else step for step in steps]
    waits = [step if isinstance(step, dict) else {} for step in steps]
    return [(one.record, one.accesses, one.last) for one in waits_of(np.arange(len(steps)), counted, waits)]


ALL_VECTOR, ALL_OTHER = {"vmcnt": 0}, {"lgkmcnt": 0}


@pytest.mark.parametrize(
    "steps, found",
    [
        ((VECTOR, VECTOR, ALL_VECTOR), [(2, (0, 1), 1)]),
        ((VECTOR, VECTOR, VECTOR, {"vmcnt": 1}, ALL_VECTOR), [(3, (0, 1), 1), (4, (2,), 2)]),
        ((VECTOR, {"vmcnt": 1}, {"vmcnt": 5}, ALL_VECTOR), [(1, (), None), (2, (), None), (3, (0,), 0)]),
        ((ALL_VECTOR,), [(0, (), None)]),
        # It is unknown which of several scalar loads was last, and while some are left, nothing is known.
        ((SCALAR, ALL_OTHER), [(1, (0,), 0)]),
        ((SCALAR, SCALAR, ALL_OTHER), [(2, (0, 1), None)]),
        ((SCALAR, LDS, {"lgkmcnt": 1}, ALL_OTHER), [(2, (), None), (3, (0, 1), None)]),
        ((SCALAR, ALL_OTHER, LDS, LDS, {"lgkmcnt": 1}), [(1, (0,), 0), (4, (2,), 2)]),
        ((LDS, LDS, NOTHING, {"lgkmcnt": 1}), [(3, (0,), 0)]),
        # A wait for two counters is ambiguous if it ended accesses of both.
        ((VECTOR, LDS, {"vmcnt": 0, "lgkmcnt": 0}), [(2, (0, 1), None)]),
        ((VECTOR, {"vmcnt": 0, "lgkmcnt": 0}), [(1, (0,), 0)]),
        ((LDS, {"vmcnt": 0, "lgkmcnt": 0}), [(1, (0,), 0)]),
        ((FLAT, ALL_VECTOR, ALL_OTHER), [(1, (0,), 0), (2, (0,), 0)]),
        ((FLAT, VECTOR, {"vmcnt": 1}), [(2, (), None)]),
    ],
)
def test_what_a_wait_waited_for(steps, found):
    assert waited(*steps) == found


def test_records_without_a_row_say_nothing():
    counted, waits = [VECTOR, NOTHING], [{}, ALL_VECTOR]
    (found,) = waits_of(np.array([-1, 0, -1, 1]), counted, waits)
    assert (found.record, found.accesses, found.last) == (3, (1,), 1)


def test_waves_of_the_same_instructions_are_analysed_once():
    none = np.zeros(2, np.int64)
    code = TracedCode(
        line=np.array([1, 2]), text=["global_load_dword v1, v0, s[0:1]", "s_waitcnt vmcnt(0)"], source=["", ""],
        code_object=none, vaddr=none, hits=none, latency=none, stall=none, idle=none, kernel=none, kernels=[],
    )  # fmt: skip

    def wave(*lines: int) -> Wave:
        return Wave("w", 0, 0, 0, 0, 0, 9, np.array([(0, 0, 0, 0, line) for line in lines], np.int64))

    chains = WaitChains(code, [wave(1, 2), wave(1, 2), wave(2, 1)], 9)
    assert chains.of_wave[0] is chains.of_wave[1] is not chains.of_wave[2] and chains.rows[0] is chains.rows[1]
    assert [rows.tolist() for rows in chains.rows] == [[0, 1], [0, 1], [1, 0]]
    assert [(one.record, one.last) for waits in chains.of_wave for one in waits] == [(1, 0), (1, 0), (0, None)]
