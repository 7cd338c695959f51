"""Builds and profiles the base, then the head, and compares them."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rocm_perf_lab import run_directory
from rocm_perf_lab.ci.build import build
from rocm_perf_lab.ci.document import CiDocument, ProgramSection, RevisionSection
from rocm_perf_lab.ci.folder import working_in
from rocm_perf_lab.ci.repository import Repository, Revision
from rocm_perf_lab.ci.request import CiProgram, CiRequest
from rocm_perf_lab.comparison.compare import compare
from rocm_perf_lab.errors import MissingInputError, OutputError, RocmPerfError
from rocm_perf_lab.profiling.request import ProfileRequest
from rocm_perf_lab.profiling.run_name import SUFFIX
from rocm_perf_lab.profiling.session import profile

Note = Callable[[str], None]
_MARK = "CACHEDIR.TAG"  # identifies an output folder; backup programs skip folders that contain this file
_MARK_TEXT = "Signature: 8a477f597d28d172789f06886806bc55\n# Results of rocm-perf ci\n"
_SOURCE = "source"  # both revisions are built in the same place, so that paths in their code do not differ


@dataclass(frozen=True)
class RevisionRuns:
    """runs: the run directory of each program that was profiled. errors: why a program was not profiled."""

    runs: Mapping[str, Path]
    errors: Mapping[str, RocmPerfError]


def check(request: CiRequest, folder: Path, note: Note) -> tuple[CiDocument, RocmPerfError | None]:
    """Compare two revisions of the repository that contains `folder`; return the findings and the first program error, if any.

    Raises a RocmPerfError if there is no repository, if a revision does not exist or cannot be built, or if the output cannot
    be written.
    """
    repository = Repository.around(folder)
    head = repository.revision(request.head)
    base = _base_revision(repository, repository.revision(request.base), head, note)
    if request.head == "HEAD" and repository.has_uncommitted_changes():
        note("uncommitted changes are left out: the head is the last commit")
    with _output_folder(request.output) as output:
        before = _run_revision("base", base, repository, request, output, note)
        after = _run_revision("head", head, repository, request, output, note)
    programs = [_program_section(program, before, after, request) for program in request.programs]
    document = CiDocument(
        base=_section(base),
        head=_section(head),
        programs=programs,
        exceeded=any(section.comparison.exceeded for section in programs if section.comparison),
        failed=any(section.state == "failed" for section in programs),
    )
    return document, next((error for error in _failures(request, before, after)), None)


def _base_revision(repository: Repository, base: Revision, head: Revision, note: Note) -> Revision:
    """The commit at which head branched off base, since later changes to base are not head's; base if they share no commit."""
    merge_base = repository.merge_base(base, head)
    if merge_base is None:
        note(f"{base.given_name} and {head.given_name} share no commit in this checkout: comparing with {base.short} itself")
        return base
    return Revision(base.given_name, merge_base.commit, merge_base.subject)


@contextlib.contextmanager
def _output_folder(path: Path) -> Iterator[Path]:
    """The output folder, cleared of earlier runs. Raises OutputError if it contains anything else or cannot be written."""
    try:
        if path.is_dir() and any(path.iterdir()) and not (path / _MARK).is_file():
            raise OutputError(
                f"{path} exists and contains something other than results of `rocm-perf ci`", "name another with -o"
            )
        path.mkdir(parents=True, exist_ok=True)
        (path / _MARK).write_text(_MARK_TEXT)
        (path / ".gitignore").write_text("*\n")
        for side in ("base", "head"):
            shutil.rmtree(path / side, ignore_errors=True)
            (path / side).mkdir()
    except OSError as error:
        raise OutputError(f"{path} cannot be written ({error.strerror})", "name another folder with -o") from error
    yield path.resolve()


def _run_revision(
    name: str, revision: Revision, repository: Repository, request: CiRequest, output: Path, note: Note
) -> RevisionRuns:
    say = partial(_say, note, name)
    say(f"{revision.short} {revision.subject}")
    runs: dict[str, Path] = {}
    errors: dict[str, RocmPerfError] = {}
    with repository.files(revision, output / _SOURCE) as source:
        build(request.builds, source, output / name / "build.log", say)
        for program in request.programs:
            destination = output / name / f"{program.name}{SUFFIX}"
            try:
                _profile(program, source, destination, request, say)
                runs[program.name] = destination
            except RocmPerfError as error:
                say(f"{program.name}: {error}")
                errors[program.name] = error
    return RevisionRuns(runs, errors)


def _say(note: Note, side: str, text: str) -> None:
    note(f"{side}: {text}")


def _profile(program: CiProgram, source: Path, destination: Path, request: CiRequest, note: Note) -> None:
    wanted = ProfileRequest(
        command=[program.command],
        runs=request.runs,
        device=request.device,
        device_options=request.device_options,
        destination=destination,
        timeout=request.timeout,
    )
    run_directory.expect_replaceable(destination)
    with working_in(source), destination.with_suffix(".log").open("wb") as output:
        profile(wanted, output, note)


def _program_section(program: CiProgram, before: RevisionRuns, after: RevisionRuns, request: CiRequest) -> ProgramSection:
    base, head = (side.runs.get(program.name) for side in (before, after))
    why = next(_why_not_compared(program, before, after), None)
    comparison = None if why else compare([run for run in (base, head) if run], request.limits)
    return ProgramSection(
        name=program.name,
        command=program.command,
        state="compared" if comparison else "new" if head and _is_new(program, before) else "failed",
        why=why,
        base_run=str(base) if base else None,
        head_run=str(head) if head else None,
        comparison=comparison,
    )


def _why_not_compared(program: CiProgram, before: RevisionRuns, after: RevisionRuns) -> Iterator[str]:
    for name, side in (("head", after), ("base", before)):
        if error := side.errors.get(program.name):
            yield f"on the {name}: {error}"


def _is_new(program: CiProgram, before: RevisionRuns) -> bool:
    return isinstance(before.errors.get(program.name), MissingInputError)


def _failures(request: CiRequest, before: RevisionRuns, after: RevisionRuns) -> Iterator[RocmPerfError]:
    for program in request.programs:
        if error := after.errors.get(program.name):
            yield error
        elif (error := before.errors.get(program.name)) and not _is_new(program, before):
            yield error


def _section(revision: Revision) -> RevisionSection:
    return RevisionSection(asked=revision.given_name, commit=revision.commit, subject=revision.subject)
