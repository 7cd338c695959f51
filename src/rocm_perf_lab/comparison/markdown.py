"""The comparison as Markdown, for comments on pull requests."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_perf_lab.comparison.compare_document import ChangeSection, CompareDocument, ComparisonSection, SideSection
from rocm_perf_lab.comparison.words import interval, other_changes, percent, value
from rocm_perf_lab.text.words import markdown, short_name

_PROGRAM = {"kernel_time": "all kernels", "span": "span on the GPU"}


def to_markdown(document: CompareDocument, title: str | None = None) -> str:
    """title: what was compared; by default, the names of both sides."""
    return "\n\n".join("\n".join(_lines(document.base, one, title)) for one in document.comparisons) + "\n"


def _lines(base: SideSection, one: ComparisonSection, title: str | None) -> Iterator[str]:
    failed = any(limit.exceeded for limit in one.limits)
    state = "limits exceeded" if failed else "limits kept" if one.limits else "comparison"
    yield f"### {markdown(title or f'{base.path} → {one.new.path}')}: {state}"
    yield ""
    yield f"{markdown(one.new.gpu)} ({one.new.target}), times {one.new.timing}; {base.runs} and {one.new.runs} runs."
    yield ""
    for limit in one.limits:
        yield f"- **{'EXCEEDED' if limit.exceeded else 'kept'}** {markdown(limit.limit)}"
        yield from (f"  - {markdown(line)}" for line in limit.by)
        yield from (f"  - undecided: {markdown(line)}" for line in limit.undecided)
    yield ""
    yield "| | before | after | change | certain | what else changed |"
    yield "|---|--:|--:|--:|--:|---|"
    for change in one.program:
        if change.base is not None or change.new is not None:
            yield _row(_PROGRAM[change.metric], change, "")
    for kernel in one.kernels:
        if not kernel.is_runtime:
            yield _row(short_name(kernel.kernel), kernel.changes[0], "; ".join(other_changes(kernel)))
    yield ""
    for label, kernels in (("Gone", one.gone), ("New", one.added)):
        if kernels:
            yield f"{label}: {', '.join(markdown(short_name(kernel)) for kernel in kernels)}"
            yield ""
    yield from (f"- {markdown(note)}" for note in one.notes)


def _row(name: str, change: ChangeSection, rest: str) -> str:
    cells = (
        name,
        value(change.base, change.unit),
        value(change.new, change.unit),
        percent(change.change),
        interval(change),
        rest,
    )
    return "| " + " | ".join(map(markdown, cells)) + " |"
