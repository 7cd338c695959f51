"""The profile of the best configuration: what is built and run, and which results are kept."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path

import pytest

from rocm_perf_lab.autotune.program import TunedProgram
from rocm_perf_lab.autotune.space_file import read_space
from rocm_perf_lab.autotune.winner import best_profile
from rocm_perf_lab.errors import NothingRanError
from rocm_perf_lab.profiling import session


@pytest.fixture
def profiled(tmp_path, monkeypatch):
    """profiled(build, parameter) -> (what is kept from the profile, the request for it)."""
    requests = []

    def profile(request, _output, _note):
        requests.append(request)
        of = types.SimpleNamespace
        kernels = [of(kernel=name, bottleneck=of(name=cause)) for name, cause in (("other()", "latency"), ("k()", "bandwidth"))]
        documents = of(
            profile=of(runtime_ms=2.5, stability=of(cv=0.25), timing="modelled", kernel=of(name=kernel)),
            analysis=of(kernels=kernels),
        )
        return documents, tmp_path / "best.rocm-perf"

    def run(build: str | None = None, to: str = "argument", of_kernel: str = "k()"):
        nonlocal kernel
        kernel = of_kernel
        (tmp_path / "space.json").write_text(json.dumps({"parameters": {"a": {"values": [1, 2], "to": to}}}))
        program = TunedProgram(read_space(tmp_path / "space.json"), "./app {a}" if to == "argument" else "./app", build)
        found = best_profile(program, {"a": 2}, "auto", "gfx942", 7.0, tmp_path / "run", print)
        return found, requests[-1]

    kernel = ""
    monkeypatch.setattr(session, "profile", profile)
    monkeypatch.delenv("HCC_AMDGPU_TARGET", raising=False)
    return run


def test_the_command_of_the_best_is_profiled(profiled, tmp_path):
    found, request = profiled()
    assert request.command == ["./app", "2"] and request.destination == tmp_path / "run"
    assert (request.device, request.timeout) == ("auto", 7.0)
    assert found.model_dump() == {
        "run_directory": str(tmp_path / "best.rocm-perf"), "runtime_ms": 2.5, "cv": 0.25, "timing": "modelled", "kernel": "k()",
        "bottleneck": "bandwidth",
    }  # fmt: skip
    assert profiled(of_kernel="unknown()")[0].bottleneck is None


def test_variables_are_part_of_the_command(profiled):
    assert profiled(to="environment")[1].command == ["env", "a=2", "./app"]


def test_the_best_is_built_again_for_the_target(profiled, tmp_path):
    script = (
        f"import os; open({str(tmp_path / 'built')!r}, 'w').write(os.environ['HCC_AMDGPU_TARGET'] + os.environ.get('a', ''))"
    )
    build = f'{sys.executable} -c "{script}"'
    profiled(build)
    assert Path(tmp_path / "built").read_text() == "gfx942"
    profiled(build, to="environment")
    assert Path(tmp_path / "built").read_text() == "gfx9422"


def test_a_build_that_now_fails_is_reported(profiled):
    with pytest.raises(NothingRanError, match="when the best was rebuilt"):
        profiled(f"{sys.executable} -c 'raise SystemExit(3)'")
