"""Step 4: checks that, on captured and other inputs, the candidate leaves the same memory contents as the baseline."""

from __future__ import annotations

import itertools
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from rocm_perf_lab.code_object import KernelMetadata
from rocm_perf_lab.errors import ReplayFailedError
from rocm_perf_lab.gate.equivalence.baseline_results import BaselineResults, expect_success, replay_with
from rocm_perf_lab.gate.equivalence.case_comparison import wrong_memory
from rocm_perf_lab.gate.equivalence.equivalence_options import EquivalenceOptions
from rocm_perf_lab.gate.equivalence.kernel_inputs import KernelInputs, kernel_inputs_of
from rocm_perf_lab.gate.equivalence.memory_difference import Difference, Outputs
from rocm_perf_lab.gate.equivalence.mismatch import Mismatch
from rocm_perf_lab.gate.equivalence.program_memory_comparison import DispatchInProgram, difference_in_program
from rocm_perf_lab.gate.equivalence.race_and_order_runs import RaceAndOrderRuns
from rocm_perf_lab.gate.equivalence.runs_on_added_literals import wrong_on_added_literals
from rocm_perf_lab.gate.equivalence.timed_and_race_checked_cases import timed_inputs
from rocm_perf_lab.gate.measurement.timed_replays import OtherInputs
from rocm_perf_lab.gate.replayable_code import ReplayableCode
from rocm_perf_lab.gate.source.launch_rule import LaunchRule, LaunchRules
from rocm_perf_lab.gate.verdict import StepVerdict, passed, rejected, skipped
from rocm_perf_lab.gate.verdict_document import (
    EQUIVALENCE,
    CandidateLaunch,
    CapturedLaunch,
    DifferenceSection,
    EquivalenceEvidence,
)
from rocm_perf_lab.hip_source import HipSource, SourceKernel
from rocm_perf_lab.hip_source.parameter_layout import parameter_layouts
from rocm_perf_lab.isolate import Capture
from rocm_perf_lab.replaying import Case

STEP = EQUIVALENCE
_SERVICES = {  # services of the runtime on the host, keyed by the hidden arguments through which a kernel reaches them
    "hidden_hostcall_buffer": "the host (printf, assert)",
    "hidden_heap_v1": "the runtime's heap (malloc in device code)",
}


@dataclass(frozen=True)
class _CaptureJudge:
    """What is known about one capture, determined once and used for all candidates. complaint: why no candidate can be judged
    on this capture, or None. repeated_dispatches: the same dispatch in other runs of the baseline's program.
    """

    baseline_results: BaselineResults
    other_runs: RaceAndOrderRuns
    complaint: str | None
    repeated_dispatches: list[DispatchInProgram] = field(default_factory=list)

    def judge(self, candidate: ReplayableCode, added_literals: Sequence[float], outcomes: dict[str, str]) -> Mismatch | None:
        """What is wrong with the candidate on this capture; None if nothing is. outcomes: receives each case's outcome."""
        return (
            wrong_memory(self.baseline_results, candidate, outcomes)
            or self.other_runs.judge(candidate, outcomes)
            or wrong_on_added_literals(self.baseline_results, candidate, added_literals, outcomes)
        )


