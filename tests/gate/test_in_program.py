"""A candidate that is right in every replay and wrong in its program, which looks at a part of the results alone."""

from __future__ import annotations

import subprocess

import pytest

from gate_attacks import CORE, HONEST_TEXT, SOURCE, body
from rocm_perf_lab.isolate import capture
from rocm_perf_lab.optimize.backend import BackendOptions
from rocm_perf_lab.optimize.build_target import find_build_target
from rocm_perf_lab.optimize.hip_backend import HipBackend

pytestmark = pytest.mark.usefixtures("hipcc", "native_dir")
BUILD = "hipcc -O3 -nogpuinc --offload-arch=gfx942 -Wno-unused-command-line-argument SOURCE -o BINARY"
# Where its code lies tells the program from a replay, which loads it elsewhere.
WHERE = """\
  static constexpr int here[2] = {{1, 2}};
  if (row >= 64 && (unsigned long)(here + (row & 1)) - {base}ul < {bytes}ul) out[row] = 0;
"""


def partly(text: str) -> str:
    for old, new in (
        ("check(got, first, count)", "check(got, first, 64)"),
        ("same(first, expected, count)", "same(first, expected, 64)"),
    ):
        assert text.count(old) == 1
        text = text.replace(old, new)
    return text


@pytest.fixture(scope="module")
def gate(tmp_path_factory):
    """The whole gate, and where the program loads its code."""
    folder = tmp_path_factory.mktemp("partly")
    source, program = folder / SOURCE.name, folder / "attacked"
    source.write_text(partly(SOURCE.read_text()))
    subprocess.run([word.replace("SOURCE", str(source)).replace("BINARY", str(program)) for word in BUILD.split()], check=True)
    one = capture([str(program)], "one::rows", 0, folder, device="gfx942")
    bench = HipBackend(
        find_build_target((str(source), str(program)), None, BUILD),
        folder,
        BackendOptions(pattern="one::rows", device="gfx942", seed=7),
        lambda _event, **_fields: None,
        lambda _note: None,
    )
    baseline = bench.read(source.read_bytes())
    (target,) = bench.survey(baseline).targets
    with bench.gate(baseline, target) as opened:
        yield opened, int(one.dispatch["code_object"]["load_base"], 16)


def test_what_is_wrong_in_the_program_alone_is_rejected(gate):
    judge, base = gate
    text = partly(body(CORE + WHERE.format(base=base - (1 << 16), bytes=1 << 17)))
    rejection = judge.judge(text.encode()).rejection
    assert rejection is not None, "accepted"
    assert rejection.step == "application" and "in the program itself out[64]" in rejection.reason, rejection


def test_what_is_right_there_says_so(gate):
    verdict = gate[0].judge(partly(HONEST_TEXT).encode())
    assert verdict.accepted, verdict.rejection
    assert verdict.steps[-1].evidence.memory_after_its_dispatch == "as the baseline's leaves it"
