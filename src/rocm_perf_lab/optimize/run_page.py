"""The report.html of a run, with or without a language model: what was proposed, how it was judged, and what was accepted and
gained.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rocm_perf_lab import __version__
from rocm_perf_lab.atomic_write import atomic_write
from rocm_perf_lab.errors import OutputError
from rocm_perf_lab.gate.verdict_document import StepSection
from rocm_perf_lab.optimize.optimize_document import IterationSection, OptimizeDocument, ProposalSection
from rocm_perf_lab.report.html.page_parts import assemble, file_text, texts
from rocm_perf_lab.text import quantities
from rocm_perf_lab.text.names import short_name

FILE = "report.html"
_PACKAGE = "rocm_perf_lab.optimize"
_MODELLED = "MODELLED: no GPU ran this. Times and gains are those of the software device's timing model."
_KEPT, _ACCEPTED, _UNDECIDED, _REJECTED, _NOT_JUDGED = "kept", "accepted, not kept", "undecided", "rejected", "not judged"
_MAX_LISTED = 20  # how many items of each list in the evidence are shown


def page(
    document: OptimizeDocument,
    command: str = "optimize",
    more: Sequence[tuple[str, str]] = (),
    answers: Sequence[dict[str, Any]] = (),
) -> str:
    """The text of the page. more: further (label, text) pairs for the page's head. answers: a model's answers, as in
    LlmOptimizeDocument.
    """
    source = Path(document.source)
    data = {
        "title": f"rocm-perf {command}: {source.name} on {document.device or 'an unknown GPU'}",
        "modelled": _MODELLED if document.timing == "modelled" else None,
        "gain": _gain(document),
        "dry_run": document.dry_run,
        "answer": [list(pair) for pair in (*_head(document), *more)],
        "chain": list(_chain(document)),
        "proposals": _proposals(document),
        "answers": list(answers),
        "left": [f"{skipped.kernel}: {skipped.reason}" for skipped in document.left_alone],
        "passed_over": [f"{proposal.description} in {proposal.kernel}: {proposal.reason}" for proposal in document.passed_over],
        "refusals": [f"line {refusal.line}, {refusal.transformation}: {refusal.reason}" for refusal in document.refusals],
        "undecided": [
            f"{candidate.description} in {candidate.kernel}: "
            f"{1 - candidate.kernel_time_ratio:.1%} saved by the model; {candidate.reason}"
            for candidate in document.undecided
        ],
        "notes": document.notes,
        "made": f"Made by rocm-perf-lab {__version__}.",
    }
    data = texts(data)
    return assemble(data["title"], file_text("page.html", _PACKAGE), data, [file_text("page.js", _PACKAGE)], with_d3=False)


def write_page(folder: Path, text: str) -> Path:
    """Write the page into the run's folder. Raises OutputError."""
    path = folder / FILE
    try:
        with atomic_write(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"cannot write {path} ({error.strerror})", "free some space; the journal has the results") from error
    return path


def _gain(document: OptimizeDocument) -> str:
    if document.dry_run:
        return f"{len(document.proposals)} proposals, none judged"
    if not document.accepted:
        return "Nothing accepted: the source is unchanged"
    gain = "unknown" if document.improvement is None else f"{document.improvement:.1%}"
    count = len(document.iterations)
    changes = "1 change" if count == 1 else f"{count} changes"
    return f"{gain} of the time in the program's kernels saved by {changes}"


def _head(document: OptimizeDocument) -> Iterator[tuple[str, str]]:
    yield "Source", f"{Path(document.source).name} (found by {document.source_found_by})"
    judged = [proposal.verdict for proposal in document.proposals if proposal.verdict is not None]
    accepted = sum(verdict.accepted for verdict in judged)
    yield "Ended", document.stop
    yield "Judged", f"{len(judged)} proposals: {accepted} accepted by the gate, {len(judged) - accepted} rejected"
    if document.written:
        yield "Written", ", ".join(Path(path).name for path in document.written)
    if document.timing_parameters:
        yield "Timing", f"modelled with the parameters {document.timing_parameters}"