class EquivalenceCheck:
    """Judges candidates for one kernel. source, kernel, metadata: the baseline's; they determine the types of the inputs.
    captures_by_arguments: captures made with other program arguments, keyed by these arguments.

    Use as a context manager: the baseline's outputs are kept in a temporary folder. check() may run in several threads at once.
    """

    def __init__(
        self,
        captures: Sequence[Capture],
        source: HipSource,
        kernel: SourceKernel,
        metadata: KernelMetadata,
        options: EquivalenceOptions | None = None,
        captures_by_arguments: Mapping[str, Sequence[Capture]] = MappingProxyType({}),
    ):
        options = options or EquivalenceOptions()
        by_arguments = [(options.arguments, captures), *captures_by_arguments.items()]
        limit = 1 if options.level == "sampled" else None
        self._captures = [(arguments, capture) for arguments, captured in by_arguments for capture in captured[:limit]]
        self._source, self._kernel, self._metadata, self._options = source, kernel, metadata, options
        self._capture_judges: dict[tuple[int, LaunchRule | None], _CaptureJudge] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> EquivalenceCheck:
        self._scratch = tempfile.TemporaryDirectory(prefix="rocm-perf-gate-")
        return self

    def __exit__(self, *_: object) -> None:
        self._scratch.cleanup()

    def check(
        self, candidate: ReplayableCode, added_literals: Sequence[float] = (), rule: LaunchRule | None = None
    ) -> StepVerdict:
        """Compare a candidate with the baseline on all captures.

        added_literals: numbers that only the candidate's text contains; see gate.equivalence.added_literals. rule: how the
        baseline is launched with other arguments; None for launches as captured. Raises PlacementError if memory cannot be
        mapped at the captured addresses.
        """
        options = self._options
        evidence = EquivalenceEvidence(level=options.level, seed=options.seed, ulps=options.ulps, captures=[])
        if options.level == "program":
            return skipped(STEP, "not replayed, as requested: the program's output decides", evidence)
        evidence.race_seeds = list(options.orders)
        left: list[dict[str, str]] = []
        same_memory: list[str] = []
        for index in range(len(self._captures)):
            known = self._capture_judge(index, rule)
            outcomes: dict[str, str] = {}
            complaint = None if known.complaint else known.judge(candidate, added_literals, outcomes)
            evidence.captures = [*evidence.captures, _captured_launch(*self._captures[index], candidate, outcomes)]
            if known.complaint:
                return rejected(STEP, known.complaint, evidence)
            if complaint:
                arguments = self._captures[index][0]
                where = "" if arguments == options.arguments else f"with `{arguments}`, "
                return rejected(STEP, where + complaint.reason, evidence.model_copy(update=complaint.evidence))
            left.append({unknown.name: str(unknown) for unknown in known.baseline_results.unproven_inputs(outcomes)})
            same_memory += known.baseline_results.same_memory_unproven(outcomes)
        # An input remains unproven only if no dispatch proves it.
        unproven = [words for name, words in left[0].items() if all(name in other for other in left)]
        unproven += ["sizes beyond the captured ones in the new shape of its launches"] if rule is not None else []
        unproven += [*dict.fromkeys(same_memory), *self._always_equal_pointers(rule)]
        unproven += [f"its requests to {service}, which a replay does not answer" for service in self._services()]
        evidence.unproven = unproven
        return passed(
            STEP,
            self._in_words(evidence.captures, unproven, self._capture_judge(0, rule).baseline_results.computes_with_floats),
            evidence,
        )

    def _always_equal_pointers(self, rule: LaunchRule | None) -> list[str]:
        """The launches that no capture covers because two pointers point to the same memory in every captured launch."""
        pairs = [
            {
                (one.name, other.name)
                for one, other in itertools.combinations(
                    self._capture_judge(index, rule).baseline_results.kernel_inputs.pointers, 2
                )
                if one.target == other.target
            }
            for index in range(len(self._captures))
        ]
        same = sorted(set.intersection(*pairs))
        return [f"launches in which `{one}` and `{other}` point to different memory" for one, other in same]

    def _in_words(self, captures: Sequence[CapturedLaunch], unproven: Sequence[str], computes: bool) -> str:
        options = self._options
        compared = sum(outcome == "equal" for launch in captures for outcome in launch.cases.values())
        exactly = "bit for bit except for the signs of NaNs" if computes else "bit for bit"
        how = f"floating-point numbers within {options.ulps} ULP" if options.ulps else exactly
        level = "" if options.level == "full" else f" (level {options.level}: one dispatch, no other orders of waves)"
        dropped = f"; unproven: {', '.join(unproven)}" if unproven else ""
        return f"the same memory in all {compared} cases, {how}{level}; {_judged_sizes(captures)}{dropped}"

    def outputs_of(self, index: int, rule: LaunchRule | None = None) -> Outputs:
        """What the baseline writes when it runs on the captured inputs of capture `index`."""
        return Outputs(self._capture_judge(index, rule).baseline_results.cases[0].outcome.dump)

    def other_inputs(self, rule: LaunchRule | None = None) -> list[OtherInputs]:
        """Other inputs for the first capture, similar to the captured ones and valid for the baseline."""
        return timed_inputs(list(self._capture_judge(0, rule).baseline_results.usable_cases()))

    def compare_in_program(
        self, index: int, candidate_capture: Capture, again: Callable[[], Capture], rules: LaunchRules | None = None
    ) -> tuple[Difference | None, list[str]]:
        """See difference_in_program() and _difference_at_program_address().

        candidate_capture: the same dispatch as capture `index`, in the candidate's program; again: captures the dispatch once
        more in the baseline's program. rules: the launch rules, if launches change.
        """
        if rules is not None and (complaint := rules.after.mismatch_with(candidate_capture)):
            return Difference(f"its launch is not the one that was judged: {complaint}", DifferenceSection()), []
        known = self._capture_judge(index, rules.before if rules else None)

        def with_inputs(capture: Capture) -> DispatchInProgram:
            return capture, self._kernel_inputs_of(capture)

        def baseline_again(turn: int) -> DispatchInProgram:
            with self._lock:
                while len(known.repeated_dispatches) <= turn:
                    known.repeated_dispatches.append(with_inputs(again()))
                return known.repeated_dispatches[turn]

        first = known.baseline_results.capture, known.baseline_results.kernel_inputs
        difference, unlike = difference_in_program(first, with_inputs(candidate_capture), baseline_again, self._options.ulps)
        return difference or self._difference_at_program_address(known.baseline_results, candidate_capture, rules), unlike

    def _difference_at_program_address(
        self, baseline_results: BaselineResults, candidate_capture: Capture, rules: LaunchRules | None
    ) -> Difference | None:
        """Try the other inputs on the dispatch as captured in the candidate's program. There, the candidate's code is at the
        address where the program loads it. In all other replays it is elsewhere, which a candidate can detect from its own
        address or from what is stored at some other address.
        """
        inputs, code = (
            self._kernel_inputs_of(candidate_capture),
            ReplayableCode(baseline_results.capture.code_object, rules.before if rules else None),
        )
        with tempfile.TemporaryDirectory(dir=self._scratch.name) as folder:
            reference_in_program = BaselineResults(candidate_capture, inputs, self._options, Path(folder), baseline=code)
            complaint = wrong_memory(reference_in_program, ReplayableCode(None, rules.after if rules else None), {})
        return None if complaint is None else Difference(complaint.reason, complaint.difference or DifferenceSection())

    def _kernel_inputs_of(self, capture: Capture) -> KernelInputs:
        types = parameter_layouts(self._source, self._kernel, capture.kernel)
        return kernel_inputs_of(capture, self._kernel, types, self._metadata)

    def _capture_judge(self, index: int, rule: LaunchRule | None) -> _CaptureJudge:
        with self._lock:
            if (index, rule) not in self._capture_judges:
                self._capture_judges[index, rule] = self._create_capture_judge(self._captures[index][1], rule)
        return self._capture_judges[index, rule]

    def _create_capture_judge(self, capture: Capture, rule: LaunchRule | None) -> _CaptureJudge:
        self._expect_no_host_requests(capture)
        baseline = ReplayableCode(rule=rule)
        baseline_results = BaselineResults(
            capture, self._kernel_inputs_of(capture), self._options, Path(self._scratch.name), baseline
        )
        complaint = None
        if not expect_success(baseline_results.cases[0].outcome).equal and self._options.ulps == 0:
            complaint = "the baseline itself does not give the same bytes twice: allow a tolerance with --ulps"
        return _CaptureJudge(baseline_results, RaceAndOrderRuns(baseline_results, self._options), complaint)

    def _services(self) -> list[str]:
        return [_SERVICES[argument.value_kind] for argument in self._metadata.arguments if argument.value_kind in _SERVICES]

    def _expect_no_host_requests(self, capture: Capture) -> None:
        """Raises ReplayFailedError if the kernel sends a request to the host, which is not answered in a replay. The compiler's
        metadata shows only that the kernel may send one: an assertion, for example, sends none as long as it holds.
        """
        services = self._services()
        if not services:
            return
        with tempfile.TemporaryDirectory(dir=self._scratch.name) as folder:
            (outcome,) = replay_with(self._options, capture, [Case(dump=False)], Path(folder))
        if outcome.failure:
            failure = outcome.failure.removeprefix(f"{capture.path}: ")
            raise ReplayFailedError(
                f"{capture.kernel} cannot be replayed ({failure}), probably because it uses {' and '.join(services)}: a replay "
                "has no host side to answer",
                "build the program without that in this kernel, for example with -DNDEBUG for assertions",
            )


