"""Renamed kernels are matched, and no others."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from rocm_perf_lab.comparison.facts import KernelFacts
from rocm_perf_lab.comparison.matching import function_name, match
from rocm_perf_lab.report.schema import Resources


def kernel(name, grid=256, vgprs=32, valu=None, **more):
    uses = Resources(vgpr_per_thread=vgprs, accum_vgpr_per_thread=0, sgpr_per_wave=16, lds_bytes=0, scratch_bytes=0)
    counters = {} if valu is None else {"SQ_INSTS_VALU": valu}
    return KernelFacts(name, name, False, 1, (64, 1, 1), (grid, 1, 1), [], uses, counters=counters, **more)


def pairs(base, new):
    found = match(base, new)
    return {(one.base.name, one.new.name): one.by for one in found.pairs}


def test_each_rule_matches_only_where_it_is_unambiguous():
    assert pairs([kernel("f(int)")], [kernel("f(int)", grid=9)]) == {("f(int)", "f(int)"): "name"}
    changed = kernel("void ns::f<4>(long)", grid=9)
    assert pairs([kernel("f(int)")], [changed]) == {("f(int)", changed.name): "function name"}
    one, other = kernel("f<1>(int)", valu=7.0), kernel("f<2>(int)", valu=9.0)
    renamed = [replace(one, name="g<1>(int)", symbol="g1"), replace(other, name="g<2>(int)", symbol="g2")]
    assert pairs([one, other], renamed) == {(one.name, "g<1>(int)"): "code", (other.name, "g<2>(int)"): "code"}
    assert pairs([kernel("f()", valu=7.0)], [kernel("g()", valu=8.0)]) == {("f()", "g()"): "launch shape"}
    assert pairs([kernel("f()")], [kernel("g()", grid=9)]) == {}
    alike = [kernel("a()"), kernel("b()")]
    assert pairs(alike, [kernel("c()"), kernel("d()")]) == {}  # it could be either


DRAWN = st.tuples(st.sampled_from("fgh"), st.integers(1, 3), st.integers(1, 2))  # name, template argument, grid


@given(st.lists(DRAWN, unique_by=lambda one: one[:2], max_size=6), st.randoms(use_true_random=False))
def test_every_kernel_occurs_once_and_order_does_not_matter(drawn, random):
    base = [kernel(f"{name}<{argument}>(int)", grid=grid) for name, argument, grid in drawn]
    new = [replace(one, name=one.name.replace("f", "k"), symbol=one.symbol.replace("f", "k")) for one in base]
    shuffled = random.sample(new, len(new))
    found = match(base, shuffled)
    assert sorted(one.name for one in base) == sorted([one.base.name for one in found.pairs] + [one.name for one in found.gone])
    assert sorted(one.name for one in new) == sorted([one.new.name for one in found.pairs] + [one.name for one in found.added])
    assert pairs(base, new) == pairs(base, shuffled)
    kept = {one.name for one in base if not one.name.startswith("f")}
    assert {one.base.name for one in found.pairs if one.base.name == one.new.name} >= kept


def test_names_of_functions():
    assert function_name("void ns::f<int, (anonymous namespace)::T>(float*)") == "f"
    assert function_name("(anonymous namespace)::g(int)") == "g"
    assert function_name("h") == "h"
