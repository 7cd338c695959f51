"""The loop: profile, choose a kernel, propose, have the gate judge, keep the best; journal before every effect.

A run that was killed is resumed by running it again: what the journal holds a verdict of is not judged twice, and the
rest follows from the verdicts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from rocm_perf_lab.errors import CaptureError, NoCaptureError, PlacementError, ReplayFailedError, SourceError
from rocm_perf_lab.hip_source import HipSource, apply_edits
from rocm_perf_lab.hip_source.edits import unified_diff

from .journal import Journal
from .outcome import Iteration, Judged, Outcome
from .ranking import ranked
from .run_folder import results_of
from .source_file import SourceFile, digest, write_whole
from .targets import LeftAlone, Target
from .transforms import BY_NAME, Proposal, Refusal
from .workbench import Survey, Workbench

_MOST_KERNELS = 3  # tried in one iteration
_CANNOT_JUDGE = (NoCaptureError, CaptureError, PlacementError, ReplayFailedError)

Approve = Callable[[Judged], bool]
"""Asks the user whether an accepted change shall be kept."""


@dataclass(frozen=True)
class LoopOptions:
    """factors: of transformations that have one. transforms: names of optimize.transforms.BY_NAME, in order of trial."""

    factors: tuple[int, ...] = (2, 4, 8)
    transforms: tuple[str, ...] = tuple(BY_NAME)
    max_iterations: int = 3
    in_place: bool = False
    dry_run: bool = False


class Session:
    """One run. source: the user's file. run: its directory. Errors: those of the workbench, SourceError, OutputError."""

    def __init__(
        self,
        source: Path,
        found_by: str,
        run: Path,
        journal: Journal,
        bench: Workbench,
        options: LoopOptions,
        approve: Approve,
        note: Callable[[str], None],
    ):
        self._bench, self._options, self._approve, self._note = bench, options, approve, note
        self._journal, self._run = journal, run
        self._file = SourceFile(source, run, journal)
        self._outcome = Outcome(source, found_by, run, dry_run=options.dry_run)
        self._known = {(e["baseline"], e["candidate"]): e["verdict"] for e in journal.of("verdict")}
        self._answers = {e["candidate"]: e["kept"] for e in journal.of("answer")}
        self._exhausted: set[str] = set()

    def optimize(self) -> Outcome:
        original = self._original()
        current = self._bench.read(original)
        outcome, survey = self._outcome, self._surveyed(current)
        outcome.timing, outcome.timing_parameters = survey.timing, survey.timing_parameters
        outcome.device, outcome.baseline_ms, outcome.left = survey.device, survey.runtime_ms, list(survey.left)
        for number in range(1, self._options.max_iterations + 1):
            best = self._iteration(current, survey)
            if best is None:
                break
            target, judged, candidate = best
            current = candidate
            self._accept(number, target, judged, current)
            if number < self._options.max_iterations:
                survey = self._surveyed(current)
        if outcome.accepted:
            self._write(original, current.text)
        self._journal.append(
            "end",
            accepted=outcome.accepted,
            baseline_ms=outcome.baseline_ms,
            final_ms=outcome.final_ms,
            timing=outcome.timing,
            written=[str(path) for path in outcome.written],
        )
        return outcome

    def _original(self) -> bytes:
        """The source as the run found it, from the backup where the run is resumed."""
        begun = self._journal.last("begin")
        if begun is None:
            text = self._file.save()
            now = datetime.now(timezone.utc).isoformat(timespec="seconds")
            self._journal.append("begin", time=now, source=str(self._file.path), digest=digest(text))
            return text
        text = self._file.backup.read_bytes()
        if self._journal.last("put") is None and digest(self._file.path.read_bytes()) != begun["digest"]:
            raise SourceError(f"{self._file.path} was changed since {self._run} began", "start a new run, without --resume")
        self._journal.append("resume")
        return text

    def _surveyed(self, source: HipSource) -> Survey:
        survey = self._bench.survey(source)
        self._journal.append(
            "profile",
            source=digest(source.text),
            runtime_ms=survey.runtime_ms,
            timing=survey.timing,
            timing_parameters=survey.timing_parameters,
            kernels=[{"kernel": target.demangled, "why": target.reason} for target in survey.targets],
            left_alone=[{"kernel": one.kernel, "reason": one.reason} for one in survey.left],
        )
        return survey

    def _iteration(self, source: HipSource, survey: Survey) -> tuple[Target, Judged, HipSource] | None:
        """The best accepted change of the first kernel that has one; the kernels without are left alone."""
        wanted = [target for target in survey.targets if target.demangled not in self._exhausted]
        for target in wanted[:_MOST_KERNELS]:
            self._note(f"kernel {target.demangled}: {target.reason}")
            proposals, refusals = self._proposals(source, target)
            judged, obstacle = self._judged(source, target, proposals)
            self._outcome.judged += judged
            if best := self._best(judged):
                return target, best, self._bench.read(apply_edits(source.text, best.proposal.edits))
            self._exhausted.add(target.demangled)
            self._outcome.refused += [refusal for refusal in refusals if refusal not in self._outcome.refused]
            self._leave(target, obstacle or _why_nothing(judged, refusals, self._options.dry_run))
        return None

    def _best(self, judged: Sequence[Judged]) -> Judged | None:
        """The fastest that the gate accepts and the user keeps."""
        for one in sorted((one for one in judged if one.accepted), key=lambda one: one.ratio):
            if one.digest not in self._answers:
                self._answers[one.digest] = self._approve(one)
                self._journal.append("answer", candidate=one.digest, kept=self._answers[one.digest])
            if self._answers[one.digest]:
                return one
        return None

    def _proposals(self, source: HipSource, target: Target) -> tuple[list[Proposal], list[Refusal]]:
        kernel = source.kernel(target.kernel)
        answers = [
            answer for name in self._options.transforms for answer in BY_NAME[name](source, kernel, self._options.factors)
        ]
        proposals = [answer for answer in answers if isinstance(answer, Proposal)]
        return (
            ranked(proposals, kernel, target.waited_cycles, source.text),
            [answer for answer in answers if isinstance(answer, Refusal)],
        )

    def _judged(self, source: HipSource, target: Target, proposals: Sequence[Proposal]) -> tuple[list[Judged], str]:
        """Each with its verdict, and what kept the rest from being judged."""
        judged: list[Judged] = []
        with contextlib.ExitStack() as stack:
            gate = None
            for proposal in proposals:
                text = apply_edits(source.text, proposal.edits)
                one = Judged(proposal, digest(text), unified_diff(source.text, text, source.path.name), None)
                if not self._options.dry_run:
                    key = (digest(source.text), one.digest)
                    self._journal.append(
                        "proposal",
                        candidate=one.digest,
                        description=proposal.description,
                        kernel=target.demangled,
                        diff=one.diff,
                    )
                    if key not in self._known:
                        try:
                            gate = gate or stack.enter_context(self._bench.gate(source, target))
                            self._known[key] = gate.judge(self._bench.read(text))
                        except _CANNOT_JUDGE as error:
                            return judged, f"it cannot be judged: {error.what}"
                        self._journal.append("verdict", baseline=key[0], candidate=key[1], verdict=self._known[key])
                    one = Judged(proposal, one.digest, one.diff, self._known[key])
                    self._note(f"  {proposal.description}: {_in_words(one)}")
                judged.append(one)
        return judged, ""

    def _leave(self, target: Target, reason: str) -> None:
        if any(one.kernel == target.demangled for one in self._outcome.iterations):
            return  # it gained before: that nothing more is to be had is no news
        self._journal.append("left alone", kernel=target.demangled, reason=reason)
        self._outcome.left.append(LeftAlone(target.demangled, reason))

    def _accept(self, number: int, target: Target, judged: Judged, source: HipSource) -> None:
        kept = self._run / f"accepted-{number}{source.path.suffix}"
        write_whole(kept, source.text)
        before, after = judged.runtime_ms
        self._journal.append(
            "accepted",
            iteration=number,
            kernel=target.demangled,
            description=judged.proposal.description,
            candidate=judged.digest,
            file=str(kept),
            runtime_ms=after,
        )
        if number == 1:
            self._outcome.baseline_ms = before
        counters = judged.step("application")["evidence"].get("counters", {})
        symbol = source.kernel(target.kernel).symbol
        mine = counters.get(symbol) or next((moved for name, moved in counters.items() if target.kernel in name), {})
        self._outcome.iterations.append(Iteration(number, target.demangled, judged, after, mine))

    def _write(self, original: bytes, text: bytes) -> None:
        path, written = self._file.path, self._outcome.written
        patch = unified_diff(original, text, path.name).encode()
        if self._options.in_place:
            written.append(self._run / f"{path.stem}.patch")
            write_whole(written[-1], patch)
            if path.read_bytes() != text:
                self._file.put(text, "accepted by the gate")
            written.append(path)
            return
        for result, content in zip(results_of(path), (text, patch), strict=True):
            write_whole(result, content)
            written.append(result)


def _in_words(judged: Judged) -> str:
    if judged.accepted:
        return f"accepted, {1 - judged.ratio:.1%} of the kernel's time saved"
    return f"rejected ({judged.rejection})"


def _why_nothing(judged: Sequence[Judged], refusals: Sequence[Refusal], dry_run: bool) -> str:
    if dry_run and judged:
        return f"a dry run: {len(judged)} proposals were not judged"
    if judged:
        reasons = [f"{one.proposal.description}: {one.rejection or 'the user declined it'}" for one in judged]
        return f"none of {len(judged)} proposals is kept; {'; '.join(reasons)}"
    if refusals:
        return "nothing can be changed safely: " + "; ".join(
            dict.fromkeys(f"line {one.line}: {one.reason}" for one in refusals)
        )
    return "its body has no loop to change"
