"""The model loop on the program in llm/, in a world without compilers and devices that knows the effect of each change."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

from rocm_perf_lab.errors import SourceError
from rocm_perf_lab.gate.source.candidate_diff import ChangeNotAllowedError, read_change
from rocm_perf_lab.gate.source.source_check import check_source
from rocm_perf_lab.gate.verdict import Verdict, passed, rejected
from rocm_perf_lab.gate.verdict_document import ApplicationEvidence, MeasurementEvidence
from rocm_perf_lab.hip_source import read
from rocm_perf_lab.llm.api_keys import ApiKey
from rocm_perf_lab.llm.entry import LlmRequest, budget_of, loop_on
from rocm_perf_lab.llm.file_to_optimize import of_program
from rocm_perf_lab.llm.loop import LlmLoopOptions
from rocm_perf_lab.llm.providers import ModelOptions, provider_of
from rocm_perf_lab.llm.redact import Redactor
from rocm_perf_lab.optimize import run_folder
from rocm_perf_lab.optimize.backend import ProfileSummary
from rocm_perf_lab.optimize.build_target import find_build_target
from rocm_perf_lab.optimize.journal import Journal
from rocm_perf_lab.optimize.targets import SkippedTarget, Target

HERE = Path(__file__).parent / "llm"
PROGRAM = HERE / "program.hip"
COMMAND = ("hipcc", "-O2", "-nogpuinc", "--offload-arch=gfx942")
LDS, TILED = ((HERE / name).read_text() for name in ("softmax_lds.hip", "gemm_tiled.hip"))
KEY = "sk-key-canary-0123456789"
SOFTMAX, GEMM = "softmax_naive(float const*, float*, int)", "gemm_naive(float const*, float const*, float*, int)"


def fenced(code: str, language: str = "cpp") -> str:
    return f"Here it is.\n\n```{language}\n{code}```\n\nIt reads less.\n"


def stands_in(answer: str, text: str) -> bool:
    """Whether all lines of an answer are in the text; new functions have a namespace around them."""
    return all(line in text for line in answer.splitlines())


class World:
    """Kernel times by a word in the source; a kernel without any of the words takes the first time."""

    sources: dict = {}
    times = {"softmax_naive": {"": 80.0, "exps[i]": 8.0, "slow_exps": 85.0}, "gemm_naive": {"": 20.0, "tile_a": 5.0}}

    def __init__(self):
        self.judged, self.surveyed = [], []

    def read(self, text):
        if text not in self.sources:
            self.sources[text] = read(PROGRAM, COMMAND, text=text)  # Clang is slow, so this is done once for all tests
        return self.sources[text]

    def time(self, kernel: str, source) -> float:
        return [time for word, time in self.times[kernel].items() if word.encode() in source.text][-1]

    def profile(self, source):
        self.surveyed.append(source.text)
        times = {SOFTMAX: self.time("softmax_naive", source), GEMM: self.time("gemm_naive", source)}
        total = sum(times.values())
        targets = [
            Target(name.split("(")[0], name, 1, time, time / total, 0.9, 0.9 * time / total, "latency-bound")
            for name, time in times.items()
            if time > 8
        ]
        left = [SkippedTarget(name, "it is at its ceiling") for name, time in times.items() if time <= 8]
        dominant = max(times, key=times.get)
        ranked = sorted(targets, key=lambda target: -target.share)
        return ProfileSummary(total, "modelled", "0123", "none", ranked, left, None, dominant, times[dominant] / total)

    def context(self, source, survey, target):
        kernel = source.kernel(target.kernel)
        return f"# Make {target.kernel} faster\n\n```cpp\n{source.text[kernel.span.start : kernel.span.end].decode()}\n```\n"

    def complaint(self, source):
        try:
            source.device  # noqa: B018
        except SourceError as error:
            return f"{PROGRAM}:40:1: error: {error.problem}\n   40 | here\n"
        return None

    @contextlib.contextmanager
    def gate(self, source, target):
        yield _Gate(self, source, target.kernel)


class _Gate:
    """The real source check, without a separate process, and times from the table."""

    def __init__(self, world: World, source, kernel: str):
        self.world, self.source, self.kernel = world, source, kernel

    def judge(self, candidate, promises):
        self.world.judged.append(candidate)
        kernel = self.source.kernel(self.kernel)
        taken = check_source(self.source, kernel, self._change(candidate, kernel), promises, lambda: (), lambda _change: None)
        if taken.spliced is None:
            return Verdict((taken.verdict,))
        adopted = self.world.read(taken.spliced.without_line_directives)
        before, after = (self.world.time(self.kernel, source) for source in (self.source, adopted))
        said, measured = f"{1 - after / before:.0%} saved", MeasurementEvidence(ratio=after / before)
        if after >= before:
            return Verdict((taken.verdict, rejected("measurement", said, measured)), adopted.text)
        runtime = (100.0, sum(self.world.time(kernel, adopted) for kernel in self.world.times))
        steps = (
            taken.verdict,
            passed("measurement", said, measured),
            passed("application", "", ApplicationEvidence(runtime_ms=runtime)),
        )
        return Verdict(steps, adopted.text)

    def _change(self, candidate, kernel):
        try:
            return read_change(self.source, self.world.read(candidate), kernel.identity)
        except ChangeNotAllowedError as refusal:
            return str(refusal)


class Run:
    """A folder with the program, and runs in it. notes: the messages of the last run."""

    def __init__(self, folder: Path):
        self.folder, self.source = folder, folder / "program.hip"
        if not self.source.exists():
            shutil.copy(PROGRAM, self.source)
        self.world, self.notes, self.directory = World(), [], None

    def loop(
        self,
        provider,
        backend=None,
        consent=None,
        resume=False,
        in_place=True,
        model=None,
        environment=None,
        approve=None,
        **loop,
    ):
        model = model or ModelOptions("openai", "small")
        build_target = find_build_target(
            (str(self.source), "./program"), None, "hipcc -O2 -nogpuinc --offload-arch=gfx942 SOURCE -o BINARY"
        )
        request = LlmRequest((), model, in_place=in_place, accept_modelled=True, loop=LlmLoopOptions(**loop))
        runs = self.folder / "runs"
        run_folder.sweep_after_kills(runs)
        self.directory = run_folder.unfinished(runs, "llm-optimize") if resume else run_folder.new_run(runs)
        redactor = Redactor(self.folder, [ApiKey(KEY)], environment or {}, self.source.read_text())
        self.notes = []
        return loop_on(
            of_program(build_target), request, Journal(self.directory), backend or self.world, provider,
            budget_of(model, provider), redactor, approve or (lambda _judged: True), 
            consent or (lambda _place, _messages: None), self.notes.append,
        )  # fmt: skip

    def asking(self, model: ModelOptions, **options):
        """The loop with a real provider."""
        return self.loop(provider_of(model, {model.provider: ApiKey(KEY)}), model=model, **options)

    def events(self, name: str) -> list[dict]:
        return [entry for entry in Journal(self.directory).entries if entry["event"] == name]

    @property
    def changed(self) -> bool:
        return self.source.read_bytes() != PROGRAM.read_bytes()
