"""The findings as Markdown, for a comment on a pull request or the summary of a job."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_perf_lab.ci.document import CiDocument, ProgramSection
from rocm_perf_lab.ci.words import verdict
from rocm_perf_lab.comparison.markdown import to_markdown as comparison_in_markdown
from rocm_perf_lab.text.escaping import markdown

_SHORT = 12


def to_markdown(document: CiDocument) -> str:
    return "\n".join(_lines(document)).rstrip("\n") + "\n"


def _lines(document: CiDocument) -> Iterator[str]:
    yield f"## GPU performance: {verdict(document)}"
    yield ""
    for label, side in (("Base", document.base), ("Head", document.head)):
        yield f"- {label}: {side.commit[:_SHORT]} {markdown(side.subject)}"
    yield ""
    for program in document.programs:
        yield from _program(program)


def _program(program: ProgramSection) -> Iterator[str]:
    if program.comparison is None:
        yield f"### {markdown(program.name)}: {program.state}"
        yield ""
        yield markdown(program.why or "")
        yield ""
        return
    yield f"<details open><summary><code>{markdown(program.command)}</code></summary>"
    yield ""
    yield comparison_in_markdown(program.comparison, title=program.name)
    yield "</details>"
    yield ""
