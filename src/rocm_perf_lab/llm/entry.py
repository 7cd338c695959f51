"""From the user's request to a result: find the source, start or resume a run, ask, and loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from rocm_perf_lab.llm.ask import Asker, Consent
from rocm_perf_lab.llm.backend import HipModelBackend, ModelBackend
from rocm_perf_lab.llm.budget import Budget, listed_price, per_million
from rocm_perf_lab.llm.cached_backend import CachedBackend
from rocm_perf_lab.llm.journal_lines import LoopSettings, SettingsLine
from rocm_perf_lab.llm.keys import Key
from rocm_perf_lab.llm.loop import LlmLoopOptions, ModelLoop
from rocm_perf_lab.llm.page import page
from rocm_perf_lab.llm.providers import ModelOptions, Provider, provider_of
from rocm_perf_lab.llm.redact import Redactor
from rocm_perf_lab.llm.replay_cache import ReplayCache
from rocm_perf_lab.llm.result import ModelOutcome
from rocm_perf_lab.optimize import run_folder
from rocm_perf_lab.optimize.backend import BackendOptions, Log
from rocm_perf_lab.optimize.build_target import BuildTarget, find_build_target, settings_of
from rocm_perf_lab.optimize.entry import folder_of
from rocm_perf_lab.optimize.journal import Journal
from rocm_perf_lab.optimize.journal_lines import BuildLine, Line
from rocm_perf_lab.optimize.page import write_page
from rocm_perf_lab.optimize.run_seed import with_seed
from rocm_perf_lab.optimize.run_state import Approve, RunState
from rocm_perf_lab.optimize.source_choice import by_time

COMMAND = "llm-optimize"


@dataclass(frozen=True)
class LlmRequest:
    """What the user asks for.

    words, source, build, folder, resume: as in optimize.entry.OptimizeRequest. full_source: whether the question has the whole
    file.
    """

    words: tuple[str, ...]
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
    keys: Mapping[str, Key],
    environment: Mapping[str, str],
    approve: Approve,
    consent: Consent,
    note: Callable[[str], None],
) -> ModelOutcome:
    """Start or resume a run and carry it out.

    keys: the providers' keys. environment: without the keys; its values are kept out of questions and journal.

    Errors: those of finding, building and profiling the program; UsageError; ModelError and UnavailableError if the model
    cannot be asked.
    """
    build_target = find_build_target(request.words, request.source, request.build, by_time(request.backend_options, note))
    provider = provider_of(request.model, keys)
    budget = budget_of(request.model, provider)
    run_folder.expect_place_for_results(build_target.source)
    folder = folder_of(request.folder, build_target.name).absolute()
    if restored := run_folder.sweep_after_kills(folder):
        note(f"an earlier run was killed while it replaced several files; restored: {', '.join(map(str, restored))}")
    directory = run_folder.unfinished(folder, COMMAND) if request.resume else run_folder.new_run(folder)
    with run_folder.held(directory):
        note(f"source: {build_target.source} (by {build_target.found_by}); journal: {directory}; model: {provider.place}")
        journal = Journal(directory)
        redactor = Redactor(build_target.source.parent, keys.values(), environment, _already_told(build_target))
        log = _redacted_log(journal, redactor, build_target)
        options = replace(with_seed(request.backend_options, journal), suggest=not request.backend_options.also)
        backend = HipModelBackend(build_target, directory, options, log, note, runs=folder, full_source=request.full_source)
        outcome = loop_on(
            build_target, request, journal, backend, provider, budget, redactor, approve, consent, note
        ).optimize()
        backend.clear()
        note(f"page for browsers: {write_page(directory, page(outcome.document()))}")
        return outcome


def loop_on(
    build_target: BuildTarget,
    request: LlmRequest,
    journal: Journal,
    backend: ModelBackend,
    provider: Provider,
    budget: Budget,
    redactor: Redactor,
    approve: Approve,
    consent: Consent,
    note: Callable[[str], None],
) -> ModelLoop:
    """The loop for a run with an open journal, with everything that it needs."""
    cache = ReplayCache(journal)
    cached = CachedBackend(backend, backend.read, cache, redactor)
    directory = journal.path.parent
    target = build_target
    run = RunState(
        target.source, target.found_by, directory, journal, cached, approve, request.in_place, COMMAND, request.accept_modelled
    )
    journal.append(_settings(request, build_target))
    asker = Asker(provider, journal, cache, budget, redactor, consent, note)
    loop = ModelLoop(run, cached, asker, budget, journal, request.loop, note)
    loop.outcome.provider, loop.outcome.model = request.model.provider, request.model.name
    return loop


def budget_of(model: ModelOptions, provider: Provider) -> Budget:
    price = per_million(model.price) if model.price else listed_price(model.provider, provider.place, model.name)
    return Budget(price, model.max_cost, model.max_tokens)


def _already_told(build_target: BuildTarget) -> str:
    """Text that is not redacted even if a variable has the same value: the source itself and the user's commands."""
    words = [word for step in build_target.build.steps for word in step.words]
    return " ".join((build_target.source.read_text(errors="replace"), *build_target.arguments, *words))


def _settings(request: LlmRequest, build_target: BuildTarget) -> SettingsLine:
    """The settings that a replay needs."""
    return SettingsLine(
        source=str(build_target.source.resolve()),
        found_by=build_target.found_by,
        **dict(settings_of(build_target)),
        name=build_target.name,
        provider=request.model.provider,
        model=request.model.name,
        in_place=request.in_place,
        accept_modelled=request.accept_modelled,
        loop=LoopSettings(**asdict(request.loop)),
    )


def _redacted_log(journal: Journal, redactor: Redactor, build_target: BuildTarget) -> Log:
    """The journal for the backend's own steps; what they quote from compilers is redacted."""

    def log(line: Line) -> None:
        if isinstance(line, BuildLine):
            line.log = redactor.compiler_words(line.log, build_target.source.name)
        journal.append(line)

    return log
