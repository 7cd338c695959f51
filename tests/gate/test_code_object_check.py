"""Each way in which a code object fails to stand in for another is rejected by name; what costs nothing passes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocm_perf_lab.code_object import Argument, CodeObject, KernelMetadata
from rocm_perf_lab.errors import UsageError
from rocm_perf_lab.gate.code_object_check import check_code_object
from rocm_perf_lab.gate.regression import DEFAULTS
from rocm_perf_lab.gate.verdict import Outcome

ARGUMENTS = (Argument("p", 0, 8, "global_buffer", "global"), Argument("n", 8, 4, "by_value", None))
BASELINE = KernelMetadata(
    name="k", descriptor="k.kd", kernarg_bytes=272, lds_bytes=1024, scratch_bytes=0, dynamic_stack=False, vgprs=64, agprs=0,
    sgprs=32, vgpr_spills=0, sgpr_spills=0, wave_size=64, max_workgroup_size=256, required_workgroup_size=None, wgp_mode=None,
    arguments=ARGUMENTS, code=b"baseline",
)  # fmt: skip
OTHER = replace(BASELINE, name="other", descriptor="other.kd")
CHANGED = replace(BASELINE, code=b"candidate")


def verdict(candidate: KernelMetadata, waves=(32, 32), target="amdgcn-amd-amdhsa--gfx942", others=(OTHER,), limits=DEFAULTS):
    before = CodeObject("amdgcn-amd-amdhsa--gfx942", {"k": BASELINE, "other": OTHER})
    after = CodeObject(target, {kernel.name: kernel for kernel in (candidate, *others)})
    return check_code_object(before, after, "k", workgroup_threads=256, waves=waves, limits=limits.resources)


def test_a_candidate_with_the_same_contract_passes_and_shows_its_figures():
    seen = verdict(replace(CHANGED, vgprs=90))
    assert seen.outcome is Outcome.PASSED and seen.evidence["vgprs"] == [64, 90]


@pytest.mark.parametrize(
    "candidate, options, reason",
    [
        (replace(CHANGED, name="renamed"), {}, "has no kernel k"),
        (CHANGED, {"others": ()}, "added or removed: other"),
        (CHANGED, {"target": "amdgcn-amd-amdhsa--gfx90a"}, "built for amdgcn-amd-amdhsa--gfx90a"),
        (replace(CHANGED, arguments=ARGUMENTS[::-1]), {}, "laid out otherwise"),
        (replace(CHANGED, kernarg_bytes=280), {}, "laid out otherwise"),
        (replace(CHANGED, wave_size=32), {}, "32 lanes"),
        (replace(CHANGED, required_workgroup_size=(64, 1, 1)), {}, "requires another workgroup size"),
        (replace(CHANGED, max_workgroup_size=128), {}, "at most 128 threads"),
        (replace(CHANGED, scratch_bytes=16), {}, "16 bytes of scratch"),
        (replace(CHANGED, dynamic_stack=True), {}, "scratch"),
        (replace(CHANGED, vgpr_spills=3), {}, "spills 3 VGPRs"),
        (CHANGED, {"waves": (32, 0)}, "no workgroup of it fits"),
        (CHANGED, {"waves": (32, 24)}, "occupancy falls from 32 to 24"),
        (replace(CHANGED, vgprs=80), {"waves": (32, 28)}, "80 VGPRs"),
        (replace(CHANGED, lds_bytes=1400), {"waves": (32, 28)}, "1400 bytes of LDS"),
    ],
)
def test_each_breach_is_named(candidate, options, reason):
    seen = verdict(candidate, **options)
    assert seen.outcome is Outcome.REJECTED and reason in seen.reason


@pytest.mark.parametrize(
    "candidate, waves, allowed, short",
    [
        (CHANGED, (32, 24), "occupancy=0.25", "occupancy=0.24"),
        (replace(CHANGED, vgprs=80), (32, 28), "vgpr=0.25", "vgpr=0.24"),
        (replace(CHANGED, lds_bytes=1400), (32, 28), "lds=0.4,vgpr=0", "lds=0.3"),
    ],
)
def test_limits_are_the_users(candidate, waves, allowed, short):
    assert verdict(candidate, waves, limits=DEFAULTS.changed(allowed)).outcome is Outcome.PASSED
    assert verdict(candidate, waves, limits=DEFAULTS.changed(short)).outcome is Outcome.REJECTED


def test_a_limit_is_a_name_and_a_fraction_and_scratch_has_none():
    assert DEFAULTS.document() == {"runtime": 0.05, "vgpr": 0.2, "occupancy": 0.15, "lds": 0.3, "dram": 0.1}
    for text in ("scratch=1", "vgpr", "vgpr=-1", "vgpr=inf", "vgpr=nan", "", "vgpr=0.1,"):
        with pytest.raises(UsageError, match="is not a limit"):
            DEFAULTS.changed(text)
