"""A candidate cannot hide its work in a workgroup that is not checked, nor recognise a run by its register contents."""

from __future__ import annotations

import functools
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from rocm_perf_lab.code_object import parse
from rocm_perf_lab.gate.equivalence.equivalence_check import EquivalenceCheck
from rocm_perf_lab.gate.equivalence.equivalence_options import EquivalenceOptions
from rocm_perf_lab.gate.measurement.measurement_check import MeasurementOptions, check_measurement
from rocm_perf_lab.gate.measurement.timed_replays import CodePair
from rocm_perf_lab.gate.replayable_code import CAPTURED, ReplayableCode
from rocm_perf_lab.gate.verdict import StepOutcome
from rocm_perf_lab.hip_source import read
from rocm_perf_lab.isolate import capture
from rocm_perf_lab.optimize.builders import SourceBuilder
from slow_variants import every

PROGRAM = Path(__file__).parents[1].joinpath("uneven.hip")
COMMAND = ("hipcc", "-O2", "-nogpuinc", "--offload-arch=gfx942", "-Wno-unused-command-line-argument")
HONEST = PROGRAM.read_text().replace("    out[row] = sum;  // useless\n", "")
LAST, BARRIER = "  out[row] = sum;\n}", "  barrier();\n  const int row"
LOADS = (
    r'  if (block() == 37) asm volatile(".rept 80\n global_load_dword v50, %0, off\n .endr\n s_waitcnt vmcnt(0)"'
    ' :: "v"(in + row * width) : "v50");'
)
LOCAL = "volatile unsigned held[1]; const bool holds = __builtin_amdgcn_readfirstlane(held[0]) != 0;"
REGISTER = (
    'unsigned held; asm volatile("v_mov_b32 %0, v60" : "=v"(held) :: "v61");'
    " const bool holds = __builtin_amdgcn_readfirstlane(held) != 0;"
)


@pytest.fixture(scope="module")
def program(tmp_path_factory, hipcc, native_dir):
    folder = tmp_path_factory.mktemp("uneven")
    subprocess.run([*COMMAND, PROGRAM, "-o", folder / "uneven"], check=True)
    return read(PROGRAM, COMMAND), capture([str(folder / "uneven")], "rows", 0, folder, device="gfx942")


@pytest.fixture(scope="module")
def image_of(tmp_path_factory) -> Callable[[str], Path]:
    """image_of(text) is the source's code object, compiled once for all seeds."""
    folder, builder = tmp_path_factory.mktemp("images"), SourceBuilder("gfx942")

    @functools.cache
    def compiled(text: str) -> Path:
        path = folder / f"{len(list(folder.iterdir()))}.hsaco"
        path.write_bytes(builder.code_object(read(PROGRAM, COMMAND, text=text.encode())))
        return path

    return compiled


@pytest.mark.parametrize("seed", every(2, [1, 2]))
def test_more_work_in_one_workgroup_counts_whichever_compute_unit_is_replayed(program, image_of, seed):
    _, captured = program
    options, changed = MeasurementOptions(device="gfx942", seed=seed), [64 * 512 * 4]
    honest = check_measurement([captured], CodePair(CAPTURED, ReplayableCode(image_of(HONEST))), changed, options)
    assert honest.outcome is StepOutcome.PASSED, honest.reason
    uneven = check_measurement(
        [captured], CodePair(CAPTURED, ReplayableCode(image_of(HONEST.replace(LAST, LOADS + LAST)))), changed, options
    )
    assert uneven.outcome is StepOutcome.REJECTED and "slower" in uneven.reason, uneven.reason


@pytest.fixture(scope="module", params=every(3, [1, 2, 3]))
def equivalence(request, program):
    """Seeds draw which of the orders begins with zeros."""
    baseline, captured = program
    metadata = parse(captured.code_object.read_bytes()).kernels[captured.symbol]
    options = EquivalenceOptions(device="gfx942", seed=request.param)
    with EquivalenceCheck([captured], baseline, baseline.kernel("rows"), metadata, options) as equivalence:
        yield equivalence


def test_an_honest_change_is_equal(equivalence, image_of):
    verdict = equivalence.check(ReplayableCode(image_of(HONEST)))
    assert verdict.outcome is StepOutcome.PASSED, verdict.reason
    assert verdict.evidence.captures[0].cases["other values in registers and LDS"] == "equal"


@pytest.mark.parametrize("held", [LOCAL, REGISTER], ids=["private memory", "register"])
@pytest.mark.parametrize("when", ["holds", "!holds"])
def test_a_missing_barrier_is_detected_whatever_registers_hold(equivalence, image_of, held, when):
    text = HONEST.replace(BARRIER, f"  {held}\n  if ({when}) barrier();\n  const int row")
    verdict = equivalence.check(ReplayableCode(image_of(text)))
    assert verdict.outcome is StepOutcome.REJECTED and "race" in verdict.reason, verdict.reason


def test_a_result_that_depends_on_what_registers_hold_is_rejected(equivalence, image_of):
    text = HONEST.replace(LAST, f"  {REGISTER}\n  out[row] = holds ? 0 : sum;\n}}")
    verdict = equivalence.check(ReplayableCode(image_of(text)))
    assert verdict.outcome is StepOutcome.REJECTED and "registers and LDS held before" in verdict.reason, verdict.reason
