"""The persistent state of a run, shared by every loop that changes a kernel: source, journal, verdicts, accepted changes.

To resume a killed run, the loop repeats it: candidates that have a verdict in the journal are not judged again, and everything
else follows from the verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path

from rocm_perf_lab.errors import SourceError, TraceError
from rocm_perf_lab.gate.verdict import Verdict
from rocm_perf_lab.hip_source.source_state import split_state
from rocm_perf_lab.optimize.backend import Backend, Gate, ProfileSummary
from rocm_perf_lab.optimize.journal import Journal
from rocm_perf_lab.optimize.journal_lines import (
    AcceptedLine,
    BeginLine,
    EndLine,
    OutcomeLine,
    PassedOverLine,
    ProfiledKernel,
    ProfileLine,
    ProposalLine,
    PutLine,
    ResumeLine,
    SkippedKernel,
    SkippedLine,
    UndecidedLine,
    UserAnswerLine,
    VerdictLine,
)
from rocm_perf_lab.optimize.prediction import Prediction
from rocm_perf_lab.optimize.program_diff import program_diff
from rocm_perf_lab.optimize.result import (
    Candidate,
    Iteration,
    JudgedCandidate,
    OptimizeResult,
    PassedOverProposal,
    UndecidedCandidate,
)
from rocm_perf_lab.optimize.run_folder import results_of
from rocm_perf_lab.optimize.source_file import SourceFile, digest, replace_all_or_none, write_whole
from rocm_perf_lab.optimize.source_protocol import Source
from rocm_perf_lab.optimize.targets import SkippedTarget, Target
from rocm_perf_lab.optimize.transforms import Proposal

Approve = Callable[[JudgedCandidate], bool]
"""Asks the user whether to keep an accepted change."""


class RunState:
    """The state of one run.

    source: the user's source file. directory: the run directory. in_place: whether the result replaces the source or is written
    next to it. command: the rocm-perf command that began the run. accept_modelled: whether to accept gains that are within the
    timing model's error.

    Raises SourceError, OutputError, and whatever the backend raises.
    """

    def __init__(
        self,
        source: Path,
        found_by: str,
        directory: Path,
        journal: Journal,
        backend: Backend,
        approve: Approve,
        in_place: bool,
        command: str,
        accept_modelled: bool,
    ):
        self._backend, self._approve, self._in_place, self._command = backend, approve, in_place, command
        self._journal, self._directory, self._accept_modelled = journal, directory, accept_modelled
        self._file = SourceFile(source, directory, journal)
        self.outcome = OptimizeResult(source, found_by, directory)
        verdicts = journal.of(VerdictLine)
        self._known = {(line.baseline, line.candidate): Verdict.from_document(line.verdict) for line in verdicts}
        self._answers = {line.candidate: line.kept for line in journal.of(UserAnswerLine)}

    def original(self) -> bytes:
        """The source as the run found it; in a resumed run, it comes from the backup."""
        begun = self._journal.last(BeginLine)
        if begun is None:
            text = self._file.save()
            now = datetime.now(timezone.utc).isoformat(timespec="seconds")
            source = str(self._file.path)
            self._journal.append(BeginLine(command=self._command, time=now, source=source, digest=digest(text)))
            return text
        text = self._file.backup.read_bytes()
        if self._journal.last(PutLine) is None and digest(self._file.path.read_bytes()) != begun.digest:
            raise SourceError(
                f"{self._file.path} was changed since {self._directory} began", "start a new run, without --resume"
            )
        self._journal.append(ResumeLine())
        return text

    def profile(self, source: Source) -> ProfileSummary:
        """Profile the source. The first profile also sets the outcome's device, timing and initial time."""
        summary, outcome = self._backend.profile(source), self.outcome
        self._check_parameters(summary.timing, summary.timing_parameters)
        if not outcome.device:
            outcome.timing, outcome.timing_parameters = summary.timing, summary.timing_parameters
            outcome.device, outcome.baseline_ms, outcome.skipped = summary.device, summary.runtime_ms, list(summary.skipped)
        self._journal.append(
            ProfileLine(
                source=digest(source.state),
                runtime_ms=summary.runtime_ms,
                timing=summary.timing,
                timing_parameters=summary.timing_parameters,
                kernels=[ProfiledKernel(kernel=target.demangled, why=target.reason) for target in summary.targets],
                left_alone=[SkippedKernel(kernel=skipped.kernel, reason=skipped.reason) for skipped in summary.skipped],
            )
        )
        return summary

    def _check_parameters(self, timing: str, parameters: str | None) -> None:
        """Check that the timing parameters have not changed since the run began; otherwise, times could not be compared. Raises
        TraceError.
        """
        first = next(iter(self._journal.of(ProfileLine)), None)
        if first is not None and (first.timing, first.timing_parameters) != (timing, parameters):
            before, now = (
                f"{how} with the parameters {which}" if which else how
                for how, which in ((first.timing, first.timing_parameters), (timing, parameters))
            )
            raise TraceError(f"times of {self._directory} are {before}, now they are {now}", "start again without --resume")

    def candidate(self, source: Source, proposal: Proposal, prediction: Prediction | None = None) -> Candidate:
        changed = source.edited(proposal.edits, proposal.other_edits)
        diff = program_diff(source.path, source.state, changed.state)
        return Candidate(proposal, digest(changed.state), diff, changed.state, prediction=prediction)

    def judge(
        self,
        source: Source,
        target: Target,
        proposal: Proposal,
        gate: Callable[[], Gate],
        prediction: Prediction | None = None,
    ) -> JudgedCandidate:
        """The proposal with its verdict from the journal, or from the gate if the journal has none. gate: opens the gate when
        it is needed.
        """
        candidate = self.candidate(source, proposal, prediction)
        description, kernel = proposal.description, target.demangled
        self._journal.append(
            ProposalLine(candidate=candidate.digest, description=description, kernel=kernel, diff=candidate.diff)
        )
        key = (digest(source.state), candidate.digest)
        if key not in self._known:
            self._known[key] = gate().judge(candidate.state, proposal.promises)
            self._journal.append(VerdictLine(baseline=key[0], candidate=key[1], verdict=self._known[key].document()))
        verdict = self._known[key]
        state = candidate.state if verdict.adopted is None else verdict.adopted
        judged = JudgedCandidate(proposal, candidate.digest, candidate.diff, state, verdict, prediction=prediction)
        ratio, runtimes = verdict.ratio, verdict.runtime_ms
        saved = None if ratio is None else 1 - ratio
        program = None if runtimes is None or not runtimes[0] else 1 - runtimes[1] / runtimes[0]
        self._journal.append(_outcome_line(target, judged, saved, program, accepted=verdict.accepted))
        return judged

    def pass_over(self, target: Target, candidate: Candidate, reason: str, measured: float | None) -> None:
        """Record a proposal that is not judged, or whose verdict is not needed. measured: the share of the kernel's time that
        it saved, if measured.
        """
        passed_over = PassedOverProposal(target.demangled, candidate.proposal.description, reason)
        if passed_over not in self.outcome.passed_over:
            self.outcome.passed_over.append(passed_over)
        self._journal.append(PassedOverLine(kernel=passed_over.kernel, description=passed_over.description, reason=reason))
        self._journal.append(_outcome_line(target, candidate, measured, None, accepted=False))

    def ratio_on_captured_inputs(self, source: Source, proposal: Proposal, gate: Gate) -> float | None:
        """See Gate. If the journal has a verdict on the proposal, the ratio comes from that verdict."""
        candidate = self.candidate(source, proposal)
        known = self._known.get((digest(source.state), candidate.digest))
        return (
            gate.ratio_on_captured_inputs(candidate.state, proposal.promises)
            if known is None
            else known.ratio_on_captured_inputs
        )

    def may_keep(self, candidate: JudgedCandidate) -> bool:
        """Whether the gate accepts the candidate and the user has not declined it. Unless modelled gains suffice, a candidate
        on which only a GPU can decide does not count.
        """
        decided = self._accept_modelled or candidate.undecided is None
        return candidate.accepted and decided and self._answers.get(candidate.digest, True)

    def best(self, target: Target, judged: Sequence[JudgedCandidate]) -> JudgedCandidate | None:
        """The fastest candidate that the gate accepts and the user keeps. Unless modelled gains suffice, faster candidates on
        which only a GPU can decide are saved as files instead.
        """
        for candidate in sorted(
            (candidate for candidate in judged if candidate.accepted), key=lambda candidate: candidate.ratio
        ):
            if not self._accept_modelled and candidate.undecided is not None:
                self._keep_undecided(target, candidate, candidate.undecided)
                continue
            if candidate.digest not in self._answers:
                self._answers[candidate.digest] = self._approve(candidate)
                self._journal.append(UserAnswerLine(candidate=candidate.digest, kept=self._answers[candidate.digest]))
            if self._answers[candidate.digest]:
                return candidate
        return None

    def _keep_undecided(self, target: Target, judged: JudgedCandidate, reason: str) -> None:
        if any(undecided.judged.digest == judged.digest for undecided in self.outcome.undecided):
            return
        stem = f"undecided-{judged.digest[:12]}"
        file = self._directory / f"{stem}{self._file.path.suffix}"
        own_text, other_texts = split_state(judged.state)
        write_whole(file, own_text)
        for other, text in other_texts.items():
            write_whole(self._directory / f"{stem}-{other.name}", text)
        self._journal.append(UndecidedLine(kernel=target.demangled, candidate=judged.digest, reason=reason, file=str(file)))
        self.outcome.undecided.append(UndecidedCandidate(target.demangled, judged, file))

    def accept(self, number: int, target: Target, judged: JudgedCandidate, source: Source) -> None:
        """Record an accepted change. number: index of the iteration, from 1. source: the changed source."""
        copy = self._directory / f"accepted-{number}{source.path.suffix}"
        write_whole(copy, source.text)
        for file, text in source.other_files.items():
            write_whole(self._directory / f"accepted-{number}-{file.name}", text)
            self._file_of(file).save()
        before, after = judged.runtime_ms
        if (timing := judged.verdict.program_timing) is not None:
            self._check_parameters(*timing)
        self._journal.append(
            AcceptedLine(
                iteration=number,
                kernel=target.demangled,
                description=judged.proposal.description,
                candidate=judged.digest,
                file=str(copy),
                runtime_ms=after,
            )
        )
        if not self.outcome.iterations:
            self.outcome.baseline_ms = before
        moved, unmoved = judged.verdict.counters
        self.outcome.iterations.append(Iteration(number, target.demangled, judged, after, moved, tuple(unmoved)))

    def skip(self, target: Target, reason: str) -> None:
        if any(iteration.kernel == target.demangled for iteration in self.outcome.iterations):
            return  # it gained from an earlier change, so a lack of further gains is not reported
        self._journal.append(SkippedLine(kernel=target.demangled, reason=reason))
        self.outcome.skipped.append(SkippedTarget(target.demangled, reason))

    def write(self, original: bytes, state: bytes) -> None:
        """Write the result to its destination, with a patch. original, state: as in hip_source.source_state."""
        path, written = self._file.path, self.outcome.written
        patch = program_diff(path, original, state).encode()
        own_text, other_texts = split_state(state)
        texts = {path: own_text, **other_texts}
        written.clear()  # it still lists the files of an earlier state
        if self._in_place:
            written.append(self._directory / f"{path.stem}.patch")
            write_whole(written[-1], patch)
            changed = {self._file_of(file): text for file, text in texts.items() if file.read_bytes() != text}
            replace_all_or_none(changed, "accepted by the gate")
            written += texts
            return
        result, patch_file = results_of(path)
        for to, content in (
            (result, own_text),
            (patch_file, patch),
            *((results_of(file)[0], text) for file, text in other_texts.items()),
        ):
            write_whole(to, content)
            written.append(to)

    def _file_of(self, path: Path) -> SourceFile:
        """One of the program's files. path: its real path."""
        if path == self._file.path:
            return self._file
        return SourceFile(path, self._directory / "others" / digest(bytes(path))[:12], self._journal)

    def end(self, stop: str) -> OptimizeResult:
        """End the run and return its result. stop: why the run ends, in words."""
        outcome = self.outcome
        outcome.stop = stop
        self._journal.append(
            EndLine(
                accepted=outcome.accepted,
                baseline_ms=outcome.baseline_ms,
                final_ms=outcome.final_ms,
                timing=outcome.timing,
                stop=stop,
                written=[str(path) for path in outcome.written],
            )
        )
        return outcome


def _outcome_line(
    target: Target, candidate: Candidate, kernel: float | None, program: float | None, *, accepted: bool
) -> OutcomeLine:
    """kernel, program: the fractions of the kernel's and of the program's time that were saved."""
    prediction = candidate.prediction
    return OutcomeLine(
        candidate=candidate.digest,
        kernel=target.demangled,
        description=candidate.proposal.description,
        transformation=candidate.proposal.transformation,
        causes=list(prediction.causes) if prediction is not None else [],
        at_most_kernel=prediction.kernel if prediction is not None else None,
        predicted_kernel=prediction.estimate if prediction is not None else None,
        predicted_program=prediction.program * prediction.lines
        if prediction is not None and prediction.program is not None
        else None,
        measured_kernel=kernel,
        measured_program=program,
        accepted=accepted,
    )
