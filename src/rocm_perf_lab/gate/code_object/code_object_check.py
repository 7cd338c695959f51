"""Step 3: checks that the candidate's machine code can replace the baseline's and differs from it only in the target kernel."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from rocm_perf_lab.code_object import CodeObject, KernelMetadata
from rocm_perf_lab.code_object.symbol_contents import contents_by_symbol
from rocm_perf_lab.errors import SourceError
from rocm_perf_lab.gate.code_object.code_outside_kernel import compare_device
from rocm_perf_lab.gate.code_object.fences import lost_fence
from rocm_perf_lab.gate.code_object.image_layout import layout_difference, newly_referenced_kernel, runs_past_end
from rocm_perf_lab.gate.code_object.reached_functions import kernel_and_callees
from rocm_perf_lab.gate.code_object.run_dependent_values import TRAP, new_observations
from rocm_perf_lab.gate.verdict import StepVerdict, passed, rejected
from rocm_perf_lab.gate.verdict_document import CODE_OBJECT, CodeObjectEvidence
from rocm_perf_lab.hip_source import SourceKernel
from rocm_perf_lab.hip_source.demangle import demangled, qualified_name

STEP = CODE_OBJECT


@dataclass(frozen=True)
class BuiltCodeObject:
    """The result of building one source. content: the code object, linked with --emit-relocs. parsed: what it says about its
    kernels.
    """

    parsed: CodeObject
    content: bytes


@dataclass(frozen=True)
class ResourceLimits:
    """The largest increases over the baseline, as fractions, that need not be outweighed by a gain in time. See
    concern_of().
    """

    vgprs: float = 0.20
    occupancy: float = 0.15  # largest loss
    lds: float = 0.30


def check_code_object(
    baseline: BuiltCodeObject,
    candidate: BuiltCodeObject,
    kernel: SourceKernel,
    symbol: str,
    *,
    workgroup_threads: int,
    waves: tuple[int, int],
    limits: ResourceLimits = ResourceLimits(),
    promised_threads: int | None = None,
    may_be_the_same: bool = False,
    own_launch: bool = False,
) -> tuple[StepVerdict, str | None]:
    """The verdict, and the concern that a gain in time has to outweigh; None if there is no concern.

    kernel, symbol: the target, and its captured instantiation. workgroup_threads: threads per workgroup in the candidate's
    launch. waves: resident waves per CU, before and after. promised_threads: the bound on the workgroup size that the candidate
    declares and that all known launches respect, so that it need not support larger workgroups. may_be_the_same: whether
    machine code identical to the baseline's is accepted. own_launch: whether the candidate changes the shape of its launches;
    if so, it need not support larger workgroups, and its machine code may be identical, too.
    """
    before, after = baseline.parsed.kernels[symbol], candidate.parsed.kernels.get(symbol)
    if after is None:
        return rejected(STEP, f"the candidate has no kernel {symbol}"), None
    figures = _resource_evidence(before, after, waves, symbol)
    largest = workgroup_threads if own_launch else max(workgroup_threads, promised_threads or before.max_workgroup_size)
    try:
        complaint = (
            _target_complaint(baseline.parsed, candidate.parsed)
            or contract_breach(before, after, largest, own_launch)
            or ("none of its workgroups fits on a compute unit" if waves[1] == 0 else None)
            or _same_code_complaint(baseline, candidate, symbol, may_be_the_same or own_launch)
            or _metadata_complaint(baseline.parsed, candidate.parsed, kernel, symbol)
            or _observation_complaint(baseline, candidate, symbol)
            or _fence_complaint(baseline, candidate, symbol)
            or _layout_complaint(baseline, candidate, kernel, symbol)
        )
        same = compare_device(baseline.content, candidate.content, instantiations(baseline.parsed, kernel, symbol))
    except SourceError as error:
        return rejected(STEP, error.problem, figures), None
    if complaint := complaint or same.complaint:
        return rejected(STEP, complaint, figures), None
    concern = concern_of(before, after, waves, limits)
    other_code = {
        "other_symbols_the_same": same.identical_count,
        "added_functions": [*same.added],
        "removed_functions": [*same.removed],
    }
    evidence = figures.model_copy(update={"concern": concern, **other_code})
    reason = "same arguments and launch requirements; all other machine code is the baseline's"
    outweigh = f"; its time has to make up for this: {concern}" if concern else ""
    return passed(STEP, reason + outweigh, evidence), concern


def changed_outside_kernel(
    baseline: BuiltCodeObject, candidate: BuiltCodeObject, kernel: SourceKernel, symbol: str
) -> str | None:
    """How two code objects differ outside the kernel's instantiations; None if they do not. Raises SourceError."""
    own = instantiations(baseline.parsed, kernel, symbol)
    changed = _target_complaint(baseline.parsed, candidate.parsed) or _metadata_complaint(
        baseline.parsed, candidate.parsed, kernel, symbol
    )
    changed = changed or _layout_complaint(baseline, candidate, kernel, symbol)
    return changed or compare_device(baseline.content, candidate.content, own).complaint


