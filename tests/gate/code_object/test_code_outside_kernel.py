"""Which pieces of two code objects differ, and which functions end, with pieces that are given."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocm_perf_lab.code_object.layout import CodeObjectLayout, ElfSection
from rocm_perf_lab.code_object.symbol_contents import SymbolContent
from rocm_perf_lab.gate.code_object import code_outside_kernel, image_layout
from rocm_perf_lab.gate.code_object.code_outside_kernel import DeviceCodeComparison, compare_device, compare_host
from rocm_perf_lab.gate.code_object.image_layout import layout_difference, newly_referenced_kernel, runs_past_end


def function(name: str, text: str = "s_endpgm", calls: tuple[str, ...] = ()) -> SymbolContent:
    return SymbolContent(name, "STT_FUNC", len(text), text.encode(), tuple((0, f"10 {one}+0") for one in calls), False)


def data(name: str, writable: bool = False) -> SymbolContent:
    return SymbolContent(name, "STT_OBJECT", 4, b"data", (), writable)


def pieces(*some: SymbolContent) -> dict[str, SymbolContent]:
    return {one.name: one for one in some}


BASELINE = pieces(function("k"), data("k.kd"), function("f"), data("v", True), data("m.kd"), data(".L1"))


@pytest.fixture
def compared(monkeypatch):
    def compare(after: dict[str, SymbolContent], before=BASELINE) -> DeviceCodeComparison:
        monkeypatch.setattr(
            code_outside_kernel, "contents_by_symbol", lambda image: {b"before": before, b"after": after}[image]
        )
        return compare_device(b"before", b"after", ["k"])

    return compare


def test_the_target_its_descriptor_and_new_functions_may_differ(compared):
    after = BASELINE | pieces(function("k", "s_nop"), data("k.kd", True), function("new"), data(".L2"))
    assert compared(after) == DeviceCodeComparison(None, 3, ("new",), ())
    assert compared({name: one for name, one in after.items() if name != "f"}) == DeviceCodeComparison(
        None, 2, ("new",), ("f",)
    )


@pytest.mark.parametrize(
    "changed, said",
    [
        (replace(BASELINE["f"], size=9), "the function f has a different size or kind: it is not part of the kernel"),
        (replace(BASELINE["f"], linkage="weak"), "the function f has different linkage: it is not part of the kernel"),
        (replace(BASELINE["f"], content=b"s_nop  0"), "the function f has different bytes: it is not part of the kernel"),
        (
            replace(BASELINE["f"], references=((0, "10 k"),)),
            "the function f has different references: it is not part of the kernel",
        ),
        (replace(BASELINE["v"], writable=False), "the variable v has a different size or kind: it is not part of the kernel"),
        (replace(BASELINE["m.kd"], content=b"DATA"), "the descriptor m.kd has different bytes: it is not part of the kernel"),
        (data("w", True), "the variable w, which outlives a launch, was added"),
        (data(".L2", True), "the variable .L2, which outlives a launch, was added"),
        (data("n.kd"), "the kernel n was added"),
    ],
)
def test_anything_else_is_named(compared, changed, said):
    assert compared(BASELINE | pieces(changed)) == DeviceCodeComparison(said, 0)


def test_what_was_removed_is_named_as_such(compared):
    assert compared({name: one for name, one in BASELINE.items() if name != "v"}).complaint.startswith(
        "the variable v, which outlives a launch, was removed"
    )


@pytest.mark.parametrize("count, shown", [(1, ".a0"), (4, ".a0, .a1, .a2, .a3"), (5, ".a0, .a1, .a2, .a3, ...")])
def test_sections_of_the_host_s_code_that_differ(monkeypatch, count, shown):
    sections = {b"before": {".text": b"x"}, b"after": {".text": b"x"} | {f".a{one}": b"" for one in range(count)}}
    monkeypatch.setattr(code_outside_kernel, "host_sections", sections.get)
    assert compare_host(b"before", b"before") is None
    assert compare_host(b"before", b"after").startswith(f"the host's object code differs in {shown}: ")


TEXT = ElfSection(".text", "SHT_PROGBITS", 6)


@pytest.mark.parametrize(
    "after, said",
    [
        (CodeObjectLayout(None, frozenset({TEXT}), (b"ab", b"c")), None),
        (CodeObjectLayout(None, frozenset({TEXT, ElfSection(".rodata", "SHT_PROGBITS", 2)}), ()), None),
        (CodeObjectLayout("two notes", frozenset({TEXT}), ()), "its code object can be read in more than one way: two notes"),
        (CodeObjectLayout(None, frozenset({TEXT, ElfSection(".x", "SHT_PROGBITS", 2)}), ()), "has a section .x that"),
        (CodeObjectLayout(None, frozenset({TEXT}), (b"abc",)), "has 3 bytes among its code that belong to no function"),
        (CodeObjectLayout(None, frozenset({TEXT}), (b"ab", b"ab")), "has 2 bytes among its code that belong to no function"),
    ],
)
def test_the_layout_of_an_honest_change(monkeypatch, after, said):
    layouts = {b"before": CodeObjectLayout(None, frozenset({TEXT}), (b"ab", b"c")), b"after": after}
    monkeypatch.setattr(image_layout, "layout_of", layouts.get)
    found = layout_difference(b"before", b"after")
    assert (found is None) == (said is None) and (said is None or said in found)


@pytest.mark.parametrize(
    "text, calls, ends",
    [
        ("s_endpgm", (), True),
        ("s_nop 0\ns_endpgm\ns_code_end\ns_nop 0", (), True),
        ("s_setpc_b64 s[0:1]", (), True),
        ("s_branch 3", (), True),
        ("s_trap 2", (), True),
        ("s_endpgm\nv_nop", (), False),
        ("s_nop 0", (), False),
        ("s_swappc_b64 s[0:1], s[2:3]", ("halts",), True),
        ("s_swappc_b64 s[0:1], s[2:3]", ("returns",), False),
        ("s_swappc_b64 s[0:1], s[2:3]", ("halts", "returns"), False),
        ("s_swappc_b64 s[0:1], s[2:3]", (), False),
        ("s_swappc_b64 s[0:1], s[2:3]", ("k",), False),
    ],
)
def test_a_function_ends_with_its_last_instruction(monkeypatch, text, calls, ends):
    monkeypatch.setattr(image_layout, "instructions", lambda code, _target: code.decode().split("\n"))
    others = pieces(function("halts", "s_endpgm"), function("returns", "s_setpc_b64 s[30:31]"))
    before, after = others | pieces(function("k")), others | pieces(function("k", text, calls))
    said = "the function k does not end with its last instruction: the code after it would be executed"
    assert runs_past_end(before, after, ["k"], "gfx942") == (None if ends else said)
    assert runs_past_end(after, after, ["k"], "gfx942") is None  # as the baseline's
    assert runs_past_end(before, others, ["k"], "gfx942").startswith("the kernel k has no instructions")


def test_a_kernel_that_is_newly_referred_to_is_named():
    before = pieces(function("k", calls=("m",)), function("m", calls=("m",)))
    assert newly_referenced_kernel(before, before, ["k", "m", "n"]) is None
    after = before | pieces(function("k", calls=("m", "n.kd")), replace(data("n.kd"), references=((0, "5 n+4"),)))
    assert (
        newly_referenced_kernel(before, after, ["k", "m", "n"]) == "n"
        and newly_referenced_kernel(before, after, ["k", "m"]) is None
    )
