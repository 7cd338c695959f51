"""What programs see of Triton's driver for the software device, and which installed versions are refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from rocm_perf_triton import versions

from rocm_perf_lab import rocm
from rocm_perf_lab.collect import triton


@pytest.fixture
def environment(tmp_path: Path):
    """environment("3.9.0") is the Python of a virtual environment that has this Triton."""

    def make(*installed: str) -> Path:
        packages = tmp_path / "lib" / "python3.12" / "site-packages"
        for version in installed:
            (packages / f"triton-{version}.dist-info").mkdir(parents=True)
        return tmp_path / "bin" / "python3"

    return make


def test_both_sides_name_the_same_versions():
    assert tuple(map(int, triton.OLDEST.split("."))) == versions.OLDEST
    assert tuple(map(int, triton.NEWEST_TRIED.split("."))) == versions.NEWEST_TRIED
    for version in ("2.1.0", "3.3.1", "3.4.0", "3.9.1+git1", "3.12.0", "4.0.0"):
        assert (triton.refusal_of(version) is None) == (versions.refusal(version) is None)


def test_an_installed_version_that_is_too_old_is_refused(environment):
    assert "pip install triton==3.9.*" in triton.refusal(environment("3.3.1"))


def test_targets_that_triton_cannot_run_on_are_refused(environment, tmp_path: Path):
    python = environment("3.4.0")
    assert "use `--device gfx942`" in triton.refusal(python, "gfx90a")
    assert triton.refusal(tmp_path / "bin" / "app", "gfx90a") is None
    assert triton.refusal(python, "gfx950") is None


def test_triton_compiles_for_the_device():
    assert [triton.variables({}, target).get("ROCM_PERF_TRITON_TARGET") for target in ("gfx942", "gfx950", "gfx1030")] == [
        "gfx942", "gfx950", None,
    ]  # fmt: skip


def test_other_versions_and_programs_are_not_refused(environment, tmp_path: Path):
    assert triton.refusal(environment()) is None
    assert triton.refusal(environment("3.4.0")) is None
    assert triton.refusal(tmp_path / "bin" / "app") is None


def test_the_users_own_path_is_kept(monkeypatch):
    monkeypatch.setattr(rocm, "find_library", lambda _name: Path("/opt/libamdhip64.so"))
    assert triton.variables({})["PYTHONPATH"] == str(triton.PLUGIN)
    assert triton.variables({"PYTHONPATH": "/mine:/other"})["PYTHONPATH"] == f"{triton.PLUGIN}:/mine:/other"
    monkeypatch.setattr(rocm, "find_library", lambda _name: None)
    assert triton.variables({"PYTHONPATH": "/mine"}) == {}