def instantiations(code: CodeObject, kernel: SourceKernel, symbol: str) -> Collection[str]:
    """The kernels compiled from the target; for a template, all its instantiations."""
    if kernel.template is None:
        return (symbol,)
    name = qualified_name(demangled(symbol))
    # The symbol of a kernel that is not a template does not contain a return type.
    return [
        mangled
        for mangled in code.kernels
        if qualified_name(demangled(mangled)) == name and demangled(mangled).startswith("void ")
    ]


def contract_breach(
    before: KernelMetadata, after: KernelMetadata, largest_workgroup: int, own_launch: bool = False
) -> str | None:
    """Why a launch prepared for `before` does not fit `after`; None if it fits. own_launch: whether the launch is prepared for
    `after`, so that hidden arguments that follow from its shape may differ.
    """
    if own_launch:
        if _arguments_beside_launch(before) != _arguments_beside_launch(after):
            return _argument_layout_complaint(before, after)
    elif before.kernarg_layout != after.kernarg_layout or before.kernarg_bytes != after.kernarg_bytes:
        return _argument_layout_complaint(before, after)
    if before.wave_size != after.wave_size:
        return f"its waves have {after.wave_size} lanes, the baseline's {before.wave_size}"
    if before.required_workgroup_size != after.required_workgroup_size:
        return "it requires a different workgroup size"
    if after.max_workgroup_size < largest_workgroup:
        return f"it allows workgroups of at most {after.max_workgroup_size} threads, the baseline {before.max_workgroup_size}"
    return None


def concern_of(before: KernelMetadata, after: KernelMetadata, waves: tuple[int, int], limits: ResourceLimits) -> str | None:
    """A disadvantage of the candidate that a gain in time must outweigh; None if there is none."""
    if after.scratch_bytes > before.scratch_bytes or (after.dynamic_stack and not before.dynamic_stack):
        return f"it needs {after.scratch_bytes} bytes of scratch per lane, the baseline {before.scratch_bytes}"
    if after.vgpr_spills > before.vgpr_spills or after.sgpr_spills > before.sgpr_spills:
        return f"it spills {after.vgpr_spills} VGPRs and {after.sgpr_spills} SGPRs"
    # More registers cost nothing unless they reduce the number of waves, so they count only if occupancy drops as well.
    if waves[1] < waves[0] * (1 - limits.occupancy):
        return f"occupancy falls from {waves[0]} to {waves[1]} waves per CU, beyond the limit of {limits.occupancy:.0%}"
    if waves[1] < waves[0] and after.vgprs > before.vgprs * (1 + limits.vgprs):
        return f"it uses {after.vgprs} VGPRs, the baseline {before.vgprs}, beyond the limit of {limits.vgprs:.0%}"
    if after.lds_bytes > before.lds_bytes * (1 + limits.lds) and waves[1] < waves[0]:
        return f"it uses {after.lds_bytes} bytes of LDS, the baseline {before.lds_bytes}, beyond the limit of {limits.lds:.0%}"
    return None


def _target_complaint(baseline: CodeObject, candidate: CodeObject) -> str | None:
    if baseline.target != candidate.target:
        return f"it is built for {candidate.target}, the baseline for {baseline.target}"
    return None


_GRID_ARGUMENTS = ("hidden_block_count", "hidden_group_size", "hidden_remainder", "hidden_grid_dims", "hidden_global_offset")


_LAUNCH_ARGUMENTS = (*_GRID_ARGUMENTS, "hidden_dynamic_lds_size", "hidden_none")


def _arguments_beside_launch(kernel: KernelMetadata) -> list[tuple[int, int, str]]:
    return [argument for argument in kernel.kernarg_layout if not argument[2].startswith(_LAUNCH_ARGUMENTS)]


