"""What compiled code reveals before it runs: whether it can run at all, and its coordinates for a model."""

from __future__ import annotations

import types
from dataclasses import replace

import pytest

from rocm_perf_lab import code_object
from rocm_perf_lab.arch.families import family_of
from rocm_perf_lab.arch.occupancy import KernelResources
from rocm_perf_lab.autotune.triton_kernel.static_features import StaticFeatures, static_features, unlaunchable
from rocm_perf_lab.errors import SourceError

FEATURES = StaticFeatures(
    vgprs=63,
    spills=1,
    lds_bytes=1023,
    max_lds_bytes=65536,
    workgroup_size=256,
    matrix_instructions=7,
    programs=31,
    occupancy=0.5,
)


def test_coordinates_are_logarithms_of_the_numbers():
    assert FEATURES.coordinates() == (6.0, 1.0, 10.0, 3.0, 5.0, 0.5)
    nothing = StaticFeatures(0, 0, 0, 65536, 64, 0, 0, None)
    assert nothing.coordinates() == (0.0,) * 6
    assert FEATURES.resources() == {
        "vgprs": 63, "spills": 1, "lds_bytes": 1023, "workgroup_size": 256, "matrix_instructions": 7, "programs": 31,
    }  # fmt: skip


@pytest.mark.parametrize(
    "changed, why",
    [
        ({}, None),
        ({"lds_bytes": 65536, "workgroup_size": 1024, "occupancy": 0.125}, None),
        ({"occupancy": None}, None),
        ({"lds_bytes": 65537}, "65537 bytes of LDS, but at most 65536 are possible"),
        ({"lds_bytes": 65537, "max_lds_bytes": 163840}, None),
        ({"workgroup_size": 1025}, "1025 threads per workgroup, but at most 1024 are possible"),
        ({"occupancy": 0.0}, "none of its workgroups fits on a compute unit"),
    ],
)
def test_why_no_compute_unit_can_run_it(changed, why):
    assert unlaunchable(replace(FEATURES, **changed)) == why


@pytest.fixture
def compiled(tmp_path, monkeypatch):
    """What a script reports about code whose kernel has 100 VGPRs, 20 of them for accumulation, and 40 SGPRs."""
    kernel = types.SimpleNamespace(vgprs=100, agprs=20, sgprs=40, vgpr_spills=3)
    parsed = types.SimpleNamespace(kernels={"scale": kernel})
    monkeypatch.setattr(code_object, "parse", lambda contents: parsed)
    (tmp_path / "code").write_bytes(b"")
    answer = dict(binary=str(tmp_path / "code"), shared=4096, threads=256, matrix_instructions=7, programs=[5, 2, 3])
    return answer, parsed


@pytest.mark.parametrize("target, most", [("gfx942", 65536), ("gfx950", 163840), (None, 65536), ("gfx1201", 65536)])
def test_features_of_compiled_code(compiled, target, most):
    found = static_features(compiled[0], target)
    family = family_of(target) if target else None
    occupancy = family.occupancy(KernelResources(80, 20, 40, 4096, 256)).fraction if family else None
    assert found == StaticFeatures(100, 3, 4096, most, 256, 7, 30, occupancy)


def test_code_without_a_kernel_is_an_error(compiled):
    answer, parsed = compiled
    parsed.kernels.clear()
    with pytest.raises(SourceError, match="holds no kernel"):
        static_features(answer, "gfx942")
