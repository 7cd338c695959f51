"""Earlier proposals for a kernel and their outcomes, from the journals of earlier runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rocm_perf_lab.gate.verdict import Verdict
from rocm_perf_lab.hip_source.demangle import qualified_name
from rocm_perf_lab.optimize.journal import JournalReader
from rocm_perf_lab.optimize.journal_lines import ProposalLine, UserAnswerLine, VerdictLine
from rocm_perf_lab.optimize.run_folder import journals_in

ACCEPTED, DECLINED, REJECTED = "accepted", "accepted by the gate, declined by the user", "rejected"


@dataclass(frozen=True)
class TriedChange:
    """One proposal. kernel: demangled name. reason: 'step: why' for a rejection, otherwise the gain. diff: how the source was
    changed.

    same_source: whether the proposal was made for the current state of the source, not for an earlier one.
    """

    kernel: str
    description: str
    outcome: str
    reason: str
    diff: str = ""
    same_source: bool = True


def tried_in(folder: Path, kernel: str, digest: str) -> list[TriedChange]:
    """All proposals for `kernel` (demangled) that have a verdict in the journals under `folder`; empty if there is no such
    folder.

    The oldest come first, but proposals judged by `rocm-perf gate` come after all proposals from the runs.

    digest: identifies the current state of the source (optimize.source_file.digest). Raises OutputError for a damaged journal.
    """
    changes: dict[tuple[str, str], TriedChange] = {}
    for journal in journals_in(folder):
        for key, change in _changes_of_run(JournalReader(journal.parent), kernel, digest):
            changes.pop(key, None)  # keep only the newest verdict on a change, where it stands in the order
            changes[key] = change
    return list(changes.values())


def _changes_of_run(journal: JournalReader, kernel: str, digest: str) -> Iterator[tuple[tuple[str, str], TriedChange]]:
    """Yields, for each verdict, the digests of the source before and after the change, and the proposal."""
    name = qualified_name(kernel)  # changing a template changes all its instantiations
    proposals: dict[str, ProposalLine] = {}
    answers = {line.candidate: line.kept for line in journal.of(UserAnswerLine)}
    for line in journal.of_any(ProposalLine, VerdictLine):
        if isinstance(line, ProposalLine):
            proposals[line.candidate] = line
        elif isinstance(line, VerdictLine) and (proposal := proposals.get(line.candidate)):
            if qualified_name(proposal.kernel) != name:
                continue
            outcome, reason = _outcome(Verdict.from_document(line.verdict), answers.get(line.candidate))
            same = line.baseline == digest
            yield (
                (line.baseline, line.candidate),
                TriedChange(kernel, proposal.description, outcome, reason, proposal.diff, same),
            )


def _outcome(verdict: Verdict, is_kept: bool | None) -> tuple[str, str]:
    if (rejection := verdict.rejection) is not None:
        return REJECTED, f"{rejection.step}: {rejection.reason}"
    gained = "its gain was not measured" if verdict.ratio is None else f"{1 - verdict.ratio:.1%} of the kernel's time saved"
    return (DECLINED if is_kept is False else ACCEPTED), gained
