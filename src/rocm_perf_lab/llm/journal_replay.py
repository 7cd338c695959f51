"""Replays a run from its journal alone: the same questions and answers must lead to the same decisions.

Nothing is sent, built or measured, and none of the user's files is written: the results from the model, compiler, profiler and
gate come from the journal; parsing of answers, splicing, the choice of kernels and ranking are repeated.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rocm_perf_lab.errors import JournalDiffersError, MissingInputError, RocmPerfError
from rocm_perf_lab.llm.ask import Asker
from rocm_perf_lab.llm.budget import Budget
from rocm_perf_lab.llm.cached_backend import CachedBackend
from rocm_perf_lab.llm.entry import COMMAND
from rocm_perf_lab.llm.journal_lines import AttemptLine, FailureLine, SettingsLine, StopLine, UnsentLine
from rocm_perf_lab.llm.language_registry import LANGUAGES
from rocm_perf_lab.llm.loop import LlmLoop, LlmLoopOptions
from rocm_perf_lab.llm.redact import Redactor
from rocm_perf_lab.llm.replay_cache import ReplayCache
from rocm_perf_lab.llm.result import LlmOptimizeResult
from rocm_perf_lab.optimize.journal import FILE, Journal, JournalReader, event_of
from rocm_perf_lab.optimize.journal import read as entries_of
from rocm_perf_lab.optimize.journal_lines import (
    AcceptedLine,
    EndLine,
    Line,
    ProposalLine,
    SkippedLine,
    UserAnswerLine,
    VerdictLine,
)
from rocm_perf_lab.optimize.result import JudgedCandidate
from rocm_perf_lab.optimize.run_state import RunState
from rocm_perf_lab.optimize.source_settings import SourceSettings

# These, and everything in the replay cache, are external results.
_EXTERNAL_LINES: tuple[type[Line], ...] = (VerdictLine, UserAnswerLine, FailureLine, UnsentLine)
_DECISION_LINES: tuple[type[Line], ...] = (ProposalLine, AttemptLine, AcceptedLine, SkippedLine, StopLine, EndLine)
_EXTERNAL_EVENTS, _DECISION_EVENTS = ({event_of(line) for line in lines} for lines in (_EXTERNAL_LINES, _DECISION_LINES))
_MACHINE_FIELDS = ("number", "file", "written")


def replay_journal(directory: Path, note: Callable[[str], None]) -> LlmOptimizeResult:
    """Replay a run and compare its decisions.

    directory: the directory of an llm-optimize run that has ended or failed.

    Raises MissingInputError if there is no such run or it did not end, JournalDiffersError if a decision differs, and, if
    everything up to that point is the same, the error with which the run itself ended.
    """
    settings, entries = _last_settings(directory), _entries(directory)
    backup = directory / "backup" / Path(settings.source).name
    if not backup.is_file():
        raise MissingInputError(f"{backup} is missing", "name the whole directory of the run")
    with tempfile.TemporaryDirectory(prefix="rocm-perf-replay-") as scratch:
        source = Path(scratch, backup.name)
        source.write_bytes(backup.read_bytes())
        journal = _journal_of_external_results(entries, Path(scratch, "run"))
        loop = _build_loop(settings, source, journal, note)
        error: RocmPerfError | None = None
        try:
            loop.optimize()
        except JournalDiffersError:
            raise
        except RocmPerfError as failure:
            error = failure
        _compare_decisions(_decisions(entries), _decisions(journal.entries))
        if error is not None:
            raise error
    loop.outcome.optimized.source, loop.outcome.optimized.run = Path(settings.source), directory
    loop.outcome.optimized.written = []
    return loop.outcome


def _entries(directory: Path) -> list[dict[str, Any]]:
    entries, _ = entries_of(directory / FILE)
    if not any(entry["event"] in ("end", "failure") for entry in entries):
        raise MissingInputError(f"the run in {directory} did not end", f"continue it first: `rocm-perf {COMMAND} --resume`")
    return entries


def _last_settings(directory: Path) -> SettingsLine:
    """The settings of the most recent start or resumption of the run."""
    settings = JournalReader(directory).last(SettingsLine)
    if settings is None:
        raise MissingInputError(f"{directory} is not a run of `rocm-perf {COMMAND}`", "name a run-NNNN folder")
    return settings


def _journal_of_external_results(entries: Sequence[dict[str, Any]], directory: Path) -> Journal:
    """A journal with all the external results but none of the decisions."""
    directory.mkdir()
    external_results = [entry for entry in entries if entry["event"] in _EXTERNAL_EVENTS or "asked" in entry]
    (directory / FILE).write_text("".join(json.dumps(entry) + "\n" for entry in external_results))
    return Journal(directory)


def _build_loop(settings: SettingsLine, source: Path, journal: Journal, note: Callable[[str], None]) -> LlmLoop:
    original = Path(settings.source)
    language = LANGUAGES[settings.language]
    as_source = language.reader(SourceSettings.model_validate(dict(settings)), original)
    cache, redactor, budget = ReplayCache(journal, closed=True), Redactor(original.parent), Budget(None, None, 0)
    backend = CachedBackend(None, as_source, cache, redactor)
    options = LlmLoopOptions(**dict(settings.loop))
    run = RunState(
        source, settings.found_by, journal.path.parent, journal, backend, _raise_unknown_answer, settings.in_place, COMMAND,
        settings.accept_modelled,
    )  # fmt: skip
    asker = Asker(None, journal, cache, budget, redactor, lambda _place, _messages: None, note)
    loop = LlmLoop(run, backend, asker, budget, journal, options, note, language)
    loop.outcome.provider, loop.outcome.model = settings.provider, settings.model
    return loop


def _raise_unknown_answer(_judged: JudgedCandidate) -> bool:
    raise JournalDiffersError(
        "the journal has no answer from the user about a change", "the run or the version of rocm-perf was different"
    )


def _decisions(entries: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The decisions since the run was last resumed: a resumed run repeats all earlier ones."""
    resumed = max((index for index, entry in enumerate(entries) if entry["event"] == "resume"), default=-1)
    decided = [entry for entry in entries[resumed + 1 :] if entry["event"] in _DECISION_EVENTS]
    return [{name: value for name, value in entry.items() if name not in _MACHINE_FIELDS} for entry in decided]


def _compare_decisions(recorded: list[dict[str, Any]], replayed: list[dict[str, Any]]) -> None:
    """Compare decisions regardless of their order, since several workers write to the journal in no particular order. Each
    decision contains the numbers of its iteration and candidate. Raises JournalDiffersError.
    """
    before, after = (sorted(json.dumps(entry, sort_keys=True) for entry in entries) for entries in (recorded, replayed))
    if before == after:
        return
    differing = sorted(set(before) ^ set(after)) or ["the number of times something was decided"]
    raise JournalDiffersError(
        f"replayed decisions differ from the journal's: {differing[0][:300]}",
        "the run or the version of rocm-perf was different",
    )