def _captured_launch(
    arguments: str | None, capture: Capture, candidate: ReplayableCode, cases: dict[str, str]
) -> CapturedLaunch:
    """Describe a launch and the outcomes of its cases. arguments: the program's arguments."""
    origin, packet = capture.dispatch["origin"], capture.dispatch["packet"]
    other = candidate.launch(capture)
    return CapturedLaunch(
        arguments=arguments,
        dispatch=origin["dispatch_index"],
        grid=packet["grid"],
        workgroup=packet["workgroup"],
        candidate_launch=other
        and CandidateLaunch(grid=other.items, workgroup=[*other.group_size], dynamic_lds=other.dynamic_lds),
        cases=cases,
    )


def _judged_sizes(captures: Sequence[CapturedLaunch]) -> str:
    launches = dict.fromkeys(
        f"{_size_in_words(launch.grid)} threads in groups of {_size_in_words(launch.workgroup)}"
        f"{_candidate_size_in_words(launch)}{_arguments_in_words(launch.arguments)}"
        for launch in captures
    )
    return f"judged at {', '.join(launches)}"


def _candidate_size_in_words(launch: CapturedLaunch) -> str:
    other = launch.candidate_launch
    return f" (the candidate's {_size_in_words(other.grid)} in groups of {_size_in_words(other.workgroup)})" if other else ""


def _arguments_in_words(arguments: str | None) -> str:
    return f" (`{arguments}`)" if arguments else ""


def _size_in_words(extent: Sequence[int]) -> str:
    *more, last = [f"{number}" for number in extent]
    while more and last == "1":
        *more, last = more
    return " x ".join([*more, last])
