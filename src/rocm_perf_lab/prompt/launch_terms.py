"""Tells proposers, in words, whether they may change a kernel's launch shape, and what the shape may depend on."""

from __future__ import annotations

from dataclasses import dataclass

from rocm_perf_lab.errors import SourceError
from rocm_perf_lab.gate.source.launch_rule import launch_text
from rocm_perf_lab.hip_source import HipSource, SourceKernel
from rocm_perf_lab.hip_source.launch_shapes import LaunchNotUnderstoodError, ShapedLaunch
from rocm_perf_lab.hip_source.program_launches import program_launches

_LAUNCH_STAYS = "So does the launch: the host's code, the grid, the workgroup and the dynamic LDS are not yours to change"


@dataclass(frozen=True)
class LaunchTerms:
    """rule: one or more sentences for the list of rules. changeable: whether a different shape may be proposed."""

    rule: str
    changeable: bool


FIXED_LAUNCH = LaunchTerms(f"{_LAUNCH_STAYS}.", False)


def launch_terms(source: HipSource, kernel: SourceKernel) -> LaunchTerms:
    try:
        sites = program_launches(source, kernel)
    except (LaunchNotUnderstoodError, SourceError) as error:
        return LaunchTerms(
            f"{_LAUNCH_STAYS} ({error if isinstance(error, LaunchNotUnderstoodError) else error.problem}).", False
        )
    if len({site.shape for site in sites}) > 1:
        return LaunchTerms(f"{_LAUNCH_STAYS} (its launches have different shapes).", False)
    names = sorted(set.intersection(*(_usable_parameters(site, kernel) for site in sites)))
    return LaunchTerms(
        f"The launch is `<<<{launch_text(sites[0].shape)}>>>` now. The grid, the workgroup and the dynamic LDS may change: "
        "write the new launch in a second fenced block, with the language `launch`, as "
        "`<<<grid, workgroup>>>` or `<<<grid, workgroup, bytes of LDS>>>`. Each is an integer or `dim3(x, y, z)`, by + - * / % "
        f"and parentheses over integers and these parameters of the kernel: {', '.join(map('`{}`'.format, names)) or 'none'}. "
        "It applies to all launches of the kernel, and results must be right for every size: "
        "the number of workgroups grows with the problem as it does now. "
        "Without such a block, the launch stays as it is. The rest of the host's code is not yours to change.",
        True,
    )


def _usable_parameters(site: ShapedLaunch, kernel: SourceKernel) -> set[str]:
    """Those parameters of the kernel for which the launch passes a plain integer variable that never changes."""
    passed = {argument.position for argument in site.arguments.values() if argument.name not in site.changing}
    return {parameter.name for position, parameter in enumerate(kernel.parameters) if position in passed and parameter.name}
