"""TTGIR operations by line of a function, through names, call sites and fused locations."""

from __future__ import annotations

from rocm_perf_lab.analysis.triton.ttgir_lines import operations_by_line

TTGIR = """\
#loc = loc("/k.py":5:0)
    %c = arith.constant 1 : i32 loc(#loc1)
    %x, %y = tt.load %p, %m : tensor<64x!tt.ptr<f32>, #blocked> loc(#loc3)
    %r = "tt.reduce"(%x) <{axis = 0 : i32}> ({ loc(#loc6)
      tt.reduce.return %t : f32 loc(#loc6)
    tt.store %p, %r : !tt.ptr<f32> loc(#loc1)
    scf.for %i = %c to %n step %c  : i32 { loc(#loc7)
    tt.return loc(#loc1)
#loc1 = loc("/k.py":7:8)
#loc2 = loc("/k.py":9:4)
#loc3 = loc("x"(#loc2))
#loc4 = loc("/lib/standard.py":300:1)
#loc5 = loc("/k.py":9:20)
#loc6 = loc(callsite(#loc4 at #loc5))
#loc7 = loc(fused[#loc4, #loc1])
"""


def test_operations_are_attributed_to_the_line_of_the_function_that_causes_them():
    found = operations_by_line(TTGIR, "/k.py")
    assert [one.split()[0] for one in found[7]] == ["tt.store", "scf.for"]
    assert [one.partition("(")[0].split()[0] for one in found[9]] == ["tt.load", '"tt.reduce"', "tt.reduce.return"]
    assert set(found) == {7, 9}


def test_other_files_have_their_own_lines():
    assert set(operations_by_line(TTGIR, "/lib/standard.py")) == {300}
    assert operations_by_line(TTGIR, "/other.py") == {}
