"""Candidates whose launches are in a different file than their kernel: attacks by the launch, by its file and by others."""

from __future__ import annotations

import contextlib
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from gate_judge import judge_of
from rocm_perf_lab.gate.equivalence.equivalence_options import EquivalenceOptions
from rocm_perf_lab.gate.judge import GateOptions
from rocm_perf_lab.hip_source.source_state import join_state
from rocm_perf_lab.isolate import capture
from rocm_perf_lab.optimize.build_target import find_build_target
from rocm_perf_lab.optimize.transforms import wave_per_row
from slow_variants import only
from small_projects import AFTER, COMMAND, KERNEL, LAUNCH, PROJECTS

pytestmark = pytest.mark.usefixtures("hipcc", "native_dir")
PROJECT = PROJECTS["sources, launch apart"]()
WHOLE = PROJECT.files["kernel.hip"]
RUN, MAIN = PROJECT.files["run.hip"], PROJECT.files["main.hip"]
# Another program with the same kernel, which launches it itself.
ANOTHER = RUN.replace("void run(", "void again(") + MAIN[MAIN.index("constexpr") :].replace("  run(", "  again(")
BUILD = f"{PROJECT.build} && {COMMAND} another.hip kernel.hip -o another"
GUARD = "  if (row >= rows) return;\n"


@pytest.fixture(scope="module")
def gate(tmp_path_factory):
    """gate(kernel.hip, other files by name) -> Verdict. The project has another kernel, launched beside the first, and another
    program, which the gate does not run.
    """
    folder = PROJECT.written_to(tmp_path_factory.mktemp("elsewhere"))
    (folder / "run.hip").write_text(beside(RUN))
    (folder / "another.hip").write_text(ANOTHER)
    subprocess.run(shlex.split(PROJECT.build), cwd=folder, check=True)
    place = folder / "captured"
    place.mkdir()
    one = capture([str(folder / "program")], r"\bsums\b", 0, place, device="gfx942")
    options = GateOptions(
        with_measurement=False,
        equivalence=EquivalenceOptions(device="gfx942", instruction_limit=1_000_000, seed=1, race_seeds=(2,)),
    )
    with contextlib.ExitStack() as stack:
        stack.enter_context(pytest.MonkeyPatch.context()).chdir(folder)  # the build's paths are relative to it
        baseline = find_build_target(("./program",), Path("kernel.hip"), BUILD).read()
        judge = stack.enter_context(judge_of(baseline, "sums", [one], options))

        def judged(kernel: str, others: dict[str, str]):
            texts = {(folder / name).resolve(): text.encode() for name, text in others.items()}
            return judge.judge(join_state(kernel.encode(), texts))

        judged.baseline = baseline
        yield judged


def beside(run: str) -> str:
    return run + "static __global__ void other(int* a) { *a = 1; }\nvoid more(int* a) { other<<<1, 64>>>(a); }\n"


def launched(shape: str) -> dict[str, str]:
    before, after = "<<<(rows + 63) / 64, 64>>>", f"<<<{shape}>>>"
    return {"run.hip": beside(RUN).replace(before, after), "another.hip": ANOTHER.replace(before, after)}


def by_waves(body: str = "") -> str:
    """The kernel with one wave per row, as the transformation writes it. body: text before its loop."""
    lane = "  const int lane = threadIdx.x % 64, row = blockIdx.x * 4 + threadIdx.x / 64;\n"
    rest = KERNEL[KERNEL.index(GUARD) :].replace("int i = 0; i < width; ++i", "int i = lane; i < width; i += 64")
    rest = rest.replace("  out[row]", "  for (int k = 32; k > 0; k /= 2) sum += __shfl_xor(sum, k);\n  out[row]").replace(
        GUARD, GUARD + body
    )
    return WHOLE.replace(KERNEL, KERNEL[: KERNEL.index("  const int row")] + lane + rest)


def test_the_candidate_of_the_transformation_is_accepted(gate):
    (proposal,) = wave_per_row.propose(gate.baseline, gate.baseline.kernel("sums"), ())
    changed = gate.baseline.edited(proposal.edits, proposal.other_edits)
    verdict = gate(changed.text.decode(), {path.name: text.decode() for path, text in changed.other_files.items()})
    assert verdict.accepted, verdict.rejection
    document = verdict.document()
    others = {Path(one.file).name: one.text for one in document.adopted_elsewhere}
    assert all(AFTER in text for text in others.values())
    before = {name: text.replace(AFTER, LAUNCH) for name, text in others.items()}
    assert before == {"run.hip": beside(RUN), "another.hip": ANOTHER}
    assert type(verdict).from_document(document).adopted == verdict.adopted
    section = verdict.steps[0].evidence.launch
    assert (section.lines, section.other_files) == ([], ["another.hip", "run.hip"])


