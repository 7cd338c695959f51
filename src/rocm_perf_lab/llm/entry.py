"""From the user's request to a result: find the source, start or resume a run, ask the model, and loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Protocol

from rocm_perf_lab.llm.api_keys import ApiKey
from rocm_perf_lab.llm.ask import Asker, Consent
from rocm_perf_lab.llm.backend import HipModelBackend, ModelBackend
from rocm_perf_lab.llm.budget import Budget, listed_price, per_million
from rocm_perf_lab.llm.cached_backend import CachedBackend
from rocm_perf_lab.llm.file_to_optimize import FileToOptimize, of_program
from rocm_perf_lab.llm.journal_lines import LoopSettings, SettingsLine
from rocm_perf_lab.llm.loop import LlmLoop, LlmLoopOptions
from rocm_perf_lab.llm.page import page
from rocm_perf_lab.llm.providers import ModelOptions, Provider, provider_of
from rocm_perf_lab.llm.redact import Redactor
from rocm_perf_lab.llm.replay_cache import ReplayCache
from rocm_perf_lab.llm.result import LlmOptimizeResult
from rocm_perf_lab.optimize import run_folder
from rocm_perf_lab.optimize.backend import BackendOptions, Log
from rocm_perf_lab.optimize.build_target import find_build_target
from rocm_perf_lab.optimize.journal import Journal
from rocm_perf_lab.optimize.journal_lines import BuildLine, Line
from rocm_perf_lab.optimize.open_run import folder_of, open_run
from rocm_perf_lab.optimize.run_page import write_page
from rocm_perf_lab.optimize.run_seed import with_seed
from rocm_perf_lab.optimize.run_state import Approve, RunState
from rocm_perf_lab.optimize.source_choice import by_time

COMMAND = "llm-optimize"


@dataclass(frozen=True)
class LlmRequest:
    """The user's request.

    command, source, build, folder, resume: as in optimize.entry.OptimizeRequest. full_source: whether the question contains the
    whole file.
    """

    command: tuple[str, ...]
    model: ModelOptions
    source: Path | None = None
    build: str | None = None
    folder: Path | None = None
    resume: bool = False
    in_place: bool = False
    accept_modelled: bool = False
    full_source: bool = False
    backend_options: BackendOptions = field(default_factory=BackendOptions)
    loop: LlmLoopOptions = field(default_factory=LlmLoopOptions)


def llm_optimize(
    request: LlmRequest,
    keys: Mapping[str, ApiKey],
    environment: Mapping[str, str],
    approve: Approve,
    consent: Consent,
    note: Callable[[str], None],
) -> LlmOptimizeResult:
    """Start or resume a run and carry it out.

    keys: the providers' keys. environment: does not contain the keys; its values are kept out of the questions and the journal.

    Raises any error that occurs in finding, building or profiling the program; UsageError; and LanguageModelError or
    UnavailableError if the model cannot be asked.
    """
    build_target = find_build_target(request.command, request.source, request.build, by_time(request.backend_options, note))

    def backend(directory: Path, options: BackendOptions, log: Log, runs: Path) -> HipModelBackend:
        options = replace(options, suggest=not request.backend_options.also)
        return HipModelBackend(build_target, directory, options, log, note, runs=runs, full_source=request.full_source)

    return run_with(of_program(build_target), backend, request, keys, environment, approve, consent, note)


class ClearableBackend(ModelBackend, Protocol):
    def clear(self) -> None:
        """Remove the files that only this process needed."""


MakeBackend = Callable[[Path, BackendOptions, Log, Path], ClearableBackend]
"""(directory of the run, options with its seed, journal, folder of all runs) -> the backend."""


def run_with(
    subject: FileToOptimize,
    make_backend: MakeBackend,
    request: LlmRequest,
    keys: Mapping[str, ApiKey],
    environment: Mapping[str, str],
    approve: Approve,
    consent: Consent,
    note: Callable[[str], None],
) -> LlmOptimizeResult:
    """Like llm_optimize(), but for a subject that has already been found. The parts of the request that specify how to find the
    source are ignored.
    """
    provider = provider_of(request.model, keys)
    budget = budget_of(request.model, provider)
    run_folder.expect_place_for_results(subject.source)
    folder = folder_of(request.folder, subject.name).absolute()
    with open_run(folder, COMMAND, request.resume, note) as (directory, journal):
        note(f"source: {subject.source} (by {subject.found_by}); journal: {directory}; model: {provider.endpoint}")
        redactor = Redactor(subject.source.parent, keys.values(), environment, subject.known)
        log = _redacted_log(journal, redactor, subject.source.name)
        backend = make_backend(directory, with_seed(request.backend_options, journal), log, folder)
        outcome = loop_on(subject, request, journal, backend, provider, budget, redactor, approve, consent, note).optimize()
        backend.clear()
        note(f"page for browsers: {write_page(directory, page(outcome.document()))}")
        return outcome


def loop_on(
    subject: FileToOptimize,
    request: LlmRequest,
    journal: Journal,
    backend: ModelBackend,
    provider: Provider,
    budget: Budget,
    redactor: Redactor,
    approve: Approve,
    consent: Consent,
    note: Callable[[str], None],
) -> LlmLoop:
    """The loop, with everything it needs, for a run whose journal is open."""
    cache = ReplayCache(journal)
    cached = CachedBackend(backend, backend.read, cache, redactor)
    directory = journal.path.parent
    run = RunState(
        subject.source,
        subject.found_by,
        directory,
        journal,
        cached,
        approve,
        request.in_place,
        COMMAND,
        request.accept_modelled,
    )
    journal.append(_settings(request, subject))
    asker = Asker(provider, journal, cache, budget, redactor, consent, note)
    loop = LlmLoop(run, cached, asker, budget, journal, request.loop, note, subject.language)
    loop.outcome.provider, loop.outcome.model = request.model.provider, request.model.name
    return loop


def budget_of(model: ModelOptions, provider: Provider) -> Budget:
    price = per_million(model.price) if model.price else listed_price(model.provider, provider.endpoint, model.name)
    return Budget(price, model.max_cost, model.max_tokens)


def _settings(request: LlmRequest, subject: FileToOptimize) -> SettingsLine:
    """The settings that a replay needs."""
    return SettingsLine(
        source=str(subject.source.resolve()),
        language=subject.language.name,
        found_by=subject.found_by,
        **dict(subject.settings),
        name=subject.name,
        provider=request.model.provider,
        model=request.model.name,
        in_place=request.in_place,
        accept_modelled=request.accept_modelled,
        loop=LoopSettings(**asdict(request.loop)),
    )


def _redacted_log(journal: Journal, redactor: Redactor, source: str) -> Log:
    """The journal for the backend's own steps, with the compiler messages about the file `source` redacted."""

    def log(line: Line) -> None:
        if isinstance(line, BuildLine):
            line.log = redactor.compiler_words(line.log, source)
        journal.append(line)

    return log