def _argument_layout_complaint(before: KernelMetadata, after: KernelMetadata) -> str:
    known = {argument.value_kind for argument in before.arguments}
    new = [argument.value_kind for argument in after.arguments if argument.hidden and argument.value_kind not in known]
    if not new:
        return "the layout of its arguments differs"
    message = f"the layout of its arguments differs: it reads {', '.join(new)}, which the captured launches do not pass"
    if not any(kind.startswith(_GRID_ARGUMENTS) for kind in new):
        return message
    return (
        f"{message}. The baseline uses neither blockDim nor gridDim, nor functions of cooperative_groups that do: write the "
        "sizes as constants, or let the baseline use them as well"
    )


def _same_code_complaint(
    baseline: BuiltCodeObject, candidate: BuiltCodeObject, symbol: str, may_be_the_same: bool
) -> str | None:
    if may_be_the_same:
        return None
    old_code, new_code = (
        [(p.content, p.references) for p in kernel_and_callees(contents_by_symbol(i.content), symbol)]
        for i in (baseline, candidate)
    )
    return "the compiler generates the same machine code for it: nothing can be gained" if old_code == new_code else None


def _metadata_complaint(baseline: CodeObject, candidate: CodeObject, kernel: SourceKernel, symbol: str) -> str | None:
    """How the metadata that the runtime uses to launch other kernels differs; their code is compared separately."""
    if baseline.kernels.keys() != candidate.kernels.keys():
        names = sorted(baseline.kernels.keys() ^ candidate.kernels.keys())
        return f"kernels were added or removed: {', '.join(names)}"
    own = instantiations(baseline, kernel, symbol)
    before, after = ({name: replace(k, code=b"") for name, k in code.kernels.items()} for code in (baseline, candidate))
    changed = [name for name in before if name not in own and before[name] != after[name]]
    return f"the kernel {demangled(changed[0])} has different metadata, but is not part of {kernel.name}" if changed else None


def _fence_complaint(baseline: BuiltCodeObject, candidate: BuiltCodeObject, symbol: str) -> str | None:
    return lost_fence(
        contents_by_symbol(baseline.content), contents_by_symbol(candidate.content), symbol, candidate.parsed.target
    )


def _observation_complaint(baseline: BuiltCodeObject, candidate: BuiltCodeObject, symbol: str) -> str | None:
    """How the candidate, unlike the baseline, can tell runs apart: it could be right, or fast, only in the judged runs."""
    observations = new_observations(
        contents_by_symbol(baseline.content), contents_by_symbol(candidate.content), symbol, candidate.parsed.target
    )
    if not observations:
        return None
    means, how = next(iter(observations.items()))
    if means == TRAP:
        return (
            f"it uses {means} ({how}), which the baseline does not: it could fail where the baseline does not. Functions such "
            "as __shfl_sync() contain one to check their mask (use __shfl() and so on), and so does assert()"
        )
    return f"it uses {means} ({how}), which the baseline does not: it could distinguish judged runs from others"


def _layout_complaint(baseline: BuiltCodeObject, candidate: BuiltCodeObject, kernel: SourceKernel, symbol: str) -> str | None:
    """Why the loader, a reader of the metadata or a wave could interpret the code object differently than the gate does."""
    if complaint := layout_difference(baseline.content, candidate.content):
        return complaint
    before, after = contents_by_symbol(baseline.content), contents_by_symbol(candidate.content)
    own = [name for name in instantiations(baseline.parsed, kernel, symbol) if name in candidate.parsed.kernels]
    if complaint := runs_past_end(before, after, own, candidate.parsed.target):
        return complaint
    other = newly_referenced_kernel(before, after, baseline.parsed.kernels)
    return f"it refers to the kernel {demangled(other)}, which the baseline does not" if other else None


def _resource_evidence(
    before: KernelMetadata, after: KernelMetadata, waves: tuple[int, int], symbol: str
) -> CodeObjectEvidence:
    """Each resource as a pair (baseline, candidate)."""
    return CodeObjectEvidence(
        vgprs=(before.vgprs, after.vgprs),
        agprs=(before.agprs, after.agprs),
        sgprs=(before.sgprs, after.sgprs),
        lds_bytes=(before.lds_bytes, after.lds_bytes),
        scratch_bytes=(before.scratch_bytes, after.scratch_bytes),
        vgpr_spills=(before.vgpr_spills, after.vgpr_spills),
        sgpr_spills=(before.sgpr_spills, after.sgpr_spills),
        resident_waves_per_cu=waves,
        code_bytes=(len(before.code), len(after.code)),
        symbol=symbol,
    )
