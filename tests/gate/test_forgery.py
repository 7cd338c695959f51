"""A candidate that writes its own dispatch's bookkeeping is rejected for that, wherever it is replayed."""

from __future__ import annotations

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
from rocm_perf_lab.optimize.builders import SourceBuilder

PROGRAM = Path(__file__).with_name("program.hip")
COMMAND = ("hipcc", "-O2", "-nogpuinc", "--offload-arch=gfx942", "-Wno-unused-command-line-argument")
TEXT = PROGRAM.read_text()
LAST = "  first[row] = found;\n"
FORGED = {
    "completion signal": """
  typedef const char* Packet;
  const Packet packet = (Packet)__builtin_amdgcn_dispatch_ptr();
  volatile long* const signal = *(volatile long* const*)(packet + 56);
  if (row == 0 && signal) { signal[4] = 1000; signal[5] = 1001; signal[1] = 0; }
""",
    "packet of its dispatch": """
  if (row == 0) *(volatile int*)((unsigned long)__builtin_amdgcn_dispatch_ptr() + 48) = 7;
""",
}


def forged(name: str) -> str:
    assert TEXT.count(LAST) == 1
    return TEXT.replace(LAST, LAST + FORGED[name])


def image_of(name: str, folder: Path) -> Path:
    source = read(PROGRAM, COMMAND, text=forged(name).encode())
    (folder / "k.hsaco").write_bytes(SourceBuilder("gfx942").code_object(source))
    return folder / "k.hsaco"


@pytest.mark.parametrize("name", FORGED)
def test_equivalence_rejects_and_names_it(program, tmp_path, name):
    """A candidate that uses its packet is already rejected for its machine code; that check is left out here."""
    baseline, captures = program
    metadata = parse(captures[0].code_object.read_bytes()).kernels[captures[0].symbol]
    options = EquivalenceOptions(level="sampled", device="gfx942", seed=1)
    with EquivalenceCheck(captures, baseline, baseline.kernel("rows"), metadata, options) as equivalence:
        verdict = equivalence.check(ReplayableCode(image_of(name, tmp_path)))
    assert verdict.outcome is StepOutcome.REJECTED
    assert f": the kernel writes memory that is not its program's: the {name}" in verdict.reason


def test_measurement_rejects_it_too(program, tmp_path):
    _, captures = program
    image = image_of("completion signal", tmp_path)
    verdict = check_measurement(
        captures, CodePair(CAPTURED, ReplayableCode(image)), [64, 64], MeasurementOptions(device="gfx942")
    )
    assert verdict.outcome is StepOutcome.REJECTED and "the completion signal of its dispatch, at 0x" in verdict.reason