def _chain(document: OptimizeDocument) -> Iterator[dict[str, Any]]:
    """The baseline and each accepted change, each with its share of the baseline's time."""
    base = document.baseline_ms
    yield {
        "what": "baseline",
        "time": quantities.milliseconds(base),
        "share": 1.0 if base else None,
        "ratio": "",
        "counters": [],
    }
    for iteration in document.iterations:
        yield {
            "what": f"{iteration.number}. {iteration.description} in {short_name(iteration.kernel)}",
            "time": quantities.milliseconds(iteration.runtime_ms),
            "share": iteration.runtime_ms / base if base else None,
            "ratio": f"{iteration.kernel_time_ratio - 1:+.1%}",
            "why": iteration.why,
            "counters": [
                [each.counter, f"{each.before:,.0f}", f"{each.after:,.0f}",
                 "new" if each.change is None else f"{each.change:+.1%}", each.meaning]
                for each in iteration.counters
            ],
        }  # fmt: skip


def _proposals(document: OptimizeDocument) -> list[dict[str, Any]]:
    kept = _kept_indices(document.iterations, document.proposals)
    return [_proposal(proposal, number in kept) for number, proposal in enumerate(document.proposals)]


def _kept_indices(iterations: Sequence[IterationSection], proposals: Sequence[ProposalSection]) -> set[int]:
    """Indices of the proposals that became accepted changes: for each change, the first accepted proposal with the same
    description that belongs to no earlier change.
    """
    kept: set[int] = set()
    for change in iterations:
        candidates = (
            number
            for number, proposal in enumerate(proposals)
            if number not in kept
            and proposal.description == change.description
            and proposal.verdict is not None
            and proposal.verdict.accepted
        )
        if (number := next(candidates, None)) is not None:
            kept.add(number)
    return kept


def _proposal(proposal: ProposalSection, is_kept: bool) -> dict[str, Any]:
    verdict = proposal.verdict
    return {
        "transformation": proposal.transformation,
        "kernel": proposal.kernel,
        "line": proposal.line,
        "description": proposal.description,
        "diff": proposal.diff,
        "outcome": _outcome(proposal, is_kept),
        "why": (verdict.undecided or "") if verdict is not None else "",
        "steps": [] if verdict is None else [_step(step) for step in verdict.steps],
    }


def _outcome(proposal: ProposalSection, is_kept: bool) -> str:
    if proposal.verdict is None:
        return _NOT_JUDGED
    if not proposal.verdict.accepted:
        return _REJECTED
    if is_kept:
        return _KEPT
    return _ACCEPTED if proposal.verdict.undecided is None else _UNDECIDED


def _step(step: StepSection) -> list[Any]:
    return [step.step, step.outcome, step.reason, list(_evidence_lines(step.evidence.model_dump(mode="json")))]


def _evidence_lines(evidence: dict[str, Any], before: str = "") -> Iterator[str]:
    """The evidence as lines: an arrow joins the baseline's value and the candidate's, and commas join other lists."""
    for name, value in evidence.items():
        label = f"{before}{name.replace('_', ' ')}"
        if isinstance(value, dict):
            yield from _evidence_lines(value, f"{label}, ")
        elif isinstance(value, list):
            if any(isinstance(item, dict | list) for item in value):
                yield f"{label}: {len(value)}"
            elif value:
                joint = " → " if len(value) == 2 and not isinstance(value[0], str) else ", "
                more = f" and {len(value) - _MAX_LISTED} more" if len(value) > _MAX_LISTED else ""
                yield f"{label}: {joint.join(map(_value, value[:_MAX_LISTED]))}{more}"
        elif value is not None:
            yield f"{label}: {_value(value)}"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float) else "unknown" if value is None else str(value)
