"""The comparison as Markdown, for comments on pull requests."""

from __future__ import annotations

from collections.abc import Iterator

from rocm_perf_lab.comparison.compare_document import ChangeSection, CompareDocument, ComparisonSection, SideSection
from rocm_perf_lab.comparison.words import interval, other_changes, percent, value
from rocm_perf_lab.text.escaping import markdown
from rocm_perf_lab.text.names import short_name

_PROGRAM = {"kernel_time": "all kernels", "span": "span on the GPU"}


def to_markdown(document: CompareDocument, title: str | None = None) -> str:
    """title: what was compared; by default, the names of both sides."""
    return "\n\n".join("\n".join(_lines(document.base, comparison, title)) for comparison in document.comparisons) + "\n"


def _lines(base: SideSection, comparison: ComparisonSection, title: str | None) -> Iterator[str]:
    new = comparison.new
    failed = any(limit.exceeded for limit in comparison.limits)
    state = "limits exceeded" if failed else "limits kept" if comparison.limits else "comparison"
    yield f"### {markdown(title or f'{base.path} → {new.path}')}: {state}"
    yield ""
    yield f"{markdown(new.gpu)} ({new.target}), times {new.timing}; {base.runs} and {new.runs} runs."
    yield ""
    for limit in comparison.limits:
        yield f"- **{'EXCEEDED' if limit.exceeded else 'kept'}** {markdown(limit.limit)}"
        yield from (f"  - {markdown(line)}" for line in limit.by)
        yield from (f"  - undecided: {markdown(line)}" for line in limit.undecided)
    yield ""
    yield "| | before | after | change | certain | what else changed |"
    yield "|---|--:|--:|--:|--:|---|"
    for change in comparison.program:
        if change.base is not None or change.new is not None:
            yield _row(_PROGRAM[change.metric], change, "")
    for kernel in comparison.kernels:
        if not kernel.is_runtime:
            yield _row(short_name(kernel.kernel), kernel.changes[0], "; ".join(other_changes(kernel)))
    yield ""
    for label, kernels in (("Gone", comparison.gone), ("New", comparison.added)):
        if kernels:
            yield f"{label}: {', '.join(markdown(short_name(kernel)) for kernel in kernels)}"
            yield ""
    yield from (f"- {markdown(note)}" for note in comparison.notes)


def _row(name: str, change: ChangeSection, remarks: str) -> str:
    cells = (
        name,
        value(change.base, change.unit),
        value(change.new, change.unit),
        percent(change.change),
        interval(change),
        remarks,
    )
    return "| " + " | ".join(map(markdown, cells)) + " |"