BY_WAVES, WAVES = by_waves(), launched("(rows + 3) / 4, 256")
KEPT = "  __attribute__((shared)) static int kept[256];\n"
KEPT += "  if (kept[threadIdx.x] == row) return;\n  kept[threadIdx.x] = row;\n"
SHORTCUT = MAIN.replace("  run(", "  if (kRows != 160) run(")
# name -> (kernel.hip, other files, step, words of the reason)
CHEATS = {
    "too few workgroups": (BY_WAVES, launched("rows / 4 - 1, 256"), "equivalence", "captured inputs"),
    "too few workgroups for other sizes": (BY_WAVES, launched("rows / 4, 256"), "equivalence", "rows ="),
    "a grid for the captured size": (BY_WAVES, launched("40, 256"), "source", "does not grow as the baseline's"),
    "the old launch": (BY_WAVES, {}, "code object", "the layout of its arguments differs"),
    "results of a previous launch": (by_waves("  if (out[row] != 0) return;\n"), WAVES, "equivalence", ""),
    "LDS of a previous launch": (by_waves(KEPT), WAVES, "equivalence", ""),
    "a variable that is kept": (by_waves("  static int kept;\n  if (kept++) return;\n"), WAVES, "source", "outlives a launch"),
    "code beside the launch": (
        BY_WAVES,
        {**WAVES, "run.hip": WAVES["run.hip"].replace(");", '); printf("done");', 1)},
        "source",
        "run.hip differs in line",
    ),
    "another kernel's launch": (
        BY_WAVES,
        {"run.hip": beside(RUN).replace("<<<1, 64>>>", "<<<0, 64>>>")},
        "source",
        "the launch of something other than sums",
    ),
    "fewer rows at the launch": (
        BY_WAVES, {**WAVES, "run.hip": WAVES["run.hip"].replace("(in, out, rows,", "(in, out, rows / 2,")}, "source",
        "run.hip differs in line",
    ),
    "a launch under a condition": (
        BY_WAVES, {**WAVES, "run.hip": WAVES["run.hip"].replace("{ sums", "{ if (rows != 160) sums")}, "source",
        "run.hip differs in line",
    ),
    "a shortcut in another program": (
        BY_WAVES, {**WAVES, "another.hip": WAVES["another.hip"].replace("  again(", "  if (kRows != 160) again(")}, "source",
        "another.hip differs in line",
    ),
    "the old launch in another program": (BY_WAVES, {"run.hip": WAVES["run.hip"]}, "source", "another.hip"),
    "a buffer that is kept": (
        BY_WAVES.replace("__global__", "__device__ int kept[160];\n__global__", 1), WAVES, "source", "kept",
    ),
    "an input that keeps something": (
        by_waves("  if (lane == 0 && row == 0) *(volatile int*)in = in[0];\n"), WAVES, "equivalence", "",
    ),
    "a shortcut in another file": (BY_WAVES, {**WAVES, "main.hip": SHORTCUT}, "source", "main.hip differs in line"),
    "an include in the launch's file": (
        BY_WAVES,
        {"run.hip": '#include "/etc/hostname"\n' + beside(RUN)},
        "source",
        "reads other files",
    ),
    "a file that is not there": (BY_WAVES, {"none.hip": beside(RUN)}, "source", "cannot be read"),
    "a call in the launch": (BY_WAVES, launched("printf() + rows, 256"), "source", ".hip has a shape with `printf`"),
    "another stream": (BY_WAVES, launched("(rows + 3) / 4, 256, 0, (hipStream_t)1"), "source", "different stream"),
}  # fmt: skip
SLOWLY = ("too few workgroups", "the old launch", "LDS of a previous launch")


@pytest.mark.parametrize("name", only([one for one in CHEATS if one not in SLOWLY], CHEATS))
def test_each_attack_is_rejected_where_it_should_be(gate, name):
    kernel, others, step, words = CHEATS[name]
    rejection = gate(kernel, others).rejection
    assert rejection is not None, "accepted"
    assert rejection.step == step and re.search(re.escape(words), rejection.reason), rejection
