"""Everything known about one kernel, gathered from a profile, the kernel's source and earlier attempts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rocm_perf_lab.errors import TraceError
from rocm_perf_lab.hip_source import HipSource, SourceKernel
from rocm_perf_lab.optimize.targets import Target
from rocm_perf_lab.prompt.code import SourceExcerpts, code_of
from rocm_perf_lab.prompt.launch_terms import FIXED_LAUNCH, LaunchTerms, launch_terms
from rocm_perf_lab.prompt.path_scrubber import PathScrubber
from rocm_perf_lab.prompt.rules import AnswerRules
from rocm_perf_lab.prompt.tried_changes import TriedChange
from rocm_perf_lab.prompt.triton.function import TritonFunction
from rocm_perf_lab.prompt.triton.rules import TritonAnswerRules
from rocm_perf_lab.report.documents import CoreDocuments
from rocm_perf_lab.report.schema import KernelAnalysis, RooflineSection

if TYPE_CHECKING:
    from rocm_perf_lab.prompt.prompt_document import PromptDocument


@dataclass(frozen=True)
class Context:
    """What the text and the document are made from. reports, analysis, roof: with this machine's paths removed."""

    target: Target
    kernel: SourceKernel | TritonFunction
    reports: CoreDocuments
    analysis: KernelAnalysis
    roof: RooflineSection | None
    code: SourceExcerpts
    tried: tuple[TriedChange, ...]
    rules: AnswerRules | TritonAnswerRules
    launch: LaunchTerms = FIXED_LAUNCH

    @property
    def language(self) -> str:
        """The language's name, as used in fenced blocks."""
        return "python" if isinstance(self.kernel, TritonFunction) else "cpp"

    @property
    def rule_lines(self) -> list[str]:
        """The rules for an answer, one per entry, in Markdown."""
        rules, kernel = self.rules, self.kernel
        if isinstance(rules, TritonAnswerRules):
            return rules.lines(cast(TritonFunction, kernel))
        return rules.lines(cast(SourceKernel, kernel), self.launch)

    def text(self, full_source: bool = False, compact: bool = False) -> str:
        """The prompt in Markdown, reproducible byte for byte. full_source: whether to show the whole file instead of what the
        kernel uses. compact: whether to show only the verdict, the hottest lines, the kernel and the rules.
        """
        from rocm_perf_lab.prompt.text import text

        return text(self, full_source, compact)

    def document(self, full_source: bool = False, compact: bool = False) -> PromptDocument:
        """The context as a document, including the text."""
        from rocm_perf_lab.prompt.prompt_document import prompt_document

        return prompt_document(self, self.text(full_source, compact), full_source)


def build_context(
    reports: CoreDocuments,
    source: HipSource,
    target: Target,
    tried: Sequence[TriedChange] = (),
    rules: AnswerRules = AnswerRules(),
) -> Context:
    """The context for `target`, a kernel that `source` contains and whose times are in the reports.

    Raises SourceError if the source does not compile or lacks the kernel, and TraceError if the reports lack it.
    """
    kernel = source.kernel(target.kernel)
    root = source.path.resolve().parent
    code, launch = code_of(source, kernel, PathScrubber(root)), launch_terms(source, kernel)
    return cleaned_context(reports, target, kernel, code, root, rules, tried, launch)


def cleaned_context(
    reports: CoreDocuments, target: Target, kernel: SourceKernel | TritonFunction, code: SourceExcerpts, root: Path,
    rules: AnswerRules | TritonAnswerRules, tried: Sequence[TriedChange] = (), launch: LaunchTerms = FIXED_LAUNCH,
) -> Context:  # fmt: skip
    """The context without this machine's paths. root: the source's folder. Raises TraceError if the reports lack the kernel."""
    scrubber = PathScrubber(root)
    analysis = next((analysis for analysis in reports.analysis.kernels if analysis.kernel == target.demangled), None)
    if analysis is None:
        raise TraceError(f"the profile has no kernel {target.demangled}", "profile the program again")
    roof = next((roof for roof in reports.roofline.kernels if roof.kernel == target.demangled), None)
    return Context(
        target,
        kernel,
        CoreDocuments(**{name: _clean_section(document, scrubber) for name, document in reports.by_name().items()}),
        _clean_section(analysis, scrubber),
        None if roof is None else _clean_section(roof, scrubber),
        code,
        tuple(
            replace(change, description=scrubber.clean(change.description), reason=scrubber.clean(change.reason))
            for change in tried
            if change.kernel == target.demangled
        ),
        rules,
        launch,
    )


def _clean_section(section: Any, scrubber: PathScrubber) -> Any:
    return type(section).model_validate(scrubber.clean_json(section.model_dump(mode="json")))
