"""Which functions a kernel reaches."""

from __future__ import annotations

from instruction_texts import PLAIN, function
from rocm_perf_lab.code_object.symbol_contents import SymbolContent
from rocm_perf_lab.gate.code_object.reached_functions import kernel_and_callees, referenced_symbol


def test_functions_are_reached_through_others_and_once():
    pieces = {
        "k": function("k", PLAIN, calls=("f", "table")),
        "f": function("f", PLAIN, calls=("g", "f")),
        "g": function("g", PLAIN, calls=("k",)),
        "table #2": SymbolContent("table #2", "STT_OBJECT", 8, bytes(8), ((0, "3 h+8"),), False),
        "h": function("h", PLAIN),
        "unused": function("unused", PLAIN),
    }
    assert sorted(one.name for one in kernel_and_callees(pieces, "k")) == ["f", "g", "h", "k"]
    assert [referenced_symbol(one) for one in ("10 _Z1ff+0", "3 h-12", "3 h")] == ["_Z1ff", "h", "h"]
