"""Candidates that attack the gate, through all of its steps: each is rejected at the right step, honest ones are accepted."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from gate_attacks import CHEATS, HONEST, SOURCE
from rocm_perf_lab.hip_source import Edit
from rocm_perf_lab.optimize.backend import BackendOptions
from rocm_perf_lab.optimize.build_target import find_build_target
from rocm_perf_lab.optimize.entry import OptimizeRequest, optimize
from rocm_perf_lab.optimize.hip_backend import HipBackend
from rocm_perf_lab.optimize.loop import OptimizeLoopOptions
from rocm_perf_lab.optimize.result import JudgedCandidate
from rocm_perf_lab.optimize.transforms import TRANSFORMS, Proposal

pytestmark = pytest.mark.usefixtures("hipcc", "native_dir")
BUILD = "hipcc -O3 -nogpuinc --offload-arch=gfx942 -Wno-unused-command-line-argument SOURCE -o BINARY"
# Slower than or as fast as the baseline in the software device's model: they must be rejected for that alone.
NO_GAIN = {"coalesced staging through LDS", "grid-size query (implicit args)"}
QUICKLY = ("has_include true in build only: host prints", "ADL overload captured by other kernel", "forge own completion signal and times",
           "wrong for width > 48 only", "s_endpgm for blocks beyond the 3rd", "quick on the captured inputs alone", "runs on into the next function")  # fmt: skip


@pytest.fixture(scope="module")
def gate(tmp_path_factory):
    """The whole gate, at two sizes."""
    folder = tmp_path_factory.mktemp("attacked")
    source = folder / SOURCE.name
    source.write_bytes(SOURCE.read_bytes())
    subprocess.run(
        [word.replace("SOURCE", str(source)).replace("BINARY", str(folder / "attacked")) for word in BUILD.split()], check=True
    )
    build_target = find_build_target((str(source), str(folder / "attacked")), None, BUILD)
    options = BackendOptions(pattern="one::rows", device="gfx942", seed=7, also=(("./attacked", "320"),))
    run = folder / "run"
    run.mkdir()
    backend = HipBackend(build_target, run, options, lambda _event, **_fields: None, lambda _note: None)
    baseline = backend.read(source.read_bytes())
    (target,) = backend.profile(baseline).targets
    with backend.gate(baseline, target) as opened:
        yield opened


def expect_rejected(gate, name: str) -> None:
    text, step, words = CHEATS[name]
    rejection = gate.judge(text.encode()).rejection
    assert rejection is not None, "accepted"
    assert rejection.step == step and re.search(re.escape(words), rejection.reason), rejection


def expect_accepted(gate, name: str) -> None:
    verdict = gate.judge(HONEST[name].encode())
    if name in NO_GAIN:
        assert verdict.rejection.step in ("measurement", "code object"), verdict.rejection
    else:
        assert verdict.accepted and verdict.ratio < 0.98, verdict.rejection


@pytest.mark.parametrize("name", QUICKLY)
def test_some_cheats_are_rejected_where_they_should_be(gate, name):
    expect_rejected(gate, name)


@pytest.mark.parametrize("name", ("removes useless store", "helpers with attributes"))
def test_some_honest_changes_are_accepted(gate, name):
    expect_accepted(gate, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CHEATS if name not in QUICKLY])
def test_each_cheat_is_rejected_where_it_should_be(gate, name):
    expect_rejected(gate, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", HONEST)
def test_each_honest_change_is_accepted(gate, name):
    expect_accepted(gate, name)


@pytest.mark.slow
def test_a_transformation_that_cheats_is_detected_by_the_optimizer(tmp_path, monkeypatch):
    """Proposals of whole sources, one of them honest: that one is kept, and nothing else gets into the program's source."""
    monkeypatch.chdir(tmp_path)
    names = ["wrong for width > 48 only", "forge own completion signal and times", "quick on the captured inputs alone"]
    texts = [*(CHEATS[name][0] for name in names), HONEST["removes useless store"]]

    def cheat(source, kernel, _factors):
        for number, text in enumerate(texts if kernel.name == "one::rows" else ()):
            yield Proposal("cheat", kernel.name, 1, f"text {number}", (Edit(0, len(source.text), text),))

    monkeypatch.setitem(TRANSFORMS, "cheat", cheat)
    Path(SOURCE.name).write_bytes(SOURCE.read_bytes())
    loop = OptimizeLoopOptions(transforms=("cheat",), max_iterations=1, in_place=True, accept_modelled=True)
    request = OptimizeRequest(
        (SOURCE.name, "./attacked"),
        build=BUILD,
        backend_options=BackendOptions(pattern="one::rows", device="gfx942"),
        loop=loop,
    )
    outcome = optimize(request, lambda _judged: True, lambda _note: None)
    accepted = [one.text for one in outcome.judged if isinstance(one, JudgedCandidate) and one.accepted]
    assert accepted == [HONEST["removes useless store"].encode()] and len(outcome.judged) == len(texts)
    assert Path(SOURCE.name).read_text() == HONEST["removes useless store"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [*list(CHEATS)[:4], "forge own completion signal and times", "quick on the captured inputs alone"]
)
def test_the_command_rejects_a_cheat(tmp_path, rocm_perf, name):
    text, step, words = CHEATS[name]
    (tmp_path / SOURCE.name).write_bytes(SOURCE.read_bytes())
    (tmp_path / "candidate.hip").write_text(text)
    ran = rocm_perf("gate", "--device", "gfx942", "--build", BUILD, "--json", SOURCE.name, "candidate.hip", "./attacked")
    verdict = json.loads(ran.stdout)
    rejection = next(one for one in verdict["steps"] if one["outcome"] == "rejected")
    assert ran.returncode == 45 and (rejection["step"], words in rejection["reason"]) == (step, True), rejection
